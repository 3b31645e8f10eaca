//! The arithmetic types of MSL, and the scalars of the IR that carry them.

use anymetal_ir::Scalar;

/// Arithmetic types. `char` and `signed char` are one type here.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "the names are the types'")]
pub enum ScalarTy {
    Bool,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    Half,
    Bfloat,
    Float,
}

impl ScalarTy {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Bool,
        Self::I8,
        Self::U8,
        Self::I16,
        Self::U16,
        Self::I32,
        Self::U32,
        Self::I64,
        Self::U64,
        Self::Half,
        Self::Bfloat,
        Self::Float,
    ];

    /// The scalar of the IR that holds it.
    pub fn ir(self) -> Scalar {
        match self {
            Self::Bool => Scalar::Bool,
            Self::I8 | Self::U8 => Scalar::I8,
            Self::I16 | Self::U16 => Scalar::I16,
            Self::I32 | Self::U32 => Scalar::I32,
            Self::I64 | Self::U64 => Scalar::I64,
            Self::Half => Scalar::F16,
            Self::Bfloat => Scalar::Bf16,
            Self::Float => Scalar::F32,
        }
    }

    /// Whether it is a float type.
    pub fn is_float(self) -> bool {
        self >= Self::Half
    }

    /// Whether it is an integer type, `bool` excluded.
    pub fn is_int(self) -> bool {
        !self.is_float() && self != Self::Bool
    }

    /// Whether it is `bool` or an integer type.
    pub fn is_integral(self) -> bool {
        !self.is_float()
    }

    /// Whether it is a signed integer type.
    pub fn is_signed_int(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// Whether it is `bool` or an unsigned integer type.
    pub fn is_unsigned(self) -> bool {
        matches!(self, Self::Bool | Self::U8 | Self::U16 | Self::U32 | Self::U64)
    }

    /// Size in bytes.
    pub fn size(self) -> u32 {
        self.ir().size()
    }

    /// The spelling in MSL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "char",
            Self::U8 => "uchar",
            Self::I16 => "short",
            Self::U16 => "ushort",
            Self::I32 => "int",
            Self::U32 => "uint",
            Self::I64 => "long",
            Self::U64 => "ulong",
            Self::Half => "half",
            Self::Bfloat => "bfloat",
            Self::Float => "float",
        }
    }
}
