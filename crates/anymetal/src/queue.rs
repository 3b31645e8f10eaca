//! Queues, and what comes back from them.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use anymetal_hal::completion::{Completion, Timing};
use anymetal_hal::queue::Queue as HalQueue;

use crate::command_buffer::CommandBuffer;
use crate::error::Error;
use crate::launch::Launch;
use crate::pipeline::Pipeline;

/// Runs work in the order of its submission. Clones are the same queue.
#[derive(Debug, Clone)]
pub struct Queue {
    inner: Arc<dyn HalQueue>,
}

impl Queue {
    pub(crate) fn new(inner: Arc<dyn HalQueue>) -> Self {
        Queue { inner }
    }

    /// Starts a launch of one kernel.
    pub fn launch<'a>(&'a self, pipeline: &'a Pipeline) -> Launch<'a> {
        Launch::new(self, pipeline)
    }

    /// Starts a command buffer of several commands.
    pub fn command_buffer(&self) -> CommandBuffer {
        CommandBuffer::new(self.clone())
    }

    /// Command buffers that were submitted and are not done.
    pub fn in_flight(&self) -> usize {
        self.inner.in_flight()
    }

    /// The queue below.
    pub fn hal(&self) -> &Arc<dyn HalQueue> {
        &self.inner
    }
}

/// Submitted work: wait for it, or await it. Dropping it changes nothing about the work.
#[derive(Debug, Clone)]
#[must_use = "errors of the work are told here only"]
pub struct Submitted {
    completion: Completion,
}

impl Submitted {
    pub(crate) fn new(completion: Completion) -> Self {
        Submitted { completion }
    }

    /// Blocks until the work is done.
    pub fn wait(&self) -> Result<Timing, Error> {
        Ok(self.completion.wait()?)
    }

    /// Blocks until the work is done, at most that long; `None` if the time is over.
    pub fn wait_timeout(&self, timeout: Duration) -> Option<Result<Timing, Error>> {
        self.completion.wait_timeout(timeout).map(|outcome| outcome.map_err(Error::from))
    }

    /// Metal's `waitUntilCompleted`.
    pub fn wait_until_completed(&self) -> Result<Timing, Error> {
        self.wait()
    }

    /// Whether the work is done.
    pub fn is_done(&self) -> bool {
        self.completion.is_done()
    }
}

impl Future for Submitted {
    type Output = Result<Timing, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.completion).poll(context).map(|outcome| outcome.map_err(Error::from))
    }
}
