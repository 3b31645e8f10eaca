//! The compiler: settings and caches that libraries share.
//!
//! Owns [`Compiler`], a cheap handle. Invariant: two requests for the same source at the same time parse it
//! once.

use std::sync::{Arc, OnceLock};

use anymetal_hal::artifact::Artifact;
use anymetal_hal::caches::{self, CacheLimit, CacheOwner, CacheUsage};
use anymetal_hal::code_cache::CodeCache;
use anymetal_isolate::{Isolate, Pool};
use anymetal_llvm::discovery::Surroundings;
use anymetal_llvm::{CpuLevel, HostCpu, Llvm, LlvmError};
use anymetal_msl::pp::IncludeLoader;

use crate::budget::Budget;
use crate::bug::Reproducers;
use crate::cache::device_code::DeviceCode;
use crate::cache::disk::DiskCache;
use crate::cache::shared::SharedCache;
use crate::config::CacheConfig;
use crate::error::CompileError;
use crate::isolated::Isolation;
use crate::key::Key;
use crate::library::{Library, LibraryState, Target};
use crate::note::{Note, Notes};
use crate::prepared::{Counts, MAX_INSTRUCTIONS_KEPT, Prepared, StageCounts};
use crate::source::Source;

/// How a compiler works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompilerOptions {
    /// Where results are kept.
    pub cache: CacheConfig,
    /// Whether sources are compiled in worker processes.
    pub isolate: Isolate,
}

impl CompilerOptions {
    /// The configuration of the user's environment.
    pub fn from_environment() -> Self {
        CompilerOptions { cache: CacheConfig::from_environment(), isolate: Isolate::from_environment() }
    }

    /// With that cache, in this process.
    pub fn with_cache(cache: CacheConfig) -> Self {
        CompilerOptions { cache, isolate: Isolate::Off }
    }
}

/// Makes libraries of sources. Clones share the caches.
#[derive(Clone)]
pub struct Compiler {
    shared: Arc<CompilerState>,
}

/// State of the compiler that libraries share.
pub(crate) struct CompilerState {
    pub(crate) notes: Arc<Notes>,
    pub(crate) disk: Option<Arc<DiskCache>>,
    pub(crate) artifacts: SharedCache<Arc<Artifact>>,
    /// What descriptions leave for the compiles that follow.
    pub(crate) prepared: SharedCache<Arc<Prepared>>,
    pub(crate) counts: Counts,
    isolation: Isolation,
    /// Bounds on what the compile of a kernel may cost; part of every artifact's key.
    pub(crate) budget: Budget,
    /// Where bugs are written down.
    pub(crate) reproducers: Arc<Reproducers>,
    libraries: SharedCache<Arc<LibraryState>>,
    /// The processor and the user's choice of LLVM; part of every object's key.
    machine: OnceLock<Result<Machine, CompileError>>,
}

struct Machine {
    processor: String,
    /// The libLLVM that the user names; empty if none.
    llvm: String,
    disabled: Option<LlvmError>,
}

impl std::fmt::Debug for Compiler {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Compiler").field("disk", &self.shared.disk).finish_non_exhaustive()
    }
}

impl Compiler {
    /// A compiler with caches of its own, and the default bounds on what a compile may cost.
    pub fn new(options: &CompilerOptions) -> Self {
        Self::with_budget(options, Budget::default())
    }

    /// As [`Compiler::new`], with these bounds on what a compile may cost.
    pub fn with_budget(options: &CompilerOptions, budget: Budget) -> Self {
        let notes = Arc::new(Notes::default());
        let cache = &options.cache;
        let disk = cache
            .folder
            .as_ref()
            .map(|folder| Arc::new(DiskCache::new(folder, cache.max_disk_bytes, Arc::clone(&notes))));
        let shared = CompilerState {
            notes,
            disk,
            artifacts: SharedCache::new(cache.artifacts_in_memory),
            prepared: SharedCache::weighted(MAX_INSTRUCTIONS_KEPT, |prepared| prepared.instructions()),
            counts: Counts::default(),
            budget,
            reproducers: Arc::new(Reproducers::beside(
                cache.folder.as_deref(),
                options.isolate == Isolate::Off,
            )),
            isolation: Isolation::new(&options.isolate),
            libraries: SharedCache::new(cache.libraries_in_memory),
            machine: OnceLock::new(),
        };
        let shared = Arc::new(shared);
        let caches: Arc<dyn CacheOwner> = Arc::<CompilerState>::clone(&shared);
        caches::register(Arc::downgrade(&caches));
        Compiler { shared }
    }

