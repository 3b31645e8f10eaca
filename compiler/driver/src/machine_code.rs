//! Machine code: the code generator's text through LLVM to an artifact.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anymetal_analysis::waits_for_threads;
use anymetal_codegen::cpu::{self, CodegenError, CpuCode, CpuFeatures, CpuOptions, Lowered};
use anymetal_hal::artifact::{
    Artifact, ArtifactCode, ArtifactTarget, Effort, FaultSite, KernelInfo, ReducedEffort,
};
use anymetal_ir::{Kernel, Module};
use anymetal_llvm::{CompileOptions, HostCpu, Llvm, OptLevel, VectorFacts, heap, join};
use anymetal_msl::both;
use anymetal_opt::{Feature, Level, PassManager};
use anymetal_telemetry::record::Stage;

use crate::budget::{Budget, largest_line};
use crate::compiler::CompilerState;
use crate::error::CompileError;
use crate::library::Specialisation;
use crate::observe::kernel_stage;
use crate::pipeline::check_size_for_machine_code;
use crate::reflection::{ENTRY_SYMBOL, address_space};

/// What the code generator may take from a processor with these vector instructions. The two crates do not
/// share types.
pub fn cpu_features(vector: VectorFacts) -> CpuFeatures {
    CpuFeatures {
        avx512: vector.avx512f,
        avx2: vector.avx2,
        fma: vector.fma,
        f16c: vector.f16c,
        neon: vector.neon,
        fast_gather: vector.has_fast_gather(),
        streams_in_second_level: vector.wants_streams_in_second_level(),
    }
}

/// How this processor's code is generated with the full effort, and the threadgroup size that the code is
/// made for if it is not that of the launches.
fn cpu_options(
    module: &Module,
    kernel: &Kernel,
    specialisation: &Specialisation,
) -> Result<(CpuOptions, Option<[u32; 3]>), CompileError> {
    let vector = HostCpu::detect().map_err(CompileError::CpuLevel)?.vector;
    let level = specialisation.passes.level;
    let may_differ = !specialisation.keeps_threadgroups
        && level != Level::O0
        && specialisation.passes.has(Feature::ExecutedGroup);
    let given = specialisation.group_size.filter(|_| may_differ);
    let executed = given.and_then(|given| cpu::executed_group(module, kernel, given));
    let options = CpuOptions {
        checks: specialisation.checks,
        group_size: executed.or(specialisation.group_size),
        // Other threadgroups may be cut off where those of the launch are not.
        whole_threadgroups_only: specialisation.whole_threadgroups_only && executed.is_none(),
        features: cpu_features(vector),
        symbol: ENTRY_SYMBOL.to_owned(),
        comments: false,
        remarks: false,
        baseline: level == Level::O0,
        max_text_bytes: usize::MAX,
        passes: specialisation.passes.clone(),
    };
    Ok((options, executed))
}

/// The prepared module's kernel after the target's passes, as the code generator takes it.
pub(crate) fn lower(
    module: &Module,
    kernel: &Kernel,
    specialisation: &Specialisation,
    manager: &mut PassManager<'_>,
) -> Result<Lowered, CompileError> {
    Ok(cpu::lower(module, kernel, &cpu_options(module, kernel, specialisation)?.0, manager))
}

/// The plans of the prepared module's kernel, as text.
pub(crate) fn plans(
    module: &Module,
    kernel: &Kernel,
    specialisation: &Specialisation,
) -> Result<String, CompileError> {
    let (options, _) = cpu_options(module, kernel, specialisation)?;
    cpu::plans(module, &kernel.name, &options).map_err(|error| codegen_error(kernel, &error))
}

/// LLVM text and the effort that it was generated with.
pub(crate) struct Generated {
    pub(crate) code: CpuCode,
    pub(crate) effort: Effort,
    level: Level,
    /// The threadgroup size that the code is made for if it is not that of the launches.
    pub(crate) executed_group: Option<[u32; 3]>,
}

/// What is wanted besides code.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wanted {
    /// The IR's value numbers in the text, as comments.
    pub(crate) comments: bool,
    pub(crate) remarks: bool,
}

