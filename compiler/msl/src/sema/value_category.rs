//! Value categories: which places are xvalues, and which objects a reference-qualified method takes.
//!
//! A place is an lvalue unless it was made by a function that returns `T&&`, by a cast to `T&&`, or is part
//! of such an object. A temporary is an rvalue although its members have places.

use super::checker::Checker;
use super::convert::{Conversion, Rank};
use super::function::Origin;
use crate::ast::RefQualifier;
use crate::hir::{CastKind, Expr, ExprKind, FuncId, QualTy, TyKind};

impl Checker<'_> {
    /// Whether a place is an xvalue.
    pub(super) fn is_xvalue(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Field(base, record, index) => {
                let is_reference = self.types.record(*record).fields[*index as usize].is_reference;
                !is_reference && self.is_xvalue(base)
            }
            ExprKind::Element(base, _) | ExprKind::Swizzle(base, _) => base.is_place && self.is_xvalue(base),
            ExprKind::Deref(pointer) => match &pointer.kind {
                ExprKind::Cast(CastKind::Xvalue, _) => true,
                ExprKind::Call(func, _) => self.gives_xvalue(*func),
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether an expression is a value or an xvalue.
    pub(super) fn is_rvalue(&self, expr: &Expr) -> bool {
        !expr.is_place || self.is_temporary(expr) || self.is_xvalue(expr)
    }

    fn is_temporary(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Materialize(_) => true,
            ExprKind::Field(base, ..) => self.is_temporary(base),
            _ => false,
        }
    }

    fn gives_xvalue(&self, func: FuncId) -> bool {
        self.functions
            .inst(func)
            .ret
            .is_some_and(|ret| matches!(self.types.kind(ret.ty), TyKind::Reference { rvalue: true, .. }))
    }

    /// The place as an xvalue.
    pub(super) fn as_xvalue(&mut self, place: Expr) -> Expr {
        let (ty, span) = (place.ty, place.span);
        let pointer = self.types.pointer(ty);
        let address = Expr::value(ExprKind::AddressOf(Box::new(place)), pointer, span);
        let cast = Expr::value(ExprKind::Cast(CastKind::Xvalue, Box::new(address)), pointer, span);
        Expr::place(ExprKind::Deref(Box::new(cast)), ty, span)
    }

    /// The conversion of an object by a method's reference qualifier: `None` if the method does not take it.
    pub(super) fn qualified_object(&self, func: FuncId, object: &Expr, this: QualTy) -> Option<Conversion> {
        let exact = Conversion::EXACT;
        let Origin::Decl(decl) = self.functions.inst(func).origin else { return Some(exact) };
        let is_rvalue = self.is_rvalue(object);
        match self.functions.decl(decl).ast.method.reference {
            None => Some(exact),
            Some(RefQualifier::Lvalue) if !is_rvalue => Some(exact),
            // A const lvalue reference binds to rvalues, but not as well as an rvalue reference.
            Some(RefQualifier::Lvalue) => {
                (this.is_const && !this.is_volatile).then_some(Conversion::new(Rank::Exact, 2))
            }
            Some(RefQualifier::Rvalue) => is_rvalue.then_some(exact),
        }
    }
}
