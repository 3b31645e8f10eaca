//! The errors of finding libLLVM and of compiling with it.
//!
//! All are plain data and `Clone`, because the result of the process-wide load is kept and handed
//! to every caller. Errors of the object loader live beside it, in `object/error.rs`.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::host::CpuLevelError;

/// Why no libLLVM is available in this process.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum LlvmError {
    /// `ANYMETAL_LLVM` says that LLVM shall not be used.
    #[error("LLVM is switched off by ANYMETAL_LLVM={value}")]
    Disabled {
        /// The value found.
        value: String,
    },
    /// Every place was tried and refused, or there was none to try.
    #[error("no usable libLLVM ({minimum} or newer) was found{}", ListRefusals(.tried))]
    NotFound {
        /// The oldest major version accepted.
        minimum: u32,
        /// Each place in the order tried.
        tried: Vec<Refusal>,
    },
    /// `ANYMETAL_CPU_LEVEL` requests code that cannot be generated or run here.
    #[error(transparent)]
    Level(#[from] CpuLevelError),
    /// The library was loaded but does not know the processor this program runs on.
    #[error("{} cannot generate code for {triple}: {message}", .path.display())]
    HostUnsupported {
        /// The library.
        path: PathBuf,
        /// The requested triple.
        triple: String,
        /// LLVM's words.
        message: String,
    },
}

/// One place looked at, and why it was not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// File or folder.
    pub path: PathBuf,
    /// Why it was passed over.
    pub reason: RefusalReason,
}

/// Why one candidate for libLLVM was passed over.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum RefusalReason {
    /// Nothing is there.
    #[error("not there")]
    Missing,
    /// A folder without a libLLVM in it.
    #[error("no libLLVM in this folder")]
    NoLibrary,
    /// The dynamic loader refused it.
    #[error("cannot be loaded: {0}")]
    Open(String),
    /// A function this crate needs is not exported.
    #[error("exports no {0}")]
    MissingSymbol(String),
    /// Older than the oldest accepted version.
    #[error("is LLVM {0}, too old")]
    TooOld(u32),
    /// `rustc --print sysroot` could not be run.
    #[error("cannot be asked for its sysroot: {0}")]
    Rustc(String),
}

struct ListRefusals<'a>(&'a [Refusal]);

impl fmt::Display for ListRefusals<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("; set ANYMETAL_LLVM to its path");
        }
        f.write_str("; tried:")?;
        for refusal in self.0 {
            write!(f, "\n  {}: {}", refusal.path.display(), refusal.reason)?;
        }
        f.write_str("\nset ANYMETAL_LLVM to the path of a libLLVM")
    }
}

/// Why a piece of IR text did not become code.
///
/// Except for [`CompileError::UnknownTarget`], each of these is a bug of the code generator that
/// wrote the text, never a mistake of the user's program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// The text is not IR.
    #[error("IR text does not parse{}: {message}", AtLine(.line))]
    Parse {
        /// LLVM's message, with the offending line.
        message: String,
        /// Line in the text given, counted from 1.
        line: Option<u32>,
    },
    /// The text parses but breaks a rule of the IR.
    #[error("IR is not valid: {message}")]
    Verify {
        /// The verifier's messages.
        message: String,
    },
    /// The pass pipeline failed.
    #[error("optimisation failed: {message}")]
    Passes {
        /// LLVM's message.
        message: String,
    },
    /// Code generation failed.
    #[error("code generation failed: {message}")]
    Codegen {
        /// LLVM's message or the diagnostics it reported.
        message: String,
    },
    /// The text calls an `llvm.*` function that this LLVM does not know: it would be an unresolved
    /// symbol when the object is loaded.
    #[error("this LLVM has no intrinsic named {name}")]
    UndefinedIntrinsic {
        /// The name.
        name: String,
    },
    /// This libLLVM was built without the target.
    #[error("this libLLVM cannot generate code for {triple}: {message}")]
    UnknownTarget {
        /// The requested triple.
        triple: String,
        /// LLVM's message.
        message: String,
    },
}

struct AtLine<'a>(&'a Option<u32>);

impl fmt::Display for AtLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(line) => write!(f, " at line {line}"),
            None => Ok(()),
        }
    }
}
