//! IR to LLVM text for CPUs.

pub mod math;
