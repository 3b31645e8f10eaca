//! Command buffers and encoders, in Metal's words.
//!
//! Owns [`CommandBuffer`], [`ComputeEncoder`] and [`BlitEncoder`]. Invariant, kept by the types: an encoder
//! borrows its command buffer, so there is one at a time and none after commit; a command buffer is committed
//! at most once. Bindings of a compute encoder stay for later dispatches, as in Metal.

use std::time::Duration;

use anymetal_hal::artifact::ArgumentKind;
use anymetal_hal::blit;
use anymetal_hal::command::{
    Binding, BoundResource, Deadline, Dispatch, Grid, ThreadgroupMemory, Timestamps,
};
use anymetal_hal::error::DeviceError;
use anymetal_runtime::event::Event;
use anymetal_runtime::submission::argument::{Argument, ArgumentTarget};
use anymetal_runtime::submission::command_buffer;
use anymetal_runtime::submission::compute_encoder::{self, NoPipeline};
use bytemuck::Pod;

use crate::buffer::{Buffer, BufferView};
use crate::error::Error;
use crate::extent::Extent;
use crate::pipeline::Pipeline;
use crate::submission::{Outcome, Submission, told};

/// Commands that run together, in order. Dropping it without a commit runs nothing.
#[derive(Debug)]
pub struct CommandBuffer {
    inner: command_buffer::CommandBuffer,
}

impl CommandBuffer {
    pub(crate) fn new(inner: command_buffer::CommandBuffer) -> Self {
        CommandBuffer { inner }
    }

    pub(crate) fn into_inner(self) -> command_buffer::CommandBuffer {
        self.inner
    }

    /// A name for messages.
    pub fn label(self, label: impl Into<String>) -> Self {
        CommandBuffer { inner: self.inner.label(label) }
    }

    /// Stops it when it has run that long.
    pub fn deadline(self, after: Duration) -> Self {
        CommandBuffer { inner: self.inner.deadline(Deadline::After(after)) }
    }

    /// What to measure.
    pub fn timestamps(self, timestamps: Timestamps) -> Self {
        CommandBuffer { inner: self.inner.timestamps(timestamps) }
    }

    /// Runs it only after other work, of any queue and device, has ended well.
    pub fn after(self, other: &Submission) -> Self {
        CommandBuffer { inner: self.inner.after(other.inner()) }
    }

    /// Calls back when it has ended, on the thread that ended it, which may be the one that commits: the callback
    /// must take no lock that is held across a commit, be short, and not wait.
    pub fn on_done(self, callback: impl FnOnce(&Outcome) + Send + 'static) -> Self {
        CommandBuffer { inner: self.inner.on_done(|outcome| callback(&told(outcome.clone()))) }
    }

    /// Starts encoding dispatches.
    pub fn compute_encoder(&mut self) -> ComputeEncoder<'_> {
        ComputeEncoder {
            inner: self.inner.compute(),
            pipeline: None,
            slots: Vec::new(),
            threadgroup_memory: Vec::new(),
        }
    }

    /// Starts encoding copies and fills.
    pub fn blit_encoder(&mut self) -> BlitEncoder<'_> {
        BlitEncoder { inner: self.inner.blit() }
    }

    /// What follows waits, without a thread, until the event reaches the value.
    pub fn wait_event(&mut self, event: &Event, value: u64) -> Result<(), Error> {
        Ok(self.inner.wait_event(event, value)?)
    }

    /// Raises the event once everything before is done.
    pub fn signal_event(&mut self, event: &Event, value: u64) -> Result<(), Error> {
        Ok(self.inner.signal_event(event, value)?)
    }

    /// Hands the commands over.
    pub fn commit(self) -> Result<Submission, Error> {
        Submission::accepted(self.inner.commit())
    }
}

/// Encodes dispatches. Dropping it ends the encoding.
pub struct ComputeEncoder<'a> {
    inner: compute_encoder::ComputeEncoder<'a, NoPipeline>,
    pipeline: Option<Pipeline>,
    slots: Vec<(u32, Box<dyn Argument + 'a>)>,
    threadgroup_memory: Vec<ThreadgroupMemory>,
}

impl std::fmt::Debug for ComputeEncoder<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ComputeEncoder").field("pipeline", &self.pipeline).finish_non_exhaustive()
    }
}

impl<'a> ComputeEncoder<'a> {
    /// The kernel of the following dispatches.
    pub fn set_pipeline(&mut self, pipeline: &Pipeline) {
        self.pipeline = Some(pipeline.clone());
    }

    /// Binds a buffer from an element on.
    pub fn set_buffer<T: Pod>(
        &mut self,
        index: u32,
        buffer: &Buffer<T>,
        first_element: usize,
    ) -> Result<(), Error> {
        let view = buffer.view(first_element..buffer.len())?;
        self.set_argument(index, view);
        Ok(())
    }

