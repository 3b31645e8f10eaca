//! Pipelines: kernels ready to run, with their reflection.
//!
//! Owns [`Pipeline`] and the choice between code for any threadgroup size and code for one. Invariant: both
//! give the same results and the same errors; the second exists only where it is expected to pay. Where it
//! cannot be made, launches have the first, and [`Pipeline::fallbacks`] says so. Concurrency: the lock on the
//! list of sizes is not held while code is made; a second launch with the same size waits, launches with
//! other sizes do not.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use anymetal_hal::artifact::{Effort, KernelInfo, ReducedEffort};
use anymetal_hal::command::Grid;
use anymetal_hal::pipeline::Pipeline as HalPipeline;
use anymetal_hal::validate::{check_arguments, check_group_size};
use anymetal_telemetry::{record, span};

use crate::code_account::Evictable;
use crate::compile::{CompiledLibrary, Description};
use crate::compiling::Compiling;
use crate::constants::FunctionConstants;
use crate::device::Device;
use crate::error::Error;
use crate::executor::Executor;
use crate::extent::Extent;
use crate::functions::FunctionHandle;
use crate::known_formats::KnownFormats;
use crate::node::NodeBuilder;
use crate::notice::{self, NoticeKind};
use crate::pipeline_descriptor::PipelineDescriptor;
use crate::pipeline_handles::PipelineHandle;
use crate::signature::Signature;
use crate::tuning::{SizeLimits, TunedSizes};

/// How many threadgroup sizes get code of their own; one with and without an edge of the grid counts as two.
const MAX_SPECIALISED: usize = 8;

/// A kernel ready to run on one device. Clones share the code.
#[derive(Debug, Clone)]
pub struct Pipeline {
    shared: Arc<Shared>,
}

/// What the clones of a pipeline share.
#[derive(Debug)]
pub(crate) struct Shared {
    signature: Arc<Signature>,
    label: String,
    /// By the description.
    executor: Executor,
    /// The interpreter, once the kernel's code proved to be past the budgets for machine code.
    interpreted: OnceLock<Executor>,
    /// For any threadgroup size, once needed.
    general: OnceLock<Arc<dyn HalPipeline>>,
    specialised: Mutex<Vec<Arc<Specialised>>>,
    specialiser: Specialiser,
    /// Once something asked for it.
    handle: OnceLock<PipelineHandle>,
}

/// Code for one threadgroup size.
#[derive(Debug)]
struct Specialised {
    size: [u32; 3],
    grids: Grids,
    /// Only for launches with these.
    known: KnownFormats,
    /// Empty while it is made.
    code: OnceLock<Result<Arc<dyn HalPipeline>, Error>>,
    /// When it was last launched, by the clock of the device's account.
    last_used: AtomicU64,
    pipeline: Weak<Shared>,
}

impl Specialised {
    /// Whether this code runs such grids, as far as is known before it is made.
    fn runs(&self, grids: Grids) -> bool {
        let keeps_threadgroups =
            || matches!(self.code.get(), Some(Ok(code)) if code.kernel().executed_group.is_none());
        let has_width = self.grids.narrow == grids.narrow || (grids.narrow && keeps_threadgroups());
        has_width && (grids.whole_only || !self.grids.whole_only)
    }
}

impl Evictable for Specialised {
    fn last_used(&self) -> u64 {
        self.last_used.load(Ordering::Relaxed)
    }

    fn evict(&self) {
        // The pipeline may have ended meanwhile, and its code with it.
        let Some(pipeline) = self.pipeline.upgrade() else { return };
        let mut known = pipeline.specialised.lock().unwrap_or_else(PoisonError::into_inner);
        let position = known.iter().position(|known| std::ptr::eq(Arc::as_ptr(known), self));
        let evicted = position.map(|position| known.remove(position));
        drop(known);
        // Outside the lock: the device may unload the code.
        drop(evicted);
    }
}

