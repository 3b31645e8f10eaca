//! Kernels written in Rust.
//!
//! ```
//! use anymetal::kernel::kernel;
//!
//! #[kernel]
//! fn saxpy(a: f32, x: &[f32], y: &mut [f32], #[thread_position_in_grid] i: u32) {
//!     let i = i as usize;
//!     y[i] = a * x[i] + y[i];
//! }
//!
//! # fn main() -> Result<(), anymetal::Error> {
//! let device = anymetal::Device::system_default()?;
//! let queue = device.queue()?;
//! let (x, y) = (device.buffer(&[1.0f32; 1000])?, device.buffer(&[2.0f32; 1000])?);
//! saxpy::launch(&queue, 1000, 3.0, &x, &y)?.wait()?;
//! assert_eq!(y.read()?, [5.0; 1000]);
//!
//! // The same function is its own reference.
//! let mut expected = [2.0; 1000];
//! saxpy::host(1000, 3.0, &[1.0; 1000], &mut expected)?;
//! assert_eq!(y.read()?, expected);
//! # Ok(())
//! # }
//! ```
//!
//! `saxpy::source()` is the text in MSL, which any device compiles, Apple's included:
//!
//! ```text
//! kernel void saxpy(constant float& a [[buffer(0)]],
//!                   device const float* x [[buffer(1)]],
//!                   device float* y [[buffer(2)]],
//!                   uint i [[thread_position_in_grid]]) {
//!     ulong i_2 = ulong(i);
//!     y[i_2] = a * x[i_2] + y[i_2];
//! }
//! ```
//!
//! What kernels may use is in `docs/rust-kernels.md`.

mod functions;
mod grid;
mod pipelines;
mod slice;
mod source;
mod types;

pub use anymetal_core::submission::argument::Inline;
pub use anymetal_macros::{DeviceStruct, device_fn, kernel};

pub use functions::{
    MemFlags, quad_max, quad_min, quad_sum, simd_all, simd_and, simd_any, simd_broadcast,
    simd_broadcast_first, simd_is_first, simd_max, simd_min, simd_or, simd_prefix_exclusive_sum,
    simd_prefix_inclusive_sum, simd_product, simd_shuffle, simd_shuffle_down, simd_shuffle_up,
    simd_shuffle_xor, simd_sum, simd_xor, simdgroup_barrier, threadgroup_barrier,
};
pub use grid::{LaunchGrid, for_each_thread};
pub use pipelines::Pipelines;
pub use slice::DeviceSlice;
pub use source::{DeviceFunction, Source};
pub use types::{DeviceConstant, DeviceLiteral, DeviceType, Number, WideArithmetic, wide};
