//! The cost model of unrolling: what the loop contains, and how large it may become.

use rustc_hash::FxHashSet;

use super::Unroller;
use super::stride::stride_per_iteration;
use anymetal_analysis::walk_insts;
use anymetal_ir::{BarrierScope, BinOp, Block, Inst, Label, MatrixOp, Op, Space, Type, Value};

/// Maximum number of instructions of an unrolled loop. The limits below depend on what the loop contains.
const MAX_SIZE: usize = 2048;

/// A loop that stays below this is always unrolled.
const MAX_TINY: usize = 48;

/// For loops with matrix products: code generators combine the products of one block, and the next iteration
/// accumulates into the same sums.
const MAX_PRODUCTS: usize = 768;

/// For loops that index a constant table with the counter: the loads fold to constants.
const MAX_TABLE: usize = 256;

/// For short loops that load shared memory at an address that depends on the counter: adjacent loads are then
/// done together.
const MAX_ADJACENT: usize = 384;
const MAX_ADJACENT_TRIPS: usize = 8;

/// For loops that copy adjacent elements to other memory: the accesses are then done together.
const MAX_COPIES: usize = 384;

/// For short loops that select values by the counter alone, as of the corners of a cell: the selects fold.
const MAX_SELECTS: usize = 384;
const MAX_SELECTS_TRIPS: usize = 8;

/// For short loops with a barrier whose counter doubles or halves and determines a condition.
const MAX_STEPS: usize = 384;
/// Steps of a tree reduction of the largest threadgroup, of 1024 threads.
const MAX_STEPS_TRIPS: usize = 10;

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
        let folds = self.size * trips <= MAX_SELECTS && trips <= MAX_SELECTS_TRIPS && self.selects_by_counter;
        !self.has_barrier && (trips == 1 || folds)
    }

    /// `geometric`: the counter is multiplied or divided in each iteration.
    pub(super) fn is_profitable(&self, trips: usize, geometric: bool) -> bool {
        let size = self.size * trips;
        if self.has_barrier {
            return self.breaks <= 1
                && self.branches_on_counter
                && geometric
                && size <= MAX_STEPS
                && trips <= MAX_STEPS_TRIPS;
        }
        self.is_small(trips)
            || size <= MAX_SIZE && self.indexes_array
            || size <= MAX_PRODUCTS && self.multiplies
            || size <= MAX_TABLE && self.indexes_table
            || size <= MAX_COPIES && self.copies_adjacent()
            || size <= MAX_ADJACENT && trips <= MAX_ADJACENT_TRIPS && self.reads_shared
            || size <= MAX_TINY
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