/// The grids that code for one threadgroup size runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grids {
    /// Only those without an edge.
    pub(crate) whole_only: bool,
    /// Those narrower than a SIMD-group. Code for others may run in threadgroups as wide as a SIMD-group.
    pub(crate) narrow: bool,
}

impl Grids {
    /// All grids.
    pub(crate) const ANY: Grids = Grids { whole_only: false, narrow: false };

    /// The kind of a grid in threadgroups of that size.
    fn of(grid: Grid, size: [u32; 3]) -> Self {
        Grids { whole_only: grid.is_whole(size), narrow: grid.is_narrow(size) }
    }
}

/// A threadgroup size for which no code of its own could be made, so that its launches run the code for any
/// size.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Fallback {
    /// The threadgroup size.
    pub group_size: [u32; 3],
    /// Why.
    pub error: Error,
}

/// What making code for one threadgroup size needs.
#[derive(Debug)]
pub(crate) struct Specialiser {
    pub(crate) compiled: CompiledLibrary,
    pub(crate) device: Device,
    pub(crate) constants: FunctionConstants,
}

impl Pipeline {
    pub(crate) fn new(
        compiled: CompiledLibrary,
        device: Device,
        descriptor: PipelineDescriptor,
    ) -> Result<Self, Error> {
        let clock = Arc::clone(device.context().clock());
        let (start, name) = (clock.now(), device.name().to_owned());
        let span = span::pipeline(&name, &descriptor.kernel);
        let _entered = span.enter();
        let pipeline = Self::make(compiled, device, descriptor)?;
        record::pipeline_duration(&name, clock.now().saturating_sub(start));
        Ok(pipeline)
    }

    fn make(
        compiled: CompiledLibrary,
        device: Device,
        descriptor: PipelineDescriptor,
    ) -> Result<Self, Error> {
        let PipelineDescriptor { kernel, label, constants, group_sizes, linked_functions, stage_input } =
            descriptor;
        let compiled = compiled.linked_with(&kernel, &linked_functions)?;
        let constants = compiled.with_stage_input(&kernel, constants, stage_input.as_ref())?;
        let Description { kernel: info, executor, fingerprint } = compiled.describe(&kernel, &constants)?;
        check_arguments(&info, device.name())?;
        let tuned = match compiled.can_specialise() {
            true => TunedSizes::of(&info.name, fingerprint, &device.capabilities().hardware_name),
            false => TunedSizes::none(),
        };
        // Sanitized launches run on one thread: dividing a small grid would only name its races differently.
        let mut limits = SizeLimits::from(device.capabilities());
        if !compiled.can_specialise() {
            limits.compute_units = None;
        }
        let pipeline = Pipeline {
            shared: Arc::new(Shared {
                signature: Arc::new(Signature::new(info, tuned, limits)),
                label,
                executor,
                interpreted: OnceLock::new(),
                general: OnceLock::new(),
                specialised: Mutex::default(),
                specialiser: Specialiser { compiled, device, constants },
                handle: OnceLock::new(),
            }),
        };
        if !pipeline.specialisation_pays() {
            pipeline.hal()?;
        }
        pipeline.warm_up(group_sizes)?;
        Ok(pipeline)
    }

    /// Compiles the code for those threadgroup sizes now, so that no launch with one of them compiles: `256`,
    /// `(16, 16)`, `[8, 8, 4]`. Up to eight sizes have code of their own. A size of [`Pipeline::fallbacks`]
    /// is tried again. The device evicts the least recently used code beyond `memory.code-bytes`, and the
    /// next launch with that size compiles it again.
    ///
    /// Launches that give no size have that of [`Pipeline::default_group_size`].
    pub fn warm_up(&self, sizes: impl IntoIterator<Item = impl Into<Extent>>) -> Result<(), Error> {
        let limits = self.shared.specialiser.device.capabilities();
        for size in sizes {
            let size = size.into().to_array()?;
            check_group_size(self.kernel(), size, limits)?;
            if !self.specialisation_pays() {
                self.hal()?;
                continue;
            }
            let (kernel, limit) = (self.name().to_owned(), MAX_SPECIALISED);
            self.forget_failure(size);
            let found = self
                .specialised(Grids::ANY, size, &KnownFormats::default())
                .ok_or(Error::TooManyGroupSizes { kernel, limit })?;
            self.code(&found).as_ref().map_err(Error::clone)?;
        }
        Ok(())
    }

