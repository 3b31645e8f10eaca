//! NVIDIA GPUs under Metal's model.
//!
//! Nothing of CUDA is needed to build or to start: the driver is loaded when [`NvidiaDevice::count`] is first
//! called. Kernels come as PTX with the parameters of [`anymetal_hal::launch::nvidia`].
//!
//! | file | owns |
//! |---|---|
//! | `driver` | what is asked of a driver, and its errors |
//! | `cuda` | the CUDA driver behind it, and cuBLAS beside it |
//! | `device`, `capabilities` | devices |
//! | `memory`, `heap` | buffers |
//! | `pipeline`, `code` | loaded code, and what is kept of it between runs |
//! | `queue` | command buffers in order |
//! | `queue_streams`, `arena`, `owned` | what a queue has in the card |
//! | `execution`, `started` | the commands of one command buffer |
//! | `launch`, `encode` | validation, parameters and encoding of commands |
//! | `graph` | indirect command buffers |
//! | `link`, `staging` | copies to other cards |
//! | `collectives`, `nccl` | with the feature `nccl`, operations of several cards at once |
//!
//! An illegal address ends CUDA for the whole process and every GPU in it. So generated code checks its
//! accesses unless a program turns that off, and after such an error all NVIDIA devices are lost.

mod arena;
mod capabilities;
mod code;
#[cfg(feature = "nccl")]
mod collectives;
pub mod cublas;
mod cuda;
mod device;
mod device_shared;
mod driver;
mod encode;
mod execution;
mod graph;
mod heap;
mod launch;
mod link;
mod memory;
#[cfg(feature = "nccl")]
mod nccl;
mod owned;
mod pipeline;
mod queue;
mod queue_streams;
mod residency;
mod staging;
#[cfg(test)]
mod stand_in;
mod started;
mod stop_flag;
#[cfg(test)]
mod tests;
mod watchdog;

#[cfg(feature = "nccl")]
pub use collectives::{Collectives, GroupId, ReduceOp, Shard};
pub use device::NvidiaDevice;
pub use device_shared::NvidiaOptions;
