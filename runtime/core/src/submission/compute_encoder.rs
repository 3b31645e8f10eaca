//! The compute encoder: a pipeline, its arguments, dispatches.
//!
//! Owns [`ComputeEncoder`], a typestate: arguments and dispatches exist only once a pipeline is set.
//! Invariant: a wrong index, type or size, a missing argument and a grid beyond the limits are errors of the
//! call that makes them; a refused dispatch is not encoded.
//!
//! ```compile_fail,E0599
//! # fn example(stream: &anymetal_core::stream::Stream) {
//! let mut command_buffer = stream.command_buffer().unwrap();
//! command_buffer.compute().dispatch_threads([64, 1, 1], [32, 1, 1]);
//! # }
//! ```

use std::ops::Range;
use std::sync::Arc;

use anymetal_hal::artifact::ArgumentKind;
use anymetal_hal::buffer::Buffer;
use anymetal_hal::capabilities::Capabilities;
use anymetal_hal::command::{
    Binding, BoundResource, Command, Dispatch, Grid, IndirectDispatch, ResidentBuffer, ResourceUsage,
    ThreadgroupMemory,
};
use anymetal_hal::encoded_commands::EncodedExecution;
use anymetal_hal::error::DeviceError;
use anymetal_hal::fence::Fence;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::validate;

use crate::submission::argument::{Argument, ArgumentTarget};

/// No pipeline is set.
#[derive(Debug)]
pub struct NoPipeline(());

/// A pipeline is set.
#[derive(Debug)]
pub struct WithPipeline(Arc<dyn Pipeline>);

/// Encodes dispatches into a command buffer; dropping it ends the encoding.
#[derive(Debug)]
pub struct ComputeEncoder<'a, P> {
    commands: &'a mut Vec<Command>,
    resident: &'a mut Vec<ResidentBuffer>,
    limits: &'a Capabilities,
    bindings: Vec<Binding>,
    threadgroup_memory: Vec<ThreadgroupMemory>,
    pipeline: P,
}

impl<'a> ComputeEncoder<'a, NoPipeline> {
    pub(crate) fn new(
        commands: &'a mut Vec<Command>,
        resident: &'a mut Vec<ResidentBuffer>,
        limits: &'a Capabilities,
    ) -> Self {
        let (bindings, threadgroup_memory) = (Vec::new(), Vec::new());
        ComputeEncoder { commands, resident, limits, bindings, threadgroup_memory, pipeline: NoPipeline(()) }
    }
}

impl<'a, P> ComputeEncoder<'a, P> {
    /// Sets the kernel. As in Metal, what is bound stays bound; what the new kernel has no argument for goes.
    pub fn pipeline(self, pipeline: &Arc<dyn Pipeline>) -> ComputeEncoder<'a, WithPipeline> {
        let ComputeEncoder { commands, resident, limits, mut bindings, mut threadgroup_memory, .. } = self;
        let kernel = pipeline.kernel();
        let has = |kind, index| kernel.argument(kind, index).is_some();
        bindings.retain(|binding| has(ArgumentKind::Buffer, binding.index));
        threadgroup_memory.retain(|memory| has(ArgumentKind::ThreadgroupMemory, memory.index));
        let pipeline = WithPipeline(Arc::clone(pipeline));
        ComputeEncoder { commands, resident, limits, bindings, threadgroup_memory, pipeline }
    }

    /// Makes a buffer reachable for kernels of the command buffer that find its address in memory, Metal's
    /// `useResource`. What is bound is reachable anyway.
    pub fn use_resource(&mut self, buffer: &Arc<dyn Buffer>, usage: ResourceUsage) -> &mut Self {
        self.resident.push(ResidentBuffer { buffer: Arc::clone(buffer), usage });
        self
    }

    /// Encodes a dispatch that brings its own pipeline and arguments; what is set on the encoder stays for
    /// others.
    pub fn encode(&mut self, dispatch: Dispatch) -> Result<&mut Self, DeviceError> {
        let kernel = dispatch.pipeline.kernel();
        validate::dispatch_shape(kernel, dispatch.grid, dispatch.group_size, self.limits)?;
        validate::check_encoded_bindings(kernel, &dispatch.bindings, self.limits)?;
        validate::threadgroup_layout(kernel, &dispatch.threadgroup_memory, self.limits)?;
        self.commands.push(Command::Dispatch(dispatch));
        Ok(self)
    }

    /// Encodes an indirect dispatch that brings its own pipeline and arguments; what is set on the encoder
    /// stays for others.
    pub fn encode_indirect(&mut self, dispatch: IndirectDispatch) -> Result<&mut Self, DeviceError> {
        let kernel = dispatch.pipeline.kernel();
        validate::check_counts(kernel, dispatch.counts_offset, dispatch.counts.length())?;
        validate::indirect_shape(kernel, [1; 3], dispatch.group_size, self.limits)?;
        validate::check_encoded_bindings(kernel, &dispatch.bindings, self.limits)?;
        validate::threadgroup_layout(kernel, &dispatch.threadgroup_memory, self.limits)?;
        self.commands.push(Command::DispatchIndirect(dispatch));
        Ok(self)
    }

    /// Encodes an execution of commands that kernels encode.
    pub fn execute_encoded(&mut self, execution: EncodedExecution) -> Result<&mut Self, DeviceError> {
        execution.check()?;
        self.commands.push(Command::ExecuteEncoded(Box::new(execution)));
        Ok(self)
    }

    /// Updates a fence once everything before is done.
    pub fn update_fence(&mut self, fence: &Arc<dyn Fence>) -> &mut Self {
        self.commands.push(Command::UpdateFence(Arc::clone(fence)));
        self
    }

    /// Goes on once the last update of the fence before here is done.
    pub fn wait_for_fence(&mut self, fence: &Arc<dyn Fence>) -> &mut Self {
        self.commands.push(Command::WaitFence(Arc::clone(fence)));
        self
    }

    /// Ends the encoding; so does dropping the encoder.
    pub fn end_encoding(self) {}
}

