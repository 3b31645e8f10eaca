//! Why there is no artifact.
//!
//! Invariant: a mistake in the source is [`CompileError::Source`] with every diagnostic of the run; a mistake
//! in the request has a variant of its own that names what exists; a bug of ours is
//! [`CompileError::Internal`], never a panic of the user's program.

use std::sync::Arc;

use anymetal_hal::artifact::FunctionConstantInfo;
use anymetal_isolate::IsolationError;
use anymetal_llvm::{CpuLevelError, LlvmError};
use anymetal_msl::Diagnostics;
use anymetal_types::family::FamilyRefusal;
use serde::{Deserialize, Serialize};

use crate::bug::CompilerBug;
use crate::isolated::wire_error;

/// Why a library, a reflection or an artifact could not be made. Workers send it serialised.
#[derive(Debug, Clone, thiserror::Error, Serialize, Deserialize)]
pub enum CompileError {
    /// The source is wrong; the diagnostics say where.
    #[error("{}", .0.render_text(false).trim_end())]
    Source(#[serde(with = "wire_error::source")] Arc<Diagnostics>),
    /// The source has no such kernel.
    #[error("there is no kernel `{name}`{}; {}", did_you_mean(.suggestion), list_kernels(.existing))]
    UnknownKernel {
        /// The requested name.
        name: String,
        /// The names that exist.
        existing: Vec<String>,
        /// The one that was probably meant.
        suggestion: Option<String>,
    },
    /// The source has no such visible function.
    #[error("there is no visible function `{name}`; {}", list_functions(.existing))]
    UnknownFunction {
        /// The requested name.
        name: String,
        /// The names that exist.
        existing: Vec<String>,
    },
    /// Two functions of a pipeline that tables could not tell apart.
    #[error("`{}` and `{}` cannot be in one pipeline: they have one name or, by chance, one number", .names[0], .names[1])]
    FunctionConflict {
        /// Their names.
        names: [String; 2],
    },
    /// Function constants that the kernel cannot do without.
    #[error("kernel `{kernel}` needs values for its function constants: {}", list_constants(.missing))]
    MissingConstants {
        /// The kernel.
        kernel: String,
        /// Those without a value.
        missing: Vec<FunctionConstantInfo>,
    },
    /// A value for a function constant that does not exist.
    #[error("kernel `{kernel}` has no function constant {constant}{}; it has {}", did_you_mean(.suggestion), list_constants(.existing))]
    UnknownConstant {
        /// The kernel.
        kernel: String,
        /// The name or index given.
        constant: String,
        /// Those that exist.
        existing: Vec<FunctionConstantInfo>,
        /// The name that was probably meant.
        suggestion: Option<String>,
    },
    /// A value that the function constant's type cannot hold.
    #[error("function constant {constant} of kernel `{kernel}` is a `{expected}`, but {got} was given")]
    ConstantType {
        /// The kernel.
        kernel: String,
        /// The name or index given.
        constant: String,
        /// The declared type.
        expected: String,
        /// The given value.
        got: String,
    },
    /// The condition of an argument depends on more than function constants.
    #[error("{message}")]
    ArgumentCondition {
        /// The problem, as a sentence.
        message: String,
    },
    /// The kernel is larger than the compiler takes.
    #[error("kernel `{kernel}` is too large: {reason}")]
    TooLarge {
        /// The kernel.
        kernel: String,
        /// The limit that it exceeds.
        reason: String,
    },
    /// The kernel's machine code would be larger than the compiler takes. The interpreter may run it.
    #[error("kernel `{kernel}` is too large for machine code: {reason}{largest_line}")]
    TooMuchCode {
        /// The kernel.
        kernel: String,
        /// The limit that it exceeds.
        reason: String,
        /// The source line that contributes the most code, as the end of a sentence; may be empty.
        largest_line: String,
    },
    /// The kernel does something that the code generator does not support yet.
    #[error("kernel `{kernel}` cannot be compiled for this processor: {reason}")]
    Unsupported {
        /// The kernel.
        kernel: String,
        /// What it does.
        reason: String,
    },
    /// The kernel uses what the family of GPUs that it is checked for does not have.
    #[error("{0}")]
    Family(Box<FamilyRefusal>),
    /// Machine code was requested and there is no LLVM.
    #[error(transparent)]
    NoLlvm(LlvmError),
    /// `ANYMETAL_CPU_LEVEL` requests code that cannot be generated or run here.
    #[error(transparent)]
    CpuLevel(CpuLevelError),
    /// The system gave no thread to compile on.
    #[error("no thread to compile on: {message}")]
    NoThread {
        /// What the system says.
        message: String,
    },
    /// Its [`CancellationToken`](crate::CancellationToken) was cancelled.
    #[error("the compilation was cancelled")]
    Cancelled,
    /// The isolated compile failed; the program goes on.
    #[error(transparent)]
    Isolation(#[serde(with = "wire_error::request")] IsolationError),
    /// A bug of the compiler.
    #[error("{0}")]
    Internal(#[serde(with = "wire_error::bug")] Box<CompilerBug>),
}

impl CompileError {
    /// A bug that is not a panic: a rule between stages that one of them broke.
    pub fn internal(stage: &'static str, message: String) -> Self {
        CompileError::Internal(Box::new(CompilerBug::new(stage, message)))
    }

    /// The rendered message; the source's diagnostics with their lines, in colour if requested.
    pub fn render_text(&self, colour: bool) -> String {
        match self {
            CompileError::Source(diagnostics) => diagnostics.render_text(colour),
            other => format!("error: {other}\n"),
        }
    }

    /// A JSON array of diagnostics. Errors without a place in the source have `null` there.
    pub fn render_json(&self) -> String {
        match self {
            CompileError::Source(diagnostics) => diagnostics.render_json(),
            other => {
                let diagnostic = anymetal_diagnostics::Diagnostic::error(
                    other.id(),
                    anymetal_diagnostics::Span::NONE,
                    other.to_string(),
                );
                anymetal_diagnostics::render_json(&anymetal_diagnostics::SourceMap::default(), &[diagnostic])
            }
        }
    }

    /// A stable name of the kind of error.
    pub fn id(&self) -> &'static str {
        match self {
            CompileError::Source(_) => "source",
            CompileError::UnknownKernel { .. } => "unknown-kernel",
            CompileError::UnknownFunction { .. } => "unknown-function",
            CompileError::FunctionConflict { .. } => "function-conflict",
            CompileError::MissingConstants { .. } => "missing-constants",
            CompileError::UnknownConstant { .. } => "unknown-constant",
            CompileError::ConstantType { .. } => "constant-type",
            CompileError::ArgumentCondition { .. } => "argument-condition",
            CompileError::TooLarge { .. } | CompileError::TooMuchCode { .. } => "kernel-too-large",
            CompileError::Unsupported { .. } => "unsupported",
            CompileError::Family(_) => "family",
            CompileError::NoLlvm(_) => "no-llvm",
            CompileError::CpuLevel(_) => "cpu-level",
            CompileError::NoThread { .. } => "no-thread",
            CompileError::Cancelled => "cancelled",
            CompileError::Isolation(error) => error.id(),
            CompileError::Internal(_) => "compiler-bug",
        }
    }

    /// Whether the same request may succeed when it is repeated.
    pub fn is_transient(&self) -> bool {
        matches!(self, CompileError::Isolation(IsolationError::Killed))
    }

    /// Whether the user's input is at fault, rather than the machine or the compiler.
    pub fn is_user_error(&self) -> bool {
        match self {
            CompileError::NoLlvm(_)
            | CompileError::NoThread { .. }
            | CompileError::Cancelled
            | CompileError::Internal(_) => false,
            CompileError::Isolation(error) => error.is_of_input(),
            _ => true,
        }
    }
}

impl From<IsolationError> for CompileError {
    fn from(error: IsolationError) -> Self {
        CompileError::Isolation(error)
    }
}

impl From<LlvmError> for CompileError {
    fn from(error: LlvmError) -> Self {
        match error {
            // Not a lack of LLVM, which the interpreter would make up for.
            LlvmError::Level(error) => CompileError::CpuLevel(error),
            other => CompileError::NoLlvm(other),
        }
    }
}

fn did_you_mean(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}

fn list_kernels(names: &[String]) -> String {
    /// Files with template instantiations have thousands.
    const SHOWN: usize = 40;
    if names.is_empty() {
        return "the source has no kernels".to_owned();
    }
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    let more = names.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("there are {}{more}", shown.join(", "))
}

fn list_functions(names: &[String]) -> String {
    match names {
        [] => "the source has none".to_owned(),
        names => {
            format!("there are {}", names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", "))
        }
    }
}

fn list_constants(constants: &[FunctionConstantInfo]) -> String {
    if constants.is_empty() {
        return "none".to_owned();
    }
    let describe = |constant: &FunctionConstantInfo| {
        format!("`{} {}` (index {})", constant.type_name, constant.name, constant.index)
    };
    constants.iter().map(describe).collect::<Vec<_>>().join(", ")
}
