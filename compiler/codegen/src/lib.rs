//! IR to LLVM text: SPMD on SIMD for CPUs ([`cpu`]), one thread's view for NVIDIA GPUs ([`ptx`]).
//!
//! A verified, specialised kernel, inlined but for calls of functions on private memory (`cpu` alone),
//! written from one thread's view, becomes LLVM text in which the 32 threads of a SIMD-group are the lanes of
//! vectors. Nothing here runs LLVM: the text goes to `anymetal-llvm`.
//!
//! # Stages of [`cpu::generate`]
//!
//! | stage | decides | main type |
//! |---|---|---|
//! | IR passes for this target | the form that regions need, merged stores, prefetches, order of sums | `opt` |
//! | `uniform_div_versioning` | divisions that get a version for SIMD-groups with a uniform quotient | |
//! | `lane_order` | whether lanes run along x or y | `Geometry` |
//! | `walk` | that no operation is left which earlier passes should have removed | |
//! | `simd::storage` | which locals are promoted to SSA values (SROA), which are arrays | `Storage` |
//! | `simd::liveness` | which variables are live where | `Liveness` |
//! | `simd::group_level` | which control flow runs once per threadgroup because it contains a barrier | `GroupLevel` |
//! | `simd::plan` | everything else that is decided before code is written | `Plan` |
//! | `emit` | the text of each version, and the entry that selects one | `Emitter` |
//! | `split_module` | the modules that one text is split into, to be compiled in parallel | |
//!
//! Invariant: generated code executes only while at least one lane is active, and a lane that is off never
//! causes undefined behaviour. Every access is checked against its allocation unless a dominating guard has
//! done so.
//!
//! Start with [`cpu::generate`], then `anymetal_simd::plan` (it decides the speed), then `cpu/emit/mod.rs`.
#![forbid(unsafe_code)]

pub mod cpu;
mod elementwise;
mod limits;
mod llvm;
mod polls;
pub mod ptx;
mod requested_kernel;
mod tagged;
