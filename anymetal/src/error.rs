//! The error of every fallible call of the crate.
//!
//! Owns [`Error`]. Invariant: what the compiler says is [`Error::Compile`], with diagnostics; what a device
//! says is [`Error::Device`], whether it comes through a queue, a pool or a graph; the rest are mistakes in a
//! call, found before anything runs. Every error has an [`ErrorClass`].

use std::fmt;
use std::sync::Arc;

use anymetal_core::config::ConfigError;
use anymetal_core::graph::GraphError;
use anymetal_core::memory::MemoryError;
use anymetal_core::record::file::RecordingError;
use anymetal_core::record::replay::ReplayError;
use anymetal_driver::CompileError;
use anymetal_driver::sanitizer::FilterError;
use anymetal_hal::stage_input::StageInputError;
use anymetal_types::texture::TextureError;

pub use anymetal_core::submission::ExecError;
pub use anymetal_driver::CompilerBug;
pub use anymetal_hal::error::{DeviceError, ErrorClass, LoadedPointer, OutOfBounds};
pub use anymetal_types::family::UnknownFamily;

/// What went wrong: the one error type of this crate. [`Error::class`] is what retry policies decide by; the
/// variants hold the typed details of the layer that refused.
///
/// ```
/// use anymetal::error::{DeviceError, ErrorClass};
/// use anymetal::{Device, Error};
/// # fn main() -> Result<(), Error> {
/// let device = Device::system_default()?;
/// let kernel = "kernel void set(device uint* y, uint i [[thread_position_in_grid]]) { y[i] = 1; }";
/// let set = device.library_from_source(kernel)?.pipeline("set")?;
/// let y = device.buffer_zeroed::<u32>(10)?;
/// let error = device.queue()?.launch(&set).arg(&y).threads(11).submit()?.wait().unwrap_err();
/// assert_eq!(error.class(), ErrorClass::Caller);
/// assert!(matches!(error, Error::Device(DeviceError::OutOfBounds(fault)) if fault.argument_name == "y"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The source or kernel did not compile.
    #[error(transparent)]
    Compile(CompileFailure),
    /// A file that cannot be read.
    #[error("{} cannot be read: {reason}", path.display())]
    UnreadableFile {
        /// Its path.
        path: std::path::PathBuf,
        /// What the system says.
        reason: String,
    },
    /// The device refused or failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A texture was refused, as memory or as an argument.
    #[error(transparent)]
    Texture(#[from] TextureError),
    /// A shape with another number of dimensions than the tensor has.
    #[error("kernel `{kernel}`: tensor `{name}` has {expected} dimensions, but the shape given has {got}")]
    TensorRank {
        /// The kernel.
        kernel: String,
        /// The argument.
        name: String,
        /// The dimensions of the kernel's.
        expected: usize,
        /// Those of the shape.
        got: usize,
    },
    /// A description of stage-in data does not fit the kernel, or a launch its region.
    #[error(transparent)]
    StageInput(#[from] StageInputError),
    /// A queue refused, or the work ended without a result.
    #[error(transparent)]
    Exec(Box<ExecError>),
    /// Memory was refused.
    #[error(transparent)]
    Memory(Box<MemoryError>),
    /// A graph was refused or failed.
    #[error(transparent)]
    Graph(Box<GraphError>),
    /// Settings were refused.
    #[error(transparent)]
    Config(Box<ConfigError>),
    /// The setting of what the sanitizer detects is wrong.
    #[error("kernels.check-options (ANYMETAL_CHECK_OPTIONS): {0}")]
    CheckOptions(FilterError),
    /// A recording could not be read or written.
    #[error(transparent)]
    Recording(SharedError<RecordingError>),
    /// A replay ended early.
    #[error(transparent)]
    Replay(SharedError<ReplayError>),
    /// The launch gives fewer or more arguments than the kernel has.
    #[error("kernel `{kernel}` has {expected} arguments, {got} were given")]
    ArgumentCount {
        /// The kernel.
        kernel: String,
        /// How many it has.
        expected: usize,
        /// How many were given.
        got: usize,
    },
    /// The kernel has no argument of that name.
    #[error("kernel `{kernel}` has no argument `{name}`; it has {existing}")]
    UnknownArgument {
        /// The kernel.
        kernel: String,
        /// The name given.
        name: String,
        /// The names that exist, as a list.
        existing: String,
    },
    /// The pipeline has no visible function of that name.
    #[error("the pipeline of kernel `{kernel}` has no visible function `{name}`; it has {existing}")]
    UnknownFunction {
        /// The kernel.
        kernel: String,
        /// The name given.
        name: String,
        /// The names that exist, as a list.
        existing: String,
    },
    /// The kernel has no function constant of that name or index, or a value has the wrong type.
    #[error("function constant {constant}: {problem}")]
    FunctionConstant {
        /// The name or index given.
        constant: String,
        /// What is wrong.
        problem: String,
    },
    /// The kernel would be interpreted, and machine code is required.
    #[error("kernel `{kernel}` would be interpreted, and machine code is required: {reason}")]
    NoMachineCode {
        /// The kernel.
        kernel: String,
        /// Why there is no machine code, on one line.
        reason: String,
    },
    /// A buffer of a heap with a tenant, a placement or from the pool: all its buffers have the heap's.
    #[error("buffer `{label}`: tenant and placement of a heap's buffer are the heap's")]
    HeapBufferOptions {
        /// The buffer's label.
        label: String,
    },
    /// More threadgroup sizes than a pipeline has code for.
    #[error(
        "kernel `{kernel}` already has code for {limit} threadgroup sizes; make another pipeline for more"
    )]
    TooManyGroupSizes {
        /// The kernel.
        kernel: String,
        /// How many sizes have code of their own.
        limit: usize,
    },
    /// The encoder has no pipeline.
    #[error("`{method}` needs a pipeline; call `set_pipeline` first")]
    NoPipeline {
        /// The method of [`crate::ComputeEncoder`] that was called.
        method: &'static str,
    },
    /// The launch has no grid.
    #[error("kernel `{kernel}` was launched without a grid; call `threads` or `groups`")]
    NoGrid {
        /// The kernel.
        kernel: String,
    },
    /// The launch counts threadgroups without saying how large one is.
    #[error("kernel `{kernel}` was launched by threadgroups without `group_size`")]
    NoGroupSize {
        /// The kernel.
        kernel: String,
    },
    /// A launch whose threadgroup size is not to be chosen.
    #[error("kernel `{kernel}` cannot be tuned: {reason}")]
    NotTunable {
        /// The kernel.
        kernel: String,
        /// Why.
        reason: String,
    },
    /// An extent beyond 32 bits.
    #[error("{value} is too large for a dimension of a grid")]
    ExtentTooLarge {
        /// The extent.
        value: u128,
    },
    /// An element range that is not within its buffer.
    #[error("elements {start}..{end} are not within a buffer of {len} elements")]
    RangeOutsideBuffer {
        /// The first element.
        start: usize,
        /// One past the last.
        end: usize,
        /// The buffer's elements.
        len: usize,
    },
    /// More elements than a machine can address.
    #[error("{count} elements of {element_size} bytes are too many")]
    TooManyElements {
        /// How many.
        count: usize,
        /// Bytes of each.
        element_size: usize,
    },
}

