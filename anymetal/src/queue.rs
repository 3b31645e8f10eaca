//! Queues: where work goes, in order.
//!
//! Owns [`Queue`], Metal's command queue with what other systems call a stream, and [`QueueGroup`], several
//! of them. Both are thin: the runtime below does the work, with this crate's typed buffers and pipelines on
//! top.

use std::future::Future;
use std::time::Duration;

use anymetal_core::stream::Stream;
use anymetal_core::stream::group::StreamGroup;
use anymetal_hal::command::Deadline;

use crate::command_buffer::CommandBuffer;
use crate::device::Device;
use crate::error::Error;
use crate::executable::Executable;
use crate::launch::Launch;
use crate::pipeline::Pipeline;
use crate::submission::Submission;
use crate::tuning::Tuning;

/// Runs work in the order of its submission. Clones are the same queue.
#[derive(Debug, Clone)]
pub struct Queue {
    device: Device,
    stream: Stream,
}

impl Queue {
    pub(crate) fn new(device: Device, stream: Stream) -> Self {
        Queue { device, stream }
    }

    /// The device that it is of.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Starts a launch of one kernel.
    pub fn launch<'a>(&'a self, pipeline: &'a Pipeline) -> Launch<'a> {
        Launch::new(self, pipeline)
    }

    /// Starts a search for the threadgroup size with which a launch of the kernel is fastest
    /// ([`crate::tuning`]).
    pub fn tune<'a>(&'a self, pipeline: &'a Pipeline) -> Tuning<'a> {
        Tuning::new(self, pipeline)
    }

    /// Starts a command buffer of several commands. If the queue has as many as it may, this waits or refuses
    /// as its options say; a tenant whose quota is used up is refused at once.
    pub fn command_buffer(&self) -> Result<CommandBuffer, Error> {
        Ok(CommandBuffer::new(self.stream.command_buffer()?))
    }

    /// As [`Queue::command_buffer`], but awaits its turn instead of blocking the thread.
    pub async fn command_buffer_async(&self) -> Result<CommandBuffer, Error> {
        Ok(CommandBuffer::new(self.stream.command_buffer_async().await?))
    }

    /// Submits a whole graph as one command buffer and does not wait. Refused for graphs with host nodes.
    pub fn submit_graph(&self, graph: &Executable) -> Result<Submission, Error> {
        Submission::accepted(graph.inner().submit_to(&self.stream)?)
    }

    /// As [`Queue::submit_graph`], with a limit for the time that the device takes for all of the graph, or
    /// [`Deadline::Never`]; a graph that is not done by then ends with
    /// [`crate::error::DeviceError::DeadlineExceeded`].
    pub fn submit_graph_within(
        &self,
        graph: &Executable,
        limit: impl Into<Deadline>,
    ) -> Result<Submission, Error> {
        Submission::accepted(graph.inner().submit_within(&self.stream, limit.into())?)
    }

    /// As [`QueueGroup::submit_graph`], over queues that are no group, after other work has ended well.
    pub fn submit_graph_over(
        queues: &[&Queue],
        graph: &Executable,
        after: &[Submission],
    ) -> Result<Submission, Error> {
        let streams: Vec<&Stream> = queues.iter().map(|queue| &queue.stream).collect();
        let after: Vec<_> = after.iter().map(|other| other.inner().clone()).collect();
        Submission::accepted(graph.inner().submit_over(&streams, &after)?)
    }

    /// Runs a whole graph, host nodes included, and waits for its end; gives the time that the device was at
    /// it.
    pub fn run_graph(&self, graph: &Executable) -> Result<Duration, Error> {
        Ok(graph.inner().run_on(&self.stream)?)
    }

    /// Hands nothing more to the device until [`Queue::resume`]. What the device has goes on.
    pub fn pause(&self) {
        self.stream.pause();
    }

    /// Ends a pause.
    pub fn resume(&self) {
        self.stream.resume();
    }

    /// Blocks until everything submitted has ended. Refuses if the queue is paused and work waits in it.
    pub fn drain(&self) -> Result<(), Error> {
        Ok(self.stream.drain()?)
    }

    /// A future that is ready when everything submitted has ended.
    pub fn drained(&self) -> impl Future<Output = ()> + Send + '_ {
        self.stream.drained()
    }

    /// Cancels everything that the device has not started; says how many.
    pub fn cancel_waiting(&self) -> usize {
        self.stream.cancel_waiting()
    }

    /// Command buffers that were submitted and are not done.
    pub fn in_flight(&self) -> usize {
        self.stream.load()
    }

    /// Its name; may be empty.
    pub fn label(&self) -> &str {
        self.stream.label()
    }

    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }
}

/// Several queues of one device: work goes where least waits, and graphs over all of them.
#[derive(Debug)]
pub struct QueueGroup {
    device: Device,
    group: StreamGroup,
}

impl QueueGroup {
    pub(crate) fn new(device: Device, group: StreamGroup) -> Self {
        QueueGroup { device, group }
    }

    /// How many they are.
    pub fn len(&self) -> usize {
        self.group.streams().len()
    }

    /// A group has at least one queue.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// One of them, counted round.
    pub fn queue(&self, number: usize) -> Queue {
        Queue::new(self.device.clone(), self.group.streams()[number % self.len()].clone())
    }

    /// The queue with the fewest submissions that have not ended; of several, each in its turn.
    pub fn least_loaded(&self) -> Queue {
        Queue::new(self.device.clone(), self.group.least_loaded().clone())
    }

    /// Submits a graph over all of them and does not wait: what nothing orders may run at the same time. What
    /// it gives ends when all of the graph has. Refused for graphs with host nodes.
    pub fn submit_graph(&self, graph: &Executable) -> Result<Submission, Error> {
        let streams: Vec<&Stream> = self.group.streams().iter().collect();
        Submission::accepted(graph.inner().submit_over(&streams, &[])?)
    }

    /// Pauses all of them.
    pub fn pause(&self) {
        self.group.pause();
    }

    /// Resumes all of them.
    pub fn resume(&self) {
        self.group.resume();
    }

    /// Blocks until everything submitted to any of them has ended.
    pub fn drain(&self) -> Result<(), Error> {
        Ok(self.group.drain()?)
    }
}
