//! Pipelines of the CPU device: loaded machine code, or the interpreter.
//!
//! Owns [`CpuPipeline`] and [`LoadedCode`], the cache that loads an artifact's object once for all its
//! kernels. Invariant: an entry's address is called only while its `LoadedObject` is held here.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use anymetal_hal::artifact::{Artifact, ArtifactCode, KernelInfo};
use anymetal_hal::attachment::Attachment;
use anymetal_hal::error::DeviceError;
use anymetal_hal::launch::{
    CpuEntry, DispatchInterpreter, FAULT_SYMBOL, GRID_SYNC_SYMBOL, SIMDGROUP_YIELD_SYMBOL,
};
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::validate::check_arguments;

use crate::cooperative::{CachedGroupMemory, StackNeeds, anymetal_grid_sync};
use crate::dispatch_times::DispatchTimes;
use crate::fault::anymetal_fault;
use crate::loader::{LoadedObject, default_symbols};
use crate::simdgroups::{Simdgroups, anymetal_simdgroup_yield};
use crate::stack;

/// A kernel ready to run.
pub(crate) struct CpuPipeline {
    artifact: Arc<Artifact>,
    kernel: usize,
    code: Code,
    times: DispatchTimes,
    group_memory: CachedGroupMemory,
    /// What its independent SIMD-groups run on, if it has such.
    simdgroups: Option<Simdgroups>,
    /// The most that its code needs; 0 for the interpreter, which brings its own.
    stack_bytes: usize,
    attachment: Attachment,
}

/// What runs a kernel.
pub(crate) enum Code {
    /// Machine code; the object keeps the entry's pages mapped.
    Native { entry: CpuEntry, _object: Arc<LoadedObject> },
    /// The compiler's interpreter.
    Interpreter(Arc<dyn DispatchInterpreter>),
}

impl CpuPipeline {
    pub(crate) fn new(
        artifact: &Arc<Artifact>,
        kernel: &str,
        loaded: &LoadedCode,
    ) -> Result<Self, DeviceError> {
        let unknown = || DeviceError::UnknownKernel {
            name: kernel.to_owned(),
            existing: artifact.kernel_names().map(str::to_owned).collect(),
        };
        let index = artifact.kernels.iter().position(|info| info.name == kernel).ok_or_else(unknown)?;
        let info = &artifact.kernels[index];
        check_arguments(info, "cpu")?;
        let (code, stack_bytes) = match &artifact.code {
            ArtifactCode::Interpreter(interpreter) => (Code::Interpreter(Arc::clone(interpreter)), 0),
            ArtifactCode::Object(bytes) => {
                let object = loaded.object(artifact, bytes, kernel)?;
                let needed = stack::most_needed(object.memory_bytes());
                if needed > stack::WORKER_BYTES {
                    let reason = format!(
                        "its code may need {needed} bytes of stack, workers have {}",
                        stack::WORKER_BYTES
                    );
                    return Err(DeviceError::UnloadableCode { kernel: kernel.to_owned(), reason });
                }
                (native(object, info)?, needed)
            }
            ArtifactCode::Ptx(_) | ArtifactCode::Source(_) => {
                let reason = format!("it is {}, this is a CPU", artifact.code.kind());
                return Err(DeviceError::UnloadableCode { kernel: kernel.to_owned(), reason });
            }
        };
        let simdgroups = match &code {
            Code::Native { .. } => Simdgroups::of(info, stack_bytes),
            // It runs SIMD-groups side by side anyway.
            Code::Interpreter(_) => None,
        };
        if simdgroups.is_some() && !Simdgroups::IS_SUPPORTED {
            return Err(DeviceError::Unsupported {
                device: "cpu".to_owned(),
                what: format!("SIMD-groups that wait for each other, as those of `{kernel}` may,"),
                alternative: "run the kernel on the interpreter".to_owned(),
            });
        }
        Ok(CpuPipeline {
            artifact: Arc::clone(artifact),
            kernel: index,
            code,
            times: DispatchTimes::default(),
            group_memory: CachedGroupMemory::default(),
            simdgroups,
            stack_bytes,
            attachment: Attachment::default(),
        })
    }

