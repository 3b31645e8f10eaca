//! The compute encoder, in Metal's words: a pipeline, its arguments, dispatches.
//!
//! Owns [`ComputeEncoder`]. Invariant: arguments stay bound for later dispatches, as in Metal, and are
//! converted by the signature of each kernel that is dispatched with them; a refused dispatch is not encoded.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use anymetal_core::submission::argument::{Argument, ArgumentTarget};
use anymetal_core::submission::command_buffer as runtime;
use anymetal_hal::artifact::{ArgumentInfo, ArgumentKind};
use anymetal_hal::buffer::Buffer as HalBuffer;
use anymetal_hal::command::{Binding, BoundResource, Grid, ResourceUsage, ThreadgroupMemory};
use anymetal_hal::encoded_commands::{
    CommandMemory, EncodedExecution, ExecutedRange, INDIRECT_RANGE_BYTES, Repeat, check_encodes,
    encoded_bindings,
};
use anymetal_hal::error::DeviceError;
use anymetal_hal::stage_input::StageInRegion;
use anymetal_types::texture::{BindingRole, SamplerDescriptor};
use bytemuck::Pod;

use crate::buffer::{Buffer, BufferSlice, BufferView};
use crate::call::KernelCall;
use crate::error::Error;
use crate::extent::Extent;
use crate::fence::Fence;
use crate::heap::Heap;
use crate::indirect_command_buffer::{ExecutedCommands, IndirectCommandBuffer, RegisteredPipelines};
use crate::pipeline::Pipeline;
use crate::texture::Texture;

/// Encodes dispatches into a command buffer. Dropping it ends the encoding.
///
/// ```
/// # fn main() -> Result<(), anymetal::Error> {
/// let device = anymetal::Device::system_default()?;
/// let source = "kernel void add(device const uint* x, device uint* y, constant uint& k,
///                               uint i [[thread_position_in_grid]]) { y[i] = x[i] + k; }";
/// let add = device.library_from_source(source)?.pipeline("add")?;
/// let (x, y) = (device.buffer(&[1u32; 64])?, device.buffer_zeroed::<u32>(64)?);
/// let mut commands = device.queue()?.command_buffer()?;
/// let mut encoder = commands.compute_encoder();
/// encoder.set_pipeline(&add);
/// encoder.set_buffer(0, &x, 0)?;
/// encoder.set_argument_named("y", &y)?;
/// encoder.set_argument_named("k", 41)?; // converted to what the kernel declares
/// encoder.dispatch_threads(64, 32)?;
/// encoder.end_encoding();
/// commands.commit()?.wait()?;
/// assert_eq!(y.read()?, [42; 64]);
/// # Ok(())
/// # }
/// ```
///
/// A dispatch without a pipeline is [`Error::NoPipeline`].
pub struct ComputeEncoder<'a> {
    inner: &'a mut runtime::CommandBuffer,
    pipeline: Option<Pipeline>,
    slots: Vec<(u32, Box<dyn Argument + 'a>)>,
    threadgroup_memory: Vec<ThreadgroupMemory>,
    textures: Vec<(u32, Texture)>,
    samplers: Vec<(u32, SamplerDescriptor)>,
    used: Used,
}

/// What is used without being bound.
#[derive(Debug, Default)]
struct Used {
    commands: Vec<CommandMemory>,
    buffers: Vec<Arc<dyn HalBuffer>>,
}

impl fmt::Debug for ComputeEncoder<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pipeline = self.pipeline.as_ref().map(Pipeline::label);
        formatter.debug_struct("ComputeEncoder").field("pipeline", &pipeline).finish_non_exhaustive()
    }
}

impl<'a> ComputeEncoder<'a> {
    pub(crate) fn new(inner: &'a mut runtime::CommandBuffer) -> Self {
        ComputeEncoder {
            inner,
            pipeline: None,
            slots: Vec::new(),
            threadgroup_memory: Vec::new(),
            textures: Vec::new(),
            samplers: Vec::new(),
            used: Used::default(),
        }
    }

