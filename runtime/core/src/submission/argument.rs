//! What can be given to a kernel as an argument.
//!
//! Owns the [`Argument`] trait and its implementations: views, scalars (converted to the type that the kernel
//! declares), short arrays, plain structures and nothing. The one converter of the system: encoders, launches
//! and graphs all bind through it. Invariant: a value that the declared type cannot hold is an error that
//! names the argument; nothing is truncated.

use anymetal_hal::artifact::{ArgumentInfo, ElementType, ScalarType};
use anymetal_hal::command::BoundResource;
use anymetal_hal::error::DeviceError;
use bytemuck::NoUninit;
use half::{bf16, f16};

use crate::memory::pool::PooledBuffer;
use crate::memory::view::BufferView;

/// The argument that a value is for.
#[derive(Debug, Clone, Copy)]
pub struct ArgumentTarget<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// The argument, as the kernel declares it.
    pub argument: &'a ArgumentInfo,
}

impl ArgumentTarget<'_> {
    /// The error for a value of another type.
    pub fn wrong_type(&self, got: impl Into<String>) -> DeviceError {
        let pointer = if self.argument.is_reference { "&" } else { "*" };
        DeviceError::WrongType {
            kernel: self.kernel.to_owned(),
            index: self.argument.index,
            name: self.argument.name.clone(),
            expected: format!("`{}{pointer}`", self.argument.type_name),
            got: got.into(),
        }
    }
}

/// A value that can be bound to a kernel's buffer argument.
pub trait Argument {
    /// What to bind, converted to the type that the kernel declares.
    fn bind(&self, target: ArgumentTarget<'_>) -> Result<BoundResource, DeviceError>;
}

impl<A: Argument + ?Sized> Argument for &A {
    fn bind(&self, target: ArgumentTarget<'_>) -> Result<BoundResource, DeviceError> {
        (**self).bind(target)
    }
}

/// Bytes of a buffer, whatever the kernel takes them for.
impl Argument for BufferView {
    fn bind(&self, _target: ArgumentTarget<'_>) -> Result<BoundResource, DeviceError> {
        Ok(self.resource())
    }
}

impl Argument for PooledBuffer {
    fn bind(&self, _target: ArgumentTarget<'_>) -> Result<BoundResource, DeviceError> {
        Ok(self.resource())
    }
}

/// Binds nothing, on purpose: a kernel that accesses the argument all the same faults.
#[derive(Debug, Clone, Copy)]
pub struct Unbound;

impl Argument for Unbound {
    fn bind(&self, _target: ArgumentTarget<'_>) -> Result<BoundResource, DeviceError> {
        Ok(BoundResource::Unbound)
    }
}

/// Binds the bytes of a plain structure, `#[repr(C)]` as the kernel's own. Size and alignment are checked;
/// the order of the fields cannot be.
#[derive(Debug, Clone, Copy)]
pub struct Inline<'a, T>(pub &'a T);

impl<T: NoUninit> Argument for Inline<'_, T> {
    fn bind(&self, target: ArgumentTarget<'_>) -> Result<BoundResource, DeviceError> {
        let (name, size, align) = (std::any::type_name::<T>(), size_of::<T>() as u64, align_of::<T>() as u64);
        let (declared, declared_align) = (target.argument.element_size, target.argument.element_align);
        if size != declared {
            return Err(target.wrong_type(format!("`{name}` of {size} bytes instead of {declared}")));
        }
        // Rust's types may be aligned less than MSL's vectors, never more.
        if align > declared_align {
            let problem = format!("`{name}` aligned to {align} instead of {declared_align}");
            return Err(target.wrong_type(problem));
        }
        Ok(BoundResource::Bytes(bytemuck::bytes_of(self.0).to_vec()))
    }
}

/// Binds bytes as they are; the kernel's own bounds are the only check.
#[derive(Debug, Clone, Copy)]
pub struct InlineBytes<'a>(pub &'a [u8]);

impl Argument for InlineBytes<'_> {
    fn bind(&self, _target: ArgumentTarget<'_>) -> Result<BoundResource, DeviceError> {
        Ok(BoundResource::Bytes(self.0.to_vec()))
    }
}

/// A scalar before its conversion to the declared type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar {
    /// A truth value, for `bool` only.
    Bool(bool),
    /// An integer, for integer types that hold it and floating-point types that hold it exactly.
    Integer(i128),
    /// A number, for floating-point types, rounded to the nearest value.
    Float(f64),
}

impl Scalar {
    /// Its bytes as a value of that type; `None` if the type cannot hold it.
    pub fn to_bytes(self, scalar: ScalarType) -> Option<Vec<u8>> {
        match self {
            Scalar::Bool(value) => (scalar == ScalarType::Bool).then(|| vec![u8::from(value)]),
            Scalar::Integer(value) => integer_bytes(value, scalar),
            Scalar::Float(value) => float_bytes(value, scalar),
        }
    }

