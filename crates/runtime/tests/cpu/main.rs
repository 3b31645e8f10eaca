//! The runtime on the real CPU device.

mod memory;
