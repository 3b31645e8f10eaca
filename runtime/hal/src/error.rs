//! Device errors and their classes.
//!
//! Owns [`DeviceError`], the one error type of every device, and [`ErrorClass`], which retry and recovery
//! policies read. Invariant: every variant says in typed fields what went wrong and, where there is one, what
//! to do instead; a message ends a sentence for a user, never a stack of internals.

mod invalid_command;
mod out_of_bounds;
mod words;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::command_failure::CommandFailure;
use crate::storage_mode::StorageMode;
use anymetal_types::texture::BindingRole;

pub use invalid_command::InvalidCommand;
pub use out_of_bounds::{LoadedPointer, OutOfBounds};
pub use words::Word;

/// What kind of failure an error is; policies decide by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// It may work if tried again.
    Transient,
    /// A resource ran out; it may work once some is given back.
    Exhausted,
    /// The device, or the work's result, is gone; rebuilding is needed.
    Lost,
    /// The caller's program is wrong; trying again gives the same answer.
    Caller,
}

impl ErrorClass {
    /// All classes.
    pub const ALL: [ErrorClass; 4] =
        [ErrorClass::Transient, ErrorClass::Exhausted, ErrorClass::Lost, ErrorClass::Caller];

    /// The word for messages and labels: `transient`, `exhausted`, `lost`, `caller`.
    pub const fn word(self) -> &'static str {
        match self {
            ErrorClass::Transient => "transient",
            ErrorClass::Exhausted => "exhausted",
            ErrorClass::Lost => "lost",
            ErrorClass::Caller => "caller",
        }
    }
}

