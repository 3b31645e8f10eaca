//! The CPU device: memory, pipelines, queues, a worker pool.
//!
//! It consumes artifacts (an ELF object and its reflection, or the compiler's interpreter) and knows nothing
//! of how they were made. A submission's way: `queue` validates it (`command_buffer`) and asks the `pool` for
//! a leader, which runs each command (`execute`) with help from the other workers; `fault` and the deadlines
//! of `queue` turn what goes wrong into errors. [`loader`] maps objects into memory. Start at [`CpuDevice`].

#[cfg(not(unix))]
compile_error!("anymetal-cpu maps memory with mmap: Unix only so far");

// Which processor a model happens to run on must not change what it does.
#[cfg_attr(any(loom, not(target_os = "linux")), path = "affinity_disabled.rs")]
mod affinity;
mod aligned;
mod capabilities;
mod command_buffer;
mod config;
mod context;
mod cooperative;
mod device;
mod dispatch_times;
mod execute;
mod fault;
mod guarded;
mod heap;
mod indirect;
mod inline_policy;
#[cfg(all(test, not(loom)))]
mod launch_memory;
pub mod loader;
mod memory;
mod pipeline;
mod pool;
mod queue;
mod residency;
mod simdgroups;
mod stack;
mod stacks;
mod worker_memory;

pub use config::CpuDeviceOptions;
pub use device::CpuDevice;
pub use guarded::Guard;
