//! Calls: what is called, with which object and arguments.
//!
//! From the syntax of the callee to a set of declarations, which [`super::overload`] chooses from;
//! `arguments` are checked before it is known what they are for, and converted (`known`) once it is.

mod arguments;
mod associated;
mod known;
mod method;

pub(super) use arguments::{
    check_arg, check_args, check_default_arguments, clause_args, convert_arg, default_arguments, function_for,
};
pub(super) use associated::{argument_dependent, metal_namespace};
pub(super) use known::{function, known, overloaded};
pub(super) use method::{member_target, this_object};

use super::checker::Checker;
use super::construct::ConstructArgs;
use super::entities::{FnDeclId, Found, TArg};
use super::path::{Miss, Target};
use super::{
    assign, builtin_call, class_deduction, compiler_builtin, construct, declaration_order, expr, member,
    path, resolve_type, template_args,
};
use crate::ast::{self, ExprKind as AstKind, InitClause, TemplateArg};
use crate::hir::Expr;
use crate::token::Name;
use anymetal_diagnostics::Span;
use std::rc::Rc;

/// An argument before it is known what parameter it is for.
#[derive(Clone, Debug)]
pub(super) enum Arg<'a> {
    Expr(Expr),
    /// `{…}`
    List(&'a [InitClause], Span),
    /// A name of functions.
    Functions(Rc<[FnDeclId]>, Option<&'a [TemplateArg]>, Span),
}

/// `callee(args)`.
pub(super) fn check<'a>(
    cx: &mut Checker<'a>,
    callee: &'a ast::Expr,
    args: &'a [ast::Expr],
    span: Span,
) -> Expr {
    match &callee.kind {
        AstKind::Path(path) => path_call(cx, path, args, span),
        AstKind::Member { base, arrow, member } => method::member_call(cx, base, *arrow, member, args, span),
        AstKind::DecltypePath(inner, path) => {
            let outer = resolve_type::decltype(cx, inner);
            match path::resolve_in_type(cx, outer, &path.segments) {
                Ok(target) => target_call(cx, target, path, args, span),
                Err(miss) => {
                    path::report_miss(&cx.scopes, &cx.records, &mut cx.diagnostics, miss, "name");
                    cx.poison(span)
                }
            }
        }
        AstKind::Paren(_)
            if let Some(Arg::Functions(decls, explicit, _)) = arguments::functions_named(cx, callee) =>
        {
            parenthesised_call(cx, &decls, explicit, args, span)
        }
        _ => {
            let function = expr::check(cx, callee);
            let Some(args) = arguments::check_args(cx, args) else { return cx.poison(span) };
            known::call_value(cx, function, args, span)
        }
    }
}

/// `(f)(args)`: a name in parentheses is not looked up by the arguments (C++14 [basic.lookup.argdep.1]).
fn parenthesised_call<'a>(
    cx: &mut Checker<'a>,
    decls: &[FnDeclId],
    explicit: Option<&'a [TemplateArg]>,
    args: &'a [ast::Expr],
    span: Span,
) -> Expr {
    let explicit = explicit.map(|args| template_args::explicit(cx, args));
    let Some(args) = arguments::check_args(cx, args) else { return cx.poison(span) };
    let is_member = decls.iter().any(|&decl| cx.functions.decl(decl).owner.is_some());
    let object = if is_member { method::this_object(cx, span) } else { None };
    let name = decls.first().and_then(|&decl| cx.functions.decl(decl).ast.name.ordinary());
    let name = name.map_or("", |name| name.as_str());
    known::overloaded(cx, name, decls, explicit, object, args, span)
}

