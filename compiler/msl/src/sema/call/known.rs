//! Calls of a function that is known, or of a set to choose from, with checked arguments.
//!
//! Invariant: the call that is made has a value for every parameter, of exactly its type.

use super::{Arg, arguments};
use crate::hir::{Expr, ExprKind, FuncId, QualTy, Ty};
use crate::sema::checker::Checker;
use crate::sema::entities::FnDeclId;
use crate::sema::expr::after;
use crate::sema::overload::Call;
use crate::sema::template_args::ExplicitArg;
use crate::sema::{
    ambiguity, convert, expr, function, function_pointer, overload, record, resolve_type, rules, special,
};
use anymetal_diagnostics::Span;

/// Resolves among `decls` and makes the call.
pub(in crate::sema) fn overloaded<'a>(
    cx: &mut Checker<'a>,
    name: &str,
    decls: &[FnDeclId],
    explicit: Option<Vec<ExplicitArg<'a>>>,
    object: Option<Expr>,
    args: Vec<Arg<'a>>,
    span: Span,
) -> Expr {
    if let Some(explicit) = &explicit
        && explicit.iter().any(|arg| matches!(arg, ExplicitArg::Error | ExplicitArg::DependentValue))
    {
        return cx.poison(span);
    }
    let call =
        Call { name, decls, explicit: explicit.as_deref(), object: object.as_ref(), args: &args, span };
    let Some(func) = overload::resolve(cx, &call) else { return cx.poison(span) };
    known(cx, func, object, args, span)
}

/// A call of a known function: converts the arguments and adds the default ones.
pub(in crate::sema) fn known<'a>(
    cx: &mut Checker<'a>,
    func: FuncId,
    object: Option<Expr>,
    args: Vec<Arg<'a>>,
    span: Span,
) -> Expr {
    let params = cx.functions.inst(func).params.clone();
    let is_variadic = resolve_type::form_of(&cx.functions, func).is_variadic;
    if is_variadic && cx.function.unevaluated == 0 {
        let message = "a function with `...` can only be called in an operand that is not evaluated";
        cx.error("variadic-function", span, message);
        return cx.poison(span);
    }
    if args.len() > params.len() && !is_variadic {
        let message = format!(
            "`{}` takes {} arguments, not {}",
            cx.functions.inst(func).name,
            params.len(),
            args.len()
        );
        cx.error("argument-count", span, message);
        return cx.poison(span);
    }
    let mut values: Vec<Expr> = args
        .into_iter()
        .zip(params.iter())
        .map(|(arg, &param)| arguments::convert_arg(cx, arg, param))
        .collect();
    arguments::default_arguments(cx, func, &mut values, span);
    if values.len() < params.len() || values.iter().any(|value| value.ty.ty.is_error()) {
        return cx.poison(span);
    }
    rules::atomics::check_call(cx, func, &values, span);
    rules::uniform::passed(cx, func, &values);
    function(cx, func, object, values, span)
}

/// A call of a known function with an object and arguments that fit.
pub(in crate::sema) fn function(
    cx: &mut Checker<'_>,
    func: FuncId,
    object: Option<Expr>,
    args: Vec<Expr>,
    span: Span,
) -> Expr {
    if !special::check_usable(cx, func, object.as_ref(), span) {
        return cx.poison(span);
    }
    let mut values = Vec::with_capacity(args.len() + 1);
    let mut unused = None;
    match cx.functions.inst(func).this {
        Some(this) => {
            let Some(object) = object else { return cx.poison(span) };
            values.push(bind_object(cx, object, this));
        }
        // Of a static method.
        None => unused = object,
    }
    values.extend(args);
    let ret = function::return_type(cx, func, span);
    if ret.ty.is_error() {
        return cx.poison(span);
    }
    // A class that is passed or returned is complete (C++14 [expr.call.4]).
    let passed = cx.functions.inst(func).params.iter().chain([&ret]).map(|ty| ty.ty);
    let classes: Vec<Ty> = passed.filter(|&ty| cx.types.as_record(ty).is_some()).collect();
    if cx.function.unevaluated == 0 && !classes.into_iter().all(|ty| record::complete_type(cx, ty, span)) {
        return cx.poison(span);
    }
    let call = match cx.types.referent(ret.ty) {
        Some(to) => {
            let pointer = cx.types.pointer(to);
            let call = Expr::value(ExprKind::Call(func, values), pointer, span);
            Expr::place(ExprKind::Deref(Box::new(call)), to, span)
        }
        None => Expr::value(ExprKind::Call(func, values), ret.ty, span),
    };
    match unused {
        Some(object) => after(object, call),
        None => call,
    }
}

/// The pointer to pass as `this`.
fn bind_object(cx: &mut Checker<'_>, object: Expr, this: QualTy) -> Expr {
    let span = object.span;
    let pointer = cx.types.pointer(this);
    let place = if object.is_place && object.ty.space == this.space {
        object
    } else {
        let value = cx.values().rvalue(object);
        expr::materialize(value)
    };
    let place = convert::upcast_place(cx, place, this.ty);
    Expr::value(ExprKind::AddressOf(Box::new(place)), pointer, span)
}

/// Calls a value: a closure, a functor.
pub(super) fn call_value<'a>(cx: &mut Checker<'a>, function: Expr, args: Vec<Arg<'a>>, span: Span) -> Expr {
    if function.ty.ty.is_error() {
        return function;
    }
    let key = cx.names.call_operator;
    if let Some(record) = cx.types.as_record(function.ty.ty)
        && let Some(found) = ambiguity::member_functions(cx, record, key, span).transpose()
    {
        let Ok(decls) = found else { return cx.poison(span) };
        return overloaded(cx, "operator()", &decls, None, Some(function), args, span);
    }
    if cx.types.pointed_function(function.ty.ty).is_some() {
        return function_pointer::call(cx, function, args, span);
    }
    let message = format!("a value of type `{}` cannot be called", cx.show(function.ty));
    cx.error("not-callable", span, message);
    cx.poison(span)
}
