//! Factors and shares as exact decimal numbers.
//!
//! Owns [`Ratio`]. Invariant: a ratio that is read is exact; a number with more than six decimals
//! is refused, not rounded. That keeps policies comparable and delays the same on every machine.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A number of at least 0 with at most six decimals: `2`, `1.5`, `50 %`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ratio {
    millionths: u64,
}

const ONE: u64 = 1_000_000;

impl Ratio {
    /// The number 1.
    pub const ONE: Ratio = Ratio { millionths: ONE };
    /// What the text of a ratio looks like, for messages.
    pub const EXPECTED: &'static str = "a number, such as 2, 1.5 or 50 %";

    /// That many hundredths.
    pub const fn percent(percent: u32) -> Ratio {
        Ratio { millionths: percent as u64 * (ONE / 100) }
    }

    /// The number in millionths.
    pub const fn millionths(self) -> u64 {
        self.millionths
    }

    /// The number times `value`, rounded down; saturates.
    pub fn of(self, value: u64) -> u64 {
        let product = u128::from(self.millionths) * u128::from(value) / u128::from(ONE);
        u64::try_from(product).unwrap_or(u64::MAX)
    }

    /// Whether `part` of `whole` is at least this share.
    pub fn is_reached_by(self, part: u64, whole: u64) -> bool {
        u128::from(part) * u128::from(ONE) >= u128::from(self.millionths) * u128::from(whole)
    }
}

impl FromStr for Ratio {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (number, divisor) = match text.trim().strip_suffix('%') {
            Some(percent) => (percent.trim_end(), 100),
            None => (text.trim(), 1),
        };
        let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
        let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(whole) || !is_number(decimals) || decimals.len() > 6 {
            return Err(());
        }
        let decimals: u64 = format!("{decimals:0<6}").parse().map_err(|_| ())?;
        let whole = whole.parse::<u64>().ok().and_then(|whole| whole.checked_mul(ONE)).ok_or(())?;
        let millionths = whole.checked_add(decimals).ok_or(())?;
        if millionths % divisor != 0 {
            return Err(());
        }
        Ok(Ratio { millionths: millionths / divisor })
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, decimals) = (self.millionths / ONE, self.millionths % ONE);
        match decimals {
            0 => write!(formatter, "{whole}"),
            _ => formatter.write_str(format!("{whole}.{decimals:06}").trim_end_matches('0')),
        }
    }
}

impl<'de> Deserialize<'de> for Ratio {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RatioVisitor;

        impl Visitor<'_> for RatioVisitor {
            type Value = Ratio;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(Ratio::EXPECTED)
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Ratio, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<Ratio, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Ratio, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Ratio, E> {
                text.parse().map_err(|()| E::custom(format!("`{text}` is not {}", Ratio::EXPECTED)))
            }
        }

        deserializer.deserialize_any(RatioVisitor)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_exact_or_refused() {
        for (text, millionths) in [
            ("0", 0),
            ("2", 2_000_000),
            ("1.5", 1_500_000),
            ("50 %", 500_000),
            ("0.5%", 5_000),
            (" 1.0 ", ONE),
        ] {
            assert_eq!(text.parse::<Ratio>().map(Ratio::millionths), Ok(millionths), "{text}");
        }
        for text in
            ["", "%", "-1", "1.", ".5", "1e3", "0.0000001", "0.00001 %", "99999999999999", "NaN", "inf"]
        {
            assert_eq!(text.parse::<Ratio>(), Err(()), "{text}");
        }
    }

    #[test]
    fn a_ratio_reads_from_numbers_and_text_and_prints_as_it_reads() {
        let read = |json: &str| serde_json::from_str::<Ratio>(json);
        assert_eq!(read("2").unwrap(), read("2.0").unwrap());
        assert_eq!(read("0.5").unwrap(), read("\"50 %\"").unwrap());
        assert!(read("-0.5").unwrap_err().to_string().contains("`-0.5` is not a number, such as"));
        for text in ["0", "3", "1.5", "0.000001"] {
            assert_eq!(text.parse::<Ratio>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn shares_are_compared_without_rounding() {
        let third = "33.3333 %".parse::<Ratio>().unwrap();
        assert!(third.is_reached_by(1, 3) && !third.is_reached_by(1, 4));
        assert_eq!("1.5".parse::<Ratio>().unwrap().of(100), 150);
        assert_eq!(Ratio::percent(200).of(u64::MAX), u64::MAX, "saturates");
    }
}
