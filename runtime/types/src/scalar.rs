//! The scalar types of MSL: sizes, names and kinds.
//!
//! Owns [`ScalarType`], which the front end, artifacts, devices and launches share. Types that differ are
//! separate: the IR's integers carry no sign, tensors have a subset of the types, and kernels written in Rust
//! also have `isize` and `usize`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A scalar type of MSL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ScalarType {
    /// `bool`, one byte.
    Bool,
    /// `char`
    I8,
    /// `uchar`
    U8,
    /// `short`
    I16,
    /// `ushort`
    U16,
    /// `int`
    I32,
    /// `uint`
    U32,
    /// `long`
    I64,
    /// `ulong`, `size_t`
    U64,
    /// `half`
    F16,
    /// `bfloat`
    BF16,
    /// `float`
    F32,
}

/// Properties of a scalar type that its name determines.
struct Properties {
    scalar: ScalarType,
    kind: ScalarKind,
    size: u8,
    name: &'static str,
    msl_name: &'static str,
}

/// How a scalar type represents its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScalarKind {
    /// A truth value.
    Bool,
    /// A two's complement integer.
    Signed,
    /// An unsigned integer.
    Unsigned,
    /// A floating-point number.
    Float,
}

const fn row(
    scalar: ScalarType,
    kind: ScalarKind,
    size: u8,
    name: &'static str,
    msl_name: &'static str,
) -> Properties {
    Properties { scalar, kind, size, name, msl_name }
}

/// In the order of the variants.
const PROPERTIES: [Properties; 12] = [
    row(ScalarType::Bool, ScalarKind::Bool, 1, "bool", "bool"),
    row(ScalarType::I8, ScalarKind::Signed, 1, "i8", "char"),
    row(ScalarType::U8, ScalarKind::Unsigned, 1, "u8", "uchar"),
    row(ScalarType::I16, ScalarKind::Signed, 2, "i16", "short"),
    row(ScalarType::U16, ScalarKind::Unsigned, 2, "u16", "ushort"),
    row(ScalarType::I32, ScalarKind::Signed, 4, "i32", "int"),
    row(ScalarType::U32, ScalarKind::Unsigned, 4, "u32", "uint"),
    row(ScalarType::I64, ScalarKind::Signed, 8, "i64", "long"),
    row(ScalarType::U64, ScalarKind::Unsigned, 8, "u64", "ulong"),
    row(ScalarType::F16, ScalarKind::Float, 2, "f16", "half"),
    row(ScalarType::BF16, ScalarKind::Float, 2, "bf16", "bfloat"),
    row(ScalarType::F32, ScalarKind::Float, 4, "f32", "float"),
];

const _: () = {
    let mut index = 0;
    while index < PROPERTIES.len() {
        assert!(PROPERTIES[index].scalar as usize == index, "the table is in the order of the variants");
        index += 1;
    }
};

impl ScalarType {
    /// All scalar types.
    pub const ALL: [Self; PROPERTIES.len()] = {
        let mut all = [Self::Bool; PROPERTIES.len()];
        let mut index = 0;
        while index < all.len() {
            all[index] = PROPERTIES[index].scalar;
            index += 1;
        }
        all
    };

    const fn properties(self) -> &'static Properties {
        &PROPERTIES[self as usize]
    }

    /// The representation of its values.
    #[must_use]
    pub const fn kind(self) -> ScalarKind {
        self.properties().kind
    }

    /// Size and alignment in bytes.
    #[must_use]
    pub const fn size(self) -> u32 {
        self.properties().size as u32
    }

    /// Size in memory in bits: 8 for `bool`.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.properties().size as u32 * 8
    }

    /// The name of the Rust type: `u32`, `f16`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.properties().name
    }

    /// The spelling in MSL: `uint`, `half`.
    #[must_use]
    pub const fn msl_name(self) -> &'static str {
        self.properties().msl_name
    }

    /// The type with that [name](Self::name).
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scalar| scalar.name() == name)
    }

    /// Whether it is a floating-point type.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), ScalarKind::Float)
    }

    /// Whether it is an integer type; `bool` is not.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        matches!(self.kind(), ScalarKind::Signed | ScalarKind::Unsigned)
    }

    /// Whether it is an integer type or `bool`.
    #[must_use]
    pub const fn is_integral(self) -> bool {
        !self.is_float()
    }

    /// Whether it is a signed integer type.
    #[must_use]
    pub const fn is_signed(self) -> bool {
        matches!(self.kind(), ScalarKind::Signed)
    }

    /// The smallest and the largest value of an integer type or of `bool`; `None` for floating-point types.
    #[must_use]
    pub const fn integer_limits(self) -> Option<(i128, i128)> {
        match self.kind() {
            ScalarKind::Bool => Some((0, 1)),
            ScalarKind::Signed => Some((-(1 << (self.bits() - 1)), (1 << (self.bits() - 1)) - 1)),
            ScalarKind::Unsigned => Some((0, (1 << self.bits()) - 1)),
            ScalarKind::Float => None,
        }
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_sizes_are_those_of_the_types() {
        assert_eq!(ScalarType::named("bf16"), Some(ScalarType::BF16));
        assert_eq!(ScalarType::named("half"), None);
        assert!(ScalarType::ALL.into_iter().all(|scalar| ScalarType::named(scalar.name()) == Some(scalar)));
        assert_eq!((ScalarType::U16.size(), ScalarType::U16.bits()), (2, 16));
        assert_eq!(ScalarType::U64.msl_name(), "ulong");
    }

    #[test]
    fn limits_are_those_of_rust_types() {
        let limits = |scalar: ScalarType| scalar.integer_limits();
        assert_eq!(limits(ScalarType::I8), Some((i8::MIN.into(), i8::MAX.into())));
        assert_eq!(limits(ScalarType::I64), Some((i64::MIN.into(), i64::MAX.into())));
        assert_eq!(limits(ScalarType::U64), Some((0, u64::MAX.into())));
        assert_eq!(limits(ScalarType::Bool), Some((0, 1)));
        assert_eq!(limits(ScalarType::F16), None);
    }
}
