//! Arguments: checked for themselves first, converted to parameter types later, completed by defaults.

use super::Arg;
use crate::ast::{self, ExprKind as AstKind, InitClause, UnaryOp};
use crate::hir::{Expr, FuncId, QualTy};
use crate::sema::checker::Checker;
use crate::sema::entities::{FnDeclId, Found};
use crate::sema::function::Origin;
use crate::sema::init::ListForm;
use crate::sema::path::Target;
use crate::sema::scopes::ScopeId;
use crate::sema::{convert, expr, function, function_pointer, init, path};
use anymetal_diagnostics::Span;

/// Checks arguments, expanding packs. `None` if one is in error (all are checked).
pub(in crate::sema) fn check_args<'a>(
    cx: &mut Checker<'a>,
    args: impl IntoIterator<Item = &'a ast::Expr>,
) -> Option<Vec<Arg<'a>>> {
    let mut out = Vec::new();
    for arg in args {
        if let AstKind::PackExpansion(inner) = &arg.kind {
            for n in 0..cx.expansion_of_expr(inner) {
                out.push(cx.with_pack_index(n, |cx| check_arg(cx, inner)));
                if cx.diagnostics.gave_up() {
                    return None;
                }
            }
        } else {
            out.push(check_arg(cx, arg));
        }
    }
    out.iter().all(is_fine).then_some(out)
}

/// The clauses of a braced list as plain arguments. `None` after an error.
pub(in crate::sema) fn clause_args<'a>(
    cx: &mut Checker<'a>,
    clauses: &'a [InitClause],
) -> Option<Vec<Arg<'a>>> {
    check_args(cx, clauses.iter().map(|clause| &clause.value))
}

pub(in crate::sema) fn check_arg<'a>(cx: &mut Checker<'a>, arg: &'a ast::Expr) -> Arg<'a> {
    match &arg.kind {
        AstKind::InitList(clauses) => Arg::List(clauses, arg.span),
        AstKind::Path(path) => match path::resolve(cx, path) {
            Ok(Target { found: Found::Functions(decls), args, .. }) => Arg::Functions(decls, args, path.span),
            Ok(target) => Arg::Expr(expr::target_value(cx, target, path)),
            Err(miss) => Arg::Expr(expr::missed(cx, miss, arg.span)),
        },
        AstKind::Paren(inner) | AstKind::Unary(UnaryOp::AddressOf, inner) => {
            match functions_named(cx, inner) {
                Some(functions) => functions,
                None => Arg::Expr(expr::check(cx, arg)),
            }
        }
        _ => Arg::Expr(expr::check(cx, arg)),
    }
}

/// The functions that an expression names: with `&` before it they are the same.
pub(super) fn functions_named<'a>(cx: &mut Checker<'a>, expr: &'a ast::Expr) -> Option<Arg<'a>> {
    match &expr.kind {
        AstKind::Paren(inner) | AstKind::Unary(UnaryOp::AddressOf, inner) => functions_named(cx, inner),
        // What is wrong with it is told when it is checked as an expression.
        AstKind::Path(path) => match cx.quietly(|cx| path::resolve(cx, path)) {
            Ok(Ok(Target { found: Found::Functions(decls), args, .. })) => {
                Some(Arg::Functions(decls, args, path.span))
            }
            _ => None,
        },
        _ => None,
    }
}

/// The function that a name stands for where a pointer to a function is expected; `None` for other
/// expressions.
pub(in crate::sema) fn function_for<'a>(
    cx: &mut Checker<'a>,
    expr: &'a ast::Expr,
    to: QualTy,
) -> Option<Expr> {
    cx.types.pointed_function(to.ty)?;
    functions_named(cx, expr).map(|named| convert_arg(cx, named, to))
}

/// Converts an argument to its parameter's type.
pub(in crate::sema) fn convert_arg<'a>(cx: &mut Checker<'a>, arg: Arg<'a>, to: QualTy) -> Expr {
    match arg {
        Arg::Expr(expr) => convert::to_type(cx, expr, to, "for this argument"),
        Arg::List(clauses, span) => init::list_value(cx, clauses, to, ListForm::Copy, span),
        Arg::Functions(decls, args, span) => {
            function_pointer::function_of_pointer(cx, &decls, args, to, span)
        }
    }
}

/// Adds default arguments for the parameters that have no argument yet.
pub(in crate::sema) fn default_arguments(
    cx: &mut Checker<'_>,
    func: FuncId,
    values: &mut Vec<Expr>,
    span: Span,
) {
    // Functions that no source declares have no default arguments, and are called with all arguments.
    let Origin::Decl(decl) = cx.functions.inst(func).origin else { return };
    let params = cx.functions.inst(func).params.clone();
    let ast = cx.functions.decl(decl).ast;
    let scope = cx.functions.inst(func).scope;
    while values.len() < params.len() {
        let n = values.len();
        let Some(default) = ast.params.get(n).and_then(|param| param.default.as_ref()) else {
            let message =
                format!("`{}` takes {} arguments, not {n}", cx.functions.inst(func).name, params.len());
            cx.error("argument-count", span, message);
            return;
        };
        if cx.functions.defaults.contains(&(decl, n)) {
            cx.error("recursive-default", default.span, "a default argument needs its own value");
            return;
        }
        if is_declared_later(cx, decl, default.span) {
            let name = cx.functions.inst(func).name.clone();
            let message =
                format!("use of default argument to function `{name}` that is declared later in the class");
            cx.error("default-argument", span, message);
            return;
        }
        cx.functions.defaults.push((decl, n));
        let value = cx.in_scope(scope, |cx| {
            let arg = check_arg(cx, default);
            convert_arg(cx, arg, params[n])
        });
        cx.functions.defaults.pop();
        values.push(value);
    }
}

/// Whether a default argument of a member is needed by one before it: those of a class are completed in their
/// order (C++14 [class.mem.6]).
fn is_declared_later(cx: &Checker<'_>, decl: FnDeclId, default: Span) -> bool {
    let Some(&(outer, n)) = cx.functions.defaults.last() else { return false };
    let [outer_fn, inner] = [outer, decl].map(|decl| cx.functions.decl(decl));
    let outer_default = outer_fn.ast.params.get(n).and_then(|param| param.default.as_ref());
    outer_fn.owner.is_some()
        && inner.owner.is_some()
        && outer_fn.template.is_none()
        && outer_default.is_some_and(|outer| outer.span.file == default.file && outer.span.lo < default.lo)
}

/// Checks the default arguments of a function that is no template, which calls may never need, in the scope
/// of its declaration.
pub(in crate::sema) fn check_default_arguments(cx: &mut Checker<'_>, func: FuncId, scope: ScopeId) {
    let Origin::Decl(decl) = cx.functions.inst(func).origin else { return };
    let params = cx.functions.inst(func).params.clone();
    let ast = cx.functions.decl(decl).ast;
    for (n, (param, &ty)) in ast.params.iter().zip(params.iter()).enumerate() {
        if let Some(default) = &param.default {
            cx.functions.defaults.push((decl, n));
            cx.in_scope(scope, |cx| {
                // The parameters hide other names, and have no values here.
                function::with_param_names(cx, ast, &params, |cx| {
                    let arg = check_arg(cx, default);
                    convert_arg(cx, arg, ty)
                })
            });
            cx.functions.defaults.pop();
        }
    }
}

fn is_fine(arg: &Arg<'_>) -> bool {
    !matches!(arg, Arg::Expr(expr) if expr.ty.ty.is_error())
}
