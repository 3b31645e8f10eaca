//! Conversions between types.

use super::function::FunctionLowerer;
use crate::hir::{self, CastKind, ScalarTy};
use anymetal_ir as ir;

impl FunctionLowerer<'_, '_, '_> {
    pub(super) fn cast(&mut self, kind: CastKind, operand: &hir::Expr, to: hir::Ty) -> ir::Value {
        let from = operand.ty.ty;
        if kind == CastKind::Bitcast && self.is_wide(from) {
            return self.bits_in_memory(operand, to);
        }
        let value = self.value(operand);
        match kind {
            CastKind::Convert => {
                let from = self.types().element(from).expect("conversions are between arithmetic types");
                let to = self.types().element(to).expect("conversions are between arithmetic types");
                self.convert_scalar(value, from, to)
            }
            CastKind::Splat => match self.value_type(to) {
                ir::Type::Scalar(_) => value,
                vector => self.b.value(ir::Op::Splat(value), vector),
            },
            CastKind::Bitcast => {
                let to = self.value_type(to);
                self.bitcast(value, to)
            }
            CastKind::Pointer | CastKind::Xvalue => value,
            CastKind::PointerToInt => self.b.cast(ir::CastOp::PtrToInt, value, ir::Type::I64),
            CastKind::IntToPointer => {
                let to = self.value_type(to);
                self.b.cast(ir::CastOp::IntToPtr, value, to)
            }
            CastKind::PointerToBool => {
                let ty = self.b.func.ty(value);
                let null = self.b.value(ir::Op::Const(0), ty);
                self.b.compare(ir::CmpOp::Ne, value, null)
            }
            CastKind::ToVoid => panic!("a cast to void has no value"),
        }
    }

    /// The same bits as another type.
    pub(super) fn bitcast(&mut self, value: ir::Value, to: ir::Type) -> ir::Value {
        if self.b.func.ty(value) == to { value } else { self.b.cast(ir::CastOp::Bitcast, value, to) }
    }

    /// Converts a scalar, or each element of a vector.
    pub(super) fn convert_scalar(&mut self, value: ir::Value, from: ScalarTy, to: ScalarTy) -> ir::Value {
        use ir::CastOp as C;
        let ty = self.b.func.ty(value);
        if from == to || ir::Scalar::from(from) == ir::Scalar::from(to) {
            return value;
        }
        if to == ScalarTy::Bool {
            let zero = self.zero_like(ty);
            let op = if from.is_float() { ir::CmpOp::FNe } else { ir::CmpOp::Ne };
            return self.b.compare(op, value, zero);
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
            (self.b.func.as_const(value), ty, from.is_float(), to.is_float())
        {
            // Indices are mostly literals; folding here keeps addresses constant from the start.
            return self.b.const_bits(to.into(), extend(bits, from));
        }
        self.b.cast(op, value, ty.with_scalar(to.into()))
    }

    pub(super) fn zero_like(&mut self, ty: ir::Type) -> ir::Value {
        match ty {
            ir::Type::Scalar(scalar) => self.b.const_bits(scalar, 0),
            ir::Type::Vector(scalar, _) => {
                let zero = self.b.const_bits(scalar, 0);
                self.b.value(ir::Op::Splat(zero), ty)
            }
            ir::Type::Ptr(_) => self.b.value(ir::Op::Const(0), ty),
        }
    }
}

/// The bits sign- or zero-extended to 64.
fn extend(bits: u64, from: ScalarTy) -> u64 {
    let unused = 64 - from.bits();
    if from.is_signed() { (((bits << unused) as i64) >> unused) as u64 } else { bits }
}
