//! Kernels that every device of a manager can run.
//!
//! Owns [`ManagedKernel`]: source and options, from which each device's pipeline is made when it is
//! first needed, or ahead.

use std::fmt;
use std::sync::{Arc, Weak};

use anymetal::reflection::KernelInfo;
use anymetal::{CompileOptions, Device, Error, Pipeline, PipelineDescriptor};

use super::core::Core;
use super::error::ManagerError;
use super::generation::Generation;
use super::observe::ManagerEvent;
use super::recipe::KernelSpec;
use super::slot::DeviceSlot;
use anymetal::call::Signature;

/// A kernel for all devices of a manager. Clones are the same kernel.
#[derive(Clone)]
pub struct ManagedKernel {
    pub(super) shared: Arc<KernelShared>,
}

pub(super) struct KernelShared {
    core: Weak<Core>,
    number: u64,
    name: Arc<str>,
    recipe: KernelSpec,
    /// Threadgroup sizes that an earlier process had code for.
    warm: Vec<[u32; 3]>,
    signature: Arc<Signature>,
}

impl ManagedKernel {
    pub(super) fn new(
        core: &Arc<Core>,
        source: &str,
        options: &CompileOptions,
        descriptor: PipelineDescriptor,
    ) -> Result<Self, ManagerError> {
        ManagedKernel::of_recipe(core, KernelSpec::new(source, options, descriptor))
    }

    pub(super) fn of_recipe(core: &Arc<Core>, recipe: KernelSpec) -> Result<Self, ManagerError> {
        // Mistakes in the source are told now, by whichever device is there.
        let alive = core.slots.iter().find_map(DeviceSlot::alive).ok_or(ManagerError::NoDevice)?;
        let number = core.next_id();
        let state = core.kept.as_ref().and_then(|kept| Some((kept, recipe.state()?)));
        let warm = state.as_ref().map_or_else(Vec::new, |(kept, state)| kept.sizes(state));
        let pipeline = alive.pipeline(number, |device| compile(core, &alive, &recipe, &warm, device))?;
        if let Some((kept, state)) = state {
            kept.made(number, state);
        }
        let (name, signature) = (Arc::from(pipeline.label()), Arc::clone(pipeline.signature()));
        let shared = KernelShared { core: Arc::downgrade(core), number, name, recipe, warm, signature };
        Ok(ManagedKernel { shared: Arc::new(shared) })
    }

    /// Its name for messages; the kernel's, unless it was made with another.
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Its reflection: arguments, limits, attributes.
    pub fn kernel(&self) -> &KernelInfo {
        self.shared.signature.kernel()
    }

    /// Makes the pipelines of all devices that are not lost now, so that no execution waits for a
    /// compilation, least of all one that falls back.
    pub fn compile_ahead(&self) -> Result<(), ManagerError> {
        let core = self.shared.core.upgrade();
        let slots = core.iter().flat_map(|core| &core.slots);
        for generation in slots.filter_map(DeviceSlot::alive) {
            self.shared.pipeline(&generation)?;
        }
        Ok(())
    }
}

/// Makes a pipeline, and tells it.
fn compile(
    core: &Core,
    site: &Generation,
    recipe: &KernelSpec,
    warm: &[[u32; 3]],
    device: &Device,
) -> Result<Pipeline, Error> {
    let made = recipe.pipeline(device, warm);
    let (work, source, failure) = (recipe.kernel(), recipe.source_hash(), made.as_ref().err());
    core.notify(&ManagerEvent::Compiled { device: site.name(), work, source, failure });
    made
}

impl KernelShared {
    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(super) fn signature(&self) -> &Signature {
        &self.signature
    }

    pub(super) fn is_of(&self, core: &Arc<Core>) -> bool {
        std::ptr::eq(self.core.as_ptr(), Arc::as_ptr(core))
    }

    pub(super) fn pipeline(&self, site: &Generation) -> Result<Pipeline, Error> {
        site.pipeline(self.number, |device| match self.core.upgrade() {
            Some(core) => compile(&core, site, &self.recipe, &self.warm, device),
            None => self.recipe.pipeline(device, &self.warm),
        })
    }
}

impl Drop for KernelShared {
    fn drop(&mut self) {
        if let Some(core) = self.core.upgrade() {
            core.forget_work(self.number);
        }
    }
}

impl fmt::Debug for ManagedKernel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ManagedKernel").field("name", &self.shared.name).finish_non_exhaustive()
    }
}
