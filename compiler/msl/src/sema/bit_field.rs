//! Bit-fields in expressions: which places are bit-fields, what their values are promoted to, and that
//! objects with bit-fields start defined.
//!
//! A write to a bit-field reads the bytes around it, so that no object that has any is left undefined.

use super::checker::Checker;
use crate::hir::{BitField, Expr, ExprKind, QualTy, RecordId, ScalarTy, Stmt, StmtKind, Ty, TyKind};
use anymetal_diagnostics::Span;

impl Checker<'_> {
    /// The bits of a place, if it is a bit-field.
    pub(super) fn bit_field(&self, expr: &Expr) -> Option<BitField> {
        let mut at = expr;
        loop {
            at = match &at.kind {
                ExprKind::Field(_, record, index) => {
                    let field = &self.types.record(*record).fields[*index as usize];
                    return field.bits;
                }
                ExprKind::Assign(place, _) | ExprKind::Update { place, yields_old: false, .. } => place,
                ExprKind::Comma(_, rest) | ExprKind::Let(_, _, rest) => rest,
                _ => return None,
            };
        }
    }

    /// `int` or `uint`, for a bit-field whose values it holds and whose type is not promoted anyway (C++
    /// [conv.prom]).
    pub(super) fn promoted_bit_field(&self, expr: &Expr) -> Option<Ty> {
        let bits = self.bit_field(expr).filter(|_| expr.is_place)?;
        // An enumeration is promoted as its own type is.
        match (self.types.as_scalar(expr.ty.ty)?, bits.width) {
            (ScalarTy::U32 | ScalarTy::U64, ..32) | (ScalarTy::I64, ..=32) => Some(Ty::INT),
            (ScalarTy::U64, 32) => Some(Ty::UINT),
            _ => None,
        }
    }

    /// Whether an object of this type has bit-fields, in itself or in members.
    pub(super) fn has_bit_fields(&self, ty: Ty) -> bool {
        match *self.types.kind(ty) {
            TyKind::Array(elem, _) => self.has_bit_fields(elem),
            TyKind::Record(record) => self
                .types
                .record(record)
                .fields
                .iter()
                .any(|field| field.bits.is_some() || self.has_bit_fields(field.ty.ty)),
            _ => false,
        }
    }

    /// At the start of a constructor: an object with bit-fields begins as zero.
    pub(super) fn clear_bit_fields(&mut self, record: RecordId, stmts: &mut Vec<Stmt>, span: Span) {
        if self.types.record(record).fields.iter().all(|field| field.bits.is_none()) {
            return;
        }
        let Some(object) = self.this_object(span) else { return };
        let ty = self.records.get(record).ty;
        let zero = Expr::value(ExprKind::Zero, ty, span);
        let place = ExprKind::Assign(Box::new(object), Box::new(zero));
        let store = Expr::place(place, QualTy::plain(ty), span);
        stmts.push(Stmt { kind: StmtKind::Expr(store), span });
    }
}
