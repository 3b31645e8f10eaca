//! Full unrolling of short loops with a constant trip count, or a constant bound of it.
//!
//! Profitable where it makes indices into local arrays or constant tables constant, where it puts matrix
//! products, or loads or copies of shared memory, into one block, where the counter alone decides selects, or
//! where the loop is tiny or runs once. Loops with a barrier are unrolled if they are the steps of a tree
//! reduction: each step has half as many active threads as the one before, and code for a constant number of
//! threads is much better.
//!
//! Requires a counter among the loop's parameters, with a constant first value, and one exit test, at the
//! beginning or the end of the body, which ends with the only continue ([`constant_trips`]). `cost_model`
//! decides whether it is profitable.

mod cost_model;
mod stride;

use super::copy::Cloner;
use super::remark::{Remark, RemarkId};
use crate::limits::MAX_UNROLL_GROWTH;
use anymetal_analysis::{ConstantTrips, constant_trips, walk_insts};
use anymetal_ir::{Block, Function, Inst, Label, Loc, Op, Value, Values};

/// Unrolls loops of one function, and returns them. `only_small`: only those that make the code hardly
/// larger.
pub fn unroll(function: &mut Function, only_small: bool) -> Vec<UnrolledLoop> {
    let array_pointers = array_pointers(function);
    let mut unroller = Unroller { function, array_pointers, only_small, added: 0, unrolled: Vec::new() };
    let body = unroller.function.body;
    unroller.block(body);
    unroller.unrolled
}

/// A loop that was unrolled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnrolledLoop {
    loc: Loc,
    trip_count: usize,
}

impl UnrolledLoop {
    /// The remark about it.
    pub fn remark(&self) -> Remark {
        Remark::new(RemarkId::LoopUnrolled, self.loc).with("trips", self.trip_count as i64)
    }
}

/// Remarks on the loops that are left in a function: why each is not unrolled.
pub fn remarks_on_loops(function: &Function) -> Vec<Remark> {
    let (mut copy, array_pointers) = (function.clone(), array_pointers(function));
    let unroller =
        Unroller { function: &mut copy, array_pointers, only_small: false, added: 0, unrolled: Vec::new() };
    let mut remarks = Vec::new();
    walk_insts(function, function.body, &mut |inst| remarks.extend(unroller.remark_on_loop(inst)));
    remarks
}

/// For each value, whether it points into a local.
fn array_pointers(function: &Function) -> Vec<bool> {
    let mut into = vec![false; function.values.len()];
    walk_insts(function, function.body, &mut |inst| {
        let data = function.inst(inst);
        if let Some(result) = data.result {
            into[result.index()] = match data.op {
                Op::LocalAddr(_) => true,
                Op::PtrAdd { base, .. } => into[base.index()],
                _ => false,
            };
        }
    });
    into
}

struct Unroller<'a> {
    function: &'a mut Function,
    array_pointers: Vec<bool>,
    only_small: bool,
    added: usize,
    unrolled: Vec<UnrolledLoop>,
}

