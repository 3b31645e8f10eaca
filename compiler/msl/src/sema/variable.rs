//! Variables: what they are, and the type and first value that a declaration with an initialiser gives.
//!
//! `global` is for those with static storage, `function_constant` for those the host sets, `local` for those
//! of a block, threadgroup memory among them.

mod function_constant;
mod global;
mod local;

pub(super) use global::{constant_table, global_of, global_value};
pub(super) use local::check_local;

use super::arena::MadeSyntax;
use super::checker::Checker;
use super::diagnostics::Diagnostics;
use super::entities::{GlobalVarId, TArg, VarDecl};
use super::pattern::Pat;
use super::scopes::{ScopeId, Scopes};
use super::table::NsId;
use super::{class_deduction, convert, deduce, expr, init, pattern, record, resolve_type};
use crate::ast::{self, ExprKind as Ast, Initialiser, NodeId, TypeKind};
use crate::hir::{Expr, FunctionConstantId, GlobalId, QualTy, ResourceId, Ty};
use crate::token::Name;
use anymetal_diagnostics::Span;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// What a variable with static storage is.
#[derive(Clone, Debug)]
pub(super) enum GlobalValue {
    /// Being worked out.
    Pending,
    /// A constant datum.
    Constant(GlobalId),
    /// A function constant.
    FunctionConstant(FunctionConstantId),
    /// Derived from function constants, or a fact about the thread: the expression stands in at each use.
    Derived(Rc<Expr>),
    /// A resource that the host binds.
    Resource(ResourceId),
    /// Without an initialiser, which is reported: it has an address and no value.
    Unset(GlobalId),
    /// In error, reported.
    Failed,
}

/// A variable with static storage.
#[derive(Debug)]
pub(super) struct GlobalVar<'a> {
    pub(super) decl: VarDecl<'a>,
    pub(super) ty: QualTy,
    pub(super) value: GlobalValue,
}

/// The variables with static storage of one check, each defined once.
#[derive(Debug, Default)]
pub(super) struct Globals<'a> {
    vars: Vec<GlobalVar<'a>>,
    /// By declaration, scope and template arguments.
    ids: FxHashMap<(NodeId, ScopeId, Rc<[TArg]>), GlobalVarId>,
    /// The types that blocks declare variables of namespaces with, and where.
    pub(super) externs: FxHashMap<(NsId, Name), (QualTy, Span)>,
}

impl<'a> Globals<'a> {
    fn get(&self, id: GlobalVarId) -> &GlobalVar<'a> {
        &self.vars[id.0 as usize]
    }

    /// The type of a variable that is defined.
    pub(super) fn ty(&self, id: GlobalVarId) -> QualTy {
        self.get(id).ty
    }

    fn get_mut(&mut self, id: GlobalVarId) -> &mut GlobalVar<'a> {
        &mut self.vars[id.0 as usize]
    }

    fn known(&self, decl: &VarDecl<'a>, args: &Rc<[TArg]>) -> Option<GlobalVarId> {
        self.ids.get(&(decl.variable.id, decl.scope, args.clone())).copied()
    }

    /// Adds a variable whose value is pending.
    fn add(&mut self, decl: VarDecl<'a>, args: Rc<[TArg]>) -> GlobalVarId {
        let id = GlobalVarId(self.vars.len() as u32);
        self.ids.insert((decl.variable.id, decl.scope, args), id);
        self.vars.push(GlobalVar { decl, ty: QualTy::plain(Ty::ERROR), value: GlobalValue::Pending });
        id
    }

    /// The variable that is a constant datum.
    pub(super) fn of_constant(&self, wanted: GlobalId) -> Option<&GlobalVar<'a>> {
        let is_wanted = |value: &GlobalValue| matches!(value, GlobalValue::Constant(id) if *id == wanted);
        self.vars.iter().find(|var| is_wanted(&var.value))
    }
}

/// The type and initial value of a variable, `auto` and `[]` completed.
fn initialised<'a>(
    cx: &mut Checker<'a>,
    variable: &'a ast::Variable,
    init: &'a Initialiser,
) -> Option<(QualTy, Expr)> {
    if super::function::mentions_auto(&variable.ty) {
        return deduced_variable(cx, variable, init);
    }
    if let Some(template) = class_deduction::deduced_class(cx, &variable.ty) {
        let value = class_deduction::initialised_by_deduction(cx, &template, init, variable.span);
        let ty = resolve_type::qualify(
            &cx.types,
            &mut cx.diagnostics,
            QualTy::plain(value.ty.ty),
            variable.ty.quals,
            variable.span,
        );
        return (!ty.ty.is_error()).then_some((ty, value));
    }
    let ty = written_type(cx, variable, init)?;
    let value = init::initial_value(cx, ty, init, variable.span);
    Some((ty, value))
}

/// The type of a variable that its initialiser does not deduce, `[]` completed.
fn written_type<'a>(
    cx: &mut Checker<'a>,
    variable: &'a ast::Variable,
    init: &'a Initialiser,
) -> Option<QualTy> {
    let mut ty = resolve_type::resolve(cx, &variable.ty);
    if ty.ty.is_error() {
        return None;
    }
    if let Some((elem, 0)) = cx.types.as_array(ty.ty)
        && let Some(count) = list_length(&cx.scopes, &mut cx.made, init)
    {
        ty = ty.with_ty(cx.types.array(elem, count));
    }
    record::complete_type(cx, ty.ty, variable.span).then_some(ty)
}

