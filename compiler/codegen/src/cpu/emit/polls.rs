//! Polls of the functions that a kernel calls, and where a kernel's version polls.
//!
//! A region is a loop over SIMD-groups, which polls if all SIMD-groups together may exceed the budget.

use std::collections::BTreeMap;
use std::rc::Rc;

use anymetal_abi::YieldReason;
use anymetal_analysis::CountedLoops;
use anymetal_analysis::divergence::Geometry;
use anymetal_analysis::limits::MAX_UNPOLLED_WORK;
use anymetal_analysis::polls::{CallWork, PollPlan, PollTarget};
use anymetal_ir::{FuncId, Inst, Module};
use anymetal_simd::plan::max_trips;
use anymetal_simd::target::CpuFeatures;

use super::Emitter;
use super::subroutine::{Subroutines, batch_lanes};
use crate::limits::cpu::MAX_SIMDGROUPS;
use crate::llvm::LANES;

/// The polls of the functions that a kernel calls.
#[derive(Debug, Default)]
pub(in crate::cpu) struct SubroutinePolls {
    by_function: BTreeMap<FuncId, Rc<PollPlan>>,
    batch_lanes: usize,
}

impl SubroutinePolls {
    /// `module` has the functions with the parameters of their loops.
    pub(in crate::cpu) fn of(module: &Module, subroutines: &Subroutines<'_>, features: &CpuFeatures) -> Self {
        let mut this = Self { by_function: BTreeMap::new(), batch_lanes: batch_lanes(features) };
        // Callers precede callees in the list.
        let all: Vec<_> = subroutines.all().collect();
        for sub in all.into_iter().rev() {
            let calls = Calls { polls: &this, batches: 1, sets: this.batch_lanes };
            let trips = max_trips(&CountedLoops::new(module.function(sub.id)), Geometry::Any);
            let polls = PollPlan::of_subroutine(sub.function, &trips, &calls);
            this.by_function.insert(sub.id, Rc::new(polls));
        }
        this
    }

    /// Those of a called function.
    pub(super) fn of_function(&self, id: FuncId) -> &Rc<PollPlan> {
        self.by_function.get(&id).unwrap_or_else(|| unreachable!("{id:?} is not called"))
    }

    /// The work of the calls in the kernel's function.
    pub(in crate::cpu) fn calls(&self) -> Calls<'_> {
        Calls { polls: self, batches: LANES.div_ceil(self.batch_lanes.max(1)), sets: LANES }
    }
}

/// Emitted calls: for each batch of each set of lanes with the same pointer arguments.
#[derive(Debug)]
pub(in crate::cpu) struct Calls<'a> {
    polls: &'a SubroutinePolls,
    batches: usize,
    sets: usize,
}

impl PollTarget for Calls<'_> {
    fn iterations_between_polls(&self, _: Inst, _: u64) -> u64 {
        1
    }

    fn call(&self, callee: FuncId) -> CallWork {
        let polls = self.polls.of_function(callee);
        let batches = if polls.has_polls() { 1 } else { self.batches as u64 };
        CallWork { once: polls.work_of_call() * batches, times: self.sets as u64, polls: polls.has_polls() }
    }
}

impl Emitter<'_, '_> {
    /// Polls before the next iteration, where the loop does. A waiting loop lets the other SIMD-groups run.
    pub(super) fn end_iteration(&mut self, inst: Inst) {
        if self.plan.waiting.contains(&inst) {
            self.yield_simdgroup(YieldReason::Waits);
        }
        if self.plan.polls.of_loop(inst).trips().is_none() {
            self.poll();
        }
    }

    /// Polls before a region if the work since the last poll would exceed the budget. Returns whether the
    /// region's loop over SIMD-groups also has to poll.
    pub(super) fn poll_before_region(&mut self, insts: &[Inst]) -> bool {
        let each = insts.iter().fold(0u64, |sum, &inst| sum.saturating_add(self.plan.polls.work_of(inst)));
        let all = each.saturating_mul(MAX_SIMDGROUPS);
        let polls = all > MAX_UNPOLLED_WORK;
        let work = if polls { each.min(MAX_UNPOLLED_WORK) } else { all };
        if self.group_work.polls_before(work, MAX_UNPOLLED_WORK) {
            self.poll();
        }
        self.group_work.add(work);
        polls
    }
}
