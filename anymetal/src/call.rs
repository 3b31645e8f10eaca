//! Calls of a kernel: its arguments and its grid.
//!
//! Owns [`KernelCall`], which launches, encoders, graph nodes and the service's launches share: it converts
//! and binds arguments, and chooses the threadgroup size. [`FinishedCall::dispatch`] makes the dispatch.
//! `B` is the type of a bound argument. Invariant: the first mistake is kept and returned at the end; a call
//! that ends well has each argument at most once, and a grid.
//!
//! Public for launch builders in other crates of this project, not for programs: it changes without notice.

use anymetal_core::submission::argument::ArgumentTarget;
use anymetal_core::submission::command_buffer::CommandBuffer;
use anymetal_hal::artifact::{ArgumentInfo, ArgumentKind};
use anymetal_hal::command::{
    Binding, BoundResource, Deadline, Dispatch, Grid, INDIRECT_COUNTS_BYTES, IndirectDispatch,
    ThreadgroupMemory,
};
use anymetal_hal::error::DeviceError;
use anymetal_hal::stage_input::{StageInputError, region_argument};
use anymetal_hal::validate::surplus;
use anymetal_types::tensor::{TensorShape, shape_bytes};
use anymetal_types::texture::{
    BindingRole, Description, SamplerDescriptor, TextureDescriptor, TextureError, format_constant,
    state_constant,
};

use crate::buffer::{BufferSlice, BufferView};
use crate::error::Error;
use crate::extent::Extent;
use crate::pipeline::Pipeline;
use crate::queue::Queue;
use crate::submission::Submission;
use crate::texture::check_argument;

pub use crate::element::fits;
pub use crate::known_formats::KnownFormats;
pub use crate::memory::bytes_of;
pub use crate::signature::Signature;
pub use crate::texture::{check_texel_bytes, elements_of, slices_at};

/// A call in the making.
#[derive(Debug)]
pub struct KernelCall<'a, B> {
    signature: &'a Signature,
    bindings: Vec<(u32, B)>,
    positional: usize,
    threadgroup_memory: Vec<ThreadgroupMemory>,
    grid: Option<(Grid, usize)>,
    /// Boxed, since builders are moved by each of their setters.
    counts: Option<Box<BufferSlice>>,
    group_size: Option<[u32; 3]>,
    cooperative: bool,
    known: KnownFormats,
    /// Boxed as `counts` is.
    mistake: Option<Box<Error>>,
}

/// A call that is complete.
#[derive(Debug, Clone)]
pub struct FinishedCall<B> {
    pub bindings: Vec<(u32, B)>,
    pub threadgroup_memory: Vec<ThreadgroupMemory>,
    pub grid: Grid,
    /// Where the number of threadgroups is read, in place of the grid.
    counts: Option<Box<BufferSlice>>,
    pub group_size: [u32; 3],
    cooperative: bool,
    /// Formats of textures and states of samplers, for code of their own.
    pub known: KnownFormats,
}

impl<B> FinishedCall<B> {
    /// The same call with other bindings.
    pub fn with_bindings<C, E>(&self, bind: impl Fn(&B) -> Result<C, E>) -> Result<FinishedCall<C>, E> {
        let bindings = self.bindings.iter().map(|(index, binding)| Ok((*index, bind(binding)?)));
        Ok(FinishedCall {
            bindings: bindings.collect::<Result<_, E>>()?,
            threadgroup_memory: self.threadgroup_memory.clone(),
            grid: self.grid,
            counts: self.counts.clone(),
            group_size: self.group_size,
            cooperative: self.cooperative,
            known: self.known.clone(),
        })
    }
}

impl FinishedCall<BoundResource> {
    /// Submits it as a command buffer with that label.
    pub fn submit(
        self,
        queue: &Queue,
        pipeline: &Pipeline,
        label: &str,
        deadline: Deadline,
    ) -> Result<Submission, Error> {
        let dispatch = self.dispatch(pipeline)?;
        let mut commands = queue.stream().command_buffer()?.label(label).deadline(deadline);
        dispatch.encode(&mut commands)?;
        Submission::accepted(commands.commit())
    }

    /// The dispatch, with the pipeline's code for its shape. This may compile, so it comes before a command
    /// buffer is taken from a stream that has a limited number of them.
    pub(crate) fn dispatch(self, pipeline: &Pipeline) -> Result<CallDispatch, Error> {
        let bindings = self.bindings.into_iter().map(|(index, resource)| Binding::new(index, resource));
        let code = pipeline.for_launch(self.grid, self.group_size, &self.known)?;
        let dispatch = Dispatch::new(code, self.grid, self.group_size)
            .with_bindings(bindings.collect())
            .with_threadgroup_memory(self.threadgroup_memory)
            .with_cooperation(self.cooperative);
        Ok(match self.counts {
            None => CallDispatch::Direct(dispatch),
            Some(counts) => {
                let (buffer, offset) = (counts.buffer().clone(), counts.offset());
                CallDispatch::Indirect(IndirectDispatch::new(dispatch, buffer, offset)?)
            }
        })
    }
}

