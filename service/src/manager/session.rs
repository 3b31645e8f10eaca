//! The session of a manager, as programs see it.
//!
//! Owns [`ManagerSession`].

use std::path::Path;
use std::sync::Arc;

use anymetal_audit::session::{Session, SessionError, SetAside, TuningValue, source_hash};

use super::core::Core;
use super::error::ManagerError;
use super::kept::SessionStore;
use super::kernel::ManagedKernel;
use super::recipe::KernelSpec;

/// What a manager keeps for its next start, in a file: its pipelines with the threadgroup sizes that
/// have code, tuning values, and the labels and sizes of its buffers.
///
/// A kernel that is made again from the same source is compiled at once for the threadgroup sizes
/// that it had code for; each device begins with the number of streams that it had. The file is
/// written by [`ManagerSession::save`] and when the last handle of the manager is dropped. Two
/// managers need two files: the one that saves last replaces what the other saved.
#[derive(Debug, Clone, Copy)]
pub struct ManagerSession<'a> {
    core: &'a Arc<Core>,
    kept: &'a SessionStore,
}

impl<'a> ManagerSession<'a> {
    pub(super) fn new(core: &'a Arc<Core>, kept: &'a SessionStore) -> Self {
        ManagerSession { core, kept }
    }

    /// The file.
    pub fn path(&self) -> &'a Path {
        self.kept.path()
    }

    /// The session as the manager found it; empty if there was no file, or none that can be used.
    pub fn found(&self) -> &'a Session {
        self.kept.found()
    }

    /// The file that could not be used, under its name now; it is told as a notice, too.
    pub fn set_aside(&self) -> Option<&'a SetAside> {
        self.kept.set_aside()
    }

    /// The kernels of a source that the session found, compiled for all devices and their threadgroup
    /// sizes. Those with options that this program does not know are left out.
    pub fn kernels(&self, source: &str) -> Result<Vec<ManagedKernel>, ManagerError> {
        let hash = source_hash(source);
        let of_source = self.found().pipelines.iter().filter(|pipeline| pipeline.source_hash == hash);
        let mut kernels = Vec::new();
        for recipe in of_source.filter_map(|pipeline| KernelSpec::of(pipeline, source)) {
            let kernel = ManagedKernel::of_recipe(self.core, recipe)?;
            kernel.compile_ahead()?;
            kernels.push(kernel);
        }
        Ok(kernels)
    }

    /// A tuning value by its name, as it was found or set.
    pub fn tuning(&self, name: &str) -> Option<TuningValue> {
        self.kept.tuning(name)
    }

    /// Sets a tuning value.
    pub fn tune(&self, name: &str, value: impl Into<TuningValue>) {
        self.kept.tune(name, value.into());
    }

    /// What the file would have now.
    pub fn now(&self) -> Session {
        self.core.note_session(self.kept);
        self.kept.session()
    }

    /// Writes the file: whole, or not at all.
    pub fn save(&self) -> Result<(), SessionError> {
        self.core.note_session(self.kept);
        self.kept.save()
    }
}
