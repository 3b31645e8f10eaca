//! Deduction of a class template's arguments from an initialiser (C++17 [over.match.class.deduct]).
//!
//! The guides are the class's constructors, the deduction guides written for it, and the copy of an object of
//! it. The one whose parameters the arguments convert to best decides.

use super::arena::MadeSyntax;
use super::call::Arg;
use super::checker::Checker;
use super::construct::ConstructArgs;
use super::convert::Conversion;
use super::deduce::Deduced;
use super::entities::{ClassTemplate, Found, TArg};
use super::overload::is_pack;
use super::pattern::{Pat, same_template};
use super::record::Records;
use super::scopes::{ScopeId, Scopes};
use super::table::Layer;
use super::{call, construct, convert, function, overload, path, record, resolve_type, specialise};
use crate::ast::{self, ExprKind as Ast, FunctionName, Initialiser, ItemKind, TemplateParam, TypeKind};
use crate::hir::{Expr, QualTy, Ty, Types};
use anymetal_diagnostics::Span;
use std::rc::Rc;

/// A way to deduce the arguments: the parameters of a function.
#[derive(Clone, Copy)]
struct Guide<'a> {
    function: &'a ast::Function,
    /// Those of the class come first in a constructor's.
    template: &'a [TemplateParam],
    scope: ScopeId,
    is_written: bool,
    /// The number of parameters that are the class's.
    of_class: usize,
}

/// A guide that takes the arguments.
struct Deduction {
    ty: Ty,
    conversions: Vec<Conversion>,
    is_written: bool,
    is_template: bool,
}

/// The class template that a type names without arguments.
pub(super) fn deduced_class<'a>(cx: &mut Checker<'a>, ty: &'a ast::Type) -> Option<ClassTemplate<'a>> {
    match &ty.kind {
        TypeKind::Path(path) => bare_template(cx, path),
        _ => None,
    }
}

/// The class template, when a path names one without arguments.
pub(super) fn bare_template<'a>(cx: &mut Checker<'a>, path: &'a ast::Path) -> Option<ClassTemplate<'a>> {
    if path.segments.last()?.args.is_some() {
        return None;
    }
    match cx.quietly(|cx| path::resolve(cx, path).ok()).ok().flatten()?.found {
        Found::ClassTemplate(template) => Some(template),
        _ => None,
    }
}

/// The value of a variable declared with a class template's name alone.
pub(super) fn initialised_by_deduction<'a>(
    cx: &mut Checker<'a>,
    template: &ClassTemplate<'a>,
    init: &'a Initialiser,
    span: Span,
) -> Expr {
    let args = match init {
        Initialiser::Paren(args) => call::check_args(cx, args),
        Initialiser::Brace(clauses) => call::clause_args(cx, clauses),
        Initialiser::Assign(value) => match &value.kind {
            Ast::InitList(clauses) => call::clause_args(cx, clauses),
            _ => call::check_args(cx, [value]),
        },
    };
    match args {
        Some(args) => construct(cx, template, args, span),
        None => cx.poison(span),
    }
}

/// `Template(args)`: an object of the class that the arguments deduce.
pub(super) fn construct<'a>(
    cx: &mut Checker<'a>,
    template: &ClassTemplate<'a>,
    args: Vec<Arg<'a>>,
    span: Span,
) -> Expr {
    match deduce_type(cx, template, &args, span) {
        Some(ty) => construct::object(cx, QualTy::plain(ty), ConstructArgs::Paren(args), span),
        None => cx.poison(span),
    }
}

/// The class that the arguments deduce; reported if there is none.
pub(super) fn deduce_type<'a>(
    cx: &mut Checker<'a>,
    template: &ClassTemplate<'a>,
    args: &[Arg<'a>],
    span: Span,
) -> Option<Ty> {
    if let Some(copied) = copied_class(&cx.types, &cx.records, template, args) {
        return Some(copied);
    }
    let mut found: Vec<Deduction> = Vec::new();
    for guide in guides_of(cx.table, &cx.records, &mut cx.scopes, &mut cx.made, template) {
        found.extend(deduction_by(cx, template, guide, args, span));
    }
    if args.is_empty() && found.is_empty() {
        found.extend(deduction_by_defaults(cx, template, span));
    }
    let unbeaten = |n: &usize| found.iter().all(|other| !other.beats(&found[*n]));
    let best = (0..found.len()).find(unbeaten);
    if best.is_none() {
        let name = template.primary.name.map_or("", |name| name.as_str());
        let message = format!("the template arguments of `{name}` cannot be deduced here");
        cx.error("class-deduction", span, message);
    }
    best.map(|n| found[n].ty)
}

/// One argument that is an object of the template's makes a copy.
fn copied_class<'a>(
    types: &Types,
    records: &Records<'a>,
    template: &ClassTemplate<'a>,
    args: &[Arg<'a>],
) -> Option<Ty> {
    let [Arg::Expr(only)] = args else { return None };
    let record = types.as_record(only.ty.ty)?;
    let own = records.get(record).template.as_ref()?;
    same_template(own, template).then_some(only.ty.ty)
}

