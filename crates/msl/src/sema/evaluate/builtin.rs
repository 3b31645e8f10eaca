//! Builtins of the library during constant evaluation.

use super::machine::{Fail, Machine};
use super::place::Val;
use crate::builtins::{ArithFn, BuiltinId, BuiltinOp};
use crate::hir::{Expr, ScalarTy, Ty};
use anymetal_diag::Span;
use anymetal_ir::{BinOp, MathFn, UnOp, eval};

impl Machine<'_, '_> {
    pub(super) fn builtin(&mut self, id: BuiltinId, args: &[Expr], ty: Ty, span: Span) -> Result<Val, Fail> {
        match id.get().op {
            BuiltinOp::Math(function, _) => self.math(function, args, ty, span),
            BuiltinOp::Arith(function) => self.arith(function, args, ty, span),
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

    fn math(&mut self, function: MathFn, args: &[Expr], ty: Ty, span: Span) -> Result<Val, Fail> {
        let Some(elem) = args.first().and_then(|arg| self.checker.types.element(arg.ty.ty)) else {
            return Err(self.fail(span, "an argument is missing"));
        };
        let mut columns = Vec::with_capacity(args.len());
        for arg in args {
            columns.push(self.elements(arg)?);
        }
        let count = columns.first().map_or(0, Vec::len);
        let mut out = Vec::with_capacity(count);
        for n in 0..count {
            let operands: Option<Vec<u64>> = columns.iter().map(|column| column.get(n).copied()).collect();
            let Some(operands) = operands else { return Err(self.fail(span, "an unexpected value")) };
            let bits = match eval::eval_math(function, elem.ir(), &operands) {
                Some(bits) => bits,
                None => {
                    return Err(self.fail(span, "this library function has no exact value at compile time"));
                }
            };
            out.push(bits);
        }
        Ok(self.pack(ty, out))
    }

    fn arith(&mut self, function: ArithFn, args: &[Expr], ty: Ty, span: Span) -> Result<Val, Fail> {
        let Some(elem) = args.first().and_then(|arg| self.checker.types.element(arg.ty.ty)) else {
            return Err(self.fail(span, "an argument is missing"));
        };
        let mut columns = Vec::with_capacity(args.len());
        for arg in args {
            columns.push(self.elements(arg)?);
        }
        let count = columns.first().map_or(0, Vec::len);
        let mut out = Vec::with_capacity(count);
        for n in 0..count {
            let a = columns[0][n];
            let b = columns.get(1).and_then(|column| column.get(n)).copied().unwrap_or(0);
            match arith_scalar(function, elem, a, b) {
                Some(bits) => out.push(bits),
                None => return Err(self.fail(span, "this has no value at compile time")),
            }
        }
        Ok(self.pack(ty, out))
    }
}

fn arith_scalar(function: ArithFn, elem: ScalarTy, a: u64, b: u64) -> Option<u64> {
    let ir = elem.ir();
    let signed = elem.is_signed_int();
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
