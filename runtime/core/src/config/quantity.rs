//! Quantities with units, as people write them: `512 MiB`, `250 ms`.
//!
//! Owns [`Size`] and [`Span`]. Invariant: a quantity that is read is exact; what does not fit is refused, not
//! cut.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A number of bytes: `4096`, `512 MiB`, `2 GB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

/// A length of time: `30 s`, `250 ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

impl Size {
    /// What a value of this kind should look like.
    pub const EXPECTED: &'static str = "a size, such as 4096 or 512 MiB";
}

impl fmt::Display for Span {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", self.0)
    }
}

impl Span {
    /// What a value of this kind should look like.
    pub const EXPECTED: &'static str = "a time, such as 30 s or 250 ms";
}

const SIZES: &[(&str, u64)] = &[
    ("", 1),
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

const SPANS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// A whole number and one of the units; `None` if it is not that, or too large.
fn quantity(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|character: char| !character.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim())?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

impl FromStr for Size {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        quantity(text, SIZES).map(Size).ok_or(())
    }
}

impl FromStr for Span {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        quantity(text, SPANS).map(|nanoseconds| Span(Duration::from_nanos(nanoseconds))).ok_or(())
    }
}

impl fmt::Display for Size {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SizeVisitor;

        impl Visitor<'_> for SizeVisitor {
            type Value = Size;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(Size::EXPECTED)
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Size, E> {
                let refused = || E::custom(format!("`{number}` is not {}", Size::EXPECTED));
                u64::try_from(number).map(Size).map_err(|_| refused())
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Size, E> {
                text.parse().map_err(|()| E::custom(format!("`{text}` is not {}", Size::EXPECTED)))
            }
        }

        deserializer.deserialize_any(SizeVisitor)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(|()| D::Error::custom(format!("`{text}` is not {}", Span::EXPECTED)))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_exact_or_refused() {
        for (text, bytes) in [("0", 0), ("4096", 4096), ("512 MiB", 512 << 20), ("2GB", 2_000_000_000)] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
        for text in ["", "MiB", "1.5 GiB", "-1", "1 mib", "99999999 TiB", "1 2"] {
            assert_eq!(text.parse::<Size>(), Err(()), "{text}");
        }
        assert_eq!("250 ms".parse(), Ok(Span(Duration::from_millis(250))));
        assert_eq!("30".parse::<Span>(), Err(()), "a time has a unit");
    }
}
