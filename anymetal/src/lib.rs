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
//! use anymetal::{Buffer, Device, Executable, GraphBuilder, PlanOptions};
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
//! let [a, b, c, out] = [device.rent(n)?, device.rent(n)?, device.rent(n)?, device.rent::<f32>(n)?];
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

#[cfg_attr(not(all(target_vendor = "apple", feature = "apple")), path = "apple_disabled.rs")]
mod apple;
mod argument;
mod buffer;
mod buffer_options;
#[doc(hidden)]
pub mod call;
#[cfg(feature = "nccl")]
mod collectives;
mod command_buffer;
mod compile;
mod compiling;
mod compute_encoder;
mod constants;
#[cfg_attr(not(feature = "cpu"), path = "cpu_disabled.rs")]
mod cpu;
mod device;
mod element;
mod error;
mod executable;
mod executor;
mod extent;
mod fence;
mod functions;
mod fusion;
mod graph;
mod heap;
mod import;
mod indirect_command_buffer;
pub mod kernel;
mod known_formats;
mod launch;
mod library;
mod link;
mod machine;
mod mapping;
mod memory;
mod node;
mod notice;
#[cfg_attr(not(feature = "nvidia"), path = "nvidia_disabled.rs")]
mod nvidia;
#[doc(hidden)]
pub mod parsed;
mod pipeline;
mod pipeline_descriptor;
mod pipeline_handles;
mod profile;
mod queue;
mod replay;
mod sanitized;
pub mod sanitizer;
mod signature;
mod submission;
pub mod telemetry;
pub mod testing;
mod texture;
mod transfer;
pub mod tuning;

/// The execution layer over them, for what [`Device::context`], [`Device::pool`] and [`Queue::stream`] give.
/// It changes more often than this crate's own types.
pub use anymetal_core as runtime;
pub use anymetal_driver::{ArgumentLayout, ArgumentMember, ArgumentMemberKind, CompilerBug};
/// The traits of devices, below everything here: for devices of a program's own, and for what
/// [`Device::hal`], [`Pipeline::hal`] and [`Buffer::hal`] give. It changes more often than this crate's own
/// types.
pub use anymetal_hal as hal;
/// Pixel formats, shapes of tensors, families of GPUs.
pub use anymetal_types as types;

