//! Dispatches: a kernel, its arguments and its grid.
//!
//! Owns [`Dispatch`] and [`IndirectDispatch`]. Invariant: a dispatch is checked once, by the first call of
//! [`Dispatch::check`]. Afterwards only arguments that no program binds are added
//! ([`anymetal_abi::textures::BindingRole::is_bound_late`]), and [`Dispatch::check_complete`] checks those.

use std::sync::{Arc, OnceLock};

use crate::artifact::KernelInfo;
use crate::binding::{Binding, ThreadgroupMemory};
use crate::buffer::Buffer;
use crate::capabilities::Capabilities;
use crate::error::DeviceError;
use crate::grid::Grid;
use crate::launch::ThreadgroupLayout;
use crate::pipeline::Pipeline;
use crate::validate::{self, DispatchShape};

/// Runs a kernel over a grid.
#[derive(Debug)]
pub struct Dispatch {
    pipeline: Arc<dyn Pipeline>,
    bindings: Vec<Binding>,
    threadgroup_memory: Vec<ThreadgroupMemory>,
    grid: Grid,
    group_size: [u32; 3],
    cooperative: bool,
    checked: OnceLock<CheckedDispatch>,
}

/// The result of the check of a [`Dispatch`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckedDispatch {
    /// The grid; `None` if it is empty.
    pub shape: Option<DispatchShape>,
    /// The threadgroup memory.
    pub threadgroup_layout: ThreadgroupLayout,
}

impl Dispatch {
    /// A dispatch without arguments, in threadgroups of `group_size` threads.
    pub fn new(pipeline: Arc<dyn Pipeline>, grid: Grid, group_size: [u32; 3]) -> Self {
        let (bindings, threadgroup_memory) = (Vec::new(), Vec::new());
        let (cooperative, checked) = (false, OnceLock::new());
        Dispatch { pipeline, bindings, threadgroup_memory, grid, group_size, cooperative, checked }
    }

    /// Sets the bindings, in any order. The last binding of a Metal index counts.
    #[must_use]
    pub fn with_bindings(self, bindings: Vec<Binding>) -> Self {
        Dispatch { bindings, checked: OnceLock::new(), ..self }
    }

    /// Sets the lengths of dynamic threadgroup memory.
    #[must_use]
    pub fn with_threadgroup_memory(self, threadgroup_memory: Vec<ThreadgroupMemory>) -> Self {
        Dispatch { threadgroup_memory, checked: OnceLock::new(), ..self }
    }

    /// Sets whether all threadgroups are in progress at once, so that they can meet at barriers of the grid.
    /// A kernel with such barriers ([`KernelInfo::grid_barriers`]) is refused otherwise.
    #[must_use]
    pub fn with_cooperation(self, cooperative: bool) -> Self {
        Dispatch { cooperative, checked: OnceLock::new(), ..self }
    }

    /// The pipeline.
    pub fn pipeline(&self) -> &Arc<dyn Pipeline> {
        &self.pipeline
    }

    /// The reflection of the kernel.
    pub fn kernel(&self) -> &KernelInfo {
        self.pipeline.kernel()
    }

    /// The bindings. The last binding of a Metal index counts.
    pub fn bindings(&self) -> &[Binding] {
        &self.bindings
    }

    /// The lengths of dynamic threadgroup memory.
    pub fn threadgroup_memory(&self) -> &[ThreadgroupMemory] {
        &self.threadgroup_memory
    }

    /// The grid; that of an indirect dispatch is one threadgroup.
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// Threads per full threadgroup.
    pub fn group_size(&self) -> [u32; 3] {
        self.group_size
    }

    /// Whether all threadgroups are in progress at once.
    pub fn is_cooperative(&self) -> bool {
        self.cooperative
    }

