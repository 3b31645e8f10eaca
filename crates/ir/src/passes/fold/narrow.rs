//! Divisions of 64 bits whose dividend has 32: done in 32, for which processors and code generators have
//! more. Indices of tensors are such: `uint` divided by sizes that are `size_t`.

use super::Folder;
use crate::{BinOp, CastOp, CmpOp, Inst, Op, Scalar, Type, Value};

const INT: Type = Type::Scalar(Scalar::I32);
const LONG: Type = Type::Scalar(Scalar::I64);
/// How many selections deep a narrow value is looked for.
const DEPTH: u32 = 3;

impl Folder<'_> {
    /// Appends the narrow form of a division or remainder, if it has one. A divisor beyond 32 bits goes into
    /// the dividend no times.
    pub(super) fn narrow_division(&mut self, inst: Inst, out: &mut Vec<Inst>) -> bool {
        let data = self.function.inst(inst);
        let (op, dividend, divisor) = match data.op {
            Op::Binary(op @ (BinOp::UDiv | BinOp::URem), a, b) => (op, a, b),
            _ => return false,
        };
        if !self.is_narrow(dividend, DEPTH) {
            return false;
        }
        let narrow = self.narrowed(inst, dividend, out);
        if self.is_narrow(divisor, DEPTH) {
            let divisor = self.narrowed(inst, divisor, out);
            let result = self.put(inst, Op::Binary(op, narrow, divisor), INT, out);
            self.become_op(inst, Op::Cast(CastOp::ZExt, result), out);
            return true;
        }
        let low = self.put(inst, Op::Cast(CastOp::Trunc, divisor), INT, out);
        let result = self.put(inst, Op::Binary(op, narrow, low), INT, out);
        let result = self.put(inst, Op::Cast(CastOp::ZExt, result), LONG, out);
        let most = self.put(inst, Op::Const(u32::MAX.into()), LONG, out);
        let beyond = self.put(inst, Op::Compare(CmpOp::UGt, divisor, most), Type::Scalar(Scalar::Bool), out);
        let whole = if op == BinOp::URem { dividend } else { self.put(inst, Op::Const(0), LONG, out) };
        self.become_op(inst, Op::Select(beyond, whole, result), out);
        true
    }

    /// Whether a value of 64 bits is visibly below 2^32: a widened one, or what a narrowed division became.
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

    /// The 32 bits of a value that [`Self::is_narrow`].
    fn narrowed(&mut self, like: Inst, value: Value, out: &mut Vec<Inst>) -> Value {
        match self.function.def(value) {
            Some(&Op::Cast(CastOp::ZExt, inner)) => inner,
            Some(&Op::Select(condition, a, b)) => {
                let (a, b) = (self.narrowed(like, a, out), self.narrowed(like, b, out));
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
        self.function.inst(inst).result.expect("it was made with a result")
    }

    fn become_op(&mut self, inst: Inst, op: Op, out: &mut Vec<Inst>) {
        self.function.insts[inst.index()].op = op;
        self.changed = true;
        out.push(inst);
    }
}
