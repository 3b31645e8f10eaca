//! What `anymetal bench` compares itself with where the comparison needs unsafe code: OpenCL CPU runtimes
//! ([`opencl`]) and the `gemm` crate ([`matrix`]).
//!
//! It is a crate of its own so that the command line can forbid unsafe code. Nothing here is linked at
//! build time: the OpenCL loader is opened on first use, and its absence is an error value.

pub mod matrix;
pub mod opencl;
