//! Pipelines: a kernel made ready to run on a device.
//!
//! Owns the [`Pipeline`] trait. Invariant: a pipeline is immutable, holds its code alive, and its reflection
//! describes exactly that code.

use std::any::Any;
use std::fmt;

use crate::artifact::KernelInfo;
use crate::attachment::Attachment;

/// A kernel made ready to run.
pub trait Pipeline: Send + Sync + fmt::Debug {
    /// The kernel's reflection and limits.
    fn kernel(&self) -> &KernelInfo;

    /// A place for what the layer above keeps with it; `None`: the device has none.
    fn attachment(&self) -> Option<&Attachment> {
        None
    }

    /// For the owning device to find its own type again.
    fn as_any(&self) -> &dyn Any;
}