/// What kind of thing went wrong, for programs that decide by it. [`Error`] has the details.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The source, a kernel of it or a function constant is wrong. [`Error::Compile`] has the diagnostics.
    Compile,
    /// A call breaks a rule; nothing was run.
    InvalidUse,
    /// A running kernel broke a rule, such as the bounds of a buffer.
    KernelFault,
    /// The work did not end before its deadline.
    Deadline,
    /// The work was cancelled, or the wait was interrupted.
    Cancelled,
    /// Memory or another resource ran out.
    Exhausted,
    /// The device or a resource is in use; the same call may succeed later.
    Busy,
    /// The device, or this build, cannot do it.
    Unsupported,
    /// The device, or the result of the work, is lost.
    Lost,
    /// A setting is wrong.
    Settings,
    /// A file cannot be read or written.
    File,
    /// A bug of the compiler or of the interpreter. The text names the reproducer to report.
    Bug,
}

impl Error {
    /// Whether the work was taken back on purpose, with [`crate::Submission::cancel`],
    /// [`crate::Queue::cancel_waiting`] or [`crate::Compiling::cancel`].
    pub fn is_cancelled(&self) -> bool {
        match self {
            Error::Exec(error) => error.is_cancelled(),
            Error::Compile(failure) => failure.is_cancelled(),
            _ => false,
        }
    }