impl Unroller<'_> {
    fn block(&mut self, block: Block) {
        let insts = std::mem::take(&mut self.function.blocks[block.index()].insts);
        let mut out: Vec<Inst> = Vec::with_capacity(insts.len());
        for inst in insts {
            for nested in self.function.inst(inst).op.blocks() {
                self.block(nested);
            }
            match self.plan(inst) {
                Some(trips) => {
                    let unrolled = self.expand(inst, &trips);
                    out.push(unrolled);
                }
                None => out.push(inst),
            }
        }
        self.function.blocks[block.index()].insts = out;
    }

    /// Why an instruction is not unrolled, if it is a loop.
    fn remark_on_loop(&self, inst: Inst) -> Option<Remark> {
        let (label, body, _) = self.function.as_loop(inst)?;
        let remark = Remark::new(RemarkId::LoopNotUnrolled, self.function.inst(inst).loc);
        let Some(trips) = constant_trips(self.function, inst) else {
            return Some(remark.with("reason", "the trip count is not constant"));
        };
        let metrics = self.metrics(label, trips.test, trips.counter, body);
        let reason = match metrics.has_barrier {
            true => "it contains a barrier",
            false => "too large for what unrolling would gain",
        };
        let size = metrics.size * trips.trip_count;
        let remark = remark.with("reason", reason).with("trips", trips.trip_count as i64);
        Some(remark.with("instructions", size as i64))
    }

    /// The loop's trips, if it is to be unrolled.
    fn plan(&self, inst: Inst) -> Option<ConstantTrips> {
        let (label, body, _) = self.function.as_loop(inst)?;
        let trips = constant_trips(self.function, inst)?;
        let metrics = self.metrics(label, trips.test, trips.counter, body);
        let is_profitable = match self.only_small {
            true => metrics.is_small(trips.trip_count) && !trips.may_leave_early,
            false if trips.may_leave_early => metrics.frees_arrays(trips.trip_count),
            false => metrics.is_profitable(trips.trip_count, self.is_geometric(trips.next)),
        };
        let size = metrics.size * trips.trip_count;
        assert!(metrics.breaks > 0, "the exit test of a loop breaks out of it");
        (is_profitable && self.added + size <= MAX_UNROLL_GROWTH).then_some(trips)
    }

    /// The loop as a scope with its iterations one after the other. It has the loop's results.
    fn expand(&mut self, inst: Inst, trips: &ConstantTrips) -> Inst {
        let Op::Loop { label, inits, params, body, results, .. } = self.function.inst(inst).op.clone() else {
            unreachable!("{inst} is a loop, as it has trips")
        };
        let first_new = self.function.insts.len();
        let all = self.function.add_label();
        let insts = self.function.block(body).to_vec();
        let mut copies = Vec::new();
        let (mut current, mut passed) = (inits, Values::new());
        for _ in 0..trips.trip_count {
            let after = trips.passed.iter().chain(&trips.results);
            let mut values =
                self.iteration(&insts, trips, (label, all), (&params, &current), after, &mut copies);
            passed = values.split_off(params.len());
            current = values;
        }
        if trips.is_tested_first {
            // What the last test computes before it leaves.
            let start = insts.iter().position(|&inst| inst == trips.test).expect("the test is in the body");
            let after = trips.results.iter();
            passed =
                self.iteration(&insts[..start], trips, (label, all), (&params, &current), after, &mut copies);
        }
        let (fp, loc) = (self.function.inst(inst).fp, self.function.inst(inst).loc);
        let block = self.function.add_block();
        if !results.is_empty() {
            copies.push(self.function.add_inst(Op::Yield(passed), None, fp, loc));
        }
        self.function.blocks[block.index()].insts = copies;
        let scope = self.function.add_inst(Op::Scope { label: all, body: block, results }, None, fp, loc);
        self.function.number_definitions(scope);
        self.added += self.function.insts.len() - first_new;
        let loc = self.function.inst(inst).loc;
        self.unrolled.push(UnrolledLoop { loc, trip_count: trips.trip_count });
        scope
    }

    /// Appends a copy of an iteration, in which the parameters have their current values. Returns the copies
    /// of the values `after` it.
    fn iteration<'v>(
        &mut self,
        insts: &[Inst],
        trips: &ConstantTrips,
        (own, all): (Label, Label),
        (params, current): (&[Value], &[Value]),
        after: impl Iterator<Item = &'v Value>,
        copies: &mut Vec<Inst>,
    ) -> Values {
        let mut cloner = Cloner::new(self.function);
        cloner.peel_iteration(own, all, None);
        for (&param, &value) in params.iter().zip(current) {
            cloner.map_value(param, value);
        }
        if !trips.may_leave_early {
            cloner.skip(trips.test);
        }
        cloner.skip(trips.last);
        copies.append(&mut cloner.insts(insts));
        let after = after.map(|&value| cloner.value(value)).collect();
        // Grown with the value table: a cloned pointer points where the original does.
        for (old, _) in std::mem::take(&mut cloner.copied) {
            self.array_pointers.push(self.array_pointers[old.index()]);
        }
        let values = self.function.values.len();
        assert_eq!(self.array_pointers.len(), values, "the array pointers have one entry for each value");
        after
    }
}
