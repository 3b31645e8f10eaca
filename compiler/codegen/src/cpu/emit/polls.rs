//! Loops and polls of a kernel's version and of the functions that it calls.
//!
//! A region is a loop over SIMD-groups, which polls if all SIMD-groups together may exceed the budget.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use anymetal_abi::YieldReason;
use anymetal_analysis::{CountedLoops, TripCounts};
use anymetal_ir::{FuncId, Function, Inst, Module};

use super::Emitter;
use super::subroutine::{Subroutines, batch_lanes};
use crate::cpu::llvm_text::LANES;
use crate::limits::cpu::MAX_SIMDGROUPS;
use anymetal_analysis::divergence::Geometry;
use anymetal_analysis::limits::MAX_UNPOLLED_WORK;
use anymetal_analysis::polls::{CallWork, PollPlan, PollTarget};
use anymetal_analysis::ranges::upper_bound;
use anymetal_simd::target::CpuFeatures;

/// The polls of a function.
#[derive(Debug)]
pub(super) struct FunctionLoops {
    pub(super) polls: PollPlan,
    /// Loops that may wait for another thread; none if no SIMD-group runs by itself.
    waiting: BTreeSet<Inst>,
}

impl FunctionLoops {
    fn new(polls: PollPlan) -> Self {
        Self { polls, waiting: BTreeSet::new() }
    }
}

/// The maximum trip counts of loops.
fn max_trips(loops: &CountedLoops<'_>, geometry: Geometry) -> BTreeMap<Inst, u64> {
    let bound = |value| upper_bound(loops.function(), geometry, value);
    TripCounts::new(loops, &bound).all_max_trips()
}

/// Loops and polls of the functions that a kernel calls.
#[derive(Debug, Default)]
pub(super) struct SubroutineLoops {
    by_function: BTreeMap<FuncId, Rc<FunctionLoops>>,
    batch_lanes: usize,
}

impl SubroutineLoops {
    /// `module` has the functions with the parameters of their loops.
    pub(super) fn of(module: &Module, subroutines: &Subroutines<'_>, features: &CpuFeatures) -> Self {
        let mut this = Self { by_function: BTreeMap::new(), batch_lanes: batch_lanes(features) };
        // Callers precede callees in the list.
        let all: Vec<_> = subroutines.all().collect();
        for sub in all.into_iter().rev() {
            let calls = Calls { loops: &this, batches: 1, sets: this.batch_lanes };
            let trips = max_trips(&CountedLoops::new(module.function(sub.id)), Geometry::Any);
            let loops = FunctionLoops::new(PollPlan::of_subroutine(sub.function, &trips, &calls));
            this.by_function.insert(sub.id, Rc::new(loops));
        }
        this
    }

    /// Those of a called function.
    pub(super) fn of_function(&self, id: FuncId) -> &Rc<FunctionLoops> {
        self.by_function.get(&id).unwrap_or_else(|| unreachable!("{id:?} is not called"))
    }

    /// Those of the kernel's function. The loops in `waiting` may wait for another thread; functions that are
    /// called have none, because they have no atomic operations ([`anymetal_analysis::is_callable`]).
    pub(super) fn of_kernel(
        &self,
        function: &Function,
        (loops, geometry): (&CountedLoops<'_>, Geometry),
        waiting: BTreeSet<Inst>,
    ) -> FunctionLoops {
        let calls = Calls { loops: self, batches: LANES.div_ceil(self.batch_lanes.max(1)), sets: LANES };
        let trips = max_trips(loops, geometry);
        FunctionLoops { waiting, polls: PollPlan::of_kernel(function, &trips, &calls) }
    }
}

/// Emitted calls: for each batch of each set of lanes with the same pointer arguments.
struct Calls<'a> {
    loops: &'a SubroutineLoops,
    batches: usize,
    sets: usize,
}

impl PollTarget for Calls<'_> {
    fn iterations_between_polls(&self, _: Inst, _: u64) -> u64 {
        1
    }

    fn call(&self, callee: FuncId) -> CallWork {
        let polls = &self.loops.of_function(callee).polls;
        let batches = if polls.has_polls() { 1 } else { self.batches as u64 };
        CallWork { once: polls.work_of_call() * batches, times: self.sets as u64, polls: polls.has_polls() }
    }
}

impl Emitter<'_, '_> {
    /// Polls before the next iteration, where the loop does. A waiting loop lets the other SIMD-groups run.
    pub(super) fn end_iteration(&mut self, inst: Inst) {
        if self.loops.waiting.contains(&inst) {
            self.yield_simdgroup(YieldReason::Waits);
        }
        if self.loops.polls.of_loop(inst).trips().is_none() {
            self.poll();
        }
    }

    /// Polls before a region if the work since the last poll would exceed the budget. Returns whether the
    /// region's loop over SIMD-groups also has to poll.
    pub(super) fn poll_before_region(&mut self, insts: &[Inst]) -> bool {
        let each = insts.iter().fold(0u64, |sum, &inst| sum.saturating_add(self.loops.polls.work_of(inst)));
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