fn guides_of<'a>(
    table: &'a Layer,
    records: &Records<'a>,
    scopes: &mut Scopes<'a>,
    made: &mut MadeSyntax<'a>,
    template: &ClassTemplate<'a>,
) -> Vec<Guide<'a>> {
    let mut guides = Vec::new();
    for item in template.primary.members.iter().flatten() {
        let ItemKind::Function(function) = &item.kind else { continue };
        if !matches!(function.name, FunctionName::Constructor(_)) {
            continue;
        }
        let (scope, of_class) = (template.scope, template.params.params.len());
        let guide = match &item.template {
            None => Guide { function, template: &template.params.params, scope, is_written: false, of_class },
            Some(own) => constructor_template(made, template, function, own),
        };
        guides.push(guide);
    }
    let Some(name) = template.primary.name else { return guides };
    let owner = scopes.record(template.scope).and_then(|owner| records.get(owner).ast);
    for item in owner.and_then(|ast| ast.members.as_ref()).into_iter().flatten() {
        let ItemKind::DeductionGuide(function) = &item.kind else { continue };
        if function.name.ordinary() == Some(name) {
            let params = item.template.as_ref().map_or(&[][..], |template| &template.params);
            let scope = template.scope;
            guides.push(Guide { function, template: params, scope, is_written: true, of_class: 0 });
        }
    }
    for id in table.specialisations(name) {
        let entry = table.entry(id);
        let ItemKind::DeductionGuide(function) = &entry.item.kind else { continue };
        let scope = scopes.of_item(id);
        if scope != template.scope {
            continue;
        }
        let params = entry.item.template.as_ref().map_or(&[][..], |template| &template.params);
        guides.push(Guide { function, template: params, scope, is_written: true, of_class: 0 });
    }
    guides
}

/// A constructor that is a template itself: its parameters follow the class's.
fn constructor_template<'a>(
    made: &mut MadeSyntax<'a>,
    template: &ClassTemplate<'a>,
    function: &'a ast::Function,
    own: &'a ast::TemplateParams,
) -> Guide<'a> {
    let params = made.guide(function.id, || {
        let params = template.params.params.iter().chain(&own.params).cloned().collect();
        let bare = ast::Function { body: ast::FunctionBody::None, ..function.clone() };
        (bare, ast::TemplateParams { params, outer: None, span: own.span })
    });
    let of_class = template.params.params.len();
    Guide { function, template: params, scope: template.scope, is_written: false, of_class }
}

/// What a guide gives for the arguments. `None`, without a report, if it does not take them.
fn deduction_by<'a>(
    cx: &mut Checker<'a>,
    template: &ClassTemplate<'a>,
    guide: Guide<'a>,
    args: &[Arg<'a>],
    span: Span,
) -> Option<Deduction> {
    let bound = cx.quietly(|cx| bound_by(cx, guide, args, span)).ok().flatten()?;
    let scope = cx.scopes.template_scope(guide.template, &bound, guide.scope);
    let params =
        cx.quietly(|cx| cx.in_scope(scope, |cx| function::param_types(cx, guide.function))).ok().flatten()?;
    let conversions =
        args.iter().zip(&params).map(|(arg, &to)| convert::conversion(cx, arg, to)).collect::<Option<_>>()?;
    let ty = match guide.function.ret.as_ref().filter(|_| guide.is_written) {
        Some(written) => {
            cx.quietly(|cx| cx.in_scope(scope, |cx| resolve_type::resolve(cx, written).ty)).ok()?
        }
        None => {
            let own = bound.iter().take(template.params.params.len()).cloned().collect();
            record::instantiate(cx, template, own)
        }
    };
    cx.types.as_record(ty)?;
    let is_template = guide.template.len() > template.params.params.len()
        || (guide.is_written && !guide.template.is_empty());
    Some(Deduction { ty, conversions, is_written: guide.is_written, is_template })
}

fn bound_by<'a>(cx: &mut Checker<'a>, guide: Guide<'a>, args: &[Arg<'a>], span: Span) -> Option<Rc<[TArg]>> {
    let params = &guide.function.params;
    let least = params.iter().filter(|param| param.default.is_none() && !is_pack(param)).count();
    if args.len() < least || (args.len() > params.len() && !params.iter().any(is_pack)) {
        return None;
    }
    let mut deduced = Deduced::none(guide.template.len());
    for (n, param) in params.iter().enumerate() {
        let pattern = cx.in_scope(guide.scope, |cx| function::param_pattern(cx, &param.ty, guide.template));
        // `T&&` of a class's parameter is not a forwarding reference (C++17 [temp.deduct.call.3]).
        let is_of_class = |pat: &Pat<'_>| match pat {
            Pat::Param(n, _) => !guide.is_written && *n < guide.of_class,
            _ => false,
        };
        let pattern = match pattern {
            Pat::Reference { to, rvalue: true } if is_of_class(&to) => *to,
            pattern => pattern,
        };
        if is_pack(param) {
            overload::deduce_rest(cx, &pattern, args.get(n..).unwrap_or(&[]), &mut deduced).ok()?;
            break;
        }
        let Some(arg) = args.get(n) else { break };
        if !overload::deduce_from_arg(cx, &pattern, arg, &mut deduced) {
            return None;
        }
    }
    specialise::finish_deduction(cx, guide.template, deduced, guide.scope, span)
}

/// A class without constructors, all of whose parameters have default arguments.
fn deduction_by_defaults<'a>(
    cx: &mut Checker<'a>,
    template: &ClassTemplate<'a>,
    span: Span,
) -> Option<Deduction> {
    let params = &template.params.params;
    let bound = specialise::finish_deduction(cx, params, Deduced::none(params.len()), template.scope, span)?;
    let ty = record::instantiate(cx, template, bound);
    Some(Deduction { ty, conversions: Vec::new(), is_written: false, is_template: false })
}

impl Deduction {
    /// Better conversions win, then plain guides, then written ones.
    fn beats(&self, other: &Self) -> bool {
        let mut pairs = self.conversions.iter().zip(&other.conversions);
        let mut worse = other.conversions.iter().zip(&self.conversions);
        let (better, worse) = (pairs.any(|(own, other)| own < other), worse.any(|(other, own)| own > other));
        if better || worse {
            return better && !worse;
        }
        let rank = |deduction: &Self| (deduction.is_template, !deduction.is_written);
        rank(self) < rank(other)
    }
}