pub use anymetal_core::config::{
    CheckSetting, ConfigError, HistoryLayer, KernelsLayer, Layer, Layers, MemoryLayer, RuntimeConfig, Size,
    Span, StreamsLayer,
};
pub use anymetal_core::event::Event;
pub use anymetal_core::graph::node::{Condition, HostContext, HostNode, HostResult, NodeId};
pub use anymetal_core::graph::resource::{ResourceId, ResourceRange};
pub use anymetal_core::graph::{GraphError, Hazard, Inlined, Pass, PassKind, Plan, PlanOptions, Stage};
pub use anymetal_core::history::History;
pub use anymetal_core::memory::MemoryError;
pub use anymetal_core::memory::budget::{BudgetStats, Pressure};
pub use anymetal_core::memory::mode::{BufferUsage, ModeError, ModeRequest, Touches};
pub use anymetal_core::memory::pool::{Pool, PoolStats, PooledBuffer, RentRequest, Trimmed};
pub use anymetal_core::memory::registry::{LiveResource, ResourceKind};
pub use anymetal_core::profile::{CountedWork, Profile, TimeSource};
pub use anymetal_core::record::file::RecordingError;
pub use anymetal_core::record::replay::{ReplayError, Replayed};
pub use anymetal_core::record::{Entry as RecordedEntry, RecordedOutcome, Recording};
pub use anymetal_core::stream::StreamOptions as QueueOptions;
pub use anymetal_core::submission::ExecError;
pub use anymetal_core::submission::argument::{
    Argument, ArgumentTarget, Inline, InlineBytes, Scalar, Unbound,
};
pub use anymetal_core::tenant::{QuotaError, Tenant, TenantLimits, TenantUsage, TimeShare};
pub use anymetal_core::trace::{Trace, TracedCommand, TracedSubmission};
pub use anymetal_hal::artifact::{
    Access, AddressSpace, ArgumentInfo, ArgumentKind, Artifact, Effort, ElementType, FunctionConstantInfo,
    KernelInfo, ReducedEffort, ScalarType, StageInputInfo,
};
pub use anymetal_hal::buffer::StorageMode;
pub use anymetal_hal::capabilities::{Capabilities, DeviceKind};
pub use anymetal_hal::clock::{Clock, SystemClock};
pub use anymetal_hal::command::{BoundResource, Deadline, Grid, ResourceUsage, Timestamps};
pub use anymetal_hal::completion::{CommandTiming, Timing};
pub use anymetal_hal::device::LentMemory;
pub use anymetal_hal::encoded_commands::{EncodingError, InvalidCommand};
pub use anymetal_hal::error::{DeviceError, ErrorClass, LoadedPointer, OutOfBounds};
pub use anymetal_hal::host_pages::HostPages;
pub use anymetal_hal::logging::{DEFAULT_LOG_BYTES, LogLevel, LogMessage, Logs};
pub use anymetal_hal::matrix_product::{MatrixOperand, MatrixProduct};
pub use anymetal_hal::peer::{CopyPath, PeerCopied, PeerTotals};
pub use anymetal_hal::queue::{Cancellation, Priority, WhenFull};
pub use anymetal_hal::stage_input::{
    Attribute, AttributeFormat, BufferLayout, IndexType, StageInRegion, StageInputDescriptor,
    StageInputError, StepFunction,
};
#[cfg(feature = "nccl")]
pub use anymetal_nvidia::{GroupId, ReduceOp};
pub use anymetal_types::family::{Family, UnknownFamily};
pub use anymetal_types::tensor::{ShapeError, TensorShape};
pub use anymetal_types::texture::{
    AddressMode, BindingRole, BorderColor, CompareFunction, Filter, GpuResourceId, MipFilter, PixelFormat,
    SamplerDescriptor, TextureDescriptor, TextureError, TextureKind,
};
pub use argument::Plain;
pub use buffer::{Buffer, BufferView, Region};
pub use buffer_options::BufferOptions;
pub use bytemuck::Pod;
#[cfg(feature = "nccl")]
pub use collectives::Collectives;
pub use command_buffer::{BlitEncoder, CommandBuffer};
pub use compiling::Compiling;
pub use compute_encoder::ComputeEncoder;
pub use constants::{ConstantKey, FunctionConstants};
pub use device::Device;
pub use error::{CompileFailure, Error, ErrorKind, SharedError};
pub use executable::Executable;
pub use executor::Executor;
pub use extent::Extent;
pub use fence::Fence;
pub use functions::{FunctionHandle, LinkedFunctions, VisibleFunctionTable};
pub use graph::{Branch, Graph, GraphBuilder, ValueId};
pub use half::{bf16, f16};
pub use heap::Heap;
pub use import::ImportRefused;
pub use indirect_command_buffer::{
    ExecutedCommands, IndirectCommand, IndirectCommandBuffer, IndirectCommandBufferDescriptor,
};
pub use launch::Launch;
pub use library::{CheckMode, CompileOptions, Library, MathMode};
pub use link::Link;
pub use mapping::{Mapped, MappedMut};
pub use memory::MemoryUse;
pub use node::{KernelNode, NodeArgument, NodeBinding, NodeBuilder};
pub use notice::{Notice, NoticeKind, notify, set_notice_hook, take_notices};
pub use pipeline::{Fallback, Pipeline};
pub use pipeline_descriptor::PipelineDescriptor;
pub use profile::Profiler;
pub use queue::{Queue, QueueGroup};
pub use submission::{CancelOnDrop, Outcome, Submission};
pub use texture::{Pitch, Swizzle, Texture, TexturePart, TextureView};
pub use transfer::Download;
