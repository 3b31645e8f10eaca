//! Functions that the compiler itself has (`__builtin_…`) and the library does not declare.

use super::call::Arg;
use super::checker::Checker;
use super::{expr, record, resolve_type};
use crate::ast;
use crate::hir::{Expr, ExprKind, QualTy, Ty, TyKind};
use crate::token::Name;
use anymetal_diagnostics::Span;

/// A call of a compiler builtin; `None` if there is none of that name.
pub(super) fn call<'a>(cx: &mut Checker<'a>, name: Name, args: &[Arg<'a>], span: Span) -> Option<Expr> {
    match name.as_str() {
        "__builtin_assume" => Some(assume(cx, args, span)),
        "__builtin_unreachable" if args.is_empty() => Some(Expr::value(ExprKind::Zero, Ty::VOID, span)),
        _ => None,
    }
}

/// `__builtin_assume(condition)`: the condition is checked and never evaluated, as in Clang, which drops
/// it when it has side effects. Nothing is made of it.
fn assume<'a>(cx: &mut Checker<'a>, args: &[Arg<'a>], span: Span) -> Expr {
    let [Arg::Expr(condition)] = args else {
        cx.error("argument-count", span, "`__builtin_assume` takes one condition");
        return cx.poison(span);
    };
    let condition = expr::condition(cx, condition.clone());
    if condition.ty.ty.is_error() {
        return condition;
    }
    Expr::value(ExprKind::Zero, Ty::VOID, span)
}

/// `__builtin_bit_cast(T, e)`: the bytes of `e` as a `T`.
pub(super) fn check_bit_cast<'a>(
    cx: &mut Checker<'a>,
    ty: &'a ast::Type,
    inner: &'a ast::Expr,
    span: Span,
) -> Expr {
    let to = resolve_type::resolve(cx, ty).ty;
    let value = expr::check(cx, inner);
    if to.is_error() || value.ty.ty.is_error() || !record::complete_type(cx, to, span) {
        return cx.poison(span);
    }
    let is_object = |ty: Ty| {
        !matches!(
            cx.types.kind(ty),
            TyKind::Void | TyKind::Nullptr | TyKind::Function { .. } | TyKind::Reference { .. }
        )
    };
    let from = value.ty.ty;
    if !is_object(to) || !is_object(from) || cx.types.as_array(to).is_some() {
        let (from, to) = (cx.show(value.ty), cx.types.display(to));
        cx.error("bad-cast", span, format!("the bits of a `{from}` cannot become a `{to}`"));
        return cx.poison(span);
    }
    let (have, want) = (cx.types.layout(from).size, cx.types.layout(to).size);
    if have != want {
        let (from, to) = (cx.show(value.ty.unqualified()), cx.types.display(to));
        let message = format!("`{from}` has {have} bytes, but `{to}` has {want}");
        cx.error("bad-cast", span, message);
        return cx.poison(span);
    }
    let value = cx.values().whole_value(value);
    reinterpreted(cx, value, to, span)
}

/// The bytes of a value as another type, by way of a variable that is aligned for both.
fn reinterpreted(cx: &mut Checker<'_>, value: Expr, to: Ty, span: Span) -> Expr {
    let from = value.ty.ty;
    if from == to {
        return value;
    }
    if cx.types.layout(from).align >= cx.types.layout(to).align {
        let place = expr::materialize(value);
        let place = cx.values().place_as(place, to, span);
        return cx.values().whole_value(place);
    }
    let local = cx.function.new_local(Name::EMPTY, to, span);
    let object = Expr::place(ExprKind::Local(local), QualTy::plain(to), span);
    let target = cx.values().place_as(object.clone(), from, span);
    let store = ExprKind::Assign(Box::new(target), Box::new(value));
    let store = Expr::place(store, QualTy::plain(from), span);
    let load = Expr::value(ExprKind::Load(Box::new(object)), to, span);
    let body = Expr::value(ExprKind::Comma(Box::new(store), Box::new(load)), to, span);
    Expr::value(ExprKind::Let(local, None, Box::new(body)), to, span)
}