    /// Sets the kernel of the following dispatches. Arguments stay bound.
    pub fn set_pipeline(&mut self, pipeline: &Pipeline) {
        self.pipeline = Some(pipeline.clone());
    }

    /// The pipeline that is set.
    pub fn pipeline(&self) -> Option<&Pipeline> {
        self.pipeline.as_ref()
    }

    fn pipeline_for(&self, method: &'static str) -> Result<&Pipeline, Error> {
        self.pipeline.as_ref().ok_or(Error::NoPipeline { method })
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

    /// Binds a texture at `[[texture(index)]]`.
    pub fn set_texture(&mut self, index: u32, texture: &Texture) {
        self.textures.retain(|(bound, _)| *bound != index);
        self.textures.push((index, texture.clone()));
    }

    /// Binds a sampler at `[[sampler(index)]]`.
    pub fn set_sampler(&mut self, index: u32, sampler: &SamplerDescriptor) {
        self.samplers.retain(|(bound, _)| *bound != index);
        self.samplers.push((index, *sampler));
    }

    /// Sets the region of the grid that stage-in data are for, as Metal's `setStageInRegion`; at first it is
    /// the grid. Pipelines without a description of stage-in data ignore it.
    pub fn set_stage_in_region(&mut self, region: StageInRegion) {
        if let Some(index) = BindingRole::StageInRegion.index() {
            self.set_argument(index, OwnedBytes(region.to_bytes().to_vec()));
        }
    }

    /// As [`ComputeEncoder::set_stage_in_region`], with a region that work before it may have written: 24
    /// bytes, the origin along x, y and z and the size, each of 32 bits.
    pub fn set_stage_in_region_indirect(&mut self, region: &BufferSlice) {
        if let Some(index) = BindingRole::StageInRegion.index() {
            self.set_argument(index, region.clone());
        }
    }

    /// Copies a plain value into the command buffer, as Metal's `setBytes`: its bytes are not converted.
    pub fn set_bytes<T: Pod>(&mut self, index: u32, value: &T) {
        self.set_argument(index, OwnedBytes(bytemuck::bytes_of(value).to_vec()));
    }

    /// Binds anything that a launch takes too; scalars are converted to what the kernel declares.
    pub fn set_argument(&mut self, index: u32, argument: impl Argument + 'a) {
        self.slots.retain(|(known, _)| *known != index);
        self.slots.push((index, Box::new(argument)));
    }

    /// The length in bytes of a threadgroup memory argument.
    pub fn set_threadgroup_memory_length(&mut self, index: u32, length: u64) {
        self.threadgroup_memory.retain(|known| known.index != index);
        self.threadgroup_memory.push(ThreadgroupMemory::new(index, length));
    }

    /// Lets the kernels of what follows encode commands of an indirect command buffer, up to four of them,
    /// as Metal's `useResource` with write access. Kernels of executed commands are among them.
    pub fn use_indirect_command_buffer(&mut self, buffer: &IndirectCommandBuffer) -> Result<(), Error> {
        let is_it = |known: &CommandMemory| known.handle() == buffer.gpu_resource_id();
        if !self.used.commands.iter().any(is_it) {
            self.used.commands.push(buffer.memory().clone());
            let checked = check_encodes(&self.used.commands);
            if checked.is_err() {
                self.used.commands.pop();
            }
            checked?;
        }
        Ok(())
    }

    /// Lets executed commands have a buffer that nothing in this command buffer binds, as Metal's
    /// `useResource`.
    pub fn use_buffer<T: Pod>(&mut self, buffer: &Buffer<T>) {
        self.used.buffers.push(Arc::clone(buffer.hal()));
    }

    /// As [`ComputeEncoder::use_buffer`], of all of a region's buffer.
    pub fn use_region(&mut self, region: &BufferSlice) {
        self.used.buffers.push(Arc::clone(region.buffer()));
    }

    /// Makes a buffer reachable for kernels of this command buffer that find its address
    /// ([`Buffer::gpu_address`]) in memory, as Metal's `useResource` does. What is bound is reachable anyway.
    ///
    /// ```
    /// # fn main() -> Result<(), anymetal::Error> {
    /// use anymetal::command::ResourceUsage;
    ///
    /// let device = anymetal::Device::system_default()?;
    /// let source = "kernel void total(device const uint* constant* tables, device uint* y,
    ///                                 uint i [[thread_position_in_grid]]) {
    ///                 y[i] = tables[i][0] + tables[i][1];
    ///               }";
    /// let total = device.library_from_source(source)?.pipeline("total")?;
    /// let (a, b) = (device.buffer(&[1u32, 2])?, device.buffer(&[30u32, 40])?);
    /// let tables = device.buffer(&[a.gpu_address()?, b.gpu_address()?])?;
    /// let y = device.buffer_zeroed::<u32>(2)?;
    /// let mut commands = device.queue()?.command_buffer()?;
    /// let mut encoder = commands.compute_encoder();
    /// encoder.set_pipeline(&total);
    /// encoder.set_buffer(0, &tables, 0)?;
    /// encoder.set_buffer(1, &y, 0)?;
    /// encoder.use_resources([&a, &b], ResourceUsage::Read);
    /// encoder.dispatch_threads(2, 2)?;
    /// encoder.end_encoding();
    /// commands.commit()?.wait()?;
    /// assert_eq!(y.read()?, [3, 70]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn use_resource(&mut self, resource: impl Into<BufferSlice>, usage: ResourceUsage) {
        self.inner.use_resource(resource.into().buffer(), usage);
    }

