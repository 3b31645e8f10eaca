//! IR to LLVM text for CPUs: SPMD on SIMD, one vector element per thread of a SIMD-group.
//!
//! A kernel becomes an entry that loops over threadgroups, and one function per version: a version for full
//! threadgroups of a promised size, and one for all others. The stages and what each decides are listed in
//! the crate's documentation. Start with [`generate`].
//!
//! # Strategies of loads and stores
//!
//! | strategy of load or store | planned in | emitted in |
//! |---|---|---|
//! | promoted local (no memory access) | `simd::storage` | `emit/promoted` |
//! | private array, interleaved by lane | `simd::storage` | `emit/private` |
//! | uniform address: scalar load, broadcast | `simd::access` | `emit/memory/load`, `store` |
//! | contiguous or few runs: plain vectors | `simd::access` | `emit/memory/load`, `store` |
//! | strided within a short span: load and shuffle | `simd::access` | `emit/memory/load`, `emit/transpose` |
//! | interleaved form of vectors kept for reuse | `emit/interleaved_cache` | `emit/transpose` |
//! | bundle: loads at constant distances | `simd::bundles` | `emit/bundle` |
//! | stencil rows, unclamped | `simd::stencil_rows` | `emit/stencil_rows`, `emit/guard_versioning` |
//! | stencil rows, some lanes clamped | `simd::stencil_rows` | `emit/clamped_rows` |
//! | check-free loop over the interior | `simd::interior_path` | `emit/interior` |
//! | varying, contiguous at run time | `emit/contiguity_check` | `emit/gather`, `emit/scatter` |
//! | varying within a short stretch: permute | `emit/permute_gather` | `emit/permute_gather` |
//! | base and 32-bit index: gather, scatter | `emit/indexed_gather` | `emit/indexed_gather`, `emit/scatter` |
//! | any other varying address | `emit/gather` | `emit/gather`, `emit/scatter` |
//! | out-of-line fallback gather | `emit/gather` | `emit/cold_gather` |
//! | masked vector | `emit/under_mask` | `emit/under_mask` |
//! | lane by lane with a check and report each | `emit/memory/bounds` | `emit/memory/slow`, `emit/out_of_line` |
//! | varying allocation: waterfall loop | `analysis::roots` | `emit/memory/waterfall` |
//! | non-temporal store | `simd::nontemporal` | `emit/nontemporal` |
//! | matrix rows | `simd::fragments` | `emit/matrix/transfer`, `operands`, `element_stores` |
//!
//! Redundant bounds checks are eliminated by `emit/available_checks`.

mod emit;
mod executed_group;
mod inline_budget;
pub mod math;
mod options;
mod split_module;
mod threadgroup;
pub(crate) mod walk;

use std::borrow::Cow;
use std::iter;

use crate::limits::cpu::{MAX_PRIVATE_BYTES, MAX_VERSIONED_SIZE};
use anymetal_analysis::{CountedLoops, waits_for_threads};
use anymetal_ir::{Function, Inst, Kernel, Module, Op, Query, Space, Type, Value};
use anymetal_opt::{Feature, PassManager, pipeline};

pub use anymetal_simd::target::CpuFeatures;
pub use executed_group::executed_group;
pub use options::{CodegenError, CpuCode, CpuDescription, CpuOptions, FaultSite};

use crate::llvm;
use crate::requested_kernel::requested_kernel;

use anymetal_analysis::divergence::Geometry;
use anymetal_analysis::polls::PollTarget;
use anymetal_analysis::roots::Root;
use anymetal_simd::bundles::Bundles;
use anymetal_simd::facts::Facts;
use anymetal_simd::group_level::GroupLevel;
use anymetal_simd::lane_order;
use anymetal_simd::liveness::Liveness;
use anymetal_simd::plan::{Plan, PlanOptions};
use anymetal_simd::storage::Storage;
use anymetal_simd::text::PlanText;
use emit::{SubroutinePolls, Subroutines};
use threadgroup::ThreadgroupVariables;

/// A kernel's function as the code generator takes it: after the target's passes.
#[derive(Debug, Clone)]
pub struct Lowered {
    /// For threadgroups of any size and those cut off at the grid's edge.
    pub general: Function,
    /// For whole threadgroups of the size in the options, where that makes a difference.
    pub whole: Option<Function>,
}

/// Runs the CPU's passes over a kernel's function. The module must be verified, and the function inlined and
/// specialised.
pub fn lower(
    module: &Module,
    kernel: &Kernel,
    options: &CpuOptions,
    manager: &mut PassManager<'_>,
) -> Lowered {
    let mut general = module.function(kernel.function).clone();
    manager.run(pipeline::CPU, module, None, &mut general);
    let whole = options.group_size.filter(|_| !options.baseline).and_then(|size| {
        let geometry = whole_geometry(module.function(kernel.function), size, options);
        let mut whole = general.clone();
        let changed = manager.run(pipeline::CPU_WHOLE_THREADGROUPS, module, Some(geometry), &mut whole);
        changed.then_some(whole)
    });
    Lowered { general, whole }
}

