//! Libraries: sources from which kernels are reflected and compiled.
//!
//! Owns [`Library`]; `request.rs` has the requests that it takes, `state.rs` the parse and the modules.
//! Invariant: a library whose manifest was on disk is parsed only when a cache misses; everything made from
//! it is stored under a key of the source that was actually parsed.

mod analysis;
mod checking;
mod describe;
mod linking;
mod one_kernel;
mod printing;
mod remarks;
mod request;
mod state;

pub use linking::{FunctionNumber, LinkedFunction};
pub use printing::{Emit, PrintAfter};
pub use remarks::KernelRemark;
pub use request::{Specialisation, Target};
pub(crate) use state::LibraryState;

use std::sync::Arc;

use anymetal_diagnostics::{SourceFile, suggest};
use anymetal_hal::artifact::Artifact;
use anymetal_hal::launch::ABI_VERSION;
use anymetal_hal::metal_source::MetalSource;
use anymetal_ir::Module;
use anymetal_opt::group_size::depends_on_group_size;
use anymetal_opt::{Level, PassManager};
use anymetal_sanitizer::Session;
use anymetal_telemetry::record::Stage;
use anymetal_types::family::{Family, FamilyRefusal};
use serde::{Deserialize, Serialize};

use crate::artifacts::{self, kernel_of};
use crate::big_stack;
use crate::bug::{RunBoundary, RunSource};
use crate::compiler::CompilerState;
use crate::error::CompileError;
use crate::family::{self, LibraryCalls};
use crate::graphics::GraphicsFunction;
use crate::includes;
use crate::injected_bug::panic_if_requested;
use crate::isolated::{self, ModuleStage};
use crate::key::{Key, KeyBuilder};
use crate::metal;
use crate::note::Note;
use crate::observe::kernel_stage;
use crate::pipeline::{Calls, prepare, prepare_for_sanitizer};
use crate::prepared::Prepared;
use one_kernel::OneKernel;

/// A source from which kernels are compiled. Clones are the same library.
#[derive(Clone)]
pub struct Library {
    state: Arc<LibraryState>,
}

impl std::fmt::Debug for Library {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Library").field("name", &self.state.source.name).finish_non_exhaustive()
    }
}

impl Library {
    pub(crate) fn new(state: Arc<LibraryState>) -> Self {
        Library { state }
    }

    /// The kernels' names, in source order.
    pub fn kernel_names(&self) -> &[String] {
        &self.state.current_manifest().kernels
    }

    /// The graphics functions with a definition, in source order: they are checked, and do not run.
    pub fn graphics_functions(&self) -> &[GraphicsFunction] {
        &self.state.current_manifest().graphics_functions
    }

    /// The diagnostics that did not stop the compilation, rendered without colour; empty if there are none.
    pub fn warnings(&self) -> &str {
        &self.state.current_manifest().warnings
    }

    /// A kernel's artifact: from memory, from disk, or compiled now.
    pub fn artifact(
        &self,
        kernel: &str,
        specialisation: &Specialisation,
        target: Target,
    ) -> Result<Arc<Artifact>, CompileError> {
        self.check_name(kernel)?;
        self.or_unoptimised(kernel, specialisation, target, |specialisation| {
            artifacts::artifact_of_any_size(&OneKernel { library: self, kernel, specialisation }, target)
        })
    }

    /// Does work for a kernel. If it fails with a compiler bug, does it once more at level O0, and notes the
    /// bug if that succeeds. A search for the bug ([`PassOptions::bisect_limit`]) sees it as an error.
    ///
    /// [`PassOptions::bisect_limit`]: anymetal_opt::PassOptions::bisect_limit
    fn or_unoptimised<T>(
        &self,
        kernel: &str,
        specialisation: &Specialisation,
        target: Target,
        work: impl Fn(&Specialisation) -> Result<T, CompileError>,
    ) -> Result<T, CompileError> {
        let attempt = |specialisation: &Specialisation| {
            self.state.caught(kernel, Some(specialisation), Some(target), || work(specialisation))
        };
        let passes = &specialisation.passes;
        match attempt(specialisation) {
            Err(CompileError::Internal(bug)) if passes.level > Level::O0 && passes.bisect_limit.is_none() => {
                let passes = passes.clone().level(Level::O0);
                let Ok(made) = attempt(&Specialisation { passes, ..specialisation.clone() }) else {
                    return Err(CompileError::Internal(bug));
                };
                self.shared().notes.add(Note::CompilerBug { kernel: kernel.to_owned(), bug });
                Ok(made)
            }
            other => other,
        }
    }

