//! Which Rust types stand for which MSL types.
//!
//! Owns the check that a buffer's element type fits what a kernel declares. Invariant: known scalars must
//! match exactly; `u8` stands for raw bytes and fits everything; other structures must have the declared
//! size.

use std::any::TypeId;

use anymetal_hal::artifact::{ArgumentInfo, ElementType, ScalarType};
use bytemuck::Pod;
use half::{bf16, f16};

/// The MSL scalar that a Rust type is or is made of, if it is a scalar or an array of up to four.
pub(crate) fn scalar_of<T: Pod>() -> Option<ScalarType> {
    fn is<T: 'static, S: 'static>() -> bool {
        let id = TypeId::of::<T>();
        [TypeId::of::<S>(), TypeId::of::<[S; 2]>(), TypeId::of::<[S; 3]>(), TypeId::of::<[S; 4]>()]
            .contains(&id)
    }
    let known = [
        (is::<T, i8>(), ScalarType::I8),
        (is::<T, u8>(), ScalarType::U8),
        (is::<T, i16>(), ScalarType::I16),
        (is::<T, u16>(), ScalarType::U16),
        (is::<T, i32>(), ScalarType::I32),
        (is::<T, u32>(), ScalarType::U32),
        (is::<T, i64>(), ScalarType::I64),
        (is::<T, u64>(), ScalarType::U64),
        (is::<T, f16>(), ScalarType::F16),
        (is::<T, bf16>(), ScalarType::BF16),
        (is::<T, f32>(), ScalarType::F32),
    ];
    known.iter().find(|(is, _)| *is).map(|(_, scalar)| *scalar)
}

/// Whether elements of type `T` may be bound to that argument.
pub fn fits<T: Pod>(argument: &ArgumentInfo) -> bool {
    let declared = match &argument.element {
        ElementType::Scalar(scalar) | ElementType::Vector(scalar, _) => Some(*scalar),
        ElementType::Struct(_) | ElementType::Other => None,
    };
    let (size, element_size) = (size_of::<T>() as u64, argument.element_size.max(1));
    match (scalar_of::<T>(), declared) {
        _ if TypeId::of::<T>() == TypeId::of::<u8>() => true,
        // Three tightly packed scalars are not a `float3`, which takes the room of four.
        (Some(scalar), Some(declared)) => {
            let bytes = u64::from(scalar.size());
            scalar == declared && !(size == 3 * bytes && element_size == 4 * bytes)
        }
        // Scalars for a structure or matrix of them: the layout is the caller's.
        (Some(_), None) => element_size.is_multiple_of(size) || size.is_multiple_of(element_size),
        (None, None) => size == element_size,
        (None, Some(_)) => size.is_multiple_of(element_size),
    }
}
