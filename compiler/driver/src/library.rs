//! Libraries: sources from which kernels are reflected and compiled.
//!
//! Owns [`Library`] and the requests that it takes ([`Specialisation`], [`Target`]). Invariant: a
//! library whose manifest was on disk is parsed only when a cache misses; everything made from it is stored
//! under a key of the source that was actually parsed.

mod analysis;
mod linking;
mod printing;

pub use linking::{FunctionNumber, LinkedFunction};
pub use printing::{Emit, PrintAfter};

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anymetal_diagnostics::{SourceFile, suggest};
use anymetal_hal::artifact::{ArgumentInfo, Artifact, FunctionConstantInfo, KernelInfo};
use anymetal_hal::capabilities::{Capabilities, DeviceKind};
use anymetal_hal::launch::ABI_VERSION;
use anymetal_hal::metal_source::MetalSource;
use anymetal_ir::Module;
use anymetal_msl::hir::{ArgumentLayout, argument_layout};
use anymetal_msl::pp::IncludeLoader;
use anymetal_opt::PassManager;
use anymetal_opt::group_size::depends_on_group_size;
use anymetal_sanitizer::Session;
use anymetal_telemetry::record::Stage;
use anymetal_types::family::{Family, FamilyRefusal};
use anymetal_types::texture::BindingRole;
use serde::{Deserialize, Serialize};

use crate::artifacts::{self, Subject, kernel_of, with_llvm};
use crate::big_stack;
use crate::bug::{Request, RunBoundary, caught};
use crate::cache::disk::Kind;
use crate::cache::manifest::Manifest;
use crate::compiler::CompilerState;
use crate::constants::{self, ConstantKey, ConstantValue};
use crate::error::CompileError;
use crate::family::{self, LibraryCalls};
use crate::includes::{self, FileIncludes, roots_of};
use crate::isolated::{self, ModuleStage, ParsedElsewhere, Wanted};
use crate::key::{Key, KeyBuilder};
use crate::metal;
use crate::observe::stage;
use crate::pipeline::{Calls, prepare, prepare_for_sanitizer};
use crate::prepared::Prepared;
use crate::reflection;
use crate::source::Source;

/// Maximum number of unspecialised modules that a library keeps: a kernel is usually reflected and then
/// compiled.
const MODULES_KEPT: usize = 8;

/// Specialisation of a kernel, besides its source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Specialisation {
    /// Values for function constants; a later value for the same constant counts.
    pub constants: Vec<(ConstantKey, ConstantValue)>,
    /// Whether values for constants that the kernel does not have are ignored, as Metal does, or refused.
    pub ignore_unknown_constants: bool,
    /// The one threadgroup size that the code is to run with; `None`: any.
    pub group_size: Option<[u32; 3]>,
    /// The code is to run grids of whole threadgroups of that size only, without an edge: half the code.
    pub whole_threadgroups_only: bool,
    /// Threadgroups are executed as they are given even if the kernel cannot tell: for grids in which rows of
    /// whole SIMD-groups are not faster.
    pub keeps_threadgroups: bool,
    /// Whether accesses are checked against the bindings. Without checks an access out of bounds is
    /// undefined behaviour of the whole process.
    pub checks: bool,
    /// As [`Module::threadgroup_reserve`]. Not under the sanitizer, and not for NVIDIA GPUs, where each
    /// variable is checked for itself.
    pub threadgroup_reserve: u64,
    /// As [`Module::whole_buffers`]. Not for NVIDIA GPUs.
    pub whole_buffers: bool,
}

impl Default for Specialisation {
    fn default() -> Self {
        Specialisation {
            constants: Vec::new(),
            ignore_unknown_constants: false,
            group_size: None,
            whole_threadgroups_only: false,
            keeps_threadgroups: false,
            checks: true,
            threadgroup_reserve: 0,
            whole_buffers: false,
        }
    }
}

impl Specialisation {
    /// The one threadgroup size, if there are whole threadgroups of it only.
    pub(crate) fn whole_group_size(&self) -> Option<[u32; 3]> {
        self.group_size.filter(|_| self.whole_threadgroups_only)
    }

    pub(crate) fn add_to(&self, key: KeyBuilder) -> KeyBuilder {
        let key = constants::add_to(&self.constants, key);
        let size = self.group_size.map(|size| format!("{size:?}")).unwrap_or_default();
        key.number(self.ignore_unknown_constants.into())
            .field(size)
            .number(self.whole_threadgroups_only.into())
            .number(self.keeps_threadgroups.into())
            .number(self.checks.into())
            .number(self.threadgroup_reserve)
            .number(self.whole_buffers.into())
    }
}