    /// As [`ComputeEncoder::use_resource`], of several.
    pub fn use_resources<R: Into<BufferSlice>>(
        &mut self,
        resources: impl IntoIterator<Item = R>,
        usage: ResourceUsage,
    ) {
        resources.into_iter().for_each(|resource| self.use_resource(resource, usage));
    }

    /// As [`ComputeEncoder::use_resource`], of all buffers that the heap has now, for reading and writing.
    pub fn use_heap(&mut self, heap: &Heap) {
        self.use_resources(heap.buffers(), ResourceUsage::ReadWrite);
    }

    /// Updates a fence once everything before is done.
    pub fn update_fence(&mut self, fence: &Fence) {
        self.inner.update_fence(fence.inner());
    }

    /// Goes on once the last update of the fence before here is done.
    pub fn wait_for_fence(&mut self, fence: &Fence) {
        self.inner.wait_for_fence(fence.inner());
    }

    /// Ends the encoding; so does dropping the encoder.
    pub fn end_encoding(self) {}

    /// As [`ComputeEncoder::set_argument`], by the argument's name in the kernel that is set.
    ///
    /// # Errors
    /// [`Error::NoPipeline`] if no kernel is set, and a name that it does not have.
    pub fn set_argument_named(&mut self, name: &str, argument: impl Argument + 'a) -> Result<(), Error> {
        let pipeline = self.pipeline_for("set_argument_named")?;
        let index = pipeline.signature().buffer_argument_named(name)?.index;
        self.set_argument(index, argument);
        Ok(())
    }

    /// Metal's `dispatchThreads`.
    pub fn dispatch_threads(
        &mut self,
        threads: impl Into<Extent>,
        group_size: impl Into<Extent>,
    ) -> Result<(), Error> {
        let threads = threads.into();
        self.dispatch("dispatch_threads", group_size, |call| call.grid(threads, Grid::Threads))
    }

    /// Metal's `dispatchThreadgroups`.
    pub fn dispatch_threadgroups(
        &mut self,
        groups: impl Into<Extent>,
        group_size: impl Into<Extent>,
    ) -> Result<(), Error> {
        let groups = groups.into();
        self.dispatch("dispatch_threadgroups", group_size, |call| call.grid(groups, Grid::Threadgroups))
    }

    /// Metal's `dispatchThreadgroups` with an indirect buffer: as many threadgroups as the view's first three
    /// elements say when the dispatch's turn comes, which an earlier command may have written. Counts beyond
    /// the limits end the command buffer with an error.
    pub fn dispatch_threadgroups_indirect(
        &mut self,
        counts: &BufferView<u32>,
        group_size: impl Into<Extent>,
    ) -> Result<(), Error> {
        self.dispatch("dispatch_threadgroups_indirect", group_size, |call| call.groups_from(counts))
    }

