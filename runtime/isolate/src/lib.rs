//! Worker processes without rights, for work on text and code that are not trusted.
//!
//! The host side is [`Pool`], which starts worker processes, gives each one request at a time and ends a
//! worker that is late, or [`Connection`], one worker with messages in both directions. The worker's side is
//! [`Channel`], opened before and used after [`sandbox::close`]. The callers define the [`Frame`]s.
//!
//! Invariants:
//! - the host believes nothing that a worker sends: lengths are bounded, and each failure of a worker is an
//!   [`IsolationError`], after which the next request gets another worker;
//! - a worker takes its first request after its sandbox is closed; no thread from before exists then;
//! - a worker ends when its host does.
//!
//! Linux only: elsewhere a pool returns [`IsolationError::Unsupported`].
#![forbid(unsafe_code)]

mod error;
mod frame;
mod settings;

#[cfg(target_os = "linux")]
mod channel;
#[cfg(not(target_os = "linux"))]
#[path = "channel_disabled.rs"]
mod channel;
#[cfg(target_os = "linux")]
mod connection;
#[cfg(target_os = "linux")]
mod locate;
#[cfg(target_os = "linux")]
mod pool;
#[cfg(not(target_os = "linux"))]
#[path = "pool_disabled.rs"]
mod pool;
#[cfg(target_os = "linux")]
pub mod sandbox;
#[cfg(not(target_os = "linux"))]
#[path = "sandbox_disabled.rs"]
pub mod sandbox;
#[cfg(target_os = "linux")]
mod worker;

pub use channel::Channel;
#[cfg(target_os = "linux")]
pub use connection::Connection;
pub use error::IsolationError;
pub use frame::Frame;
pub use pool::Pool;
pub use settings::{Isolate, Settings};

/// The subcommand of `anymetal` that is the worker.
pub const SUBCOMMAND: &str = "worker";

/// The argument with which a worker runs kernels instead of compiling.
pub const RUN_ARGUMENT: &str = "--run";
