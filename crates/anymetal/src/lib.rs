//! Metal compute on any machine: the crate users depend on.
//!
//! ```
//! # fn main() -> Result<(), anymetal::Error> {
//! # let (xs, ys) = (vec![1.0f32; 1000], vec![2.0f32; 1000]);
//! let device = anymetal::Device::system_default()?;
//! let library = device.library_from_source(
//!     "kernel void saxpy(device const float* x, device float* y, constant float& a,
//!                        uint i [[thread_position_in_grid]]) { y[i] += a * x[i]; }",
//! )?;
//! let saxpy = library.pipeline("saxpy")?;
//! let (x, y) = (device.buffer(&xs)?, device.buffer(&ys)?);
//! let queue = device.queue()?;
//! queue.launch(&saxpy).arg(&x).arg(&y).arg(2.0f32).threads(xs.len()).submit()?.wait()?;
//! assert_eq!(y.read()?, vec![4.0f32; 1000]);
//! # Ok(())
//! # }
//! ```
//!
//! The object model is Metal's: [`Device`], [`Library`], [`Pipeline`], [`Queue`], [`CommandBuffer`] with
//! encoders, [`Buffer`]. [`Queue::launch`] is the short way for one kernel. Every mistake in a call is an
//! [`Error`] before anything runs; every error has a class.
#![forbid(unsafe_code)]

mod argument;
mod buffer;
mod command_buffer;
mod compile;
mod config;
mod constants;
mod device;
mod element;
mod error;
mod extent;
mod launch;
mod library;
mod pipeline;
mod queue;

pub use anymetal_hal::artifact::{
    Access, AddressSpace, ArgumentInfo, ArgumentKind, Artifact, ElementType, FunctionConstantInfo,
    KernelInfo, ScalarType,
};
pub use anymetal_hal::capabilities::{Capabilities, DeviceKind};
pub use anymetal_hal::completion::Timing;
pub use anymetal_hal::error::{DeviceError, ErrorClass, OutOfBounds};
pub use anymetal_hal::queue::{QueueDescriptor, WhenFull};
pub use argument::{Argument, ArgumentTarget, Inline, InlineBytes, Scalar, Unbound};
pub use buffer::{Buffer, BufferView};
pub use bytemuck::Pod;
pub use command_buffer::{BlitEncoder, CommandBuffer, ComputeEncoder};
pub use compile::compiler_notes;
pub use constants::{ConstantKey, FunctionConstants};
pub use device::Device;
pub use error::{CompileFailure, Error};
pub use extent::Extent;
pub use half::{bf16, f16};
pub use launch::Launch;
pub use library::{CheckMode, CompileOptions, Library, MathMode};
pub use pipeline::Pipeline;
pub use queue::{Queue, Submitted};
