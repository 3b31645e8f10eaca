//! Initialisation: what a declaration's initialiser, or its absence, makes of a type.
//!
//! This file has the entry for `= e`, `(…)` and `{…}`; `list` reads braces, `aggregate` fills the
//! members of a class without constructors, `default` is for objects that nothing initialises,
//! `constructor` is for what a constructor does before its body, and `synthesised` and `inherited` are for
//! functions that no class declares.

mod aggregate;
mod constructor;
mod default;
mod inherited;
mod list;
mod synthesised;

pub(super) use aggregate::{aggregate_from_args, is_aggregate};
pub(super) use constructor::{check_field_initialiser, constructor_prologue};
pub(super) use default::{
    check_default_access, default_constructed, default_init, is_default_deleted, report_no_default,
    value_init,
};
pub(super) use inherited::{constructed, inherit_constructors, own_constructors};
pub(super) use list::{ListForm, list_conversion, list_value};
pub(super) use synthesised::{
    Memberwise, Synthesised, assigned, assigned_parts, copied_array, copied_parts, copies_by_code,
    synthesise, synthesised_body,
};

use super::call::Arg;
use super::checker::Checker;
use super::construct::ConstructArgs;
use super::diagnostics::Diagnostics;
use super::expr::scalar_const;
use super::special::Deletion;
use super::{call, construct, convert, expr, lint};
use crate::ast::{self, ExprKind as Ast, Initialiser};
use crate::hir::{Expr, ExprKind, FuncId, QualTy, ScalarTy, Ty, Types};
use anymetal_diagnostics::Span;

/// What default initialisation of a type does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DefaultInit {
    /// Nothing.
    Trivial,
    /// Calls this constructor.
    Constructor(FuncId),
    /// There is no default constructor.
    Impossible,
    /// There is one, but it is deleted.
    Deleted(Deletion),
}

/// The initial value that an initialiser gives for a type (the pointer, for a reference).
pub(super) fn initial_value<'a>(cx: &mut Checker<'a>, ty: QualTy, init: &'a Initialiser, span: Span) -> Expr {
    let to = initialised_type(&cx.types, ty);
    match init {
        Initialiser::Assign(expr) => match &expr.kind {
            Ast::InitList(clauses) => list::list_value(cx, clauses, to, ListForm::Copy, expr.span),
            _ => {
                if let Some(value) = characters(&cx.types, &mut cx.diagnostics, expr, ty.ty) {
                    return value;
                }
                if cx.types.pointed_function(to.ty).is_some() {
                    return match call::check_arg(cx, expr) {
                        Arg::Expr(value) => convert::to_type(cx, value, to, "in this initialiser"),
                        functions => call::convert_arg(cx, functions, to),
                    };
                }
                let value = expr::check(cx, expr);
                if cx.types.as_array(ty.ty).is_some() && value.ty.ty == ty.ty {
                    return synthesised::copied_array(cx, value);
                }
                lint::conversion(cx, expr, &value, to.ty);
                convert::to_type(cx, value, to, "in this initialiser")
            }
        },
        Initialiser::Paren(args) => {
            if let [ast::Expr { kind: Ast::InitList(_), span: at }] = args.as_slice()
                && (cx.types.referent(ty.ty).is_some() || cx.types.scalar_repr(ty.ty).is_some())
            {
                let shown = cx.show(ty);
                let message =
                    format!("cannot initialize type `{shown}` with a parenthesized initializer list");
                cx.error("init-list", *at, message);
                return cx.poison(span);
            }
            let Some(args) = call::check_args(cx, args) else { return cx.poison(span) };
            if cx.types.referent(ty.ty).is_some() {
                return bound_argument(cx, args, to, span);
            }
            construct::object(cx, to, ConstructArgs::Paren(args), span)
        }
        Initialiser::Brace(clauses) => {
            if let (Some(_), [only]) = (cx.types.referent(ty.ty), clauses.as_slice())
                && !matches!(only.value.kind, Ast::InitList(_))
            {
                let value = expr::check(cx, &only.value);
                return convert::to_type(cx, value, to, "in this initialiser");
            }
            list::list_value(cx, clauses, to, ListForm::Direct, span)
        }
    }
}

/// What a string literal makes of an array of characters, its end included where there is room; `None`
/// for other expressions and types.
fn characters(types: &Types, diagnostics: &mut Diagnostics, expr: &ast::Expr, ty: Ty) -> Option<Expr> {
    let Ast::Str(text) = expr.kind else {
        // Other expressions initialise no array of characters.
        return None;
    };
    let (elem, len) = types.as_array(ty)?;
    let scalar = types.as_scalar(elem).filter(|s| matches!(s, ScalarTy::I8 | ScalarTy::U8))?;
    let bytes = text.as_str().as_bytes();
    let span = expr.span;
    if bytes.len() as u64 > len {
        let message = format!("a text of {} characters does not fit `{}`", bytes.len(), types.display(ty));
        diagnostics.error("excess-initialisers", span, message);
        return Some(diagnostics.poison(span));
    }
    let values = bytes.iter().map(|&byte| scalar_const(scalar, u64::from(byte), span)).collect();
    Some(Expr::value(ExprKind::Array(values), ty, span))
}

/// The type an initialiser is converted to: qualifiers count for what a reference refers to only.
pub(super) fn initialised_type(types: &Types, declared: QualTy) -> QualTy {
    if types.referent(declared.ty).is_some() { declared } else { declared.unqualified() }
}

/// What `(argument)` gives for a reference.
fn bound_argument<'a>(cx: &mut Checker<'a>, args: Vec<Arg<'a>>, to: QualTy, span: Span) -> Expr {
    match args.into_iter().next() {
        Some(arg) => call::convert_arg(cx, arg, to),
        None => cx.poison(span),
    }
}
