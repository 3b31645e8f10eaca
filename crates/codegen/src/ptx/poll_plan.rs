//! How loops look at the stop flag.
//!
//! A second exit of a loop costs more than what it tests: the assembler then moves no loads and unrolls
//! nothing. So a loop that is known to be short does not look; a counted loop runs in pieces, between which
//! it looks; a small loop without a counter is written several times, with one look. Invariant: a thread runs
//! no more than about [`MAX_QUIET`] rounds, of a loop and those inside, between two looks, whatever the data.

use std::collections::BTreeMap;

use anymetal_ir::analysis::walk_insts;
use anymetal_ir::{Block, Function, Inst, Op, Value};

use super::counted_loop::{CountedLoop, CountedLoops, Counter};
use crate::cpu::shape::queries::Geometry;

/// Rounds that a thread may run without a look.
const MAX_QUIET: u64 = 1 << 16;
/// Rounds of a piece of a counted loop.
const MAX_PIECE: u64 = 256;
/// Rounds of other loops after which they look: a power of two.
const MAX_ROUNDS: u64 = 1024;
/// Instructions of a loop that is written several times.
const MAX_REPEATED: usize = 64;
/// Rounds of a loop that is unrolled whole, and the instructions that it may become.
const MAX_UNROLLED_ROUNDS: u64 = 32;
const MAX_UNROLLED: u64 = 2048;

/// When a loop looks.
#[derive(Clone, Debug)]
pub(super) enum LoopPlan {
    /// Never; if `unroll`, it is short enough to be unrolled whole.
    Quiet { unroll: bool },
    /// Between pieces of at most `rounds`; if `unroll`, several rounds of one are written side by side.
    Pieces { counted: CountedLoop, rounds: u64, unroll: bool },
    /// After so many rounds, of which [`GROUP`] are written one after the other.
    Groups(u64),
    /// After so many rounds.
    Rounds(u64),
}

/// Rounds that are written one after the other: a power of two.
pub(super) const GROUP: u64 = 8;

/// The plan of each loop.
#[derive(Debug)]
pub(super) struct LoopPlans {
    plans: Vec<Option<LoopPlan>>,
    bounds: Vec<Option<u64>>,
    counters: BTreeMap<Value, Counter>,
}

struct Planner<'a> {
    function: &'a Function,
    counted: CountedLoops<'a>,
    is_tracked: &'a dyn Fn(Inst) -> bool,
    plans: Vec<Option<LoopPlan>>,
    bounds: Vec<Option<u64>>,
    counters: BTreeMap<Value, Counter>,
}

impl LoopPlans {
    /// Plans all loops. `is_tracked`: whether the lanes of a loop meet at its end; those count rounds.
    pub(super) fn new(function: &Function, geometry: Geometry, is_tracked: &dyn Fn(Inst) -> bool) -> Self {
        let plans = vec![None; function.insts.len()];
        let counted = CountedLoops::new(function, geometry);
        let bounds = vec![None; function.values.len()];
        let counters = BTreeMap::new();
        let mut planner = Planner { function, counted, is_tracked, plans, bounds, counters };
        planner.block(function.body);
        Self { plans: planner.plans, bounds: planner.bounds, counters: planner.counters }
    }

    /// The largest values of loops' counters, by the value's number, at every access to memory.
    pub(super) fn counter_bounds(&self) -> &[Option<u64>] {
        &self.bounds
    }

    /// What is known of a loop's counter, by what it is after the test.
    pub(super) fn counter(&self, value: Value) -> Option<&Counter> {
        self.counters.get(&value)
    }

    /// A loop's plan.
    pub(super) fn of(&self, inst: Inst) -> LoopPlan {
        self.plans[inst.index()].clone().unwrap_or_else(|| unreachable!("{inst} is not a loop"))
    }
}

impl Planner<'_> {
    /// Plans the loops of a block; the rounds that it may run without a look.
    fn block(&mut self, block: Block) -> u64 {
        let mut quiet = 0u64;
        for (at, &inst) in self.function.block(block).iter().enumerate() {
            let op = &self.function.inst(inst).op;
            let inside =
                op.blocks().into_iter().fold(0, |sum: u64, block| sum.saturating_add(self.block(block)));
            let is_loop = matches!(op, Op::Loop { .. });
            let all =
                if is_loop { self.plan(inst, &self.function.block(block)[..at], inside) } else { inside };
            quiet = quiet.saturating_add(all);
        }
        quiet
    }

    /// Plans a loop; `before`: what is before it in its block, `inside`: the rounds that its loops may run
    /// without a look.
    fn plan(&mut self, inst: Inst, before: &[Inst], inside: u64) -> u64 {
        let each = inside.saturating_add(1);
        self.counters.extend(self.counted.counter(inst, before));
        if let Some((value, most)) = self.counted.counter_bound(inst, before) {
            self.bounds[value.index()] = Some(most);
        }
        let bound = self.counted.max_trips(inst, before);
        if let Some(all) = bound.and_then(|trips| trips.checked_mul(each)).filter(|&all| all <= MAX_QUIET) {
            assert!(self.plans[inst.index()].is_none(), "a loop is planned once");
            let size = (self.size(inst) as u64).saturating_mul(all);
            let unroll = bound.is_some_and(|trips| trips <= MAX_UNROLLED_ROUNDS) && size <= MAX_UNROLLED;
            self.plans[inst.index()] = Some(LoopPlan::Quiet { unroll });
            return all;
        }
        let counted = if (self.is_tracked)(inst) { None } else { self.counted.find(inst) };
        let room = MAX_QUIET / each;
        let (plan, rounds) = if let Some(counted) = counted {
            let piece = room.clamp(1, MAX_PIECE);
            let unroll = inside == 0 && self.size(inst) <= MAX_REPEATED && !self.meets_others(inst);
            (LoopPlan::Pieces { counted, rounds: piece, unroll }, piece)
        } else {
            let rounds = (1 << room.max(1).ilog2()).min(MAX_ROUNDS);
            let is_small = inside == 0 && self.size(inst) <= MAX_REPEATED && !self.meets_others(inst);
            let in_groups = is_small && !(self.is_tracked)(inst);
            (if in_groups { LoopPlan::Groups(rounds) } else { LoopPlan::Rounds(rounds) }, rounds)
        };
        assert!(rounds >= 1, "a loop polls at least once per iteration");
        assert!(
            !matches!(plan, LoopPlan::Groups(_)) || rounds >= GROUP,
            "{rounds} iterations are fewer than a group of {GROUP}"
        );
        self.plans[inst.index()] = Some(plan);
        each.saturating_mul(rounds)
    }

    /// Instructions of a loop.
    fn size(&self, inst: Inst) -> usize {
        let mut size = 0;
        self.each(inst, &mut |_| size += 1);
        size
    }

    /// Whether it has loops, barriers or operations between lanes.
    fn meets_others(&self, inst: Inst) -> bool {
        let mut meets = false;
        self.each(inst, &mut |inst| {
            let op = &self.function.inst(inst).op;
            meets |= matches!(op, Op::Loop { .. } | Op::Barrier(..) | Op::Simd(..) | Op::Matrix(..));
        });
        meets
    }

    fn each(&self, inst: Inst, note: &mut impl FnMut(Inst)) {
        for block in self.function.inst(inst).op.blocks() {
            walk_insts(self.function, block, note);
        }
    }
}
