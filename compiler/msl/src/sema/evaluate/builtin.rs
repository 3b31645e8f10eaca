//! Builtins of the library during constant evaluation.

use super::machine::{Fail, Machine};
use super::memory::Val;
use crate::builtins::{ArithFn, BuiltinId, BuiltinOp};
use crate::hir::{Expr, ScalarTy, Ty};
use anymetal_diagnostics::Span;
use anymetal_ir::{BinOp, MathFn, UnOp, eval};

impl Machine<'_, '_> {
    pub(super) fn builtin(&mut self, id: BuiltinId, args: &[Expr], ty: Ty, span: Span) -> Result<Val, Fail> {
        match id.get().op {
            BuiltinOp::Math(function, _) => self.elementwise(args, ty, span, |elem, operands| {
                eval::eval_math(function, elem.into(), operands)
                    .ok_or("this library function has no exact value at compile time")
            }),
            BuiltinOp::Arith(function) => self.elementwise(args, ty, span, |elem, operands| {
                let b = operands.get(1).copied().unwrap_or(0);
                arith_scalar(function, elem, operands[0], b).ok_or("this has no value at compile time")
            }),
            BuiltinOp::Bitcast => {
                let Some(arg) = args.first() else { return Err(self.fail(span, "an argument is missing")) };
                let elements = self.elements(arg)?;
                self.bitcast(arg.ty.ty, elements, ty, span)
            }
            BuiltinOp::Select => {
                let [a, b, cond] = args else { return Err(self.fail(span, "an argument is missing")) };
                let (a, b, cond) = (self.elements(a)?, self.elements(b)?, self.elements(cond)?);
                let pick = |n: usize| cond.get(n).or(cond.first()).is_some_and(|&c| c != 0);
                let picked = (0..a.len().min(b.len())).map(|n| if pick(n) { b[n] } else { a[n] }).collect();
                Ok(self.pack(ty, picked))
            }
            BuiltinOp::AnyOf | BuiltinOp::AllOf => {
                let Some(arg) = args.first() else { return Err(self.fail(span, "an argument is missing")) };
                let flags = self.elements(arg)?;
                let any = id.get().op == BuiltinOp::AnyOf;
                let answer = if any { flags.iter().any(|&f| f != 0) } else { flags.iter().all(|&f| f != 0) };
                Ok(Val::Scalar(u64::from(answer)))
            }
            _ => Err(self.fail(span, format!("`{}` has no value at compile time", id.get().name))),
        }
    }

    /// A function of the arguments' elements, each by itself. What `apply` gives for the n-th elements of
    /// all arguments is the n-th of the result; a message where there is none.
    fn elementwise(
        &mut self,
        args: &[Expr],
        ty: Ty,
        span: Span,
        apply: impl Fn(ScalarTy, &[u64]) -> Result<u64, &'static str>,
    ) -> Result<Val, Fail> {
        let Some(elem) = args.first().and_then(|arg| self.types.element(arg.ty.ty)) else {
            return Err(self.fail(span, "an argument is missing"));
        };
        let columns: Vec<Vec<u64>> = args.iter().map(|arg| self.elements(arg)).collect::<Result<_, _>>()?;
        let count = columns.first().map_or(0, Vec::len);
        let mut out = Vec::with_capacity(count);
        for n in 0..count {
            let operands: Option<Vec<u64>> = columns.iter().map(|column| column.get(n).copied()).collect();
            let bits = operands.ok_or("an unexpected value").and_then(|operands| apply(elem, &operands));
            out.push(bits.map_err(|message| self.fail(span, message))?);
        }
        Ok(self.pack(ty, out))
    }
}

fn arith_scalar(function: ArithFn, elem: ScalarTy, a: u64, b: u64) -> Option<u64> {
    let ir = elem.into();
    let signed = elem.is_signed();
    let pick = |s: BinOp, u: BinOp| Some(eval::eval_binary(if signed { s } else { u }, ir, a, b));
    match function {
        ArithFn::Min if elem.is_float() => eval::eval_math(MathFn::FMin, ir, &[a, b]),
        ArithFn::Max if elem.is_float() => eval::eval_math(MathFn::FMax, ir, &[a, b]),
        ArithFn::Abs if elem.is_float() => eval::eval_math(MathFn::FAbs, ir, &[a]),
        // `bool` orders false before true.
        ArithFn::Min if elem == ScalarTy::Bool => Some(a & b),
        ArithFn::Max if elem == ScalarTy::Bool => Some(a | b),
        ArithFn::Min => pick(BinOp::SMin, BinOp::UMin),
        ArithFn::Max => pick(BinOp::SMax, BinOp::UMax),
        ArithFn::Abs if signed && eval::sign_extend(ir, a) < 0 => Some(eval::eval_unary(UnOp::INeg, ir, a)),
        ArithFn::Abs => Some(a),
        ArithFn::MulHi => pick(BinOp::SMulHi, BinOp::UMulHi),
        ArithFn::AddSat => pick(BinOp::SAddSat, BinOp::UAddSat),
        ArithFn::SubSat => pick(BinOp::SSubSat, BinOp::USubSat),
        ArithFn::PopCount => eval::eval_math(MathFn::PopCount, ir, &[a]),
        ArithFn::Clz => eval::eval_math(MathFn::Clz, ir, &[a]),
        ArithFn::Ctz => eval::eval_math(MathFn::Ctz, ir, &[a]),
        ArithFn::ReverseBits => eval::eval_math(MathFn::ReverseBits, ir, &[a]),
    }
}
