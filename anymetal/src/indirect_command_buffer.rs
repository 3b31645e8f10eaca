//! Indirect command buffers that kernels encode, in Metal's words.
//!
//! Owns [`IndirectCommandBuffer`], its descriptor, and [`IndirectCommand`], with which the host encodes the
//! same commands. Invariant: host and kernels write one representation
//! ([`anymetal_hal::encoded_commands`]), so either may set what the other left.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use anymetal_hal::command::Grid;
use anymetal_hal::encoded_commands::memory_layout::{
    Command, CommandGrid, CommandLayout, MAX_BINDINGS, MAX_COMMANDS,
};
use anymetal_hal::encoded_commands::{
    CommandMemory, EncodingError, ExecutionCounts, IndirectPipelines, InvalidCommand,
};
use anymetal_hal::error::DeviceError;
use anymetal_hal::pipeline::Pipeline as HalPipeline;
use bytemuck::Pod;

use crate::buffer::{Buffer, BufferSlice};
use crate::device::Device;
use crate::error::Error;
use crate::extent::Extent;
use crate::known_formats::KnownFormats;
use crate::pipeline::Pipeline;
use crate::pipeline_handles;

/// What indirect command buffer to make.
#[derive(Debug, Clone)]
#[must_use = "it makes nothing by itself"]
pub struct IndirectCommandBufferDescriptor {
    layout: CommandLayout,
    label: String,
}

impl IndirectCommandBufferDescriptor {
    /// So many commands, each with buffers at the indices below `buffers`.
    pub fn new(commands: u32, buffers: u32) -> Self {
        let layout = CommandLayout { capacity: commands, buffers, ..CommandLayout::default() };
        IndirectCommandBufferDescriptor { layout, label: String::new() }
    }

    /// Commands have threadgroup memory at the indices below this; by default at none.
    pub fn threadgroup_memories(mut self, count: u32) -> Self {
        self.layout.threadgroup_memories = count;
        self
    }

    /// Commands have the pipeline of the encoder that executes them.
    pub fn inherit_pipeline(mut self) -> Self {
        self.layout.inherits_pipeline = true;
        self
    }

    /// Commands have the buffers of the encoder that executes them.
    pub fn inherit_buffers(mut self) -> Self {
        self.layout.inherits_buffers = true;
        self
    }

    /// A name for messages.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }
}

/// Commands that kernels encode with `compute_command`, and that an encoder executes. Clones share them.
///
/// ```
/// # use anymetal::command::IndirectCommandBufferDescriptor;
/// # use anymetal::Device;
/// # fn main() -> Result<(), anymetal::Error> {
/// let source = "
///     #include <metal_stdlib>
///     using namespace metal;
///     struct Arguments { command_buffer commands; compute_pipeline_state fill; };
///     kernel void encode(constant Arguments& arguments [[buffer(0)]], device uint* out [[buffer(1)]],
///                        uint i [[thread_position_in_grid]]) {
///         compute_command command(arguments.commands, i);
///         command.reset();
///         command.set_compute_pipeline_state(arguments.fill);
///         command.set_kernel_buffer(out + 8 * i, 0);
///         command.concurrent_dispatch_threads(uint3(i + 1, 1, 1), uint3(8, 1, 1));
///     }
///     kernel void fill(device uint* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
///         out[i] = i + 1;
///     }";
/// let device = Device::system_default()?;
/// let library = device.library_from_source(source)?;
/// let (encode, fill) = (library.pipeline("encode")?, library.pipeline("fill")?);
/// let indirect = device.indirect_command_buffer(&IndirectCommandBufferDescriptor::new(4, 1))?;
/// let arguments = device.buffer(&[indirect.gpu_resource_id(), fill.gpu_resource_id()])?;
/// let out = device.buffer_zeroed::<u32>(32)?;
///
/// let mut commands = device.queue()?.command_buffer()?;
/// let mut encoder = commands.compute_encoder();
/// encoder.set_pipeline(&encode);
/// encoder.use_indirect_command_buffer(&indirect)?;
/// encoder.set_buffer(0, &arguments, 0)?;
/// encoder.set_buffer(1, &out, 0)?;
/// encoder.dispatch_threads(4, 4)?;
/// encoder.execute_commands(&indirect, 0..4)?;
/// encoder.end_encoding();
/// commands.commit()?.wait()?;
/// assert_eq!(out.read()?[16..24], [1, 2, 3, 0, 0, 0, 0, 0]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct IndirectCommandBuffer {
    memory: CommandMemory,
}

