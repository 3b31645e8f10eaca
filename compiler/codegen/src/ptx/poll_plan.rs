//! How loops poll the stop flag.
//!
//! A second exit keeps the assembler from moving loads and from unrolling, which costs more than the test. So
//! a loop that is proven to be short does not poll; a counted loop runs in pieces and polls between them; a
//! small loop without a counter is written several times with a single poll.

use std::collections::BTreeMap;

use anymetal_analysis::limits::MAX_UNROLLED_TRIPS;
use anymetal_analysis::{CountedLoop, CountedLoops, CounterRange, TripCounts, walk_insts};
use anymetal_ir::{Block, FuncId, Function, Inst, Op, Value};
use anymetal_opt::limits::MAX_UNROLLED_SIZE;

use crate::limits::ptx::{MAX_COUNTED_ITERATIONS, MAX_REPEATED_SIZE, MAX_UNCOUNTED_ITERATIONS};
use anymetal_analysis::divergence::Geometry;
use anymetal_analysis::polls::{CallWork, LoopPolls, PollPlan, PollTarget};
use anymetal_analysis::ranges::upper_bound;

/// How a loop is written, and polls.
#[derive(Clone, Debug)]
pub(super) enum LoopForm {
    /// It does not poll and has at most `trips` iterations; if `unroll`, it is unrolled completely.
    Unpolled { trips: u64, unroll: bool },
    /// It polls between pieces of at most `rounds` iterations; if `unroll`, several iterations of one are
    /// written side by side.
    Pieces { counted: CountedLoop, rounds: u64, unroll: bool },
    /// It polls after this number of iterations; [`GROUP`] iterations are written in sequence.
    Groups(u64),
    /// It polls after this number of iterations.
    Rounds(u64),
}

/// Number of iterations that are written in sequence, a power of two.
pub(super) const GROUP: u64 = 8;

/// Forms, polls and counters of a function's loops.
#[derive(Debug)]
pub(super) struct LoopForms {
    forms: BTreeMap<Inst, LoopForm>,
    polls: PollPlan,
    bounds: Vec<Option<u64>>,
    counters: BTreeMap<Value, CounterRange>,
}

struct Chooser<'a> {
    function: &'a Function,
    trips: &'a TripCounts<'a>,
    is_tracked: &'a dyn Fn(Inst) -> bool,
}

impl LoopForms {
    /// Chooses for all loops. `is_tracked`: whether the lanes of a loop meet at its end; those count their
    /// iterations.
    pub(super) fn new(function: &Function, geometry: Geometry, is_tracked: &dyn Fn(Inst) -> bool) -> Self {
        let loops = CountedLoops::new(function);
        let bound = |value| upper_bound(function, geometry, value);
        let trips = TripCounts::new(&loops, &bound);
        let chooser = Chooser { function, trips: &trips, is_tracked };
        let polls = PollPlan::of_kernel(function, &trips.all_max_trips(), &chooser);
        let (bounds, counters) = (vec![None; function.values.len()], BTreeMap::new());
        let mut forms = Self { forms: BTreeMap::new(), polls, bounds, counters };
        forms.block(&chooser, function.body);
        forms
    }

    /// Chooses for the loops of a block; how many iterations they may have without a poll.
    fn block(&mut self, chooser: &Chooser<'_>, block: Block) -> u64 {
        let function = chooser.function;
        let mut iterations = 0u64;
        for &inst in function.block(block) {
            let nested = function.inst(inst).op.blocks();
            let inside =
                nested.into_iter().fold(0, |sum: u64, block| sum.saturating_add(self.block(chooser, block)));
            let mut all = inside;
            if function.as_loop(inst).is_some() {
                self.counters.extend(chooser.trips.counter(inst));
                if let Some((value, most)) = chooser.trips.counter_bound(inst) {
                    self.bounds[value.index()] = Some(most);
                }
                let polls = self.polls.of_loop(inst);
                let (LoopPolls::Never { trips } | LoopPolls::Every { iterations: trips }) = polls;
                all = trips.saturating_mul(inside.saturating_add(1));
                self.forms.insert(inst, chooser.form(inst, polls, all));
            }
            iterations = iterations.saturating_add(all);
        }
        iterations
    }

    /// The largest values of loops' counters, by the value's number, at every access to memory.
    pub(super) fn counter_bounds(&self) -> &[Option<u64>] {
        &self.bounds
    }

    /// The range of a loop's counter.
    pub(super) fn counter(&self, value: Value) -> Option<&CounterRange> {
        self.counters.get(&value)
    }

    /// Whether a poll precedes the instruction.
    pub(super) fn polls_before(&self, inst: Inst) -> bool {
        self.polls.is_before(inst)
    }

    /// How a loop is written.
    pub(super) fn of(&self, inst: Inst) -> LoopForm {
        self.forms.get(&inst).cloned().unwrap_or_else(|| unreachable!("{inst} is not a loop"))
    }
}

impl PollTarget for Chooser<'_> {
    fn iterations_between_polls(&self, inst: Inst, room: u64) -> u64 {
        match self.counted(inst) {
            Some(_) => room.min(MAX_COUNTED_ITERATIONS),
            None => (1 << room.ilog2()).min(MAX_UNCOUNTED_ITERATIONS),
        }
    }

    fn call(&self, _: FuncId) -> CallWork {
        // Code with calls is refused when it is emitted.
        CallWork { once: 0, times: 1, polls: false }
    }
}

impl Chooser<'_> {
    /// The loop as a counted loop that can run in pieces.
    fn counted(&self, inst: Inst) -> Option<CountedLoop> {
        if (self.is_tracked)(inst) { None } else { self.trips.loops().find(inst) }
    }

    /// `all`: the iterations of the loop and those in it between polls.
    fn form(&self, inst: Inst, polls: LoopPolls, all: u64) -> LoopForm {
        let is_small = self.size(inst) <= MAX_REPEATED_SIZE && !self.meets_others(inst);
        match (polls, self.counted(inst)) {
            (LoopPolls::Never { trips }, _) => {
                let size = (self.size(inst) as u64).saturating_mul(all);
                let unroll = trips <= MAX_UNROLLED_TRIPS as u64 && size <= MAX_UNROLLED_SIZE as u64;
                LoopForm::Unpolled { trips, unroll }
            }
            (LoopPolls::Every { iterations }, Some(counted)) => {
                LoopForm::Pieces { counted, rounds: iterations, unroll: is_small }
            }
            (LoopPolls::Every { iterations }, None) => {
                assert!(iterations.is_power_of_two(), "iterations are counted with a mask");
                let in_groups = is_small && iterations >= GROUP && !(self.is_tracked)(inst);
                if in_groups { LoopForm::Groups(iterations) } else { LoopForm::Rounds(iterations) }
            }
        }
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
