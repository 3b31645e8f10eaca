//! The error of every fallible call of the crate.
//!
//! Invariant: a mistake in MSL is [`Error::Compile`] with rendered diagnostics; everything else that a device
//! says is [`Error::Device`]; the rest are mistakes in a call, found before anything runs.

use anymetal_hal::error::{DeviceError, ErrorClass};

/// What went wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// The source did not compile.
    #[error("{diagnostics}")]
    Compile {
        /// All diagnostics, rendered with source lines.
        diagnostics: String,
        /// The same as JSON.
        json: String,
    },
    /// The device refused or failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
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
    /// The kernel has no function constant of that name or index, or a value has the wrong type.
    #[error("function constant {constant}: {problem}")]
    FunctionConstant {
        /// The name or index given.
        constant: String,
        /// What is wrong.
        problem: String,
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
    /// An extent beyond 32 bits.
    #[error("{value} is too large for a dimension of a grid")]
    ExtentTooLarge {
        /// The extent.
        value: u128,
    },
    /// A dispatch was encoded before a pipeline was set.
    #[error("no pipeline is set on the encoder")]
    NoPipeline,
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

impl Error {
    /// The class, by which retry policies decide.
    pub fn class(&self) -> ErrorClass {
        match self {
            Error::Device(error) => error.class(),
            Error::Compile { .. }
            | Error::ArgumentCount { .. }
            | Error::UnknownArgument { .. }
            | Error::FunctionConstant { .. }
            | Error::NoGrid { .. }
            | Error::NoGroupSize { .. }
            | Error::ExtentTooLarge { .. }
            | Error::NoPipeline
            | Error::RangeOutsideBuffer { .. }
            | Error::TooManyElements { .. } => ErrorClass::Caller,
        }
    }
}