/// Why a device refused or failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum DeviceError {
    /// A kernel accessed memory outside what was bound.
    #[error("{0}")]
    OutOfBounds(Box<OutOfBounds>),
    /// Kernels that load pointers from memory have a table of all buffers that they can reach, and it is
    /// full.
    #[error("{count} buffers are resident in one command buffer, the limit is {limit}")]
    TooManyResident {
        /// How many there are.
        count: usize,
        /// How many there may be.
        limit: usize,
    },
    /// A kernel did what its device refuses at run time.
    #[error("kernel `{kernel}` was stopped: {what}")]
    KernelRefused {
        /// The kernel.
        kernel: String,
        /// What it did.
        what: String,
        /// The source file; may be empty.
        file: String,
        /// The line, from 1; 0 if unknown.
        line: u32,
    },
    /// The work ran past its deadline and was stopped.
    #[error("{} was stopped by the deadline after {} s", describe_work(kernel), after.as_secs_f64())]
    DeadlineExceeded {
        /// The kernel that ran; `None` if the command buffer was waiting for an event.
        kernel: Option<String>,
        /// The deadline.
        after: Duration,
    },
    /// The work was told to stop while it ran ([`crate::queue::Queue::stop`]). What it wrote stays.
    #[error("{} was stopped while it ran", describe_work(kernel))]
    Stopped {
        /// The kernel that ran; `None` if the command buffer was waiting for an event.
        kernel: Option<String>,
    },
    /// The wait was interrupted ([`crate::interruption`]); the work goes on.
    #[error("the wait was interrupted; the work goes on until it ends or its deadline stops it")]
    WaitInterrupted,
    /// An argument of the kernel was not given.
    #[error("kernel `{kernel}`: {} `{name}` is missing", describe_argument(*index))]
    MissingArgument {
        /// The kernel.
        kernel: String,
        /// The argument's Metal index.
        index: u32,
        /// Its name.
        name: String,
    },
    /// A threadgroup memory argument has no length.
    #[error(
        "kernel `{kernel}`: threadgroup memory {index} `{name}` has no length; give it by \
         `threadgroup_memory({index}, bytes)`"
    )]
    NoThreadgroupLength {
        /// The kernel.
        kernel: String,
        /// The argument's Metal index.
        index: u32,
        /// Its name.
        name: String,
    },
    /// An argument was given that the kernel does not have.
    #[error("kernel `{kernel}` has no {what} {index}; it has {}", describe_existing(existing))]
    SurplusArgument {
        /// The kernel.
        kernel: String,
        /// "buffer argument" or "threadgroup memory argument".
        #[serde(deserialize_with = "words::known")]
        what: Word,
        /// The index given.
        index: u32,
        /// The arguments that exist, as `index name`.
        existing: Vec<String>,
    },
    /// What is bound is shorter than the kernel's type.
    #[error("kernel `{kernel}`: {} `{name}` needs {needs} bytes, but {got} are bound", describe_argument(*index))]
    ArgumentTooShort {
        /// The kernel.
        kernel: String,
        /// The argument's Metal index.
        index: u32,
        /// Its name.
        name: String,
        /// The bytes it needs.
        needs: u64,
        /// The bytes given.
        got: u64,
    },
    /// What is bound does not have the kernel's type.
    #[error("kernel `{kernel}`: {} `{name}` is {expected}, but {got} was given", describe_argument(*index))]
    WrongType {
        /// The kernel.
        kernel: String,
        /// The argument's Metal index.
        index: u32,
        /// Its name.
        name: String,
        /// What the kernel declares.
        expected: String,
        /// What was given.
        got: String,
    },
    /// The offset is not a multiple of the element's alignment.
    #[error(
        "kernel `{kernel}`: {} `{name}` is bound at byte {offset}, which is no multiple of its alignment {align}",
        describe_argument(*index)
    )]
    MisalignedArgument {
        /// The kernel.
        kernel: String,
        /// The argument's Metal index.
        index: u32,
        /// Its name.
        name: String,
        /// The offset given.
        offset: u64,
        /// The alignment it needs.
        align: u64,
    },
    /// Inline bytes beyond the limit.
    #[error("{got} inline bytes are more than the limit of {limit}; use a buffer")]
    InlineBytesTooLong {
        /// The bytes given.
        got: u64,
        /// The limit.
        limit: u64,
    },
    /// A range that is not within its buffer.
    #[error("bytes {offset}..{} are not within a buffer of {buffer_len} bytes", offset.saturating_add(*len))]
    RangeOutsideBuffer {
        /// Its first byte.
        offset: u64,
        /// Its length.
        len: u64,
        /// The buffer's length.
        buffer_len: u64,
    },
    /// The source and the destination of a copy overlap.
    #[error(
        "a copy of {len} bytes within one buffer from {source_offset} to {destination_offset} overlaps itself"
    )]
    OverlappingCopy {
        /// The source's first byte.
        source_offset: u64,
        /// The destination's first byte.
        destination_offset: u64,
        /// The bytes to copy.
        len: u64,
    },
    /// A sample of the clock does not begin at a multiple of eight bytes.
    #[error("a sample of the clock begins at byte {offset}, which is not a multiple of 8")]
    MisalignedTimeSample {
        /// The first byte.
        offset: u64,
    },
    /// A product of matrices breaks a rule.
    #[error("the product of matrices is refused: {rule}")]
    InvalidMatrixProduct {
        /// The rule.
        #[serde(deserialize_with = "words::known")]
        rule: Word,
    },
    /// The artifact has no such kernel.
    #[error("there is no kernel `{name}`; there are {}", describe_existing(existing))]
    UnknownKernel {
        /// The name asked for.
        name: String,
        /// The names that exist.
        existing: Vec<String>,
    },
    /// The device cannot do that.
    #[error("{device} does not support {what}; {alternative}")]
    Unsupported {
        /// The device's name.
        device: String,
        /// What was asked.
        what: String,
        /// What to do instead.
        alternative: String,
    },
    /// The artifact's code is not for this device, or damaged.
    #[error("the code of kernel `{kernel}` cannot be loaded: {reason}")]
    UnloadableCode {
        /// The kernel.
        kernel: String,
        /// Why, as the loader says.
        reason: String,
    },
    /// A device that this machine does not have, or that cannot be started.
    #[error("there is no device `{device}`: {reason}")]
    Unavailable {
        /// The device.
        device: String,
        /// Why.
        reason: String,
    },
    /// No memory of that size is left.
    #[error("out of memory: {requested} bytes were asked for")]
    OutOfMemory {
        /// The bytes asked for.
        requested: u64,
    },
    /// A buffer beyond the device's largest.
    #[error("a buffer of {requested} bytes is above this device's limit of {limit}; split it")]
    BufferTooLarge {
        /// The bytes asked for.
        requested: u64,
        /// The limit.
        limit: u64,
    },
    /// A threadgroup with too many threads.
    #[error("kernel `{kernel}`: a threadgroup of {} is {threads} threads, the limit is {limit}", describe_size(*size))]
    GroupTooLarge {
        /// The kernel.
        kernel: String,
        /// The group size given.
        size: [u32; 3],
        /// Its threads.
        threads: u128,
        /// The limit.
        limit: u32,
    },
    /// A group size that is zero in a dimension.
    #[error("kernel `{kernel}`: a threadgroup of {} has no threads", describe_size(*size))]
    GroupEmpty {
        /// The kernel.
        kernel: String,
        /// The group size given.
        size: [u32; 3],
    },
    /// A kernel wrote a message of `log_fault`.
    #[error("kernel `{kernel}`, thread ({}, {}, {}): {message}", thread[0], thread[1], thread[2])]
    LogFault {
        /// The kernel.
        kernel: String,
        /// The first such message.
        message: String,
        /// The position of the thread in the grid.
        thread: [u32; 3],
    },
    /// A group size other than the only one that the kernel's source or its specialised code allows.
    #[error("kernel `{kernel}` needs threadgroups of {}, not {}", describe_size(*needs), describe_size(*got))]
    GroupSizeMismatch {
        /// The kernel.
        kernel: String,
        /// The size it needs.
        needs: [u32; 3],
        /// The size given.
        got: [u32; 3],
    },
    /// A grid whose last threadgroups are cut off, for code that runs whole threadgroups only.
    #[error(
        "kernel `{kernel}`: this code runs whole threadgroups of {} only, and the grid has {} threads",
        describe_size(*size), describe_size(*threads)
    )]
    PartialThreadgroups {
        /// The kernel.
        kernel: String,
        /// The grid.
        threads: [u32; 3],
        /// The threadgroup size.
        size: [u32; 3],
    },
    /// More threads in one dimension than 32 bits count, or more threadgroups than the device counts.
    #[error("kernel `{kernel}`: a grid of {} threadgroups of {} is too large", describe_size(*groups), describe_size(*size))]
    GridTooLarge {
        /// The kernel.
        kernel: String,
        /// The threadgroups.
        groups: [u32; 3],
        /// The group size.
        size: [u32; 3],
    },
    /// More threadgroup memory than there is.
    #[error(
        "kernel `{kernel}` with these arguments needs {needs} bytes of threadgroup memory, the limit is {limit}"
    )]
    ThreadgroupMemoryTooLarge {
        /// The kernel.
        kernel: String,
        /// The bytes needed.
        needs: u64,
        /// The limit.
        limit: u64,
    },
    /// A buffer, pipeline or event of another device.
    #[error("a {what} of another device was used with {device}")]
    WrongDevice {
        /// "buffer", "pipeline" or "event".
        #[serde(deserialize_with = "words::known")]
        what: Word,
        /// The device used.
        device: String,
    },
    /// No free range of a heap is long enough.
    #[error("a heap of {length} bytes has no room for {requested}: its longest free range is {largest_free}")]
    HeapFull {
        /// The bytes asked for.
        requested: u64,
        /// The longest free range.
        largest_free: u64,
        /// The heap's length.
        length: u64,
    },
    /// A buffer of a heap must have the heap's storage mode.
    #[error("a heap with {heap:?} storage cannot make a buffer with {buffer:?} storage")]
    HeapStorageMode {
        /// The heap's.
        heap: StorageMode,
        /// The buffer's.
        buffer: StorageMode,
    },
    /// The counts of an indirect dispatch do not lie on a multiple of 4.
    #[error("the threadgroup counts of kernel `{kernel}` are at byte {offset}, which is no multiple of 4")]
    MisalignedCounts {
        /// The kernel.
        kernel: String,
        /// The offset given.
        offset: u64,
    },
    /// A fence was used with a second queue.
    #[error("a fence orders commands of one queue only; use an event across queues")]
    FenceAcrossQueues,
    /// A kernel with barriers of the grid in a launch that is not cooperative.
    #[error(
        "`{kernel}` has barriers of the grid, for which all threadgroups must be in progress at once; make the \
         launch cooperative (`cooperative()`, `--cooperative`)"
    )]
    NotCooperative {
        /// The kernel.
        kernel: String,
    },
    /// A cooperative launch of more threadgroups than can be in progress at once.
    #[error(
        "a cooperative launch of `{kernel}` can have {limit} threadgroups, not {groups}; let each do more, in a \
         loop"
    )]
    CooperativeGridTooLarge {
        /// The kernel.
        kernel: String,
        /// The threadgroups of the launch.
        groups: u64,
        /// The most that the device has room for.
        limit: u64,
    },
    /// Something that an indirect command buffer cannot hold.
    #[error("an indirect command buffer cannot hold {what}; encode it into the command buffer")]
    NotIndirect {
        /// What.
        what: String,
    },
    /// A command that a kernel encoded cannot be executed.
    #[error("command {command} of the indirect command buffer{} cannot be executed: {reason}", quoted(label))]
    InvalidCommand {
        /// The label of the indirect command buffer; may be empty.
        label: String,
        /// The command's number.
        command: u32,
        /// Why.
        reason: Box<InvalidCommand>,
    },
    /// Commands that an indirect command buffer does not have.
    #[error(
        "the commands {start} to {end} are not within the {capacity} of the indirect command buffer{}",
        quoted(label)
    )]
    CommandsOutsideBuffer {
        /// The label of the indirect command buffer; may be empty.
        label: String,
        /// The first command.
        start: u64,
        /// One more than the last command.
        end: u64,
        /// How many there are.
        capacity: u32,
    },
    /// Encoded commands went on encoding others.
    #[error("encoded commands encoded others more than {limit} times; raise the depth, or end the recursion")]
    NestingTooDeep {
        /// The depth given.
        limit: u32,
    },
    /// More indirect command buffers than a kernel can encode.
    #[error("a kernel can encode {limit} indirect command buffers at most, not {given}")]
    TooManyEncodedBuffers {
        /// How many were given.
        given: usize,
        /// The most.
        limit: u32,
    },
    /// The device cannot take work just now.
    #[error("{device} is busy: {what} may work if tried again")]
    Busy {
        /// The device's name.
        device: String,
        /// What was asked.
        #[serde(deserialize_with = "words::known")]
        what: Word,
    },
    /// The work was taken back before it ran.
    #[error("the command buffer{} was cancelled before it ran", quoted(label))]
    Cancelled {
        /// Its label; may be empty.
        label: String,
    },
    /// The queue has as many command buffers in flight as it may.
    #[error("the queue already has {limit} command buffers in flight")]
    QueueFull {
        /// Its limit.
        limit: usize,
    },
    /// The buffer is mapped by the host in a way that excludes the access.
    #[error("the buffer{} is mapped by the host; drop the mapping first", quoted(label))]
    BufferMapped {
        /// The buffer's label; may be empty.
        label: String,
    },
    /// Submitted or held work uses the buffer.
    #[error("the buffer{} is used by work that has not ended", quoted(label))]
    BufferInUse {
        /// The buffer's label; may be empty.
        label: String,
    },
    /// Work that uses the buffer is held by a paused queue, so that it does not end by itself.
    #[error("the queue{} is paused and holds work that uses the buffer; resume it first", quoted(queue))]
    HeldByPause {
        /// The queue's label; may be empty.
        queue: String,
    },
    /// An earlier command buffer of the device broke it, or it was shut down.
    #[error("{device} was lost: {reason}")]
    DeviceLost {
        /// The device's name.
        device: String,
        /// Why.
        reason: String,
    },
    /// A device that compiles and runs kernels by itself ended the command buffer without a result.
    #[error("{device}: the command buffer{} failed with {failure}: {reason}", quoted(label))]
    CommandBufferFailed {
        /// The device's name.
        device: String,
        /// Its label; may be empty.
        label: String,
        /// What it was.
        failure: CommandFailure,
        /// The device's own words.
        reason: String,
    },
    /// A bug of the interpreter showed while it ran a kernel.
    #[error("kernel `{kernel}` was not run to its end: {report}")]
    InterpreterBug {
        /// The kernel.
        kernel: String,
        /// Stage, kernel, message and reproducer.
        report: String,
    },
    /// A bug of the device: a worker panicked while it ran the work.
    #[error("a worker panicked while it ran {}: {message}", describe_work(kernel))]
    WorkerPanicked {
        /// The kernel that ran, if any.
        kernel: Option<String>,
        /// The panic's message.
        message: String,
    },
    /// No device of that name.
    #[error("there is no device `{name}`; there are {}", describe_existing(existing))]
    UnknownDevice {
        /// The name asked for.
        name: String,
        /// The names that exist.
        existing: Vec<String>,
    },
    /// A setting, such as an environment variable, that makes no sense.
    #[error("`{value}` is no valid value for {setting}: {expected}")]
    InvalidSetting {
        /// The setting's name.
        #[serde(deserialize_with = "words::known")]
        setting: Word,
        /// Its value.
        value: String,
        /// What it should look like.
        #[serde(deserialize_with = "words::known")]
        expected: Word,
    },
}

