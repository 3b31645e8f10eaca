//! Equivalent declarations: whether two templates, or two members of a class template, are declared alike
//! whatever the template arguments are (C++14 [temp.type], [temp.over.link]).
//!
//! A declaration is written as a list of tokens in which template parameters are positions, aliases are
//! expanded and other names are entities. Two declarations are equivalent if their tokens are equal. `form`
//! writes types and names, `expressions` the rest.
//!
//! Invariant: nothing is reported. Syntax without a form (lambdas) equals nothing,
//! so that declarations that contain it are never equivalent.

mod expressions;
mod form;

use super::checker::Checker;
use super::entities::FnDeclId;
use super::scopes::ScopeId;
use crate::ast::{self, FunctionName, OperatorName, TemplateArg, TemplateParams};
use form::{Form, Token};
use std::rc::Rc;

/// The canonical form of a function declaration.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Signature {
    head: Vec<Token>,
    params: Vec<Token>,
    pub(super) ret: Vec<Token>,
    method: ast::MethodQualifiers,
}

impl Signature {
    /// Whether the template parameters and the types of the parameters are the same.
    pub(super) fn has_same_params(&self, other: &Self) -> bool {
        self.head == other.head && self.params == other.params && self.method == other.method
    }
}

/// The signature of a declared function, computed once.
pub(super) fn signature(cx: &mut Checker<'_>, id: FnDeclId) -> Rc<Signature> {
    if let Some(known) = &cx.functions.decl(id).signature {
        return known.clone();
    }
    let decl = cx.functions.decl(id);
    let (ast, template, scope) = (decl.ast, decl.template, decl.scope);
    let signature = Rc::new(signature_of(cx, ast, template, scope));
    cx.functions.set_signature(id, signature.clone());
    signature
}

/// The signature of a function that has no declaration in a scope, such as a deduction guide.
pub(super) fn signature_of<'a>(
    cx: &mut Checker<'a>,
    ast: &'a ast::Function,
    template: Option<&'a TemplateParams>,
    scope: ScopeId,
) -> Signature {
    within(cx, scope, |cx| {
        let mut form = Form::default();
        template.into_iter().for_each(|head| form.head(cx, head));
        let head = form.take();
        let params = parameters(cx, &mut form, ast);
        match (&ast.name, &ast.ret) {
            (FunctionName::Operator(OperatorName::Conversion(ty)), _) => form.ty(cx, ty),
            (_, Some(ret)) => form.ty(cx, ret),
            (_, None) => {}
        }
        Signature { head, params, ret: form.take(), method: ast.method }
    })
}

/// Whether two functions have the same parameter types and method qualifiers. Result types are ignored: they
/// may name the functions themselves, which would recurse.
pub(super) fn have_same_parameters(cx: &mut Checker<'_>, a: FnDeclId, b: FnDeclId) -> bool {
    let [first, second] = [a, b].map(|id| {
        let decl = cx.functions.decl(id);
        let (ast, template, scope) = (decl.ast, decl.template, decl.scope);
        let params = within(cx, scope, |cx| {
            let mut form = Form::default();
            template.into_iter().for_each(|head| form.head(cx, head));
            form.take();
            parameters(cx, &mut form, ast)
        });
        (params, ast.method)
    });
    first == second
}

/// Writes the parameter types of a function and binds the names of the parameters.
fn parameters<'a>(cx: &mut Checker<'a>, form: &mut Form, ast: &'a ast::Function) -> Vec<Token> {
    for (n, param) in ast.params.iter().enumerate() {
        form.parameter(cx, &param.ty);
        form.bind_parameter(param.name, n);
    }
    form.take()
}

/// The form of a member function of a class template that is defined outside of its class: all heads, the
/// class,
/// the parameters and the result.
pub(super) fn of_definition<'a>(
    cx: &mut Checker<'a>,
    ast: &'a ast::Function,
    head: &'a TemplateParams,
    path: &'a ast::Path,
    scope: ScopeId,
) -> Vec<Token> {
    within(cx, scope, |cx| {
        let mut form = Form::default();
        head.heads().into_iter().for_each(|head| form.head(cx, head));
        form.scope(cx, path);
        ast.params.iter().for_each(|param| form.parameter(cx, &param.ty));
        ast.ret.iter().for_each(|ret| form.ty(cx, ret));
        form.text(format!("{:?}", ast.method));
        form.take()
    })
}

/// The form of a template of aliases: its parameters and the type.
pub(super) fn of_alias<'a>(
    cx: &mut Checker<'a>,
    head: &'a TemplateParams,
    ty: &'a ast::Type,
    scope: ScopeId,
) -> (Vec<Token>, Vec<Token>) {
    within(cx, scope, |cx| {
        let mut form = Form::default();
        form.head(cx, head);
        let head = form.take();
        form.ty(cx, ty);
        (head, form.take())
    })
}

/// The form of a partial specialisation: its parameters and its arguments.
pub(super) fn of_specialisation<'a>(
    cx: &mut Checker<'a>,
    head: &'a TemplateParams,
    args: &'a [TemplateArg],
    scope: ScopeId,
) -> Vec<Token> {
    within(cx, scope, |cx| {
        let mut form = Form::default();
        form.head(cx, head);
        form.arguments(cx, args);
        form.take()
    })
}

/// Runs `f` in a scope with the rights of everything: those of a friend are not known here.
fn within<'a, R>(cx: &mut Checker<'a>, scope: ScopeId, f: impl FnOnce(&mut Checker<'a>) -> R) -> R {
    cx.without_access(|cx| cx.in_scope(scope, f))
}
