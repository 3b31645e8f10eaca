//! Prefetches in grid-stride loops: `for (i = position; i < n; i += threads)`.
//!
//! The distance between iterations is the size of the grid, which no hardware prefetcher follows. The step is
//! invariant, so the address of a later iteration is known.

use super::{CountedRange, Finder, MAX_DEPTH, PrefetchSite, Stride};
use anymetal_ir::{BinOp, Block, Op, PrefetchHint, Query, Space, Type, Value};

/// Prefetch distance in iterations: memory latency is a few hundred instructions, an iteration has tens.
const ITERATIONS_AHEAD: i64 = 8;

impl Finder<'_> {
    /// The loads directly in the loop's body whose address depends on the counter.
    pub(super) fn grid_stride_sites(
        &self,
        body: Block,
        counted: &CountedRange,
        cost: usize,
        found: &mut Vec<PrefetchSite>,
    ) {
        let function = self.function;
        let Some((counter, step)) =
            counted.counter.and_then(|counter| Some((counter, self.grid_step(counter)?)))
        else {
            // It is not a grid-stride loop.
            return;
        };
        for &access in function.block(body) {
            let data = function.inst(access);
            let (Op::Load { ptr: pointer, .. }, Some(result)) = (&data.op, data.result) else { continue };
            if function.ty(*pointer) != Type::Ptr(Space::Device) {
                continue;
            }
            let stride = self.stride(*pointer, &|value| self.is_index(value, Some(counter)));
            let (Some(root), Some(Stride { value: None, times })) = (self.root(*pointer), stride) else {
                continue;
            };
            let bytes = function.ty(result).size();
            if let Some(times) = times.checked_mul(ITERATIONS_AHEAD).filter(|&times| times > 0) {
                let stride = Stride { value: Some(step), times };
                found.push(PrefetchSite {
                    root,
                    block: body,
                    access,
                    pointer: *pointer,
                    bytes,
                    hint: PrefetchHint::Read,
                    stride,
                    cost,
                });
            }
        }
    }

    /// The step of the counter, if it is the number of threads of the grid.
    fn grid_step(&self, counter: Value) -> Option<Value> {
        self.loops.step(counter).filter(|&step| self.is_grid_size(step, MAX_DEPTH))
    }

    /// Whether the value is computed from the size of the grid.
    fn is_grid_size(&self, value: Value, depth: u32) -> bool {
        let (Some(op), Some(depth)) = (self.function.def(value), depth.checked_sub(1)) else {
            // A parameter, or a computation too deep to be followed.
            return false;
        };
        if let Op::Query(query) = op {
            return matches!(query, Query::ThreadsPerGrid(_) | Query::ThreadgroupsPerGrid(_));
        }
        let mut any = false;
        if matches!(op, Op::Binary(BinOp::Mul, ..) | Op::Cast(..)) {
            op.for_each_operand(|operand| any |= self.is_grid_size(operand, depth));
        }
        any
    }
}
