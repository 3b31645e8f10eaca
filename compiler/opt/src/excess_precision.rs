//! Computes in `F32` where a number is rounded to `F16` only to be computed with, in fast math mode,
//! as clang's `-ffloat16-excess-precision=fast` does.
//!
//! `half(x) + h` becomes `half(x + float(h))` for a `float` x. Apple's GPUs take 32-bit sources in
//! 16-bit arithmetic, so that the conversion is no instruction there; processors without 16-bit
//! arithmetic convert operands anyway, and save the conversion to `half` and back. The result is
//! rounded once instead of twice. A conversion with other uses stays for those.

use super::rewrite_blocks::{BlockRewriter, rewrite_blocks};
use anymetal_ir::{BinOp, CastOp, FpMode, Function, Inst, Op, Scalar, Value};

/// Rewrites one function; returns whether anything changed.
pub fn excess_precision(function: &mut Function) -> bool {
    let mut widener = Widener { function, changed: false };
    rewrite_blocks(&mut widener);
    widener.changed
}

struct Widener<'a> {
    function: &'a mut Function,
    changed: bool,
}

impl BlockRewriter for Widener<'_> {
    fn function(&mut self) -> &mut Function {
        self.function
    }

    fn rewrite(&mut self, inst: Inst, out: &mut Vec<Inst>) {
        if let Some((op, a, b)) = self.operands(inst) {
            let a = self.wide(inst, a, out);
            let b = self.wide(inst, b, out);
            let sum = self.put(inst, Op::Binary(op, a, b), out);
            self.function.replace_op(inst, Op::Cast(CastOp::FCast, sum));
            self.changed = true;
        }
        out.push(inst);
    }
}

impl Widener<'_> {
    /// Operation and operands of 16-bit arithmetic that takes the result of a conversion.
    fn operands(&self, inst: Inst) -> Option<(BinOp, Value, Value)> {
        let data = self.function.inst(inst);
        match data.op {
            Op::Binary(op @ (BinOp::FAdd | BinOp::FSub | BinOp::FMul | BinOp::FDiv), a, b) => {
                let is_half = self.function.ty(a).scalar() == Some(Scalar::F16) && data.fp == FpMode::Fast;
                let converts = self.before_rounding(a).or(self.before_rounding(b)).is_some();
                (is_half && converts).then_some((op, a, b))
            }
            _ => None,
        }
    }

    /// The `F32` value that a value was rounded from, if it may do without.
    fn before_rounding(&self, value: Value) -> Option<Value> {
        let data = self.function.inst(self.function.defining_inst(value)?);
        match data.op {
            Op::Cast(CastOp::FCast, from)
                if data.fp == FpMode::Fast && self.function.ty(from).scalar() == Some(Scalar::F32) =>
            {
                Some(from)
            }
            _ => None,
        }
    }

    /// The operand as `F32`.
    fn wide(&mut self, like: Inst, value: Value, out: &mut Vec<Inst>) -> Value {
        match self.before_rounding(value) {
            Some(from) => from,
            None => self.put(like, Op::Cast(CastOp::FCast, value), out),
        }
    }

    /// Appends an operation with an `F32` result of as many elements.
    fn put(&mut self, like: Inst, op: Op, out: &mut Vec<Inst>) -> Value {
        let data = self.function.inst(like);
        let (fp, loc, ty) = (data.fp, data.loc, self.function.ty(self.function.result(like)));
        assert_eq!(ty.scalar(), Some(Scalar::F16), "only operations on halves are widened");
        let inst = self.function.add_inst(op, Some(ty.with_scalar(Scalar::F32)), fp, loc);
        out.push(inst);
        self.function.result(inst)
    }
}
