//! Narrows 64-bit arithmetic to 32 bits, as LLVM's CorrelatedValuePropagation does.
//!
//! Divisions and remainders whose dividend is an extended 32-bit value, which are faster in 32 bits: indices
//! of tensors are `uint` divided by sizes of type `size_t`. Remainders written as `x - x / y * y`. Sums and
//! products of which only the lower 32 bits are used.

use super::Folder;
use crate::limits::MAX_SPLIT_DEPTH;
use anymetal_ir::{BinOp, CastOp, CmpOp, Inst, Op, Scalar, Type, Value};

const INT: Type = Type::Scalar(Scalar::I32);
const LONG: Type = Type::Scalar(Scalar::I64);

impl Folder<'_> {
    /// Appends the narrow form of a division or remainder, if it has one. The quotient by a divisor of more
    /// than 32 bits is zero.
    pub(super) fn narrow_division(&mut self, inst: Inst, out: &mut Vec<Inst>) -> bool {
        let data = self.function.inst(inst);
        let (op, dividend, divisor) = match data.op {
            Op::Binary(op @ (BinOp::UDiv | BinOp::URem), a, b) => (op, a, b),
            _ => return false,
        };
        if !self.is_narrow(dividend, MAX_SPLIT_DEPTH) {
            return false;
        }
        let narrow = self.truncated(inst, dividend, out);
        if self.is_narrow(divisor, MAX_SPLIT_DEPTH) {
            let divisor = self.truncated(inst, divisor, out);
            let result = self.put(inst, Op::Binary(op, narrow, divisor), INT, out);
            self.become_op(inst, Op::Cast(CastOp::ZExt, result), out);
            return true;
        }
        let low = self.put(inst, Op::Cast(CastOp::Trunc, divisor), INT, out);
        let result = self.put(inst, Op::Binary(op, narrow, low), INT, out);
        let result = self.put(inst, Op::Cast(CastOp::ZExt, result), LONG, out);
        let most = self.put(inst, Op::Const(u32::MAX.into()), LONG, out);
        let exceeds = self.put(inst, Op::Compare(CmpOp::UGt, divisor, most), Type::Scalar(Scalar::Bool), out);
        let whole = if op == BinOp::URem { dividend } else { self.put(inst, Op::Const(0), LONG, out) };
        self.become_op(inst, Op::Select(exceeds, whole, result), out);
        true
    }

    /// Appends the narrow form of `x - x / y * y`, if x has 32 bits. The product is at most x, and zero if y
    /// is zero or greater than x, so 32 bits are exact.
    pub(super) fn narrow_rest(&mut self, inst: Inst, out: &mut Vec<Inst>) -> bool {
        let Some((whole, quotient, divisor)) = self.rest_of_division(inst) else {
            // It is not the rest of a division, or the dividend needs 64 bits.
            return false;
        };
        let whole = self.truncated(inst, whole, out);
        let quotient = self.truncated(inst, quotient, out);
        let divisor = self.truncated(inst, divisor, out);
        let product = self.put(inst, Op::Binary(BinOp::Mul, quotient, divisor), INT, out);
        let rest = self.put(inst, Op::Binary(BinOp::Sub, whole, product), INT, out);
        self.become_op(inst, Op::Cast(CastOp::ZExt, rest), out);
        true
    }

    /// The dividend, quotient and divisor of `x - x / y * y`, if x has 32 bits.
    fn rest_of_division(&self, inst: Inst) -> Option<(Value, Value, Value)> {
        let (whole, product) = match self.function.inst(inst).op {
            Op::Binary(BinOp::Sub, whole, product) if self.is_narrow(whole, MAX_SPLIT_DEPTH) => {
                (whole, product)
            }
            _ => return None,
        };
        match *self.function.def(product)? {
            Op::Binary(BinOp::Mul, a, b) if self.is_quotient(a, whole, b) => Some((whole, a, b)),
            Op::Binary(BinOp::Mul, a, b) if self.is_quotient(b, whole, a) => Some((whole, b, a)),
            _ => None,
        }
    }

    /// Replaces the lower half of a sum or product by the sum or product of the lower halves, if an operand
    /// is extended: an index is computed as `size_t`, and stored as `uint`.
    pub(super) fn narrow_half(&mut self, inst: Inst, out: &mut Vec<Inst>) -> bool {
        match self.function.inst(inst).op {
            Op::Cast(CastOp::Trunc, wide)
                if self.function.ty(self.function.result(inst)) == INT
                    && self.function.ty(wide) == LONG
                    && self.has_half(wide, MAX_SPLIT_DEPTH) =>
            {
                let half = self.half(inst, wide, MAX_SPLIT_DEPTH, out);
                self.substitution.replace(self.function, self.function.result(inst), half);
                self.changed = true;
                true
            }
            _ => false,
        }
    }

    /// Whether the lower half of a value exists or can be computed from existing ones.
    fn has_half(&self, value: Value, depth: u32) -> bool {
        let function = &*self.function;
        match function.def(value) {
            Some(&Op::Cast(CastOp::ZExt | CastOp::SExt, inner)) => function.ty(inner) == INT,
            Some(&Op::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul, a, b)) if depth > 0 => {
                self.has_half(a, depth - 1) || self.has_half(b, depth - 1)
            }
            Some(&Op::Select(_, a, b)) if depth > 0 => {
                self.has_half(a, depth - 1) && self.has_half(b, depth - 1)
            }
            _ => false,
        }
    }

    fn half(&mut self, like: Inst, value: Value, depth: u32, out: &mut Vec<Inst>) -> Value {
        assert_eq!(self.function.ty(value), LONG, "only 64-bit values have a half of 32 bits");
        match self.function.def(value) {
            Some(&Op::Cast(CastOp::ZExt | CastOp::SExt, inner)) if self.function.ty(inner) == INT => inner,
            Some(&Op::Binary(op, a, b)) if self.has_half(value, depth) => {
                let (a, b) = (self.half(like, a, depth - 1, out), self.half(like, b, depth - 1, out));
                self.put(like, Op::Binary(op, a, b), INT, out)
            }
            Some(&Op::Select(condition, a, b)) if self.has_half(value, depth) => {
                let (a, b) = (self.half(like, a, depth - 1, out), self.half(like, b, depth - 1, out));
                self.put(like, Op::Select(condition, a, b), INT, out)
            }
            _ => self.put(like, Op::Cast(CastOp::Trunc, value), INT, out),
        }
    }

    /// Whether a value is the result of [`Self::narrow_division`] for `whole / divisor`.
    fn is_quotient(&self, value: Value, whole: Value, divisor: Value) -> bool {
        let function = &*self.function;
        let divides = |value: Value| match function.def(value) {
            Some(&Op::Cast(CastOp::ZExt, quotient)) => match function.def(quotient) {
                Some(&Op::Binary(BinOp::UDiv, a, b)) => {
                    self.are_low_bits(a, whole, MAX_SPLIT_DEPTH) && self.are_low_bits(b, divisor, 0)
                }
                _ => false,
            },
            _ => false,
        };
        match function.def(value) {
            Some(&Op::Select(exceeds, none, quotient)) => {
                let is_beyond = matches!(function.def(exceeds), Some(&Op::Compare(CmpOp::UGt, a, most))
                    if a == divisor && function.as_const(most) == Some(u32::MAX.into()));
                is_beyond && function.as_const(none) == Some(0) && divides(quotient)
            }
            _ => self.is_narrow(divisor, 0) && divides(value),
        }
    }

    /// Whether a 32-bit value is recognisably the lower half of a 64-bit one, as [`Self::truncated`] makes
    /// it.
    fn are_low_bits(&self, low: Value, value: Value, depth: u32) -> bool {
        let function = &*self.function;
        match (function.def(low), function.def(value)) {
            (_, Some(&Op::Cast(CastOp::ZExt, inner))) if inner == low => true,
            (Some(&Op::Cast(CastOp::Trunc, inner)), _) if inner == value => true,
            (Some(&Op::Const(a)), Some(&Op::Const(b))) => a == b & u64::from(u32::MAX),
            (Some(&Op::Select(c, a, b)), Some(&Op::Select(d, x, y))) if depth > 0 && c == d => {
                self.are_low_bits(a, x, depth - 1) && self.are_low_bits(b, y, depth - 1)
            }
            _ => false,
        }
    }

    /// Whether a 64-bit value is recognisably below 2^32: an extended one, or the result of a narrowed
    /// division.
    fn is_narrow(&self, value: Value, depth: u32) -> bool {
        let function = &*self.function;
        match function.def(value) {
            _ if function.ty(value) != LONG => false,
            Some(&Op::Cast(CastOp::ZExt, inner)) => function.ty(inner) == INT,
            Some(&Op::Const(bits)) => bits <= u32::MAX.into(),
            Some(&Op::Select(_, a, b)) if depth > 0 => {
                self.is_narrow(a, depth - 1) && self.is_narrow(b, depth - 1)
            }
            _ => false,
        }
    }

    /// The lower 32 bits of a value that [`Self::is_narrow`].
    fn truncated(&mut self, like: Inst, value: Value, out: &mut Vec<Inst>) -> Value {
        assert_eq!(self.function.ty(value), LONG, "only 64-bit values are narrowed");
        match self.function.def(value) {
            Some(&Op::Cast(CastOp::ZExt, inner)) => inner,
            Some(&Op::Select(condition, a, b)) => {
                let (a, b) = (self.truncated(like, a, out), self.truncated(like, b, out));
                self.put(like, Op::Select(condition, a, b), INT, out)
            }
            Some(&Op::Const(bits)) => self.put(like, Op::Const(bits), INT, out),
            _ => self.put(like, Op::Cast(CastOp::Trunc, value), INT, out),
        }
    }

    fn put(&mut self, like: Inst, op: Op, ty: Type, out: &mut Vec<Inst>) -> Value {
        let (fp, loc) = (self.function.inst(like).fp, self.function.inst(like).loc);
        let inst = self.function.add_inst(op, Some(ty), fp, loc);
        out.push(inst);
        self.function.result(inst)
    }

    fn become_op(&mut self, inst: Inst, op: Op, out: &mut Vec<Inst>) {
        self.function.replace_op(inst, op);
        self.changed = true;
        out.push(inst);
    }
}
