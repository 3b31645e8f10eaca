//! What is known of a kernel without its code: warnings, reflection, layouts, descriptions.

use std::sync::{Arc, PoisonError};

use anymetal_hal::artifact::{ArgumentInfo, Artifact, KernelInfo};
use anymetal_msl::hir::{ArgumentLayout, argument_layout};
use anymetal_types::texture::BindingRole;

use super::one_kernel::OneKernel;
use super::{Library, Specialisation, Target};
use crate::artifacts::{self, kernel_of};
use crate::big_stack;
use crate::error::CompileError;
use crate::isolated;
use crate::metal;
use crate::prepared::Prepared;
use crate::reflection;

impl Library {
    /// What the semantic analysis of a kernel remarked without stopping, rendered without colour; empty if
    /// nothing. Runs the front end for the kernel if that has not happened.
    pub fn kernel_warnings(&self, kernel: &str) -> Result<String, CompileError> {
        self.check_name(kernel)?;
        if let Some(pool) = self.shared().isolation()? {
            return self.state.caught(kernel, None, None, || isolated::warnings(pool, self, kernel));
        }
        self.state.caught(kernel, None, None, || self.state.module(kernel))?;
        let modules = self.state.modules.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(modules.warnings.get(kernel).cloned().unwrap_or_default())
    }

    /// As [`Self::kernel_warnings`], of a kernel that was compiled in this process. Empty for one whose code
    /// was cached or that a worker process compiled: the front end does not run for it.
    pub fn reported_warnings(&self, kernel: &str) -> String {
        let modules = self.state.modules.lock().unwrap_or_else(PoisonError::into_inner);
        modules.warnings.get(kernel).cloned().unwrap_or_default()
    }

    /// A kernel's arguments, function constants, threadgroup memory and limits, before any specialisation.
    pub fn reflect(&self, kernel: &str) -> Result<KernelInfo, CompileError> {
        self.check_name(kernel)?;
        if let Some(pool) = self.shared().isolation()? {
            return self.state.caught(kernel, None, None, || isolated::reflect(pool, self, kernel));
        }
        let made = self.state.caught(kernel, None, None, || self.state.module(kernel))?;
        let reflect = || {
            let constants = made.constants(kernel).to_vec();
            let mut info = reflection::reflect(&made.module, kernel_of(&made.module, kernel)?, constants);
            // A pipeline's descriptor says which buffers with stage-in data there are.
            let is_of_pipeline = |argument: &ArgumentInfo| {
                argument.is_stage_in() || argument.role() == BindingRole::StageInRegion
            };
            info.arguments.retain(|argument| !is_of_pipeline(argument));
            Ok(info)
        };
        self.state.caught(kernel, None, None, || big_stack::run("reflection", reflect))
    }

    /// The structure that a kernel's buffer argument points to, or that behind the members of it that the
    /// path numbers, as argument encoders fill it in; `None` if there is no such argument or member or it
    /// points to no structure.
    pub fn argument_layout(
        &self,
        kernel: &str,
        index: u32,
        path: &[u32],
    ) -> Result<Option<ArgumentLayout>, CompileError> {
        self.check_name(kernel)?;
        if let Some(pool) = self.shared().isolation()? {
            let layout = || isolated::layout(pool, self, kernel, index, path);
            return self.state.caught(kernel, None, None, layout);
        }
        let layout = || {
            let front = self.state.front()?;
            let program = front.library().program(kernel, &self.state.handles()?);
            let program = program.map_err(|diagnostics| CompileError::Source(Arc::new(diagnostics)))?;
            Ok(argument_layout(&program, index, path))
        };
        self.state.caught(kernel, None, None, || big_stack::run("front end", layout))
    }

    /// A kernel's reflection with its function constants given: arguments that they disable are marked.
    pub fn reflect_specialised(
        &self,
        kernel: &str,
        specialisation: &Specialisation,
    ) -> Result<KernelInfo, CompileError> {
        self.state.caught(kernel, Some(specialisation), None, || {
            let Prepared { module, constants, .. } = &*self.prepared(kernel, specialisation)?;
            Ok(reflection::reflect(module, kernel_of(module, kernel)?, constants.clone()))
        })
    }

    /// The description of a kernel by its artifact for this processor, and every error that its source can
    /// cause, without generating code. Where there is no LLVM, the interpreter's.
    ///
    /// It is what the artifact tells except for the sizes of scratch memory, which are 0.
    pub fn describe(
        &self,
        kernel: &str,
        specialisation: &Specialisation,
    ) -> Result<KernelInfo, CompileError> {
        let artifact = self.description(kernel, specialisation, Target::Cpu)?;
        artifact.kernel(kernel).cloned().ok_or_else(|| {
            CompileError::internal("cache", format!("the description of kernel `{kernel}` is of another"))
        })
    }

    /// What [`Library::describe`] tells, with the target that it is of, as an artifact without code; the
    /// interpreter's artifact has its code. If there is no LLVM it is an error but for [`Target::Cpu`].
    pub fn description(
        &self,
        kernel: &str,
        specialisation: &Specialisation,
        target: Target,
    ) -> Result<Arc<Artifact>, CompileError> {
        self.check_name(kernel)?;
        match target {
            Target::Interpreter => return self.artifact(kernel, specialisation, target),
            Target::Metal => {
                let described = || metal::described(&OneKernel { library: self, kernel, specialisation });
                return self.state.caught(kernel, Some(specialisation), Some(target), described);
            }
            Target::Cpu | Target::CpuLlvm | Target::Nvidia { .. } => {}
        }
        let description = match self.shared().llvm_disabled()? {
            Some(error) => Err(CompileError::NoLlvm(error)),
            None => self.or_unoptimised(kernel, specialisation, target, |specialisation| {
                artifacts::described(&OneKernel { library: self, kernel, specialisation }, target)
            }),
        };
        match description {
            Err(CompileError::NoLlvm(_) | CompileError::TooMuchCode { .. }) if target == Target::Cpu => {
                self.artifact(kernel, specialisation, Target::Cpu)
            }
            other => other,
        }
    }
}
