//! Divides by a square root by multiplying with `rsqrt`, outside of safe math mode.
//!
//! `a / sqrt(x)` becomes `a * rsqrt(x)`, and `a / (b * sqrt(x))` becomes `a * (rsqrt(x) / b)`. LLVM does
//! the same with an estimate whose refinement is NaN at zero; our code generators know that `rsqrt` is
//! infinite there. The root is that of fast math also in relaxed mode, whose own is correctly rounded and
//! slower than a root and a division.

use super::rewrite_blocks::{BlockRewriter, rewrite_blocks};
use anymetal_ir::{BinOp, FpMode, Function, Inst, MathFn, Op, Scalar, Value};

/// Rewrites one function; returns whether anything changed.
pub fn reciprocal_root(function: &mut Function) -> bool {
    let mut rewriter = Rewriter { function, changed: false };
    rewrite_blocks(&mut rewriter);
    rewriter.changed
}

struct Rewriter<'a> {
    function: &'a mut Function,
    changed: bool,
}

impl BlockRewriter for Rewriter<'_> {
    fn function(&mut self) -> &mut Function {
        self.function
    }

    fn rewrite(&mut self, inst: Inst, out: &mut Vec<Inst>) {
        if let Some((dividend, radicand, rest)) = self.quotient(inst) {
            let fp = self.function.inst(inst).fp;
            let root = self.put(inst, FpMode::Fast, Op::Math(MathFn::Rsqrt, vec![radicand]), out);
            let factor =
                rest.map_or(root, |rest| self.put(inst, fp, Op::Binary(BinOp::FDiv, root, rest), out));
            self.function.replace_op(inst, Op::Binary(BinOp::FMul, dividend, factor));
            self.changed = true;
        }
        out.push(inst);
    }
}

impl Rewriter<'_> {
    /// The dividend, the root's radicand, and the root's factor in the divisor.
    fn quotient(&self, inst: Inst) -> Option<(Value, Value, Option<Value>)> {
        let (dividend, divisor) = self.operands(BinOp::FDiv, inst)?;
        if let Some(radicand) = self.radicand(divisor) {
            return Some((dividend, radicand, None));
        }
        let (a, b) = self.operands(BinOp::FMul, self.function.defining_inst(divisor)?)?;
        let of = |root, rest| self.radicand(root).map(|radicand| (dividend, radicand, Some(rest)));
        of(b, a).or_else(|| of(a, b))
    }

    fn operands(&self, wanted: BinOp, inst: Inst) -> Option<(Value, Value)> {
        match *self.inexact(inst)? {
            Op::Binary(op, a, b) if op == wanted => Some((a, b)),
            _ => None,
        }
    }

    fn radicand(&self, root: Value) -> Option<Value> {
        match self.inexact(self.function.defining_inst(root)?)? {
            Op::Math(MathFn::Sqrt, args) => Some(args[0]),
            _ => None,
        }
    }

    /// The operation, if it computes in `F32` and need not be exact.
    fn inexact(&self, inst: Inst) -> Option<&Op> {
        let data = self.function.inst(inst);
        let scalar = data.result.and_then(|result| self.function.ty(result).scalar());
        (data.fp != FpMode::Safe && scalar == Some(Scalar::F32)).then_some(&data.op)
    }

    /// Appends an operation with a result of the same type.
    fn put(&mut self, like: Inst, fp: FpMode, op: Op, out: &mut Vec<Inst>) -> Value {
        let (loc, ty) = (self.function.inst(like).loc, self.function.ty(self.function.result(like)));
        let inst = self.function.add_inst(op, Some(ty), fp, loc);
        out.push(inst);
        self.function.result(inst)
    }
}