    /// Compiles the code for any threadgroup size now, which launches use whose size has no code of its own.
    pub fn compile(&self) -> Result<(), Error> {
        self.hal().map(drop)
    }

    /// As [`Pipeline::warm_up`], in the background. Cancelled, it ends with the size that it compiles, which
    /// launches may wait for.
    pub fn warm_up_async(&self, sizes: impl IntoIterator<Item = impl Into<Extent>>) -> Compiling<()> {
        let pipeline = self.clone();
        let sizes: Vec<Extent> = sizes.into_iter().map(Into::into).collect();
        Compiling::start(move |token| {
            let wanted = sizes.into_iter().take_while(|_| !token.is_cancelled());
            pipeline.warm_up(wanted)
        })
    }

    /// The threadgroup sizes that launches came with and that could get no code of their own.
    pub fn fallbacks(&self) -> Vec<Fallback> {
        let known = self.shared.specialised.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = known.iter().filter_map(|known| match known.code.get() {
            Some(Err(error)) => Some(Fallback { group_size: known.size, error: error.clone() }),
            Some(Ok(_)) | None => None,
        });
        failed.collect()
    }

    /// The threadgroup sizes that have code of their own, in the order in which it was made.
    pub fn compiled_group_sizes(&self) -> Vec<[u32; 3]> {
        let known = self.shared.specialised.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sizes = Vec::new();
        for known in known.iter().filter(|known| matches!(known.code.get(), Some(Ok(_)))) {
            if !sizes.contains(&known.size) {
                sizes.push(known.size);
            }
        }
        sizes
    }

    /// The code to run that grid with threadgroups of that size. The first launch with a new size may
    /// compile, and so may the first one whose grid has an edge.
    pub(crate) fn for_launch(
        &self,
        grid: Grid,
        size: [u32; 3],
        known: &KnownFormats,
    ) -> Result<Arc<dyn HalPipeline>, Error> {
        self.for_grids(Grids::of(grid, size), size, known)
    }

    /// The code to run any grid with threadgroups of that size.
    pub(crate) fn for_group_size(
        &self,
        size: [u32; 3],
        known: &KnownFormats,
    ) -> Result<Arc<dyn HalPipeline>, Error> {
        self.for_grids(Grids::ANY, size, known)
    }

    fn for_grids(
        &self,
        grids: Grids,
        size: [u32; 3],
        formats: &KnownFormats,
    ) -> Result<Arc<dyn HalPipeline>, Error> {
        if !self.specialisation_pays() || !self.could_be_a_size(size) {
            return self.hal();
        }
        let found = self.specialised(grids, size, formats);
        match found.as_ref().map(|specialised| self.code(specialised)) {
            Some(Ok(pipeline)) => Ok(Arc::clone(pipeline)),
            Some(Err(_)) | None => self.hal(),
        }
    }

    /// The place of the code for a threadgroup size; `None` if there are too many sizes.
    fn specialised(&self, grids: Grids, size: [u32; 3], formats: &KnownFormats) -> Option<Arc<Specialised>> {
        let mut known = self.shared.specialised.lock().unwrap_or_else(PoisonError::into_inner);
        let fits =
            |known: &&Arc<Specialised>| known.size == size && known.known == *formats && known.runs(grids);
        let now = self.device().code().tick();
        if let Some(found) = known.iter().find(fits) {
            found.last_used.store(now, Ordering::Relaxed);
            return Some(Arc::clone(found));
        }
        if known.len() >= MAX_SPECIALISED {
            return None;
        }
        let new = Arc::new(Specialised {
            size,
            grids,
            known: formats.clone(),
            code: OnceLock::new(),
            last_used: AtomicU64::new(now),
            pipeline: Arc::downgrade(&self.shared),
        });
        known.push(Arc::clone(&new));
        Some(new)
    }

