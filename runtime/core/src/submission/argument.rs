//! What can be given to a kernel as an argument.
//!
//! Owns the [`Argument`] trait and its implementations: views, scalars (converted to the type that the kernel
//! declares), short arrays, plain structures and nothing. The one converter of the system: encoders, launches
//! and graphs all bind through it. Invariant: a value that the declared type cannot hold is an error that
//! names the argument; nothing is truncated.

use anymetal_hal::artifact::{Access, ArgumentInfo, ElementType};
use anymetal_hal::command::BoundResource;
use anymetal_hal::error::DeviceError;
use anymetal_types::scalar_value::Scalar;
use bytemuck::NoUninit;
use half::{bf16, f16};

use crate::memory::pool::PooledBuffer;
use crate::memory::view::BufferView;

/// The argument that a value is for.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ArgumentTarget<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// The argument, as the kernel declares it.
    pub argument: &'a ArgumentInfo,
}

impl<'a> ArgumentTarget<'a> {
    /// An argument of the kernel called `kernel`.
    pub fn new(kernel: &'a str, argument: &'a ArgumentInfo) -> Self {
        ArgumentTarget { kernel, argument }
    }

    /// The bytes of a value. A kernel that stores to the argument would store to a copy that nobody reads.
    fn bytes_of_value(&self, bytes: Vec<u8>) -> Result<BoundResource, DeviceError> {
        match self.argument.access {
            Access::Read => Ok(BoundResource::Bytes(bytes)),
            Access::Write | Access::ReadWrite => {
                Err(self.wrong_type("a value, although the kernel writes to it: the result needs a buffer"))
            }
        }
    }

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
        target.bytes_of_value(bytemuck::bytes_of(self.0).to_vec())
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

macro_rules! scalar_arguments {
    ($($type:ty)*) => {
        $(
            impl Argument for $type {
                fn bind(&self, target: ArgumentTarget<'_>) -> Result<BoundResource, DeviceError> {
                    Scalar::from(*self).bind(target)
                }
            }
        )*
    };
}

scalar_arguments! { bool i8 u8 i16 u16 i32 u32 i64 u64 isize usize f16 bf16 f32 f64 }

impl Argument for Scalar {
    fn bind(&self, target: ArgumentTarget<'_>) -> Result<BoundResource, DeviceError> {
        let bytes = match target.argument.element {
            ElementType::Scalar(scalar) => self.to_bytes(scalar),
            ElementType::Vector(..) | ElementType::Struct(_) | ElementType::Other => None,
        };
        let bytes = bytes.ok_or_else(|| target.wrong_type(self.to_string()))?;
        target.bytes_of_value(bytes)
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
            bytes.extend(value.to_bytes(scalar).ok_or_else(|| target.wrong_type(value.to_string()))?);
        }
        // A vector of three takes the room of four.
        bytes.resize(bytes.len().max(padded as usize), 0);
        target.bytes_of_value(bytes)
    }
}