    /// The process's compiler, configured by the environment, made when first used.
    pub fn global() -> &'static Compiler {
        static GLOBAL: OnceLock<Compiler> = OnceLock::new();
        GLOBAL.get_or_init(|| Compiler::new(&CompilerOptions::from_environment()))
    }

    /// Reads a source, or takes it from the cache. A source that compiled before, with the same included
    /// files, is not parsed until a cache misses.
    pub fn library(&self, source: Source) -> Result<Library, CompileError> {
        self.library_for(source, None)
    }

    /// As [`Compiler::library`], for kernels whose artifacts for a target will be requested next: libLLVM is
    /// loaded while the source is parsed.
    pub fn library_for(&self, source: Source, target: Option<Target>) -> Result<Library, CompileError> {
        self.shared.isolation()?;
        let key = source.key();
        let make = || LibraryState::new(source, key, Arc::clone(&self.shared), target).map(Arc::new);
        let state = self.shared.libraries.get_or_make(key, |state| state.still_holds(), make)?;
        Ok(Library::new(state))
    }

    /// Where sources are compiled, if not in this process.
    pub(crate) fn isolation(&self) -> Result<Option<&Pool>, CompileError> {
        self.shared.isolation()
    }

    /// A source whose included files are found by `includes`; `key` stands for the source with these files.
    pub(crate) fn library_with<I: IncludeLoader + Send>(
        &self,
        source: Source,
        includes: &mut I,
        key: impl FnOnce(&mut I) -> Key,
    ) -> Result<Library, CompileError> {
        let state = LibraryState::with_includes(source, Arc::clone(&self.shared), includes, key)?;
        Ok(Library::new(Arc::new(state)))
    }

    /// Where devices keep what their drivers compile; `None` without a disk cache.
    pub fn code_cache(&self) -> Option<Arc<dyn CodeCache>> {
        let disk = self.shared.disk.as_ref()?;
        Some(Arc::new(DeviceCode(Arc::clone(disk))))
    }

    /// How often each stage has run for a kernel; what came from a cache is not counted.
    pub fn stage_counts(&self) -> StageCounts {
        self.shared.counts.now()
    }

    /// What a user should know although nothing failed, taken before or not.
    pub fn notes(&self) -> Vec<Note> {
        self.shared.notes.all()
    }

    /// What a user should know although nothing failed; each note is given once.
    pub fn take_notes(&self) -> Vec<Note> {
        self.shared.notes.take()
    }

    /// Why kernels that this process compiles now are interpreted, on one line; `None` if there is an LLVM
    /// for them. Looks for libLLVM at the first call.
    pub fn why_interpreted() -> Option<String> {
        Llvm::load().err().and_then(|error| Note::NoLlvm(error).why_interpreted())
    }

    /// The libLLVM that this process compiles with, looked for at the first call.
    pub fn llvm() -> Result<Arc<Llvm>, CompileError> {
        Llvm::load().map_err(CompileError::from)
    }

    /// The level of x86-64 that all code of this process is limited to, if `ANYMETAL_CPU_LEVEL` names one.
    pub fn cpu_level() -> Result<Option<CpuLevel>, CompileError> {
        HostCpu::detect().map(|processor| processor.level).map_err(CompileError::CpuLevel)
    }
}

impl CacheOwner for CompilerState {
    fn usage(&self, into: &mut Vec<CacheUsage>) {
        let mut list = |name, (entries, bytes), limit| {
            into.push(CacheUsage::new(name, "compiler", limit).entries(entries).bytes(bytes));
        };
        let artifacts = self.artifacts.sum(|artifact| artifact.code.bytes());
        list("artifacts", artifacts, CacheLimit::Entries(self.artifacts.capacity()));
        let instruction = size_of::<anymetal_ir::InstData>() as u64;
        let prepared = self.prepared.sum(|prepared| prepared.instructions() as u64 * instruction);
        list("prepared kernels", prepared, CacheLimit::Instructions(self.prepared.capacity()));
        let libraries = self.libraries.sum(|library| library.source_bytes());
        list("sources", libraries, CacheLimit::Entries(self.libraries.capacity()));
    }

    fn trim(&self) {
        self.libraries.clear();
        self.prepared.clear();
        self.artifacts.clear();
    }
}

impl CompilerState {
    /// Why no LLVM is to be used, if the user said so. Loads nothing.
    pub(crate) fn llvm_disabled(&self) -> Result<Option<LlvmError>, CompileError> {
        Ok(self.machine()?.disabled.clone())
    }

    /// Changes whenever compiled code might not run here, or not be what the user requested. It does not name
    /// LLVM's version, which is only known after loading it: code of an older LLVM is equally correct. That
    /// of GPUs does not name the processor: their code is carried from machine to machine.
    pub(crate) fn fingerprint(&self, target: Target) -> Result<String, CompileError> {
        let Machine { processor, llvm, .. } = self.machine()?;
        Ok(match target {
            Target::Nvidia { sm } => format!("nvidia sm_{sm};llvm={llvm}"),
            Target::Metal => "metal".to_owned(),
            Target::Cpu | Target::CpuLlvm | Target::Interpreter => format!("{processor};llvm={llvm}"),
        })
    }

    /// Where sources are compiled, if not in this process.
    pub(crate) fn isolation(&self) -> Result<Option<&Pool>, CompileError> {
        self.isolation.pool()
    }

    /// Notes that kernels are interpreted.
    pub(crate) fn note_no_llvm(&self, error: LlvmError) {
        self.notes.add(Note::NoLlvm(error));
    }

    fn machine(&self) -> Result<&Machine, CompileError> {
        let find = || {
            let surroundings = Surroundings::of_process();
            let explicit = surroundings.explicit.as_deref().map(|path| path.to_string_lossy().into_owned());
            Ok(Machine {
                processor: HostCpu::detect().map_err(CompileError::CpuLevel)?.fingerprint.clone(),
                llvm: explicit.unwrap_or_default(),
                disabled: surroundings.disabled().map(|value| LlvmError::Disabled { value }),
            })
        };
        self.machine.get_or_init(find).as_ref().map_err(Clone::clone)
    }
}
