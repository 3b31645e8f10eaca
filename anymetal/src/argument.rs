//! Typed buffers and owned structures as arguments of kernels.
//!
//! The trait and all other arguments are the runtime's; this file adds the check that an element type fits
//! what the kernel declares.

use anymetal_hal::error::DeviceError;
use bytemuck::{NoUninit, Pod};

pub use anymetal_core::submission::argument::{Argument, ArgumentTarget, Inline, InlineBytes, Unbound};
pub use anymetal_hal::command::BoundResource;
pub use anymetal_types::scalar_value::Scalar;

use crate::buffer::{Buffer, BufferView};
use crate::element::fits;

impl<T: Pod> Argument for Buffer<T> {
    fn bind(&self, target: ArgumentTarget<'_>) -> Result<BoundResource, DeviceError> {
        if !fits::<T>(target.argument) {
            return Err(target.wrong_type(format!("a buffer of `{}`", std::any::type_name::<T>())));
        }
        Ok(self.region().resource())
    }
}

impl<T: Pod> Argument for BufferView<T> {
    fn bind(&self, target: ArgumentTarget<'_>) -> Result<BoundResource, DeviceError> {
        // The type's rule is the buffer's.
        self.buffer().bind(target)?;
        Ok(self.region().resource())
    }
}

/// Binds the bytes of a plain structure that it owns, where [`Inline`] binds those of one that it borrows:
/// for [`crate::graph::GraphBuilder::value`], which keeps it.
#[derive(Debug, Clone, Copy)]
pub struct Plain<T>(pub T);

impl<T: NoUninit> Argument for Plain<T> {
    fn bind(&self, target: ArgumentTarget<'_>) -> Result<BoundResource, DeviceError> {
        Inline(&self.0).bind(target)
    }
}
