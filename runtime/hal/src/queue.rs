//! Queues: command buffers in, completions out.
//!
//! Owns the [`Queue`] trait. Invariant: command buffers of one queue run one after the other in the order of
//! their submission, each sees what the ones before it wrote; queues run beside each other.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use anymetal_types::setters;

use crate::capabilities::Capabilities;
use crate::clock::Clock;
use crate::command::CommandList;
use crate::completion::{Completion, CompletionSource, Outcome, WaitAssist};
use crate::error::DeviceError;
use crate::semaphore::Semaphore;

/// Which queues go first when there is work for more than the device can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub enum Priority {
    /// After the others, but not never.
    Low,
    /// As most.
    #[default]
    Normal,
    /// Before the others, from the next command buffer on: what runs is not interrupted.
    High,
}

/// What queue to make.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct QueueDescriptor {
    /// A name for messages; may be empty.
    pub label: String,
    /// How many command buffers may be submitted and not done.
    pub max_in_flight: usize,
    /// What `submit` does when there are that many.
    pub when_full: WhenFull,
    /// Which queues go first. A device that knows only one priority refuses the others
    /// ([`DeviceError::Unsupported`]); see [`crate::capabilities::Capabilities::supports_priorities`].
    pub priority: Priority,
}

impl Default for QueueDescriptor {
    fn default() -> Self {
        QueueDescriptor {
            label: String::new(),
            max_in_flight: 1024,
            when_full: WhenFull::default(),
            priority: Priority::default(),
        }
    }
}

setters!(QueueDescriptor {
    max_in_flight: usize,
    when_full: WhenFull,
    priority: Priority,
} into { label: String });

/// What `submit` does when a queue has as many command buffers in flight as it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenFull {
    /// Blocks until one is done, at most that long, then refuses.
    Wait(Duration),
    /// Refuses at once with [`DeviceError::QueueFull`].
    Refuse,
}

impl Default for WhenFull {
    fn default() -> Self {
        WhenFull::Wait(Duration::from_secs(60))
    }
}

/// What became of a request to take a command buffer back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cancellation {
    /// It had not started and never will: its completion has ended as [`DeviceError::Cancelled`], and what it
    /// held is given back.
    Removed,
    /// It runs, and its kernels were told to leave: it ends as [`DeviceError::Stopped`], or by itself if it
    /// sees that too late.
    Stopping,
    /// It has started, or the device cannot take back what it was given; it will end by itself.
    TooLate,
    /// It had ended, or is not of this queue.
    Ended,
}

/// Runs command buffers in order.
pub trait Queue: Send + Sync + fmt::Debug {
    /// Applies the rules that no earlier check of a command has ([`crate::command`]), and takes the command
    /// list over. After an error, none of it runs. Errors at run time arrive through the completion; later
    /// command buffers run all the same, as in Metal. Blocks only as [`WhenFull`] says; but see
    /// [`CommandList::may_run_inline`].
    fn submit(&self, submission: CommandList) -> Result<Completion, DeviceError>;

    /// Runs a command buffer on the calling thread, which waits for it, if that is what
    /// [`CommandList::may_run_inline`] would come to: the queue has nothing else to do and the work is
    /// expected to take less than handing it over. Only then are rules, errors, deadline and times those of
    /// [`Queue::submit`]; `None`: nothing was done, and it is to be submitted. There is no completion, so
    /// that it cannot be cancelled, and it is not among those in flight.
    fn run_inline(&self, _submission: &CommandList) -> Option<Outcome> {
        None
    }

    /// Takes a command buffer back if it has not started. Never blocks for long.
    fn cancel(&self, completion: &Completion) -> Cancellation;

    /// As [`Queue::cancel`], and a command buffer that has started is told to leave, as at its deadline. What
    /// its kernels wrote stays. A device that cannot stop work gives [`Cancellation::TooLate`].
    fn stop(&self, completion: &Completion) -> Cancellation {
        self.cancel(completion)
    }

    /// Command buffers that were submitted and are not done.
    fn in_flight(&self) -> usize;

    /// Its name; may be empty.
    fn label(&self) -> &str;
}

/// Admits a checked command buffer to a queue of a device: takes a place as [`QueueDescriptor::when_full`]
/// says, and notes the work on the buffers. The place is to be released when the work has ended. `assist` is
/// what waiting threads are lent to.
///
/// # Errors
/// [`DeviceError::QueueFull`], or [`DeviceError::BufferMapped`]; then no place is taken.
pub fn admit(
    submission: &CommandList,
    descriptor: &QueueDescriptor,
    space: &Semaphore,
    clock: &dyn Clock,
    assist: Option<Arc<dyn WaitAssist>>,
) -> Result<(CompletionSource, Completion), DeviceError> {
    let free = space.try_acquire()
        || match descriptor.when_full {
            WhenFull::Refuse => false,
            WhenFull::Wait(longest) => space.acquire_until(clock, clock.now().saturating_add(longest)),
        };
    if !free {
        return Err(DeviceError::QueueFull { limit: space.capacity() });
    }
    let source = CompletionSource::new(assist);
    let completion = source.completion();
    if let Err(mapped) = submission.note_submitted(&completion) {
        space.release();
        return Err(mapped);
    }
    Ok((source, completion))
}

/// Takes a command buffer out of those that have not started.
///
/// # Errors
/// It is not among them; what [`Queue::cancel`] then gives.
pub fn take_back<T>(
    pending: &mut VecDeque<T>,
    completion: &Completion,
    source: impl Fn(&T) -> &CompletionSource,
) -> Result<T, Cancellation> {
    let at = pending.iter().position(|item| source(item).is_for(completion));
    let removed = at.and_then(|at| pending.remove(at));
    removed.ok_or_else(|| if completion.is_done() { Cancellation::Ended } else { Cancellation::TooLate })
}

/// Refuses a priority that a device does not know.
pub fn check_priority(priority: Priority, limits: &Capabilities, device: &str) -> Result<(), DeviceError> {
    if priority == Priority::Normal || limits.supports_priorities {
        return Ok(());
    }
    Err(DeviceError::Unsupported {
        device: device.to_owned(),
        what: format!("queues of {priority:?} priority"),
        alternative: "use the normal priority".to_owned(),
    })
}