fn deduced_variable<'a>(
    cx: &mut Checker<'a>,
    variable: &'a ast::Variable,
    init: &'a Initialiser,
) -> Option<(QualTy, Expr)> {
    let written = single_initialiser(&mut cx.diagnostics, init, variable.span)?;
    let value = expr::check(cx, written);
    if matches!(variable.ty.kind, TypeKind::DecltypeAuto) {
        return decltype_variable(cx, variable, written, value);
    }
    auto_variable(cx, variable, value)
}

/// The one value that initialises a variable whose type it decides.
pub(super) fn single_initialiser<'a>(
    diagnostics: &mut Diagnostics,
    init: &'a Initialiser,
    span: Span,
) -> Option<&'a ast::Expr> {
    let value = match init {
        Initialiser::Assign(expr) => Some(expr),
        Initialiser::Paren(args) => args.first().filter(|_| args.len() == 1),
        Initialiser::Brace(clauses) => clauses.first().filter(|_| clauses.len() == 1).map(|only| &only.value),
    };
    let value = value.filter(|value| !matches!(value.kind, Ast::InitList(_)));
    if value.is_none() {
        diagnostics.error("auto-not-allowed", span, "`auto` needs an initialiser with one value");
    }
    value
}

/// The type and first value of `auto x = value;`, perhaps with `&`, `*`, `const`.
pub(super) fn auto_variable<'a>(
    cx: &mut Checker<'a>,
    variable: &'a ast::Variable,
    value: Expr,
) -> Option<(QualTy, Expr)> {
    let ty = auto_type(cx, &variable.ty, &value, variable.span)?;
    let to = init::initialised_type(&cx.types, ty);
    let value = convert::to_type(cx, value, to, "in this initialiser");
    Some((ty, value))
}

/// `decltype(auto) x = e;`
fn decltype_variable<'a>(
    cx: &mut Checker<'a>,
    variable: &'a ast::Variable,
    written: &'a ast::Expr,
    value: Expr,
) -> Option<(QualTy, Expr)> {
    if variable.ty.quals != ast::Qualifiers::default() {
        cx.error("auto-not-allowed", variable.span, "`decltype(auto)` takes no qualifiers");
        return None;
    }
    let ty = resolve_type::decltype_of_value(cx, written, &value);
    if ty.ty.is_error() {
        return None;
    }
    let to = init::initialised_type(&cx.types, ty);
    let value = convert::to_type(cx, value, to, "in this initialiser");
    Some((ty, value))
}

/// The type that `auto` (perhaps with `&`, `*`, `const`) has for a value.
pub(super) fn auto_type<'a>(
    cx: &mut Checker<'a>,
    ty: &'a ast::Type,
    value: &Expr,
    span: Span,
) -> Option<QualTy> {
    if value.ty.ty.is_error() {
        return None;
    }
    if value.ty.ty == Ty::VOID {
        cx.error("void-variable", span, "a variable cannot have type `void`");
        return None;
    }
    // `constant auto x = 1;`: where the variable lives says nothing of its value.
    let pattern = match pattern::of_type(cx, ty, &[]) {
        Pat::Param(auto, quals) => Pat::Param(auto, ast::Qualifiers { space: None, ..quals }),
        other => other,
    };
    let mut deduced = deduce::Deduced::none(1);
    let is_lvalue = value.is_place && !cx.functions.is_xvalue(&cx.types, value);
    let fits = deduce::from_call_arg(cx, &pattern, value.ty, is_lvalue, &mut deduced);
    let Some(TArg::Type(auto)) = deduced.take(0).filter(|_| fits) else {
        let shown = cx.show(value.ty);
        cx.error("auto-not-allowed", span, format!("`auto` cannot be deduced from `{shown}`"));
        return None;
    };
    let outer = cx.placeholders.auto_ty.replace(auto);
    let resolved = resolve_type::resolve(cx, ty);
    cx.placeholders.auto_ty = outer;
    cx.placeholders.deduced_auto = Some(auto);
    (!resolved.ty.is_error()).then_some(resolved)
}

/// The number of elements a list or string gives an array.
fn list_length<'a>(scopes: &Scopes<'a>, made: &mut MadeSyntax<'a>, init: &'a Initialiser) -> Option<u64> {
    match init {
        Initialiser::Brace(clauses) => Some(clauses_length(scopes, made, clauses)),
        Initialiser::Assign(expr) => match &expr.kind {
            Ast::InitList(clauses) => Some(clauses_length(scopes, made, clauses)),
            Ast::Str(text) => Some(text.as_str().len() as u64 + 1),
            _ => None,
        },
        Initialiser::Paren(_) => None,
    }
}

fn clauses_length<'a>(scopes: &Scopes<'a>, made: &mut MadeSyntax<'a>, clauses: &'a [ast::InitClause]) -> u64 {
    match made.expanded_clauses(scopes, clauses) {
        [ast::InitClause { value: ast::Expr { kind: Ast::Str(text), .. }, .. }] => {
            text.as_str().len() as u64 + 1
        }
        clauses => clauses.len() as u64,
    }
}
