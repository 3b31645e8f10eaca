//! Look-up of artifacts: from memory, from disk, compiled now; or for the interpreter, where there is no
//! LLVM or too much code for it.
//!
//! Owns that order, for everything that has artifacts ([`Subject`]). Invariant: an artifact is stored under a
//! key of the source that was actually parsed, which is known only after compiling it.

use std::cell::Cell;
use std::num::NonZero;
use std::sync::{Arc, Once};

use anymetal_hal::artifact::{Artifact, ArtifactCode, ArtifactTarget, Effort, ReducedEffort};
use anymetal_hal::encoding;
use anymetal_hal::metal_source::MetalSource;
use anymetal_ir::{Kernel, Module};
use anymetal_llvm::Llvm;
use anymetal_telemetry::record::{self, Cache};

use crate::big_stack;
use crate::bug::RunBoundary;
use crate::cache::disk::Kind;
use crate::compiler::{Compiler, CompilerState};
use crate::error::CompileError;
use crate::executor::Executor;
use crate::isolated::Wanted;
use crate::key::Key;
use crate::library::{Specialisation, Target};
use crate::machine_code;
use crate::metal;
use crate::note::Note;
use crate::nvidia;
use crate::pipeline::check_size_for_interpreter;
use crate::prepared::Prepared;
use crate::reflection;

/// Something that has artifacts: one kernel, of a library or fused.
pub(crate) trait Subject: Sync {
    /// State that all libraries of the compiler share.
    fn shared(&self) -> &CompilerState;
    /// The kernel's name.
    fn name(&self) -> String;
    fn specialisation(&self) -> &Specialisation;
    /// The boundary for runs of the kernel by the interpreter.
    fn run_boundary(&self) -> RunBoundary;
    /// Changes whenever the artifact for that target may change, as far as is known before parsing.
    fn key(&self, target: &str) -> Key;
    /// The module for executors, and the function constants for reflection.
    fn prepared(&self) -> Result<Arc<Prepared>, CompileError>;
    /// The same without any calls.
    fn prepared_inlined(&self) -> Result<Arc<Prepared>, CompileError>;
    /// The source for a device that compiles it.
    fn metal_source(&self) -> Result<MetalSource, CompileError>;
    /// The artifact of a worker; `None` where sources are compiled in this process.
    fn isolated(&self, target: Target, wanted: Wanted) -> Option<Result<Artifact, CompileError>>;
}

/// The artifact for a target.
pub(crate) fn artifact(subject: &impl Subject, target: Target) -> Result<Arc<Artifact>, CompileError> {
    let compiled = || match subject.shared().llvm_disabled()? {
        Some(error) => Err(CompileError::NoLlvm(error)),
        None => compiled(subject, target),
    };
    match target {
        Target::Interpreter => interpreted(subject),
        Target::Metal => metal::artifact(subject),
        Target::CpuLlvm | Target::Nvidia { .. } => compiled(),
        Target::Cpu => match compiled() {
            Err(CompileError::NoLlvm(error)) => {
                subject.shared().note_no_llvm(error);
                interpreted(subject)
            }
            other => other,
        },
    }
}

/// As [`artifact`], except that the interpreter runs kernels past the budgets for machine code on this
/// processor. Notes it if the code was compiled with less than the full effort.
pub(crate) fn artifact_of_any_size(
    subject: &impl Subject,
    target: Target,
) -> Result<Arc<Artifact>, CompileError> {
    let shared = subject.shared();
    let known = || match target {
        // Code that was too large once need not be generated again.
        Target::Cpu => shared.artifacts.get(subject.key(PAST_BUDGET)),
        _ => None,
    };
    let artifact = match known() {
        Some(interpreted) => interpreted,
        None => match artifact(subject, target) {
            Err(CompileError::TooMuchCode { largest_line, .. }) if target == Target::Cpu => {
                interpreted_past_budget(subject, largest_line)?
            }
            other => other?,
        },
    };
    for kernel in &artifact.kernels {
        if let Some(reduced) = &kernel.reduced_effort {
            let (kernel, reduced) = (kernel.name.clone(), reduced.clone());
            shared.notes.add(Note::ReducedEffort { kernel, reduced });
        }
    }
    Ok(artifact)
}

