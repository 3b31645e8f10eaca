//! Functions that the compiler itself has (`__builtin_…`) and the library does not declare.

use super::call::Arg;
use super::checker::Checker;
use crate::ast;
use crate::hir::{Expr, ExprKind, QualTy, Ty, TyKind};
use crate::token::Name;
use anymetal_diagnostics::Span;

impl<'a> Checker<'a> {
    /// A call of a compiler builtin; `None` if there is none of that name.
    pub(super) fn compiler_builtin(&mut self, name: Name, args: &[Arg<'a>], span: Span) -> Option<Expr> {
        match name.as_str() {
            "__builtin_assume" => Some(self.assume(args, span)),
            _ => None,
        }
    }

    /// `__builtin_assume(condition)`: the condition is checked and never evaluated, as in Clang, which drops
    /// it when it has side effects. Nothing is made of it.
    fn assume(&mut self, args: &[Arg<'a>], span: Span) -> Expr {
        let [Arg::Expr(condition)] = args else {
            self.error("argument-count", span, "`__builtin_assume` takes one condition");
            return self.poison(span);
        };
        let condition = self.condition(condition.clone());
        if condition.ty.ty.is_error() {
            return condition;
        }
        Expr::value(ExprKind::Zero, Ty::VOID, span)
    }

    /// `__builtin_bit_cast(T, e)`: the bytes of `e` as a `T`.
    pub(super) fn bit_cast_expr(&mut self, ty: &'a ast::Type, inner: &'a ast::Expr, span: Span) -> Expr {
        let to = self.resolve_type(ty).ty;
        let value = self.expr(inner);
        if to.is_error() || value.ty.ty.is_error() || !self.complete_type(to, span) {
            return self.poison(span);
        }
        let is_object = |ty: Ty| {
            !matches!(
                self.types.kind(ty),
                TyKind::Void | TyKind::Nullptr | TyKind::Function { .. } | TyKind::Reference { .. }
            )
        };
        let from = value.ty.ty;
        if !is_object(to) || !is_object(from) || self.types.as_array(to).is_some() {
            let (from, to) = (self.show(value.ty), self.types.display(to));
            self.error("bad-cast", span, format!("the bits of a `{from}` cannot become a `{to}`"));
            return self.poison(span);
        }
        let (have, want) = (self.types.layout(from).size, self.types.layout(to).size);
        if have != want {
            let (from, to) = (self.show(value.ty.unqualified()), self.types.display(to));
            let message = format!("`{from}` has {have} bytes, but `{to}` has {want}");
            self.error("bad-cast", span, message);
            return self.poison(span);
        }
        let value = self.values().whole_value(value);
        self.reinterpreted(value, to, span)
    }

    /// The bytes of a value as another type, by way of a variable that is aligned for both.
    fn reinterpreted(&mut self, value: Expr, to: Ty, span: Span) -> Expr {
        let from = value.ty.ty;
        if from == to {
            return value;
        }
        if self.types.layout(from).align >= self.types.layout(to).align {
            let place = self.materialize(value);
            let place = self.values().place_as(place, to, span);
            return self.values().whole_value(place);
        }
        let local = self.function.new_local(Name::EMPTY, to, span);
        let object = Expr::place(ExprKind::Local(local), QualTy::plain(to), span);
        let target = self.values().place_as(object.clone(), from, span);
        let store = ExprKind::Assign(Box::new(target), Box::new(value));
        let store = Expr::place(store, QualTy::plain(from), span);
        let load = Expr::value(ExprKind::Load(Box::new(object)), to, span);
        let body = Expr::value(ExprKind::Comma(Box::new(store), Box::new(load)), to, span);
        Expr::value(ExprKind::Let(local, None, Box::new(body)), to, span)
    }
}
