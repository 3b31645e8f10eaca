//! Which passes run for which target, in order: the only place that says so.
//!
//! Owns one list for each target. [`PREPARE`] runs for every target: it takes a module as the front end made
//! it to kernels without calls and function constants. [`CPU`] and then, for code of one threadgroup size,
//! [`CPU_WHOLE_THREADGROUPS`] run for the CPU's code generator, [`NVIDIA`] and [`NVIDIA_WHOLE_THREADGROUPS`]
//! likewise. `docs/reference/passes.md` is made from [`ALL`] by
//! `cargo xtask gen`.

use super::group_size::{choose_by_group_size, depends_on_group_size, set_group_size};
use super::manager::{Pass, PassManager, Step};
use super::pass_options::Level;
use super::unroll::UnrolledLoop;
use super::{
    InlineError, KeptCalls, SpecialiseError, alias_versioning, bool_copies, compact, dce, div_rem_pairs,
    early_cse, excess_precision, fold, hoist_divergent_barriers, if_convert, inline, inline_selectively,
    interleave_sums, licm, localize_divergent_exits, mem2reg, merge_stores, prefetch, promote_loop_accesses,
    reciprocal_root, reg2mem, row_blocks, scalarize, simdgroup_barriers, specialise, speculate_select_loads,
    sroa, uniform_div_versioning, unroll,
};
use anymetal_analysis::divergence::Geometry;
use anymetal_ir::{FuncId, Function, FunctionConstantId, Module};

/// Declares passes: the constant, the name that `--print-after` takes, the lowest level (`O0`: required), one
/// line, and the function.
macro_rules! passes {
    ($($constant:ident = $name:literal, $level:ident, $summary:literal, $run:expr;)*) => {
        $(
            #[doc = $summary]
            pub const $constant: Pass =
                Pass { name: $name, summary: $summary, level: Level::$level, run: $run };
        )*
        /// Every pass over functions, in the order in which pipelines first use them.
        pub const ALL: &[&Pass] = &[$(&$constant),*];
    };
}

passes! {
    FOLD = "fold", O1, "Fold constants, exact identities, and control flow that constants decide.",
        |function, context| fold::fold(context.module, function);
    EXCESS_PRECISION = "excess_precision", O1,
        "In fast math mode, compute with numbers as they were before they were rounded to half.",
        |function, _| excess_precision::excess_precision(function);
    RECIPROCAL_ROOT = "reciprocal_root", O1,
        "Outside of safe math mode, divide by a square root by multiplying with `rsqrt`.",
        |function, _| reciprocal_root::reciprocal_root(function);
    SROA = "sroa", O1, "Split aggregates in private memory into scalars.",
        |function, _| sroa::sroa(function);
    SPECULATE_SELECT_LOADS = "speculate_select_loads", O1,
        "Turn a load through a select of two addresses into a select of two loads.",
        |function, _| speculate_select_loads::speculate_select_loads(function);
    MEM2REG = "mem2reg", O0, "Promote private variables to values, loop parameters and results of constructs.",
        |function, _| mem2reg::mem2reg(function);
    BOOL_COPIES = "bool_copies", O1, "Copy the byte of a `bool` that is loaded to be stored.",
        |function, _| bool_copies::bool_copies(function);
    IF_CONVERT = "if_convert", O1, "Turn small branches into selects.",
        |function, _| if_convert::if_convert(function);
    SCALARIZE = "scalarize", O1, "Split integer vectors of which only elements are used.",
        |function, _| scalarize::scalarize(function);
    EARLY_CSE = "early_cse", O1, "Remove common subexpressions and repeated loads.",
        |function, _| early_cse::early_cse(function);
    LICM = "licm", O1, "Hoist loop-invariant code.",
        |function, _| licm::licm(function);
    PROMOTE_LOOP_ACCESSES = "promote_loop_accesses", O1,
        "Keep shared memory that a loop accesses at one address in a value.",
        |function, _| promote_loop_accesses::promote_loop_accesses(function);
    DCE = "dce", O1, "Remove dead code and dead stores to private memory.",
        |function, _| dce::dce(function);
    UNROLL = "unroll", O1, "Unroll loops of a known trip count completely where that pays.",
        // An inner loop first, then the one around it; later what has become small.
        |function, context| {
            let unrolled = unroll::unroll(function, context.round >= 3);
            context.remark(|| unrolled.iter().map(UnrolledLoop::remark).collect());
            !unrolled.is_empty()
        };
    REG2MEM = "reg2mem", O0, "Demote loop parameters and results of constructs to private variables.",
        |function, _| reg2mem::reg2mem(function).is_some();
    COMPACT = "compact", O0, "Drop unreachable instructions and number the rest in order.",
        |function, _| compact::compact(function);
    HOIST_DIVERGENT_BARRIERS = "hoist_divergent_barriers", O0, "Move threadgroup barriers out of divergent branches.",
        |function, _| hoist_divergent_barriers::hoist_divergent_barriers(function);
    LOCALIZE_DIVERGENT_EXITS = "localize_divergent_exits", O0,
        "Give divergent exits after the last barrier a scope of their own.",
        |function, _| localize_divergent_exits::localize_divergent_exits(function);
    ALIAS_VERSIONING = "alias_versioning", O2,
        "Version loops for arguments that do not overlap, where memory can then be kept in a value.",
        |function, _| alias_versioning::alias_versioning(function);
    PREFETCH = "prefetch", O2, "Insert prefetches of the next threadgroup's and the next iterations' data.",
        |function, _| prefetch::prefetch(function);
    MERGE_STORES = "merge_stores", O2, "Merge adjacent threadgroup stores of a thread into vector stores.",
        |function, context| context.with_bounds(|bounds| merge_stores::merge_stores(function, bounds));
    DIV_REM_PAIRS = "div_rem_pairs", O2, "Bring division and remainder of the same operands together.",
        |function, _| div_rem_pairs::div_rem_pairs(function);
    GROUP_SIZE = "group_size", O0, "Replace queries that a known threadgroup size answers by constants.",
        |function, context| {
            let size = context.geometry.and_then(Geometry::size).filter(|_| depends_on_group_size(function));
            size.is_some_and(|size| set_group_size(function, size))
        };
    UNIFORM_DIV_VERSIONING = "uniform_div_versioning", O2,
        "Version code for SIMD-groups in which a quotient is uniform.",
        |function, context| context.geometry.is_some_and(|geometry| uniform_div_versioning::uniform_div_versioning(function, geometry));
    SIMDGROUP_BARRIERS = "simdgroup_barriers", O1,
        "Make barriers of threadgroups of one SIMD-group barriers of that SIMD-group.",
        |function, context| context.geometry.is_some_and(|geometry| simdgroup_barriers::simdgroup_barriers(function, geometry));
    INTERLEAVE_SUMS = "interleave_sums", O2,
        "Let the lanes of a SIMD-group take turns in the elements of a sum over all of them.",
        |function, context| context.geometry.is_some_and(|geometry| interleave_sums::interleave_sums(function, geometry));
    ROW_BLOCKS = "row_blocks", O2,
        "Load several iterations' elements at once where each thread walks its own row.",
        |function, context| context.geometry.is_some_and(|geometry| row_blocks::row_blocks(function, geometry));
}

