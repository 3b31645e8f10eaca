//! libLLVM, loaded at run time; its interface is IR text.
//!
//! This is the only crate that knows LLVM. [`Llvm::load`] finds a libLLVM (see [`discovery`] for the
//! order), binds about thirty C functions and checks the version. [`Llvm::compile`] turns IR text
//! into an object, assembly (PTX for the NVIDIA target) or optimised IR. Nothing of LLVM leaks out:
//! text goes in, bytes come out. The CPU device runs the objects (`anymetal_cpu::loader`) and
//! needs no LLVM for it, so an object from the disk cache starts at once.
//!
//! Invariants: a compile never prints and never shares an LLVM context with another one, so any
//! number may run at the same time; pass pipelines are fixed strings, because LLVM ends the process
//! on some malformed ones.
//!
//! Not prevented by this crate: LLVM itself ends the process when it has to select a target
//! intrinsic that the target lacks. The code generator gates those on [`VectorFacts`].
//!
//! Start with [`Llvm`] in `library.rs`, then `compile.rs`.

#[cfg(not(unix))]
compile_error!("anymetal-llvm opens libLLVM with dlopen: Unix only so far");

mod bindings;
mod compile;
pub mod discovery;
mod error;
mod handles;
pub mod heap;
mod host;
mod join;
mod library;
mod target;
mod warm_up;

pub use compile::{CompileOptions, Emit, OptLevel};
pub use error::{CompileError, LlvmError, Refusal, RefusalReason};
pub use host::{CpuLevel, CpuLevelError, HostCpu, LEVEL_VARIABLE, VectorFacts};
pub use join::join;
pub use library::{Llvm, LlvmInfo, LlvmVersion};
pub use target::{Architecture, Target};

#[cfg(test)]
mod tests;