    fn forget_failure(&self, size: [u32; 3]) {
        let mut known = self.shared.specialised.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|known| known.size != size || !matches!(known.code.get(), Some(Err(_))));
    }

    /// The code, made now if it is not there.
    fn code<'s>(&self, specialised: &'s Arc<Specialised>) -> &'s Result<Arc<dyn HalPipeline>, Error> {
        specialised.code.get_or_init(|| {
            let made = self.specialise(specialised);
            if let Err(error) = &made {
                let (name, size) = (self.label(), specialised.size);
                let message = format!(
                    "kernel `{name}` has no code of its own for threadgroups of {size:?} and runs the code for \
                     any size, which is slower: {error}"
                );
                notice::emit(NoticeKind::NotSpecialised, message);
            }
            made
        })
    }

    /// A known size tells which lanes are neighbours in memory, how many SIMD-groups there are, and which
    /// are full; that pays for nearly every kernel.
    fn specialisation_pays(&self) -> bool {
        self.kernel().specialised_group.is_none() && self.shared.specialiser.compiled.can_specialise()
    }

    /// Wrong sizes leave the general code, whose checks tell what is wrong.
    fn could_be_a_size(&self, size: [u32; 3]) -> bool {
        let threads = size.iter().try_fold(1u32, |product, &extent| product.checked_mul(extent));
        threads.is_some_and(|threads| (1..=self.kernel().max_threads_per_threadgroup).contains(&threads))
    }

    fn specialise(&self, wanted: &Arc<Specialised>) -> Result<Arc<dyn HalPipeline>, Error> {
        let Specialiser { compiled, device, constants } = &self.shared.specialiser;
        let constants = wanted.known.added_to(constants);
        let artifact = compiled.artifact(self.name(), &constants, Some(wanted.size), wanted.grids)?;
        let code = device.new_code(&artifact, self.name())?;
        let kept: Arc<dyn Evictable> = Arc::<Specialised>::clone(wanted);
        device.code().add(&artifact, &code, Some(Arc::downgrade(&kept)));
        Ok(code)
    }

    /// The same kernel with no code yet.
    pub(crate) fn again(&self) -> Result<Self, Error> {
        let Specialiser { compiled, device, constants } = &self.shared.specialiser;
        let descriptor = PipelineDescriptor::new(self.name()).constants(constants.clone());
        Self::new(compiled.clone(), device.clone(), descriptor)
    }

    /// What more code is made with.
    pub(crate) fn specialiser(&self) -> &Specialiser {
        &self.shared.specialiser
    }

    /// The handle of a visible function by the name the host uses: one of the kernel's own library, or one
    /// that is linked ([`PipelineDescriptor::linked_functions`]). The last one of that name counts.
    ///
    /// # Errors
    /// A name that neither has; a library of ready code.
    pub fn function_handle(&self, name: &str) -> Result<FunctionHandle, Error> {
        let functions = self.shared.specialiser.compiled.functions()?;
        let found = functions.iter().rfind(|function| function.name == name);
        found.map(|function| FunctionHandle::new(name, function.number)).ok_or_else(|| {
            let existing: Vec<_> = functions.iter().map(|function| format!("`{}`", function.name)).collect();
            let existing = if existing.is_empty() { "none".to_owned() } else { existing.join(", ") };
            let (kernel, name) = (self.name().to_owned(), name.to_owned());
            Error::UnknownFunction { kernel, name, existing }
        })
    }

    /// The device that it is for.
    pub(crate) fn device(&self) -> &Device {
        &self.shared.specialiser.device
    }

    /// Starts a node of a graph with this kernel.
    pub fn node(&self) -> NodeBuilder<'_> {
        NodeBuilder::new(self)
    }

    /// The kernel's reflection: arguments, limits, attributes.
    pub fn kernel(&self) -> &KernelInfo {
        self.shared.signature.kernel()
    }

    /// What the kernel runs as: machine code, or the interpreter where there is no libLLVM. The interpreter
    /// also runs kernels that are too large for machine code, which shows once code was requested: at the
    /// first launch, or after [`Pipeline::warm_up`].
    pub fn executor(&self) -> &Executor {
        match self.reduced_effort() {
            Some(reduced) if reduced.effort == Effort::Interpreted => {
                self.shared.interpreted.get_or_init(|| Executor::past_budget(&reduced))
            }
            _ => &self.shared.executor,
        }
    }

    /// The least effort that code of this pipeline was compiled with, if the kernel is past a compile budget;
    /// `None` also if there is no code yet.
    pub fn reduced_effort(&self) -> Option<ReducedEffort> {
        let known = self.shared.specialised.lock().unwrap_or_else(PoisonError::into_inner);
        let specialised = known.iter().filter_map(|known| known.code.get()?.as_ref().ok());
        let all = specialised.chain(self.shared.general.get());
        let reduced = all.filter_map(|pipeline| pipeline.kernel().reduced_effort.as_ref());
        reduced.max_by_key(|reduced| reduced.effort).cloned()
    }

    /// Its name for messages; the kernel's, unless it was made with another.
    pub fn label(&self) -> &str {
        if self.shared.label.is_empty() { self.name() } else { &self.shared.label }
    }

    /// The kernel's name.
    pub fn name(&self) -> &str {
        &self.kernel().name
    }

    /// Metal's `maxTotalThreadsPerThreadgroup`.
    pub fn max_total_threads_per_threadgroup(&self) -> u32 {
        self.kernel().max_threads_per_threadgroup
    }

    /// The threadgroup size of launches over a grid of threads that name none: what the kernel demands, what
    /// tuning found, or that of [`crate::tuning::default_group_size`].
    ///
    /// # Errors
    /// [`Error::ExtentTooLarge`]: an axis has more than 2³² threads.
    pub fn default_group_size(&self, threads: impl Into<Extent>) -> Result<[u32; 3], Error> {
        let threads = threads.into();
        Ok(self.shared.signature.group_size_for(threads.to_array()?, threads.dimensions()))
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
    /// It is compiled at the first call, because launches have code for their own size.
    pub(crate) fn hal(&self) -> Result<Arc<dyn HalPipeline>, Error> {
        if let Some(general) = self.shared.general.get() {
            return Ok(Arc::clone(general));
        }
        let Specialiser { compiled, device, constants } = &self.shared.specialiser;
        let artifact = compiled.artifact(self.name(), constants, None, Grids::ANY)?;
        let general = device.pipeline_of(&artifact, self.name())?;
        Ok(Arc::clone(self.shared.general.get_or_init(|| general)))
    }

    /// What stands for it in argument buffers, as `compute_pipeline_state`: Metal's `gpuResourceID`. Commands
    /// that have it can be executed while the pipeline exists.
    pub fn gpu_resource_id(&self) -> u64 {
        self.shared.handle.get_or_init(|| PipelineHandle::new(Arc::downgrade(&self.shared))).number()
    }

    /// The pipeline of what its clones share.
    pub(crate) fn of(shared: Arc<Shared>) -> Self {
        Pipeline { shared }
    }

    /// The sizes that measuring found for it.
    pub(crate) fn tuned(&self) -> &TunedSizes {
        self.shared.signature.tuned()
    }

    /// What its kernel declares, which pipelines of other devices can share.
    #[doc(hidden)]
    pub fn signature(&self) -> &Arc<Signature> {
        &self.shared.signature
    }
}