impl DeviceError {
    /// The class, by which policies decide.
    pub fn class(&self) -> ErrorClass {
        use DeviceError as E;
        match self {
            E::OutOfMemory { .. } | E::QueueFull { .. } | E::HeapFull { .. } => ErrorClass::Exhausted,
            // Slow because the machine was busy, or an endless loop: one more try can tell.
            E::DeadlineExceeded { .. } | E::Busy { .. } | E::BufferInUse { .. } => ErrorClass::Transient,
            E::CommandBufferFailed { failure, .. } => failure.class(),
            E::DeviceLost { .. } | E::WorkerPanicked { .. } | E::InterpreterBug { .. } => ErrorClass::Lost,
            E::OutOfBounds(_)
            | E::WaitInterrupted
            | E::KernelRefused { .. }
            | E::TooManyResident { .. }
            | E::LogFault { .. }
            | E::MissingArgument { .. }
            | E::NoThreadgroupLength { .. }
            | E::SurplusArgument { .. }
            | E::ArgumentTooShort { .. }
            | E::WrongType { .. }
            | E::MisalignedArgument { .. }
            | E::InlineBytesTooLong { .. }
            | E::RangeOutsideBuffer { .. }
            | E::OverlappingCopy { .. }
            | E::MisalignedTimeSample { .. }
            | E::InvalidMatrixProduct { .. }
            | E::UnknownKernel { .. }
            | E::Unsupported { .. }
            | E::UnloadableCode { .. }
            | E::BufferTooLarge { .. }
            | E::GroupTooLarge { .. }
            | E::GroupEmpty { .. }
            | E::GroupSizeMismatch { .. }
            | E::PartialThreadgroups { .. }
            | E::GridTooLarge { .. }
            | E::ThreadgroupMemoryTooLarge { .. }
            | E::WrongDevice { .. }
            | E::UnknownDevice { .. }
            | E::Unavailable { .. }
            | E::HeapStorageMode { .. }
            | E::MisalignedCounts { .. }
            | E::FenceAcrossQueues
            | E::NotCooperative { .. }
            | E::CooperativeGridTooLarge { .. }
            | E::NotIndirect { .. }
            | E::InvalidCommand { .. }
            | E::CommandsOutsideBuffer { .. }
            | E::NestingTooDeep { .. }
            | E::TooManyEncodedBuffers { .. }
            | E::BufferMapped { .. }
            | E::HeldByPause { .. }
            | E::Cancelled { .. }
            | E::Stopped { .. }
            | E::InvalidSetting { .. } => ErrorClass::Caller,
        }
    }
}

