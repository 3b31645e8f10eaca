//! Devices for tests, each of which stands in for another or wraps it.
//!
//! - [`null`]: a device that runs no kernel, with memory, queues and events that work;
//! - [`fault_injection`]: a device that fails as it is told;
//! - [`recording`]: a device that records what is submitted to it;
//! - [`emulated`]: a device that refuses what a family of Apple GPUs refuses.

#![forbid(unsafe_code)]

pub mod emulated;
pub mod fault_injection;
pub mod null;
pub mod recording;
