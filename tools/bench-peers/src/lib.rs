//! What `anymetal bench` compares itself with where the comparison needs unsafe code: OpenCL CPU runtimes
//! ([`opencl`]), `nvcc` and the bare CUDA driver ([`cuda`]), cuBLAS ([`cublas`]), and the `gemm` crate
//! ([`matrix`]).
//!
//! It is a crate of its own so that the command line can forbid unsafe code. Nothing here is linked at
//! build time: the OpenCL loader and the CUDA driver are opened on first use, and their absence is an error
//! value. A comparison is a [`job::Job`], and whoever does it a [`peer::Runtime`].

pub mod cublas;
pub mod cuda;
pub mod job;
pub mod matrix;
pub mod opencl;
pub mod peer;
