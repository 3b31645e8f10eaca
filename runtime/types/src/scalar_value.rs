//! Numbers before their conversion to the scalar type that a kernel declares.
//!
//! Owns [`Scalar`], the value of an argument or of a function constant. Invariant: a value that the declared
//! type cannot hold is refused, a finite number beyond a floating-point type's range too; other numbers for
//! floating-point types are rounded to the nearest value, and nothing is truncated.

use std::fmt;

use half::{bf16, f16};
use serde::{Deserialize, Serialize};

use crate::scalar::ScalarType;

/// A scalar before its conversion to the declared type.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Scalar {
    /// A truth value, for `bool` only.
    Bool(bool),
    /// An integer, for integer types that hold it and floating-point types that hold it exactly.
    Integer(i128),
    /// A number, for floating-point types, rounded to the nearest value. A finite one beyond the type's range
    /// has none: its nearest value would be infinity.
    Float(#[serde(with = "bits")] f64),
}

impl Scalar {
    /// The bits of a value of the declared type, zero-extended; `None` if the type cannot hold it.
    #[must_use]
    pub fn to_bits(self, declared: ScalarType) -> Option<u64> {
        match self {
            Scalar::Bool(value) => (declared == ScalarType::Bool).then_some(u64::from(value)),
            Scalar::Integer(value) => integer_bits(value, declared),
            Scalar::Float(value) => float_bits(value, declared),
        }
    }

    /// The bytes of a value of the declared type; `None` if the type cannot hold it.
    #[must_use]
    pub fn to_bytes(self, declared: ScalarType) -> Option<Vec<u8>> {
        let bytes = self.to_bits(declared)?.to_le_bytes();
        Some(bytes[..declared.size() as usize].to_vec())
    }

    /// The value of a declared type with these bits.
    #[must_use]
    pub fn from_bits(declared: ScalarType, bits: u64) -> Self {
        match declared {
            ScalarType::Bool => Scalar::Bool(bits != 0),
            ScalarType::I8 => Scalar::Integer((bits as i8).into()),
            ScalarType::I16 => Scalar::Integer((bits as i16).into()),
            ScalarType::I32 => Scalar::Integer((bits as i32).into()),
            ScalarType::I64 => Scalar::Integer((bits as i64).into()),
            ScalarType::U8 => Scalar::Integer((bits as u8).into()),
            ScalarType::U16 => Scalar::Integer((bits as u16).into()),
            ScalarType::U32 => Scalar::Integer((bits as u32).into()),
            ScalarType::U64 => Scalar::Integer(bits.into()),
            ScalarType::F16 => Scalar::Float(f16::from_bits(bits as u16).to_f64()),
            ScalarType::BF16 => Scalar::Float(bf16::from_bits(bits as u16).to_f64()),
            ScalarType::F32 => Scalar::Float(f32::from_bits(bits as u32).into()),
        }
    }
}

/// As in messages: "the integer 7".
impl fmt::Display for Scalar {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool(value) => write!(formatter, "`{value}`"),
            Scalar::Integer(value) => write!(formatter, "the integer {value}"),
            Scalar::Float(value) => write!(formatter, "the number {value:?}"),
        }
    }
}

fn integer_bits(value: i128, declared: ScalarType) -> Option<u64> {
    match declared.integer_limits() {
        None => exact_float_bits(value, declared),
        // An integer is not a truth value.
        Some(_) if declared == ScalarType::Bool => None,
        Some((low, high)) => {
            let mask = (1u128 << declared.bits()) - 1;
            (low..=high).contains(&value).then_some((value as u128 & mask) as u64)
        }
    }
}

/// The bits of a floating-point value that is exactly the integer.
fn exact_float_bits(value: i128, declared: ScalarType) -> Option<u64> {
    let bits = float_bits(value as f64, declared)?;
    let Scalar::Float(stored) = Scalar::from_bits(declared, bits) else {
        unreachable!("{declared} has no integer limits, so it is a floating-point type")
    };
    // Both sides are compared as integers, because a large `value` may be rounded on its way to `f64`. Of
    // 2^127, which `i128` does not hold, the conversion would yield the largest integer.
    let is_exact = stored.abs() < 2f64.powi(127) && stored as i128 == value;
    is_exact.then_some(bits)
}

fn float_bits(value: f64, declared: ScalarType) -> Option<u64> {
    let (bits, is_finite) = match declared {
        ScalarType::F16 => (f16::from_f64(value).to_bits().into(), f16::from_f64(value).is_finite()),
        ScalarType::BF16 => (bf16::from_f64(value).to_bits().into(), bf16::from_f64(value).is_finite()),
        ScalarType::F32 => ((value as f32).to_bits().into(), (value as f32).is_finite()),
        _ => return None,
    };
    (is_finite || !value.is_finite()).then_some(bits)
}

