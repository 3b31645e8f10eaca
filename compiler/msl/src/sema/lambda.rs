//! Lambdas: a closure is a record whose members are the captured variables.
//!
//! By reference or by value, each variable of the enclosing function that the body mentions becomes a
//! member; a captured reference is a pointer. The body is an `operator()` like any other, whose names
//! are looked up in the scopes around the lambda, captures first.

use super::arena::MadeSyntax;
use super::ast_names::{self, Visitor};
use super::checker::Checker;
use super::diagnostics::{DEPENDENT, Diagnostics};
use super::entities::{Found, LocalDecl};
use super::fn_context::LocalConstants;
use super::init::Synthesised;
use super::record::{Member, NamedRecord, RecordState};
use super::scopes::ScopeKind;
use super::{
    call, convert, deduce, expr, function, function_pointer, init, lookup, operator, record, resolve_type,
    specialise, uninstantiated,
};
use crate::ast::{
    self, FunctionBody, FunctionName, FunctionSpecifiers, MethodQualifiers, OperatorName, TemplateParam,
    TemplateParamKind, TemplateParams, TypeKind,
};
use crate::hir::{Expr, ExprKind, FieldInfo, FuncId, QualTy, RecordId, Ty, TyKind, Types};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};
use anymetal_ir::Space;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A captured variable.
struct Capture {
    name: Name,
    /// The member's type: a pointer for a capture by reference.
    ty: Ty,
    /// What the name means inside: the variable's type, or a reference to it.
    meaning: QualTy,
    /// The type that the variable is declared with, which `decltype` names.
    declared: QualTy,
    value: Expr,
}

pub(super) fn check<'a>(cx: &mut Checker<'a>, lambda: &'a ast::Lambda, span: Span) -> Expr {
    check_captures(cx, lambda);
    if !expands_all(cx, lambda, span) || !check_result(cx, lambda) {
        return cx.poison(span);
    }
    let captures = captures_of(cx, lambda, span);
    // The type of a closure depends on the arguments of the template that it is in.
    let dependent = if cx.diagnostics.in_template() { DEPENDENT } else { "" };
    let closure = NamedRecord {
        name: format!("(lambda){dependent}"),
        is_union: false,
        ast: None,
        template: None,
        args: Rc::from([]),
        scope: cx.scopes.current(),
    };
    let record = cx.records.add(&mut cx.types, closure);
    let mut fields = Vec::new();
    let mut names = FxHashMap::default();
    let mut values = Vec::new();
    for (n, capture) in captures.into_iter().enumerate() {
        let (ty, declared) = (capture.meaning, capture.declared);
        let decl = LocalDecl::Capture { field: n as u32, record, ty, declared };
        names.insert(capture.name, decl);
        fields.push(FieldInfo {
            name: capture.name,
            ty: QualTy::plain(capture.ty),
            offset: 0,
            is_reference: false,
            bits: None,
            id: None,
        });
        values.push(capture.value);
    }
    let layout = cx.types.lay_out(&mut fields, &[], &[], false, 1);
    cx.types.set_layout(record, fields, layout);
    cx.types.records[record.0 as usize].is_complete = true;
    let captured = cx.scopes.add(cx.scopes.current(), ScopeKind::Block(names));
    let call = call_operator(&mut cx.made, lambda, span);
    let (function, template) = call;
    let decl = cx.functions.declare(function, template, captured, Some(record));
    let inst = cx.records.get_mut(record);
    inst.state = RecordState::Complete;
    inst.lambda = Some(lambda);
    inst.scope = captured;
    inst.members.insert(cx.names.call_operator, vec![Member::Method(decl)]);
    let ty = inst.ty;
    // In an expansion, names of packs mean one element, which is not known within the body.
    if cx.checks_everything && cx.placeholders.pack_index.is_none() {
        uninstantiated::check_lambda(cx, decl, template, span);
    }
    Expr::value(ExprKind::Struct(values), ty, span)
}

/// Reports explicit captures of variables that the enclosing function does not have
/// (C++14 [expr.prim.lambda.10]).
fn check_captures<'a>(cx: &mut Checker<'a>, lambda: &'a ast::Lambda) {
    if let Some(at) = lambda.this_at
        && cx.function.this.is_none()
    {
        cx.error("lambda-capture", at, "`this` cannot be captured in this context");
    }
    for &(name, _, at) in &lambda.captures {
        match lookup::unqualified(cx, name) {
            Some(Found::Local(LocalDecl::Variable { function, .. })) if function != cx.function.serial => {
                report_not_captured(&mut cx.diagnostics, at);
            }
            Some(Found::Variable(_) | Found::Local(LocalDecl::Global(_) | LocalDecl::Threadgroup(..))) => {
                let message = format!(
                    "`{name}` cannot be captured because it does not have automatic storage duration"
                );
                cx.error("lambda-capture", at, message);
            }
            // Other names are reported where the body uses them.
            _ => {}
        }
    }
}

