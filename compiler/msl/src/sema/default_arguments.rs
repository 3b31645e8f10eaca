//! Default arguments of the declarations of a function (C++14 [dcl.fct.default]): each parameter has at most
//! one, and all parameters after the first default argument have one.

use super::checker::Checker;
use super::entities::{FnDeclId, Found};
use super::fn_context::Returns;
use super::scopes::ScopeId;
use super::table::{ItemId, function_key};
use super::{call, function, overload, path, record};
use crate::ast;
use crate::hir::{QualTy, RecordId, Ty};
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
                (Some(_), Some(earlier)) => report_again(cx, param.span, *earlier),
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

/// Checks the default arguments of a function that is declared in a class and defined outside: a template
/// gets none there, and no parameter gets a second one (C++14 [dcl.fct.default.6]).
pub(super) fn check_outside<'a>(
    cx: &mut Checker<'a>,
    id: ItemId,
    ast: &'a ast::Function,
    template: Option<&'a ast::TemplateParams>,
) {
    let Some(first) = ast.params.iter().find(|param| param.default.is_some()) else { return };
    if template.is_some_and(|template| !template.params.is_empty()) {
        let message = "default arguments cannot be added to an out-of-line definition of a template's member";
        return cx.error("default-argument", first.span, message);
    }
    let (scope, path) = (cx.scopes.of_item(id), ast.scope.as_ref().expect("it is declared in a class"));
    // A namespace, or a class in error.
    let Some(class) = path::class_of_path(cx, path, scope) else { return };
    record::declare_members(cx, class);
    let inner = cx.records.get(class).scope;
    let signature = cx.quietly(|cx| cx.in_scope(inner, |cx| function::signature(cx, ast)));
    let Ok(Some((params, _))) = signature else { return };
    if matches!(ast.name, ast::FunctionName::Constructor(_)) {
        return refuse_special(cx, class, ast, &params);
    }
    check_values(cx, ast, &params, inner);
    let Some(declared) = declaration_of(cx, class, ast, &params) else { return };
    for (param, earlier) in ast.params.iter().zip(&declared.params) {
        if param.default.is_some() && earlier.default.is_some() {
            report_again(cx, param.span, earlier.span);
        }
    }
}

/// Checks the default arguments of a member function where it is defined outside of its class, without an
/// object.
fn check_values<'a>(cx: &mut Checker<'a>, ast: &'a ast::Function, params: &Rc<[QualTy]>, class: ScopeId) {
    cx.in_function(Returns::Type(QualTy::plain(Ty::VOID)), |cx| {
        cx.in_scope(class, |cx| {
            function::with_param_names(cx, ast, params, |cx| {
                for (param, &ty) in ast.params.iter().zip(params.iter()) {
                    if let Some(default) = &param.default {
                        let arg = call::check_arg(cx, default);
                        call::convert_arg(cx, arg, ty);
                    }
                }
            });
        });
    });
}

/// Reports default arguments of a function in a block that an earlier declaration of the block has already.
pub(super) fn check_block(cx: &mut Checker<'_>, earlier: &[FnDeclId], decl: FnDeclId) {
    let ast = cx.functions.decl(decl).ast;
    let instance = |cx: &mut Checker<'_>, decl| function::instantiate(cx, decl, Rc::from([]), ast.span);
    let Ok(Some(own)) = cx.quietly(|cx| instance(cx, decl)) else { return };
    for &other in earlier {
        let Ok(Some(func)) = cx.quietly(|cx| instance(cx, other)) else { continue };
        if !function::are_same_params(&cx.functions.inst(func).params, &cx.functions.inst(own).params) {
            continue;
        }
        let other = cx.functions.decl(other).ast;
        for (param, known) in ast.params.iter().zip(&other.params) {
            if param.default.is_some() && known.default.is_some() {
                report_again(cx, param.span, known.span);
            }
        }
    }
}

fn report_again(cx: &mut Checker<'_>, span: Span, earlier: Span) {
    let diagnostic = Diagnostic::error("redefinition", span, "redefinition of default argument");
    cx.report(diagnostic.with_note(earlier, "previously declared here"));
}

/// Reports default arguments outside of the class that make a constructor a default or copy constructor
/// (C++14 [dcl.fct.default.6]).
fn refuse_special(cx: &mut Checker<'_>, class: RecordId, ast: &ast::Function, params: &[QualTy]) {
    let own = cx.records.get(class).ty;
    let is_optional = |param: &ast::Param| param.default.is_some();
    let takes_own =
        params.first().and_then(|param| cx.types.referent(param.ty)).is_some_and(|to| to.ty == own);
    let kind = if ast.params.iter().all(is_optional) {
        "default"
    } else if takes_own && ast.params.iter().skip(1).all(is_optional) {
        "copy"
    } else {
        return;
    };
    let message = format!(
        "the addition of default argument on redeclaration makes this constructor a {kind} constructor"
    );
    let first = ast.params.iter().find(|param| is_optional(param)).expect("there is a default argument");
    cx.error("default-argument", first.span, message);
}

/// The declaration in its class of a member function with these parameters.
fn declaration_of<'a>(
    cx: &mut Checker<'a>,
    class: RecordId,
    ast: &'a ast::Function,
    params: &[QualTy],
) -> Option<&'a ast::Function> {
    let key = function_key(&ast.name)?;
    let Some(Found::Functions(decls)) = record::lookup_in_class(cx, class, key) else { return None };
    decls.iter().find_map(|&decl| {
        let declared = cx.functions.decl(decl);
        let (other, is_template) = (declared.ast, declared.template.is_some());
        if is_template || other.method != ast.method {
            return None;
        }
        let func = cx.quietly(|cx| function::instantiate(cx, decl, Rc::from([]), ast.span)).ok()??;
        function::are_same_params(&cx.functions.inst(func).params, params).then_some(other)
    })
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