    /// Binds a view.
    pub fn set_view<T: Pod>(&mut self, index: u32, view: &BufferView<T>) {
        self.set_argument(index, view.clone());
    }

    /// Copies a plain value into the command buffer, as Metal's `setBytes`.
    pub fn set_bytes<T: Pod>(&mut self, index: u32, value: &T) {
        self.set_argument(index, OwnedBytes(bytemuck::bytes_of(value).to_vec()));
    }

    /// Binds anything that a launch takes too; scalars are converted to what the kernel declares.
    pub fn set_argument(&mut self, index: u32, argument: impl Argument + 'a) {
        self.slots.retain(|(known, _)| *known != index);
        self.slots.push((index, Box::new(argument)));
    }

    /// The length of a threadgroup memory argument.
    pub fn set_threadgroup_memory_length(&mut self, index: u32, length: u64) {
        self.threadgroup_memory.retain(|known| known.index != index);
        self.threadgroup_memory.push(ThreadgroupMemory { index, length });
    }

    /// Metal's `dispatchThreads`.
    pub fn dispatch_threads(
        &mut self,
        threads: impl Into<Extent>,
        group_size: impl Into<Extent>,
    ) -> Result<(), Error> {
        self.dispatch(Grid::Threads(threads.into().to_array()?), group_size.into())
    }

    /// Metal's `dispatchThreadgroups`.
    pub fn dispatch_threadgroups(
        &mut self,
        groups: impl Into<Extent>,
        group_size: impl Into<Extent>,
    ) -> Result<(), Error> {
        self.dispatch(Grid::Threadgroups(groups.into().to_array()?), group_size.into())
    }

    /// Ends the encoding; so does dropping the encoder.
    pub fn end_encoding(self) {}

    fn dispatch(&mut self, grid: Grid, group_size: Extent) -> Result<(), Error> {
        let pipeline = self.pipeline.clone().ok_or(Error::NoPipeline)?;
        let group_size = group_size.to_array()?;
        let mut bindings = Vec::new();
        // What is bound and not used by this kernel stays for a later one.
        for argument in pipeline.buffer_arguments() {
            let (_, value) =
                self.slots.iter().find(|(index, _)| *index == argument.index).ok_or_else(|| {
                    let (kernel, name) = (pipeline.name().to_owned(), argument.name.clone());
                    Error::Device(DeviceError::MissingArgument { kernel, index: argument.index, name })
                })?;
            let resource = value.bind(ArgumentTarget { kernel: pipeline.name(), argument })?;
            bindings.push(Binding { index: argument.index, resource });
        }
        let used = |memory: &&ThreadgroupMemory| {
            pipeline.kernel().argument(ArgumentKind::ThreadgroupMemory, memory.index).is_some()
        };
        let threadgroup_memory = self.threadgroup_memory.iter().filter(used).copied().collect();
        let pipeline = pipeline.for_launch(grid, group_size)?;
        self.inner.encode(Dispatch { pipeline, bindings, threadgroup_memory, grid, group_size })?;
        Ok(())
    }
}

/// Bytes kept for later dispatches.
struct OwnedBytes(Vec<u8>);

impl Argument for OwnedBytes {
    fn bind(&self, _target: ArgumentTarget<'_>) -> Result<BoundResource, DeviceError> {
        Ok(BoundResource::Bytes(self.0.clone()))
    }
}

/// Encodes copies and fills. Dropping it ends the encoding.
#[derive(Debug)]
pub struct BlitEncoder<'a> {
    inner: blit::BlitEncoder<'a>,
}

impl BlitEncoder<'_> {
    /// Copies a view's elements to the start of another of the same length.
    pub fn copy<T: Pod>(&mut self, source: &BufferView<T>, destination: &BufferView<T>) -> Result<(), Error> {
        if source.len() != destination.len() {
            let (start, end, len) = (0, source.len(), destination.len());
            return Err(Error::RangeOutsideBuffer { start, end, len });
        }
        let (from, to) = (source.region(), destination.region());
        let range = from.offset()..from.offset() + from.length();
        self.inner.copy(from.buffer(), range, to.buffer(), to.offset())?;
        Ok(())
    }

    /// Sets every byte of a view.
    pub fn fill<T: Pod>(&mut self, view: &BufferView<T>, value: u8) -> Result<(), Error> {
        let region = view.region();
        self.inner.fill(region.buffer(), region.offset()..region.offset() + region.length(), value)?;
        Ok(())
    }

    /// Ends the encoding; so does dropping the encoder.
    pub fn end_encoding(self) {}
}
