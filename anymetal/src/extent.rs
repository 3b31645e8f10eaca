//! Extents of grids and threadgroups, from one, two or three numbers.

use crate::error::Error;

/// Three extents; those not given are 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    dimensions: [u128; 3],
    given: usize,
}

impl Extent {
    /// The three extents, if each fits 32 bits.
    pub fn to_array(self) -> Result<[u32; 3], Error> {
        let fit = |value: u128| u32::try_from(value).map_err(|_| Error::ExtentTooLarge { value });
        let [x, y, z] = self.dimensions;
        Ok([fit(x)?, fit(y)?, fit(z)?])
    }

    /// How many were given.
    pub fn dimensions(self) -> usize {
        self.given
    }
}

macro_rules! extents {
    ($($type:ty),*) => {
        $(
            impl From<$type> for Extent {
                fn from(x: $type) -> Extent {
                    Extent { dimensions: [x as u128, 1, 1], given: 1 }
                }
            }

            impl From<($type, $type)> for Extent {
                fn from((x, y): ($type, $type)) -> Extent {
                    Extent { dimensions: [x as u128, y as u128, 1], given: 2 }
                }
            }

            impl From<($type, $type, $type)> for Extent {
                fn from((x, y, z): ($type, $type, $type)) -> Extent {
                    Extent { dimensions: [x as u128, y as u128, z as u128], given: 3 }
                }
            }

            impl From<[$type; 3]> for Extent {
                fn from([x, y, z]: [$type; 3]) -> Extent {
                    let given = if z != 1 { 3 } else if y != 1 { 2 } else { 1 };
                    Extent { dimensions: [x as u128, y as u128, z as u128], given }
                }
            }
        )*
    };
}

extents!(u32, u64, usize);

/// Literals such as `threads(1000)` are `i32`; a negative one is too large.
impl From<i32> for Extent {
    fn from(x: i32) -> Extent {
        Extent { dimensions: [x as u128, 1, 1], given: 1 }
    }
}

/// See the conversion from one `i32`.
impl From<(i32, i32)> for Extent {
    fn from((x, y): (i32, i32)) -> Extent {
        Extent { dimensions: [x as u128, y as u128, 1], given: 2 }
    }
}

/// See the conversion from one `i32`.
impl From<(i32, i32, i32)> for Extent {
    fn from((x, y, z): (i32, i32, i32)) -> Extent {
        Extent { dimensions: [x as u128, y as u128, z as u128], given: 3 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_come_from_numbers() {
        assert_eq!(Extent::from(7usize).to_array(), Ok([7, 1, 1]));
        assert_eq!(Extent::from((7u32, 8)).to_array(), Ok([7, 8, 1]));
        assert_eq!(Extent::from([7u64, 8, 1]).dimensions(), 2);
        assert_eq!(Extent::from(1u64 << 32).to_array(), Err(Error::ExtentTooLarge { value: 1 << 32 }));
        assert!(Extent::from(-1).to_array().is_err());
    }
}