/// Makes code small and simple, for every target and between other passes.
pub const SIMPLIFY: &[Step] = &[Step::Fixpoint(
    &[
        &FOLD,
        // Before constants are rounded once more, and where all executors see it.
        &EXCESS_PRECISION,
        &RECIPROCAL_ROOT,
        &SROA,
        &SPECULATE_SELECT_LOADS,
        &MEM2REG,
        // Where all executors see it, and when no private variable is between load and store any more: where
        // none ever was, the front end has done it.
        &BOOL_COPIES,
        &IF_CONVERT,
        &SCALARIZE,
        &EARLY_CSE,
        &LICM,
        // With one value for each address, and before the loop is unrolled into different accesses.
        &PROMOTE_LOOP_ACCESSES,
        &DCE,
        &UNROLL,
    ],
    &COMPACT,
    // Each round that matters enables the next by one more nested fact, so few are needed.
    8,
)];

/// The CPU: barriers only in uniform control flow, then what vector code of whole SIMD-groups profits from.
pub const CPU: &[Step] = &[
    Step::Pass(&HOIST_DIVERGENT_BARRIERS, &[]),
    Step::Pass(&ALIAS_VERSIONING, SIMPLIFY),
    Step::Pass(&PREFETCH, &[]),
    Step::Pass(&MERGE_STORES, &[]),
    Step::Pass(&DIV_REM_PAIRS, &[]),
];

/// The CPU, for the version of the code for whole threadgroups of one size, after [`CPU`]. Most of the work
/// is done by it, so that versioning is worth its code size.
pub const CPU_WHOLE_THREADGROUPS: &[Step] = &[
    Step::Pass(&SIMDGROUP_BARRIERS, &[]),
    Step::Pass(&GROUP_SIZE, SIMPLIFY),
    Step::Pass(&UNIFORM_DIV_VERSIONING, SIMPLIFY),
    Step::Pass(&DIV_REM_PAIRS, &[]),
    Step::Pass(
        &INTERLEAVE_SUMS,
        &[Step::Pass(&EARLY_CSE, &[]), Step::Pass(&DCE, &[]), Step::Pass(&COMPACT, &[])],
    ),
    // Last: the loops that remain are not unrolled.
    Step::Pass(&ROW_BLOCKS, &[Step::Pass(&EARLY_CSE, &[]), Step::Pass(&DCE, &[]), Step::Pass(&COMPACT, &[])]),
];

/// The CPU's code generator knows private variables, not what constructs define, and executes the constructs
/// around barriers once for all threads of a threadgroup. It runs these after its analysis of loops.
pub const CPU_VARIABLES: &[Step] = &[Step::Pass(&REG2MEM, &[]), Step::Pass(&LOCALIZE_DIVERGENT_EXITS, &[])];

