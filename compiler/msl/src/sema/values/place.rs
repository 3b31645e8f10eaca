//! Places: of conditionals, members and other types, and which of them are bit-fields.
//!
//! Invariant: of a conditional that is a place only the chosen side is evaluated, and only for its address.

use super::Values;
use crate::hir::{BitField, CastKind, Expr, ExprKind, QualTy, RecordId, ScalarTy, Ty, TyKind, Types};
use anymetal_diagnostics::Span;

impl Values<'_> {
    /// `c ? a : b` as a place, when both sides are places of one type: the value of such a conditional
    /// loads them, which is what most uses want.
    pub(in crate::sema) fn conditional_place(&mut self, expr: Expr) -> Expr {
        let ExprKind::Conditional(cond, a, b) = &expr.kind else { return expr };
        let (cond, a, b) = (Expr::clone(cond), Expr::clone(a), Expr::clone(b));
        let (Some(x), Some(y)) = (self.loaded_place(a), self.loaded_place(b)) else { return expr };
        if x.ty != y.ty
            || x.ty.ty != expr.ty.ty
            || !is_addressable(self.types, &x)
            || !is_addressable(self.types, &y)
        {
            return expr;
        }
        self.chosen_place(cond, x, y, expr.span)
    }

    /// The place that a side of a conditional loads, which may be a conditional in turn.
    fn loaded_place(&mut self, side: Expr) -> Option<Expr> {
        match side.kind {
            ExprKind::Load(place) => Some(*place),
            ExprKind::Conditional(..) => Some(self.conditional_place(side)).filter(|place| place.is_place),
            _ => None,
        }
    }

    /// One of two places of one type: the choice is between their addresses.
    pub(in crate::sema) fn chosen_place(&mut self, cond: Expr, a: Expr, b: Expr, span: Span) -> Expr {
        let to = a.ty;
        let pointer = self.types.pointer(to);
        let at = |place| Box::new(Expr::value(ExprKind::AddressOf(Box::new(place)), pointer, span));
        let kind = ExprKind::Conditional(Box::new(cond), at(a), at(b));
        let chosen = Expr::value(kind, pointer, span);
        Expr::place(ExprKind::Deref(Box::new(chosen)), to, span)
    }

    /// The place as an xvalue.
    pub(in crate::sema) fn as_xvalue(&mut self, place: Expr) -> Expr {
        let (ty, span) = (place.ty, place.span);
        let pointer = self.types.pointer(ty);
        let address = Expr::value(ExprKind::AddressOf(Box::new(place)), pointer, span);
        let cast = Expr::value(ExprKind::Cast(CastKind::Xvalue, Box::new(address)), pointer, span);
        Expr::place(ExprKind::Deref(Box::new(cast)), ty, span)
    }

    /// The places of a class's members by index, for initialisation: references stay pointers.
    pub(in crate::sema) fn raw_field(
        &mut self,
        object: Expr,
        record: RecordId,
        index: u32,
        span: Span,
    ) -> Expr {
        let ty = self.types.record(record).fields[index as usize].ty;
        let qual = QualTy { ty: ty.ty, is_const: false, is_volatile: false, space: object.ty.space };
        Expr::place(ExprKind::Field(Box::new(object), record, index), qual, span)
    }

    /// The same memory as a place of another type.
    pub(in crate::sema) fn place_as(&mut self, place: Expr, ty: Ty, span: Span) -> Expr {
        let to = place.ty.with_ty(ty);
        let (from_pointer, to_pointer) = (self.types.pointer(place.ty), self.types.pointer(to));
        let address = Expr::value(ExprKind::AddressOf(Box::new(place)), from_pointer, span);
        let kind = ExprKind::Cast(crate::hir::CastKind::Pointer, Box::new(address));
        let pointer = Expr::value(kind, to_pointer, span);
        Expr::place(ExprKind::Deref(Box::new(pointer)), to, span)
    }

    pub(in crate::sema) fn address_of_place(&mut self, place: Expr, span: Span) -> Expr {
        let pointer = self.types.pointer(place.ty);
        Expr::value(ExprKind::AddressOf(Box::new(place)), pointer, span)
    }
}

/// The bits of a place, if it is a bit-field.
pub(in crate::sema) fn bit_field(types: &Types, expr: &Expr) -> Option<BitField> {
    let mut at = expr;
    loop {
        at = match &at.kind {
            ExprKind::Field(_, record, index) => {
                let field = &types.record(*record).fields[*index as usize];
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
pub(in crate::sema) fn promoted_bit_field(types: &Types, expr: &Expr) -> Option<Ty> {
    let bits = bit_field(types, expr).filter(|_| expr.is_place)?;
    // An enumeration is promoted as its own type is.
    match (types.as_scalar(expr.ty.ty)?, bits.width) {
        (ScalarTy::U32 | ScalarTy::U64, ..32) | (ScalarTy::I64, ..=32) => Some(Ty::INT),
        (ScalarTy::U64, 32) => Some(Ty::UINT),
        _ => None,
    }
}

/// Whether an object of this type has bit-fields, in itself or in members.
pub(in crate::sema) fn has_bit_fields(types: &Types, ty: Ty) -> bool {
    match *types.kind(ty) {
        TyKind::Array(elem, _) => has_bit_fields(types, elem),
        TyKind::Record(record) => types
            .record(record)
            .fields
            .iter()
            .any(|field| field.bits.is_some() || has_bit_fields(types, field.ty.ty)),
        _ => false,
    }
}

/// Whether a reference can bind to the place: several elements of a vector have no address, nor has a
/// bit-field.
pub(in crate::sema) fn is_addressable(types: &Types, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Swizzle(base, picks) => picks.len() == 1 && is_addressable(types, base),
        _ => bit_field(types, expr).is_none(),
    }
}
