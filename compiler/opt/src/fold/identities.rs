//! Algebraic identities that hold bit for bit (up to the bits of a NaN).

use super::constants::elements;
use super::{Folded, clamped};
use anymetal_ir::eval::mask;
use anymetal_ir::{BinOp, CastOp, CmpOp, Function, Op, Scalar, Type, UnOp, Value};

pub(super) fn simplify(function: &Function, op: &Op, ty: Type) -> Folded {
    match *op {
        Op::Unary(op, a) => unary(function, op, a),
        Op::Binary(op, a, b) if op.is_float() => float(function, op, a, b),
        Op::Binary(op, a, b) => integer(function, op, a, b),
        Op::Compare(op, a, b) => compare(function, op, a, b, ty),
        Op::Select(cond, a, b) => select(function, cond, a, b),
        Op::Cast(op, a) => cast(function, op, a, ty),
        _ => Folded::Keep,
    }
}

/// Whether every element is this constant.
fn all(function: &Function, value: Value, bits: u64) -> bool {
    elements(function, value).is_some_and(|elements| elements.iter().all(|&element| element == bits))
}

fn repeated(ty: Type, bits: u64) -> Folded {
    Folded::Elements(vec![bits; usize::from(ty.lanes())])
}

fn unary(function: &Function, op: UnOp, a: Value) -> Folded {
    match function.def(a) {
        Some(Op::Unary(inner, b)) if *inner == op => Folded::Value(*b),
        _ => Folded::Keep,
    }
}

fn float(function: &Function, op: BinOp, a: Value, b: Value) -> Folded {
    let scalar = function.ty(a).scalar().expect("float arithmetic is on numbers");
    assert!(scalar.is_float(), "{op:?} of {}", scalar.name());
    let one = anymetal_ir::eval::narrow(scalar, 1.0);
    let minus_zero = 1u64 << (scalar.bits() - 1);
    match op {
        BinOp::FMul if all(function, b, one) => Folded::Value(a),
        BinOp::FMul if all(function, a, one) => Folded::Value(b),
        BinOp::FDiv if all(function, b, one) => Folded::Value(a),
        // Minus zero is the neutral element: 0 + -0 = 0.
        BinOp::FAdd if all(function, b, minus_zero) => Folded::Value(a),
        BinOp::FAdd if all(function, a, minus_zero) => Folded::Value(b),
        BinOp::FSub if all(function, b, 0) => Folded::Value(a),
        _ => Folded::Keep,
    }
}

fn integer(function: &Function, op: BinOp, a: Value, b: Value) -> Folded {
    let ty = function.ty(a);
    let scalar = ty.scalar().expect("integer arithmetic is on numbers");
    assert!(!scalar.is_float(), "{op:?} of {}", scalar.name());
    let ones = mask(scalar);
    let is = |value: Value, bits: u64| all(function, value, bits);
    match op {
        BinOp::Add | BinOp::Or | BinOp::Xor if is(b, 0) => Folded::Value(a),
        BinOp::Add | BinOp::Or | BinOp::Xor if is(a, 0) => Folded::Value(b),
        BinOp::Sub | BinOp::Shl | BinOp::LShr | BinOp::AShr if is(b, 0) => Folded::Value(a),
        BinOp::Sub | BinOp::Xor if a == b => repeated(ty, 0),
        BinOp::Mul if is(b, 1) => Folded::Value(a),
        BinOp::Mul if is(a, 1) => Folded::Value(b),
        BinOp::Mul | BinOp::And if is(a, 0) || is(b, 0) => repeated(ty, 0),
        BinOp::And if is(b, ones) => Folded::Value(a),
        BinOp::And if is(a, ones) => Folded::Value(b),
        BinOp::Or if is(a, ones) || is(b, ones) => repeated(ty, ones),
        BinOp::UDiv | BinOp::SDiv if is(b, 1) => Folded::Value(a),
        BinOp::URem | BinOp::SRem if is(b, 1) => repeated(ty, 0),
        BinOp::And | BinOp::Or | BinOp::UMin | BinOp::UMax | BinOp::SMin | BinOp::SMax if a == b => {
            Folded::Value(a)
        }
        _ => constants_together(function, op, a, b),
    }
}

/// `(x + c) + d` becomes `x + (c + d)` when both are the same constant operation; the combined
/// constant needs an instruction, so only the case of an existing one is taken: `(x ^ c) ^ c`.
fn constants_together(function: &Function, op: BinOp, a: Value, b: Value) -> Folded {
    if let (BinOp::Xor, Some(Op::Binary(BinOp::Xor, x, c))) = (op, function.def(a))
        && *c == b
    {
        return Folded::Value(*x);
    }
    if let (BinOp::Sub, Some(Op::Binary(BinOp::Add, x, c))) = (op, function.def(a)) {
        if *c == b {
            return Folded::Value(*x);
        }
        if *x == b {
            return Folded::Value(*c);
        }
    }
    Folded::Keep
}