impl ComputeEncoder<'_, WithPipeline> {
    /// Binds a whole buffer.
    pub fn buffer(&mut self, index: u32, buffer: &Arc<dyn Buffer>) -> Result<&mut Self, DeviceError> {
        let buffer = Arc::clone(buffer);
        self.bind(index, BoundResource::Buffer { buffer, offset: 0, length: None })
    }

    /// Binds a range of bytes of a buffer; the kernel sees nothing outside it.
    pub fn buffer_range(
        &mut self,
        index: u32,
        buffer: &Arc<dyn Buffer>,
        range: Range<u64>,
    ) -> Result<&mut Self, DeviceError> {
        let length = Some(validate::range_length(&range, buffer.length())?);
        let buffer = Arc::clone(buffer);
        self.bind(index, BoundResource::Buffer { buffer, offset: range.start, length })
    }

    /// Binds anything that can be an argument; scalars are converted to what the kernel declares.
    pub fn argument(&mut self, index: u32, argument: impl Argument) -> Result<&mut Self, DeviceError> {
        let kernel = self.pipeline.0.kernel();
        let declared = kernel.argument(ArgumentKind::Buffer, index);
        let declared = declared.ok_or_else(|| validate::surplus(kernel, ArgumentKind::Buffer, index))?;
        let resource = argument.bind(ArgumentTarget { kernel: &kernel.name, argument: declared })?;
        self.bind(index, resource)
    }

    /// Gives a threadgroup memory argument its length in bytes.
    pub fn threadgroup_memory(&mut self, index: u32, length: u64) -> Result<&mut Self, DeviceError> {
        let kernel = self.pipeline.0.kernel();
        if kernel.argument(ArgumentKind::ThreadgroupMemory, index).is_none() {
            return Err(validate::surplus(kernel, ArgumentKind::ThreadgroupMemory, index));
        }
        self.threadgroup_memory.retain(|memory| memory.index != index);
        self.threadgroup_memory.push(ThreadgroupMemory { index, length });
        Ok(self)
    }

    /// Runs the kernel over so many threads.
    pub fn dispatch_threads(
        &mut self,
        threads: [u32; 3],
        group_size: [u32; 3],
    ) -> Result<&mut Self, DeviceError> {
        self.dispatch(Grid::Threads(threads), group_size)
    }

    /// Runs the kernel over so many full threadgroups.
    pub fn dispatch_threadgroups(
        &mut self,
        groups: [u32; 3],
        group_size: [u32; 3],
    ) -> Result<&mut Self, DeviceError> {
        self.dispatch(Grid::Threadgroups(groups), group_size)
    }

    /// Runs the kernel over as many full threadgroups as three 32-bit counts in a buffer say when its turn
    /// comes.
    pub fn dispatch_indirect(
        &mut self,
        counts: &Arc<dyn Buffer>,
        counts_offset: u64,
        group_size: [u32; 3],
    ) -> Result<&mut Self, DeviceError> {
        let dispatch = IndirectDispatch {
            pipeline: Arc::clone(&self.pipeline.0),
            bindings: self.bindings.clone(),
            threadgroup_memory: self.threadgroup_memory.clone(),
            counts: Arc::clone(counts),
            counts_offset,
            group_size,
        };
        self.encode_indirect(dispatch)
    }

    /// Runs the kernel over so many full threadgroups, all in progress at once, so that they can meet at
    /// barriers of the grid.
    pub fn dispatch_cooperative(
        &mut self,
        groups: [u32; 3],
        group_size: [u32; 3],
    ) -> Result<&mut Self, DeviceError> {
        self.dispatch_as(Grid::Threadgroups(groups), group_size, true)
    }

    fn dispatch(&mut self, grid: Grid, group_size: [u32; 3]) -> Result<&mut Self, DeviceError> {
        self.dispatch_as(grid, group_size, false)
    }

    fn dispatch_as(
        &mut self,
        grid: Grid,
        group_size: [u32; 3],
        cooperative: bool,
    ) -> Result<&mut Self, DeviceError> {
        let dispatch = Dispatch {
            pipeline: Arc::clone(&self.pipeline.0),
            bindings: self.bindings.clone(),
            threadgroup_memory: self.threadgroup_memory.clone(),
            grid,
            group_size,
            cooperative,
        };
        self.encode(dispatch)
    }

    fn bind(&mut self, index: u32, resource: BoundResource) -> Result<&mut Self, DeviceError> {
        let kernel = self.pipeline.0.kernel();
        if kernel.argument(ArgumentKind::Buffer, index).is_none() {
            return Err(validate::surplus(kernel, ArgumentKind::Buffer, index));
        }
        self.bindings.retain(|binding| binding.index != index);
        self.bindings.push(Binding { index, resource });
        Ok(self)
    }
}
