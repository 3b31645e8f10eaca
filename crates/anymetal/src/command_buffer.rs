//! Command buffers and encoders, in Metal's words.
//!
//! Owns [`CommandBuffer`], [`ComputeEncoder`] and [`BlitEncoder`]. Invariant, kept by the types: an encoder
//! borrows its command buffer, so there is one at a time and none after commit; a command buffer is committed
//! at most once. Bindings of a compute encoder stay for later dispatches, as in Metal.

use std::time::Duration;

use anymetal_hal::artifact::ArgumentKind;
use anymetal_hal::buffer::Buffer as HalBuffer;
use anymetal_hal::command::{
    Binding, BoundResource, BufferCopy, BufferFill, Command, Deadline, Dispatch, Grid, Submission,
    ThreadgroupMemory,
};
use anymetal_hal::error::DeviceError;
use bytemuck::Pod;

use crate::argument::{Argument, ArgumentTarget};
use crate::buffer::{Buffer, BufferView};
use crate::error::Error;
use crate::extent::Extent;
use crate::pipeline::Pipeline;
use crate::queue::{Queue, Submitted};

/// Commands that run together, in order.
#[derive(Debug)]
pub struct CommandBuffer {
    queue: Queue,
    submission: Submission,
}

impl CommandBuffer {
    pub(crate) fn new(queue: Queue) -> Self {
        CommandBuffer { queue, submission: Submission::default() }
    }

    /// Names it for messages.
    pub fn set_label(&mut self, label: impl Into<String>) {
        self.submission.label = label.into();
    }

    /// Stops it when it has run that long.
    pub fn set_deadline(&mut self, after: Duration) {
        self.submission.deadline = Deadline::After(after);
    }

    /// Starts encoding dispatches.
    pub fn compute_encoder(&mut self) -> ComputeEncoder<'_> {
        ComputeEncoder {
            commands: &mut self.submission.commands,
            pipeline: None,
            slots: Vec::new(),
            threadgroup_memory: Vec::new(),
        }
    }

    /// Starts encoding copies and fills.
    pub fn blit_encoder(&mut self) -> BlitEncoder<'_> {
        BlitEncoder { commands: &mut self.submission.commands }
    }

    /// Checks the commands and hands them over.
    pub fn commit(self) -> Result<Submitted, Error> {
        Ok(Submitted::new(self.queue.hal().submit(self.submission)?))
    }
}

/// Encodes dispatches. Dropping it ends the encoding.
pub struct ComputeEncoder<'a> {
    commands: &'a mut Vec<Command>,
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
        self.commands.push(Command::Dispatch(Dispatch {
            pipeline: pipeline.for_launch(grid, group_size)?,
            bindings,
            threadgroup_memory,
            grid,
            group_size,
        }));
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
    commands: &'a mut Vec<Command>,
}

impl BlitEncoder<'_> {
    /// Copies a view's elements to the start of another of the same length.
    pub fn copy<T: Pod>(&mut self, source: &BufferView<T>, destination: &BufferView<T>) -> Result<(), Error> {
        if source.len() != destination.len() {
            let (start, end, len) = (0, source.len(), destination.len());
            return Err(Error::RangeOutsideBuffer { start, end, len });
        }
        self.commands.push(Command::Copy(BufferCopy {
            source: source.buffer().hal().clone(),
            source_offset: source.byte_offset(),
            destination: destination.buffer().hal().clone(),
            destination_offset: destination.byte_offset(),
            length: source.byte_length(),
        }));
        Ok(())
    }

    /// Sets every byte of a view.
    pub fn fill<T: Pod>(&mut self, view: &BufferView<T>, value: u8) {
        self.commands.push(Command::Fill(BufferFill {
            buffer: std::sync::Arc::<dyn HalBuffer>::clone(view.buffer().hal()),
            offset: view.byte_offset(),
            length: view.byte_length(),
            value,
        }));
    }

    /// Ends the encoding; so does dropping the encoder.
    pub fn end_encoding(self) {}
}