    /// Checks all that is known when the dispatch is encoded: its grid, threadgroup size, bindings and
    /// threadgroup memory. The first call that succeeds does so, with its `limits`; later calls return what
    /// it computed.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self, limits: &Capabilities) -> Result<&CheckedDispatch, DeviceError> {
        if let Some(checked) = self.checked.get() {
            return Ok(checked);
        }
        let checked = self.check_alone(limits)?;
        Ok(self.checked.get_or_init(|| checked))
    }

    /// As [`Dispatch::check`], for limits that are not the device's: the device checks with its limits too.
    pub(crate) fn check_alone(&self, limits: &Capabilities) -> Result<CheckedDispatch, DeviceError> {
        let kernel = self.kernel();
        validate::check_cooperative(kernel, self.cooperative)?;
        let shape = validate::dispatch_shape(kernel, self.grid, self.group_size, limits)?;
        validate::check_bindings(kernel, &self.bindings, limits)?;
        let threadgroup_layout = validate::threadgroup_layout(kernel, &self.threadgroup_memory, limits)?;
        Ok(CheckedDispatch { shape, threadgroup_layout })
    }

    /// As [`Dispatch::check`], when all is bound: for devices, which nothing reaches without this check.
    ///
    /// # Errors
    /// Those of [`Dispatch::check`], and a late binding that is missing or wrong.
    pub fn check_complete(&self, limits: &Capabilities) -> Result<&CheckedDispatch, DeviceError> {
        let checked = self.check(limits)?;
        validate::check_late_bindings(self.kernel(), &self.bindings, limits)?;
        Ok(checked)
    }

    /// The kernel and its bindings, to add those that are bound late.
    pub(crate) fn late_bindings(&mut self) -> (&KernelInfo, &mut Vec<Binding>) {
        (self.pipeline.kernel(), &mut self.bindings)
    }
}

/// Runs a kernel over a grid of threadgroups whose three 32-bit extents are read from a buffer when its turn
/// comes, so that an earlier command may write them. Counts beyond the limits end the command buffer with an
/// error.
#[derive(Debug)]
pub struct IndirectDispatch {
    dispatch: Dispatch,
    counts: Arc<dyn Buffer>,
    counts_offset: u64,
}

impl IndirectDispatch {
    /// Replaces the grid of `dispatch` by the counts x, y and z at `counts_offset`, a multiple of 4. The
    /// result is not cooperative, because a device cannot check beforehand whether it has capacity for all
    /// threadgroups.
    ///
    /// # Errors
    /// [`DeviceError::MisalignedCounts`] and [`DeviceError::RangeOutsideBuffer`].
    pub fn new(dispatch: Dispatch, counts: Arc<dyn Buffer>, counts_offset: u64) -> Result<Self, DeviceError> {
        validate::check_counts(dispatch.kernel(), counts_offset, counts.length())?;
        let grid = Grid::Threadgroups([1; 3]);
        let dispatch = Dispatch { grid, cooperative: false, checked: OnceLock::new(), ..dispatch };
        Ok(IndirectDispatch { dispatch, counts, counts_offset })
    }

    /// All but the grid.
    pub fn dispatch(&self) -> &Dispatch {
        &self.dispatch
    }

    /// The buffer with the counts of threadgroups.
    pub fn counts(&self) -> &Arc<dyn Buffer> {
        &self.counts
    }

    /// The first byte of the counts.
    pub fn counts_offset(&self) -> u64 {
        self.counts_offset
    }

    /// The shape of the dispatch, once its counts are known. The counts are data of the device, so this is
    /// their only check.
    ///
    /// # Errors
    /// [`DeviceError::GridTooLarge`], and the errors of the threadgroup size.
    pub fn shape(
        &self,
        counts: [u32; 3],
        limits: &Capabilities,
    ) -> Result<Option<DispatchShape>, DeviceError> {
        let dispatch = &self.dispatch;
        validate::dispatch_shape(dispatch.kernel(), Grid::Threadgroups(counts), dispatch.group_size, limits)
    }

    /// The dispatch, to add what is bound late.
    pub(crate) fn dispatch_mut(&mut self) -> &mut Dispatch {
        &mut self.dispatch
    }
}
