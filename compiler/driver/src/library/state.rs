//! The state that clones of a library share: its source, the parse, and the modules of its kernels.
//!
//! Owns [`LibraryState`]. Invariant: a library whose manifest was on disk is parsed only when something needs
//! the parse; [`LibraryState::front`] is the only way to it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anymetal_hal::artifact::FunctionConstantInfo;
use anymetal_hal::lru::LruMap;
use anymetal_ir::Module;
use anymetal_msl::pp::IncludeLoader;
use anymetal_telemetry::record::Stage;

use super::{LinkedFunction, Specialisation, Target};
use crate::artifacts::with_llvm;
use crate::big_stack;
use crate::bug::{Request, caught};
use crate::cache::disk::Kind;
use crate::cache::manifest::Manifest;
use crate::compiler::CompilerState;
use crate::error::CompileError;
use crate::graphics::GraphicsFunction;
use crate::includes::{FileIncludes, roots_of};
use crate::isolated::{self, ParsedElsewhere};
use crate::key::Key;
use crate::observe::{kernel_stage, stage};
use crate::reflection;
use crate::source::Source;

/// Maximum number of unspecialised modules that a library keeps: a kernel is usually reflected and then
/// compiled.
const MODULES_KEPT: usize = 8;

/// State that clones of a library share.
pub(crate) struct LibraryState {
    pub(super) shared: Arc<CompilerState>,
    pub(super) source: Arc<Source>,
    pub(super) source_key: Key,
    pub(super) manifest: Manifest,
    pub(super) front: OnceLock<Result<Arc<Front>, CompileError>>,
    pub(super) modules: Mutex<Modules>,
    /// What [`super::Library::check`] found.
    pub(super) checked: OnceLock<Result<(), CompileError>>,
    /// The functions of other libraries that its kernels may call.
    pub(super) linked: Vec<LinkedFunction>,
}

/// A parsed source.
pub(super) struct Front {
    parsed: Parsed,
    manifest: Manifest,
    /// The source as one text, once needed.
    pub(super) text: OnceLock<Arc<str>>,
}

/// What the front end made of a source.
enum Parsed {
    Here(Box<anymetal_msl::Library>),
    /// Workers have it.
    Elsewhere(ParsedElsewhere),
}

impl Front {
    /// The front end's library. Not to be called where sources are compiled in workers.
    pub(super) fn library(&self) -> &anymetal_msl::Library {
        match &self.parsed {
            Parsed::Here(library) => library,
            Parsed::Elsewhere(_) => panic!("a source that is compiled in workers is read in this process"),
        }
    }
}

/// Unspecialised modules.
pub(super) struct Modules {
    known: LruMap<String, Arc<KernelModule>>,
    /// What was remarked on a kernel, rendered; kernels without remarks are left out.
    pub(super) warnings: BTreeMap<String, String>,
}

impl Default for Modules {
    fn default() -> Self {
        Modules { known: LruMap::new(MODULES_KEPT), warnings: BTreeMap::new() }
    }
}

/// A kernel's module as the front end made it.
pub(super) struct KernelModule {
    pub(super) module: Module,
    /// Found when first needed, which takes as long as preparing the module.
    constants: OnceLock<Vec<FunctionConstantInfo>>,
}

impl KernelModule {
    /// The function constants, with those marked that the kernel cannot do without. To be called on a large
    /// stack.
    pub(super) fn constants(&self, kernel: &str) -> &[FunctionConstantInfo] {
        self.constants.get_or_init(|| reflection::function_constants(&self.module, kernel))
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
        let (checked, linked) = (OnceLock::new(), Vec::new());
        Ok(LibraryState { shared, source, source_key, manifest, front, modules, checked, linked })
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
            checked: OnceLock::new(),
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
    pub(super) fn current_manifest(&self) -> &Manifest {
        match self.front.get() {
            Some(Ok(front)) => &front.manifest,
            _ => &self.manifest,
        }
    }

    /// Bytes of the source, without included files.
    pub(crate) fn source_bytes(&self) -> u64 {
        self.source.bytes.len() as u64
    }

    /// The parsed source.
    pub(super) fn front(&self) -> Result<&Arc<Front>, CompileError> {
        let parse = || parse(&self.shared, &self.source, &self.source_key).map(Arc::new);
        self.front.get_or_init(parse).as_ref().map_err(Clone::clone)
    }

    /// The kernel's module as the front end made it.
    pub(super) fn module(&self, kernel: &str) -> Result<Arc<KernelModule>, CompileError> {
        if let Some(module) = self.known_module(kernel) {
            return Ok(module);
        }
        let lower = || self.linked_module(kernel, false);
        let (module, warnings) = kernel_stage(Stage::Lower, kernel, || big_stack::run("front end", lower))?;
        let module = Arc::new(KernelModule { module, constants: OnceLock::new() });
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if !warnings.list.is_empty() {
            modules.warnings.insert(kernel.to_owned(), warnings.render_text(false));
        }
        let displaced = modules.known.insert(kernel.to_owned(), Arc::clone(&module));
        drop(modules);
        drop(displaced);
        Ok(module)
    }

    fn known_module(&self, kernel: &str) -> Option<Arc<KernelModule>> {
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        modules.known.get(kernel).map(Arc::clone)
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
    let options = source.options.of_front_end();
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
    let graphics_functions = library.graphics_functions().iter().map(GraphicsFunction::of).collect();
    let warnings = if diagnostics.list.is_empty() { String::new() } else { diagnostics.render_text(false) };
    let manifest = Manifest {
        probes: Vec::new(),
        kernels,
        visible_functions,
        graphics_functions,
        warnings,
        is_checked: false,
    };
    Ok(Front { parsed: Parsed::Here(Box::new(library)), manifest, text: OnceLock::new() })
}
