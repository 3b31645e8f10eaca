//! The loaded libLLVM: one per process, shared, never unloaded.
//!
//! It is opened with `RTLD_LOCAL`, so another LLVM in the same process (a driver's, say) does not
//! meet it, and stays open for good, because LLVM's static state must not be torn down while a
//! thread may be inside.

use std::fmt;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::bindings::{self, Bindings};
use crate::discovery::{self, MINIMUM_MAJOR, SearchPath, Stage, Surroundings};
use crate::error::{LlvmError, Refusal, RefusalReason};
use crate::handles::{TargetMachine, take_message};
use crate::host::HostCpu;
use crate::target::{Architecture, Target};

/// The version of a libLLVM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LlvmVersion {
    /// As in 22 of 22.1.2.
    pub major: u32,
    /// As in 1 of 22.1.2.
    pub minor: u32,
    /// As in 2 of 22.1.2.
    pub patch: u32,
}

impl fmt::Display for LlvmVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// Description of the loaded library; for `doctor` and logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LlvmInfo {
    /// The file.
    pub path: PathBuf,
    /// Its version.
    pub version: LlvmVersion,
    /// LLVM's name for this processor; older versions say `generic` for newer processors and still
    /// list the features rightly, which gives code of the same speed.
    pub host_cpu: String,
    /// LLVM's list of this processor's features.
    pub host_features: String,
    /// Whether this library can generate PTX.
    pub has_nvptx: bool,
}

/// A loaded libLLVM.
pub struct Llvm {
    pub(crate) bindings: Bindings,
    info: LlvmInfo,
    host: Target,
    /// Keeps the functions in `bindings` mapped; see the module's words on unloading.
    _library: ManuallyDrop<Library>,
}

/// The process's libLLVM, or why there is none.
static LOADED: OnceLock<Result<Arc<Llvm>, LlvmError>> = OnceLock::new();

impl fmt::Debug for Llvm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Llvm").field("info", &self.info).finish_non_exhaustive()
    }
}

impl Llvm {
    /// The process's libLLVM, searched for and opened at the first call. See [`discovery`].
    pub fn load() -> Result<Arc<Self>, LlvmError> {
        LOADED.get_or_init(|| Self::search(&Surroundings::of_process()).map(Arc::new)).clone()
    }

    /// What [`Llvm::load`] gives, if it has been called and returned.
    pub fn loaded() -> Option<Result<Arc<Self>, LlvmError>> {
        LOADED.get().cloned()
    }

    /// Searches in the given surroundings and opens the first usable library, without the
    /// process-wide memory of [`Llvm::load`].
    pub fn search(surroundings: &Surroundings) -> Result<Self, LlvmError> {
        if let Some(value) = surroundings.disabled() {
            return Err(LlvmError::Disabled { value });
        }
        let mut tried = Vec::new();
        for stage in Stage::all(surroundings) {
            for place in stage.places(surroundings) {
                let (path, reason) = match place {
                    SearchPath::File(path) => match Self::open(&path)? {
                        Ok(llvm) => return Ok(llvm),
                        Err(reason) => (path, reason),
                    },
                    SearchPath::Nothing(path) => (path, RefusalReason::NoLibrary),
                    SearchPath::Rustc(path, message) => (path, RefusalReason::Rustc(message)),
                };
                tried.push(Refusal { path, reason });
            }
        }
        Err(LlvmError::NotFound { minimum: MINIMUM_MAJOR, tried })
    }

    /// Description of this library.
    pub fn info(&self) -> &LlvmInfo {
        &self.info
    }

    /// The processor this program runs on, limited to the level that the user set, as a target.
    pub fn host_target(&self) -> &Target {
        &self.host
    }

    /// Opens one file. The outer error ends the search: a library that is right in every way but
    /// lacks the host's processor is worth telling about.
    fn open(path: &Path) -> Result<Result<Self, RefusalReason>, LlvmError> {
        match open_library(path) {
            Err(reason) => Ok(Err(reason)),
            Ok((library, bindings, version)) => Self::set_up(path, library, bindings, version).map(Ok),
        }
    }

    fn set_up(
        path: &Path,
        library: ManuallyDrop<Library>,
        bindings: Bindings,
        version: LlvmVersion,
    ) -> Result<Self, LlvmError> {
        let unsupported = |triple: &str, message: String| LlvmError::HostUnsupported {
            path: path.to_owned(),
            triple: triple.to_owned(),
            message,
        };
        let architecture = Architecture::host().ok_or_else(|| {
            unsupported(std::env::consts::ARCH, "no code is generated for this processor family".to_owned())
        })?;
        // SAFETY: both take nothing and return a string to be disposed of, or null.
        let (host_cpu, host_features) = unsafe {
            let name = take_message(&bindings, (bindings.LLVMGetHostCPUName)());
            (name, take_message(&bindings, (bindings.LLVMGetHostCPUFeatures)()))
        };
        let processor = HostCpu::detect()?;
        let host = Target {
            architecture,
            cpu: if host_cpu.is_empty() { "generic".to_owned() } else { host_cpu.clone() },
            features: host_features.clone(),
            vector: processor.vector,
            llvm_version: version.to_string(),
        };
        let host = processor.level.map_or(host.clone(), |level| host.x86_64_level(level));
        let triple = architecture.triple();
        TargetMachine::new(&bindings, triple, &host.cpu, &host.features, 0)
            .map_err(|message| unsupported(triple, message))?;
        let has_nvptx = TargetMachine::new(&bindings, Architecture::Nvptx64.triple(), "sm_80", "", 0).is_ok();
        let info = LlvmInfo { path: path.to_owned(), version, host_cpu, host_features, has_nvptx };
        Ok(Self { bindings, info, host, _library: library })
    }
}

/// Opens a file, checks that it is a libLLVM with everything needed, and prepares it for use.
fn open_library(path: &Path) -> Result<(ManuallyDrop<Library>, Bindings, LlvmVersion), RefusalReason> {
    let stated = path.file_name().and_then(|name| name.to_str()).and_then(discovery::major_in);
    if let Some(major) = stated.filter(|major| *major < MINIMUM_MAJOR) {
        return Err(RefusalReason::TooOld(major)); // Opening a library runs its code; not for nothing.
    }
    if !path.exists() {
        return Err(RefusalReason::Missing);
    }
    // SAFETY: opening a library runs its initialisers. The path is one the user named or a place
    // where libLLVM is installed; libLLVM's initialisers only set up its own state.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }
        .map_err(|error| RefusalReason::Open(error.to_string()))?;
    // Never closed, not even when refused: unloading LLVM is not known to be safe.
    let library = ManuallyDrop::new(library);
    // SAFETY: the file is called libLLVM or was named by the user as one.
    let (get_version, (major, minor, patch)) = unsafe { bindings::version(&library) }
        .ok_or(RefusalReason::MissingSymbol("LLVMGetVersion (LLVM 16 and newer have it)".to_owned()))?;
    if major < MINIMUM_MAJOR {
        return Err(RefusalReason::TooOld(major));
    }
    // SAFETY: it answered as libLLVM of a version whose functions have the written types.
    let bindings = unsafe { Bindings::resolve(&library) }
        .map_err(|name| RefusalReason::MissingSymbol(name.to_owned()))?;
    let targets = [Architecture::X86_64, Architecture::Aarch64, Architecture::Nvptx64];
    // SAFETY: as above.
    unsafe { bindings::prepare(&library, major, get_version, &targets.map(Architecture::llvm_name)) };
    Ok((library, bindings, LlvmVersion { major, minor, patch }))
}