    /// Whether a bug of the compiler or of the interpreter is the reason. The text has stage, kernel, message
    /// and the reproducer to report.
    pub fn is_bug(&self) -> bool {
        match self {
            Error::Compile(failure) => failure.compiler_bug().is_some(),
            Error::Device(error) => matches!(error, DeviceError::InterpreterBug { .. }),
            _ => false,
        }
    }

    /// The kind, by which programs decide.
    pub fn kind(&self) -> ErrorKind {
        use DeviceError as D;
        match self {
            _ if self.is_bug() => ErrorKind::Bug,
            _ if self.is_cancelled() => ErrorKind::Cancelled,
            Error::Compile(failure) if failure.is_user_error() => ErrorKind::Compile,
            Error::FunctionConstant { .. } => ErrorKind::Compile,
            Error::Compile(_) | Error::NoMachineCode { .. } => ErrorKind::Unsupported,
            Error::UnreadableFile { .. } | Error::Recording(_) => ErrorKind::File,
            Error::Config(_) | Error::CheckOptions(_) | Error::Device(D::InvalidSetting { .. }) => {
                ErrorKind::Settings
            }
            Error::Device(D::OutOfBounds(_) | D::NestingTooDeep { .. }) => ErrorKind::KernelFault,
            Error::Device(D::DeadlineExceeded { .. }) => ErrorKind::Deadline,
            Error::Device(D::WaitInterrupted | D::Cancelled { .. } | D::Stopped { .. }) => {
                ErrorKind::Cancelled
            }
            Error::Device(
                D::Unsupported { .. }
                | D::KernelRefused { .. }
                | D::Unavailable { .. }
                | D::UnknownDevice { .. },
            ) => ErrorKind::Unsupported,
            _ => match self.class() {
                ErrorClass::Caller => ErrorKind::InvalidUse,
                ErrorClass::Exhausted => ErrorKind::Exhausted,
                ErrorClass::Transient => ErrorKind::Busy,
                ErrorClass::Lost => ErrorKind::Lost,
            },
        }
    }

    /// The class, by which retry policies decide.
    pub fn class(&self) -> ErrorClass {
        match self {
            Error::Device(error) => error.class(),
            Error::Exec(error) => error.class(),
            Error::Memory(error) => error.class(),
            Error::Graph(error) => error.class(),
            Error::Replay(error) => match &**error {
                ReplayError::Device { source, .. } => source.class(),
                _ => ErrorClass::Caller,
            },
            Error::Compile(failure) if failure.is_transient() => ErrorClass::Transient,
            // A machine without what compiling needs, or a bug: trying again does not help, rebuilding might.
            Error::Compile(failure) if !failure.is_user_error() => ErrorClass::Lost,
            Error::NoMachineCode { .. } => ErrorClass::Lost,
            Error::TooManyGroupSizes { .. } => ErrorClass::Exhausted,
            Error::Compile(_)
            | Error::UnreadableFile { .. }
            | Error::Config(_)
            | Error::Texture(_)
            | Error::TensorRank { .. }
            | Error::StageInput(_)
            | Error::CheckOptions(_)
            | Error::Recording(_)
            | Error::ArgumentCount { .. }
            | Error::UnknownArgument { .. }
            | Error::UnknownFunction { .. }
            | Error::FunctionConstant { .. }
            | Error::NoPipeline { .. }
            | Error::NoGrid { .. }
            | Error::NoGroupSize { .. }
            | Error::NotTunable { .. }
            | Error::ExtentTooLarge { .. }
            | Error::RangeOutsideBuffer { .. }
            | Error::HeapBufferOptions { .. }
            | Error::TooManyElements { .. } => ErrorClass::Caller,
        }
    }
}

/// A device's error is [`Error::Device`], whichever layer passes it on.
impl From<ExecError> for Error {
    fn from(error: ExecError) -> Self {
        match error {
            ExecError::Device(error) => Error::Device(error),
            other => Error::Exec(Box::new(other)),
        }
    }
}

