//! Grids that are tuned alike.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A class of grids: each axis rounded up to a power of two, and the number of axes that the caller gave.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ShapeClass {
    /// The exponent of the power of two, 0 to 32, of each axis.
    powers: [u8; 3],
    dimensions: u8,
}

impl ShapeClass {
    /// The class of a grid of that many threads along each axis, given with 1 to 3 dimensions.
    pub fn of(threads: [u32; 3], dimensions: usize) -> Self {
        let power = |size: u32| u64::from(size.max(1)).next_power_of_two().trailing_zeros() as u8;
        Self { powers: threads.map(power), dimensions: dimensions.clamp(1, 3) as u8 }
    }
}

/// The largest grid of the class, such as `1024x512`.
impl fmt::Display for ShapeClass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (axis, power) in self.powers.iter().take(self.dimensions.into()).enumerate() {
            write!(formatter, "{}{}", if axis == 0 { "" } else { "x" }, 1u64 << power)?;
        }
        Ok(())
    }
}

impl From<ShapeClass> for String {
    fn from(class: ShapeClass) -> String {
        class.to_string()
    }
}

impl FromStr for ShapeClass {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no class of grids: write powers of two, such as 1024x512");
        let mut class = Self { powers: [0; 3], dimensions: 0 };
        for (axis, part) in text.split('x').enumerate() {
            let size: u64 = part.parse().map_err(|_| wrong())?;
            if axis >= 3 || !size.is_power_of_two() || size > 1 << 32 {
                return Err(wrong());
            }
            class.powers[axis] = size.trailing_zeros() as u8;
            class.dimensions += 1;
        }
        Ok(class)
    }
}

impl TryFrom<String> for ShapeClass {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_of_a_class_differ_by_less_than_two() {
        assert_eq!(ShapeClass::of([1000, 1, 1], 1), ShapeClass::of([1024, 1, 1], 1));
        assert_ne!(ShapeClass::of([1025, 1, 1], 1), ShapeClass::of([1024, 1, 1], 1));
        assert_ne!(ShapeClass::of([1024, 1, 1], 2), ShapeClass::of([1024, 1, 1], 1));
        assert_eq!(ShapeClass::of([0, 0, 0], 0), ShapeClass::of([1, 1, 1], 1));
    }

    #[test]
    fn the_text_form_comes_back() {
        for (threads, dimensions) in [([640, 480, 1], 2), ([u32::MAX, 1, 1], 1), ([1, 2, 3], 3)] {
            let class = ShapeClass::of(threads, dimensions);
            assert_eq!(class.to_string().parse(), Ok(class));
        }
        for text in ["", "x", "3", "1x2x4x8", "-1", "8589934592"] {
            assert!(text.parse::<ShapeClass>().is_err(), "{text}");
        }
    }
}