/// The artifact of a kernel under that key, from memory, from disk, or made now. Its fingerprint is its key,
/// which is computed again after making it: only then is it certain which source was parsed.
pub(crate) fn kept(
    shared: &CompilerState,
    kernel: &str,
    key: impl Fn() -> Key,
    make: impl FnOnce() -> Result<Artifact, CompileError>,
) -> Result<Arc<Artifact>, CompileError> {
    let known = key();
    let in_memory = Cell::new(true);
    let make = || {
        in_memory.set(false);
        if let Some(artifact) = from_disk(shared, kernel, &known) {
            return Ok(Arc::new(artifact));
        }
        let mut artifact = make()?;
        let key = key();
        artifact.fingerprint = key.to_string();
        if let (Some(disk), Ok(bytes)) = (&shared.disk, encoding::encode(&artifact)) {
            disk.write(Kind::Object, &key, &bytes);
        }
        Ok(Arc::new(artifact))
    };
    let kept = shared.artifacts.get_or_make(known, |_| true, make);
    record::cache(Cache::Memory, in_memory.get());
    kept
}

/// An artifact with that kernel from the disk.
pub(crate) fn from_disk(shared: &CompilerState, kernel: &str, key: &Key) -> Option<Artifact> {
    let disk = shared.disk.as_ref()?;
    let bytes = disk.read(Kind::Object, key);
    let artifact = bytes.as_ref().and_then(|bytes| encoding::decode(bytes).ok());
    let artifact = artifact.filter(|artifact| artifact.kernel(kernel).is_some());
    if bytes.is_some() && artifact.is_none() {
        disk.remove(Kind::Object, key);
    }
    record::cache(Cache::Disk, artifact.is_some());
    artifact
}

fn compiled(subject: &impl Subject, target: Target) -> Result<Arc<Artifact>, CompileError> {
    let (shared, name) = (subject.shared(), subject.name());
    let make = || {
        let (llvm, prepared) = prepared_beside_llvm(subject, target)?;
        let (module, specialisation) = (&prepared.module, &prepared.lowering(subject.specialisation()));
        let found = kernel_of(module, &name)?;
        let info = reflection::reflect(module, found, prepared.constants.clone());
        match target {
            Target::Nvidia { sm } => nvidia::compile(&llvm, module, found, info, specialisation, sm, shared),
            Target::Cpu | Target::CpuLlvm | Target::Metal | Target::Interpreter => {
                machine_code::compile(&llvm, module, found, info, specialisation, shared)
            }
        }
    };
    let fingerprint = shared.fingerprint(target)?;
    let key = || subject.key(&fingerprint);
    kept(shared, &name, key, || {
        let isolated = subject.isolated(target, Wanted::Code);
        isolated.unwrap_or_else(|| big_stack::run("code generator", make))
    })
}

/// The description of the kernel that its artifact would have, cached like an artifact. No code is generated.
pub(crate) fn described(subject: &impl Subject, target: Target) -> Result<Arc<Artifact>, CompileError> {
    let (shared, name, requested) = (subject.shared(), subject.name(), target);
    let make = || {
        let (llvm, prepared) = prepared_beside_llvm(subject, target)?;
        let (module, specialisation) = (&prepared.module, &prepared.lowering(subject.specialisation()));
        let found = kernel_of(module, &name)?;
        let info = reflection::reflect(module, found, prepared.constants.clone());
        let (target, code, kernel) = match target {
            Target::Nvidia { sm } => (
                ArtifactTarget::Nvidia { sm },
                ArtifactCode::Ptx(Arc::from("")),
                nvidia::describe(module, found, info, specialisation, sm, &shared.budget)?,
            ),
            Target::Cpu | Target::CpuLlvm | Target::Metal | Target::Interpreter => (
                machine_code::target_of(&llvm),
                ArtifactCode::Object(Arc::from(Vec::new())),
                machine_code::describe(module, found, info, specialisation, &shared.budget)?,
            ),
        };
        let (fault_sites, fingerprint) = (Vec::new(), String::new());
        Ok(Artifact::new(target, code, vec![kernel]).fault_sites(fault_sites).fingerprint(fingerprint))
    };
    let fingerprint = format!("description for {}", shared.fingerprint(target)?);
    kept(
        shared,
        &name,
        || subject.key(&fingerprint),
        || {
            let isolated = subject.isolated(requested, Wanted::Description);
            isolated.unwrap_or_else(|| big_stack::run("code generator", make))
        },
    )
}

