//! IR to LLVM text: SPMD on SIMD for CPUs.
#![forbid(unsafe_code)]

pub mod cpu;
