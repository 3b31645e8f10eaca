//! Calls: what is called, with which object and arguments.
//!
//! From the syntax of the callee to a set of declarations, which [`super::overload`] chooses from;
//! `arguments` are checked before it is known what they are for, and converted (`known`) once it is.

mod arguments;
mod associated;
mod known;
mod method;

use super::checker::{Checker, FnDeclId, TArg};
use super::construct::ConstructArgs;
use super::lookup::Found;
use super::path::{Miss, Target};
use crate::ast::{self, ExprKind as AstKind, InitClause, TemplateArg};
use crate::hir::Expr;
use crate::token::Name;
use anymetal_diagnostics::Span;
use std::rc::Rc;

/// An argument before it is known what parameter it is for.
#[derive(Clone, Debug)]
pub(super) enum Arg<'a> {
    Expr(Expr),
    /// `{…}`
    List(&'a [InitClause], Span),
    /// A name of functions.
    Functions(Rc<[FnDeclId]>, Option<&'a [TemplateArg]>, Span),
}

impl<'a> Checker<'a> {
    /// `callee(args)`.
    pub(super) fn call_expr(&mut self, callee: &'a ast::Expr, args: &'a [ast::Expr], span: Span) -> Expr {
        match &callee.kind {
            AstKind::Path(path) => self.path_call(path, args, span),
            AstKind::Member { base, arrow, member } => self.member_call(base, *arrow, member, args, span),
            AstKind::DecltypePath(inner, path) => {
                let outer = self.decltype(inner);
                match self.resolve_in_type(outer, path) {
                    Ok(target) => self.target_call(target, path, args, span),
                    Err(miss) => {
                        self.report_miss(miss, "name");
                        self.poison(span)
                    }
                }
            }
            _ => {
                let function = self.expr(callee);
                let Some(args) = self.call_args(args) else { return self.poison(span) };
                self.call_value(function, args, span)
            }
        }
    }

    fn path_call(&mut self, path: &'a ast::Path, args: &'a [ast::Expr], span: Span) -> Expr {
        if let [only] = path.segments.as_slice()
            && only.name.as_str().starts_with("__am_")
        {
            return self.builtin_call(only, args, span);
        }
        let query = self.names.is_function_constant_defined;
        if path.segments.last().is_some_and(|last| last.name == query) {
            return self.function_constant_defined(args, span);
        }
        match self.resolve_path(path) {
            Ok(target) => self.target_call(target, path, args, span),
            Err(Miss::Unknown { name, span: at, within: None }) => {
                let Some(args) = self.call_args(args) else {
                    self.report_miss(Miss::Unknown { name, span: at, within: None }, "function");
                    return self.poison(span);
                };
                if let Some(result) = self.compiler_builtin(name, &args, span) {
                    return result;
                }
                let decls = self.argument_dependent(name, &args, &[]);
                if decls.is_empty() {
                    self.report_miss(Miss::Unknown { name, span: at, within: None }, "function");
                    return self.poison(span);
                }
                self.overloaded_call(name.as_str(), &decls, None, None, args, span)
            }
            Err(miss) => {
                self.report_miss(miss, "function");
                self.poison(span)
            }
        }
    }

    fn target_call(
        &mut self,
        target: Target<'a>,
        path: &'a ast::Path,
        args: &'a [ast::Expr],
        span: Span,
    ) -> Expr {
        if let Some(ty) = self.type_of_found(&target.found) {
            let Some(args) = self.call_args(args) else { return self.poison(span) };
            return self.construct(ty, ConstructArgs::Paren(args), span);
        }
        let name = path.segments.last().map_or(Name::EMPTY, super::path::segment_key);
        match target.found {
            Found::Error => self.poison(span),
            Found::Functions(decls) => {
                let explicit = target.args.map(|args| self.explicit_args(args));
                let Some(args) = self.call_args(args) else { return self.poison(span) };
                let is_member = decls.iter().any(|&decl| self.functions.decl(decl).owner.is_some());
                let mut all = decls.to_vec();
                if !target.qualified && !is_member {
                    let more = self.argument_dependent(name, &args, &all);
                    all.extend(more);
                }
                let object = if is_member { self.this_object(span) } else { None };
                let object = object.map(|object| self.as_naming_class(object, path));
                self.overloaded_call(name.as_str(), &all, explicit, object, args, span)
            }
            Found::TArg(TArg::Function(func)) => {
                let Some(args) = self.call_args(args) else { return self.poison(span) };
                self.call_known(func, None, args, span)
            }
            Found::ClassTemplate(template) => {
                let Some(args) = self.call_args(args) else { return self.poison(span) };
                self.construct_deduced(&template, args, span)
            }
            _ => {
                let function = self.target_value(target, path);
                let Some(args) = self.call_args(args) else { return self.poison(span) };
                self.call_value(function, args, span)
            }
        }
    }
}
