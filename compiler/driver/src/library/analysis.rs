//! What kernels do, found in their modules without running.

use anymetal_analyze::{KernelAnalysis, Options, SizeChoice, SizeRequest};

use super::{Library, Specialisation};
use crate::error::CompileError;

impl Library {
    /// What a kernel does for each thread: operations, access patterns, registers, occupancy. Nothing is run.
    ///
    /// # Errors
    /// Those of the source and the specialisation.
    pub fn analyze(
        &self,
        kernel: &str,
        specialisation: &Specialisation,
        options: &Options,
    ) -> Result<KernelAnalysis, CompileError> {
        self.state.caught(kernel, Some(specialisation), None, || {
            let prepared = self.prepared_inlined(kernel, specialisation)?;
            anymetal_analyze::analyze(&prepared.module, kernel, options).ok_or_else(|| no_kernel(kernel))
        })
    }

    /// A threadgroup size for a kernel by what is known without running, step by step.
    ///
    /// # Errors
    /// Those of the source and the specialisation.
    pub fn choose_size(
        &self,
        kernel: &str,
        specialisation: &Specialisation,
        request: &SizeRequest<'_>,
    ) -> Result<SizeChoice, CompileError> {
        self.state.caught(kernel, Some(specialisation), None, || {
            let prepared = self.prepared_inlined(kernel, specialisation)?;
            anymetal_analyze::choose_size(&prepared.module, kernel, request).ok_or_else(|| no_kernel(kernel))
        })
    }
}

fn no_kernel(kernel: &str) -> CompileError {
    CompileError::internal("analysis", format!("the module for kernel `{kernel}` has no such kernel"))
}
