//! Functions that are named but not called: chosen by a function type, or the only one there is.

use crate::ast::TemplateArg;
use crate::hir::{FuncId, QualTy, Ty};
use crate::sema::checker::{Checker, FnDeclId};
use crate::sema::function;
use crate::sema::template_args::ExplicitArg;
use anymetal_diagnostics::{Diagnostic, Span};
use std::rc::Rc;

/// Further candidates are not listed.
const MAX_CANDIDATES_SHOWN: usize = 6;

impl<'a> Checker<'a> {
    /// The function of an overload set that has exactly this function type (or pointer to it).
    pub(in crate::sema) fn function_for_type(
        &mut self,
        decls: &[FnDeclId],
        args: Option<&'a [TemplateArg]>,
        ty: Ty,
        span: Span,
    ) -> Option<FuncId> {
        let Some((ret, params)) = function::function_type(&self.types, ty) else {
            let shown = self.types.display(ty);
            self.error("not-a-function-type", span, format!("a function cannot become a `{shown}`"));
            return None;
        };
        let explicit = args.map(|args| self.explicit_args(args));
        let mut found: Vec<(FnDeclId, FuncId)> = Vec::new();
        for &decl in decls {
            if let Some(func) = self.function_of_type(decl, explicit.as_deref(), ret, &params, span)
                && !found.iter().any(|&known| self.is_same_function(known, func))
            {
                found.push((decl, func));
            }
        }
        // Plain functions win over templates, special templates over general ones.
        if found.iter().any(|(decl, _)| self.functions.decl(*decl).template.is_none()) {
            found.retain(|(decl, _)| self.functions.decl(*decl).template.is_none());
        }
        let mut best = *found.first()?;
        for &(decl, func) in &found[1..] {
            if self.is_more_specialised(decl, best.0, usize::MAX) {
                best = (decl, func);
            }
        }
        Some(best.1)
    }

    /// Whether a function is one that was found before, perhaps declared again.
    fn is_same_function(&self, (decl, known): (FnDeclId, FuncId), func: FuncId) -> bool {
        known == func
            || (self.functions.decl(decl).template.is_none()
                && Self::are_same_params(
                    &self.functions.inst(known).params,
                    &self.functions.inst(func).params,
                ))
    }

    fn function_of_type(
        &mut self,
        decl: FnDeclId,
        explicit: Option<&[ExplicitArg<'a>]>,
        ret: QualTy,
        params: &[QualTy],
        span: Span,
    ) -> Option<FuncId> {
        if self.functions.needs_object(decl) || self.functions.decl(decl).ast.params.len() != params.len() {
            return None;
        }
        let data = self.functions.decl(decl);
        let (template, scope) = (data.template, data.scope);
        let args = match template {
            None => Rc::from([]),
            Some(template) => {
                let explicit = explicit.map_or_else(Vec::new, <[ExplicitArg<'a>]>::to_vec);
                let mut deduced = self.quietly(|s| s.explicit_prefix(decl, explicit, span)).ok().flatten()?;
                let patterns = self.patterns_of(decl);
                for (pattern, &param) in patterns.iter().zip(params) {
                    if !self.deduce(pattern, param, &mut deduced) {
                        return None;
                    }
                }
                self.finish_deduction(&template.params, deduced, scope, span)?
            }
        };
        let func = self.quietly(|s| s.instantiate_function(decl, args, span)).ok().flatten()?;
        let same = self.functions.inst(func).params.iter().zip(params).all(|(a, b)| a.ty == b.ty);
        (same && self.functions.inst(func).ret.is_none_or(|own| own == ret)).then_some(func)
    }

    /// The only function that a name with template arguments can mean.
    pub(in crate::sema) fn function_without_call(
        &mut self,
        decls: &[FnDeclId],
        args: Option<&'a [TemplateArg]>,
        span: Span,
    ) -> Option<FuncId> {
        let explicit = args.map(|args| self.explicit_args(args));
        if explicit.iter().flatten().any(|arg| matches!(arg, ExplicitArg::Error)) {
            return None;
        }
        let mut found: Vec<FuncId> = Vec::new();
        let mut reasons = Vec::new();
        for &decl in decls {
            match self.instance_without_call(decl, explicit.as_deref(), span) {
                Ok(func) => {
                    let params = &self.functions.inst(func).params;
                    if !found.iter().any(|&f| Self::are_same_params(&self.functions.inst(f).params, params)) {
                        found.push(func);
                    }
                }
                Err(errors) => reasons.extend(errors),
            }
        }
        match found.as_slice() {
            [only] => Some(*only),
            [] => {
                let message = "no function template fits these arguments";
                let first = reasons.into_iter().next();
                self.report(
                    first.unwrap_or_else(|| Diagnostic::error("no-matching-function", span, message)),
                );
                None
            }
            _ => {
                let message = "this name means several functions";
                let mut diagnostic = Diagnostic::error("ambiguous-function", span, message);
                for &func in found.iter().take(MAX_CANDIDATES_SHOWN) {
                    diagnostic = diagnostic.with_note(self.functions.inst(func).span, "candidate");
                }
                self.report(diagnostic);
                None
            }
        }
    }

    fn instance_without_call(
        &mut self,
        decl: FnDeclId,
        explicit: Option<&[ExplicitArg<'a>]>,
        span: Span,
    ) -> Result<FuncId, Vec<Diagnostic>> {
        let data = self.functions.decl(decl);
        let (template, scope) = (data.template, data.scope);
        let result = self.quietly(|s| {
            let args = match template {
                None => Rc::from([]),
                Some(template) => {
                    let explicit = explicit.map_or_else(Vec::new, <[ExplicitArg<'a>]>::to_vec);
                    s.bind_args(&template.params, &[], explicit, scope, span)?
                }
            };
            s.instantiate_function(decl, args, span)
        })?;
        result.ok_or_else(Vec::new)
    }
}
