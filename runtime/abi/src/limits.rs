//! Limits of Metal that the compiler, the devices and the runtime share.

/// Maximum number of threads of a threadgroup.
pub const MAX_THREADS_PER_THREADGROUP: u32 = 1024;

/// Maximum number of buffers that a kernel can be given by index.
pub const MAX_BOUND_BUFFERS: u32 = 31;
