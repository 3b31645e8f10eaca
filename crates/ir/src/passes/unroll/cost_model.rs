//! Whether a loop is worth unrolling: what is in it, and how large it may become.

use rustc_hash::FxHashSet;

use super::Unroller;
use super::stride::slope;
use crate::analysis::walk_insts;
use crate::{BarrierScope, BinOp, Block, Inst, Label, MatrixOp, Op, Space, Type, Value};

/// Instructions that one unrolled loop may have.
const MAX_SIZE: usize = 2048;

/// A loop that stays below this is unrolled even if no array gains from it.
const TINY: usize = 48;

/// A loop around matrix products is unrolled below this: code generators work on the products of one
/// block together, and the next iteration continues their sums.
const MAX_PRODUCTS: usize = 768;

/// A loop that reads a table of constants by its counter is unrolled below this: what it reads folds.
const MAX_TABLE: usize = 256;

/// A loop that reads shared memory by its counter is unrolled below this, if it is short: what lies side by side is
/// then loaded together.
const MAX_BESIDE: usize = 384;
const MAX_BESIDE_TRIPS: usize = 8;

/// A loop that moves a few elements side by side to other memory is unrolled below this: they are then moved as one.
const MAX_MOVES: usize = 384;

/// A loop with a barrier is unrolled below this, if it is short, the counter doubles or halves, and a condition in it depends on that.
const MAX_STEPS: usize = 384;
/// As many as halve the largest threadgroup.
const MAX_STEPS_TRIPS: usize = 10;

/// What is in a loop.
#[derive(Default)]
pub(super) struct Facts {
    pub(super) size: usize,
    pub(super) breaks: usize,
    pub(super) continues: usize,
    indexes_array: bool,
    indexes_table: bool,
    multiplies: bool,
    reads_shared: bool,
    has_barrier: bool,
    /// The counter is in a condition, beside that of the test.
    parts_threads: bool,
    /// Loads and stores of shared memory.
    loads: usize,
    stores: usize,
    /// A load of an iteration is of what lies behind that of the iteration before.
    loads_beside: bool,
}

impl Facts {
    fn moves_beside(&self) -> bool {
        self.loads_beside && [self.loads, self.stores] == [1, 1]
    }

    /// `doubles`: the counter doubles or halves, or the like.
    pub(super) fn are_worth(&self, trips: usize, doubles: bool) -> bool {
        let size = self.size * trips;
        if self.has_barrier {
            let is_simple = self.breaks <= 1 && self.continues == 0;
            return is_simple
                && self.parts_threads
                && doubles
                && size <= MAX_STEPS
                && trips <= MAX_STEPS_TRIPS;
        }
        size <= MAX_SIZE && self.indexes_array
            || size <= MAX_PRODUCTS && self.multiplies
            || size <= MAX_TABLE && self.indexes_table
            || size <= MAX_MOVES && self.moves_beside()
            || size <= MAX_BESIDE && trips <= MAX_BESIDE_TRIPS && self.reads_shared
            || size <= TINY
    }
}

impl Unroller<'_> {
    /// Whether a counter whose next value this is doubles or halves, or the like.
    pub(super) fn is_multiple(&self, next: Value) -> bool {
        use BinOp::{AShr, LShr, Mul, SDiv, Shl, UDiv};
        matches!(self.function.def(next), Some(Op::Binary(Mul | UDiv | SDiv | Shl | LShr | AShr, ..)))
    }

    /// `test` leaves the loop; `current`: the loads of the counter.
    pub(super) fn facts(
        &self,
        label: Label,
        test: Inst,
        current: &FxHashSet<Value>,
        blocks: [Block; 2],
    ) -> Facts {
        let mut facts = Facts::default();
        let mut counted = current.clone();
        for block in blocks {
            walk_insts(self.function, block, &mut |inst| {
                facts.size += 1;
                let data = self.function.inst(inst);
                let mut counts = false;
                data.op.for_each_operand(|operand| counts |= counted.contains(&operand));
                if let (Some(result), true) = (data.result, counts) {
                    counted.insert(result);
                }
                match data.op {
                    Op::Load { ptr, volatile: false, .. } => {
                        let shared = self.function.ty(ptr) != Type::Ptr(Space::Thread);
                        facts.reads_shared |= shared && counts;
                        if let Some(result) = data.result.filter(|_| shared) {
                            facts.loads += 1;
                            let size = i64::from(self.function.ty(result).size());
                            facts.loads_beside |= slope(self.function, ptr, current, &counted) == Some(size);
                        }
                    }
                    Op::Store { ptr, .. } => {
                        facts.stores += usize::from(self.function.ty(ptr) != Type::Ptr(Space::Thread));
                    }
                    Op::Break(l) if l == label => facts.breaks += 1,
                    Op::Continue(l) if l == label => facts.continues += 1,
                    Op::If { .. } if inst != test => facts.parts_threads |= counts,
                    Op::Barrier(BarrierScope::Threadgroup) => facts.has_barrier = true,
                    Op::Matrix(MatrixOp::MultiplyAccumulate, _) => facts.multiplies = true,
                    Op::PtrAdd { base, index: Some(_), .. } => {
                        facts.indexes_array |= self.array_pointers.get(base.index()) == Some(&true);
                        facts.indexes_table |= matches!(self.function.def(base), Some(Op::GlobalAddr(_)));
                    }
                    Op::ExtractDynamic(..) | Op::InsertDynamic(..) => facts.indexes_array = true,
                    _ => {}
                }
            });
        }
        facts
    }
}