impl From<MemoryError> for Error {
    fn from(error: MemoryError) -> Self {
        match error {
            MemoryError::Device(error) => Error::Device(error),
            other => Error::Memory(Box::new(other)),
        }
    }
}

impl From<RecordingError> for Error {
    fn from(error: RecordingError) -> Self {
        Error::Recording(SharedError(Arc::new(error)))
    }
}

impl From<ReplayError> for Error {
    fn from(error: ReplayError) -> Self {
        Error::Replay(SharedError(Arc::new(error)))
    }
}

impl From<ConfigError> for Error {
    fn from(error: ConfigError) -> Self {
        Error::Config(Box::new(error))
    }
}

impl From<GraphError> for Error {
    fn from(error: GraphError) -> Self {
        match error {
            GraphError::Device(error) => Error::Device(error),
            GraphError::Exec(error) => (*error).into(),
            other => Error::Graph(Box::new(other)),
        }
    }
}

/// An error of a lower layer that can neither be cloned nor compared. It is shared here, and equal to its
/// clones only.
#[derive(Debug)]
pub struct SharedError<E>(Arc<E>);

impl<E> Clone for SharedError<E> {
    fn clone(&self) -> Self {
        SharedError(Arc::clone(&self.0))
    }
}

impl<E> std::ops::Deref for SharedError<E> {
    type Target = E;

    fn deref(&self) -> &E {
        &self.0
    }
}

impl<E: fmt::Display> fmt::Display for SharedError<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl<E: std::error::Error> std::error::Error for SharedError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

impl<E> PartialEq for SharedError<E> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The most bytes of diagnostics that the `Debug` form of a [`CompileFailure`] has.
const MAX_DEBUG_BYTES: usize = 1500;

/// Why compiling failed: diagnostics of the source, or another reason. It is equal to its clones only.
#[derive(Clone)]
pub struct CompileFailure(Arc<CompileError>);

impl CompileFailure {
    /// For people: all diagnostics with source lines, in colour if wanted.
    pub fn render_text(&self, colour: bool) -> String {
        self.0.render_text(colour)
    }

    /// For programs: a JSON array of diagnostics.
    pub fn render_json(&self) -> String {
        self.0.render_json()
    }

    /// The compiler's error, for other crates of this project: it changes without notice.
    #[doc(hidden)]
    pub fn error(&self) -> &CompileError {
        &self.0
    }

    /// A stable name of the kind of failure.
    pub fn id(&self) -> &'static str {
        self.0.id()
    }

    /// The bug, if one of the compiler is the reason.
    pub fn compiler_bug(&self) -> Option<&CompilerBug> {
        match &*self.0 {
            CompileError::Internal(bug) => Some(bug),
            _ => None,
        }
    }

    /// Whether the user's input is at fault, rather than the machine or the compiler.
    pub fn is_user_error(&self) -> bool {
        self.0.is_user_error()
    }

    /// Whether the compilation was taken back.
    pub fn is_cancelled(&self) -> bool {
        matches!(&*self.0, CompileError::Cancelled)
    }

    /// Whether the same compile may succeed when it is repeated: its worker was killed from outside.
    pub fn is_transient(&self) -> bool {
        self.0.is_transient()
    }
}

impl From<CompileError> for Error {
    fn from(error: CompileError) -> Self {
        Error::Compile(CompileFailure(Arc::new(error)))
    }
}

impl std::error::Error for CompileFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

impl fmt::Display for CompileFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// The beginning of the diagnostics, since `main` prints errors in this form. All of them with the sources
/// that they are about can be hundreds of kilobytes.
impl fmt::Debug for CompileFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.render_text(false);
        let text = text.trim_end();
        writeln!(formatter, "CompileFailure({}):", self.id())?;
        if text.len() <= MAX_DEBUG_BYTES {
            return formatter.write_str(text);
        }
        let end = (0..=MAX_DEBUG_BYTES).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        // A line cut in two would have a mark without its text.
        let end = text[..end].rfind('\n').unwrap_or(end);
        write!(formatter, "{}\n… and {} more lines", &text[..end], text[end..].trim().lines().count())
    }
}

impl PartialEq for CompileFailure {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
