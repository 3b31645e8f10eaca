//! Loops that read several rows of an argument side by side, as products of matrices and vectors do.
//!
//! Each row is a stream of its own, short, and read in pieces with much computation in between: hardware prefetchers
//! follow few of them, late, and stop at each row's end. So each row's piece of a later iteration is asked for where the
//! row's piece of this one is loaded. Rows are addresses that differ by more than constants and the thread's place in
//! its threadgroup; one row alone is left to the hardware.

use std::collections::BTreeMap;

use super::matrices::Widened;
use super::{Counted, DEPTH, Finder, Gain, Walk};
use crate::analysis::Linear;
use crate::{Block, Inst, Op, PrefetchHint, Query, Space, Type, Value};

/// What runs between the request and the load, in instructions: memory takes as long as some hundred.
const MIN_BETWEEN: usize = 256;
/// The most iterations ahead.
const MAX_AHEAD: i64 = 8;
/// More rows than these would fill the places that a core has for lines on their way.
const MAX_ROWS: usize = 8;

/// The walks over rows of arguments that are not `is_known` to be asked for otherwise.
pub(super) fn rows_together(finder: &Finder<'_>, is_known: &dyn Fn(Value) -> bool) -> Vec<Walk> {
    let mut found = Vec::new();
    finder.rows_in(finder.function.body, is_known, &mut found);
    found
}

/// An address without constants.
type Terms = BTreeMap<Value, i64>;

/// What a loop's body loads of one row.
struct Row {
    /// The first load, its pointer, the constant in that and what it gains in an iteration.
    access: Inst,
    pointer: Value,
    constant: i64,
    gain: i64,
    /// The constants of all loads, with their bytes.
    low: i64,
    high: i64,
}

impl Row {
    /// From the first load's place to the row's lowest one, so many iterations later.
    fn ahead(&self, iterations: i64) -> Option<i64> {
        self.gain.checked_mul(iterations)?.checked_add(self.low.checked_sub(self.constant)?)
    }
}

impl Finder<'_> {
    fn rows_in(&self, block: Block, is_known: &dyn Fn(Value) -> bool, found: &mut Vec<Walk>) {
        let insts = self.function.block(block);
        for (at, &inst) in insts.iter().enumerate() {
            let op = &self.function.inst(inst).op;
            if let Op::Loop { label, body, .. } = *op
                && let Some(counted) = self.counted(label, body, &insts[..at])
            {
                self.rows_of_loop(inst, body, &counted, is_known, found);
            }
            for nested in op.blocks() {
                self.rows_in(nested, is_known, found);
            }
        }
    }

    fn rows_of_loop(
        &self,
        inst: Inst,
        body: Block,
        counted: &Counted,
        is_known: &dyn Fn(Value) -> bool,
        found: &mut Vec<Walk>,
    ) {
        let step = counted.counter.and_then(|counter| self.step(inst, counter));
        let Some(step) = step.and_then(|step| i64::try_from(self.function.as_const(step)?).ok()) else {
            return;
        };
        let cost = self.cost(inst);
        let ahead =
            i64::try_from(MIN_BETWEEN.div_ceil(cost.max(1))).map_or(1, |ahead| ahead.clamp(1, MAX_AHEAD));
        for (root, rows) in self.rows_of_body(body, counted, step) {
            if is_known(root) || !(2..=MAX_ROWS).contains(&rows.len()) {
                continue;
            }
            for row in rows.into_values() {
                let (Some(times), Ok(bytes)) = (row.ahead(ahead), u32::try_from(row.high - row.low)) else {
                    continue;
                };
                let gain = Gain { value: None, times };
                let Row { access, pointer, .. } = row;
                found.push(Walk {
                    root,
                    block: body,
                    access,
                    pointer,
                    bytes,
                    hint: PrefetchHint::Read,
                    gain,
                    cost,
                });
            }
        }
    }

    /// By argument, the rows that loads directly in the body read, and that move with the counter.
    fn rows_of_body(
        &self,
        body: Block,
        counted: &Counted,
        step: i64,
    ) -> BTreeMap<Value, BTreeMap<Terms, Row>> {
        let function = self.function;
        let mut found: BTreeMap<Value, BTreeMap<Terms, Row>> = BTreeMap::new();
        for &access in function.block(body) {
            let data = function.inst(access);
            let (&Op::Load { ptr: pointer, .. }, Some(result)) = (&data.op, data.result) else { continue };
            if function.ty(pointer) != Type::Ptr(Space::Device) {
                continue;
            }
            let gain = self.gain(pointer, &|op| self.is_index(op, counted.counter), DEPTH);
            let (Some(root), Some(Gain { value: None, times })) = (self.root(pointer), gain) else {
                continue;
            };
            let Some(place) = Linear::of(function, pointer, &Widened(function)) else { continue };
            let Some(gain) = times.checked_mul(step).filter(|&gain| gain > 0) else { continue };
            let (low, high) =
                (place.constant, place.constant.wrapping_add(function.ty(result).size().into()));
            let mut terms = place.terms;
            terms.retain(|&term, _| !self.is_of_thread(term, DEPTH));
            let new = Row { access, pointer, constant: low, gain, low, high };
            let row = found.entry(root).or_default().entry(terms).or_insert(new);
            (row.low, row.high) = (row.low.min(low), row.high.max(high));
        }
        found
    }

    /// Whether the value is made of the thread's place in its threadgroup, and of nothing else that changes.
    fn is_of_thread(&self, value: Value, depth: u32) -> bool {
        let (Some(op), Some(depth)) = (self.function.def(value), depth.checked_sub(1)) else { return false };
        match op {
            Op::Const(_) => true,
            Op::Query(query) => matches!(
                query,
                Query::ThreadIndexInSimdgroup
                    | Query::ThreadIndexInThreadgroup
                    | Query::ThreadPositionInThreadgroup(_)
            ),
            Op::Binary(..) | Op::Cast(..) => {
                let mut all = true;
                op.for_each_operand(|operand| all &= self.is_of_thread(operand, depth));
                all
            }
            _ => false,
        }
    }
}
