//! Folds operations whose operands are all constants.

use anymetal_ir::eval::{eval_binary, eval_bitcast, eval_cast, eval_compare, eval_math, eval_unary};
use anymetal_ir::{CastOp, Function, Op, Scalar, Type, Value};

/// The elements of a constant scalar or vector; pointers are not constants here.
pub(super) fn elements(function: &Function, value: Value) -> Option<Vec<u64>> {
    match (function.def(value)?, function.ty(value)) {
        (Op::Const(bits), Type::Scalar(_)) => Some(vec![*bits]),
        (Op::Splat(a), Type::Vector(_, n)) => Some(vec![function.as_const(*a)?; usize::from(n)]),
        (Op::Compose(parts), Type::Vector(..)) => parts.iter().map(|&part| function.as_const(part)).collect(),
        _ => None,
    }
}

/// The result's elements, if the operands are constants and the operation is exact.
pub(super) fn evaluate(function: &Function, op: &Op, ty: Type) -> Option<Vec<u64>> {
    let scalar = |value: Value| function.ty(value).scalar();
    let constant = |value: Value| elements(function, value);
    match op {
        Op::Unary(op, a) => {
            let s = scalar(*a)?;
            Some(constant(*a)?.into_iter().map(|a| eval_unary(*op, s, a)).collect())
        }
        Op::Binary(op, a, b) => {
            let s = scalar(*a)?;
            Some(zip(constant(*a)?, constant(*b)?, |a, b| eval_binary(*op, s, a, b)))
        }
        Op::Compare(op, a, b) => {
            let s = scalar(*a)?;
            Some(zip(constant(*a)?, constant(*b)?, |a, b| u64::from(eval_compare(*op, s, a, b))))
        }
        Op::Select(cond, a, b) => {
            let (cond, a, b) = (constant(*cond)?, constant(*a)?, constant(*b)?);
            assert!(cond.len() == 1 || cond.len() == a.len(), "a condition for all elements or for each");
            let chosen = |n: usize| if cond[n % cond.len()] != 0 { a[n] } else { b[n] };
            Some((0..a.len()).map(chosen).collect())
        }
        Op::Cast(CastOp::PtrToInt | CastOp::IntToPtr, _) => None,
        Op::Cast(CastOp::Bitcast, a) => Some(eval_bitcast(scalar(*a)?, &constant(*a)?, ty.scalar()?)),
        Op::Cast(op, a) => {
            let (from, to) = (scalar(*a)?, ty.scalar()?);
            Some(constant(*a)?.into_iter().map(|a| eval_cast(*op, from, to, a)).collect())
        }
        Op::Math(math, args) => library(function, *math, args),
        Op::Extract(a, n) => Some(vec![constant(*a)?[usize::from(*n)]]),
        Op::Insert(a, n, b) => {
            let mut a = constant(*a)?;
            a[usize::from(*n)] = function.as_const(*b)?;
            Some(a)
        }
        Op::Shuffle(a, b, picks) => {
            let both: Vec<u64> = constant(*a)?.into_iter().chain(constant(*b)?).collect();
            Some(picks.iter().map(|&pick| both[usize::from(pick)]).collect())
        }
        _ => None,
    }
}

fn zip(a: Vec<u64>, b: Vec<u64>, f: impl Fn(u64, u64) -> u64) -> Vec<u64> {
    assert_eq!(a.len(), b.len(), "the operands of one operation have as many elements");
    a.into_iter().zip(b).map(|(a, b)| f(a, b)).collect()
}

fn library(function: &Function, math: anymetal_ir::MathFn, args: &[Value]) -> Option<Vec<u64>> {
    let scalar: Scalar = function.ty(*args.first()?).scalar()?;
    let args: Vec<Vec<u64>> = args.iter().map(|&arg| elements(function, arg)).collect::<Option<_>>()?;
    assert!(args.iter().all(|arg| arg.len() == args[0].len()), "the arguments of {math:?} differ in length");
    (0..args[0].len())
        .map(|n| {
            let element: Vec<u64> = args.iter().map(|arg| arg[n]).collect();
            eval_math(math, scalar, &element)
        })
        .collect()
}