/// What [`generate`] would tell of a kernel, without writing its code: the same errors, at the price of the
/// target's passes. The module must be verified, and the kernel's function inlined and specialised.
///
/// # Errors
/// Those of [`generate`], except [`CodegenError::TooMuchText`], which only writing the code shows.
pub fn describe(module: &Module, kernel: &str, options: &CpuOptions) -> Result<CpuDescription, CodegenError> {
    let kernel = requested_kernel(module, kernel, options.group_size)?;
    let Lowered { general, whole } = lower(module, kernel, options, &mut PassManager::new(&options.passes));
    checked_instructions(&general)?;
    whole.as_ref().map(checked_instructions).transpose()?;
    let threadgroup_static_bytes = ThreadgroupVariables::new(module)?.bytes;
    Ok(CpuDescription { symbol: options.symbol.clone(), threadgroup_static_bytes })
}

/// Writes the code of one kernel. The module must be verified, and the kernel's function inlined and
/// specialised.
pub fn generate(module: &Module, kernel: &str, options: &CpuOptions) -> Result<CpuCode, CodegenError> {
    let kernel = requested_kernel(module, kernel, options.group_size)?;
    analysed(module, kernel, options, |subroutines, analyses| {
        emit::generate_module(module, kernel, options, subroutines, analyses)
    })
}

/// The plans of a kernel's versions, as text. The module must be as for [`generate`].
///
/// # Errors
/// Those of [`describe`].
pub fn plans(module: &Module, kernel: &str, options: &CpuOptions) -> Result<String, CodegenError> {
    let kernel = requested_kernel(module, kernel, options.group_size)?;
    analysed(module, kernel, options, |subroutines, analyses| {
        let polls = SubroutinePolls::of(module, subroutines, &options.features);
        let texts = versions(module, kernel, options).into_iter().map(|geometry| {
            let plan =
                Plan::new(analyses.of(geometry).1, plan_options(module, kernel, options, &polls.calls()));
            PlanText { plan: &plan, features: &options.features }.to_string()
        });
        Ok(texts.collect::<Vec<_>>().join("\n"))
    })
}

/// What the plans of a kernel's versions depend on.
fn plan_options<'a>(
    module: &'a Module,
    kernel: &'a Kernel,
    options: &'a CpuOptions,
    calls: &'a dyn PollTarget,
) -> PlanOptions<'a> {
    PlanOptions {
        module,
        kernel,
        calls,
        features: &options.features,
        passes: &options.passes,
        independent_simdgroups: waits_for_threads(module, kernel.function),
    }
}

/// Runs the target's passes and the analyses that do not depend on threadgroups, and calls `then` with those
/// of the functions that the kernel calls, and of its own.
fn analysed<T>(
    module: &Module,
    kernel: &Kernel,
    options: &CpuOptions,
    then: impl FnOnce(&Subroutines<'_>, &Analyses<'_>) -> Result<T, CodegenError>,
) -> Result<T, CodegenError> {
    let manager = &mut PassManager::new(&options.passes);
    let Lowered { general, whole } = lower(module, kernel, options, manager);
    debug_assert_eq!(general.params.len(), kernel.args.len(), "a kernel's parameters are its arguments");
    let mut with_variables = |function: &Function| {
        let mut function = function.clone();
        manager.run(pipeline::CPU_VARIABLES, module, None, &mut function);
        function
    };
    let called = match module.functions.as_slice() {
        [_] => Cow::Borrowed(module),
        functions => {
            let functions = functions.iter().map(&mut with_variables).collect();
            Cow::Owned(Module { functions, ..module.clone() })
        }
    };
    let mut analysed = |function| Analysed::new(function, with_variables(function), kernel);
    let general = analysed(&general)?;
    let whole = whole.as_ref().map(analysed).transpose()?;
    let analyses = Analyses { general, whole };
    let callers: Vec<Facts<'_>> = analyses.all().map(|caller| caller.facts(Geometry::Any)).collect();
    let mut subroutines = Subroutines::new(&called, kernel, &options.features, &callers)?;
    for caller in analyses.all() {
        subroutines.note_calls(&caller.function, &|pointer| caller.storage.pointer(pointer));
    }
    then(&subroutines, &analyses)
}