/// The target of a compile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Target {
    /// This processor: machine code, or the interpreter with a note if there is no LLVM.
    Cpu,
    /// Machine code for this processor, or an error if there is no LLVM.
    CpuLlvm,
    /// PTX for NVIDIA GPUs of an architecture and later ones, or an error if there is no LLVM. No GPU is
    /// needed.
    Nvidia {
        /// The architecture: 80 for `sm_80`.
        sm: u32,
    },
    /// Apple GPUs: the source as one text, which their device compiles. Needs no LLVM; accesses are not
    /// checked.
    Metal,
    /// The interpreter.
    Interpreter,
}

impl Target {
    /// The architecture that PTX is made for where a card has it: cards of later ones run it as fast.
    const NVIDIA_SM: u32 = 80;

    /// What kernels are compiled for on a device with these capabilities.
    pub fn of_device(capabilities: &Capabilities) -> Self {
        let sm = || capabilities.architecture.strip_prefix("sm_")?.parse::<u32>().ok();
        match capabilities.kind {
            DeviceKind::Nvidia => {
                Target::Nvidia { sm: sm().map_or(Self::NVIDIA_SM, |sm| sm.min(Self::NVIDIA_SM)) }
            }
            DeviceKind::Apple => Target::Metal,
            _ => Target::Cpu,
        }
    }

    /// Whether libLLVM makes its code.
    fn needs_llvm(self) -> bool {
        match self {
            Target::Cpu | Target::CpuLlvm | Target::Nvidia { .. } => true,
            Target::Metal | Target::Interpreter => false,
        }
    }
}

/// A source from which kernels are compiled. Clones are the same library.
#[derive(Clone)]
pub struct Library {
    state: Arc<LibraryState>,
}

/// State that clones of a library share.
pub(crate) struct LibraryState {
    shared: Arc<CompilerState>,
    source: Arc<Source>,
    source_key: Key,
    manifest: Manifest,
    front: OnceLock<Result<Arc<Front>, CompileError>>,
    modules: Mutex<Modules>,
    /// The functions of other libraries that its kernels may call.
    linked: Vec<LinkedFunction>,
}

/// A parsed source.
struct Front {
    parsed: Parsed,
    manifest: Manifest,
    /// The source as one text, once needed.
    text: OnceLock<Arc<str>>,
}

/// What the front end made of a source.
enum Parsed {
    Here(Box<anymetal_msl::Library>),
    /// Workers have it.
    Elsewhere(ParsedElsewhere),
}

impl Front {
    /// The front end's library. Not to be called where sources are compiled in workers.
    fn library(&self) -> &anymetal_msl::Library {
        match &self.parsed {
            Parsed::Here(library) => library,
            Parsed::Elsewhere(_) => panic!("a source that is compiled in workers is read in this process"),
        }
    }
}

/// Unspecialised modules, and when each was last used.
#[derive(Default)]
struct Modules {
    known: BTreeMap<String, (Arc<KernelModule>, u64)>,
    /// What was remarked on a kernel, rendered; kernels without remarks are left out.
    warnings: BTreeMap<String, String>,
    clock: u64,
}

/// A kernel's module as the front end made it.
struct KernelModule {
    module: Module,
    /// Found when first needed, which takes as long as preparing the module.
    constants: OnceLock<Vec<FunctionConstantInfo>>,
}

impl KernelModule {
    /// The function constants, with those marked that the kernel cannot do without. To be called on a large
    /// stack.
    fn constants(&self, kernel: &str) -> &[FunctionConstantInfo] {
        self.constants.get_or_init(|| reflection::function_constants(&self.module, kernel))
    }
}

impl std::fmt::Debug for Library {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Library").field("name", &self.state.source.name).finish_non_exhaustive()
    }
}