/// LLVM text for the prepared module's kernel, generated with the greatest effort within the budget.
pub(crate) fn generate(
    module: &Module,
    kernel: &Kernel,
    specialisation: &Specialisation,
    Wanted { comments, remarks }: Wanted,
    shared: &CompilerState,
) -> Result<Generated, CompileError> {
    let budget = &shared.budget;
    check_size_for_machine_code(budget, module, &kernel.name)?;
    shared.counts.add_generated();
    let (options, executed_group) = cpu_options(module, kernel, specialisation)?;
    let full = CpuOptions { comments, remarks, max_text_bytes: budget.text_bytes, ..options };
    let within_budget = || {
        match cpu::generate(module, &kernel.name, &full) {
            Ok(code) if budget.optimises(&code) => return Ok((code, Effort::Full)),
            Ok(_) | Err(CodegenError::TooMuchText { .. }) => {}
            Err(error) => return Err(codegen_error(kernel, &error)),
        }
        match cpu::generate(module, &kernel.name, &CpuOptions { baseline: true, ..full }) {
            Ok(code) if budget.optimises(&code) => Ok((code, Effort::Baseline)),
            Ok(code) => Ok((code, Effort::Unoptimised)),
            Err(error @ CodegenError::TooMuchText { .. }) => Err(CompileError::TooMuchCode {
                kernel: kernel.name.clone(),
                reason: error.to_string(),
                largest_line: largest_line(module),
            }),
            Err(error) => Err(codegen_error(kernel, &error)),
        }
    };
    let (code, effort) = kernel_stage(Stage::Generate, &kernel.name, within_budget)?;
    shared.counts.add_effort(effort);
    Ok(Generated { code, effort, level: specialisation.passes.level, executed_group })
}

pub(crate) fn codegen_error(kernel: &Kernel, error: &CodegenError) -> CompileError {
    match error {
        CodegenError::TooMuchMemory { .. }
        | CodegenError::TooDeep { .. }
        | CodegenError::TooMuchText { .. } => {
            CompileError::TooLarge { kernel: kernel.name.clone(), reason: error.to_string() }
        }
        CodegenError::BadGroupSize { .. } | CodegenError::Unsupported { .. } => {
            CompileError::Unsupported { kernel: kernel.name.clone(), reason: error.to_string() }
        }
        CodegenError::UnknownKernel { .. }
        | CodegenError::NotInlined { .. }
        | CodegenError::NotSpecialised => CompileError::internal("code generator", error.to_string()),
    }
}

/// The bytes that LLVM makes of the code, of the kind that the options select.
pub(crate) fn through_llvm(
    llvm: &Llvm,
    generated: &Generated,
    options: &CompileOptions,
) -> Result<Vec<u8>, CompileError> {
    llvm.compile(&generated.code.llvm_ir, &options_for(generated, options)).map_err(internal)
}

fn options_for(generated: &Generated, options: &CompileOptions) -> CompileOptions {
    let is_unoptimised = generated.effort == Effort::Unoptimised || generated.level == Level::O0;
    let opt = if is_unoptimised { OptLevel::O0 } else { options.opt };
    CompileOptions { opt, ..options.clone() }
}

pub(crate) fn internal(error: anymetal_llvm::CompileError) -> CompileError {
    CompileError::internal("LLVM", error.to_string())
}

/// The object, made on the processors that no other compile uses.
fn object(llvm: &Llvm, generated: &Generated) -> Result<Vec<u8>, CompileError> {
    let compiling = Compiling::new();
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let parts = generated.code.parts(processors / compiling.all);
    let options = options_for(generated, &CompileOptions::default());
    let objects = side_by_side(&parts, &|part| llvm.compile(part, &options).map_err(internal))?;
    join(objects).map_err(internal)
}

/// Makes something of each part, each on a separate thread where there are threads; this one has the last.
fn side_by_side(
    parts: &[String],
    make: &(impl Fn(&str) -> Result<Vec<u8>, CompileError> + Sync),
) -> Result<Vec<Vec<u8>>, CompileError> {
    let (first, rest) = parts.split_first().expect("code has at least one part");
    if rest.is_empty() {
        return Ok(vec![make(first)?]);
    }
    let aside = || {
        heap::reserve();
        make(first)
    };
    let (first, rest) = match both(aside, || side_by_side(rest, make)) {
        Ok(made) => made,
        // No thread, or no memory for its stack, as in a worker with a limit: one after the other.
        Err(_) => (make(first), side_by_side(rest, make)),
    };
    let mut objects = vec![first?];
    objects.extend(rest?);
    Ok(objects)
}

