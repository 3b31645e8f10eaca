//! Kernels between front end and code generator, kept for the next that needs them.
//!
//! Owns [`Prepared`], and the counts of stages that show what was kept. Describing a kernel and compiling it
//! for any number of threadgroup sizes start from the same module, which is prepared once. Invariant: all
//! modules kept by a compiler together have at most [`MAX_INSTRUCTIONS_KEPT`] instructions, however many
//! kernels there are.

use std::sync::atomic::{AtomicU64, Ordering};

use anymetal_hal::artifact::{Effort, FunctionConstantInfo};
use anymetal_ir::{Module, Op};
use anymetal_opt::PassOptions;

use crate::library::Specialisation;

/// Instructions of all prepared modules that a compiler keeps; real kernels have hundreds to thousands.
pub(crate) const MAX_INSTRUCTIONS_KEPT: usize = 100_000;

/// A kernel as executors take it.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// Verified; one kernel without function constants.
    pub(crate) module: Module,
    /// The function constants of the kernel before they were given values.
    pub(crate) constants: Vec<FunctionConstantInfo>,
    /// Whether preparing it for whole threadgroups of one size may give another module.
    pub(crate) depends_on_group_size: bool,
    /// Which of the passes that follow run.
    pub(crate) passes: PassOptions,
}

impl Prepared {
    /// A module that was prepared elsewhere, or for any threadgroup size, and is never described by its
    /// function constants: a fused kernel, or one for the interpreter of another process.
    pub(crate) fn of_module(module: Module, passes: PassOptions) -> Self {
        Prepared { module, constants: Vec::new(), depends_on_group_size: true, passes }
    }

    /// The specialisation for the target's passes.
    pub(crate) fn lowering(&self, specialisation: &Specialisation) -> Specialisation {
        Specialisation { passes: self.passes.clone(), ..specialisation.clone() }
    }

    /// Whether calls are left in it.
    pub(crate) fn has_calls(&self) -> bool {
        let mut insts = self.module.functions.iter().flat_map(|function| &function.insts);
        insts.any(|data| matches!(data.op, Op::Call(..)))
    }

    /// Its size, as the cache weighs it; never 0.
    pub(crate) fn instructions(&self) -> usize {
        self.module.functions.iter().fold(1, |sum, function| sum.saturating_add(function.insts.len()))
    }
}

/// How often stages have run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct StageCounts {
    /// Kernels specialised, inlined and simplified.
    pub prepared: u64,
    /// Kernels that LLVM text was generated of.
    pub generated: u64,
    /// Those of them past a budget, compiled as baseline code.
    pub baseline: u64,
    /// Those of them compiled as baseline code that LLVM does not optimise.
    pub unoptimised: u64,
    /// Kernels past the budgets for machine code, prepared for the interpreter.
    pub interpreted: u64,
}

/// The counters of one compiler.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    prepared: AtomicU64,
    generated: AtomicU64,
    baseline: AtomicU64,
    unoptimised: AtomicU64,
    interpreted: AtomicU64,
}

impl Counts {
    pub(crate) fn add_prepared(&self) {
        self.prepared.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add_generated(&self) {
        self.generated.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn add_effort(&self, effort: Effort) {
        match effort {
            Effort::Full => {}
            Effort::Baseline => drop(self.baseline.fetch_add(1, Ordering::Relaxed)),
            Effort::Unoptimised => drop(self.unoptimised.fetch_add(1, Ordering::Relaxed)),
            Effort::Interpreted => drop(self.interpreted.fetch_add(1, Ordering::Relaxed)),
        }
    }

    pub(crate) fn now(&self) -> StageCounts {
        StageCounts {
            prepared: self.prepared.load(Ordering::Relaxed),
            generated: self.generated.load(Ordering::Relaxed),
            baseline: self.baseline.load(Ordering::Relaxed),
            unoptimised: self.unoptimised.load(Ordering::Relaxed),
            interpreted: self.interpreted.load(Ordering::Relaxed),
        }
    }
}