/// Reports a lambda with an unexpanded pack outside of an expansion; false after an error
/// (C++14 [temp.variadic.5]).
fn expands_all<'a>(cx: &mut Checker<'a>, lambda: &'a ast::Lambda, span: Span) -> bool {
    if !cx.diagnostics.in_template() || cx.placeholders.pack_index.is_some() {
        return true;
    }
    let mut unexpanded = None;
    let is_pack = |name| {
        let is_own = lambda.params.iter().any(|param| param.name == Some(name))
            || lambda.initialised.iter().any(|capture| capture.name == name);
        !is_own && cx.scopes.pack_length(name).is_some()
    };
    let mut look = |name| unexpanded = unexpanded.or_else(|| is_pack(name).then_some(name));
    ast_names::in_block(&lambda.body, &mut Visitor::unexpanded(&mut look));
    if let Some(name) = unexpanded {
        let message = format!("lambda contains unexpanded parameter pack `{name}`");
        cx.error("unexpanded-pack", span, message);
    }
    unexpanded.is_none()
}

/// Whether the written result type is one that functions have; reported if not.
fn check_result<'a>(cx: &mut Checker<'a>, lambda: &'a ast::Lambda) -> bool {
    let Some(ret) = lambda.ret.as_ref().filter(|ret| !function::mentions_auto(ret)) else { return true };
    // What depends on the lambda's parameters is not known here.
    let Ok(ty) = cx.quietly(|cx| resolve_type::resolve(cx, ret)) else { return true };
    if !cx.checks_everything || cx.is_dependent(ty.ty) {
        return true;
    }
    match cx.types.kind(ty.ty) {
        TyKind::Array(..) => {
            let message = format!("function cannot return array type `{}`", cx.show(ty));
            cx.error("bad-result", ret.span, message);
            false
        }
        TyKind::Record(_) => record::complete_type(cx, ty.ty, ret.span),
        _ => true,
    }
}

/// Whether something is written between the brackets of a lambda.
fn has_captures(lambda: &ast::Lambda) -> bool {
    lambda.captures_all
        || !lambda.captures.is_empty()
        || !lambda.initialised.is_empty()
        || lambda.this_at.is_some()
}

/// The `operator()` of a lambda as a function; `auto` parameters make it a template.
///
/// The tree is made once per lambda.
fn call_operator<'a>(
    made: &mut MadeSyntax<'a>,
    lambda: &'a ast::Lambda,
    span: Span,
) -> (&'a ast::Function, Option<&'a TemplateParams>) {
    if let Some(known) = made.lambda(lambda.id) {
        return known;
    }
    let mut params = lambda.params.clone();
    let mut template = Vec::new();
    for (n, param) in params.iter_mut().enumerate() {
        let name = Name::new(&format!("(auto {n})"));
        if replace_auto(&mut param.ty, name) {
            template.push(TemplateParam {
                kind: TemplateParamKind::Type(None),
                name: Some(name),
                is_pack: matches!(param.ty.kind, TypeKind::Pack(_)),
                span: param.span,
            });
        }
    }
    // Without captures a `mutable` closure is called where it is const, by its conversion to a function.
    let has_captures = has_captures(lambda);
    let auto = ast::Type { kind: TypeKind::Auto, quals: ast::Qualifiers::default(), span };
    let function = ast::Function {
        // There is one for each lambda, which is a node of another kind.
        id: lambda.id,
        name: FunctionName::Operator(OperatorName::Call),
        scope: None,
        specialisation: None,
        ret: Some(lambda.ret.clone().unwrap_or(auto)),
        params,
        is_variadic: false,
        specifiers: FunctionSpecifiers { is_constexpr: true, ..FunctionSpecifiers::default() },
        method: MethodQualifiers {
            is_const: !lambda.is_mutable || !has_captures,
            ..MethodQualifiers::default()
        },
        noexcept: lambda.noexcept.clone(),
        attributes: Vec::new(),
        mem_inits: Vec::new(),
        body: FunctionBody::Block(lambda.body.clone().into()),
        fp: lambda.fp,
        span,
    };
    let template = (!template.is_empty()).then_some(TemplateParams { params: template, outer: None, span });
    made.add_lambda(lambda.id, function, template)
}

