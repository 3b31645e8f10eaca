//! Signatures: parameter and result types, and parameter types as patterns to deduce from.

use super::{SignatureTypes, mentions_auto};
use crate::ast::{self, FunctionName, OperatorName, TemplateArg, TypeKind};
use crate::hir::{LocalId, QualTy, Ty, TyKind};
use crate::sema::checker::{Checker, space_of};
use crate::sema::entities::{FnDeclId, LocalDecl, TArg};
use crate::sema::function::Functions;
use crate::sema::pattern::{ArgPat, Pat};
use crate::sema::record::Records;
use crate::sema::scopes::{ScopeId, ScopeKind};
use crate::sema::template_args::ExplicitArg;
use crate::sema::{deduce, init, overload, pattern, resolve_type, specialise};
use anymetal_diagnostics::Span;
use anymetal_ir::Space;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The signature of a function that is no template: it does not depend on the caller.
pub(super) fn plain_signature<'a>(
    cx: &mut Checker<'a>,
    ast: &'a ast::Function,
    scope: ScopeId,
    span: Span,
) -> Option<SignatureTypes> {
    let trace = cx.diagnostics.replace_trace(None);
    let pack = cx.placeholders.pack_index.take();
    let signature = cx.deeper(span, |cx| cx.in_scope(scope, |cx| signature(cx, ast)));
    cx.placeholders.pack_index = pack;
    cx.diagnostics.replace_trace(trace);
    signature?
}

pub(in crate::sema) fn this_of(
    records: &Records<'_>,
    functions: &Functions<'_>,
    id: FnDeclId,
) -> Option<QualTy> {
    let decl = functions.decl(id);
    let owner = decl.owner.filter(|_| !decl.ast.specifiers.is_static)?;
    let method = decl.ast.method;
    Some(QualTy {
        ty: records.get(owner).ty,
        is_const: method.is_const,
        is_volatile: method.is_volatile,
        space: method.space.map_or(Space::Thread, space_of),
    })
}

/// Parameter types and result type, in the current scope. The result is `None` for `auto`.
pub(in crate::sema) fn signature<'a>(cx: &mut Checker<'a>, ast: &'a ast::Function) -> Option<SignatureTypes> {
    let params = param_types(cx, ast);
    let ret = match (&ast.name, &ast.ret) {
        (FunctionName::Operator(OperatorName::Conversion(ty)), _) => Some(resolve_type::resolve(cx, ty)),
        (_, Some(ty)) if mentions_auto(ty) => None,
        (_, Some(ty)) => Some(result_type(cx, ast, ty, params.as_deref().unwrap_or_default())),
        (_, None) => Some(QualTy::plain(Ty::VOID)),
    };
    if ret.is_some_and(|ret| ret.ty.is_error()) && !cx.diagnostics.in_template() {
        return None;
    }
    let what = match ret.map(|ret| cx.types.kind(ret.ty)) {
        Some(TyKind::Array(..)) => Some("array"),
        Some(TyKind::Function { .. }) => Some("function"),
        _ => None,
    };
    if let (Some(what), Some(ret)) = (what, ret) {
        let message = format!("function cannot return {what} type `{}`", cx.show(ret));
        cx.error("bad-result", ast.span, message);
        return None;
    }
    let ret = ret.map(|ret| init::initialised_type(&cx.types, ret));
    Some((params?.into(), ret))
}

/// The result type. A trailing one may name the parameters: `auto f(T a) -> decltype(a.size())`.
fn result_type<'a>(
    cx: &mut Checker<'a>,
    ast: &'a ast::Function,
    ty: &'a ast::Type,
    params: &[QualTy],
) -> QualTy {
    if !has_expressions(ty) {
        return resolve_type::resolve(cx, ty);
    }
    let is_trailing = ty.span.file == ast.span.file && ty.span.lo > ast.span.lo;
    match is_trailing {
        true => with_signature_names(cx, ast, params, |cx| resolve_type::resolve(cx, ty)),
        false => with_param_names(cx, ast, params, |cx| resolve_type::resolve(cx, ty)),
    }
}