/// The dispatch of a call.
pub(crate) enum CallDispatch {
    Direct(Dispatch),
    Indirect(IndirectDispatch),
}

impl CallDispatch {
    /// Encodes it; the command buffer checks it.
    pub(crate) fn encode(self, commands: &mut CommandBuffer) -> Result<(), Error> {
        match self {
            CallDispatch::Direct(dispatch) => Ok(commands.encode(dispatch)?),
            CallDispatch::Indirect(dispatch) => Ok(commands.encode_indirect(dispatch)?),
        }
    }
}

impl<'a, B> KernelCall<'a, B> {
    pub fn new(signature: &'a Signature) -> Self {
        KernelCall {
            signature,
            bindings: Vec::new(),
            positional: 0,
            threadgroup_memory: Vec::new(),
            grid: None,
            counts: None,
            group_size: None,
            cooperative: false,
            known: KnownFormats::default(),
            mistake: None,
        }
    }

    /// Binds the next argument in the order of their Metal indices.
    pub fn next(&mut self, bind: impl FnOnce(ArgumentTarget<'_>) -> Result<B, DeviceError>) {
        let signature = self.signature;
        if let Some(argument) = signature.buffer_arguments().nth(self.positional) {
            self.bind(argument, bind);
        }
        // One too many is noticed at the end, when the whole count is known.
        self.positional += 1;
    }

    /// Binds the argument with that Metal index.
    pub fn at(&mut self, index: u32, bind: impl FnOnce(ArgumentTarget<'_>) -> Result<B, DeviceError>) {
        let signature = self.signature;
        match signature.kernel().argument(ArgumentKind::Buffer, index) {
            Some(argument) => self.bind(argument, bind),
            None => self.note(surplus(signature.kernel(), ArgumentKind::Buffer, index).into()),
        }
    }

    /// Binds the argument with that name.
    pub fn named(&mut self, name: &str, bind: impl FnOnce(ArgumentTarget<'_>) -> Result<B, DeviceError>) {
        let signature = self.signature;
        match signature.buffer_argument_named(name) {
            Ok(argument) => self.bind(argument, bind),
            Err(error) => self.note(error),
        }
    }

    pub fn threadgroup_memory(&mut self, index: u32, length: u64) {
        self.threadgroup_memory.push(ThreadgroupMemory::new(index, length));
    }

    pub fn grid(&mut self, extent: Extent, grid: fn([u32; 3]) -> Grid) {
        match extent.to_array() {
            Ok(array) => (self.grid, self.counts) = (Some((grid(array), extent.dimensions())), None),
            Err(error) => self.note(error),
        }
    }

    /// A grid of threadgroups, whose extents are read from the first three elements of a view.
    pub(crate) fn groups_from(&mut self, counts: &BufferView<u32>) {
        match counts.len() {
            3.. => self.groups_from_region(&counts.region()),
            len => self.note(Error::RangeOutsideBuffer { start: 0, end: 3, len }),
        }
    }

    /// As [`KernelCall::groups_from`], with three 32-bit counts at the start of a region.
    pub(crate) fn groups_from_region(&mut self, counts: &BufferSlice) {
        match counts.slice(0..INDIRECT_COUNTS_BYTES) {
            Ok(counts) => {
                self.grid = Some((Grid::Threadgroups([1; 3]), 1));
                self.counts = Some(Box::new(counts));
            }
            Err(error) => self.note(error.into()),
        }
    }

    /// All threadgroups are in progress at once.
    pub(crate) fn cooperative(&mut self) {
        self.cooperative = true;
    }

    pub fn group_size(&mut self, size: Extent) {
        match size.to_array() {
            Ok(array) => self.group_size = Some(array),
            Err(error) => self.note(error),
        }
    }

    /// The grid with the number of its dimensions, if it was given.
    pub fn grid_given(&self) -> Option<(Grid, usize)> {
        self.grid
    }

    /// The whole call, or the first mistake.
    pub fn finish(self) -> Result<FinishedCall<B>, Error> {
        if let Some(mistake) = self.mistake {
            return Err(*mistake);
        }
        let kernel = self.signature.name();
        let expected = self.signature.buffer_arguments().len();
        // All by position: then the count itself is the clearest thing to say.
        let wrong_count =
            self.positional > expected || (self.positional > 0 && self.buffers_bound() < expected);
        if wrong_count {
            let got = self.positional.max(self.buffers_bound());
            return Err(Error::ArgumentCount { kernel: kernel.to_owned(), expected, got });
        }
        let (grid, group_size) = self.shape()?;
        let KernelCall { bindings, threadgroup_memory, counts, cooperative, known, .. } = self;
        Ok(FinishedCall { bindings, threadgroup_memory, grid, counts, group_size, cooperative, known })
    }

    /// The grid, and the threadgroup size that is given, demanded, tuned or the default.
    fn shape(&self) -> Result<(Grid, [u32; 3]), Error> {
        let kernel = || self.signature.name().to_owned();
        let (grid, dimensions) = self.grid.ok_or_else(|| Error::NoGrid { kernel: kernel() })?;
        let group_size = match (self.group_size, grid) {
            (Some(size), _) => size,
            (None, Grid::Threads(threads)) => self.signature.group_size_for(threads, dimensions),
            (None, Grid::Threadgroups(_)) => {
                let required = self.signature.kernel().required_threads_per_threadgroup;
                required.ok_or_else(|| Error::NoGroupSize { kernel: kernel() })?
            }
        };
        Ok((grid, group_size))
    }

    /// Compiles the code for the shape of the call, and returns its threadgroup size.
    pub(crate) fn warm_up(&self, pipeline: &Pipeline) -> Result<[u32; 3], Error> {
        if let Some(mistake) = &self.mistake {
            return Err((**mistake).clone());
        }
        let (grid, group_size) = self.shape()?;
        pipeline.for_launch(grid, group_size, &self.known)?;
        Ok(group_size)
    }

    /// The bindings so far, without a grid, or the first mistake.
    pub(crate) fn into_bindings(self) -> Result<Vec<(u32, B)>, Error> {
        match self.mistake {
            Some(mistake) => Err(*mistake),
            None => Ok(self.bindings),
        }
    }

    /// How many buffers of the program are bound.
    fn buffers_bound(&self) -> usize {
        self.bindings.iter().filter(|(index, _)| BindingRole::of(*index) == BindingRole::Buffer).count()
    }

    /// Binds the texture of that shape at `[[texture(index)]]`.
    pub fn texture(
        &mut self,
        index: u32,
        (shape, described): (&TextureDescriptor, Description),
        texels: impl FnOnce(ArgumentTarget<'_>) -> Result<B, DeviceError>,
        bytes: impl FnOnce(&[u8], ArgumentTarget<'_>) -> Result<B, DeviceError>,
    ) {
        let signature = self.signature;
        let bound = || -> Result<_, TextureError> {
            let argument = signature.resource_argument(BindingRole::Texels(index))?;
            check_argument(shape, signature.name(), index, argument)?;
            Ok((argument, signature.resource_argument(BindingRole::Description(index))?))
        };
        match bound() {
            Ok((argument, description)) => {
                self.bind(argument, texels);
                self.bind(description, |target| bytes(&described.to_bytes(), target));
                self.known.set(format_constant(index), described.format.bits());
            }
            Err(error) => self.note(error.into()),
        }
    }

    /// Binds the sampler at `[[sampler(index)]]`.
    pub fn sampler(
        &mut self,
        index: u32,
        sampler: &SamplerDescriptor,
        bytes: impl FnOnce(&[u8], ArgumentTarget<'_>) -> Result<B, DeviceError>,
    ) {
        let signature = self.signature;
        match signature.resource_argument(BindingRole::Sampler(index)) {
            Ok(argument) => {
                let state = sampler.state();
                self.bind(argument, |target| bytes(&state.to_bytes(), target));
                self.known.set(state_constant(index), state.word.into());
            }
            Err(error) => self.note(error.into()),
        }
    }

    /// Gives the tensor whose elements are at `[[buffer(index)]]` its shape.
    pub fn tensor_shape(
        &mut self,
        index: u32,
        shape: &TensorShape,
        bytes: impl FnOnce(&[u8], ArgumentTarget<'_>) -> Result<B, DeviceError>,
    ) {
        let signature = self.signature;
        match signature.resource_argument(BindingRole::TensorShape(index)) {
            Ok(argument) if argument.element_size == shape_bytes(shape.rank()) as u64 => {
                self.bind(argument, |target| bytes(&shape.to_bytes(), target));
            }
            Ok(argument) => self.note(Error::TensorRank {
                kernel: signature.name().to_owned(),
                name: argument.name.clone(),
                expected: argument.element_size as usize / shape_bytes(1),
                got: shape.rank(),
            }),
            Err(error) => self.note(error.into()),
        }
    }

    /// Binds the region that stage-in data are for.
    pub fn stage_in_region(&mut self, bind: impl FnOnce(ArgumentTarget<'_>) -> Result<B, DeviceError>) {
        let signature = self.signature;
        match region_argument(signature.kernel()) {
            Some(argument) => self.bind(argument, bind),
            None => self.note(StageInputError::NoRegion { kernel: signature.name().to_owned() }.into()),
        }
    }

    /// Binds an argument of the kernel.
    pub(crate) fn bind(
        &mut self,
        argument: &ArgumentInfo,
        bind: impl FnOnce(ArgumentTarget<'_>) -> Result<B, DeviceError>,
    ) {
        match bind(ArgumentTarget::new(self.signature.name(), argument)) {
            Ok(bound) => {
                self.bindings.retain(|(index, _)| *index != argument.index);
                self.bindings.push((argument.index, bound));
            }
            Err(error) => self.note(error.into()),
        }
    }

    fn note(&mut self, error: Error) {
        self.mistake.get_or_insert_with(|| Box::new(error));
    }
}

/// The setters of a builder with a field `call`; its arguments implement the trait, whose method binds them.
#[doc(hidden)]
#[macro_export]
macro_rules! call_setters {
    ($argument:ident, $bind:ident) => {
        /// The next argument, in the order of their Metal indices. A number is converted to the type that the
        /// kernel declares: an integer exactly, any other (`f64` too) to the nearest value. A number that the
        /// type cannot hold is an error.
        pub fn arg(mut self, value: impl $argument) -> Self {
            self.call.next(|target| value.$bind(target));
            self
        }

        /// The argument with that Metal index.
        pub fn arg_at(mut self, index: u32, value: impl $argument) -> Self {
            self.call.at(index, |target| value.$bind(target));
            self
        }

        /// The argument with that name.
        pub fn arg_named(mut self, name: &str, value: impl $argument) -> Self {
            self.call.named(name, |target| value.$bind(target));
            self
        }

        /// So many bytes for the threadgroup memory argument with that index.
        pub fn threadgroup_memory(mut self, index: u32, bytes: u64) -> Self {
            self.call.threadgroup_memory(index, bytes);
            self
        }

        /// A grid of that many threads; the last threadgroups may be partial.
        pub fn threads(mut self, threads: impl Into<$crate::Extent>) -> Self {
            self.call.grid(threads.into(), $crate::command::Grid::Threads);
            self
        }

        /// A grid of that many full threadgroups. Their size is given with `group_size`.
        pub fn groups(mut self, groups: impl Into<$crate::Extent>) -> Self {
            self.call.grid(groups.into(), $crate::command::Grid::Threadgroups);
            self
        }

        /// Threads per threadgroup. Without it a grid of threads gets what the kernel demands, or what tuning
        /// found (`anymetal::tuning`), or what suits grid and kernel
        /// (`anymetal::tuning::default_group_size`): 256, 32×8 or 32×4×2 over large grids.
        pub fn group_size(mut self, size: impl Into<$crate::Extent>) -> Self {
            self.call.group_size(size.into());
            self
        }
    };
}

/// The setters for textures, samplers, shapes of tensors and stage-in regions of a builder, as
/// [`call_setters`] has it.
#[doc(hidden)]
#[macro_export]
macro_rules! texture_setters {
    ($argument:ident, $bind:ident, $texture:ty) => {
        /// The texture at `[[texture(index)]]`; for an array of textures, an element of it.
        pub fn texture(mut self, index: u32, texture: &$texture) -> Self {
            self.call.texture(
                index,
                (texture.descriptor(), texture.description()),
                |target| $argument::$bind(texture.texels(), target),
                |bytes, target| $argument::$bind(&$crate::argument::InlineBytes(bytes), target),
            );
            self
        }

        /// The sampler at `[[sampler(index)]]`.
        pub fn sampler(mut self, index: u32, sampler: &$crate::SamplerDescriptor) -> Self {
            self.call.sampler(index, sampler, |bytes, target| {
                $argument::$bind(&$crate::argument::InlineBytes(bytes), target)
            });
            self
        }

        /// The shape of the tensor whose elements are the argument with that Metal index.
        pub fn tensor_shape(mut self, index: u32, shape: &$crate::tensor::TensorShape) -> Self {
            self.call.tensor_shape(index, shape, |bytes, target| {
                $argument::$bind(&$crate::argument::InlineBytes(bytes), target)
            });
            self
        }

        /// The region of the grid that stage-in data are for; without one, all of it from the start of the
        /// buffers. The pipeline needs a description of stage-in data
        /// (`PipelineDescriptor::stage_input`).
        pub fn stage_in_region(mut self, region: $crate::stage_input::StageInRegion) -> Self {
            let bytes = region.to_bytes();
            self.call
                .stage_in_region(|target| $argument::$bind(&$crate::argument::InlineBytes(&bytes), target));
            self
        }

        /// As [`Self::stage_in_region`], with a region that work before it may have written: six elements,
        /// the origin along x, y and z and the size.
        pub fn stage_in_region_from(mut self, region: &$crate::BufferView<u32>) -> Self {
            self.call.stage_in_region(|target| $argument::$bind(region, target));
            self
        }
    };
}
