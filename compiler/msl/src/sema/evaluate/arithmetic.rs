//! Operators and conversions on values, element by element.
//!
//! Invariant: no arithmetic of its own: what an operation gives is what [`anymetal_ir::eval`] says, which the
//! interpreter and the code generators follow too.

use super::machine::{Calls, Fail, Machine};
use super::memory::{Address, Val};
use super::{convert_scalar, has_value, ir_binary, ir_compare, ir_unary, value_from_bytes, value_to_bytes};
use crate::hir::{BinaryOp, CastKind, CompareOp, ConstValue, Expr, ScalarTy, Ty, UnaryOp};
use anymetal_diagnostics::Span;
use anymetal_ir::{Scalar, eval};

impl Machine<'_, '_> {
    pub(super) fn pointer_add(&mut self, pointer: &Expr, index: &Expr, ty: Ty) -> Result<Val, Fail> {
        let at = self.address(pointer)?;
        let index = self.scalar(index)? as i64;
        let sum = at.plus(index.wrapping_mul(self.pointee_size(ty)));
        if self.facts.calls == Calls::Constexpr && !self.is_within(sum) {
            return Err(self.fail(pointer.span, "the pointer leaves its object"));
        }
        Ok(Val::Pointer(sum))
    }

    pub(super) fn pointer_difference(&mut self, a: &Expr, b: &Expr, span: Span) -> Result<Val, Fail> {
        let (x, y) = (self.address(a)?, self.address(b)?);
        if x.alloc != y.alloc {
            return Err(self.fail(span, "pointers into different objects"));
        }
        let size = self.pointee_size(a.ty.ty).max(1);
        Ok(Val::Scalar((x.offset.wrapping_sub(y.offset) / size) as u64))
    }

    fn pointee_size(&self, ty: Ty) -> i64 {
        self.types.pointee(ty).map_or(1, |to| self.types.layout(to.ty).size as i64)
    }

    fn element_type(&self, ty: Ty, span: Span) -> Result<ScalarTy, Fail> {
        self.types.element(ty).ok_or_else(|| self.fail(span, "an unexpected type"))
    }

    pub(super) fn unary(&mut self, op: UnaryOp, a: &Expr) -> Result<Val, Fail> {
        let ty = a.ty.ty;
        let elem = self.element_type(ty, a.span)?;
        let op = ir_unary(op, elem);
        let elements =
            self.elements(a)?.into_iter().map(|bits| eval::eval_unary(op, elem.into(), bits)).collect();
        Ok(self.pack(ty, elements))
    }

    pub(super) fn binary(&mut self, op: BinaryOp, a: &Expr, b: &Expr, span: Span) -> Result<Val, Fail> {
        let ty = a.ty.ty;
        let elem = self.element_type(ty, span)?;
        let (x, y) = (self.elements(a)?, self.elements(b)?);
        if matches!(op, BinaryOp::Div | BinaryOp::Rem) && elem.is_integral() && y.contains(&0) {
            return Err(self.fail(span, "division by zero"));
        }
        if self.facts.calls == Calls::Constexpr && !x.iter().zip(&y).all(|(&x, &y)| has_value(op, elem, x, y))
        {
            return Err(self.fail(span, "the result is not a value of the type"));
        }
        let ir = ir_binary(op, elem);
        let elements = x.iter().zip(&y).map(|(&x, &y)| eval::eval_binary(ir, elem.into(), x, y)).collect();
        Ok(self.pack(ty, elements))
    }

    pub(super) fn compare(&mut self, op: CompareOp, a: &Expr, b: &Expr, span: Span) -> Result<Val, Fail> {
        if self.types.pointee(a.ty.ty).is_some() {
            return self.compare_pointers(op, a, b, span);
        }
        let elem = self.element_type(a.ty.ty, span)?;
        let ir = ir_compare(op, elem);
        let is_vector = self.types.as_vector(a.ty.ty).is_some();
        let (x, y) = (self.elements(a)?, self.elements(b)?);
        let flags: Vec<u64> =
            x.iter().zip(&y).map(|(&x, &y)| u64::from(eval::eval_compare(ir, elem.into(), x, y))).collect();
        Ok(if is_vector { Val::Vector(flags) } else { Val::Scalar(flags.first().copied().unwrap_or(0)) })
    }