    /// The kernel's module for the sanitizer: specialised and inlined, with memory flags and orders, and
    /// without passes that could hide an error.
    pub(crate) fn module_for_sanitizer(
        &self,
        kernel: &str,
        specialisation: &Specialisation,
    ) -> Result<Module, CompileError> {
        self.check_name(kernel)?;
        if let Some(pool) = self.shared().isolation()? {
            let stage = ModuleStage::Sanitizer;
            let prepared = || isolated::prepared(pool, self, kernel, specialisation, stage);
            let prepared = self.state.caught(kernel, Some(specialisation), None, prepared)?;
            return Ok(prepared.module);
        }
        let prepare = || {
            let (module, _) = self.state.linked_module(kernel, true)?;
            prepare_for_sanitizer(&module, kernel, specialisation, &self.shared().budget)
        };
        self.state.caught(kernel, Some(specialisation), None, || big_stack::run("front end", prepare))
    }

    /// Whether GPUs of a family have all that the kernel uses. Needs the front end even where the kernel's
    /// code is cached.
    ///
    /// # Errors
    /// [`CompileError::Family`] with the first use of each feature that they lack; all that preparing the
    /// kernel can fail with.
    pub fn check_family(
        &self,
        kernel: &str,
        specialisation: &Specialisation,
        family: Family,
    ) -> Result<(), CompileError> {
        self.state.caught(kernel, Some(specialisation), None, || {
            let refusal = match self.shared().isolation()? {
                Some(pool) => isolated::family_refusal(pool, self, kernel, specialisation, family)?,
                None => self.family_refusal(kernel, specialisation, family)?,
            };
            match refusal {
                Some(refusal) => Err(CompileError::Family(Box::new(refusal))),
                None => Ok(()),
            }
        })
    }

    fn family_refusal(
        &self,
        kernel: &str,
        specialisation: &Specialisation,
        family: Family,
    ) -> Result<Option<FamilyRefusal>, CompileError> {
        let prepared = self.prepared(kernel, specialisation)?;
        let made = self.state.module(kernel)?;
        let found = kernel_of(&prepared.module, kernel)?;
        Ok(family::refusal(&prepared.module, found, &LibraryCalls::of(&made.module), family))
    }

    /// Tells a session of the user's sources and their marks.
    pub(crate) fn add_sources(&self, session: &mut Session) -> Result<(), CompileError> {
        for linked in &self.state.linked {
            linked.library.add_sources(session)?;
        }
        let files = match self.shared().isolation()? {
            Some(pool) => isolated::sources(pool, self)?,
            None => self.own_sources()?,
        };
        for MarkedFile { name, text, marks } in &files {
            session.add_source(name, text, marks.iter().map(|(lines, text)| (*lines, text.as_str())));
        }
        Ok(())
    }

    /// The user's files of this library, without those of linked ones.
    pub(crate) fn own_sources(&self) -> Result<Vec<MarkedFile>, CompileError> {
        let library = self.state.front()?.library();
        let all = library.marks();
        let file = |file: &Arc<SourceFile>| {
            let marks = all.iter().filter(|mark| mark.file == file.name);
            MarkedFile {
                name: file.name.clone(),
                text: file.text.clone(),
                marks: marks.map(|mark| (mark.lines, mark.text.clone())).collect(),
            }
        };
        Ok(library.files().into_iter().filter_map(|id| library.source_map().file(id)).map(file).collect())
    }

    fn check_name(&self, kernel: &str) -> Result<(), CompileError> {
        let names = self.kernel_names();
        if names.iter().any(|name| name == kernel) {
            return Ok(());
        }
        Err(CompileError::UnknownKernel {
            name: kernel.to_owned(),
            existing: names.to_vec(),
            suggestion: suggest(kernel, names.iter().map(String::as_str)).map(str::to_owned),
        })
    }

    pub(crate) fn state(&self) -> &LibraryState {
        &self.state
    }

    /// State that all libraries of the compiler share.
    pub(crate) fn shared(&self) -> &CompilerState {
        &self.state.shared
    }

    /// As [`Self::prepared`], with all calls inlined whatever the kernel's size.
    pub(crate) fn prepared_inlined(
        &self,
        kernel: &str,
        specialisation: &Specialisation,
    ) -> Result<Arc<Prepared>, CompileError> {
        let prepared = self.prepared(kernel, specialisation)?;
        if !prepared.has_calls() {
            return Ok(prepared);
        }
        let size = specialisation.whole_group_size();
        let key = self.prepared_key(kernel, specialisation, size, Calls::Inlined);
        let make = || self.prepare(kernel, specialisation, Calls::Inlined).map(Arc::new);
        self.shared().prepared.get_or_make(key, |_| true, make)
    }

