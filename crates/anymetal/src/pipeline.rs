//! Pipelines: kernels ready to run, with their reflection.
//!
//! Owns [`Pipeline`] and the choice between code for any threadgroup size and code for one. Invariant: both
//! give the same results and the same errors; the second exists only where it is expected to pay.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anymetal_hal::artifact::{ArgumentInfo, ArgumentKind, KernelInfo};
use anymetal_hal::command::Grid;
use anymetal_hal::pipeline::Pipeline as HalPipeline;
use anymetal_hal::validate::check_arguments;

use crate::compile::CompiledLibrary;
use crate::constants::FunctionConstants;
use crate::device::Device;
use crate::error::Error;
use crate::extent::default_group_size;
use crate::node::NodeBuilder;

/// How many threadgroup sizes get code of their own.
const MOST_SPECIALISED: usize = 8;

/// A kernel ready to run on one device. Clones share the code.
#[derive(Debug, Clone)]
pub struct Pipeline {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    description: KernelInfo,
    /// The enabled buffer arguments in the order of their Metal indices, by their places in the description.
    buffer_arguments: Vec<usize>,
    /// For any threadgroup size, once needed.
    general: OnceLock<Arc<dyn HalPipeline>>,
    specialised: Mutex<Vec<Specialised>>,
    specialiser: Specialiser,
}

/// Code for one threadgroup size.
#[derive(Debug)]
struct Specialised {
    size: [u32; 3],
    /// Only for grids without an edge.
    whole_only: bool,
    /// `None`: it was tried and cannot be made.
    pipeline: Option<Arc<dyn HalPipeline>>,
}

/// What making code for one threadgroup size needs.
#[derive(Debug)]
pub(crate) struct Specialiser {
    pub(crate) compiled: CompiledLibrary,
    pub(crate) device: Device,
    pub(crate) constants: FunctionConstants,
}

impl Pipeline {
    pub(crate) fn new(name: &str, specialiser: Specialiser) -> Result<Self, Error> {
        let description = specialiser.compiled.describe(name, &specialiser.constants)?;
        check_arguments(&description, specialiser.device.name())?;
        let is_buffer = |&place: &usize| {
            let argument: &ArgumentInfo = &description.arguments[place];
            argument.enabled && argument.kind == ArgumentKind::Buffer
        };
        let mut buffer_arguments: Vec<usize> = (0..description.arguments.len()).filter(is_buffer).collect();
        buffer_arguments.sort_by_key(|&place| description.arguments[place].index);
        let pipeline = Pipeline {
            shared: Arc::new(Shared {
                description,
                buffer_arguments,
                general: OnceLock::new(),
                specialised: Mutex::default(),
                specialiser,
            }),
        };
        if !pipeline.specialisation_pays() {
            pipeline.hal()?;
        }
        Ok(pipeline)
    }

    /// The code to run that grid with threadgroups of that size. The first launch with a new size may
    /// compile, and so may the first one whose grid has an edge.
    pub(crate) fn for_launch(&self, grid: Grid, size: [u32; 3]) -> Result<Arc<dyn HalPipeline>, Error> {
        self.for_grids(grid.is_whole(size), size)
    }

    /// The code to run any grid with threadgroups of that size.
    pub(crate) fn for_group_size(&self, size: [u32; 3]) -> Result<Arc<dyn HalPipeline>, Error> {
        self.for_grids(false, size)
    }

    fn for_grids(&self, whole_only: bool, size: [u32; 3]) -> Result<Arc<dyn HalPipeline>, Error> {
        if !self.specialisation_pays() {
            return self.hal();
        }
        // Held while compiling: a second launch with the same size waits instead of compiling too.
        let mut known = self.shared.specialised.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match known.iter().find(|known| known.size == size && (whole_only || !known.whole_only)) {
            Some(specialised) => specialised.pipeline.clone(),
            None if known.len() >= MOST_SPECIALISED => None,
            None => {
                let pipeline = self.specialise(size, whole_only);
                known.push(Specialised { size, whole_only, pipeline: pipeline.clone() });
                pipeline
            }
        };
        drop(known);
        found.map_or_else(|| self.hal(), Ok)
    }

