//! Bodies: checked once, in a state of their own.
//!
//! Invariant: after [`ensure_body`] an instance is checked or in error, and its result type is
//! known; only while it is being checked can a deduced one be missing.

use super::{BodyState, Origin, definition};
use crate::ast::{self, FunctionBody, FunctionName, TypeKind};
use crate::hir::{self, FuncId, QualTy, Ty};
use crate::sema::checker::Checker;
use crate::sema::diagnostics::{DEPENDENT, Deferred};
use crate::sema::entities::{FnDeclId, LocalDecl, TArg};
use crate::sema::fn_context::{AutoReturn, Returns};
use crate::sema::{dispatch, init, kernel, lint, odr_use, rules, stmt};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};
use std::rc::Rc;

/// The result type; checks the body first when it is to be deduced.
pub(in crate::sema) fn return_type(cx: &mut Checker<'_>, id: FuncId, span: Span) -> QualTy {
    if let Some(ret) = cx.functions.inst(id).ret {
        return ret;
    }
    cx.diagnostics.report_deferred(Deferred::Body(id));
    if cx.functions.inst(id).state == BodyState::Checking {
        let message = format!("the result type of `{}` is not known yet here", cx.functions.inst(id).name);
        let hint = "write the result type instead of `auto`";
        cx.report(Diagnostic::error("auto-recursion", span, message).with_hint(hint));
        return QualTy::plain(Ty::ERROR);
    }
    ensure_body(cx, id);
    cx.functions.inst(id).ret.unwrap_or(QualTy::plain(Ty::ERROR))
}

/// Checks a function's body, if that has not happened.
pub(in crate::sema) fn ensure_body(cx: &mut Checker<'_>, id: FuncId) {
    if cx.functions.inst(id).state != BodyState::Unchecked || cx.diagnostics.gave_up() {
        cx.diagnostics.report_deferred(Deferred::Body(id));
        return;
    }
    cx.functions.inst_mut(id).state = BodyState::Checking;
    let returns = cx.functions.inst(id).ret.map_or(Returns::Auto(None), Returns::Type);
    let trace = cx.functions.inst(id).trace.clone();
    let outer_trace = cx.diagnostics.replace_trace(trace);
    let placeholders = std::mem::take(&mut cx.placeholders);
    let scope = cx.functions.inst(id).scope;
    let span = cx.functions.inst(id).span;
    // An instance that depends on nothing unknown is checked as always, also if a template's code needs it.
    let depends = cx.checks_everything && (depends(cx, id) || cx.scopes.is_in_template(scope));
    let in_template = cx.diagnostics.set_in_template(depends);
    cx.once(Deferred::Body(id), |cx| {
        cx.in_function(returns, |cx| cx.in_scope(scope, |cx| cx.deeper(span, |cx| check_body(cx, id))));
        cx.functions.inst_mut(id).has_errors = cx.diagnostics.has_errors();
    });
    cx.diagnostics.set_in_template(in_template);
    cx.placeholders = placeholders;
    cx.diagnostics.replace_trace(outer_trace);
    cx.functions.inst_mut(id).state = BodyState::Checked;
}

/// Whether the arguments of an instance depend on those of a template that is checked without arguments,
/// whose code calls it.
fn depends(cx: &Checker<'_>, id: FuncId) -> bool {
    let inst = cx.functions.inst(id);
    let shows = |ty: Ty| ty.is_error() || cx.types.display(ty).contains(DEPENDENT);
    let owner = inst.origin.decl().and_then(|decl| cx.functions.decl(decl).owner);
    let of_owner = owner.map(|owner| cx.records.get(owner));
    // A value that is not known does not show in a name.
    inst.args.iter().chain(of_owner.iter().flat_map(|owner| owner.args.iter())).any(TArg::is_unknown)
        || inst.name.contains(DEPENDENT)
        || inst.params.iter().any(|param| shows(param.ty))
        || of_owner.is_some_and(|owner| shows(owner.ty))
}

fn check_body(cx: &mut Checker<'_>, id: FuncId) {
    let decl_id = match cx.functions.inst(id).origin {
        Origin::Decl(decl) => decl,
        Origin::Synthesised(which) => {
            let function = init::synthesised_body(cx, id, which);
            cx.functions.inst_mut(id).hir = Some(Rc::new(function));
            return;
        }
        Origin::Dispatch | Origin::Linked => return,
    };
    let Some(definition) = definition::find_definition(cx, id, decl_id) else {
        undefined_body(cx, id, decl_id);
        return;
    };
    cx.functions.inst_mut(id).definition = Some(definition);
    cx.function.name = cx.functions.inst(id).name.to_string();
    cx.function.auto_return = definition.ast.ret.as_ref().map(|ret| match &ret.kind {
        TypeKind::Reference { referent, rvalue } => {
            AutoReturn::Reference { is_const: referent.quals.is_const, is_rvalue: *rvalue }
        }
        TypeKind::DecltypeAuto => AutoReturn::Decltype,
        TypeKind::Pointer(_) => AutoReturn::Pointer,
        _ => AutoReturn::Plain,
    });
    cx.function.result_at = definition.ast.ret.as_ref().map_or(definition.ast.span, |ret| ret.span);
    let function = cx.in_scope(definition.scope, |cx| {
        cx.function.returns_uniform =
            definition.ast.ret.as_ref().is_some_and(|ret| rules::uniform::is_uniform(cx, ret));
        cx.in_block(|cx| {
            cx.functions.set_body_scope(cx.scopes.current(), id);
            function_of(cx, id, definition.ast)
        })
    });
    cx.functions.inst_mut(id).hir = Some(Rc::new(function));
}

