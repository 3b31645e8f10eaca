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
//!
//! Features: `cpu` (the default), `nvidia`, `apple` and `nccl` for devices, and `telemetry`, which records
//! metrics and spans. A device of a missing feature is refused with an error that names the feature.
//! Recovery policies, the audit log and exporters are in the crate `anymetal-service`.
//!
//! Below it is an execution layer that programs run on for months: queues with priorities, dependencies,
//! bounds and tenants, a pool of buffers under a budget, events, graphs, all with settings from code,
//! `ANYMETAL_*` and a file. A graph on three queues:
//!
//! ```
//! # fn main() -> Result<(), anymetal::Error> {
//! use anymetal::graph::{Executable, GraphBuilder, PlanOptions};
//! use anymetal::{Buffer, Device};
//!
//! let device = Device::system_default()?;
//! let library = device.library_from_source(
//!     "kernel void scale(device const float* x, device float* y, constant float& a,
//!                        uint i [[thread_position_in_grid]]) { y[i] = a * x[i]; }
//!      kernel void sum(device const float* x, device const float* y, device const float* z,
//!                      device float* out, uint i [[thread_position_in_grid]])
//!     { out[i] = x[i] + y[i] + z[i]; }",
//! )?;
//! let (scale, sum) = (library.pipeline("scale")?, library.pipeline("sum")?);
//! let n = 1000;
//! let x = device.buffer(&vec![1.0f32; n])?;
//! let [a, b, c] = [device.acquire(n)?, device.acquire(n)?, device.acquire(n)?];
//! let out = device.acquire::<f32>(n)?;
//!
//! let mut graph = GraphBuilder::new("three branches");
//! let factor = graph.value("factor", 1.0)?; // converted to what each kernel declares
//! graph.kernel("once", scale.node().arg(&x).arg(&a).arg(factor).threads(n).build()?)?;
//! graph.kernel("twice", scale.node().arg(&x).arg(&b).arg(2.0f32).threads(n).build()?)?;
//! graph.kernel("thrice", scale.node().arg(&x).arg(&c).arg(3.0f32).threads(n).build()?)?;
//! graph.kernel("sum", sum.node().arg(&a).arg(&b).arg(&c).arg(&out).threads(n).build()?)?;
//! graph.order_as_added(); // what writes comes before what reads
//! let mut graph = Executable::new(&graph.build()?, PlanOptions::default())?;
//!
//! let queues = device.queues(3)?;
//! queues.submit_graph(&graph)?.wait()?;
//! assert_eq!(out.read()?, vec![6.0f32; n]);
//! graph.set_value(factor, 10)?; // built once, run again with another argument
//! queues.submit_graph(&graph)?.wait()?;
//! assert_eq!(out.read()?, vec![15.0f32; n]);
//! # let _typed: &Buffer<f32> = &a;
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

pub mod analysis;
#[cfg_attr(not(all(target_vendor = "apple", feature = "apple")), path = "apple_disabled.rs")]
mod apple;
pub mod argument;
mod buffer;
mod buffer_descriptor;
#[doc(hidden)]
pub mod call;
mod code_account;
#[cfg(feature = "nccl")]
pub mod collectives;
pub mod command;
mod command_buffer;
mod compile;
mod compiling;
mod compute_encoder;
pub mod config;
mod constants;
#[cfg_attr(not(feature = "cpu"), path = "cpu_disabled.rs")]
mod cpu;
mod device;
mod element;
pub mod error;
mod executable;
mod executor;
mod extent;
mod fence;
pub mod functions;
mod fusion;
pub mod graph;
mod heap;
mod idle_memory;
mod import;
mod indirect_command_buffer;
pub mod kernel;
mod known_formats;
mod launch;
mod library;
mod library_descriptor;
mod link;
pub mod log;
mod machine;
mod mapping;
pub mod memory;
mod node;
pub mod notice;
#[cfg_attr(not(feature = "nvidia"), path = "nvidia_disabled.rs")]
mod nvidia;
#[doc(hidden)]
pub mod parsed;
mod pipeline;
mod pipeline_descriptor;
mod pipeline_handles;
pub mod profile;
mod queue;
pub mod record;
pub mod reflection;
mod replay;
mod sanitized;
pub mod sanitizer;
mod signature;
mod spread;
pub mod stage_input;
mod submission;
pub mod telemetry;
pub mod tenant;
pub mod tensor;
pub mod testing;
pub mod texture;
mod topology;
mod transfer;
pub mod tuning;
#[cfg(feature = "unstable-hal")]
pub mod unstable;

pub use anymetal_core::event::Event;
pub use anymetal_core::stream::StreamOptions as QueueDescriptor;
pub use anymetal_core::submission::argument::Argument;
pub use anymetal_hal::capabilities::{Capabilities, DeviceKind};
pub use anymetal_types::family::Family;
pub use anymetal_types::texture::{PixelFormat, SamplerDescriptor, TextureDescriptor};
pub use buffer::{Buffer, BufferSlice, BufferView};
pub use buffer_descriptor::BufferDescriptor;
pub use bytemuck::Pod;
pub use command_buffer::{BlitEncoder, CommandBuffer};
pub use compiling::Compiling;
pub use compute_encoder::ComputeEncoder;
pub use constants::FunctionConstants;
pub use device::Device;
pub use error::{Error, ErrorKind};
pub use extent::Extent;
pub use half::{bf16, f16};
pub use launch::Launch;
pub use library::{CheckMode, CompileOptions, Library, MathMode};
pub use library_descriptor::LibraryDescriptor;
pub use pipeline::Pipeline;
pub use pipeline_descriptor::PipelineDescriptor;
pub use queue::{Queue, QueueGroup};
pub use submission::{Outcome, Submission};
pub use texture::Texture;