fn compare(function: &Function, op: CmpOp, a: Value, b: Value, ty: Type) -> Folded {
    if a == b && !op.is_float() {
        let holds = matches!(op, CmpOp::Eq | CmpOp::ULe | CmpOp::UGe | CmpOp::SLe | CmpOp::SGe);
        return repeated(ty, u64::from(holds));
    }
    let scalar = function.ty(a).scalar();
    match op {
        // `b == true` and `b != false` are `b`.
        CmpOp::Eq if scalar == Some(Scalar::Bool) && all(function, b, 1) => Folded::Value(a),
        CmpOp::Ne if scalar == Some(Scalar::Bool) && all(function, b, 0) => Folded::Value(a),
        // Tests of `zext bool` against zero and one.
        CmpOp::Eq | CmpOp::Ne => match (function.def(a), op) {
            (Some(Op::Cast(CastOp::ZExt, inner)), CmpOp::Ne)
                if function.ty(*inner).scalar() == Some(Scalar::Bool) && all(function, b, 0) =>
            {
                Folded::Value(*inner)
            }
            (Some(Op::Cast(CastOp::ZExt, inner)), CmpOp::Eq)
                if function.ty(*inner).scalar() == Some(Scalar::Bool) && all(function, b, 1) =>
            {
                Folded::Value(*inner)
            }
            (Some(Op::Cast(CastOp::ZExt, inner)), CmpOp::Eq)
                if function.ty(*inner).scalar() == Some(Scalar::Bool) && all(function, b, 0) =>
            {
                Folded::Op(Op::Unary(UnOp::Not, *inner))
            }
            _ => Folded::Keep,
        },
        // Nothing is below zero without a sign.
        CmpOp::ULt if all(function, b, 0) => repeated(ty, 0),
        CmpOp::UGe if all(function, b, 0) => repeated(ty, 1),
        _ => match clamped::decided(function, op, a, b) {
            Some(holds) => repeated(ty, u64::from(holds)),
            None => Folded::Keep,
        },
    }
}

fn select(function: &Function, cond: Value, a: Value, b: Value) -> Folded {
    if a == b || all(function, cond, 1) {
        Folded::Value(a)
    } else if all(function, cond, 0) {
        Folded::Value(b)
    } else if function.ty(a).scalar() == Some(Scalar::Bool)
        && function.ty(cond) == function.ty(a)
        && all(function, a, 1)
        && all(function, b, 0)
    {
        Folded::Value(cond)
    } else {
        Folded::Keep
    }
}

fn cast(function: &Function, op: CastOp, a: Value, ty: Type) -> Folded {
    let from = function.ty(a);
    if from == ty && matches!(op, CastOp::Bitcast | CastOp::FCast) {
        return Folded::Value(a);
    }
    match function.def(a) {
        Some(&Op::Cast(inner, b)) => cast_of_cast(function, op, inner, b, ty),
        _ => Folded::Keep,
    }
}

/// Folds a conversion to `ty` of a conversion of `b`.
fn cast_of_cast(function: &Function, op: CastOp, inner: CastOp, b: Value, ty: Type) -> Folded {
    let origin = function.ty(b);
    let origin_bits = origin.scalar().map(Scalar::bits);
    let bits = ty.scalar().map(Scalar::bits);
    match (op, inner) {
        (CastOp::ZExt, CastOp::ZExt) | (CastOp::SExt, CastOp::SExt) | (CastOp::Trunc, CastOp::Trunc) => {
            Folded::Op(Op::Cast(op, b))
        }
        // The sign bit is zero.
        (CastOp::SExt, CastOp::ZExt) => Folded::Op(Op::Cast(CastOp::ZExt, b)),
        (CastOp::Trunc, CastOp::ZExt | CastOp::SExt) if origin == ty => Folded::Value(b),
        (CastOp::Trunc, CastOp::ZExt | CastOp::SExt) if origin_bits < bits => Folded::Op(Op::Cast(inner, b)),
        (CastOp::Trunc, CastOp::ZExt | CastOp::SExt) => Folded::Op(Op::Cast(CastOp::Trunc, b)),
        (CastOp::UToF | CastOp::SToF, CastOp::ZExt) => Folded::Op(Op::Cast(CastOp::UToF, b)),
        (CastOp::SToF, CastOp::SExt) => Folded::Op(Op::Cast(CastOp::SToF, b)),
        (CastOp::Bitcast, CastOp::Bitcast) if origin == ty => Folded::Value(b),
        (CastOp::Bitcast, CastOp::Bitcast) => Folded::Op(Op::Cast(op, b)),
        (CastOp::PtrToInt, CastOp::IntToPtr) => Folded::Value(b),
        (CastOp::IntToPtr, CastOp::PtrToInt) if origin == ty => Folded::Value(b),
        _ => Folded::Keep,
    }
}