/// A compile in progress, and the number of compiles in progress when it started.
struct Compiling {
    all: usize,
}

static COMPILING: AtomicUsize = AtomicUsize::new(0);

impl Compiling {
    fn new() -> Self {
        Self { all: COMPILING.fetch_add(1, Ordering::Relaxed) + 1 }
    }
}

impl Drop for Compiling {
    fn drop(&mut self) {
        COMPILING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Compiles to an object and describes it. The caller sets the fingerprint.
pub(crate) fn compile(
    llvm: &Llvm,
    module: &Module,
    kernel: &Kernel,
    mut info: KernelInfo,
    specialisation: &Specialisation,
    shared: &CompilerState,
) -> Result<Artifact, CompileError> {
    let generated = generate(module, kernel, specialisation, Wanted::default(), shared)?;
    let object = kernel_stage(Stage::MachineCode, &kernel.name, || object(llvm, &generated))?;
    let Generated { code, effort, executed_group, .. } = generated;
    complete(&mut info, &code, specialisation);
    info.executed_group = executed_group;
    info.reduced_effort = (effort != Effort::Full).then(|| ReducedEffort::new(effort, largest_line(module)));
    Ok(Artifact::new(target_of(llvm), ArtifactCode::Object(Arc::from(object)), vec![info])
        .fault_sites(code.fault_sites.iter().map(|site| fault_site(module, kernel, site)).collect()))
}

/// This processor.
pub(crate) fn target_of(llvm: &Llvm) -> ArtifactTarget {
    let target = llvm.host_target();
    ArtifactTarget::Cpu {
        triple: target.architecture.triple().to_owned(),
        cpu: target.cpu.clone(),
        features: target.features.clone(),
    }
}

/// The description that [`compile`] would give of the kernel, and its errors, without generating code; the
/// sizes of scratch memory, which only code that runs needs, are left at 0. LLVM accepts all valid text.
pub(crate) fn describe(
    module: &Module,
    kernel: &Kernel,
    mut info: KernelInfo,
    specialisation: &Specialisation,
    budget: &Budget,
) -> Result<KernelInfo, CompileError> {
    check_size_for_machine_code(budget, module, &kernel.name)?;
    let (options, executed_group) = cpu_options(module, kernel, specialisation)?;
    let described = cpu::describe(module, &kernel.name, &options);
    let described = described.map_err(|error| codegen_error(kernel, &error))?;
    info.symbol = described.symbol;
    info.threadgroup_static_bytes = described.threadgroup_static_bytes;
    info.executed_group = executed_group;
    info.independent_simdgroups = waits_for_threads(module, kernel.function);
    note_specialisation(&mut info, specialisation);
    Ok(info)
}

/// Adds what the code generator decided.
fn complete(info: &mut KernelInfo, code: &CpuCode, specialisation: &Specialisation) {
    info.symbol = code.symbol.clone();
    info.threadgroup_static_bytes = code.threadgroup_static_bytes;
    info.scratch_bytes = code.scratch_bytes;
    info.loads_pointers |= code.loads_pointers;
    info.scratch_bytes_per_simdgroup = code.scratch_bytes_per_simdgroup;
    info.independent_simdgroups = code.independent_simdgroups;
    note_specialisation(info, specialisation);
}

pub(crate) fn note_specialisation(info: &mut KernelInfo, specialisation: &Specialisation) {
    info.specialised_group = specialisation.group_size;
    info.whole_threadgroups_only = specialisation.whole_group_size().is_some();
}

pub(crate) fn fault_site(module: &Module, kernel: &Kernel, site: &cpu::FaultSite) -> FaultSite {
    let argument = site.argument.map(|position| &kernel.args[position]);
    let file = site.loc.is_known().then(|| &module.files[site.loc.file as usize]);
    FaultSite::new(kernel.name.clone(), site.kind)
        .argument(argument.map(|argument| argument.index))
        .argument_name(argument.map_or_else(|| site.variable.clone(), |argument| argument.name.clone()))
        .address_space(address_space(site.space))
        .access_bytes(site.access_bytes)
        // 0 is an element of unknown size.
        .element_bytes(argument.map_or(0, |argument| u32::try_from(argument.element_size).unwrap_or(0)))
        .file(file.cloned().unwrap_or_default())
        .line(site.loc.line)
        .column(site.loc.column)
}
