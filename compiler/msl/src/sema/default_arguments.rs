//! Default arguments of the declarations of a function (C++14 [dcl.fct.default]): each parameter has at most
//! one, and all parameters after the first default argument have one.

use super::checker::Checker;
use super::entities::FnDeclId;
use super::{function, overload};
use crate::ast;
use crate::hir::QualTy;
use anymetal_diagnostics::{Diagnostic, Span};
use std::rc::Rc;

/// A function with the places of the default arguments that its declarations so far have.
struct Known {
    params: Rc<[QualTy]>,
    defaults: Vec<Option<Span>>,
}

/// Checks the declarations, in order, of the functions of one name in a namespace.
pub(super) fn check(cx: &mut Checker<'_>, decls: &[FnDeclId]) {
    if !decls.iter().any(|&decl| has_defaults(cx.functions.decl(decl).ast)) {
        return;
    }
    let mut known: Vec<Known> = Vec::new();
    for &decl in decls {
        let ast = cx.functions.decl(decl).ast;
        let func = cx.quietly(|cx| function::instantiate(cx, decl, Rc::from([]), ast.span));
        let Ok(Some(func)) = func else { continue };
        let params = cx.functions.inst(func).params.clone();
        let same = known.iter().position(|other| function::are_same_params(&other.params, &params));
        let mut defaults = match same {
            Some(at) => known.swap_remove(at).defaults,
            None => vec![None; ast.params.len()],
        };
        for (param, default) in ast.params.iter().zip(&mut defaults) {
            match (&param.default, &*default) {
                (Some(_), Some(earlier)) => {
                    let message = "the parameter has a default argument already";
                    let diagnostic = Diagnostic::error("redefinition", param.span, message);
                    cx.report(diagnostic.with_note(*earlier, "previously declared here"));
                }
                (Some(_), None) => *default = Some(param.span),
                (None, _) => {}
            }
        }
        check_order(cx, ast, |n| defaults.get(n).is_some_and(Option::is_some));
        known.push(Known { params, defaults });
    }
}

/// Checks a function that has one declaration with default arguments only: a member, or a template.
pub(super) fn check_single(cx: &mut Checker<'_>, ast: &ast::Function) {
    if has_defaults(ast) {
        check_order(cx, ast, |n| ast.params[n].default.is_some());
    }
}

fn has_defaults(ast: &ast::Function) -> bool {
    ast.params.iter().any(|param| param.default.is_some())
}

fn check_order(cx: &mut Checker<'_>, ast: &ast::Function, has_default: impl Fn(usize) -> bool) {
    let after_default = (0..ast.params.len()).skip_while(|&n| !has_default(n));
    for n in after_default {
        let param = &ast.params[n];
        if !has_default(n) && !overload::is_pack(param) {
            let message = "a parameter after one with a default argument needs one too";
            cx.error("default-argument", param.span, message);
        }
    }
}