    /// A known size tells which lanes lie side by side in memory, how many SIMD-groups there are, and which
    /// are full; that pays for nearly every kernel.
    fn specialisation_pays(&self) -> bool {
        self.kernel().specialised_group.is_none() && self.shared.specialiser.compiled.can_specialise()
    }

    /// Wrong sizes and failures leave the general code, which tells what is wrong.
    fn specialise(&self, size: [u32; 3], whole_only: bool) -> Option<Arc<dyn HalPipeline>> {
        let threads = size.iter().try_fold(1u32, |product, &extent| product.checked_mul(extent))?;
        if threads == 0 || threads > self.kernel().max_threads_per_threadgroup {
            return None;
        }
        let Specialiser { compiled, device, constants } = &self.shared.specialiser;
        let artifact = compiled.artifact(self.name(), constants, Some(size), whole_only).ok()?;
        device.context().pipeline(&artifact, self.name()).ok()
    }

    /// What more code is made with.
    pub(crate) fn specialiser(&self) -> &Specialiser {
        &self.shared.specialiser
    }

    /// Starts a node of a graph with this kernel.
    pub fn node(&self) -> NodeBuilder<'_> {
        NodeBuilder::new(self)
    }

    /// The kernel's reflection: arguments, limits, attributes.
    pub fn kernel(&self) -> &KernelInfo {
        &self.shared.description
    }

    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.kernel().name
    }

    /// Metal's `maxTotalThreadsPerThreadgroup`.
    pub fn max_total_threads_per_threadgroup(&self) -> u32 {
        self.kernel().max_threads_per_threadgroup
    }

    /// Metal's `threadExecutionWidth`.
    pub fn thread_execution_width(&self) -> u32 {
        self.kernel().simd_width
    }

    /// Metal's `staticThreadgroupMemoryLength`.
    pub fn static_threadgroup_memory_length(&self) -> u64 {
        self.kernel().threadgroup_static_bytes
    }

    /// The pipeline below, for any threadgroup size.
    /// It is compiled when first asked for, because launches have code for their own size.
    pub fn hal(&self) -> Result<Arc<dyn HalPipeline>, Error> {
        if let Some(general) = self.shared.general.get() {
            return Ok(Arc::clone(general));
        }
        let Specialiser { compiled, device, constants } = &self.shared.specialiser;
        let artifact = compiled.artifact(self.name(), constants, None, false)?;
        let general = device.context().pipeline(&artifact, self.name())?;
        Ok(Arc::clone(self.shared.general.get_or_init(|| general)))
    }

    /// The buffer arguments in the order of their Metal indices, disabled ones left out.
    pub(crate) fn buffer_arguments(&self) -> impl ExactSizeIterator<Item = &ArgumentInfo> {
        self.shared.buffer_arguments.iter().map(|&place| &self.kernel().arguments[place])
    }

    /// The enabled buffer argument of that name.
    pub(crate) fn buffer_argument_named(&self, name: &str) -> Result<&ArgumentInfo, Error> {
        self.buffer_arguments().find(|argument| argument.name == name).ok_or_else(|| {
            let existing: Vec<String> =
                self.buffer_arguments().map(|argument| format!("`{}`", argument.name)).collect();
            let existing = if existing.is_empty() { "none".to_owned() } else { existing.join(", ") };
            Error::UnknownArgument { kernel: self.name().to_owned(), name: name.to_owned(), existing }
        })
    }

    /// The group size for a grid of threads that does not come with one.
    pub(crate) fn group_size_for(&self, dimensions: usize) -> [u32; 3] {
        let kernel = self.kernel();
        let fixed = kernel.required_threads_per_threadgroup.or(kernel.specialised_group);
        fixed.unwrap_or_else(|| default_group_size(dimensions, kernel.max_threads_per_threadgroup))
    }
}
