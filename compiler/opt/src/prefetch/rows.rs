//! Prefetches in loops that read several rows of an argument at once, as matrix-vector products do.
//!
//! Each row is a short stream, read in segments with much computation in between: hardware prefetchers follow
//! few of them, late, and stop at each row's end. So the load of a row's segment is followed by a prefetch of
//! the segment of a later iteration. Addresses belong to one row if they differ only by constants and the
//! thread's position in its threadgroup; a single row is left to the hardware.

use std::collections::BTreeMap;

use super::matrices::Widened;
use super::{CountedRange, Finder, MAX_DEPTH, PrefetchSite, Stride};
use crate::limits::{MAX_ITERATIONS_AHEAD, MAX_PREFETCHED_ROWS};
use anymetal_analysis::Linear;
use anymetal_ir::{Block, Inst, Op, PrefetchHint, Query, Space, Type, Value};

/// Minimum prefetch distance in instructions: memory latency is some hundred instructions.
const MIN_DISTANCE: usize = 256;

/// The loads of rows, except of arguments that have prefetches already (`has_site`).
pub(super) fn row_sites(finder: &Finder<'_>, has_site: &dyn Fn(Value) -> bool) -> Vec<PrefetchSite> {
    let mut found = Vec::new();
    finder.rows_in(finder.function.body, has_site, &mut found);
    found
}

/// An address without constants.
type TermMap = BTreeMap<Value, i64>;

/// The loads of one row in a loop's body.
struct RowLoads {
    /// The first load, its pointer, the constant part of that and its stride per iteration.
    access: Inst,
    pointer: Value,
    constant: i64,
    stride: i64,
    /// The range of bytes of all loads, relative to the terms.
    low: i64,
    high: i64,
}

impl RowLoads {
    /// The distance from the first load's address to the row's lowest address `iterations` later.
    fn ahead(&self, iterations: i64) -> Option<i64> {
        self.stride.checked_mul(iterations)?.checked_add(self.low.checked_sub(self.constant)?)
    }
}

impl Finder<'_> {
    fn rows_in(&self, block: Block, has_site: &dyn Fn(Value) -> bool, found: &mut Vec<PrefetchSite>) {
        let insts = self.function.block(block);
        for &inst in insts {
            let op = &self.function.inst(inst).op;
            if let Op::Loop { label, body, .. } = *op
                && let Some(counted) = self.counted(inst, label, body)
            {
                self.rows_of_loop(inst, body, &counted, has_site, found);
            }
            for nested in op.blocks() {
                self.rows_in(nested, has_site, found);
            }
        }
    }

    fn rows_of_loop(
        &self,
        inst: Inst,
        body: Block,
        counted: &CountedRange,
        has_site: &dyn Fn(Value) -> bool,
        found: &mut Vec<PrefetchSite>,
    ) {
        let step = counted.counter.and_then(|counter| self.loops.step(counter));
        let Some(step) = step.and_then(|step| i64::try_from(self.function.as_const(step)?).ok()) else {
            // The distance between iterations is not a constant.
            return;
        };
        let cost = self.cost(inst);
        let ahead = i64::try_from(MIN_DISTANCE.div_ceil(cost.max(1)))
            .map_or(1, |ahead| ahead.clamp(1, MAX_ITERATIONS_AHEAD));
        for (root, rows) in self.rows_of_body(body, counted, step) {
            if has_site(root) || !(2..=MAX_PREFETCHED_ROWS).contains(&rows.len()) {
                continue;
            }
            for row in rows.into_values() {
                assert!(row.low <= row.constant && row.constant < row.high, "a row contains its first load");
                let bytes = row.high.checked_sub(row.low).and_then(|bytes| u32::try_from(bytes).ok());
                let (Some(times), Some(bytes)) = (row.ahead(ahead), bytes) else { continue };
                let stride = Stride { value: None, times };
                let RowLoads { access, pointer, .. } = row;
                found.push(PrefetchSite {
                    root,
                    block: body,
                    access,
                    pointer,
                    bytes,
                    hint: PrefetchHint::Read,
                    stride,
                    cost,
                });
            }
        }
    }

    /// By argument, the rows that are loaded directly in the body with an address that depends on the
    /// counter.
    fn rows_of_body(
        &self,
        body: Block,
        counted: &CountedRange,
        step: i64,
    ) -> BTreeMap<Value, BTreeMap<TermMap, RowLoads>> {
        let function = self.function;
        let mut found: BTreeMap<Value, BTreeMap<TermMap, RowLoads>> = BTreeMap::new();
        for &access in function.block(body) {
            let data = function.inst(access);
            let (&Op::Load { ptr: pointer, .. }, Some(result)) = (&data.op, data.result) else { continue };
            if function.ty(pointer) != Type::Ptr(Space::Device) {
                continue;
            }
            let stride = self.stride(pointer, &|value| self.is_index(value, counted.counter));
            let (Some(root), Some(Stride { value: None, times })) = (self.root(pointer), stride) else {
                continue;
            };
            let Some(place) = Linear::of(function, pointer, &Widened(function)) else { continue };
            let Some(stride) = times.checked_mul(step).filter(|&stride| stride > 0) else { continue };
            let low = place.constant;
            let Some(high) = low.checked_add(function.ty(result).size().into()) else { continue };
            let mut terms = place.terms;
            terms.retain(|&term, _| !self.is_thread_offset(term, MAX_DEPTH));
            let new = RowLoads { access, pointer, constant: low, stride, low, high };
            let row = found.entry(root).or_default().entry(terms).or_insert(new);
            (row.low, row.high) = (row.low.min(low), row.high.max(high));
        }
        found
    }

    /// Whether the value is computed from the thread's position in its threadgroup and constants only.
    fn is_thread_offset(&self, value: Value, depth: u32) -> bool {
        let (Some(op), Some(depth)) = (self.function.def(value), depth.checked_sub(1)) else {
            // A parameter, or a computation too deep to be followed.
            return false;
        };
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
                op.for_each_operand(|operand| all &= self.is_thread_offset(operand, depth));
                all
            }
            _ => false,
        }
    }
}
