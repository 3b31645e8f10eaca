//! Functions: declarations and instances.
//!
//! A [`FnDecl`] is a declaration in a scope, perhaps a template. A [`FnInst`] is a function with all
//! template arguments: its `signature` is known from the start; its `body` is checked when somebody needs
//! it (a constant evaluation, a deduced result type, or in the end, because the kernel reaches it), and may
//! stand elsewhere than the declaration (`definition`).

mod body;
mod definition;
mod registry;
mod signature;

use super::checker::Checker;
use super::diagnostics::Trace;
use super::entities::{FnDeclId, TArg};
use super::equivalence::Signature;
use super::init::Synthesised;
use super::pattern::Pat;
use super::scopes::ScopeId;
use super::{spelling, template_args};
use crate::ast::{self, Access, TemplateParams, TypeKind};
use crate::hir::{self, FuncId, QualTy, RecordId, Ty, TyKind, Types};
use anymetal_diagnostics::Span;
use std::rc::Rc;

pub(super) use body::{ensure_body, return_type};
pub(super) use definition::{find_definition, has_code, specialisation, specialises};
pub(super) use registry::Functions;
pub(super) use signature::{
    add_param_types, args_with_deduction, param_pattern, param_types, patterns_of, signature, this_of,
    with_param_names, with_signature_names,
};

/// A declared function.
#[derive(Debug)]
pub(super) struct FnDecl<'a> {
    pub(super) ast: &'a ast::Function,
    pub(super) template: Option<&'a TemplateParams>,
    pub(super) scope: ScopeId,
    pub(super) owner: Option<RecordId>,
    /// Who may use it, of a member.
    pub(super) access: Access,
    /// The parameter types of a template as patterns, computed on first use.
    pub(super) patterns: Option<Rc<[Pat<'a>]>>,
    /// Its canonical form, computed on first use.
    pub(super) signature: Option<Rc<Signature>>,
}

/// Where a function's code comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin {
    Decl(FnDeclId),
    /// A function that a class has without declaring it.
    Synthesised(Synthesised),
    /// A call through a pointer.
    Dispatch,
    /// A function of another library.
    Linked,
}

impl Origin {
    /// The declaration, if the source has one.
    pub(super) fn decl(self) -> Option<FnDeclId> {
        match self {
            Self::Decl(decl) => Some(decl),
            Self::Synthesised(_) | Self::Dispatch | Self::Linked => None,
        }
    }
}

/// How far a body is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BodyState {
    Unchecked,
    Checking,
    Checked,
}

/// A function with its template arguments.
#[derive(Debug)]
pub(super) struct FnInst<'a> {
    pub(super) name: String,
    pub(super) origin: Origin,
    pub(super) args: Rc<[TArg]>,
    pub(super) scope: ScopeId,
    /// Without `this`; references as references.
    pub(super) params: Rc<[QualTy]>,
    /// `None` while it is still to be deduced.
    pub(super) ret: Option<QualTy>,
    /// What `this` points to.
    pub(super) this: Option<QualTy>,
    pub(super) state: BodyState,
    pub(super) hir: Option<Rc<hir::Function>>,
    /// Whether the check of the body reported errors.
    pub(super) has_errors: bool,
    pub(super) trace: Option<Rc<Trace>>,
    pub(super) span: Span,
    pub(super) requested: Span,
    /// The body of a full specialisation or of a definition outside of the class.
    pub(super) definition: Option<Definition<'a>>,
}

/// Parameter types, and the result type unless it is to be deduced.
type SignatureTypes = (Rc<[QualTy]>, Option<QualTy>);

/// Where a body stands, when not at the declaration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Definition<'a> {
    pub(super) ast: &'a ast::Function,
    pub(super) scope: ScopeId,
}

/// Whether declarations with these parameters declare one function: qualifiers of a parameter itself are
/// its body's own matter.
pub(super) fn are_same_params(a: &[QualTy], b: &[QualTy]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.unqualified() == b.unqualified())
}

/// The name for messages.
fn decl_name(types: &Types, functions: &Functions<'_>, id: FnDeclId) -> String {
    let decl = functions.decl(id);
    let name = spelling::function(&decl.ast.name);
    match decl.owner {
        Some(owner) => format!("{}::{name}", types.record(owner).name),
        None => name,
    }
}