    /// As [`ComputeEncoder::dispatch_threadgroups_indirect`], with three 32-bit counts at the start of a
    /// region.
    pub fn dispatch_threadgroups_indirect_region(
        &mut self,
        counts: &BufferSlice,
        group_size: impl Into<Extent>,
    ) -> Result<(), Error> {
        let method = "dispatch_threadgroups_indirect_region";
        self.dispatch(method, group_size, |call| call.groups_from_region(counts))
    }

    /// Runs the kernel over so many full threadgroups, all in progress at once, so that they can meet at
    /// barriers of the grid; see [`crate::Launch::cooperative`].
    pub fn dispatch_threadgroups_cooperative(
        &mut self,
        groups: impl Into<Extent>,
        group_size: impl Into<Extent>,
    ) -> Result<(), Error> {
        let groups = groups.into();
        self.dispatch("dispatch_threadgroups_cooperative", group_size, |call| {
            call.grid(groups, Grid::Threadgroups);
            call.cooperative();
        })
    }

    fn dispatch(
        &mut self,
        method: &'static str,
        group_size: impl Into<Extent>,
        grid: impl FnOnce(&mut KernelCall<'_, BoundResource>),
    ) -> Result<(), Error> {
        let pipeline = self.pipeline.as_ref().ok_or(Error::NoPipeline { method })?;
        let mut call = self.call(pipeline);
        grid(&mut call);
        call.group_size(group_size.into());
        let mut call = call.finish()?;
        if pipeline.kernel().encodes_commands() {
            let bindings = encoded_bindings(&self.used.commands);
            call.bindings.extend(bindings.map(|binding| (binding.index, binding.resource)));
        }
        call.dispatch(pipeline)?.encode(self.inner)
    }

    /// A call with what is set of the kernel's arguments; the rest stays for other kernels. A texture or
    /// sampler that is not set may be bound by its role's index ([`BindingRole::index`]), such as to
    /// [`crate::argument::Unbound`].
    fn call<'c>(&self, pipeline: &'c Pipeline) -> KernelCall<'c, BoundResource> {
        let kernel = pipeline.kernel();
        let mut call = KernelCall::new(pipeline.signature());
        let is_buffer = |argument: &&ArgumentInfo| argument.enabled && argument.kind == ArgumentKind::Buffer;
        self.bind_set(&mut call, kernel.arguments.iter().filter(is_buffer));
        let takes =
            |role| kernel.arguments.iter().any(|argument| argument.enabled && argument.role() == role);
        let bytes = |bytes: &[u8], _: ArgumentTarget<'_>| Ok(BoundResource::Bytes(bytes.to_vec()));
        for (index, texture) in self.textures.iter().filter(|(index, _)| takes(BindingRole::Texels(*index))) {
            let shape = (texture.descriptor(), texture.description());
            call.texture(*index, shape, |_| Ok(texture.texels().resource()), bytes);
        }
        for (index, sampler) in self.samplers.iter().filter(|(index, _)| takes(BindingRole::Sampler(*index)))
        {
            call.sampler(*index, sampler, bytes);
        }
        for memory in &self.threadgroup_memory {
            if kernel.argument(ArgumentKind::ThreadgroupMemory, memory.index).is_some() {
                call.threadgroup_memory(memory.index, memory.length);
            }
        }
        call
    }

    /// Binds what is set by index of these arguments.
    fn bind_set<'c>(
        &self,
        call: &mut KernelCall<'c, BoundResource>,
        arguments: impl Iterator<Item = &'c ArgumentInfo>,
    ) {
        for argument in arguments {
            if let Some((_, value)) = self.slots.iter().find(|(index, _)| *index == argument.index) {
                call.bind(argument, |target| value.bind(target));
            }
        }
    }
}

