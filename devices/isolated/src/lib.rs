//! The CPU device in a worker process without rights.
//!
//! [`open`] starts the worker and returns a proxy of an ordinary CPU device there; [`serve`] is the worker.
//! Buffers are ranges of one memory file (`arena`) that both processes map: the host copies bytes without
//! the worker, and kernels use the worker's addresses, which are the same in each worker. A submission is a
//! message (`wire`) that names objects by numbers. The host announces an object before the first message that
//! names it (`link`), so a new worker needs no recovery.
//!
//! Invariants:
//! - no code of a kernel runs in the host, and nothing that a worker sends is believed before it is checked;
//! - the end of a worker fails its submissions and no others; the memory is the host's.
//!
//! Linux only: elsewhere [`open`] returns an error.

#[cfg(target_os = "linux")]
mod arena;
#[cfg(target_os = "linux")]
mod device;
#[cfg(target_os = "linux")]
mod encode;
#[cfg(target_os = "linux")]
mod heap;
#[cfg(target_os = "linux")]
mod link;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod pipeline;
#[cfg(target_os = "linux")]
mod queue;
#[cfg(target_os = "linux")]
mod wire;
#[cfg(target_os = "linux")]
mod worker;

#[cfg(not(target_os = "linux"))]
mod disabled;

#[cfg(target_os = "linux")]
pub use device::open;
#[cfg(not(target_os = "linux"))]
pub use disabled::{open, serve};
#[cfg(target_os = "linux")]
pub use worker::serve;

/// Makes the interpreter of a kernel that another process of the same build encoded.
pub type DecodeInterpreter =
    fn(&[u8]) -> Result<std::sync::Arc<dyn anymetal_hal::launch::DispatchInterpreter>, String>;
