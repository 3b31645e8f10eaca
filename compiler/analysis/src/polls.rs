//! Decides, from the IR, which loops, calls and copies poll.

use std::collections::{BTreeMap, BTreeSet};

use anymetal_ir::{Block, FuncId, Function, Inst, Op};

use crate::limits::{ITERATION_COST, MAX_UNPOLLED_CALL_WORK, MAX_UNPOLLED_PIECES, MAX_UNPOLLED_WORK};

/// How a loop polls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoopPolls {
    /// It does not poll; it runs at most `trips` iterations.
    Never {
        /// The maximum number of iterations.
        trips: u64,
    },
    /// It polls after each `iterations` iterations.
    Every {
        /// The number of iterations between two polls.
        iterations: u64,
    },
}

impl LoopPolls {
    /// The number of iterations of a loop that does not poll.
    pub fn trips(self) -> Option<u64> {
        match self {
            LoopPolls::Never { trips } => Some(trips),
            LoopPolls::Every { .. } => None,
        }
    }
}

/// How a target's emitter writes loops and calls.
pub trait PollTarget {
    /// The number of iterations between two polls of a loop, from 1 to `room`.
    fn iterations_between_polls(&self, inst: Inst, room: u64) -> u64;
    /// The work of a call.
    fn call(&self, callee: FuncId) -> CallWork;
}

/// Work of a call until it returns or polls.
#[derive(Clone, Copy, Debug)]
pub struct CallWork {
    /// Work of one call of the code emitted for the function.
    pub once: u64,
    /// Maximum number of emitted calls for a call in the IR.
    pub times: u64,
    /// Whether the code emitted for the function polls.
    pub polls: bool,
}

/// Work since the last poll, in instructions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// Work since the last poll.
    pub since: u64,
    /// Maximum since the enclosing construct began.
    peak: u64,
}

impl Work {
    /// Adds work without a poll.
    pub fn add(&mut self, work: u64) {
        self.since = self.since.saturating_add(work);
        self.peak = self.peak.max(self.since);
    }

    /// Whether `work` more would exceed the budget; if so, assumes that the caller emits a poll first.
    pub fn polls_before(&mut self, work: u64, budget: u64) -> bool {
        let is_due = self.since > 0 && self.since.saturating_add(work) > budget;
        if is_due {
            self.since = 0;
        }
        is_due
    }

    /// Enters a construct. Returns the state for [`Self::begin_arm`] and [`Self::leave`].
    pub fn enter(&mut self) -> Self {
        std::mem::replace(self, Self { since: self.since, peak: self.since })
    }

    /// Begins an arm of a construct.
    pub fn begin_arm(&mut self, entered: Self) {
        self.since = entered.since;
    }

    /// Leaves a construct. A jump out of it may start at any point, so the maximum within it counts.
    pub fn leave(&mut self, entered: Self) {
        self.since = self.peak;
        self.peak = self.peak.max(entered.peak);
    }
}

/// The polls of a function.
#[derive(Clone, Debug)]
pub struct PollPlan {
    loops: BTreeMap<Inst, LoopPolls>,
    /// Instructions with a poll before them.
    before: BTreeSet<Inst>,
    /// Calls that are followed by a poll.
    calls: BTreeSet<Inst>,
    /// Maximum work between polls by instruction, including nested instructions.
    work: Vec<u64>,
    /// Maximum work between polls in the function.
    peak: u64,
    has_polls: bool,
}

impl PollPlan {
    /// Plans a kernel's function. `trips`: the maximum trip counts of its loops, where they are known.
    pub fn of_kernel(function: &Function, trips: &BTreeMap<Inst, u64>, target: &dyn PollTarget) -> Self {
        Self::new(function, trips, target, MAX_UNPOLLED_WORK)
    }

    /// Plans a function that is called.
    pub fn of_subroutine(function: &Function, trips: &BTreeMap<Inst, u64>, target: &dyn PollTarget) -> Self {
        Self::new(function, trips, target, MAX_UNPOLLED_CALL_WORK)
    }

    fn new(function: &Function, trips: &BTreeMap<Inst, u64>, target: &dyn PollTarget, budget: u64) -> Self {
        let plan = Self {
            loops: BTreeMap::new(),
            before: BTreeSet::new(),
            calls: BTreeSet::new(),
            work: vec![0; function.insts.len()],
            peak: 0,
            has_polls: false,
        };
        let mut planner = Planner { function, trips, target, budget, plan };
        let mut work = Work::default();
        planner.block(function.body, &mut work);
        planner.plan.peak = work.peak;
        planner.plan
    }

