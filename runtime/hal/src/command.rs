//! Commands: what a command buffer holds.
//!
//! Owns plain data only: dispatches, copies, fills, products, event and fence signals and waits. Invariant: a
//! command holds its resources alive (by `Arc`). Copies, fills and time samples are within their buffers
//! since they were made; a dispatch carries the result of its check ([`Dispatch::check`]). Devices check the
//! rest.

mod dispatch;
mod transfer;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use anymetal_types::setters;

use crate::buffer::Buffer;
use crate::capabilities::Capabilities;
use crate::completion::Completion;
use crate::encoded_commands::{EncodedExecution, ExecutedRange};
use crate::error::DeviceError;
use crate::event::Event;
use crate::fence::Fence;
use crate::indirect::IndirectCommandBuffer;
use crate::matrix_product::CheckedProduct;
use crate::time_sample::TimeSample;

pub use crate::binding::{Binding, BoundResource, ThreadgroupMemory};
pub use crate::grid::Grid;
pub use crate::validate::INDIRECT_COUNTS_BYTES;
pub use dispatch::{CheckedDispatch, Dispatch, IndirectDispatch};
pub use transfer::{BufferCopy, BufferFill};

/// The commands of one command buffer and how to run them. They run in order, and each sees what the ones
/// before it wrote.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct CommandList {
    /// The commands.
    pub commands: Vec<Command>,
    /// When to stop them.
    pub deadline: Deadline,
    /// What to measure.
    pub timestamps: Timestamps,
    /// A name for messages; may be empty.
    pub label: String,
    /// Whether the device may run it on the thread that submits it, before `submit` returns, if it expects
    /// that to take less than handing it over. Only for work whose end runs nothing that could wait for the
    /// submitter.
    pub may_run_inline: bool,
    /// The buffers that its kernels reach through pointers in memory alone. Those that are bound are
    /// reachable anyway.
    pub resident: Vec<ResidentBuffer>,
    /// Bytes of the log for messages of its kernels; `None`: [`crate::logging::DEFAULT_LOG_BYTES`].
    pub log_bytes: Option<u64>,
}

impl CommandList {
    /// Commands with the queue's default deadline, without a label.
    pub fn new(commands: Vec<Command>) -> Self {
        CommandList { commands, ..CommandList::default() }
    }

    /// Notes the work on each buffer that it uses, for a device that is given it. Refused with
    /// [`DeviceError::BufferMapped`] if one of them is mapped; drop the completion's source then.
    pub fn note_submitted(&self, completion: &Completion) -> Result<(), DeviceError> {
        self.buffers().into_iter().try_for_each(|buffer| {
            let noted = buffer.uses().note_submitted(completion);
            noted.map_err(|conflict| conflict.error(buffer.label()))
        })
    }

    /// Notes the work on each buffer that it uses, while it is held on the host.
    pub fn note_held(&self, completion: &Completion) {
        self.buffers().into_iter().for_each(|buffer| buffer.uses().note_held(completion));
    }

    /// The buffers that it uses, each once, in the order of their first use.
    pub fn buffers(&self) -> Vec<&Arc<dyn Buffer>> {
        let (mut buffers, mut seen) = (Vec::new(), BTreeSet::new());
        for command in &self.commands {
            command.each_buffer(&mut |buffer| {
                // By address alone: the same buffer may be seen through two copies of its vtable.
                if seen.insert(Arc::as_ptr(buffer).cast::<()>()) {
                    buffers.push(buffer);
                }
            });
        }
        for ResidentBuffer { buffer, .. } in &self.resident {
            if seen.insert(Arc::as_ptr(buffer).cast::<()>()) {
                buffers.push(buffer);
            }
        }
        buffers
    }
}

setters!(CommandList {
    commands: Vec<Command>,
    deadline: Deadline,
    timestamps: Timestamps,
    may_run_inline: bool,
    resident: Vec<ResidentBuffer>,
    log_bytes: Option<u64>,
} into { label: String });

/// A buffer that kernels reach through pointers in memory, as Metal's `useResource` names it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ResidentBuffer {
    /// The buffer.
    pub buffer: Arc<dyn Buffer>,
    /// What they do with it.
    pub usage: ResourceUsage,
}