fn captures_of<'a>(cx: &mut Checker<'a>, lambda: &'a ast::Lambda, span: Span) -> Vec<Capture> {
    let mut mentioned: Vec<Name> = Vec::new();
    let mut mention = |name| {
        if !mentioned.contains(&name) {
            mentioned.push(name);
        }
    };
    ast_names::in_block(&lambda.body, &mut Visitor::all(&mut mention));
    for &(name, ..) in &lambda.captures {
        if !mentioned.contains(&name) {
            mentioned.push(name);
        }
    }
    let mut captures = Vec::new();
    for ast::InitCapture { name, by_reference, init } in &lambda.initialised {
        let value = expr::check(cx, init);
        // As `auto name = init;`, which decays (C++14 [expr.prim.lambda.11]).
        let is_decayed = !by_reference && cx.types.as_array(value.ty.ty).is_some();
        let value = if is_decayed { cx.values().rvalue(value) } else { value };
        let declared = value.ty.unqualified();
        captures.extend(captured(cx, *name, value, declared, *by_reference));
    }
    mentioned.retain(|name| lambda.initialised.iter().all(|capture| capture.name != *name));
    for name in mentioned {
        let by_reference = match lambda.captures.iter().find(|(captured, ..)| *captured == name) {
            Some((_, by_reference, _)) => *by_reference,
            None if lambda.captures_all => lambda.by_reference,
            None => continue,
        };
        let Some(decl) =
            block_variable(cx, name).filter(|decl| !is_constant(&cx.types, &cx.local_constants, decl))
        else {
            continue;
        };
        captures.extend(capture(cx, name, &decl, by_reference, span));
    }
    // In a lambda inside of a lambda it is the captured one, not the closure.
    if cx.function.this.is_some()
        && let Some(place) = call::this_object(cx, span)
    {
        captures.extend(capture_of_this(cx, place, lambda.copies_this));
    }
    captures
}

/// The object of the method around: a pointer to it, or with `[*this]` a copy.
fn capture_of_this(cx: &mut Checker<'_>, place: Expr, copies: bool) -> Option<Capture> {
    let name = cx.names.this;
    if copies {
        let declared = place.ty.unqualified();
        return captured(cx, name, place, declared, false);
    }
    let (ty, span) = (cx.types.pointer(place.ty), place.span);
    let value = Expr::value(ExprKind::AddressOf(Box::new(place)), ty, span);
    Some(Capture { name, ty, meaning: QualTy::plain(ty), declared: QualTy::plain(ty), value })
}

/// The variable of the current function (or capture of the current lambda) of that name.
fn block_variable(cx: &mut Checker<'_>, name: Name) -> Option<LocalDecl> {
    match lookup::unqualified(cx, name)? {
        Found::Local(decl @ LocalDecl::Variable { .. }) if is_own_variable(cx, &decl) => Some(decl),
        Found::Local(decl @ LocalDecl::Capture { record, .. })
            if cx.function.this.is_some_and(|(_, this)| cx.types.as_record(this.ty) == Some(record)) =>
        {
            Some(decl)
        }
        _ => None,
    }
}

/// A number that is known needs no capture, and stays a constant inside.
fn is_constant(types: &Types, local_constants: &LocalConstants, decl: &LocalDecl) -> bool {
    matches!(decl, LocalDecl::Variable { local, ty, function }
            if types.scalar_repr(ty.ty).is_some() && local_constants.get(*function, *local).is_some())
}

fn capture(
    cx: &mut Checker<'_>,
    name: Name,
    decl: &LocalDecl,
    by_reference: bool,
    span: Span,
) -> Option<Capture> {
    // A copy in the enclosing lambda is const there; its type here is the declared type of the variable.
    let (meaning, declared) = match decl {
        LocalDecl::Variable { ty, .. } => (*ty, *ty),
        LocalDecl::Capture { ty, declared, .. } => (*ty, *declared),
        _ => panic!("only variables are captured"),
    };
    let meaning = cx.types.referent(meaning.ty).unwrap_or(meaning);
    let place = expr::local_value(cx, decl, span);
    Some(Capture { declared, ..captured(cx, name, place, meaning, by_reference)? })
}

/// A value, or the place that it is read from or that is referred to, under a name.
fn captured(
    cx: &mut Checker<'_>,
    name: Name,
    place: Expr,
    meaning: QualTy,
    by_reference: bool,
) -> Option<Capture> {
    if place.ty.ty.is_error() {
        return None;
    }
    let span = place.span;
    if by_reference && place.is_place {
        let meaning = QualTy::plain(cx.types.reference(place.ty, false));
        let ty = cx.types.pointer(place.ty);
        let value = Expr::value(ExprKind::AddressOf(Box::new(place)), ty, span);
        return Some(Capture { name, ty, meaning, declared: meaning, value });
    }
    let meaning = QualTy { space: Space::Thread, ..meaning };
    let ty = meaning.ty;
    let value = if cx.types.as_array(ty).is_some() {
        init::copied_array(cx, place)
    } else {
        convert::copied(cx, place)
    };
    Some(Capture { name, ty, meaning, declared: meaning, value })
}