impl Device {
    /// An indirect command buffer for kernels and the host to encode; its commands do nothing yet.
    pub fn indirect_command_buffer(
        &self,
        descriptor: &IndirectCommandBufferDescriptor,
    ) -> Result<IndirectCommandBuffer, Error> {
        let memory = CommandMemory::new(&**self.hal(), descriptor.layout, &descriptor.label)?;
        Ok(IndirectCommandBuffer { memory })
    }
}

impl IndirectCommandBuffer {
    /// The most commands.
    pub const MAX_COMMANDS: u32 = MAX_COMMANDS;
    /// The most buffers, and the most threadgroup memories, of a command.
    pub const MAX_BINDINGS: u32 = MAX_BINDINGS;

    /// How many commands there are.
    pub fn size(&self) -> u32 {
        self.memory.layout().capacity
    }

    /// What stands for it in argument buffers, as `command_buffer`: Metal's `gpuResourceID`.
    pub fn gpu_resource_id(&self) -> u64 {
        self.memory.handle()
    }

    /// Makes commands do nothing, once submitted work is done with them.
    pub fn reset(&self, range: Range<u32>) -> Result<(), Error> {
        self.memory.buffer().wait_for_work(None)?;
        Ok(self.memory.reset(range.start.into()..range.end.into())?)
    }

    /// As a region of bytes: where commands are.
    pub(crate) fn region(&self, commands: Range<u32>) -> Result<BufferSlice, Error> {
        let commands = self.memory.check(commands.start.into()..commands.end.into())?;
        Ok(BufferSlice::of(Arc::clone(self.memory.buffer())).slice(self.memory.bytes_of(&commands))?)
    }

    /// A command, for the host to encode.
    pub fn command(&self, index: u32) -> Result<IndirectCommand<'_>, Error> {
        self.memory.check(index.into()..u64::from(index) + 1)?;
        Ok(IndirectCommand { buffer: self, index })
    }

    /// Refuses copies between commands of different layouts.
    pub(crate) fn check_alike(&self, other: &IndirectCommandBuffer) -> Result<(), Error> {
        let layout = |of: &IndirectCommandBuffer| CommandLayout { capacity: 0, ..*of.memory.layout() };
        if layout(self) == layout(other) {
            return Ok(());
        }
        Err(Error::Device(DeviceError::InvalidCommand {
            label: other.memory.buffer().label().to_owned(),
            command: 0,
            reason: Box::new(InvalidCommand::Encoding(EncodingError::CopyOfOtherLayout)),
        }))
    }

    pub(crate) fn memory(&self) -> &CommandMemory {
        &self.memory
    }
}

/// A command that the host encodes; it waits for work that uses the indirect command buffer.
#[derive(Debug)]
pub struct IndirectCommand<'a> {
    buffer: &'a IndirectCommandBuffer,
    index: u32,
}