fn prepared_beside_llvm(
    subject: &impl Subject,
    target: Target,
) -> Result<(Arc<Llvm>, Arc<Prepared>), CompileError> {
    let (llvm, prepared) = with_llvm(|| match target {
        Target::Nvidia { .. } => subject.prepared_inlined(),
        Target::Cpu | Target::CpuLlvm | Target::Metal | Target::Interpreter => subject.prepared(),
    });
    // The first error to report: without LLVM the rest is not done.
    Ok((llvm?, prepared?))
}

fn interpreted(subject: &impl Subject) -> Result<Arc<Artifact>, CompileError> {
    let key = subject.key("interpreter");
    let make = || big_stack::run("interpreter", || for_interpreter(subject, key, &subject.prepared()?, None));
    subject.shared().artifacts.get_or_make(key, |_| true, make)
}

/// The target in the keys of kernels that are interpreted because they are past the budgets for machine code.
const PAST_BUDGET: &str = "interpreter, past the budgets for machine code";

fn interpreted_past_budget(
    subject: &impl Subject,
    largest_line: String,
) -> Result<Arc<Artifact>, CompileError> {
    let (shared, key) = (subject.shared(), subject.key(PAST_BUDGET));
    let make = || {
        big_stack::run("interpreter", || {
            let prepared = subject.prepared()?;
            check_size_for_interpreter(&shared.budget, &prepared.module, &subject.name())?;
            shared.counts.add_effort(Effort::Interpreted);
            let reduced = ReducedEffort::new(Effort::Interpreted, largest_line);
            for_interpreter(subject, key, &prepared, Some(reduced))
        })
    };
    shared.artifacts.get_or_make(key, |_| true, make)
}

fn for_interpreter(
    subject: &impl Subject,
    key: Key,
    prepared: &Arc<Prepared>,
    reduced_effort: Option<ReducedEffort>,
) -> Result<Arc<Artifact>, CompileError> {
    let module = &prepared.module;
    let found = kernel_of(module, &subject.name())?;
    let mut info = reflection::reflect(module, found, prepared.constants.clone());
    info.specialised_group = subject.specialisation().group_size;
    info.reduced_effort = reduced_effort;
    let executor = Executor::new(prepared, found, subject.run_boundary())?;
    Ok(Arc::new(
        Artifact::new(ArtifactTarget::Interpreter, ArtifactCode::Interpreter(Arc::new(executor)), vec![info])
            .fingerprint(key.to_string()),
    ))
}

/// Does some work while libLLVM is loaded, which takes as long as parsing a file, or brought into memory.
/// That ends with the call: a process that exits under it would take the library's own data away from it.
pub(crate) fn with_llvm<T>(work: impl FnOnce() -> T) -> (Result<Arc<Llvm>, CompileError>, T) {
    static WARM: Once = Once::new();
    let prepare = match Llvm::loaded() {
        None => || drop(Compiler::llvm()),
        Some(Ok(_)) if !WARM.is_completed() => || WARM.call_once(warm_up),
        Some(loaded) => return (loaded.map_err(CompileError::from), work()),
    };
    std::thread::scope(|scope| {
        let beside = std::thread::Builder::new().name("anymetal-llvm".to_owned());
        let preparing = beside.spawn_scoped(scope, prepare);
        let done = work();
        // Without another thread, LLVM is loaded below.
        if let Ok(preparing) = preparing {
            // The outcome is kept, a failure too.
            let _ = preparing.join();
        }
        (Compiler::llvm(), done)
    })
}

/// With one processor the first compile pays for it anyway.
fn warm_up() {
    if let (Ok(llvm), Ok(2..)) = (Llvm::load(), std::thread::available_parallelism().map(NonZero::get)) {
        llvm.warm_up();
    }
}

/// The kernel of that name, which must be there.
pub(crate) fn kernel_of<'m>(module: &'m Module, kernel: &str) -> Result<&'m Kernel, CompileError> {
    module.kernel(kernel).ok_or_else(|| {
        CompileError::internal("front end", format!("the module for kernel `{kernel}` has no such kernel"))
    })
}