fn describe_work(kernel: &Option<String>) -> String {
    match kernel {
        Some(kernel) => format!("kernel `{kernel}`"),
        None => "a command buffer".to_owned(),
    }
}

/// A label as it follows the name of what has it, such as in "the queue `copies`"; nothing for an empty one.
pub fn quoted(label: &str) -> String {
    if label.is_empty() { String::new() } else { format!(" `{label}`") }
}

/// A buffer argument in the user's words.
fn describe_argument(index: u32) -> String {
    match BindingRole::of(index) {
        BindingRole::Buffer => format!("argument {index}"),
        BindingRole::Texels(texture) => format!("texture {texture}"),
        BindingRole::Description(texture) => format!("the description of texture {texture}"),
        BindingRole::Sampler(sampler) => format!("sampler {sampler}"),
        BindingRole::Log | BindingRole::LogCommand => "the log".to_owned(),
        BindingRole::EncodedCommands(_) => "the indirect command buffer".to_owned(),
        BindingRole::ResourceTable => "the table of resources".to_owned(),
        BindingRole::TensorShape(buffer) => format!("the shape of the tensor at argument {buffer}"),
        BindingRole::StageInRegion => "the region of stage-in data".to_owned(),
    }
}

fn describe_existing(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
    }
}

fn describe_size([x, y, z]: [u32; 3]) -> String {
    format!("{x}x{y}x{z}")
}

#[cfg(test)]
mod tests;
