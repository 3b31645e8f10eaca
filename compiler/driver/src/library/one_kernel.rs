//! A kernel of a library as a subject of [`artifacts`](crate::artifacts).

use std::sync::Arc;

use anymetal_hal::artifact::Artifact;
use anymetal_hal::metal_source::MetalSource;

use super::{Library, Specialisation, Target};
use crate::artifacts::Subject;
use crate::bug::RunBoundary;
use crate::compiler::CompilerState;
use crate::error::CompileError;
use crate::isolated::{self, Wanted};
use crate::key::Key;
use crate::prepared::Prepared;

/// A kernel of a library, as artifacts are made of it.
pub(super) struct OneKernel<'a> {
    pub(super) library: &'a Library,
    pub(super) kernel: &'a str,
    pub(super) specialisation: &'a Specialisation,
}

impl Subject for OneKernel<'_> {
    fn shared(&self) -> &CompilerState {
        self.library.shared()
    }

    fn name(&self) -> String {
        self.kernel.to_owned()
    }

    fn specialisation(&self) -> &Specialisation {
        self.specialisation
    }

    fn run_boundary(&self) -> RunBoundary {
        self.library.run_boundary(self.specialisation)
    }

    fn key(&self, target: &str) -> Key {
        self.library.key(self.kernel, self.specialisation, target)
    }

    fn prepared(&self) -> Result<Arc<Prepared>, CompileError> {
        self.library.prepared(self.kernel, self.specialisation)
    }

    fn prepared_inlined(&self) -> Result<Arc<Prepared>, CompileError> {
        self.library.prepared_inlined(self.kernel, self.specialisation)
    }

    fn metal_source(&self) -> Result<MetalSource, CompileError> {
        self.library.metal_source(self.kernel, self.specialisation)
    }

    fn isolated(&self, target: Target, wanted: Wanted) -> Option<Result<Artifact, CompileError>> {
        let pool = self.shared().isolation().transpose()?;
        let made =
            |pool| isolated::artifact(pool, self.library, self.kernel, self.specialisation, target, wanted);
        Some(pool.and_then(made))
    }
}