macro_rules! scalars {
    ($($type:ty => |$value:ident| $scalar:expr;)*) => {
        $(
            impl From<$type> for Scalar {
                fn from($value: $type) -> Scalar {
                    $scalar
                }
            }
        )*
    };
}

scalars! {
    bool => |value| Scalar::Bool(value);
    i8 => |value| Scalar::Integer(value.into());
    u8 => |value| Scalar::Integer(value.into());
    i16 => |value| Scalar::Integer(value.into());
    u16 => |value| Scalar::Integer(value.into());
    i32 => |value| Scalar::Integer(value.into());
    u32 => |value| Scalar::Integer(value.into());
    i64 => |value| Scalar::Integer(value.into());
    u64 => |value| Scalar::Integer(value.into());
    isize => |value| Scalar::Integer(value as i128);
    usize => |value| Scalar::Integer(value as i128);
    f16 => |value| Scalar::Float(value.to_f64());
    bf16 => |value| Scalar::Float(value.to_f64());
    f32 => |value| Scalar::Float(value.into());
    f64 => |value| Scalar::Float(value);
}

/// `f64` as its bits: JSON has no infinities and no NaN.
mod bits {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(value.to_bits())
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<f64, D::Error> {
        u64::deserialize(from).map(f64::from_bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_become_what_the_kernel_declares() {
        let bytes = |scalar: Scalar, declared| scalar.to_bytes(declared);
        assert_eq!(bytes(2.0f32.into(), ScalarType::F32), Some(2.0f32.to_le_bytes().to_vec()));
        assert_eq!(bytes(2.5f64.into(), ScalarType::F16), Some(f16::from_f32(2.5).to_le_bytes().to_vec()));
        assert_eq!(bytes(7usize.into(), ScalarType::U32), Some(vec![7, 0, 0, 0]));
        assert_eq!(bytes(7i32.into(), ScalarType::F32), Some(7.0f32.to_le_bytes().to_vec()));
        assert_eq!(bytes((-1i32).into(), ScalarType::I8), Some(vec![255]));
        assert_eq!(bytes((-1i32).into(), ScalarType::I64), Some(vec![255; 8]));
        assert_eq!(bytes(true.into(), ScalarType::Bool), Some(vec![1]));
    }

    #[test]
    fn nothing_is_truncated_or_reinterpreted() {
        assert_eq!(Scalar::from(-1i32).to_bytes(ScalarType::U32), None);
        assert_eq!(Scalar::from(300i32).to_bytes(ScalarType::U8), None);
        assert_eq!(Scalar::from(2.0f32).to_bytes(ScalarType::I32), None);
        assert_eq!(Scalar::from(1i32).to_bytes(ScalarType::Bool), None);
        assert_eq!(Scalar::from(true).to_bytes(ScalarType::I32), None);
        assert_eq!(Scalar::from((1i32 << 24) + 1).to_bytes(ScalarType::F32), None);
        assert_eq!(Scalar::from(u64::MAX).to_bytes(ScalarType::F32), None);
        assert_eq!(Scalar::from(70_000i32).to_bytes(ScalarType::F16), None);
        for declared in [ScalarType::F16, ScalarType::BF16, ScalarType::F32] {
            assert_eq!(Scalar::Integer(i128::MAX).to_bits(declared), None);
        }
    }

    #[test]
    fn finite_numbers_do_not_become_infinite() {
        for (value, declared) in
            [(1e300, ScalarType::F32), (-1e39, ScalarType::BF16), (65_520.0, ScalarType::F16)]
        {
            assert_eq!(Scalar::Float(value).to_bits(declared), None, "{declared}");
            let infinity = Scalar::Float(f64::INFINITY.copysign(value));
            assert!(infinity.to_bits(declared).is_some(), "{declared} has infinities");
        }
        assert_eq!(Scalar::Float(65_519.0).to_bits(ScalarType::F16), Some(f16::MAX.to_bits().into()));
        assert_eq!(Scalar::Float(1e-300).to_bits(ScalarType::F32), Some(0), "the nearest value");
    }

    #[test]
    fn bits_are_those_of_the_value() {
        for declared in ScalarType::ALL {
            let value = match declared {
                ScalarType::Bool => Scalar::Bool(true),
                _ if declared.is_float() => Scalar::Float(-1.5),
                _ => Scalar::Integer(declared.integer_limits().expect("an integer type").0),
            };
            let bits = value.to_bits(declared).expect("the type holds it");
            assert_eq!(Scalar::from_bits(declared, bits), value, "{declared}");
        }
    }
}
