//! libLLVM, loaded at run time and spoken to in text; and the loader that runs what it produced.
//!
//! This is the only crate that knows LLVM. Two halves that do not need each other:
//!
//! * **Compiling.** [`Llvm::load`] finds a libLLVM (see [`discovery`] for the order), binds about
//!   thirty C functions and checks the version. [`Llvm::compile`] turns IR text into an object,
//!   assembly (PTX for the NVIDIA target) or optimised IR. Nothing of LLVM leaks out: text goes in,
//!   bytes come out.
//! * **Running.** [`LoadedObject::load`] maps an ELF object into memory, relocates it and hands out
//!   addresses. It needs no LLVM at all, so an object from the disk cache starts at once.
//!
//! Invariants: a compile never prints and never shares an LLVM context with another one, so any
//! number may run at the same time; pass pipelines are fixed strings, because LLVM ends the process
//! on some malformed ones; the loader checks every range of the object it reads, because cached
//! bytes may be damaged.
//!
//! What this crate cannot prevent: LLVM itself ends the process when it is asked to select a target
//! intrinsic that the target lacks. The code generator gates those on [`VectorFacts`].
//!
//! Start with [`Llvm`] in `library.rs`, then `compile.rs`, then `object/mod.rs`.

#[cfg(not(unix))]
compile_error!("anymetal-llvm maps code with mmap and opens libLLVM with dlopen: Unix only so far");

mod bindings;
mod compile;
pub mod discovery;
mod error;
mod handles;
mod host;
mod library;
mod object;
mod runtime_symbols;
mod soft_float;
mod target;

pub use compile::{CompileOptions, Emit, OptLevel};
pub use error::{CompileError, LlvmError, Refusal, RefusalReason};
pub use host::{HostCpu, VectorFacts};
pub use library::{Llvm, LlvmInfo, LlvmVersion};
pub use object::{LoadError, LoadedObject, Machine};
pub use runtime_symbols::default_symbols;
pub use target::{Architecture, Target};

#[cfg(test)]
mod tests;
