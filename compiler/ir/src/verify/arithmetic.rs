//! Pure arithmetic, elementwise on scalars and vectors.
//!
//! | operation | operands | result |
//! |---|---|---|
//! | `fneg`, float binary | floats of one type | that type |
//! | `ineg`, integer binary | integers of one type | that type |
//! | `not`, `and`, `or`, `xor` | integers or `bool`s of one type | that type |
//! | `eq`, `ne` | integers, `bool`s or pointers of one type | `bool` of the shape |
//! | `ult` … `uge` | integers or pointers of one type | `bool` of the shape |
//! | `disjoint` | pointers to device memory | `bool` |
//! | `slt` … `sge` | integers of one type | `bool` of the shape |
//! | `feq` … `fne` | floats of one type | `bool` of the shape |
//! | `select` | `bool`, or `bool` of the shape; two of one type | that type |
//! | `trunc` / `sext` / `zext` | integer (`zext`: or `bool`) | narrower / wider / wider integer of the shape |
//! | `fcast` | float | float of the shape |
//! | `ftos`, `ftou` | float | integer of the shape |
//! | `stof` / `utof` | integer / integer or `bool` | float of the shape |
//! | `bitcast` | integer or float; or anything to its own type | integer or float of the same size |
//! | `ptr_to_int` / `int_to_ptr` | pointer / `i64` | `i64` / pointer |
//! | `math` | as [`MathFn::arity`] says, of one type; floats, or integers for the integer functions; `ldexp`'s second `i32` of the shape | [`MathFn::result_type`] |

use super::walk::Subject;
use super::{Checked, require};
use crate::op::{CastOp, CmpOp};
use crate::{BinOp, MathFn, Scalar, Space, Type, UnOp, Value};

fn is_logical(scalar: Scalar) -> bool {
    scalar.is_int() || scalar == Scalar::Bool
}

pub(super) fn unary(subject: &Subject<'_>, op: UnOp, a: Value) -> Checked {
    match op {
        UnOp::FNeg => subject.scalar(a, "a float", Scalar::is_float)?,
        UnOp::INeg => subject.scalar(a, "an integer", Scalar::is_int)?,
        UnOp::Not => subject.scalar(a, "an integer or bool", is_logical)?,
    }
    subject.gives(subject.ty(a))
}

pub(super) fn binary(subject: &Subject<'_>, op: BinOp, a: Value, b: Value) -> Checked {
    subject.same(a, b)?;
    match op {
        _ if op.is_float() => subject.scalar(a, "a float", Scalar::is_float)?,
        BinOp::And | BinOp::Or | BinOp::Xor => subject.scalar(a, "an integer or bool", is_logical)?,
        _ => subject.scalar(a, "an integer", Scalar::is_int)?,
    }
    subject.gives(subject.ty(a))
}

pub(super) fn compare(subject: &Subject<'_>, op: CmpOp, a: Value, b: Value) -> Checked {
    subject.same(a, b)?;
    let pointer = subject.ty(a).is_ptr();
    match op {
        _ if op.is_float() => subject.scalar(a, "a float", Scalar::is_float)?,
        CmpOp::Eq | CmpOp::Ne if pointer => {}
        CmpOp::Eq | CmpOp::Ne => subject.scalar(a, "an integer or bool", is_logical)?,
        CmpOp::ULt | CmpOp::ULe | CmpOp::UGt | CmpOp::UGe if pointer => {}
        CmpOp::Disjoint => subject.operand(a, Type::Ptr(Space::Device))?,
        _ => subject.scalar(a, "an integer", Scalar::is_int)?,
    }
    let shape = if pointer { Type::BOOL } else { subject.ty(a).with_scalar(Scalar::Bool) };
    subject.gives(shape)
}

pub(super) fn select(subject: &Subject<'_>, cond: Value, a: Value, b: Value) -> Checked {
    subject.same(a, b)?;
    let ty = subject.ty(a);
    let elementwise = matches!(ty, Type::Vector(..)).then(|| ty.with_scalar(Scalar::Bool));
    let cond_ty = subject.ty(cond);
    require(cond_ty == Type::BOOL || Some(cond_ty) == elementwise, || {
        format!("{cond} must be bool, or bools of the shape, is {cond_ty}")
    })?;
    subject.gives(ty)
}

pub(super) fn cast(subject: &Subject<'_>, op: CastOp, a: Value) -> Checked {
    let (from, to) = (subject.ty(a), subject.gives_something()?);
    let fits = match op {
        CastOp::PtrToInt => from.is_ptr() && to == Type::I64,
        CastOp::IntToPtr => from == Type::I64 && to.is_ptr(),
        CastOp::Bitcast => from == to || bitcast_fits(from, to),
        _ => {
            let same_shape = matches!(from, Type::Vector(..)) == matches!(to, Type::Vector(..))
                && from.lanes() == to.lanes();
            match (from.scalar(), to.scalar()) {
                (Some(from), Some(to)) => same_shape && scalar_cast_fits(op, from, to),
                _ => false,
            }
        }
    };
    require(fits, || format!("{} cannot turn {from} into {to}", op.name()))
}

fn bitcast_fits(from: Type, to: Type) -> bool {
    let plain = |ty: Type| ty.scalar().is_some_and(|scalar| scalar != Scalar::Bool);
    plain(from) && plain(to) && from.size() == to.size()
}

fn scalar_cast_fits(op: CastOp, from: Scalar, to: Scalar) -> bool {
    match op {
        CastOp::Trunc => from.is_int() && to.is_int() && to.bits() < from.bits(),
        CastOp::ZExt => is_logical(from) && to.is_int() && to.bits() > from.bits(),
        CastOp::SExt => from.is_int() && to.is_int() && to.bits() > from.bits(),
        CastOp::FCast => from.is_float() && to.is_float(),
        CastOp::FToS | CastOp::FToU => from.is_float() && to.is_int(),
        CastOp::SToF => from.is_int() && to.is_float(),
        CastOp::UToF => is_logical(from) && to.is_float(),
        CastOp::Bitcast | CastOp::PtrToInt | CastOp::IntToPtr => false,
    }
}

pub(super) fn math(subject: &Subject<'_>, function: MathFn, args: &[Value]) -> Checked {
    let arity = function.arity();
    require(args.len() == arity, || format!("{} takes {arity} arguments", function.name()))?;
    match function {
        MathFn::PopCount | MathFn::Clz | MathFn::Ctz | MathFn::ReverseBits => {
            subject.scalar(args[0], "an integer", Scalar::is_int)?;
        }
        _ => subject.scalar(args[0], "a float", Scalar::is_float)?,
    }
    let ty = subject.ty(args[0]);
    for &arg in &args[1..] {
        let expected = if function == MathFn::Ldexp { ty.with_scalar(Scalar::I32) } else { ty };
        subject.operand(arg, expected)?;
    }
    subject.gives(function.result_type(ty))
}
