//! The guards of versions, and the values that they imply.

use super::candidates::is_of_remainder;
use super::{Writer, walk_all};
use anymetal_ir::{BinOp, CastOp, CmpOp, Inst, Op, Query, Scalar, SimdOp, Type, Value};

/// A condition, and equalities that hold where it is true: each first value equals the second.
pub(super) struct Guard {
    pub(super) holds: Value,
    pub(super) known: Vec<(Value, Value)>,
}

/// Which threads of a SIMD-group execute a guard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Active {
    /// All 32.
    All,
    /// Those that entered the loop; the first thread may not be one.
    Some,
}

const BOOL: Type = Type::Scalar(Scalar::Bool);

impl Writer<'_> {
    fn binary(&mut self, to: &mut Vec<Inst>, op: BinOp, a: Value, b: Value) -> Value {
        let ty = self.function.ty(a);
        self.value(to, Op::Binary(op, a, b), ty)
    }

    fn first(&mut self, to: &mut Vec<Inst>, value: Value) -> Value {
        let ty = self.function.ty(value);
        self.value(to, Op::Simd(SimdOp::BroadcastFirst, vec![value]), ty)
    }

    fn constant(&mut self, to: &mut Vec<Inst>, bits: u64, ty: Type) -> Value {
        self.value(to, Op::Const(bits), ty)
    }

    /// Whether a comparison holds for all threads.
    fn for_all(&mut self, to: &mut Vec<Inst>, op: CmpOp, a: Value, b: Value) -> Value {
        let walk_all = self.value(to, Op::Compare(op, a, b), BOOL);
        self.value(to, Op::Simd(SimdOp::All, vec![walk_all]), BOOL)
    }

    fn both(&mut self, to: &mut Vec<Inst>, a: Value, b: Value) -> Value {
        self.value(to, Op::Binary(BinOp::And, a, b), BOOL)
    }

    /// Whether all 32 threads of the SIMD-group are active.
    pub(super) fn is_whole(&mut self, to: &mut Vec<Inst>) -> Value {
        let ty = Type::Scalar(Scalar::I64);
        let active = self.value(to, Op::Simd(SimdOp::ActiveMask, Vec::new()), ty);
        let all = self.constant(to, u64::from(u32::MAX), ty);
        self.value(to, Op::Compare(CmpOp::Eq, active, all), BOOL)
    }

    /// Each thread's distance from the first active thread's value.
    fn distance(&mut self, to: &mut Vec<Inst>, ty: Type, (step, active): (u32, Active)) -> Value {
        let narrow = Type::Scalar(Scalar::I32);
        let mut lane = self.value(to, Op::Query(Query::ThreadIndexInSimdgroup), narrow);
        if active == Active::Some {
            let first = self.first(to, lane);
            lane = self.binary(to, BinOp::Sub, lane, first);
        }
        if ty != narrow {
            lane = self.value(to, Op::Cast(CastOp::ZExt, lane), ty);
        }
        if step == 1 {
            return lane;
        }
        let step = self.constant(to, step.into(), ty);
        self.binary(to, BinOp::Mul, lane, step)
    }

    /// Whether the uniform factor is 1.
    pub(super) fn unit_factor_test(&mut self, to: &mut Vec<Inst>, a: Value, b: Value) -> Guard {
        let first = is_of_remainder(self.function, &self.state.remainders, a);
        let (remainder, factor) = if first { (a, b) } else { (b, a) };
        let one = self.constant(to, 1, self.function.ty(factor));
        let holds = self.for_all(to, CmpOp::Eq, factor, one);
        assert!(
            is_of_remainder(self.function, &self.state.remainders, remainder),
            "a product is versioned for its factor that is a remainder",
        );
        Guard { holds, known: vec![(self.function.result(self.division), remainder)] }
    }

    /// Whether `x / y` is uniform. `old` are the operands in `insts`, and `(x, y)` the same operands at the
    /// guard; `threads` are the stride of `x` between threads, and which of them execute the guard. It fails
    /// for a zero divisor, for negative operands, and for values that wrap between threads: those become
    /// smaller.
    pub(super) fn uniform_quotient_test(
        &mut self,
        to: &mut Vec<Inst>,
        insts: &[Inst],
        old: (Value, Value),
        (x, y): (Value, Value),
        threads: (u32, Active),
    ) -> Guard {
        let (op, ..) = self.operands();
        assert_eq!(self.function.ty(x), self.function.ty(old.0), "the dividend at the guard is the dividend");
        let signed = matches!(op, BinOp::SDiv | BinOp::SRem);
        let (divide, modulo) = if signed { (BinOp::SDiv, BinOp::SRem) } else { (BinOp::UDiv, BinOp::URem) };
        let (first, divisor) = (self.first(to, x), self.first(to, y));
        let quotient = self.binary(to, divide, first, divisor);
        let rest = self.binary(to, modulo, first, divisor);
        let distance = self.distance(to, self.function.ty(x), threads);
        let room = self.binary(to, BinOp::Sub, divisor, rest);
        let is_near = self.for_all(to, CmpOp::ULt, distance, room);
        let order = if signed { CmpOp::SGe } else { CmpOp::UGe };
        let is_not_below = self.for_all(to, order, x, first);
        let is_same = self.for_all(to, CmpOp::Eq, y, divisor);
        let mut holds = self.both(to, is_near, is_not_below);
        holds = self.both(to, holds, is_same);
        if signed {
            let zero = self.constant(to, 0, self.function.ty(x));
            let is_positive = self.value(to, Op::Compare(CmpOp::SGt, divisor, zero), BOOL);
            let is_not_negative = self.value(to, Op::Compare(CmpOp::SGe, first, zero), BOOL);
            holds = self.both(to, holds, is_positive);
            holds = self.both(to, holds, is_not_negative);
        }
        let remainder = self.binary(to, BinOp::Add, rest, distance);
        self.state.remainders.insert(remainder);
        let mut known = Vec::new();
        walk_all(self.function, insts, &mut |inst| {
            let data = self.function.inst(inst);
            if let (&Op::Binary(op, a, b), Some(result)) = (&data.op, data.result)
                && (a, b) == old
            {
                let new = [(divide, quotient), (modulo, remainder)];
                known.extend(new.iter().filter(|new| new.0 == op).map(|new| (result, new.1)));
            }
        });
        Guard { holds, known }
    }
}
