//! Queues: command buffers in, completions out.
//!
//! Owns the [`Queue`] trait. Invariant: command buffers of one queue run one after the other in the order of
//! their submission, each sees what the ones before it wrote; queues run beside each other.

use std::fmt;
use std::time::Duration;

use crate::command::Submission;
use crate::completion::Completion;
use crate::error::DeviceError;

/// What queue to make.
#[derive(Debug, Clone)]
pub struct QueueDescriptor {
    /// A name for messages; may be empty.
    pub label: String,
    /// How many command buffers may be submitted and not done.
    pub max_in_flight: usize,
    /// What `submit` does when there are that many.
    pub when_full: WhenFull,
}

impl Default for QueueDescriptor {
    fn default() -> Self {
        QueueDescriptor { label: String::new(), max_in_flight: 1024, when_full: WhenFull::default() }
    }
}

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

/// Runs command buffers in order.
pub trait Queue: Send + Sync + fmt::Debug {
    /// Validates every command, then takes the whole command buffer over. An error means that nothing of it
    /// runs. Errors at run time arrive through the completion; later command buffers run all the same, as in
    /// Metal. Blocks only as [`WhenFull`] says.
    fn submit(&self, submission: Submission) -> Result<Completion, DeviceError>;

    /// Command buffers that were submitted and are not done.
    fn in_flight(&self) -> usize;

    /// Its name; may be empty.
    fn label(&self) -> &str;
}