/// NVIDIA GPUs: a thread stays a thread, LLVM and the driver's assembler do the rest.
pub const NVIDIA: &[Step] = &[Step::Pass(&HOIST_DIVERGENT_BARRIERS, &[]), Step::Pass(&MERGE_STORES, &[])];

/// NVIDIA GPUs, for code of whole threadgroups of one size, after [`NVIDIA`].
pub const NVIDIA_WHOLE_THREADGROUPS: &[Step] = &[Step::Pass(&GROUP_SIZE, SIMPLIFY)];

/// The pipelines by name, in the order in which they run.
pub const PIPELINES: &[(&str, &[Step])] = &[
    ("simplify", SIMPLIFY),
    ("cpu", CPU),
    ("cpu, whole threadgroups of one size", CPU_WHOLE_THREADGROUPS),
    ("cpu, before code generation", CPU_VARIABLES),
    ("nvidia", NVIDIA),
    ("nvidia, whole threadgroups of one size", NVIDIA_WHOLE_THREADGROUPS),
];

/// What [`prepare`] is given besides the module.
#[derive(Debug, Clone, Default)]
pub struct PrepareOptions<'a> {
    /// Values of function constants; `None`: left undefined.
    pub constants: &'a [(FunctionConstantId, Option<u64>)],
    /// The size of every threadgroup, if the module is for whole threadgroups of one size only.
    pub whole_group_size: Option<[u32; 3]>,
    /// Which calls stay; `None`: all are inlined.
    pub kept_calls: Option<KeptCalls>,
}

/// Why a module could not be prepared. It is of no use then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PrepareError {
    /// Function constants.
    #[error(transparent)]
    Specialise(#[from] SpecialiseError),
    /// Calls.
    #[error(transparent)]
    Inline(#[from] InlineError),
}

/// One pass over a module.
#[derive(Clone, Copy)]
pub struct ModulePass {
    /// As `--print-after` takes it.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    run: fn(&mut Module, &PrepareOptions<'_>, &mut PassManager<'_>) -> Result<(), PrepareError>,
}

impl std::fmt::Debug for ModulePass {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name)
    }
}

/// What [`prepare`] runs over the module, in order, for every target.
pub const PREPARE: &[ModulePass] = &[
    ModulePass {
        name: "specialise",
        summary: "Give function constants their values and drop disabled arguments.",
        run: |module, options, _| Ok(specialise(module, options.constants)?),
    },
    // Before inlining: of kernels that switch over instances of a template one remains.
    ModulePass {
        name: "choose_by_group_size",
        summary: "With one threadgroup size: take the choices of kernels that depend on it.",
        run: |module, options, _| match options.whole_group_size {
            Some(size) => Ok(choose_by_group_size(module, size)?),
            None => Ok(()),
        },
    },
    ModulePass {
        name: "inline",
        summary: "Inline every call; of large kernels for CPUs not those of large functions.",
        run: |module, options, manager| {
            match options.kept_calls {
                Some(kept) => inline_selectively(module, kept, manager).map(|_| ())?,
                None => inline(module)?,
            }
            Ok(())
        },
    },
    ModulePass {
        name: "simplify",
        summary: "Run the simplification passes over every function until nothing changes.",
        run: |module, _, manager| {
            simplify(module, manager);
            Ok(())
        },
    },
];

/// Takes a module as the front end made it to kernels without calls and function constants, simplified.
///
/// # Errors
/// Function constants without a value, conditions of arguments that are no constants, and code that inlining
/// makes too large.
pub fn prepare(
    module: &mut Module,
    options: &PrepareOptions<'_>,
    manager: &mut PassManager<'_>,
) -> Result<(), PrepareError> {
    for pass in PREPARE {
        (pass.run)(module, options, manager)?;
        manager.after_module_pass(pass.name, module);
    }
    Ok(())
}

/// As [`prepare`] without the simplification: specialised and inlined, all else as the front end made it.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_unchanged(module: &mut Module, options: &PrepareOptions<'_>) -> Result<(), PrepareError> {
    specialise(module, options.constants)?;
    Ok(inline(module)?)
}

/// Runs [`SIMPLIFY`] over every function.
pub fn simplify(module: &mut Module, manager: &mut PassManager<'_>) {
    for index in 0..module.functions.len() {
        simplify_function(module, FuncId(index as u32), manager);
    }
}

/// Runs [`SIMPLIFY`] over one function.
pub(super) fn simplify_function(module: &mut Module, id: FuncId, manager: &mut PassManager<'_>) {
    let nothing = Function::new(String::new(), &[], None);
    let mut function = std::mem::replace(&mut module.functions[id.index()], nothing);
    manager.run(SIMPLIFY, module, None, &mut function);
    module.functions[id.index()] = function;
}

/// The name of a pass, as `--print-after` takes it.
pub fn pass_names() -> impl Iterator<Item = &'static str> {
    PREPARE.iter().map(|pass| pass.name).chain(ALL.iter().map(|pass| pass.name))
}