/// A function without a definition: of another library, or a mistake.
fn undefined_body(cx: &mut Checker<'_>, id: FuncId, decl: FnDeclId) {
    let requested = cx.functions.inst(id).requested;
    if let Some(host_name) = kernel::visible_name(cx, id, decl)
        && let Some(position) = dispatch::linked_declaration(cx, id, &host_name, requested)
    {
        let code = dispatch::linked_code(cx, position, id);
        cx.functions.inst_mut(id).hir = Some(Rc::new(code));
        return;
    }
    let name = &cx.functions.inst(id).name;
    // What the library declares only is for functions that do not run.
    if cx.table.is_below(cx.functions.inst(id).span) {
        let message = format!("`{name}` can be checked, but not run");
        cx.unsupported(requested, message);
        return;
    }
    let message = format!("`{name}` is used but never defined");
    let mut diagnostic = Diagnostic::error("undefined-function", requested, message);
    if kernel::visible_name(cx, id, decl).is_some() {
        diagnostic = diagnostic
            .with_hint("it is a visible function: the pipeline may link it from a library that defines it");
    }
    cx.report(diagnostic);
}

fn function_of<'a>(cx: &mut Checker<'a>, id: FuncId, ast: &'a ast::Function) -> hir::Function {
    if ast.is_variadic {
        cx.error("variadic-function", ast.span, "functions with `...` cannot be defined in Metal");
    }
    let mut params = Vec::new();
    if let Some(this) = cx.functions.inst(id).this {
        let pointer = cx.types.pointer(this);
        let local = cx.function.new_local(cx.names.this, pointer, ast.span);
        cx.function.this = Some((local, this));
        params.push(local);
    }
    declare_params(cx, id, ast, &mut params);
    cx.function.params = cx.function.locals.len() as u32;
    let mut stmts = Vec::new();
    let is_constructor = matches!(ast.name, FunctionName::Constructor(_));
    if is_constructor {
        init::constructor_prologue(cx, ast, &mut stmts);
    }
    if let FunctionBody::Block(block) = &ast.body {
        stmt::check_all(cx, &block.stmts, &mut stmts);
    }
    if matches!(cx.function.returns, Returns::Auto(None)) && matches!(ast.body, FunctionBody::Block(_)) {
        stmt::refuse_void(cx, ast.span);
    }
    let ret = match cx.function.returns {
        Returns::Type(ty) => ty,
        Returns::Auto(ty) => ty.unwrap_or(QualTy::plain(Ty::VOID)),
    };
    cx.functions.inst_mut(id).ret = Some(ret);
    lint::body(cx, id, ast, ret, &stmts);
    let body = hir::Block { stmts };
    odr_use::check_body(cx, &body);
    hir::Function {
        name: cx.functions.inst(id).name.clone(),
        params,
        ret: cx.values().value_repr(ret),
        locals: std::mem::take(&mut cx.function.locals),
        body,
        fp: ast.fp,
        span: ast.span,
        linked: None,
    }
}

fn declare_params<'a>(cx: &mut Checker<'a>, id: FuncId, ast: &'a ast::Function, out: &mut Vec<hir::LocalId>) {
    let types = cx.functions.inst(id).params.clone();
    let mut types = types.iter();
    // Qualifiers of a parameter itself are those of the definition.
    let is_first = match cx.functions.inst(id).origin {
        Origin::Decl(decl) => cx.functions.decl(decl).ast.id == ast.id,
        _ => true,
    };
    for param in &ast.params {
        let name = param.name.unwrap_or(Name::EMPTY);
        if let TypeKind::Pack(inner) = &param.ty.kind {
            let count = cx.scopes.pack_length_of_type(inner).unwrap_or(0);
            let mut elements = Vec::new();
            for &ty in types.by_ref().take(count) {
                elements.push(param_local(cx, name, ty, param.span, out));
            }
            cx.declare_local(name, LocalDecl::Pack(elements.into()), param.span);
            continue;
        }
        let Some(&ty) = types.next() else { break };
        let ty = if is_first { ty } else { QualTy { is_const: param.ty.quals.is_const, ..ty } };
        let variable = param_local(cx, name, ty, param.span, out);
        cx.declare_local(name, variable, param.span);
        if let Some(&local) = out.last() {
            rules::uniform::declared(cx, &param.ty, local, None);
        }
    }
}

fn param_local(
    cx: &mut Checker<'_>,
    name: Name,
    ty: QualTy,
    span: Span,
    out: &mut Vec<hir::LocalId>,
) -> LocalDecl {
    let repr = cx.values().value_repr(ty);
    let local = cx.function.new_local(name, repr, span);
    out.push(local);
    LocalDecl::Variable { local, ty, function: cx.function.serial }
}