/// The function with these template arguments; its signature is checked here (and fails, reported,
/// when it makes no sense).
pub(super) fn instantiate(
    cx: &mut Checker<'_>,
    id: FnDeclId,
    args: Rc<[TArg]>,
    span: Span,
) -> Option<FuncId> {
    if let Some(known) = cx.functions.instance(id, &args) {
        return Some(known);
    }
    let ast = cx.functions.decl(id).ast;
    let key = (id, args.clone());
    if cx.functions.signatures.contains(&key) {
        let message = format!("the type of `{}` depends on itself", spelling::function(&ast.name));
        cx.error("auto-recursion", span, message);
        return None;
    }
    cx.functions.signatures.push(key);
    let errors = cx.diagnostics.error_count();
    let signature = checked_signature(cx, id, &args, span);
    cx.functions.signatures.pop();
    let (scope, (params, ret)) = signature?;
    if cx.diagnostics.is_quiet() && cx.diagnostics.error_count() > errors {
        // In templates without arguments, a signature in error still yields an instance. Caching it here
        // would lose its errors.
        return None;
    }
    let template = cx.functions.decl(id).template;
    let mut name = decl_name(&cx.types, &cx.functions, id);
    if !args.is_empty() {
        name = format!("{name}<{}>", template_args::show_args(cx, &args));
    }
    let trace = match template {
        Some(_) => cx.diagnostics.trace_with(instantiation_text(cx, id, &args), span),
        None => trace_of_member(cx, id, span),
    };
    let func = cx.functions.add(FnInst {
        name,
        origin: Origin::Decl(id),
        args: args.clone(),
        scope,
        params,
        ret,
        this: signature::this_of(&cx.records, &cx.functions, id),
        state: BodyState::Unchecked,
        hir: None,
        has_errors: false,
        trace,
        span: ast.span,
        requested: span,
        definition: None,
    });
    cx.functions.set_instance(id, args, func);
    Some(func)
}

/// The scope and the signature of an instance.
fn checked_signature(
    cx: &mut Checker<'_>,
    id: FnDeclId,
    args: &Rc<[TArg]>,
    span: Span,
) -> Option<(ScopeId, SignatureTypes)> {
    let decl = cx.functions.decl(id);
    let (ast, template, outer) = (decl.ast, decl.template, decl.scope);
    let scope = match template {
        Some(template) => cx.scopes.template_scope(&template.params, args, outer),
        None => outer,
    };
    let signature = match template {
        Some(_) => cx.instantiating(
            |cx| instantiation_text(cx, id, args),
            span,
            |cx| cx.in_scope(scope, |cx| signature::signature(cx, ast)),
        )??,
        // Its own rights count, which those of a friend are.
        None if cx.functions.decl(id).owner.is_none() => {
            cx.without_access(|cx| signature::plain_signature(cx, ast, scope, span))?
        }
        None => signature::plain_signature(cx, ast, scope, span)?,
    };
    Some((scope, signature))
}

/// The trace of a member function of an instantiated class.
fn trace_of_member(cx: &Checker<'_>, id: FnDeclId, span: Span) -> Option<Rc<Trace>> {
    let owner = cx.functions.decl(id).owner?;
    cx.records.get(owner).template.as_ref()?;
    let text = format!(
        "in instantiation of member function `{}` requested here",
        decl_name(&cx.types, &cx.functions, id)
    );
    cx.diagnostics.trace_of_later(text, span)
}

fn instantiation_text(cx: &Checker<'_>, id: FnDeclId, args: &[TArg]) -> String {
    let name = decl_name(&cx.types, &cx.functions, id);
    format!(
        "in instantiation of function template `{name}<{}>` requested here",
        template_args::show_args(cx, args)
    )
}

/// Whether a result type is to be deduced.
pub(super) fn mentions_auto(ty: &ast::Type) -> bool {
    match &ty.kind {
        TypeKind::Auto | TypeKind::DecltypeAuto => true,
        TypeKind::Pointer(inner)
        | TypeKind::Reference { referent: inner, .. }
        | TypeKind::Function { ret: inner, .. } => mentions_auto(inner),
        _ => false,
    }
}

/// Whether a type is a function type, or a pointer or reference to one.
pub(super) fn function_type(types: &hir::Types, ty: Ty) -> Option<(QualTy, Rc<[QualTy]>)> {
    let ty = match types.kind(ty) {
        TyKind::Pointer(to) | TyKind::Reference { to, .. } => to.ty,
        _ => ty,
    };
    match types.kind(ty) {
        TyKind::Function { ret, params, .. } => Some((*ret, params.iter().copied().collect())),
        _ => None,
    }
}
