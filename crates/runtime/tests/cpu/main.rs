//! The runtime on the real CPU device.

mod fusion;
mod memory;
