//! Values that are bound inline: scalars, vectors, plain structures.
//!
//! Owns the [`Value`] trait. Invariant: a value is bound only if it has the kernel's own type (a scalar exactly,
//! a vector by element and length, a structure by size and alignment); nothing is converted here. The public
//! facade converts, this layer does not guess.

use anymetal_hal::artifact::{ArgumentInfo, ElementType, ScalarType};
use anymetal_hal::error::DeviceError;
use bytemuck::NoUninit;
use half::{bf16, f16};

/// The argument that a value is for.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The kernel's name.
    pub kernel: &'a str,
    /// The argument, as the kernel declares it.
    pub argument: &'a ArgumentInfo,
}

impl Target<'_> {
    fn wrong_type(&self, got: String) -> DeviceError {
        let pointer = if self.argument.is_reference { "&" } else { "*" };
        DeviceError::WrongType {
            kernel: self.kernel.to_owned(),
            index: self.argument.index,
            name: self.argument.name.clone(),
            expected: format!("`{}{pointer}`", self.argument.type_name),
            got,
        }
    }
}

/// A value that can be bound inline.
pub trait Value {
    /// Its bytes, if the argument is of its type.
    fn bytes(&self, target: &Target<'_>) -> Result<Vec<u8>, DeviceError>;
}

/// A scalar type of Rust that is one of MSL.
pub trait Scalar: NoUninit {
    /// Which one.
    const TYPE: ScalarType;
}

macro_rules! scalars {
    ($($type:ty => $scalar:ident),* $(,)?) => {
        $(
            impl Scalar for $type {
                const TYPE: ScalarType = ScalarType::$scalar;
            }

            impl Value for $type {
                fn bytes(&self, target: &Target<'_>) -> Result<Vec<u8>, DeviceError> {
                    match &target.argument.element {
                        ElementType::Scalar(ScalarType::$scalar) => Ok(bytemuck::bytes_of(self).to_vec()),
                        _ => Err(target.wrong_type(format!("a `{}`", ScalarType::$scalar.msl_name()))),
                    }
                }
            }
        )*
    };
}

scalars! {
    bool => Bool, i8 => I8, u8 => U8, i16 => I16, u16 => U16, i32 => I32, u32 => U32, i64 => I64, u64 => U64,
    f16 => F16, bf16 => BF16, f32 => F32,
}

/// A vector of so many elements, or elements for a pointer.
impl<S: Scalar, const N: usize> Value for [S; N] {
    fn bytes(&self, target: &Target<'_>) -> Result<Vec<u8>, DeviceError> {
        let mut bytes: Vec<u8> =
            self.iter().flat_map(|element| bytemuck::bytes_of(element).to_vec()).collect();
        match target.argument.element {
            ElementType::Vector(scalar, lanes) if scalar == S::TYPE && usize::from(lanes) == N => {
                // A vector of three takes the room of four.
                bytes.resize(bytes.len().max(target.argument.element_size as usize), 0);
                Ok(bytes)
            }
            ElementType::Scalar(scalar) if scalar == S::TYPE && !target.argument.is_reference => Ok(bytes),
            _ => Err(target.wrong_type(format!("{N} values of type `{}`", S::TYPE.msl_name()))),
        }
    }
}

/// A plain structure, `#[repr(C)]` as the kernel's own. Size and alignment are checked; the order of the
/// fields cannot be.
#[derive(Debug, Clone, Copy)]
pub struct Plain<'a, T>(pub &'a T);

impl<T: NoUninit> Value for Plain<'_, T> {
    fn bytes(&self, target: &Target<'_>) -> Result<Vec<u8>, DeviceError> {
        let (size, align) = (size_of::<T>() as u64, align_of::<T>() as u64);
        let declared = target.argument;
        // Rust's types may be aligned less than MSL's vectors, never more.
        if size == declared.element_size && align <= declared.element_align {
            return Ok(bytemuck::bytes_of(self.0).to_vec());
        }
        Err(target.wrong_type(format!(
            "`{}` of {size} bytes aligned to {align} instead of {} aligned to {}",
            std::any::type_name::<T>(),
            declared.element_size,
            declared.element_align
        )))
    }
}
