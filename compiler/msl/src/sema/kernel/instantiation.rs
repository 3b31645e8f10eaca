//! The function of an entry point: itself, or the specialisation that an explicit instantiation names.

use super::Entrance;
use crate::ast::{self, ItemKind};
use crate::hir::{FuncId, QualTy};
use crate::sema::checker::{Checker, FnDeclId};
use crate::sema::lookup::Found;
use crate::sema::scopes::ScopeId;
use crate::sema::spelling;
use crate::sema::template_args::ExplicitArg;
use anymetal_diagnostics::{Diagnostic, Span};
use std::rc::Rc;

impl<'a> Checker<'a> {
    /// The function of an entry point.
    pub(in crate::sema) fn kernel_function(&mut self, entrance: &Entrance) -> Option<FuncId> {
        let entry = self.table.entry(entrance.item);
        let scope = self.scopes.of_item(entrance.item);
        match &entry.item.kind {
            ItemKind::Function(function) if entry.item.template.is_some() => {
                let name = function.name.ordinary()?;
                let found = self.in_scope(scope, |s| s.lookup(name));
                let Some(Found::Functions(decls)) = found else { return None };
                self.instantiated_by_signature(
                    &decls,
                    function.specialisation.as_deref(),
                    &function.params,
                    scope,
                    entrance.span,
                )
            }
            ItemKind::Function(function) => {
                let decl = self.functions.declare(function, None, scope, None);
                self.instantiate_function(decl, Rc::from([]), function.span)
            }
            ItemKind::ExplicitInstantiation(instantiation) => {
                self.in_scope(scope, |s| s.instantiated(instantiation, scope))
            }
            _ => None,
        }
    }

    fn instantiated(
        &mut self,
        instantiation: &'a ast::ExplicitInstantiation,
        scope: ScopeId,
    ) -> Option<FuncId> {
        let path = &instantiation.path;
        let target = match self.resolve_path(path) {
            Ok(target) => target,
            Err(miss) => {
                self.report_miss(miss, "template");
                return None;
            }
        };
        let Found::Functions(decls) = target.found else {
            if !matches!(target.found, Found::Error) {
                let message = format!("`{}` is not a function template", spelling::path(path));
                self.error("not-a-template", path.span, message);
            }
            return None;
        };
        let templates: Vec<FnDeclId> =
            decls.iter().copied().filter(|&decl| self.functions.decl(decl).template.is_some()).collect();
        match &instantiation.params {
            Some(params) => self.instantiated_by_signature(&templates, target.args, params, scope, path.span),
            None => self.function_without_call(&templates, target.args, path.span),
        }
    }

    /// The specialisation that a written signature names.
    fn instantiated_by_signature(
        &mut self,
        decls: &[FnDeclId],
        args: Option<&'a [ast::TemplateArg]>,
        params: &'a [ast::Param],
        scope: ScopeId,
        span: Span,
    ) -> Option<FuncId> {
        let errors = self.diagnostics.error_count();
        let (explicit, types) = self.in_scope(scope, |s| {
            let explicit = args.map_or_else(Vec::new, |args| s.explicit_args(args));
            let types: Vec<QualTy> = params.iter().map(|param| s.resolve_param_type(&param.ty)).collect();
            (explicit, types)
        });
        if self.diagnostics.error_count() > errors {
            return None;
        }
        let mut mismatch = None;
        for &decl in decls {
            match self.instance_of_signature(decl, explicit.clone(), &types, span) {
                Ok(func) => return Some(func),
                Err(found) => mismatch = mismatch.or(found),
            }
        }
        let mut diagnostic = Diagnostic::error(
            "no-matching-template",
            span,
            "no template has this signature with these arguments",
        );
        if let Some(func) = mismatch {
            diagnostic = diagnostic.with_note(self.functions.inst(func).span, "this one's parameters differ");
        }
        self.report(diagnostic);
        None
    }

    fn instance_of_signature(
        &mut self,
        decl: FnDeclId,
        explicit: Vec<ExplicitArg<'a>>,
        types: &[QualTy],
        span: Span,
    ) -> Result<FuncId, Option<FuncId>> {
        if self.functions.decl(decl).ast.params.len() != types.len() {
            return Err(None);
        }
        let args =
            self.quietly(|s| s.args_with_deduction(decl, explicit, types)).ok().flatten().ok_or(None)?;
        let func = self.quietly(|s| s.instantiate_function(decl, args, span)).ok().flatten().ok_or(None)?;
        // Top-level qualifiers of parameters do not matter.
        let same = self.functions.inst(func).params.iter().zip(types).all(|(a, b)| a.ty == b.ty);
        if same { Ok(func) } else { Err(Some(func)) }
    }
}