impl ComputeEncoder<'_> {
    /// Executes commands of an indirect command buffer, as they are when their turn comes: Metal's
    /// `executeCommandsInBuffer`.
    pub fn execute_commands(
        &mut self,
        buffer: &IndirectCommandBuffer,
        commands: Range<u32>,
    ) -> Result<ExecutedCommands, Error> {
        let range = (buffer.memory().clone(), ExecutedRange::Commands(commands));
        self.execute(vec![range], Repeat::Once)
    }

    /// Executes as many commands as the view's first two elements say when their turn comes: the first
    /// command, and how many.
    pub fn execute_commands_indirect(
        &mut self,
        buffer: &IndirectCommandBuffer,
        range: &BufferView<u32>,
    ) -> Result<ExecutedCommands, Error> {
        self.execute(vec![(buffer.memory().clone(), range_in(range)?)], Repeat::Once)
    }

    /// As [`ComputeEncoder::execute_commands_indirect`], with the two words at the start of a region.
    pub fn execute_commands_indirect_region(
        &mut self,
        buffer: &IndirectCommandBuffer,
        range: &BufferSlice,
    ) -> Result<ExecutedCommands, Error> {
        range.slice(0..INDIRECT_RANGE_BYTES)?;
        let range = ExecutedRange::Indirect { buffer: Arc::clone(range.buffer()), offset: range.offset() };
        self.execute(vec![(buffer.memory().clone(), range)], Repeat::Once)
    }

    /// Executes indirect command buffers in turn, each time as many commands as its view says, until one has
    /// none left: commands that encode others go on by themselves, without the host. More executions than
    /// `max_depth` end the command buffer with [`DeviceError::NestingTooDeep`]. Metal has nothing like it;
    /// there, a program encodes as many executions as it may need.
    pub fn execute_commands_while_encoded(
        &mut self,
        buffers: &[(&IndirectCommandBuffer, &BufferView<u32>)],
        max_depth: u32,
    ) -> Result<ExecutedCommands, Error> {
        let ranges = buffers.iter().map(|(buffer, range)| Ok((buffer.memory().clone(), range_in(range)?)));
        let ranges = ranges.collect::<Result<_, Error>>()?;
        self.execute(ranges, Repeat::WhileEncoded { max_depth })
    }

    fn execute(
        &mut self,
        ranges: Vec<(CommandMemory, ExecutedRange)>,
        repeat: Repeat,
    ) -> Result<ExecutedCommands, Error> {
        let pipeline = self.pipeline.as_ref();
        let inherits = |what: fn(&CommandMemory) -> bool| ranges.iter().any(|(memory, _)| what(memory));
        let inherited_pipeline = match inherits(|memory| memory.layout().inherits_pipeline) {
            true => pipeline.map_or(0, Pipeline::gpu_resource_id),
            false => 0,
        };
        let inherited_bindings = match pipeline {
            Some(pipeline) if inherits(|memory| memory.layout().inherits_buffers) => {
                let mut call = KernelCall::new(pipeline.signature());
                self.bind_set(&mut call, pipeline.signature().buffer_arguments());
                let bound = call.into_bindings()?.into_iter();
                bound.map(|(index, resource)| Binding::new(index, resource)).collect()
            }
            _ => Vec::new(),
        };
        let execution = EncodedExecution::new(ranges, repeat, Arc::new(RegisteredPipelines))?
            .inherited(inherited_pipeline, inherited_bindings)
            .using(self.used.buffers.clone())
            .encoding(self.used.commands.clone())?;
        let counts = Arc::clone(execution.counts());
        self.inner.execute_encoded(execution);
        Ok(ExecutedCommands::new(counts))
    }
}

/// The range of executed commands that a view says.
fn range_in(view: &BufferView<u32>) -> Result<ExecutedRange, Error> {
    let region = view.region();
    match view.len() {
        2.. => Ok(ExecutedRange::Indirect { buffer: Arc::clone(region.buffer()), offset: region.offset() }),
        len => Err(Error::RangeOutsideBuffer { start: 0, end: 2, len }),
    }
}

/// Bytes kept for later dispatches.
struct OwnedBytes(Vec<u8>);

impl Argument for OwnedBytes {
    fn bind(&self, _target: ArgumentTarget<'_>) -> Result<BoundResource, DeviceError> {
        Ok(BoundResource::Bytes(self.0.clone()))
    }
}