impl ResidentBuffer {
    /// A buffer that kernels use in that way.
    pub fn new(buffer: Arc<dyn Buffer>, usage: ResourceUsage) -> Self {
        ResidentBuffer { buffer, usage }
    }
}

/// What kernels do with a resident buffer, Metal's `MTLResourceUsage`. Determines what other work
/// must wait for, and whether kernels may store through pointers that they load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ResourceUsage {
    /// They read.
    Read,
    /// They write.
    Write,
    /// They do both.
    ReadWrite,
}

impl ResourceUsage {
    /// Whether they write.
    pub fn writes(self) -> bool {
        self != ResourceUsage::Read
    }

    /// What two together do.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        if self == other { self } else { ResourceUsage::ReadWrite }
    }
}

/// What the device's clock is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Timestamps {
    /// The start and the end of the command buffer.
    #[default]
    CommandBuffer,
    /// Each command's start and end too ([`crate::completion::Completion::command_timings`]).
    EachCommand,
}

/// The deadline of a command buffer for which neither the program nor the settings specify one, on every
/// device that supports deadlines.
pub const DEFAULT_DEADLINE: Duration = Duration::from_secs(60);

/// How long a command buffer may run, counted from the start of its first command, event waits included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Deadline {
    /// The queue's default: the setting `streams.deadline`, or else [`DEFAULT_DEADLINE`].
    #[default]
    Default,
    /// That long.
    After(Duration),
    /// No deadline.
    Never,
}

/// A number that is not a length of time.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("`{0}` is not a deadline: a number of seconds from 0 (no deadline) to {max}", max = u64::MAX)]
pub struct InvalidDeadline(pub f64);

impl Deadline {
    /// The deadline for a number of seconds as command lines, Python and C specify it: 0 means no deadline.
    ///
    /// # Errors
    /// NaN, negative numbers, and numbers beyond [`Duration::MAX`].
    pub fn from_secs_f64(seconds: f64) -> Result<Deadline, InvalidDeadline> {
        match Duration::try_from_secs_f64(seconds) {
            // A positive number below a nanosecond is rounded to 0, but it is not a request for no deadline.
            Ok(Duration::ZERO) if seconds != 0.0 => Ok(Deadline::After(Duration::from_nanos(1))),
            Ok(Duration::ZERO) => Ok(Deadline::Never),
            Ok(after) => Ok(Deadline::After(after)),
            Err(_) => Err(InvalidDeadline(seconds)),
        }
    }

    /// How long it is, with the device's default; `None`: no deadline.
    pub fn after(self, default: Duration) -> Option<Duration> {
        match self {
            Deadline::Default => Some(default),
            Deadline::After(after) => Some(after),
            Deadline::Never => None,
        }
    }

    /// This deadline, or `default` where it is [`Deadline::Default`].
    #[must_use]
    pub fn or(self, default: Deadline) -> Deadline {
        if self == Deadline::Default { default } else { self }
    }
}

impl From<Duration> for Deadline {
    fn from(after: Duration) -> Self {
        Deadline::After(after)
    }
}

/// One command.
///
/// Exhaustive: a device that does not handle a command must not compile.
#[derive(Debug)]
pub enum Command {
    /// Runs a kernel over a grid.
    Dispatch(Dispatch),
    /// Runs a kernel over a grid whose size is read from a buffer when its turn comes.
    DispatchIndirect(IndirectDispatch),
    /// Copies bytes from buffer to buffer.
    Copy(BufferCopy),
    /// Sets bytes of a buffer.
    Fill(BufferFill),
    /// Multiplies matrices by the device's library, if it has one.
    MatrixProduct(Box<CheckedProduct>),
    /// Executes commands that were encoded before.
    ExecuteIndirect(Arc<dyn IndirectCommandBuffer>),
    /// Executes commands that kernels have encoded.
    ExecuteEncoded(Box<EncodedExecution>),
    /// Writes the device's clock to memory once everything before is done.
    SampleTime(TimeSample),
    /// Goes on when the event has reached the value.
    WaitEvent {
        /// The event.
        event: Arc<dyn Event>,
        /// The value.
        value: u64,
    },
    /// Raises the event to the value once everything before it is done.
    SignalEvent {
        /// The event.
        event: Arc<dyn Event>,
        /// The value.
        value: u64,
    },
    /// Updates the fence once everything before it is done.
    UpdateFence(Arc<dyn Fence>),
    /// Goes on once the last update of the fence that this queue was given before is done.
    WaitFence(Arc<dyn Fence>),
}