    fn describe(self) -> String {
        match self {
            Scalar::Bool(value) => format!("`{value}`"),
            Scalar::Integer(value) => format!("the integer {value}"),
            Scalar::Float(value) => format!("the number {value:?}"),
        }
    }
}

fn integer_bytes(value: i128, scalar: ScalarType) -> Option<Vec<u8>> {
    Some(match scalar {
        ScalarType::I8 => i8::try_from(value).ok()?.to_le_bytes().to_vec(),
        ScalarType::U8 => u8::try_from(value).ok()?.to_le_bytes().to_vec(),
        ScalarType::I16 => i16::try_from(value).ok()?.to_le_bytes().to_vec(),
        ScalarType::U16 => u16::try_from(value).ok()?.to_le_bytes().to_vec(),
        ScalarType::I32 => i32::try_from(value).ok()?.to_le_bytes().to_vec(),
        ScalarType::U32 => u32::try_from(value).ok()?.to_le_bytes().to_vec(),
        ScalarType::I64 => i64::try_from(value).ok()?.to_le_bytes().to_vec(),
        ScalarType::U64 => u64::try_from(value).ok()?.to_le_bytes().to_vec(),
        ScalarType::Bool => return None,
        ScalarType::F16 | ScalarType::BF16 | ScalarType::F32 => return exact_float_bytes(value, scalar),
    })
}

/// The bytes of a floating-point value that is exactly the integer.
fn exact_float_bytes(value: i128, scalar: ScalarType) -> Option<Vec<u8>> {
    let number = value as f64;
    let stored = match scalar {
        ScalarType::F16 => f16::from_f64(number).to_f64(),
        ScalarType::BF16 => bf16::from_f64(number).to_f64(),
        _ => f64::from(number as f32),
    };
    // Both sides are compared as integers: a large `value` may have been rounded on its way to `number`.
    (stored.is_finite() && stored as i128 == value).then(|| float_bytes(number, scalar))?
}

fn float_bytes(value: f64, scalar: ScalarType) -> Option<Vec<u8>> {
    Some(match scalar {
        ScalarType::F16 => f16::from_f64(value).to_le_bytes().to_vec(),
        ScalarType::BF16 => bf16::from_f64(value).to_le_bytes().to_vec(),
        ScalarType::F32 => (value as f32).to_le_bytes().to_vec(),
        _ => return None,
    })
}

macro_rules! scalar_arguments {
    ($($type:ty => |$value:ident| $scalar:expr;)*) => {
        $(
            impl From<$type> for Scalar {
                fn from($value: $type) -> Scalar {
                    $scalar
                }
            }

            impl Argument for $type {
                fn bind(&self, target: ArgumentTarget<'_>) -> Result<BoundResource, DeviceError> {
                    Scalar::from(*self).bind(target)
                }
            }
        )*
    };
}

scalar_arguments! {
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

impl Argument for Scalar {
    fn bind(&self, target: ArgumentTarget<'_>) -> Result<BoundResource, DeviceError> {
        let bytes = match target.argument.element {
            ElementType::Scalar(scalar) => self.to_bytes(scalar),
            ElementType::Vector(..) | ElementType::Struct(_) | ElementType::Other => None,
        };
        let bytes = bytes.ok_or_else(|| target.wrong_type(self.describe()))?;
        Ok(BoundResource::Bytes(bytes))
    }
}

/// For a vector (`float4&`) or for a pointer to so many scalars (`constant float*`).
impl<S: Into<Scalar> + Copy, const N: usize> Argument for [S; N] {
    fn bind(&self, target: ArgumentTarget<'_>) -> Result<BoundResource, DeviceError> {
        let (scalar, padded) = match target.argument.element {
            ElementType::Vector(scalar, lanes) if usize::from(lanes) == N => {
                (scalar, target.argument.element_size)
            }
            ElementType::Scalar(scalar) if !target.argument.is_reference => (scalar, 0),
            _ => return Err(target.wrong_type(format!("an array of {N} values"))),
        };
        let mut bytes = Vec::with_capacity(N * scalar.size() as usize);
        for &value in self {
            let value: Scalar = value.into();
            bytes.extend(value.to_bytes(scalar).ok_or_else(|| target.wrong_type(value.describe()))?);
        }
        // A vector of three takes the room of four.
        bytes.resize(bytes.len().max(padded as usize), 0);
        Ok(BoundResource::Bytes(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_become_what_the_kernel_declares() {
        let bytes = |scalar: Scalar, kind| scalar.to_bytes(kind);
        assert_eq!(bytes(2.0f32.into(), ScalarType::F32), Some(2.0f32.to_le_bytes().to_vec()));
        assert_eq!(bytes(2.5f64.into(), ScalarType::F16), Some(f16::from_f32(2.5).to_le_bytes().to_vec()));
        assert_eq!(bytes(7usize.into(), ScalarType::U32), Some(vec![7, 0, 0, 0]));
        assert_eq!(bytes(7i32.into(), ScalarType::F32), Some(7.0f32.to_le_bytes().to_vec()));
        assert_eq!(bytes((-1i32).into(), ScalarType::I8), Some(vec![255]));
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
    }
}