    /// The module for executors, and the constants for reflection: kept, or made now. Large kernels have
    /// calls.
    pub(crate) fn prepared(
        &self,
        kernel: &str,
        specialisation: &Specialisation,
    ) -> Result<Arc<Prepared>, CompileError> {
        self.check_name(kernel)?;
        // From here on the key is that of the source that was parsed.
        self.state.front()?;
        let kept = &self.shared().prepared;
        let size = specialisation.whole_group_size();
        let key = |size| self.prepared_key(kernel, specialisation, size, Calls::Kept);
        if size.is_some()
            && let Some(any_size) = kept.get(key(None)).filter(|prepared| !prepared.depends_on_group_size)
        {
            return Ok(any_size);
        }
        let make = || self.prepare(kernel, specialisation, Calls::Kept).map(Arc::new);
        kept.get_or_make(key(size), |_| true, make)
    }

    fn prepare(
        &self,
        kernel: &str,
        specialisation: &Specialisation,
        calls: Calls,
    ) -> Result<Prepared, CompileError> {
        if let Some(pool) = self.shared().isolation()? {
            let stage = match calls {
                Calls::Kept => ModuleStage::Prepared,
                Calls::Inlined => ModuleStage::Inlined,
            };
            return isolated::prepared(pool, self, kernel, specialisation, stage);
        }
        let made = self.state.module(kernel)?;
        self.shared().counts.add_prepared();
        let prepare = || {
            if specialisation.passes.level > Level::O0 {
                panic_if_requested("optimiser");
            }
            let constants = made.constants(kernel).to_vec();
            let budget = &self.shared().budget;
            let manager = &mut PassManager::new(&specialisation.passes);
            let module = prepare(&made.module, kernel, specialisation, calls, budget, manager)?;
            let depends_on_group_size = made.module.functions.iter().any(depends_on_group_size);
            let passes = specialisation.passes.after(manager.executions());
            Ok(Prepared { module, constants, depends_on_group_size, passes })
        };
        kernel_stage(Stage::Prepare, kernel, || big_stack::run("middle end", prepare))
    }

    /// The key of a prepared module: all that [`prepare`] depends on.
    fn prepared_key(
        &self,
        kernel: &str,
        specialisation: &Specialisation,
        size: Option<[u32; 3]>,
        calls: Calls,
    ) -> Key {
        let specialisation = Specialisation {
            group_size: size,
            whole_threadgroups_only: size.is_some(),
            checks: false,
            ..specialisation.clone()
        };
        let name = match calls {
            Calls::Kept => "prepared",
            Calls::Inlined => "prepared inlined",
        };
        self.key(kernel, &specialisation, name)
    }

    /// The boundary for runs of a kernel by the interpreter.
    pub(crate) fn run_boundary(&self, specialisation: &Specialisation) -> RunBoundary {
        let source = RunSource {
            reproducers: Arc::clone(&self.shared().reproducers),
            source: Arc::clone(&self.state.source),
            specialisation: specialisation.clone(),
        };
        RunBoundary { source: Some(source) }
    }

    pub(crate) fn key(&self, kernel: &str, specialisation: &Specialisation, target: &str) -> Key {
        let content = includes::content_key(&self.state.source_key, &self.state.current_manifest().probes);
        let key = KeyBuilder::new("artifact").field(content.as_bytes()).field(kernel).field(target);
        let key = self.state.add_linked_to(key);
        let key = self.shared().budget.add_to(key);
        specialisation.add_to(key).number(ABI_VERSION.into()).finish()
    }
}

/// A source file with the lines that its marks are about and their texts.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct MarkedFile {
    name: String,
    text: String,
    marks: Vec<((u32, u32), String)>,
}

impl Library {
    /// The source for a device that compiles it.
    pub(crate) fn metal_source(
        &self,
        kernel: &str,
        specialisation: &Specialisation,
    ) -> Result<MetalSource, CompileError> {
        if let Some(pool) = self.shared().isolation()? {
            return isolated::metal_source(pool, self, kernel, specialisation);
        }
        let state = &self.state;
        let front = state.front()?;
        let text = front.text.get_or_init(|| front.library().resolved_source().into());
        let module = &state.module(kernel)?.module;
        let is_table = |arg: &anymetal_ir::KernelArg| arg.type_name.starts_with("visible_function_table<");
        let has_table = kernel_of(module, kernel)?.args.iter().any(is_table);
        if has_table || !state.linked.is_empty() {
            let reason =
                "tables of visible functions and linked functions are not passed on to Metal".to_owned();
            return Err(CompileError::Unsupported { kernel: kernel.to_owned(), reason });
        }
        let options = metal::options(&state.source.options, module, kernel, specialisation)?;
        Ok(MetalSource { text: Arc::clone(text), options })
    }
}