impl LibraryState {
    /// From the disk's manifest if there is one that still holds, otherwise by parsing now.
    pub(crate) fn new(
        source: Source,
        source_key: Key,
        shared: Arc<CompilerState>,
        target: Option<Target>,
    ) -> Result<Self, CompileError> {
        let on_disk = shared.disk.as_ref().and_then(|disk| disk.read(Kind::Manifest, &source_key));
        let (manifest, front) =
            match on_disk.and_then(|bytes| Manifest::from_bytes(&bytes, &roots_of(&source))) {
                Some(manifest) => (manifest, OnceLock::new()),
                None => {
                    let is_here = shared.isolation()?.is_none();
                    let needs_llvm = is_here && target.is_some_and(Target::needs_llvm);
                    let is_disabled = shared.llvm_disabled()?.is_some();
                    let request = Request { source: &source, kernel: None, specialisation: None, target };
                    let parsed = caught(&shared.reproducers, &request, || match needs_llvm && !is_disabled {
                        true => with_llvm(|| parse(&shared, &source, &source_key)).1,
                        false => parse(&shared, &source, &source_key),
                    });
                    let front = Arc::new(parsed?);
                    if let (Some(disk), Some(bytes)) = (&shared.disk, front.manifest.to_bytes()) {
                        disk.write(Kind::Manifest, &source_key, &bytes);
                    }
                    (front.manifest.clone(), OnceLock::from(Ok(front)))
                }
            };
        let modules = Mutex::new(Modules::default());
        let source = Arc::new(source);
        Ok(LibraryState { shared, source, source_key, manifest, front, modules, linked: Vec::new() })
    }

    /// By parsing now, with files that a loader finds; the key is known after that.
    pub(crate) fn with_includes<I: IncludeLoader + Send>(
        source: Source,
        shared: Arc<CompilerState>,
        includes: &mut I,
        key: impl FnOnce(&mut I) -> Key,
    ) -> Result<Self, CompileError> {
        let front = stage(Stage::Parse, &source.name, || {
            big_stack::run("front end", || parse_with(&source, includes))
        })?;
        let (manifest, source_key) = (front.manifest.clone(), key(includes));
        let (front, modules) = (OnceLock::from(Ok(Arc::new(front))), Mutex::new(Modules::default()));
        Ok(LibraryState {
            shared,
            source: Arc::new(source),
            source_key,
            manifest,
            front,
            modules,
            linked: Vec::new(),
        })
    }

    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    pub(crate) fn source_key(&self) -> &Key {
        &self.source_key
    }

    pub(crate) fn linked(&self) -> &[LinkedFunction] {
        &self.linked
    }

    /// The source as workers know it; one parses it if none has.
    pub(crate) fn parsed_elsewhere(&self) -> Result<&ParsedElsewhere, CompileError> {
        match &self.front()?.parsed {
            Parsed::Elsewhere(parsed) => Ok(parsed),
            Parsed::Here(_) => panic!("a source that was read in this process is asked of a worker"),
        }
    }

    /// Does work for one kernel; a bug that shows in it is an error with a reproducer.
    pub(crate) fn caught<T>(
        &self,
        kernel: &str,
        specialisation: Option<&Specialisation>,
        target: Option<Target>,
        work: impl FnOnce() -> Result<T, CompileError>,
    ) -> Result<T, CompileError> {
        let request = Request { source: &self.source, kernel: Some(kernel), specialisation, target };
        caught(&self.shared.reproducers, &request, work)
    }

    /// Whether the included files are unchanged.
    pub(crate) fn still_holds(&self) -> bool {
        self.current_manifest().still_holds(&roots_of(&self.source))
    }

    /// The key of the parsed source, or of the source as it is now.
    fn current_manifest(&self) -> &Manifest {
        match self.front.get() {
            Some(Ok(front)) => &front.manifest,
            _ => &self.manifest,
        }
    }

    /// The parsed source.
    fn front(&self) -> Result<&Arc<Front>, CompileError> {
        let parse = || parse(&self.shared, &self.source, &self.source_key).map(Arc::new);
        self.front.get_or_init(parse).as_ref().map_err(Clone::clone)
    }

    /// The kernel's module as the front end made it.
    fn module(&self, kernel: &str) -> Result<Arc<KernelModule>, CompileError> {
        if let Some(module) = self.known_module(kernel) {
            return Ok(module);
        }
        let lower = || self.linked_module(kernel, false);
        let (module, warnings) = stage(Stage::Lower, kernel, || big_stack::run("front end", lower))?;
        let module = Arc::new(KernelModule { module, constants: OnceLock::new() });
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        modules.clock += 1;
        let now = modules.clock;
        if !warnings.list.is_empty() {
            modules.warnings.insert(kernel.to_owned(), warnings.render_text(false));
        }
        modules.known.insert(kernel.to_owned(), (Arc::clone(&module), now));
        if modules.known.len() > MODULES_KEPT {
            let oldest =
                modules.known.iter().min_by_key(|(_, (_, used))| *used).map(|(name, _)| name.clone());
            oldest.map(|name| modules.known.remove(&name));
        }
        Ok(module)
    }