    /// The artifact that the kernel is part of.
    pub(crate) fn artifact(&self) -> &Artifact {
        &self.artifact
    }

    pub(crate) fn code(&self) -> &Code {
        &self.code
    }

    pub(crate) fn times(&self) -> &DispatchTimes {
        &self.times
    }

    /// The most stack that it needs.
    pub(crate) fn stack_bytes(&self) -> usize {
        self.stack_bytes
    }

    /// What a threadgroup of so many threads runs on in a cooperative launch.
    pub(crate) fn stack_needs(&self, threads_per_group: u32) -> StackNeeds {
        let simdgroups = self.simdgroups.as_ref().map_or(0, |own| own.count(threads_per_group));
        StackNeeds { stacks: 1 + u64::from(simdgroups), bytes: self.stack_bytes }
    }

    /// What its independent SIMD-groups run on, if it has such.
    pub(crate) fn simdgroups(&self) -> Option<&Simdgroups> {
        self.simdgroups.as_ref()
    }

    /// Memory of its cooperative launches.
    pub(crate) fn group_memory(&self) -> &CachedGroupMemory {
        &self.group_memory
    }
}

/// The CPU device's own type behind a handle.
pub(crate) fn cpu_pipeline(pipeline: &Arc<dyn Pipeline>) -> Option<&CpuPipeline> {
    pipeline.as_any().downcast_ref()
}

fn native(object: Arc<LoadedObject>, kernel: &KernelInfo) -> Result<Code, DeviceError> {
    let address = object.symbol(&kernel.symbol).ok_or_else(|| DeviceError::UnloadableCode {
        kernel: kernel.name.clone(),
        reason: format!("the object does not define `{}`", kernel.symbol),
    })?;
    // SAFETY: the artifact's contract is that this symbol is a `CpuEntry`; the object that holds its code is
    // kept beside it.
    let entry = unsafe { std::mem::transmute::<*const u8, CpuEntry>(address) };
    Ok(Code::Native { entry, _object: object })
}

impl Pipeline for CpuPipeline {
    fn kernel(&self) -> &KernelInfo {
        &self.artifact.kernels[self.kernel]
    }

    fn attachment(&self) -> Option<&Attachment> {
        Some(&self.attachment)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl fmt::Debug for CpuPipeline {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CpuPipeline").field("kernel", &self.kernel().name).finish_non_exhaustive()
    }
}

/// Objects in memory, by artifact, as long as a pipeline uses them.
#[derive(Debug, Default)]
pub(crate) struct LoadedCode {
    entries: Mutex<Vec<(Weak<Artifact>, Weak<LoadedObject>)>>,
}

impl LoadedCode {
    fn object(
        &self,
        artifact: &Arc<Artifact>,
        bytes: &[u8],
        kernel: &str,
    ) -> Result<Arc<LoadedObject>, DeviceError> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        // A weak handle keeps its allocation, so a live address names one artifact only.
        entries.retain(|(artifact, object)| artifact.strong_count() > 0 && object.strong_count() > 0);
        let address = Arc::as_ptr(artifact);
        let known = entries.iter().find(|(known, _)| std::ptr::eq(known.as_ptr(), address));
        if let Some(object) = known.and_then(|(_, object)| object.upgrade()) {
            return Ok(object);
        }
        let object = LoadedObject::load(bytes, &resolve).map_err(|error| DeviceError::UnloadableCode {
            kernel: kernel.to_owned(),
            reason: error.to_string(),
        })?;
        let object = Arc::new(object);
        entries.push((Arc::downgrade(artifact), Arc::downgrade(&object)));
        Ok(object)
    }
}

fn resolve(symbol: &str) -> Option<*const ()> {
    match symbol {
        FAULT_SYMBOL => Some(anymetal_fault as *const ()),
        GRID_SYNC_SYMBOL => Some(anymetal_grid_sync as *const ()),
        SIMDGROUP_YIELD_SYMBOL => Some(anymetal_simdgroup_yield as *const ()),
        _ => default_symbols(symbol),
    }
}
