//! PTX: the code generator's text for NVIDIA GPUs through LLVM to an artifact.
//!
//! Nothing here needs a GPU or its driver. The text is for the oldest architecture requested; the driver
//! compiles it for the card that it finds.

use std::sync::Arc;

use anymetal_codegen::ptx::{self, PtxCode, PtxOptions};
use anymetal_hal::artifact::{Artifact, ArtifactCode, ArtifactTarget, KernelInfo};
use anymetal_ir::{Function, Kernel, Module};
use anymetal_llvm::{CompileOptions, Emit, Llvm};
use anymetal_opt::PassManager;
use anymetal_telemetry::record::Stage;

use crate::budget::Budget;
use crate::compiler::CompilerState;
use crate::error::CompileError;
use crate::library::Specialisation;
use crate::machine_code::{codegen_error, fault_site, internal, note_specialisation};
use crate::observe::kernel_stage;
use crate::pipeline::check_size_for_gpus;
use crate::reflection::ENTRY_SYMBOL;

/// The first architecture that code is generated for, and the first that the libraries supported do not all
/// know.
const ARCHITECTURES: std::ops::Range<u32> = 75..100;

fn options(kernel: &Kernel, specialisation: &Specialisation, sm: u32) -> Result<PtxOptions, CompileError> {
    if !ARCHITECTURES.contains(&sm) {
        let reason = format!(
            "there is no code for sm_{sm}, only for sm_{} to sm_{}",
            ARCHITECTURES.start,
            ARCHITECTURES.end - 1
        );
        return Err(CompileError::Unsupported { kernel: kernel.name.clone(), reason });
    }
    Ok(PtxOptions {
        sm,
        checks: specialisation.checks,
        group_size: specialisation.group_size,
        whole_threadgroups_only: specialisation.whole_threadgroups_only,
        symbol: ENTRY_SYMBOL.to_owned(),
        passes: specialisation.passes.clone(),
        ..PtxOptions::default()
    })
}

/// The prepared module's kernel after the target's passes, as the code generator takes it.
pub(crate) fn lower(
    module: &Module,
    kernel: &Kernel,
    specialisation: &Specialisation,
    sm: u32,
    manager: &mut PassManager<'_>,
) -> Result<Function, CompileError> {
    Ok(ptx::lower(module, kernel, &options(kernel, specialisation, sm)?, manager))
}

/// LLVM text of the prepared module's kernel for GPUs from `sm_XX` on.
pub(crate) fn generate(
    module: &Module,
    kernel: &Kernel,
    specialisation: &Specialisation,
    sm: u32,
    shared: &CompilerState,
) -> Result<PtxCode, CompileError> {
    check_size_for_gpus(&shared.budget, module, &kernel.name)?;
    let options = options(kernel, specialisation, sm)?;
    shared.counts.add_generated();
    let generate = || ptx::generate(module, &kernel.name, &options);
    kernel_stage(Stage::Generate, &kernel.name, || generate().map_err(|error| codegen_error(kernel, &error)))
}

/// The PTX that LLVM makes of a kernel's text.
pub(crate) fn assembly(llvm: &Llvm, llvm_ir: &str, sm: u32) -> Result<String, CompileError> {
    let target = llvm.host_target().nvptx(&format!("sm_{sm}"), language_version(sm));
    let options = CompileOptions { target: Some(target), emit: Emit::Assembly, ..CompileOptions::default() };
    let bytes = llvm.compile(llvm_ir, &options).map_err(internal)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The version of PTX that knows the processor and what the code generator writes, as LLVM's feature.
fn language_version(sm: u32) -> &'static str {
    match sm {
        ..80 => "+ptx65",
        80..90 => "+ptx78",
        90.. => "+ptx80",
    }
}

/// Compiles to PTX and describes it. The caller sets the fingerprint.
pub(crate) fn compile(
    llvm: &Llvm,
    module: &Module,
    kernel: &Kernel,
    mut info: KernelInfo,
    specialisation: &Specialisation,
    sm: u32,
    shared: &CompilerState,
) -> Result<Artifact, CompileError> {
    let code = generate(module, kernel, specialisation, sm, shared)?;
    let text = kernel_stage(Stage::MachineCode, &kernel.name, || assembly(llvm, &code.llvm_ir, sm))?;
    info.symbol = code.symbol;
    info.threadgroup_static_bytes = code.threadgroup_static_bytes;
    info.loads_pointers = code.loads_pointers;
    note_values(&mut info, &code.value_words);
    note_specialisation(&mut info, specialisation);
    Ok(Artifact::new(ArtifactTarget::Nvidia { sm }, ArtifactCode::Ptx(Arc::from(text)), vec![info])
        .fault_sites(code.fault_sites.iter().map(|site| fault_site(module, kernel, site)).collect()))
}

/// The description that [`compile`] would give of the kernel, and its errors, without generating code.
pub(crate) fn describe(
    module: &Module,
    kernel: &Kernel,
    mut info: KernelInfo,
    specialisation: &Specialisation,
    sm: u32,
    budget: &Budget,
) -> Result<KernelInfo, CompileError> {
    check_size_for_gpus(budget, module, &kernel.name)?;
    let options = options(kernel, specialisation, sm)?;
    let described = ptx::describe(module, &kernel.name, &options);
    let described = described.map_err(|error| codegen_error(kernel, &error))?;
    info.symbol = described.symbol;
    info.threadgroup_static_bytes = described.threadgroup_static_bytes;
    info.loads_pointers = described.loads_pointers;
    note_values(&mut info, &described.value_words);
    note_specialisation(&mut info, specialisation);
    Ok(info)
}

/// Notes what a launch may give by value; reflection keeps the order of the kernel's arguments.
fn note_values(info: &mut KernelInfo, words: &[u32]) {
    for (argument, &words) in info.arguments.iter_mut().zip(words) {
        argument.value_words = words;
    }
}