    /// How the loop polls.
    pub fn of_loop(&self, inst: Inst) -> LoopPolls {
        *self.loops.get(&inst).unwrap_or_else(|| unreachable!("{inst} is not a loop"))
    }

    /// Whether a poll precedes the instruction.
    pub fn is_before(&self, inst: Inst) -> bool {
        self.before.contains(&inst)
    }

    /// Whether a poll follows each emitted call of this call instruction.
    pub fn is_after_call(&self, inst: Inst) -> bool {
        self.calls.contains(&inst)
    }

    /// Maximum work of the instruction between polls, including nested instructions.
    pub fn work_of(&self, inst: Inst) -> u64 {
        self.work[inst.index()]
    }

    /// Work of a call of the function between polls: an iteration at least.
    pub fn work_of_call(&self) -> u64 {
        self.peak.max(ITERATION_COST)
    }

    /// Whether the function polls anywhere.
    pub fn has_polls(&self) -> bool {
        self.has_polls
    }
}

struct Planner<'a> {
    function: &'a Function,
    trips: &'a BTreeMap<Inst, u64>,
    target: &'a dyn PollTarget,
    budget: u64,
    plan: PollPlan,
}

impl Planner<'_> {
    fn block(&mut self, block: Block, work: &mut Work) {
        for &inst in self.function.block(block) {
            let amount = match &self.function.inst(inst).op {
                Op::Loop { body, continuing, .. } => self.endless_loop(inst, [*body, *continuing], work),
                Op::Call(callee, _) => self.call(inst, *callee, work),
                op => {
                    self.spend(inst, cost(op), work);
                    if !op.blocks().is_empty() {
                        self.construct(&op.blocks(), work);
                    }
                    let nested = op.blocks().into_iter().flat_map(|nested| self.function.block(nested));
                    nested.fold(cost(op), |sum, inst| sum.saturating_add(self.plan.work_of(*inst)))
                }
            };
            self.plan.work[inst.index()] = amount.min(self.budget);
        }
    }

    /// Plans a branch or scope.
    fn construct(&mut self, blocks: &[Block], work: &mut Work) {
        let entered = work.enter();
        for &block in blocks {
            work.begin_arm(entered);
            self.block(block, work);
        }
        work.leave(entered);
    }

    /// Adds work that contains no poll, and places a poll before it if necessary.
    fn spend(&mut self, inst: Inst, amount: u64, work: &mut Work) {
        assert!(amount <= self.budget, "{inst} alone is {amount} instructions' work, and cannot poll");
        if work.polls_before(amount, self.budget) {
            self.plan.before.insert(inst);
            self.plan.has_polls = true;
        }
        work.add(amount);
    }

    fn endless_loop(&mut self, inst: Inst, blocks: [Block; 2], work: &mut Work) -> u64 {
        let mut iteration = Work::default();
        for block in blocks {
            self.block(block, &mut iteration);
        }
        let each = iteration.peak.max(ITERATION_COST);
        assert!(each <= self.budget, "an iteration of {inst} polls where it does {each} instructions' work");
        let trips = self.trips.get(&inst).copied();
        let all = trips.and_then(|trips| trips.checked_mul(each)).filter(|&all| all <= self.budget);
        let (polls, amount) = match (trips, all) {
            (Some(trips), Some(all)) => (LoopPolls::Never { trips }, all),
            _ => {
                let room = self.budget / each;
                let iterations = self.target.iterations_between_polls(inst, room);
                assert!((1..=room).contains(&iterations), "a loop polls after 1 to {room} iterations");
                self.plan.has_polls = true;
                (LoopPolls::Every { iterations }, iterations * each)
            }
        };
        self.plan.loops.insert(inst, polls);
        self.spend(inst, amount, work);
        amount
    }

    fn call(&mut self, inst: Inst, callee: FuncId, work: &mut Work) -> u64 {
        let CallWork { once, times, polls } = self.target.call(callee);
        let all = once.saturating_mul(times);
        if !polls && all <= self.budget {
            self.spend(inst, all, work);
            return all;
        }
        self.spend(inst, once, work);
        self.plan.calls.insert(inst);
        self.plan.has_polls = true;
        work.since = 0;
        once
    }
}

/// Estimated number of instructions of an operation, without nested blocks.
fn cost(op: &Op) -> u64 {
    match op {
        Op::MemCopy { size, .. } | Op::MemZero { size, .. } if *size > 64 => {
            // Each byte may be a separate piece, which takes an iteration.
            (*size).min(MAX_UNPOLLED_PIECES) * ITERATION_COST
        }
        Op::Matrix(..) => 512,
        Op::MemCopy { .. } | Op::MemZero { .. } | Op::Math(..) | Op::Simd(..) => 32,
        _ => 1,
    }
}
