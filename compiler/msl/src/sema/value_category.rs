//! Value categories: which places are xvalues, and which objects a reference-qualified method takes.
//!
//! A place is an lvalue unless it was made by a function that returns `T&&`, by a cast to `T&&`, or is part
//! of such an object. A temporary is an rvalue although its members have places.

use super::convert::{Conversion, Rank};
use super::function::{Functions, Origin};
use crate::ast::RefQualifier;
use crate::hir::{CastKind, Expr, ExprKind, FuncId, QualTy, TyKind, Types};

impl Functions<'_> {
    /// Whether a place is an xvalue.
    pub(super) fn is_xvalue(&self, types: &Types, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Field(base, record, index) => {
                let is_reference = types.record(*record).fields[*index as usize].is_reference;
                !is_reference && self.is_xvalue(types, base)
            }
            ExprKind::Element(base, _) | ExprKind::Swizzle(base, _) => {
                base.is_place && self.is_xvalue(types, base)
            }
            ExprKind::Deref(pointer) => match &pointer.kind {
                ExprKind::Cast(CastKind::Xvalue, _) => true,
                ExprKind::Call(func, _) => self.returns_xvalue(types, *func),
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether an expression is a value or an xvalue.
    pub(super) fn is_rvalue(&self, types: &Types, expr: &Expr) -> bool {
        !expr.is_place || is_temporary(expr) || self.is_xvalue(types, expr)
    }

    fn returns_xvalue(&self, types: &Types, func: FuncId) -> bool {
        self.inst(func)
            .ret
            .is_some_and(|ret| matches!(types.kind(ret.ty), TyKind::Reference { rvalue: true, .. }))
    }

    /// The conversion of an object by a method's reference qualifier: `None` if the method does not take it.
    pub(super) fn qualified_object(
        &self,
        types: &Types,
        func: FuncId,
        object: &Expr,
        this: QualTy,
    ) -> Option<Conversion> {
        let exact = Conversion::EXACT;
        // Only a declaration has a reference qualifier.
        let Origin::Decl(decl) = self.inst(func).origin else { return Some(exact) };
        let is_rvalue = self.is_rvalue(types, object);
        match self.decl(decl).ast.method.reference {
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

/// Whether an expression is a temporary or part of one.
fn is_temporary(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Materialize(_) => true,
        ExprKind::Field(base, ..) => is_temporary(base),
        _ => false,
    }
}