/// As [`with_param_names`], where `this` is known as well: in trailing result types and exception
/// specifications of member functions (C++14 [expr.prim.general.3]).
pub(in crate::sema) fn with_signature_names<'a, R>(
    cx: &mut Checker<'a>,
    ast: &'a ast::Function,
    params: &[QualTy],
    f: impl FnOnce(&mut Checker<'a>) -> R,
) -> R {
    if cx.made.lambda(ast.id).is_some() {
        // `this` is that of the function around.
        return with_param_names(cx, ast, params, f);
    }
    let is_method = !ast.specifiers.is_static && !ast.specifiers.is_friend;
    let owner = cx.scopes.classes_around().first().copied().filter(|_| is_method);
    let this = owner.map(|owner| {
        let object = QualTy {
            ty: cx.records.get(owner).ty,
            is_const: ast.method.is_const,
            is_volatile: ast.method.is_volatile,
            space: ast.method.space.map_or(Space::Thread, space_of),
        };
        // Like the parameters, it is not evaluated.
        (LocalId(u32::MAX), object)
    });
    let outer = std::mem::replace(&mut cx.function.this, this);
    let result = with_param_names(cx, ast, params, f);
    cx.function.this = outer;
    result
}

/// Runs `f` where the names of the parameters have these types; they are not to be evaluated.
pub(in crate::sema) fn with_param_names<'a, R>(
    cx: &mut Checker<'a>,
    ast: &'a ast::Function,
    params: &[QualTy],
    f: impl FnOnce(&mut Checker<'a>) -> R,
) -> R {
    let mut types = params.iter().map(|&ty| {
        // Expressions of types are not evaluated, so that no function needs to have these variables.
        LocalDecl::Variable { local: LocalId(u32::MAX), ty, function: u32::MAX }
    });
    let mut names = FxHashMap::default();
    for param in &ast.params {
        let decl = if let TypeKind::Pack(inner) = &param.ty.kind {
            let length = cx.scopes.pack_length_of_type(inner).unwrap_or(0);
            Some(LocalDecl::Pack(types.by_ref().take(length).collect()))
        } else {
            types.next()
        };
        names.extend(param.name.zip(decl));
    }
    let scope = cx.scopes.add(cx.scopes.current(), ScopeKind::Block(names));
    cx.in_scope(scope, f)
}

/// The types of the parameters, packs expanded. `None` after an error.
pub(in crate::sema) fn param_types<'a>(cx: &mut Checker<'a>, ast: &'a ast::Function) -> Option<Vec<QualTy>> {
    let mut params = Vec::with_capacity(ast.params.len());
    let mut ok = true;
    for param in &ast.params {
        if has_expressions(&param.ty) && !params.is_empty() {
            // `decltype(a) b` names a parameter before it.
            let earlier = params.clone();
            let mut own = Vec::new();
            ok &= with_param_names(cx, ast, &earlier, |cx| {
                add_param_types(cx, &param.ty, param.span, &mut own)
            });
            params.extend(own);
        } else {
            ok &= add_param_types(cx, &param.ty, param.span, &mut params);
        }
        if cx.diagnostics.gave_up() {
            return None;
        }
    }
    for (n, param) in params.iter().enumerate() {
        ok &= !param.ty.is_error() || cx.diagnostics.in_template();
        if param.ty == Ty::VOID {
            let span = ast.params.get(n).map_or(ast.span, |param| param.span);
            cx.error("void-parameter", span, "a parameter cannot have type `void`");
            ok &= cx.diagnostics.in_template();
        }
    }
    for param in params.iter_mut().filter(|param| param.ty == Ty::VOID) {
        // The body of a template is checked without the parameter's type.
        *param = QualTy::plain(Ty::ERROR);
    }
    ok.then_some(params)
}

/// Adds the type of a parameter, or the types of a pack of parameters; false after an error.
pub(in crate::sema) fn add_param_types<'a>(
    cx: &mut Checker<'a>,
    ty: &'a ast::Type,
    span: Span,
    params: &mut Vec<QualTy>,
) -> bool {
    let TypeKind::Pack(inner) = &ty.kind else {
        params.push(resolve_type::resolve_param(cx, ty));
        return true;
    };
    let Some(length) = cx.scopes.pack_length_of_type(inner) else {
        let message = "`...` makes a pack of parameters, but the type names no template's pack";
        cx.error("not-a-pack", span, message);
        return false;
    };
    for n in 0..length {
        if cx.diagnostics.gave_up() {
            return false;
        }
        params.push(cx.with_pack_index(n, |cx| resolve_type::resolve_param(cx, inner)));
    }
    true
}