/// Reports a variable of an enclosing function in a lambda, or in a method of a local class.
pub(super) fn report_not_captured(diagnostics: &mut Diagnostics, span: Span) {
    let message = "a variable of an enclosing function is not captured here";
    let hint = "a lambda captures all that it uses with `[=]` (copies) or `[&]` (references)";
    diagnostics.report(Diagnostic::error("not-captured", span, message).with_hint(hint));
}

/// The function that a closure without captures converts to a pointer to; `None` if it has not the type of
/// `pointer` (C++17 [expr.prim.lambda.closure.6]).
pub(super) fn invoker(cx: &mut Checker<'_>, closure: RecordId, pointer: Ty, span: Span) -> Option<FuncId> {
    cx.records.get(closure).lambda.filter(|lambda| !has_captures(lambda))?;
    let signature = cx.types.pointed_function(pointer)?;
    let TyKind::Function { params: wanted, .. } = cx.types.kind(signature).clone() else { return None };
    let members = cx.records.get(closure).members.get(&cx.names.call_operator)?;
    let Some(&Member::Method(decl)) = members.first() else { return None };
    let data = cx.functions.decl(decl);
    let (template, scope) = (data.template, data.scope);
    let args = match template {
        None => Rc::from([]),
        Some(template) => {
            let mut deduced = deduce::Deduced::none(template.params.len());
            let patterns = function::patterns_of(cx, decl);
            let fits = patterns.len() == wanted.len()
                && patterns
                    .iter()
                    .zip(wanted.iter())
                    .all(|(pattern, &ty)| deduce::from_param_type(cx, pattern, ty, &mut deduced));
            if !fits {
                return None;
            }
            specialise::finish_deduction(cx, &template.params, deduced, scope, span)?
        }
    };
    let call = cx.quietly(|cx| function::instantiate(cx, decl, args, span)).ok().flatten()?;
    let invoker = init::synthesise(cx, Synthesised::Invoker(call), span);
    (function_pointer::signature_of(cx, invoker, span) == Some(signature)).then_some(invoker)
}

/// What a captured name stands for inside of the lambda.
pub(super) fn capture_value(
    cx: &mut Checker<'_>,
    record: RecordId,
    field: u32,
    ty: QualTy,
    span: Span,
) -> Option<Expr> {
    let (local, object) = cx.function.this?;
    let owner = cx.types.as_record(object.ty)?;
    if owner != record {
        report_not_captured(&mut cx.diagnostics, span);
        return None;
    }
    let pointer_ty = cx.types.pointer(object);
    let this = Expr::place(ExprKind::Local(local), QualTy::plain(pointer_ty), span);
    let this = Expr::value(ExprKind::Load(Box::new(this)), pointer_ty, span);
    let closure = Expr::place(ExprKind::Deref(Box::new(this)), object, span);
    let raw = cx.values().raw_field(closure, record, field, span);
    match cx.types.referent(ty.ty) {
        Some(_) => {
            let pointer = cx.values().rvalue(raw);
            Some(operator::dereference(cx, pointer, span))
        }
        None => {
            let is_const = object.is_const || ty.is_const;
            let raw_ty = QualTy { is_const, is_volatile: ty.is_volatile, ..raw.ty };
            Some(Expr { ty: raw_ty, ..raw })
        }
    }
}

/// The captured `this`, inside of a lambda in a method.
pub(super) fn captured_this<'a>(cx: &mut Checker<'a>) -> Option<Found<'a>> {
    let (_, object) = cx.function.this?;
    let record = cx.types.as_record(object.ty)?;
    cx.records.get(record).lambda?;
    let this = cx.names.this;
    lookup::unqualified(cx, this)
}

/// Whether a declared local is a variable of the function at hand.
fn is_own_variable(cx: &Checker<'_>, decl: &LocalDecl) -> bool {
    matches!(decl, LocalDecl::Variable { function, .. } if *function == cx.function.serial)
}

/// Puts a parameter's name in the place of `auto`; false when there is none.
fn replace_auto(ty: &mut ast::Type, name: Name) -> bool {
    match &mut ty.kind {
        TypeKind::Auto => {
            let span = ty.span;
            let segment =
                ast::PathSegment { name, operator: None, args: None, has_template_word: false, span };
            ty.kind = TypeKind::Path(ast::Path {
                global: false,
                segments: vec![segment],
                tag: None,
                is_typename: false,
                span,
            });
            true
        }
        TypeKind::Pointer(inner) | TypeKind::Reference { referent: inner, .. } | TypeKind::Pack(inner) => {
            replace_auto(inner, name)
        }
        _ => false,
    }
}