fn path_call<'a>(cx: &mut Checker<'a>, path: &'a ast::Path, args: &'a [ast::Expr], span: Span) -> Expr {
    if let [only] = path.segments.as_slice()
        && only.name.as_str().starts_with("__am_")
    {
        return builtin_call::call(cx, only, args, span);
    }
    let query = cx.names.is_function_constant_defined;
    if path.segments.last().is_some_and(|last| last.name == query) {
        return builtin_call::function_constant_defined(cx, args, span);
    }
    match path::resolve(cx, path) {
        Ok(target) => target_call(cx, target, path, args, span),
        Err(Miss::Unknown { name, span: at, within: None }) => {
            let Some(args) = arguments::check_args(cx, args) else {
                // Arguments that are not known may lead to a function that is not visible here.
                if cx.diagnostics.in_template() {
                    return cx.poison(span);
                }
                path::report_miss(
                    &cx.scopes,
                    &cx.records,
                    &mut cx.diagnostics,
                    Miss::Unknown { name, span: at, within: None },
                    "function",
                );
                return cx.poison(span);
            };
            if let Some(result) = compiler_builtin::call(cx, name, &args, span) {
                return result;
            }
            let decls = associated::argument_dependent(cx, name, &args, &[]);
            if decls.is_empty() {
                path::report_miss(
                    &cx.scopes,
                    &cx.records,
                    &mut cx.diagnostics,
                    Miss::Unknown { name, span: at, within: None },
                    "function",
                );
                return cx.poison(span);
            }
            known::overloaded(cx, name.as_str(), &decls, None, None, args, span)
        }
        Err(miss) => {
            if names_assignment(path)
                && let Some(object) = method::this_object(cx, span)
            {
                let object = member::as_naming_class(cx, object, path);
                return implicit_assignment(cx, object, args, span);
            }
            path::report_miss(&cx.scopes, &cx.records, &mut cx.diagnostics, miss, "function");
            cx.poison(span)
        }
    }
}

/// Whether a name is `operator=`, which every class has.
fn names_assignment(path: &ast::Path) -> bool {
    let operator = path.segments.last().and_then(|last| last.operator.as_ref());
    matches!(operator, Some(ast::OperatorName::Assign(ast::AssignOp(None))))
}

/// A call of the assignment that a class has without declaring it, by its name.
fn implicit_assignment<'a>(cx: &mut Checker<'a>, object: Expr, args: &'a [ast::Expr], span: Span) -> Expr {
    let [value] = args else {
        let message = format!("`operator=` takes 1 argument, not {}", args.len());
        cx.error("argument-count", span, message);
        return cx.poison(span);
    };
    let value = expr::check(cx, value);
    assign::store_value(cx, object, value, span)
}

/// The part of `*this` that a call of `path` is for; `None` if the path names another class (C++14
/// [class.mfct.non-static.3]).
fn object_for<'a>(cx: &mut Checker<'a>, path: &'a ast::Path, span: Span) -> Option<Expr> {
    let object = method::this_object(cx, span)?;
    let class = cx.types.as_record(object.ty.ty);
    let is_other =
        path.segments.len() > 1 && class.is_some_and(|class| method::names_other_class(cx, class, path));
    (!is_other).then(|| member::as_naming_class(cx, object, path))
}

fn target_call<'a>(
    cx: &mut Checker<'a>,
    target: Target<'a>,
    path: &'a ast::Path,
    args: &'a [ast::Expr],
    span: Span,
) -> Expr {
    if let Some(ty) = path::type_of_found(&cx.records, &target.found) {
        let Some(args) = arguments::check_args(cx, args) else { return cx.poison(span) };
        return construct::object(cx, ty, ConstructArgs::Paren(args), span);
    }
    let name = path.segments.last().map_or(Name::EMPTY, super::path::segment_key);
    match target.found {
        Found::Error => cx.poison(span),
        Found::Functions(decls) => {
            let explicit = target.args.map(|args| template_args::explicit(cx, args));
            let Some(args) = arguments::check_args(cx, args) else { return cx.poison(span) };
            let is_member = decls.iter().any(|&decl| cx.functions.decl(decl).owner.is_some());
            let is_alone = !target.qualified && !is_member;
            let decls = match is_alone {
                true => declaration_order::visible_functions(cx, decls, name, path.span),
                false => decls,
            };
            let mut all = decls.to_vec();
            if is_alone && !cx.functions.is_any_of_block(&decls) {
                let more = associated::argument_dependent(cx, name, &args, &all);
                all.extend(more);
            }
            let object = if is_member { object_for(cx, path, span) } else { None };
            known::overloaded(cx, name.as_str(), &all, explicit, object, args, span)
        }
        Found::TArg(TArg::Function(func)) => {
            let Some(args) = arguments::check_args(cx, args) else { return cx.poison(span) };
            known::known(cx, func, None, args, span)
        }
        Found::ClassTemplate(template) => {
            let Some(args) = arguments::check_args(cx, args) else { return cx.poison(span) };
            class_deduction::construct(cx, &template, args, span)
        }
        _ => {
            let function = expr::target_value(cx, target, path);
            let Some(args) = arguments::check_args(cx, args) else { return cx.poison(span) };
            known::call_value(cx, function, args, span)
        }
    }
}