/// The template arguments that explicit ones and the types of a declared function together give (C++14
/// [temp.deduct.decl]).
pub(in crate::sema) fn args_with_deduction<'a>(
    cx: &mut Checker<'a>,
    decl_id: FnDeclId,
    explicit: Vec<ExplicitArg<'a>>,
    types: &[QualTy],
    ret: Option<QualTy>,
) -> Option<Rc<[TArg]>> {
    let decl = cx.functions.decl(decl_id);
    let (template, scope, ast) = (decl.template?, decl.scope, decl.ast);
    let span = ast.span;
    let mut deduced = overload::explicit_prefix(cx, decl_id, explicit, span)?;
    let patterns = patterns_of(cx, decl_id);
    for (n, (pattern, param)) in patterns.iter().zip(&ast.params).enumerate() {
        if overload::is_pack(param) {
            let rest: Vec<TArg> = types.iter().skip(n).map(|&ty| TArg::Type(ty)).collect();
            let pack = ArgPat::Pack(Box::new(ArgPat::Type(pattern.clone())));
            deduce::from_args(cx, &[pack], &rest, &mut deduced);
        } else if let Some(&ty) = types.get(n) {
            deduce::from_param_type(cx, pattern, ty, &mut deduced);
        }
    }
    let written = match &ast.name {
        FunctionName::Operator(OperatorName::Conversion(ty)) => Some(&**ty),
        _ => ast.ret.as_ref().filter(|ret| !mentions_auto(ret)),
    };
    if let (Some(written), Some(ret)) = (written, ret) {
        let pattern = cx.in_scope(scope, |cx| pattern::of_type(cx, written, &template.params));
        deduce::from_type(cx, &pattern, ret, &mut deduced);
    }
    specialise::finish_deduction(cx, &template.params, deduced, scope, span)
}

/// The pattern of a parameter of this type.
pub(in crate::sema) fn param_pattern<'a>(
    cx: &mut Checker<'a>,
    ty: &'a ast::Type,
    params: &'a [ast::TemplateParam],
) -> Pat<'a> {
    decayed(pattern::of_type(cx, ty, params))
}

/// The parameter patterns of a function template.
pub(in crate::sema) fn patterns_of<'a>(cx: &mut Checker<'a>, id: FnDeclId) -> Rc<[Pat<'a>]> {
    if let Some(patterns) = &cx.functions.decl(id).patterns {
        return patterns.clone();
    }
    let decl = cx.functions.decl(id);
    let (ast, scope) = (decl.ast, decl.scope);
    let params: &'a [ast::TemplateParam] = decl.template.map_or(&[], |template| &template.params);
    let pack = cx.placeholders.pack_index.take();
    let patterns: Rc<[_]> = cx
        .in_scope(scope, |cx| ast.params.iter().map(|param| param_pattern(cx, &param.ty, params)).collect());
    cx.placeholders.pack_index = pack;
    cx.functions.decl_mut(id).patterns = Some(patterns.clone());
    patterns
}

/// An array parameter is a pointer.
fn decayed(pat: Pat<'_>) -> Pat<'_> {
    match pat {
        Pat::Array(elem, _) => Pat::Pointer(elem),
        other => other,
    }
}

/// Whether a type is written with expressions, which may name parameters.
fn has_expressions(ty: &ast::Type) -> bool {
    match &ty.kind {
        TypeKind::Decltype(_) | TypeKind::Typeof(_) | TypeKind::DecltypePath(..) => true,
        TypeKind::Pointer(inner) | TypeKind::Reference { referent: inner, .. } => has_expressions(inner),
        TypeKind::Path(path) => {
            path.segments.iter().flat_map(|segment| segment.args.iter().flatten()).any(|arg| match arg {
                TemplateArg::Type(ty) => has_expressions(ty),
                TemplateArg::Expr(_) => true,
            })
        }
        _ => false,
    }
}
