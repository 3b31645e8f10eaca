//! IR to LLVM text: SPMD on SIMD for CPUs.