impl IndirectCommand<'_> {
    /// Sets the pipeline.
    pub fn set_pipeline(&mut self, pipeline: &Pipeline) -> Result<&mut Self, Error> {
        let handle = pipeline.gpu_resource_id();
        self.change(|command| command.pipeline = handle)
    }

    /// Sets a buffer from an element on. The command buffer that executes the command must use it
    /// ([`crate::ComputeEncoder::use_buffer`]).
    pub fn set_buffer<T: Pod>(
        &mut self,
        index: u32,
        buffer: &Buffer<T>,
        first_element: usize,
    ) -> Result<&mut Self, Error> {
        self.set_region(index, &buffer.view(first_element..buffer.len())?.region())
    }

    /// As [`IndirectCommand::set_buffer`], from the start of a region to the end of its buffer.
    pub fn set_region(&mut self, index: u32, region: &BufferSlice) -> Result<&mut Self, Error> {
        let layout = self.buffer.memory.layout();
        if index >= layout.buffers {
            let (start, len) = (index as usize, layout.buffers as usize);
            return Err(Error::RangeOutsideBuffer { start, end: start + 1, len });
        }
        let address = region.buffer().device_address().unwrap_or(0) + region.offset();
        self.change(|command| command.buffers[index as usize] = address)
    }

    /// Sets the length in bytes of a threadgroup memory argument.
    pub fn set_threadgroup_memory_length(&mut self, index: u32, length: u32) -> Result<&mut Self, Error> {
        let layout = self.buffer.memory.layout();
        if index >= layout.threadgroup_memories {
            let (start, len) = (index as usize, layout.threadgroup_memories as usize);
            return Err(Error::RangeOutsideBuffer { start, end: start + 1, len });
        }
        self.change(|command| command.threadgroup_memory[index as usize] = length)
    }

    /// Runs over so many threads.
    pub fn dispatch_threads(
        &mut self,
        threads: impl Into<Extent>,
        group_size: impl Into<Extent>,
    ) -> Result<&mut Self, Error> {
        self.dispatch(CommandGrid::Threads(threads.into().to_array()?), group_size.into())
    }

    /// Runs over so many threadgroups.
    pub fn dispatch_threadgroups(
        &mut self,
        groups: impl Into<Extent>,
        group_size: impl Into<Extent>,
    ) -> Result<&mut Self, Error> {
        self.dispatch(CommandGrid::Threadgroups(groups.into().to_array()?), group_size.into())
    }

    fn dispatch(&mut self, grid: CommandGrid, group_size: Extent) -> Result<&mut Self, Error> {
        let group_size = group_size.to_array()?;
        self.change(|command| (command.grid, command.group_size) = (Some(grid), group_size))
    }

    fn change(&mut self, change: impl FnOnce(&mut Command)) -> Result<&mut Self, Error> {
        let memory = &self.buffer.memory;
        memory.buffer().wait_for_work(None)?;
        let mut command = memory.read(self.index)?;
        change(&mut command);
        memory.write(self.index, &command)?;
        Ok(self)
    }
}

/// What an execution of encoded commands did, once its command buffer has ended.
#[derive(Debug, Clone)]
pub struct ExecutedCommands {
    counts: Arc<ExecutionCounts>,
}

impl ExecutedCommands {
    pub(crate) fn new(counts: Arc<ExecutionCounts>) -> Self {
        ExecutedCommands { counts }
    }

    /// How many ranges of commands were executed: how deep commands were nested.
    pub fn depth(&self) -> u32 {
        self.counts.depth()
    }

    /// How many launches their commands were.
    pub fn launches(&self) -> u64 {
        self.counts.launches()
    }

    /// How long it took, with reading and checking the commands. A GPU may still run the last ones.
    pub fn time(&self) -> Duration {
        self.counts.time()
    }
}

/// The pipelines of this process that have handles.
#[derive(Debug)]
pub(crate) struct RegisteredPipelines;

impl IndirectPipelines for RegisteredPipelines {
    fn pipeline(
        &self,
        handle: u64,
        grid: Grid,
        group_size: [u32; 3],
    ) -> Result<Option<Arc<dyn HalPipeline>>, DeviceError> {
        let Some(pipeline) = pipeline_handles::find(handle) else { return Ok(None) };
        let found = pipeline.for_launch(grid, group_size, &KnownFormats::default());
        found.map(Some).map_err(|error| match error {
            Error::Device(error) => error,
            other => {
                DeviceError::UnloadableCode { kernel: pipeline.name().to_owned(), reason: other.to_string() }
            }
        })
    }
}
