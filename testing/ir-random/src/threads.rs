//! Random operations between threads.

use crate::values::Entry;
use crate::{Generator, Position};
use anymetal_ir::{BarrierScope, Builder, Op, Query, Scalar, SimdOp, ThreadgroupId, Type};

/// Operations whose result depends on the active lanes only, on integers.
const REDUCTIONS: &[SimdOp] = &[
    SimdOp::Sum,
    SimdOp::Product,
    SimdOp::UMin,
    SimdOp::UMax,
    SimdOp::SMin,
    SimdOp::SMax,
    SimdOp::And,
    SimdOp::Or,
    SimdOp::Xor,
    SimdOp::PrefixInclusiveSum,
    SimdOp::PrefixExclusiveSum,
    SimdOp::PrefixInclusiveProduct,
    SimdOp::PrefixExclusiveProduct,
    SimdOp::QuadSum,
    SimdOp::QuadProduct,
    SimdOp::QuadUMin,
    SimdOp::QuadUMax,
    SimdOp::QuadSMin,
    SimdOp::QuadSMax,
    SimdOp::QuadAnd,
    SimdOp::QuadOr,
    SimdOp::QuadXor,
    SimdOp::QuadPrefixInclusiveSum,
    SimdOp::QuadPrefixExclusiveSum,
    SimdOp::QuadPrefixInclusiveProduct,
    SimdOp::QuadPrefixExclusiveProduct,
];

/// Operations that read another lane, which must be active.
const SHUFFLES: &[SimdOp] = &[
    SimdOp::Shuffle,
    SimdOp::ShuffleXor,
    SimdOp::ShuffleUp,
    SimdOp::ShuffleDown,
    SimdOp::RotateUp,
    SimdOp::RotateDown,
    SimdOp::QuadShuffle,
    SimdOp::QuadShuffleXor,
    SimdOp::QuadShuffleUp,
    SimdOp::QuadShuffleDown,
    SimdOp::QuadBroadcast,
];

impl Generator {
    pub(crate) fn simd_statement(&mut self, b: &mut Builder<'_>, place: Position) {
        let together = place.uniform && !self.any_returned && self.returns.is_none();
        if !self.options.simd || !together && !self.options.divergent_simd {
            return self.pure_statement(b);
        }
        match self.rng.below(6) {
            0..2 => self.reduction(b),
            2 => self.vote(b),
            3 => {
                let ty = self.any_type();
                let entry = self.value_of(b, ty);
                let value = b.infer(Op::Simd(SimdOp::BroadcastFirst, vec![entry.value]));
                self.add(value, ty, false);
            }
            _ if together && self.full => self.shuffle(b),
            _ => self.reduction(b),
        }
    }

    fn reduction(&mut self, b: &mut Builder<'_>) {
        let scalar = self.rng.pick(&[Scalar::I32, Scalar::I32, Scalar::I16, Scalar::I64]);
        let ty = if self.rng.one_in(5) { Type::Vector(scalar, 2) } else { Type::Scalar(scalar) };
        let entry = self.value_of(b, ty);
        let op = self.rng.pick(REDUCTIONS);
        let value = b.infer(Op::Simd(op, vec![entry.value]));
        self.add(value, ty, false);
    }

    fn vote(&mut self, b: &mut Builder<'_>) {
        let entry = self.value_of(b, Type::BOOL);
        let op =
            self.rng.pick(&[SimdOp::Any, SimdOp::All, SimdOp::Ballot, SimdOp::ActiveMask, SimdOp::IsFirst]);
        let args = match op {
            SimdOp::ActiveMask | SimdOp::IsFirst => Vec::new(),
            _ => vec![entry.value],
        };
        let value = b.infer(Op::Simd(op, args));
        let ty = if matches!(op, SimdOp::Ballot | SimdOp::ActiveMask) { Type::I64 } else { Type::BOOL };
        self.add(value, ty, false);
    }

    fn shuffle(&mut self, b: &mut Builder<'_>) {
        let ty = self.any_type();
        let entry = self.value_of(b, ty);
        let op = self.rng.pick(SHUFFLES);
        let quad = op.name().starts_with("quad");
        let lanes = if quad { 4 } else { 32 };
        // A delta or mask must be the same in all lanes; a lane number need not.
        let lane = match op {
            SimdOp::Shuffle | SimdOp::QuadShuffle => self.index_below(b, lanes),
            _ => {
                let value = b.i32(self.rng.below(lanes as usize) as i32);
                Entry { value, ty: Type::I32, uniform: true }
            }
        };
        let value = b.infer(Op::Simd(op, vec![entry.value, lane.value]));
        self.add(value, ty, false);
    }

    /// Every thread writes its element of threadgroup memory, then a barrier, then reads another thread's
    /// element.
    pub(crate) fn exchange(&mut self, b: &mut Builder<'_>, place: Position) {
        let allowed = place.uniform && !self.any_returned && self.returns.is_none();
        if !self.options.threadgroup || !allowed {
            return self.pure_statement(b);
        }
        let scalar = self.rng.pick(&[Scalar::I32, Scalar::I64, Scalar::I16]);
        let ty = Type::Scalar(scalar);
        let entry = self.value_of(b, ty);
        let base = b.infer(Op::ThreadgroupAddr(ThreadgroupId(0)));
        let own = b.query(Query::ThreadIndexInThreadgroup);
        let own = self.widened(b, own);
        let own = b.ptr_index(base, own, 8);
        b.store(own, entry.value, scalar.size());
        b.push(Op::Barrier(BarrierScope::Threadgroup, None));
        let mut size = b.query(Query::ThreadsPerThreadgroup(0));
        for component in [1, 2] {
            let more = b.query(Query::ThreadsPerThreadgroup(component));
            size = b.binary(anymetal_ir::BinOp::Mul, size, more);
        }
        let other = self.value_of(b, Type::I32);
        let other = b.binary(anymetal_ir::BinOp::URem, other.value, size);
        let other = self.widened(b, other);
        let other = b.ptr_index(base, other, 8);
        let value = b.load(other, ty, scalar.size());
        b.push(Op::Barrier(BarrierScope::Threadgroup, None));
        self.add(value, ty, false);
    }
}
