//! Variables with static storage: constants outside of functions, static members, variable templates.
//!
//! Invariant: a variable's value is worked out once, when it is first mentioned; one that depends on itself
//! is found by being [`GlobalValue::Pending`].

use super::{GlobalValue, GlobalVarId};
use crate::ast::{self, ItemKind, TemplateParams};
use crate::hir::{self, Expr, ExprKind, QualTy, Ty};
use crate::sema::checker::{Checker, TArg};
use crate::sema::diagnostics::Deferred;
use crate::sema::fn_context::Returns;
use crate::sema::lookup::VarDecl;
use crate::sema::out_of_line::Fit;
use crate::sema::scopes::ScopeId;
use crate::sema::template_args::ExplicitArg;
use crate::sema::{evaluate, kernel};
use anymetal_diagnostics::{Diagnostic, Span};
use anymetal_ir::Space;
use std::rc::Rc;

impl<'a> Checker<'a> {
    /// The variable a name stands for; for a template, with its arguments.
    pub(in crate::sema) fn variable_global(
        &mut self,
        decl: VarDecl<'a>,
        explicit: Option<Vec<ExplicitArg<'a>>>,
        span: Span,
    ) -> Option<GlobalVarId> {
        let args: Rc<[TArg]> = match (decl.template, explicit) {
            (Some(template), Some(explicit)) => {
                self.bind_args(&template.params, &[], explicit, decl.scope, span)?
            }
            (Some(_), None) => {
                let name = decl.variable.declarator.name;
                self.error(
                    "template-arguments",
                    span,
                    format!("variable template `{name}` needs template arguments"),
                );
                return None;
            }
            (None, Some(_)) => {
                let name = decl.variable.declarator.name;
                self.error("not-a-template", span, format!("`{name}` is not a template"));
                return None;
            }
            (None, None) => Rc::from([]),
        };
        if let Some(id) = self.globals.known(&decl, &args) {
            self.diagnostics.report_deferred(Deferred::Global(id));
            return Some(id);
        }
        let id = self.globals.add(decl, args.clone());
        self.once(Deferred::Global(id), |s| s.define_global(id, decl, &args, span));
        Some(id)
    }

    fn define_global(&mut self, id: GlobalVarId, decl: VarDecl<'a>, args: &Rc<[TArg]>, span: Span) {
        let (variable, scope) = self.select_variable(&decl, args);
        let name = variable.declarator.name;
        let work = |s: &mut Self| {
            s.in_function(Returns::Type(QualTy::plain(Ty::VOID)), |s| {
                s.in_scope(scope, |s| s.global_value_of(variable, &decl))
            })
        };
        let defined = if args.is_empty() {
            let trace = self.diagnostics.replace_trace(None);
            let defined = self.deeper(span, work);
            self.diagnostics.replace_trace(trace);
            defined
        } else {
            let text = |s: &Self| {
                format!(
                    "in instantiation of variable template `{name}<{}>` requested here",
                    s.show_args(args)
                )
            };
            self.instantiating(text, span, work)
        };
        let (ty, value) = defined.flatten().unwrap_or((QualTy::plain(Ty::ERROR), GlobalValue::Failed));
        let global = self.globals.get_mut(id);
        global.ty = ty;
        global.value = value;
    }