impl Command {
    /// What it does, in one word.
    pub fn word(&self) -> &'static str {
        match self {
            Command::Dispatch(_) => "dispatch",
            Command::DispatchIndirect(_) => "dispatch-indirect",
            Command::Copy(_) => "copy",
            Command::Fill(_) => "fill",
            Command::MatrixProduct(_) => "matrix-product",
            Command::ExecuteIndirect(_) => "execute",
            Command::ExecuteEncoded(_) => "execute-encoded",
            Command::SampleTime(_) => "sample-time",
            Command::WaitEvent { .. } => "wait",
            Command::SignalEvent { .. } => "signal",
            Command::UpdateFence(_) => "update-fence",
            Command::WaitFence(_) => "wait-fence",
        }
    }

    /// The dispatch, direct or not, if it is one.
    pub fn dispatch(&self) -> Option<&Dispatch> {
        match self {
            Command::Dispatch(dispatch) => Some(dispatch),
            Command::DispatchIndirect(indirect) => Some(indirect.dispatch()),
            _ => None,
        }
    }

    /// The dispatch, direct or not, to add what is bound late.
    pub(crate) fn dispatch_mut(&mut self) -> Option<&mut Dispatch> {
        match self {
            Command::Dispatch(dispatch) => Some(dispatch),
            Command::DispatchIndirect(indirect) => Some(indirect.dispatch_mut()),
            _ => None,
        }
    }

    /// Checks the dispatches that are known only when their turn comes with these limits, in addition to
    /// those of the device that runs them: for devices that lower the limits of another. A dispatch whose
    /// grid is read from a buffer is not one of them: no limit bounds the counts, and the rest is known
    /// before.
    pub fn limit(&mut self, limits: &Arc<Capabilities>) {
        if let Command::ExecuteEncoded(execution) = self {
            execution.limit(limits);
        }
    }

    /// The commands that it stands for: itself, or those that it executes.
    pub fn expanded(&self) -> &[Command] {
        match self {
            Command::ExecuteIndirect(indirect) => indirect.commands(),
            _ => std::slice::from_ref(self),
        }
    }

    /// Calls `visit` for each buffer that it names; for one more than once if it is bound more than once.
    pub fn each_buffer<'a>(&'a self, visit: &mut dyn FnMut(&'a Arc<dyn Buffer>)) {
        let bound = |bindings: &'a [Binding], visit: &mut dyn FnMut(&'a Arc<dyn Buffer>)| {
            for binding in bindings {
                if let BoundResource::Buffer { buffer, .. } = &binding.resource {
                    visit(buffer);
                }
            }
        };
        match self {
            Command::Dispatch(dispatch) => bound(dispatch.bindings(), visit),
            Command::DispatchIndirect(indirect) => {
                bound(indirect.dispatch().bindings(), visit);
                visit(indirect.counts());
            }
            Command::Copy(copy) => {
                visit(copy.source());
                visit(copy.destination());
            }
            Command::Fill(fill) => visit(fill.buffer()),
            Command::SampleTime(sample) => visit(sample.buffer()),
            Command::MatrixProduct(product) => {
                for operand in [&product.left, &product.right, &product.result] {
                    visit(&operand.buffer);
                }
            }
            Command::ExecuteIndirect(indirect) => {
                indirect.commands().iter().for_each(|command| command.each_buffer(visit));
            }
            Command::ExecuteEncoded(execution) => {
                for (memory, range) in execution.ranges() {
                    visit(memory.buffer());
                    if let ExecutedRange::Indirect { buffer, .. } = range {
                        visit(buffer);
                    }
                }
                execution.encodes.iter().for_each(|memory| visit(memory.buffer()));
                execution.used.iter().for_each(&mut *visit);
                bound(execution.inherited_bindings(), visit);
            }
            Command::WaitEvent { .. }
            | Command::SignalEvent { .. }
            | Command::UpdateFence(_)
            | Command::WaitFence(_) => {}
        }
    }
}
