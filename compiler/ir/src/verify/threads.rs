//! Queries, SIMD-group operations and matrix fragments.
//!
//! | operation | arguments | result |
//! |---|---|---|
//! | `query` | component below 3 | `i32` |
//! | sums and products, prefix and quad forms | number | its type |
//! | `fmin`, `fmax`, quad forms | float | its type |
//! | `umin` … `smax` | integer | its type |
//! | `and`, `or`, `xor` | integer or `bool` | its type |
//! | shuffles, rotations, broadcasts | anything but a pointer, `i32` | its type |
//! | `shuffle_and_fill_*` | value, fill of its type, `i32`, `i32` | its type |
//! | `broadcast_first` | anything but a pointer | its type |
//! | `any`, `all` / `ballot` | `bool` | `bool` / `i64` |
//! | `active_mask` / `is_first` | none | `i64` / `bool` |
//! | matrix `load` | pointer, `i64` | float vector of 2 |
//! | matrix `store` | pointer to writable memory, `i64`, float vector of 2 | none |
//! | matrix `multiply_accumulate` | three float vectors of 2 | the third's type |

use super::walk::Subject;
use super::{Checked, require};
use crate::{BinOp, Combine, MatrixOp, Op, Query, Scalar, SimdOp, Space, Type, Value};

pub(super) fn query(subject: &Subject<'_>, query: Query) -> Checked {
    require(query.component().is_none_or(|c| c < 3), || "there are three components".to_owned())?;
    subject.gives(Type::I32)
}

/// Number of arguments.
fn simd_arity(op: SimdOp) -> usize {
    match op {
        SimdOp::ActiveMask | SimdOp::IsFirst => 0,
        SimdOp::Shuffle
        | SimdOp::ShuffleXor
        | SimdOp::ShuffleUp
        | SimdOp::ShuffleDown
        | SimdOp::RotateUp
        | SimdOp::RotateDown
        | SimdOp::Broadcast
        | SimdOp::QuadBroadcast
        | SimdOp::QuadShuffle
        | SimdOp::QuadShuffleXor
        | SimdOp::QuadShuffleUp
        | SimdOp::QuadShuffleDown => 2,
        SimdOp::ShuffleAndFillUp | SimdOp::ShuffleAndFillDown => 4,
        _ => 1,
    }
}

pub(super) fn simd(subject: &Subject<'_>, op: SimdOp, args: &[Value]) -> Checked {
    let arity = simd_arity(op);
    require(args.len() == arity, || format!("simd.{} takes {arity} arguments", op.name()))?;
    let Some(&value) = args.first() else {
        return subject.gives(if op == SimdOp::ActiveMask { Type::I64 } else { Type::BOOL });
    };
    simd_value(subject, op, value)?;
    match args {
        [_, lane] => subject.operand(*lane, Type::I32)?,
        [_, fill, delta, modulo] => {
            subject.same(value, *fill)?;
            subject.operand(*delta, Type::I32)?;
            subject.operand(*modulo, Type::I32)?;
        }
        _ => {}
    }
    subject.gives(match op {
        SimdOp::Any | SimdOp::All => Type::BOOL,
        SimdOp::Ballot => Type::I64,
        _ => subject.ty(value),
    })
}

/// What the first argument may be.
fn simd_value(subject: &Subject<'_>, op: SimdOp, value: Value) -> Checked {
    subject.scalar(value, "a scalar or vector", |_| true)?;
    let element = subject.ty(value).scalar().expect("a scalar or vector has elements");
    match op.combination(element).map(|combination| combination.combine) {
        Some(Combine::Binary(BinOp::And | BinOp::Or | BinOp::Xor)) => {
            subject.scalar(value, "an integer or bool", |scalar| !scalar.is_float())
        }
        Some(Combine::Binary(BinOp::UMin | BinOp::UMax | BinOp::SMin | BinOp::SMax)) => {
            subject.scalar(value, "an integer", Scalar::is_int)
        }
        Some(Combine::Binary(_)) => subject.scalar(value, "a number", |scalar| scalar != Scalar::Bool),
        Some(Combine::Math(_)) => subject.scalar(value, "a float", Scalar::is_float),
        None if matches!(op, SimdOp::Any | SimdOp::All | SimdOp::Ballot) => {
            subject.operand(value, Type::BOOL)
        }
        None => Ok(()),
    }
}

pub(super) fn matrix(subject: &Subject<'_>, op: MatrixOp, args: &[Value]) -> Checked {
    let arity = if matches!(op, MatrixOp::Load { .. }) { 2 } else { 3 };
    require(args.len() == arity, || format!("matrix.{} takes {arity} arguments", op.name()))?;
    if op == MatrixOp::MultiplyAccumulate {
        for &arg in args {
            require(is_fragment(subject.ty(arg)), || format!("{arg} is no matrix fragment"))?;
        }
        return subject.gives(subject.ty(args[2]));
    }
    let Type::Ptr(space) = subject.ty(args[0]) else {
        return Err(format!("{} must be a pointer", args[0]));
    };
    subject.operand(args[1], Type::I64)?;
    let Some(&fragment) = args.get(2) else {
        let result = subject.gives_something()?;
        return require(is_fragment(result), || "the result must be a matrix fragment".to_owned());
    };
    require(space != Space::Constant, || "constant memory is read-only".to_owned())?;
    require(is_fragment(subject.ty(fragment)), || format!("{fragment} is no matrix fragment"))?;
    subject.gives_nothing()
}

fn is_fragment(ty: Type) -> bool {
    matches!(ty, Type::Vector(scalar, 2) if scalar.is_float())
}

/// Barriers and fences: their operands are numbers of 32 bits.
pub(super) fn order(subject: &Subject<'_>, op: &Op) -> Checked {
    let mut checked = Ok(());
    op.for_each_operand(|operand| {
        if checked.is_ok() {
            checked = subject.operand(operand, Type::Scalar(Scalar::I32)).map(drop);
        }
    });
    checked?;
    subject.gives_nothing()
}