/// The versions worth having: one for whole threadgroups of the promised size, one for the rest.
fn versions(module: &Module, kernel: &Kernel, options: &CpuOptions) -> Vec<Geometry> {
    let function = module.function(kernel.function);
    let positions = function.insts.iter().any(|inst| {
        matches!(inst.op, Op::Query(Query::ThreadPositionInGrid(_) | Query::ThreadPositionInThreadgroup(_)))
    });
    let is_large = function.insts.len() > MAX_VERSIONED_SIZE;
    match options.group_size {
        _ if (is_large || options.baseline) && !options.whole_threadgroups_only => {
            vec![if positions { Geometry::Any } else { Geometry::Line }]
        }
        Some(size) => {
            let whole = whole_geometry(function, size, options);
            if options.whole_threadgroups_only {
                return vec![whole];
            }
            let rest =
                if size[1] == 1 && size[2] == 1 || !positions { Geometry::Line } else { Geometry::Any };
            vec![whole, rest]
        }
        None if positions => vec![Geometry::Line, Geometry::Any],
        None => vec![Geometry::Line],
    }
}

/// The lane order of whole threadgroups.
fn whole_geometry(function: &Function, size: [u32; 3], options: &CpuOptions) -> Geometry {
    let is_y_major = options.passes.has(Feature::LaneOrder) && lane_order::prefers_y_major(function, size);
    if is_y_major { Geometry::YMajor(size) } else { Geometry::Full(size) }
}

/// The instructions of a lowered function in program order, if the code generator takes it.
fn checked_instructions(function: &Function) -> Result<Vec<Inst>, CodegenError> {
    let order = walk::instructions(function)?;
    let bytes = function.locals.iter().fold(0_u64, |sum, local| sum.saturating_add(local.size));
    if bytes > MAX_PRIVATE_BYTES {
        return Err(CodegenError::TooMuchMemory { bytes, limit: MAX_PRIVATE_BYTES });
    }
    Ok(order)
}

/// A function and the analyses of it that do not depend on its geometry.
struct Analysed<'a> {
    /// Its loops, when they had parameters.
    loops: CountedLoops<'a>,
    function: Function,
    storage: Storage,
    liveness: Liveness,
    group_level: GroupLevel,
    bundles: Bundles,
}

/// The analyses of a kernel's functions.
struct Analyses<'a> {
    /// For threadgroups of any size and those cut off at the grid's edge.
    general: Analysed<'a>,
    /// For whole threadgroups, where that makes a difference.
    whole: Option<Analysed<'a>>,
}

impl<'a> Analyses<'a> {
    fn all(&self) -> impl Iterator<Item = &Analysed<'a>> {
        iter::once(&self.general).chain(&self.whole)
    }

    /// The number of the function that serves a geometry, and its analyses.
    fn of(&self, geometry: Geometry) -> (u32, Facts<'_>) {
        match (&self.whole, geometry.size()) {
            (Some(whole), Some(_)) => (1, whole.facts(geometry)),
            _ => (0, self.general.facts(geometry)),
        }
    }
}

/// Calls take pointers to arrays of this function's that are addressed in no other way, and any to memory
/// that threads share. The passes see to that.
fn check_calls(function: &Function, storage: &Storage, order: &[Inst]) -> Result<(), CodegenError> {
    for &inst in order {
        let Op::Call(callee, args) = &function.inst(inst).op else { continue };
        let is_own = |arg: &Value| match storage.pointer(*arg).root {
            Root::Local(local) => !storage.is_exposed(local),
            _ => false,
        };
        let is_private = |arg: &Value| function.ty(*arg) == Type::Ptr(Space::Thread);
        if args.iter().any(|arg| is_private(arg) && !is_own(arg)) {
            return Err(CodegenError::NotInlined { callee: *callee });
        }
    }
    Ok(())
}

impl<'a> Analysed<'a> {
    /// `with_loops` is the function before its loops got variables.
    fn new(with_loops: &'a Function, function: Function, kernel: &Kernel) -> Result<Self, CodegenError> {
        // The limits are those of the kernel's own variables, which `describe` checks, too.
        checked_instructions(with_loops)?;
        let order = walk::instructions(&function)?;
        let storage = Storage::new(&function, kernel, &order);
        check_calls(&function, &storage, &order)?;
        let liveness = Liveness::new(&function, &storage);
        let (group_level, bundles) = (GroupLevel::new(&function), Bundles::new(&function));
        let loops = CountedLoops::new(with_loops);
        Ok(Self { loops, function, storage, liveness, group_level, bundles })
    }

    fn facts(&self, geometry: Geometry) -> Facts<'_> {
        let Self { loops, function, storage, liveness, group_level, bundles } = self;
        Facts { function, loops, storage, liveness, group_level, bundles, geometry }
    }
}

/// The slot of each argument of the kernel by the rule of the launch ABI; `None` for disabled arguments.
pub fn argument_slots(kernel: &Kernel) -> Vec<Option<u32>> {
    anymetal_abi::argument_slots(kernel.args.iter().map(|argument| (argument.kind, argument.enabled)))
}
