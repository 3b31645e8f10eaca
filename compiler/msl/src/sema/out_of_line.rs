//! Members defined outside of their class: `template <typename T> int S<T>::f() { … }`, and explicit
//! specialisations of members, `template <> int S<float>::f() { … }`, which take precedence over the body in
//! the class.
//!
//! Invariant: a definition serves a class only if the scope it is written with leads to that very class.

use super::checker::{Checker, FnDeclId, TArg};
use super::function::Definition;
use super::lookup::Found;
use super::scopes::ScopeId;
use super::table::{ItemId, function_key};
use crate::ast::{self, FunctionBody, ItemKind, TemplateParams};
use crate::hir::{FuncId, RecordId, TyKind};
use anymetal_diagnostics::Span;
use std::rc::Rc;

/// How well a definition's scope fits a class; the greater one wins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Fit {
    /// `S<T>::f`, for all arguments.
    Any,
    /// `S<T *>::f`, for some.
    Some,
    /// `S<float>::f`, for this class alone.
    Exact,
}

impl<'a> Checker<'a> {
    /// The body of a member function that is defined outside of its class, with at least that fit.
    pub(super) fn out_of_line_definition(
        &mut self,
        id: FuncId,
        decl_id: FnDeclId,
        owner: RecordId,
        least: Fit,
    ) -> Option<Definition<'a>> {
        let declared = self.functions.decl(decl_id).ast;
        let key = function_key(&declared.name);
        let params = self.functions.inst(id).params.clone();
        let class = self.records.get(owner).name?;
        let mut best: Option<(Fit, Definition<'a>)> = None;
        for item in self.table.out_of_line(class) {
            let entry = self.table.entry(item);
            let ItemKind::Function(ast) = &entry.item.kind else { continue };
            if function_key(&ast.name) != key
                || !matches!(ast.body, FunctionBody::Block(_))
                || ast.method != declared.method
            {
                continue;
            }
            let Some((fit, scope)) = self.out_of_line_scope(item, ast.scope.as_ref(), owner) else {
                continue;
            };
            if fit < least || best.as_ref().is_some_and(|(known, _)| *known >= fit) {
                continue;
            }
            let signature = self.quietly(|s| s.in_scope(scope, |s| s.signature(ast)));
            if matches!(signature, Ok(Some((own, _))) if Self::are_same_params(&own, &params)) {
                best = Some((fit, Definition { ast, scope }));
            }
        }
        best.map(|(_, definition)| definition)
    }

    /// Whether a definition written with this scope (`S<T>` in `S<T>::f`) serves the class; and the scope
    /// in which it is to be checked.
    pub(super) fn out_of_line_scope(
        &mut self,
        item: ItemId,
        written: Option<&'a ast::Path>,
        owner: RecordId,
    ) -> Option<(Fit, ScopeId)> {
        let written = written?;
        let template = self.table.entry(item).item.template.as_ref();
        let around = self.scopes.of_item(item);
        let class = self.records.get(owner);
        let (inside, args) = (class.scope, class.args.clone());
        match template {
            Some(template) if !template.params.is_empty() => {
                if !self.may_name_class(written, around, owner) {
                    return None;
                }
                let last = written.segments.last()?;
                let Some(patterns) = &last.args else { return Some((Fit::Any, inside)) };
                let is_partial = patterns.iter().any(|arg| !names_parameter(arg, template));
                let bound = self.deduced_from_written(template, patterns, around, &args, last.span)?;
                let fit = if is_partial { Fit::Some } else { Fit::Any };
                Some((fit, self.scopes.template_scope(&template.params, &bound, inside)))
            }
            _ => {
                let resolve = |s: &mut Self| s.in_scope(around, |s| s.resolve_type_path(written));
                let ty = self.without_access(|s| s.quietly(resolve)).ok()??;
                let is_class = matches!(*self.types.kind(ty.ty), TyKind::Record(record) if record == owner);
                is_class.then_some((Fit::Exact, inside))
            }
        }
    }

    /// False if the path leads to another class template of the same name, in another namespace.
    fn may_name_class(&mut self, written: &'a ast::Path, around: ScopeId, owner: RecordId) -> bool {
        let Some(known) = self.records.get(owner).template.as_ref().map(|known| known.primary.id) else {
            return true;
        };
        let mut within = None;
        let last = written.segments.len() - 1;
        for (n, segment) in written.segments.iter().enumerate() {
            let found = match within {
                Some(ns) => self.lookup_in_namespace(ns, segment.name),
                None => self.in_scope(around, |s| s.lookup(segment.name)),
            };
            match found {
                Some(Found::Namespace(ns)) => within = Some(ns),
                // A class around it: its members are not looked into here.
                Some(Found::ClassTemplate(_)) if n < last => return true,
                Some(Found::ClassTemplate(template)) => return template.primary.id == known,
                _ => return true,
            }
        }
        true
    }

    /// The template's arguments with which what is written gives those arguments.
    pub(super) fn deduced_from_written(
        &mut self,
        template: &'a TemplateParams,
        written: &'a [ast::TemplateArg],
        scope: ScopeId,
        args: &[TArg],
        span: Span,
    ) -> Option<Rc<[TArg]>> {
        let params = &template.params;
        let patterns: Vec<_> =
            self.in_scope(scope, |s| written.iter().map(|arg| s.arg_pattern(arg, params)).collect());
        let mut deduced = vec![None; params.len()];
        if !self.deduce_args(&patterns, args, &mut deduced) {
            return None;
        }
        self.finish_deduction(params, deduced, scope, span)
    }
}

/// Whether a written argument is one of the template's parameters and nothing else.
fn names_parameter(arg: &ast::TemplateArg, template: &TemplateParams) -> bool {
    let path = match arg {
        ast::TemplateArg::Type(ast::Type { kind: ast::TypeKind::Path(path), .. }) => path,
        ast::TemplateArg::Type(ast::Type { kind: ast::TypeKind::Pack(inner), .. }) => match &inner.kind {
            ast::TypeKind::Path(path) => path,
            _ => return false,
        },
        ast::TemplateArg::Expr(ast::Expr { kind: ast::ExprKind::Path(path), .. }) => path,
        _ => return false,
    };
    let [only] = path.segments.as_slice() else { return false };
    only.args.is_none() && template.params.iter().any(|param| param.name == Some(only.name))
}
