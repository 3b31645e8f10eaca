//! The cost model of unrolling: what the loop contains, and how large it may become.

use rustc_hash::FxHashSet;

use super::Unroller;
use super::stride::stride_per_iteration;
use crate::limits::{
    MAX_FOLDED_UNROLLED_SIZE, MAX_SHORT_TRIPS, MAX_TINY_UNROLLED_SIZE, MAX_UNROLLED_PRODUCTS_SIZE,
    MAX_UNROLLED_SIZE,
};
use anymetal_analysis::walk_insts;
use anymetal_ir::{BarrierScope, BinOp, Block, Inst, Label, MatrixOp, Op, Space, Type, Value};

/// What a loop contains.
#[derive(Default)]
pub(super) struct LoopMetrics {
    pub(super) size: usize,
    pub(super) breaks: usize,
    indexes_array: bool,
    indexes_table: bool,
    multiplies: bool,
    reads_shared: bool,
    pub(super) has_barrier: bool,
    /// A condition other than the exit test depends on the counter.
    branches_on_counter: bool,
    /// A select's condition is known when the counter is.
    selects_by_counter: bool,
    /// Loads and stores of shared memory.
    loads: usize,
    stores: usize,
    /// A load is adjacent to that of the previous iteration.
    loads_adjacent: bool,
}

impl LoopMetrics {
    fn copies_adjacent(&self) -> bool {
        self.loads_adjacent && [self.loads, self.stores] == [1, 1]
    }

    /// Whether the loop runs once, or is short and its selects fold.
    pub(super) fn is_small(&self, trips: usize) -> bool {
        // Such as the selects of the corners of a cell.
        let folds = self.size * trips <= MAX_FOLDED_UNROLLED_SIZE
            && trips <= MAX_SHORT_TRIPS
            && self.selects_by_counter;
        !self.has_barrier && (trips == 1 || folds)
    }

    /// Whether indices into local arrays become constant, so that arrays become registers. Only that pays for
    /// tests that remain, as masks of lanes that have left make code of one iteration after the other slower.
    pub(super) fn frees_arrays(&self, trips: usize) -> bool {
        self.size * trips <= MAX_UNROLLED_SIZE && self.indexes_array && !self.has_barrier
    }

    /// `geometric`: the counter is multiplied or divided in each iteration.
    pub(super) fn is_profitable(&self, trips: usize, geometric: bool) -> bool {
        let size = self.size * trips;
        if self.has_barrier {
            // A tree reduction, whose conditions on the counter fold.
            return self.breaks <= 1
                && self.branches_on_counter
                && geometric
                && size <= MAX_FOLDED_UNROLLED_SIZE
                && trips <= MAX_SHORT_TRIPS;
        }
        // Loads of a constant table fold to constants; adjacent accesses of memory are done together.
        let combines =
            self.indexes_table || self.copies_adjacent() || trips <= MAX_SHORT_TRIPS && self.reads_shared;
        self.is_small(trips)
            || self.frees_arrays(trips)
            || size <= MAX_UNROLLED_PRODUCTS_SIZE && self.multiplies
            || size <= MAX_FOLDED_UNROLLED_SIZE && combines
            || size <= MAX_TINY_UNROLLED_SIZE
    }
}

impl Unroller<'_> {
    /// Whether the counter, whose next value this is, is multiplied, divided or shifted.
    pub(super) fn is_geometric(&self, next: Value) -> bool {
        use BinOp::{AShr, LShr, Mul, SDiv, Shl, UDiv};
        matches!(self.function.def(next), Some(Op::Binary(Mul | UDiv | SDiv | Shl | LShr | AShr, ..)))
    }

    /// Whether scalar arithmetic depends on constants and values that are known with the counter, and on one
    /// of these at least.
    fn is_known(&self, op: &Op, known: &FxHashSet<Value>) -> bool {
        let is_arithmetic =
            matches!(op, Op::Unary(..) | Op::Binary(..) | Op::Compare(..) | Op::Select(..) | Op::Cast(..));
        let (mut any, mut all) = (false, true);
        op.for_each_operand(|operand| match known.contains(&operand) {
            true => any = true,
            false => all &= self.function.as_const(operand).is_some(),
        });
        is_arithmetic && any && all
    }

    /// `test` leaves the loop.
    pub(super) fn metrics(&self, label: Label, test: Inst, counter: Value, body: Block) -> LoopMetrics {
        let mut metrics = LoopMetrics::default();
        let (mut derived, mut known) = (FxHashSet::from_iter([counter]), FxHashSet::from_iter([counter]));
        walk_insts(self.function, body, &mut |inst| {
            metrics.size += 1;
            let data = self.function.inst(inst);
            let mut is_derived = false;
            data.op.for_each_operand(|operand| is_derived |= derived.contains(&operand));
            if let (Some(result), true) = (data.result, is_derived) {
                derived.insert(result);
            }
            if let (Some(result), true) = (data.result, self.is_known(&data.op, &known)) {
                known.insert(result);
            }
            match data.op {
                Op::Select(cond, ..) => metrics.selects_by_counter |= known.contains(&cond),
                Op::Load { ptr, volatile: false, .. } => {
                    let shared = self.function.ty(ptr) != Type::Ptr(Space::Thread);
                    metrics.reads_shared |= shared && is_derived;
                    if let Some(result) = data.result.filter(|_| shared) {
                        metrics.loads += 1;
                        let size = i64::from(self.function.ty(result).size());
                        metrics.loads_adjacent |=
                            stride_per_iteration(self.function, ptr, counter, &derived) == Some(size);
                    }
                }
                Op::Store { ptr, .. } => {
                    metrics.stores += usize::from(self.function.ty(ptr) != Type::Ptr(Space::Thread));
                }
                Op::Break(l, _) if l == label => metrics.breaks += 1,
                Op::If { .. } if inst != test => metrics.branches_on_counter |= is_derived,
                Op::Barrier(BarrierScope::Threadgroup | BarrierScope::Grid, _) => metrics.has_barrier = true,
                Op::Matrix(MatrixOp::MultiplyAccumulate, _) => metrics.multiplies = true,
                Op::PtrAdd { base, index: Some(_), .. } => {
                    metrics.indexes_array |= self.array_pointers.get(base.index()) == Some(&true);
                    metrics.indexes_table |= matches!(self.function.def(base), Some(Op::GlobalAddr(_)));
                }
                Op::ExtractDynamic(..) | Op::InsertDynamic(..) => metrics.indexes_array = true,
                _ => {}
            }
        });
        metrics
    }
}