    fn compare_pointers(&mut self, op: CompareOp, a: &Expr, b: &Expr, span: Span) -> Result<Val, Fail> {
        let (x, y) = (self.address(a)?, self.address(b)?);
        let answer = match op {
            CompareOp::Eq => x == y,
            CompareOp::Ne => x != y,
            _ if x.alloc == y.alloc => {
                let ir = ir_compare(op, ScalarTy::I64);
                eval::eval_compare(ir, Scalar::I64, x.offset as u64, y.offset as u64)
            }
            _ => return Err(self.fail(span, "pointers into different objects")),
        };
        Ok(Val::Scalar(u64::from(answer)))
    }

    pub(super) fn cast(&mut self, kind: CastKind, a: &Expr, to: Ty, span: Span) -> Result<Val, Fail> {
        match kind {
            CastKind::ToVoid => self.effect(a).map(|()| Val::Void),
            CastKind::Pointer | CastKind::Xvalue => self.value(a),
            CastKind::PointerToBool => {
                let at = self.address(a)?;
                Ok(Val::Scalar(u64::from(at != Address::NULL)))
            }
            CastKind::PointerToInt | CastKind::IntToPointer => {
                Err(self.fail(span, "the bits of a pointer are not known at compile time"))
            }
            CastKind::Splat => {
                let bits = self.scalar(a)?;
                let len = self.types.as_vector(to).map_or(1, |(_, len)| len);
                Ok(Val::Vector(vec![bits; usize::from(len)]))
            }
            CastKind::Bitcast => {
                let elements = self.elements(a)?;
                self.bitcast(a.ty.ty, elements, to, span)
            }
            CastKind::Convert => self.convert(a, to, span),
        }
    }

    fn convert(&mut self, a: &Expr, to: Ty, span: Span) -> Result<Val, Fail> {
        let from = self.element_type(a.ty.ty, span)?;
        let target = self.element_type(to, span)?;
        if let Some((_, cols, rows)) = self.types.as_matrix(to) {
            let from = self.types.vector(from, rows);
            let target = self.types.vector(target, rows);
            return self.convert_columns(a, cols, from, target);
        }
        let elements = self.elements(a)?.into_iter().map(|bits| convert_scalar(from, target, bits)).collect();
        Ok(self.pack(to, elements))
    }

    /// Converts a matrix value, given the types of its columns before and after.
    fn convert_columns(&mut self, a: &Expr, cols: u8, from: Ty, to: Ty) -> Result<Val, Fail> {
        let span = a.span;
        let Val::Bytes(bytes) = self.value(a)? else {
            return Err(self.fail(span, "an unexpected value"));
        };
        let (from_elem, to_elem) = (self.element_type(from, span)?, self.element_type(to, span)?);
        let types = &*self.types;
        let stride = types.layout(from).size as usize;
        let mut out = Vec::new();
        for c in 0..usize::from(cols) {
            let column = bytes.get(c * stride..).unwrap_or(&[]);
            let Some(ConstValue::Vector(elements)) = value_from_bytes(types, from, column) else {
                return Err(self.fail(span, "an unexpected value"));
            };
            let converted =
                elements.into_iter().map(|bits| convert_scalar(from_elem, to_elem, bits)).collect();
            out.extend(value_to_bytes(types, to, &ConstValue::Vector(converted)));
        }
        Ok(Val::Bytes(out))
    }

    /// The same bits as another type.
    pub(super) fn bitcast(&mut self, from: Ty, elements: Vec<u64>, to: Ty, span: Span) -> Result<Val, Fail> {
        let (a, b) = (self.element_type(from, span)?, self.element_type(to, span)?);
        let len = self.types.as_vector(to).map_or(1, |(_, len)| usize::from(len));
        let mut elements = eval::eval_bitcast(a.into(), &elements, b.into());
        elements.truncate(len);
        Ok(self.pack(to, elements))
    }
}
