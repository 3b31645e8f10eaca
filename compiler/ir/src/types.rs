//! Types of values.

use std::fmt;

use anymetal_types::scalar::ScalarType;

/// A scalar type. Integers carry no sign: operations have one, so this is not [`ScalarType`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Scalar {
    /// `true` or `false`; one byte in memory.
    Bool,
    /// 8-bit integer.
    I8,
    /// 16-bit integer.
    I16,
    /// 32-bit integer.
    I32,
    /// 64-bit integer.
    I64,
    /// IEEE 754 binary16.
    F16,
    /// bfloat16.
    Bf16,
    /// IEEE 754 binary32.
    F32,
}

impl Scalar {
    /// Size in memory, in bytes.
    pub fn size(self) -> u32 {
        match self {
            Self::Bool | Self::I8 => 1,
            Self::I16 | Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::F32 => 4,
            Self::I64 => 8,
        }
    }

    /// Width in bits; 1 for `bool`.
    pub fn bits(self) -> u32 {
        if self == Self::Bool { 1 } else { self.size() * 8 }
    }

    /// Whether it is one of the float types.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32)
    }

    /// Whether it is `I8` to `I64`.
    pub fn is_int(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// The name in the text form.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
        }
    }
}

impl From<ScalarType> for Scalar {
    fn from(scalar: ScalarType) -> Self {
        match scalar {
            ScalarType::Bool => Self::Bool,
            ScalarType::I8 | ScalarType::U8 => Self::I8,
            ScalarType::I16 | ScalarType::U16 => Self::I16,
            ScalarType::I32 | ScalarType::U32 => Self::I32,
            ScalarType::I64 | ScalarType::U64 => Self::I64,
            ScalarType::F16 => Self::F16,
            ScalarType::BF16 => Self::Bf16,
            ScalarType::F32 => Self::F32,
        }
    }
}

/// An address space.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Space {
    /// Device memory: read and written by all threads of the grid.
    Device,
    /// Constant memory: read-only.
    Constant,
    /// Shared by the threads of one threadgroup.
    Threadgroup,
    /// Private to one thread.
    Thread,
}

impl Space {
    /// The name in the text form.
    pub fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Constant => "constant",
            Self::Threadgroup => "threadgroup",
            Self::Thread => "thread",
        }
    }
}

/// The type of a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// One scalar.
    Scalar(Scalar),
    /// 2 to 4 scalars.
    Vector(Scalar, u8),
    /// A pointer.
    Ptr(Space),
}

impl Type {
    /// `bool`.
    pub const BOOL: Self = Self::Scalar(Scalar::Bool);
    /// 32-bit integer.
    pub const I32: Self = Self::Scalar(Scalar::I32);
    /// 64-bit integer.
    pub const I64: Self = Self::Scalar(Scalar::I64);
    /// 32-bit float.
    pub const F32: Self = Self::Scalar(Scalar::F32);

    /// Bytes that a load or store of this type touches.
    pub fn size(self) -> u32 {
        match self {
            Self::Scalar(s) => s.size(),
            Self::Vector(s, n) => s.size() * u32::from(n),
            Self::Ptr(_) => 8,
        }
    }

    /// The scalar, or the element of the vector; `None` for pointers.
    pub fn scalar(self) -> Option<Scalar> {
        match self {
            Self::Scalar(s) | Self::Vector(s, _) => Some(s),
            Self::Ptr(_) => None,
        }
    }

    /// Number of elements: 1 for scalars and pointers.
    pub fn lanes(self) -> u8 {
        if let Self::Vector(_, n) = self { n } else { 1 }
    }

    /// The same shape with another scalar; pointers stay.
    pub fn with_scalar(self, scalar: Scalar) -> Self {
        match self {
            Self::Scalar(_) => Self::Scalar(scalar),
            Self::Vector(_, n) => Self::Vector(scalar, n),
            Self::Ptr(space) => Self::Ptr(space),
        }
    }

    /// Whether it is a pointer.
    pub fn is_ptr(self) -> bool {
        matches!(self, Self::Ptr(_))
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(s) => f.write_str(s.name()),
            Self::Vector(s, n) => write!(f, "{}x{n}", s.name()),
            Self::Ptr(space) => write!(f, "ptr.{}", space.name()),
        }
    }
}
