//! Divisions of 64 bits whose dividend has 32: done in 32, for which processors and code generators have
//! more. Indices of tensors are such: `uint` divided by sizes that are `size_t`.

use super::Folder;
use crate::{BinOp, CastOp, CmpOp, Inst, Op, Scalar, Type, Value};

const INT: Type = Type::Scalar(Scalar::I32);
const LONG: Type = Type::Scalar(Scalar::I64);

impl Folder<'_> {
    /// Appends the narrow form of a division or remainder, if it has one. A divisor beyond 32 bits goes into
    /// the dividend no times.
    pub(super) fn narrow_division(&mut self, inst: Inst, out: &mut Vec<Inst>) -> bool {
        let data = self.function.inst(inst);
        let (op, dividend, divisor) = match data.op {
            Op::Binary(op @ (BinOp::UDiv | BinOp::URem), a, b) => (op, a, b),
            _ => return false,
        };
        let Some(narrow) = self.widened(dividend) else { return false };
        if let Some(divisor) = self.widened(divisor) {
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

    /// The 32 bits that a value of 64 was made of.
    fn widened(&self, value: Value) -> Option<Value> {
        match self.function.def(value) {
            Some(&Op::Cast(CastOp::ZExt, inner)) if self.function.ty(inner) == INT => {
                (self.function.ty(value) == LONG).then_some(inner)
            }
            _ => None,
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