    fn known_module(&self, kernel: &str) -> Option<Arc<KernelModule>> {
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        modules.clock += 1;
        let now = modules.clock;
        let (module, used) = modules.known.get_mut(kernel)?;
        *used = now;
        Some(Arc::clone(module))
    }
}

fn parse(shared: &CompilerState, source: &Source, key: &Key) -> Result<Front, CompileError> {
    stage(Stage::Parse, &source.name, || {
        if let Some(pool) = shared.isolation()? {
            let (parsed, manifest) = isolated::parse(pool, source, key)?;
            return Ok(Front { parsed: Parsed::Elsewhere(parsed), manifest, text: OnceLock::new() });
        }
        big_stack::run("front end", || {
            let mut includes = FileIncludes::new(source);
            let mut front = parse_with(source, &mut includes)?;
            front.manifest.probes = includes.into_probes();
            Ok(front)
        })
    })
}

/// Parses a source in this process. To be called on a large stack. The manifest has no probes.
fn parse_with(source: &Source, includes: &mut (dyn IncludeLoader + Send)) -> Result<Front, CompileError> {
    let options = anymetal_msl::CompileOptions {
        definitions: source.options.definitions.clone(),
        math_mode: source.options.math_mode,
        metal_version: source.options.language_version,
        logging: source.options.logging,
    };
    let (library, diagnostics) =
        anymetal_msl::Library::parse(&source.name, &source.bytes, &options, includes);
    let Some(library) = library.filter(|_| !diagnostics.has_errors()) else {
        debug_assert!(diagnostics.has_errors(), "a source that is refused has an error");
        return Err(CompileError::Source(Arc::new(diagnostics)));
    };
    let names = |functions: &[anymetal_msl::KernelName]| {
        functions.iter().map(|function| function.name.clone()).collect()
    };
    let (kernels, visible_functions) = (names(library.kernels()), names(library.visible_functions()));
    let warnings = if diagnostics.list.is_empty() { String::new() } else { diagnostics.render_text(false) };
    let manifest = Manifest { probes: Vec::new(), kernels, visible_functions, warnings };
    Ok(Front { parsed: Parsed::Here(Box::new(library)), manifest, text: OnceLock::new() })
}

impl Library {
    pub(crate) fn new(state: Arc<LibraryState>) -> Self {
        Library { state }
    }

    /// The kernels' names, in source order.
    pub fn kernel_names(&self) -> &[String] {
        &self.state.current_manifest().kernels
    }

    /// The diagnostics that did not stop the compilation, rendered without colour; empty if there are none.
    pub fn warnings(&self) -> &str {
        &self.state.current_manifest().warnings
    }

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
            None => self.state.caught(kernel, Some(specialisation), Some(target), || {
                artifacts::described(&OneKernel { library: self, kernel, specialisation }, target)
            }),
        };
        match description {
            Err(CompileError::NoLlvm(_)) if target == Target::Cpu => {
                self.artifact(kernel, specialisation, Target::Cpu)
            }
            other => other,
        }
    }

    /// A kernel's artifact: from memory, from disk, or compiled now.
    pub fn artifact(
        &self,
        kernel: &str,
        specialisation: &Specialisation,
        target: Target,
    ) -> Result<Arc<Artifact>, CompileError> {
        self.check_name(kernel)?;
        self.state.caught(kernel, Some(specialisation), Some(target), || {
            artifacts::artifact(&OneKernel { library: self, kernel, specialisation }, target)
        })
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
            let constants = made.constants(kernel).to_vec();
            let budget = &self.shared().budget;
            let manager = &mut PassManager::default();
            let module = prepare(&made.module, kernel, specialisation, calls, budget, manager)?;
            let depends_on_group_size = made.module.functions.iter().any(depends_on_group_size);
            Ok(Prepared { module, constants, depends_on_group_size })
        };
        stage(Stage::Prepare, kernel, || big_stack::run("middle end", prepare))
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
        RunBoundary {
            reproducers: Arc::clone(&self.shared().reproducers),
            source: Some(Arc::clone(&self.state.source)),
            specialisation: specialisation.clone(),
        }
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

/// A kernel of a library, as artifacts are made of it.
struct OneKernel<'a> {
    library: &'a Library,
    kernel: &'a str,
    specialisation: &'a Specialisation,
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
