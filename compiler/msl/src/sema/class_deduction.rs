//! Deduction of a class template's arguments from an initialiser (C++17 [over.match.class.deduct]).
//!
//! The guides are the class's constructors, the deduction guides written for it, and the copy of an object of
//! it. The one whose parameters the arguments convert to best decides.

use super::call::Arg;
use super::checker::{Checker, TArg};
use super::construct::ConstructArgs;
use super::convert::Conversion;
use super::lookup::{ClassTemplate, Found};
use super::overload::is_pack;
use super::pattern::same_template;
use super::scopes::ScopeId;
use crate::ast::{self, ExprKind as Ast, FunctionName, Initialiser, ItemKind, TemplateParam, TypeKind};
use crate::hir::{Expr, QualTy, Ty};
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
}

/// A guide that takes the arguments.
struct Deduction {
    ty: Ty,
    conversions: Vec<Conversion>,
    is_written: bool,
    is_template: bool,
}

impl<'a> Checker<'a> {
    /// The class template that a type names without arguments.
    pub(super) fn deduced_class(&mut self, ty: &'a ast::Type) -> Option<ClassTemplate<'a>> {
        match &ty.kind {
            TypeKind::Path(path) => self.bare_class_template(path),
            _ => None,
        }
    }

    /// The class template, when a path names one without arguments.
    pub(super) fn bare_class_template(&mut self, path: &'a ast::Path) -> Option<ClassTemplate<'a>> {
        if path.segments.last()?.args.is_some() {
            return None;
        }
        match self.quietly(|s| s.resolve_path(path).ok()).ok().flatten()?.found {
            Found::ClassTemplate(template) => Some(template),
            _ => None,
        }
    }

    /// The value of a variable declared with a class template's name alone.
    pub(super) fn initialised_by_deduction(
        &mut self,
        template: &ClassTemplate<'a>,
        init: &'a Initialiser,
        span: Span,
    ) -> Expr {
        let args = match init {
            Initialiser::Paren(args) => self.call_args(args),
            Initialiser::Brace(clauses) => self.clause_args(clauses),
            Initialiser::Assign(value) => match &value.kind {
                Ast::InitList(clauses) => self.clause_args(clauses),
                _ => self.call_args([value]),
            },
        };
        match args {
            Some(args) => self.construct_deduced(template, args, span),
            None => self.poison(span),
        }
    }

    /// `Template(args)`: an object of the class that the arguments deduce.
    pub(super) fn construct_deduced(
        &mut self,
        template: &ClassTemplate<'a>,
        args: Vec<Arg<'a>>,
        span: Span,
    ) -> Expr {
        match self.deduce_class_type(template, &args, span) {
            Some(ty) => self.construct(QualTy::plain(ty), ConstructArgs::Paren(args), span),
            None => self.poison(span),
        }
    }

    /// The class that the arguments deduce; reported if there is none.
    pub(super) fn deduce_class_type(
        &mut self,
        template: &ClassTemplate<'a>,
        args: &[Arg<'a>],
        span: Span,
    ) -> Option<Ty> {
        if let Some(copied) = self.copied_class(template, args) {
            return Some(copied);
        }
        let mut found: Vec<Deduction> = Vec::new();
        for guide in self.guides_of(template) {
            found.extend(self.deduction_by(template, guide, args, span));
        }
        if args.is_empty() && found.is_empty() {
            found.extend(self.deduction_by_defaults(template, span));
        }
        let unbeaten = |n: &usize| found.iter().all(|other| !other.beats(&found[*n]));
        let best = (0..found.len()).find(unbeaten);
        if best.is_none() {
            let name = template.primary.name.map_or("", |name| name.as_str());
            let message = format!("the template arguments of `{name}` cannot be deduced here");
            self.error("class-deduction", span, message);
        }
        best.map(|n| found[n].ty)
    }

    /// One argument that is an object of the template's makes a copy.
    fn copied_class(&self, template: &ClassTemplate<'a>, args: &[Arg<'a>]) -> Option<Ty> {
        let [Arg::Expr(only)] = args else { return None };
        let record = self.types.as_record(only.ty.ty)?;
        let own = self.records.get(record).template.as_ref()?;
        same_template(own, template).then_some(only.ty.ty)
    }

    fn guides_of(&mut self, template: &ClassTemplate<'a>) -> Vec<Guide<'a>> {
        let mut guides = Vec::new();
        for item in template.primary.members.iter().flatten() {
            let ItemKind::Function(function) = &item.kind else { continue };
            if !matches!(function.name, FunctionName::Constructor(_)) {
                continue;
            }
            let scope = template.scope;
            let guide = match &item.template {
                None => Guide { function, template: &template.params.params, scope, is_written: false },
                Some(own) => self.constructor_template(template, function, own),
            };
            guides.push(guide);
        }
        let Some(name) = template.primary.name else { return guides };
        for id in self.table.specialisations(name) {
            let entry = self.table.entry(id);
            let ItemKind::DeductionGuide(function) = &entry.item.kind else { continue };
            let scope = self.scopes.of_item(id);
            if scope != template.scope {
                continue;
            }
            let params = entry.item.template.as_ref().map_or(&[][..], |template| &template.params);
            guides.push(Guide { function, template: params, scope, is_written: true });
        }
        guides
    }

    /// A constructor that is a template itself: its parameters follow the class's.
    fn constructor_template(
        &mut self,
        template: &ClassTemplate<'a>,
        function: &'a ast::Function,
        own: &'a ast::TemplateParams,
    ) -> Guide<'a> {
        let params = self.made.guide(function.id, || {
            let params = template.params.params.iter().chain(&own.params).cloned().collect();
            let bare = ast::Function { body: ast::FunctionBody::None, ..function.clone() };
            (bare, ast::TemplateParams { params, span: own.span })
        });
        Guide { function, template: params, scope: template.scope, is_written: false }
    }

    /// What a guide gives for the arguments. `None`, without a report, if it does not take them.
    fn deduction_by(
        &mut self,
        template: &ClassTemplate<'a>,
        guide: Guide<'a>,
        args: &[Arg<'a>],
        span: Span,
    ) -> Option<Deduction> {
        let bound = self.quietly(|s| s.bound_by(guide, args, span)).ok().flatten()?;
        let scope = self.scopes.template_scope(guide.template, &bound, guide.scope);
        let params = self.quietly(|s| s.in_scope(scope, |s| s.param_types(guide.function))).ok().flatten()?;
        let conversions =
            args.iter().zip(&params).map(|(arg, &to)| self.conversion(arg, to)).collect::<Option<_>>()?;
        let ty = match guide.function.ret.as_ref().filter(|_| guide.is_written) {
            Some(written) => self.quietly(|s| s.in_scope(scope, |s| s.resolve_type(written).ty)).ok()?,
            None => {
                let own = bound.iter().take(template.params.params.len()).cloned().collect();
                self.instantiate_class(template, own)
            }
        };
        self.types.as_record(ty)?;
        let is_template = guide.template.len() > template.params.params.len()
            || (guide.is_written && !guide.template.is_empty());
        Some(Deduction { ty, conversions, is_written: guide.is_written, is_template })
    }

    fn bound_by(&mut self, guide: Guide<'a>, args: &[Arg<'a>], span: Span) -> Option<Rc<[TArg]>> {
        let params = &guide.function.params;
        let least = params.iter().filter(|param| param.default.is_none() && !is_pack(param)).count();
        if args.len() < least || (args.len() > params.len() && !params.iter().any(is_pack)) {
            return None;
        }
        let mut deduced = vec![None; guide.template.len()];
        for (n, param) in params.iter().enumerate() {
            let pattern = self.in_scope(guide.scope, |s| s.param_pattern(&param.ty, guide.template));
            if is_pack(param) {
                self.deduce_rest(&pattern, args.get(n..).unwrap_or(&[]), &mut deduced).ok()?;
                break;
            }
            let Some(arg) = args.get(n) else { break };
            if !self.deduce_from_arg(&pattern, arg, &mut deduced) {
                return None;
            }
        }
        self.finish_deduction(guide.template, deduced, guide.scope, span)
    }

    /// A class without constructors, all of whose parameters have default arguments.
    fn deduction_by_defaults(&mut self, template: &ClassTemplate<'a>, span: Span) -> Option<Deduction> {
        let params = &template.params.params;
        let bound = self.finish_deduction(params, vec![None; params.len()], template.scope, span)?;
        let ty = self.instantiate_class(template, bound);
        Some(Deduction { ty, conversions: Vec::new(), is_written: false, is_template: false })
    }
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
