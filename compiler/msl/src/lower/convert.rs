//! Conversions between types.

use super::function::FunctionLowerer;
use super::{value, wide_vector};
use crate::hir::{self, CastKind, ScalarTy};
use anymetal_ir as ir;

pub(super) fn cast(
    f: &mut FunctionLowerer<'_, '_, '_>,
    kind: CastKind,
    operand: &hir::Expr,
    to: hir::Ty,
) -> ir::Value {
    let from = operand.ty.ty;
    if kind == CastKind::Bitcast && wide_vector::is_wide(f, from) {
        return wide_vector::bits_in_memory(f, operand, to);
    }
    let value = value::lower(f, operand);
    match kind {
        CastKind::Convert => {
            let from = f.types().element(from).expect("conversions are between arithmetic types");
            let to = f.types().element(to).expect("conversions are between arithmetic types");
            convert_scalar(f, value, from, to)
        }
        CastKind::Splat => match f.value_type(to) {
            ir::Type::Scalar(_) => value,
            vector => f.b.value(ir::Op::Splat(value), vector),
        },
        CastKind::Bitcast => {
            let to = f.value_type(to);
            bitcast(f, value, to)
        }
        CastKind::Pointer | CastKind::Xvalue => value,
        CastKind::PointerToInt => f.b.cast(ir::CastOp::PtrToInt, value, ir::Type::I64),
        CastKind::IntToPointer => {
            let to = f.value_type(to);
            f.b.cast(ir::CastOp::IntToPtr, value, to)
        }
        CastKind::PointerToBool => {
            let ty = f.b.func.ty(value);
            let null = f.b.value(ir::Op::Const(0), ty);
            f.b.compare(ir::CmpOp::Ne, value, null)
        }
        CastKind::ToVoid => panic!("a cast to void has no value"),
    }
}

/// The same bits as another type.
pub(super) fn bitcast(f: &mut FunctionLowerer<'_, '_, '_>, value: ir::Value, to: ir::Type) -> ir::Value {
    if f.b.func.ty(value) == to { value } else { f.b.cast(ir::CastOp::Bitcast, value, to) }
}

/// Converts a scalar, or each element of a vector.
pub(super) fn convert_scalar(
    f: &mut FunctionLowerer<'_, '_, '_>,
    value: ir::Value,
    from: ScalarTy,
    to: ScalarTy,
) -> ir::Value {
    use ir::CastOp as C;
    let ty = f.b.func.ty(value);
    if from == to || ir::Scalar::from(from) == ir::Scalar::from(to) {
        return value;
    }
    if to == ScalarTy::Bool {
        let zero = zero_like(f, ty);
        let op = if from.is_float() { ir::CmpOp::FNe } else { ir::CmpOp::Ne };
        return f.b.compare(op, value, zero);
    }
    let op = match (from.is_float(), to.is_float()) {
        (true, true) => C::FCast,
        (true, false) if to.is_signed() => C::FToS,
        (true, false) => C::FToU,
        (false, true) if from.is_signed() => C::SToF,
        (false, true) => C::UToF,
        (false, false) if to.size() < from.size() => C::Trunc,
        (false, false) if from.is_signed() => C::SExt,
        (false, false) => C::ZExt,
    };
    if let (Some(bits), ir::Type::Scalar(_), false, false) =
        (f.b.func.as_const(value), ty, from.is_float(), to.is_float())
    {
        // Indices are mostly literals; folding here keeps addresses constant from the start.
        return f.b.const_bits(to.into(), extend(bits, from));
    }
    f.b.cast(op, value, ty.with_scalar(to.into()))
}

pub(super) fn zero_like(f: &mut FunctionLowerer<'_, '_, '_>, ty: ir::Type) -> ir::Value {
    match ty {
        ir::Type::Scalar(scalar) => f.b.const_bits(scalar, 0),
        ir::Type::Vector(scalar, _) => {
            let zero = f.b.const_bits(scalar, 0);
            f.b.value(ir::Op::Splat(zero), ty)
        }
        ir::Type::Ptr(_) => f.b.value(ir::Op::Const(0), ty),
    }
}

/// The bits sign- or zero-extended to 64.
fn extend(bits: u64, from: ScalarTy) -> u64 {
    let unused = 64 - from.bits();
    if from.is_signed() { (((bits << unused) as i64) >> unused) as u64 } else { bits }
}
