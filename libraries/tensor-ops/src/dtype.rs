//! Element types, and the type that two of them have in common.
//!
//! Owns [`DType`], [`Element`] and [`DType::promote`], the one promotion table. Invariant:
//! promotion is commutative, and the result holds every integer of both types, except where one of
//! them is a floating-point type: then the result is one.

use std::borrow::Cow;

use anymetal::reflection::ScalarType;
use anymetal::{bf16, f16};

/// The type of a tensor's elements: those scalar types that operations have kernels for, in the order of
/// [`DType::promote`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// `bool`, one byte, 0 or 1.
    Bool,
    /// `uchar`.
    U8,
    /// `char`.
    I8,
    /// `uint`.
    U32,
    /// `int`.
    I32,
    /// `long`.
    I64,
    /// `half`. Operations compute in `float` and round once.
    F16,
    /// `bfloat`. Operations compute in `float` and round once.
    BF16,
    /// `float`.
    F32,
}

impl DType {
    /// All types.
    pub const ALL: [DType; 9] = [
        DType::Bool,
        DType::U8,
        DType::I8,
        DType::U32,
        DType::I32,
        DType::I64,
        DType::F16,
        DType::BF16,
        DType::F32,
    ];

    /// Bytes of one element.
    pub fn size(self) -> usize {
        ScalarType::from(self).size() as usize
    }

    /// Whether it is a floating-point type.
    pub fn is_float(self) -> bool {
        ScalarType::from(self).is_float()
    }

    /// Whether it is an integer type; `bool` is none.
    pub fn is_integer(self) -> bool {
        ScalarType::from(self).is_integer()
    }

    /// The type in which a binary operation computes and of which its result is, unless the
    /// operation says otherwise.
    ///
    /// |      | bool | u8   | i8   | u32  | i32  | i64  | f16  | bf16 | f32 |
    /// |------|------|------|------|------|------|------|------|------|-----|
    /// | bool | bool | u8   | i8   | u32  | i32  | i64  | f16  | bf16 | f32 |
    /// | u8   |      | u8   | i32  | u32  | i32  | i64  | f16  | bf16 | f32 |
    /// | i8   |      |      | i8   | i64  | i32  | i64  | f16  | bf16 | f32 |
    /// | u32  |      |      |      | u32  | i64  | i64  | f16  | bf16 | f32 |
    /// | i32  |      |      |      |      | i32  | i64  | f16  | bf16 | f32 |
    /// | i64  |      |      |      |      |      | i64  | f16  | bf16 | f32 |
    /// | f16  |      |      |      |      |      |      | f16  | f32  | f32 |
    /// | bf16 |      |      |      |      |      |      |      | bf16 | f32 |
    /// | f32  |      |      |      |      |      |      |      |      | f32 |
    pub fn promote(self, other: DType) -> DType {
        let (low, high) = if self <= other { (self, other) } else { (other, self) };
        match (low, high) {
            (DType::U8, DType::I8) => DType::I32,
            (DType::I8, DType::U32) | (DType::U32, DType::I32) => DType::I64,
            (DType::F16, DType::BF16) => DType::F32,
            (_, high) => high,
        }
    }

    /// The type of functions that have no integer results: itself if it is a floating-point type,
    /// else `f32`.
    pub fn to_float(self) -> DType {
        if self.is_float() { self } else { DType::F32 }
    }

    /// The type of sums and products: floating-point types keep theirs, all others have `i64`,
    /// which wraps.
    pub fn of_sums(self) -> DType {
        if self.is_float() { self } else { DType::I64 }
    }

    /// MSL's name of it.
    pub(crate) fn msl(self) -> &'static str {
        ScalarType::from(self).msl_name()
    }

    /// The MSL type in which kernels compute with it.
    pub(crate) fn msl_compute(self) -> &'static str {
        if self.is_float() { "float" } else { self.msl() }
    }

    /// The MSL type whose arithmetic wraps; of floating-point types their own.
    pub(crate) fn msl_wrapping(self) -> &'static str {
        match self {
            DType::I8 => "uchar",
            DType::I32 => "uint",
            DType::I64 => "ulong",
            DType::Bool | DType::U8 | DType::U32 | DType::F16 | DType::BF16 | DType::F32 => {
                self.msl_compute()
            }
        }
    }
}

impl std::fmt::Display for DType {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(ScalarType::from(*self).name())
    }
}

impl From<DType> for ScalarType {
    fn from(dtype: DType) -> Self {
        match dtype {
            DType::Bool => ScalarType::Bool,
            DType::U8 => ScalarType::U8,
            DType::I8 => ScalarType::I8,
            DType::U32 => ScalarType::U32,
            DType::I32 => ScalarType::I32,
            DType::I64 => ScalarType::I64,
            DType::F16 => ScalarType::F16,
            DType::BF16 => ScalarType::BF16,
            DType::F32 => ScalarType::F32,
        }
    }
}

/// A Rust type of tensor elements.
pub trait Element: Copy + PartialEq + std::fmt::Debug + Send + Sync + 'static {
    /// Its type in tensors.
    const DTYPE: DType;

    /// Elements as a device has them.
    fn as_bytes(elements: &[Self]) -> Cow<'_, [u8]>;

    /// Elements from a device's bytes, which are whole elements.
    fn from_bytes(bytes: &[u8]) -> Vec<Self>;
}

macro_rules! elements {
    ($($rust:ty => $dtype:ident),*) => {
        $(
            impl Element for $rust {
                const DTYPE: DType = DType::$dtype;

                fn as_bytes(elements: &[Self]) -> Cow<'_, [u8]> {
                    Cow::Borrowed(bytemuck::cast_slice(elements))
                }

                fn from_bytes(bytes: &[u8]) -> Vec<Self> {
                    bytes.chunks_exact(size_of::<$rust>()).map(bytemuck::pod_read_unaligned).collect()
                }
            }
        )*
    };
}
elements!(u8 => U8, i8 => I8, u32 => U32, i32 => I32, i64 => I64, f16 => F16, bf16 => BF16, f32 => F32);

impl Element for bool {
    const DTYPE: DType = DType::Bool;

    fn as_bytes(elements: &[Self]) -> Cow<'_, [u8]> {
        Cow::Owned(elements.iter().map(|&element| u8::from(element)).collect())
    }

    fn from_bytes(bytes: &[u8]) -> Vec<Self> {
        bytes.iter().map(|&byte| byte != 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::DType;

    #[test]
    fn promotion_is_commutative_and_keeps_integers() {
        let range = |dtype| match dtype {
            DType::Bool => Some((0, 1)),
            DType::U8 => Some((0, 255)),
            DType::I8 => Some((-128, 127)),
            DType::U32 => Some((0, i64::from(u32::MAX))),
            DType::I32 => Some((i64::from(i32::MIN), i64::from(i32::MAX))),
            DType::I64 => Some((i64::MIN, i64::MAX)),
            DType::F16 | DType::BF16 | DType::F32 => None,
        };
        for a in DType::ALL {
            assert_eq!(a.promote(a), a);
            for b in DType::ALL {
                let common = a.promote(b);
                assert_eq!(common, b.promote(a));
                match (range(a), range(b), range(common)) {
                    (Some(a), Some(b), Some(both)) => {
                        assert!(both.0 <= a.0.min(b.0) && both.1 >= a.1.max(b.1));
                    }
                    (None, _, result) | (_, None, result) => assert_eq!(result, None),
                    (Some(_), Some(_), None) => panic!("{a} and {b} are integers, {common} is none"),
                }
            }
        }
    }
}
