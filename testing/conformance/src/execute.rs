//! Executors: what runs kernels. Each opens a source, prepares a kernel, and runs launches of it.

mod analysis;
mod cpu;
mod interpreter;
mod sanitize;

pub use analysis::Analysis;
pub(crate) use cpu::guarded;
pub use cpu::{Cpu, CpuWithPasses, OnDevice, Sanitized, UncheckedCpu};
pub(crate) use interpreter::module_of;
pub use interpreter::{Interpreter, interpret, on_large_stack, parse};
pub use sanitize::{sanitize, sanitizer_module};

use crate::case::{Constant, Launch};
use std::path::PathBuf;

/// What the compiler may do to floating-point arithmetic.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Math {
    /// Nothing that changes a result.
    Safe,
    /// Metal's default.
    #[default]
    Fast,
}

/// A source to compile.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Its name in messages.
    pub name: String,
    /// The text.
    pub text: String,
    /// Folders for `#include`.
    pub include_dirs: Vec<PathBuf>,
    /// Macros that the host defines, as 1.
    pub defines: Vec<&'static str>,
    /// What rows of expectations have behind a kernel's name, where the host compiles the file in several
    /// ways.
    pub variant: &'static str,
    /// The math mode.
    pub math: Math,
    /// Whether kernels may access a buffer before the offset at which it is bound.
    pub whole_buffers: bool,
}

/// Why a kernel did not run to its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExecError {
    /// It does not compile, or cannot be prepared.
    Compile(String),
    /// It accessed memory out of bounds. It ran on, and the buffers are as the rules say.
    Fault(String, Buffers),
    /// Only a part of the threads reached a barrier. It ran on.
    DivergentBarrier(String, Buffers),
    /// It was refused or failed otherwise.
    Failed(String),
}

impl std::fmt::Display for ExecError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Compile(message) => write!(f, "does not compile: {message}"),
            Self::Fault(message, _) => write!(f, "out of bounds: {message}"),
            Self::DivergentBarrier(message, _) => write!(f, "divergent barrier: {message}"),
            Self::Failed(message) => write!(f, "failed: {message}"),
        }
    }
}

impl std::error::Error for ExecError {}

/// The contents of the bound buffers after a run, in the order of [`Launch::args`]; empty for other
/// arguments.
pub type Buffers = Vec<Vec<u8>>;

/// Runs kernels.
pub trait Executor: Sync {
    /// Its name in messages.
    fn name(&self) -> &'static str;

    /// Its name in rows of expectations, with and without checks.
    fn expected_as(&self) -> &'static str {
        self.name()
    }

    /// Whether it notices accesses out of bounds; otherwise it runs only what has none.
    fn checks(&self) -> bool {
        true
    }

    /// Parses a source.
    fn open(&self, source: &Source) -> Result<Box<dyn Opened>, ExecError>;
}

/// A parsed source.
pub trait Opened {
    /// The entry points, in the order of the source.
    fn kernels(&self) -> Vec<String>;

    /// Compiles a kernel.
    fn prepare(&self, kernel: &str, constants: &[(u32, Constant)]) -> Result<Box<dyn Prepared>, ExecError>;
}

/// A compiled kernel.
pub trait Prepared {
    /// Runs a launch of it.
    fn run(&self, launch: &Launch) -> Result<Buffers, ExecError>;
}