    /// The definition that serves the template arguments, and the scope to check it in.
    fn select_variable(&mut self, decl: &VarDecl<'a>, args: &Rc<[TArg]>) -> (&'a ast::Variable, ScopeId) {
        let Some(template) = decl.template else { return (decl.variable, decl.scope) };
        let mut best: Option<(&'a ast::Variable, ScopeId, bool)> = None;
        for item in self.table.specialisations(decl.variable.declarator.name) {
            let entry = self.table.entry(item);
            let (ItemKind::Variable(variable), Some(params)) = (&entry.item.kind, &entry.item.template)
            else {
                continue;
            };
            let Some(written) = &variable.declarator.specialisation else { continue };
            let scope = self.scopes.of_item(item);
            if let Some(inner) = self.match_variable(template, params, written, scope, args, variable.span) {
                let is_full = params.params.is_empty();
                if best.is_none_or(|(.., full)| is_full && !full) {
                    best = Some((variable, inner, is_full));
                }
            }
        }
        match best {
            Some((variable, scope, _)) => (variable, scope),
            None => (decl.variable, self.scopes.template_scope(&template.params, args, decl.scope)),
        }
    }

    fn match_variable(
        &mut self,
        primary: &'a TemplateParams,
        params: &'a TemplateParams,
        written: &'a [ast::TemplateArg],
        scope: ScopeId,
        args: &Rc<[TArg]>,
        span: Span,
    ) -> Option<ScopeId> {
        let bound = self.deduced_from_written(params, written, scope, args, span)?;
        let inner = self.scopes.template_scope(&params.params, &bound, scope);
        let again = self.quietly(|s| {
            s.in_scope(inner, |s| {
                let explicit = s.explicit_args(written);
                s.bind_args(&primary.params, &[], explicit, scope, span)
            })
        });
        (again.ok().flatten()? == *args).then_some(inner)
    }

    fn global_value_of(
        &mut self,
        variable: &'a ast::Variable,
        decl: &VarDecl<'a>,
    ) -> Option<(QualTy, GlobalValue)> {
        if let Some(attribute) = self.function_constant_attribute(variable) {
            return self.function_constant(variable, attribute);
        }
        let least = if variable.init.is_some() { Fit::Exact } else { Fit::Any };
        if let Some((definition, scope)) = self.static_definition(decl, least) {
            return self.in_scope(scope, |s| s.value_of_definition(definition));
        }
        self.value_of_definition(variable)
    }

    fn value_of_definition(&mut self, variable: &'a ast::Variable) -> Option<(QualTy, GlobalValue)> {
        let (ty, value) = match &variable.init {
            Some(init) => self.initialised(variable, init)?,
            None if variable.attributes.iter().any(kernel::is_thread_attribute) => {
                return self.thread_variable(variable);
            }
            None => {
                // A constant object of a class with a default constructor is fine without an initialiser.
                let ty = self.resolve_type(&variable.ty);
                if self.types.as_record(ty.ty).is_none() {
                    self.report_no_initialiser(variable, ty);
                    return None;
                }
                (ty, self.value_init(ty.ty, variable.span))
            }
        };
        self.finish_global(ty, value, variable)
    }

    fn report_no_initialiser(&mut self, variable: &ast::Variable, ty: QualTy) {
        if !ty.ty.is_error() {
            let name = variable.declarator.name;
            let message = format!("constant `{name}` has no initialiser");
            self.error("uninitialised-constant", variable.span, message);
        }
    }

    /// `uint gid [[thread_position_in_grid]];`: as a parameter of the kernel would be, for all functions.
    fn thread_variable(&mut self, variable: &'a ast::Variable) -> Option<(QualTy, GlobalValue)> {
        let ty = self.resolve_type(&variable.ty);
        let attribute = variable.attributes.iter().find(|a| kernel::is_thread_attribute(a))?;
        if ty.ty.is_error() {
            return None;
        }
        let Some((query, components)) = kernel::global_thread_attribute(attribute) else {
            let message = format!("`{}` of a variable outside of functions is not supported", attribute.name);
            let hint = "make it a parameter of the kernel";
            let span = attribute.span;
            self.report(Diagnostic::error("unsupported-feature", span, message).with_hint(hint));
            return None;
        };
        let name = attribute.name.as_str();
        let (elem, len) = self.thread_fact_type(name, components, ty, variable.span)?;
        let fact = ExprKind::ThreadFact { query, elem, len };
        let value = Expr::value(fact, ty.ty, variable.span);
        Some((ty, GlobalValue::Derived(Rc::new(value))))
    }

    fn finish_global(
        &mut self,
        ty: QualTy,
        value: Expr,
        variable: &'a ast::Variable,
    ) -> Option<(QualTy, GlobalValue)> {
        if value.ty.ty.is_error() {
            return None;
        }
        let span = variable.span;
        match self.evaluate(&value) {
            Ok(constant) => {
                let bytes = evaluate::value_to_bytes(&self.types, ty.ty, &constant);
                let name = variable.declarator.name.to_string();
                let id = self.data.add_global(hir::Global { name, ty: ty.ty, bytes, span });
                Some((ty, GlobalValue::Constant(id)))
            }
            Err(problem) => {
                if evaluate::mentions_function_constant(&value) && self.function.locals.is_empty() {
                    return Some((ty, GlobalValue::Derived(Rc::new(value))));
                }
                let name = variable.declarator.name;
                let message = format!("the initialiser of `{name}` is not a constant expression");
                self.report_not_constant(span, message, problem);
                None
            }
        }
    }

    /// `const int S::x = 1;` for a static member, with at least that fit; and the scope to check it in.
    fn static_definition(&mut self, decl: &VarDecl<'a>, least: Fit) -> Option<(&'a ast::Variable, ScopeId)> {
        let record = self.scopes.record(decl.scope)?;
        let class = self.records.get(record).name?;
        let mut best: Option<(Fit, &'a ast::Variable, ScopeId)> = None;
        for item in self.table.out_of_line(class) {
            let ItemKind::Variable(variable) = &self.table.entry(item).item.kind else { continue };
            let declarator = &variable.declarator;
            if declarator.name != decl.variable.declarator.name || variable.init.is_none() {
                continue;
            }
            if let Some((fit, scope)) = self.out_of_line_scope(item, declarator.scope.as_ref(), record)
                && fit >= least
                && best.is_none_or(|(known, ..)| known < fit)
            {
                best = Some((fit, variable, scope));
            }
        }
        best.map(|(_, variable, scope)| (variable, scope))
    }

    /// A use of a variable with static storage.
    pub(in crate::sema) fn global_value(&mut self, id: GlobalVarId, span: Span) -> Expr {
        let global = self.globals.get(id);
        let ty = global.ty;
        match &global.value {
            GlobalValue::Constant(constant) => {
                let qual = QualTy { is_const: true, space: Space::Constant, ..ty };
                Expr::place(ExprKind::Global(*constant), qual, span)
            }
            GlobalValue::FunctionConstant(constant) => {
                Expr::value(ExprKind::FunctionConstant(*constant), ty.ty, span)
            }
            GlobalValue::Derived(expr) => Expr { span, ..Expr::clone(expr) },
            GlobalValue::Failed => self.poison(span),
            GlobalValue::Pending => {
                let name = global.decl.variable.declarator.name;
                self.error("recursive-constant", span, format!("the value of `{name}` depends on itself"));
                self.poison(span)
            }
        }
    }

    /// A constant table that has no name.
    pub(in crate::sema) fn constant_table(&mut self, ty: Ty, bytes: Vec<u8>, span: Span) -> Expr {
        let id = self.data.table(ty, bytes, span);
        let qual = QualTy { is_const: true, ..QualTy::in_space(ty, Space::Constant) };
        Expr::place(ExprKind::Global(id), qual, span)
    }
}
