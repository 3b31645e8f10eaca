//! Conversions by constructors and conversion operators.
//!
//! Invariant: a conversion has at most one of them: their own arguments and results convert without.

use super::{Conversion, Rank};
use crate::ast::{FunctionBody, FunctionName, OperatorName};
use crate::hir::{Expr, ExprKind, FuncId, QualTy, RecordId, Ty};
use crate::sema::call::Arg;
use crate::sema::checker::{Checker, FnDeclId};
use crate::sema::function::FnInst;
use crate::sema::init::Memberwise;
use anymetal_diagnostics::Span;
use std::rc::Rc;

/// How a class takes part in a conversion.
#[derive(Clone, Copy, Debug)]
pub(super) enum UserConversion {
    Constructor(FuncId),
    /// With the conversion of its result.
    Operator(FuncId, Conversion),
}

impl UserConversion {
    /// How good it is.
    pub(super) fn conversion(self) -> Conversion {
        let (func, detail) = match self {
            Self::Constructor(func) => (func, 0),
            Self::Operator(func, second) => (func, (second.rank as u8) << 4 | second.detail.min(7)),
        };
        Conversion { rank: Rank::User, detail, through: Some(func) }
    }
}

impl<'a> Checker<'a> {
    /// The constructor or conversion operator that turns the expression into a `to`.
    pub(super) fn user_conversion(&mut self, expr: &Expr, to: Ty) -> Option<UserConversion> {
        if let Some(record) = self.types.as_record(to) {
            self.declare_members(record);
            if self.records.inherits_constructors(record) {
                let _ = self.quietly(|s| s.complete_record(record, expr.span));
            }
            let constructors = self.records.get(record).constructors.clone();
            if let Some(found) = self.converting_constructor(&constructors, expr) {
                return Some(UserConversion::Constructor(found));
            }
        }
        let from = self.types.as_record(expr.ty.ty)?;
        let (func, second) = self.conversion_operator(from, expr, to, false)?;
        Some(UserConversion::Operator(func, second))
    }

    /// The result of the conversion operator, explicit or not, by which a cast or a condition makes a `to` of
    /// an object.
    pub(in crate::sema) fn cast_by_operator(&mut self, expr: &Expr, to: Ty) -> Option<Expr> {
        let from = self.types.as_record(expr.ty.ty)?;
        let (operator, _) = self.conversion_operator(from, expr, to, true)?;
        Some(self.call_function(operator, Some(expr.clone()), Vec::new(), expr.span))
    }

    /// The value of an expression: of an object, a copy by the functions that its class and its members have.
    pub(in crate::sema) fn copied(&mut self, expr: Expr) -> Expr {
        if !expr.is_place || !self.copies_by_code(Memberwise::Construct, expr.ty.ty) {
            return self.values().rvalue(expr);
        }
        let Some(constructor) = self.copy_constructor(&expr) else { return self.copied_parts(expr) };
        let (ty, span) = (expr.ty.ty, expr.span);
        let param = self.functions.inst(constructor).params[0];
        let is_elsewhere = self.types.referent(param.ty).is_some_and(|to| to.space != expr.ty.space);
        let expr = if is_elsewhere {
            let bytes = self.values().rvalue(expr);
            self.materialize(bytes)
        } else {
            expr
        };
        let mut args = vec![self.perform(expr, param)];
        self.default_arguments(constructor, &mut args, span);
        Expr::value(ExprKind::Construct(constructor, args), ty, span)
    }

    /// The copy constructor with code that takes the object best.
    fn copy_constructor(&mut self, expr: &Expr) -> Option<FuncId> {
        let record = self.types.as_record(expr.ty.ty).filter(|_| expr.is_place)?;
        let mut best: Option<(Conversion, FuncId)> = None;
        for decl in self.records.get(record).constructors.clone() {
            let data = self.functions.decl(decl);
            let has_code = matches!(data.ast.body, FunctionBody::Block(_) | FunctionBody::None);
            if !has_code || data.template.is_some() || data.ast.params.is_empty() {
                continue;
            }
            let Some(func) = self.instantiate_function(decl, Rc::from([]), expr.span) else { continue };
            let Some(&param) = self.functions.inst(func).params.first() else { continue };
            if self.types.referent(param.ty).is_none_or(|to| to.ty != expr.ty.ty) {
                continue;
            }
            let Some(conversion) = self.conversion_of(expr, param, false) else { continue };
            if best.is_none_or(|(known, _)| conversion < known) {
                best = Some((conversion, func));
            }
        }
        best.map(|(_, func)| func)
    }

    fn converting_constructor(&mut self, constructors: &[FnDeclId], expr: &Expr) -> Option<FuncId> {
        let usable: Vec<FnDeclId> = constructors
            .iter()
            .copied()
            .filter(|&id| !self.functions.decl(id).ast.specifiers.is_explicit)
            .collect();
        if usable.is_empty() {
            return None;
        }
        self.single_argument_candidate(&usable, expr)
    }

    /// The best one-argument constructor without user conversions of the argument.
    fn single_argument_candidate(&mut self, decls: &[FnDeclId], expr: &Expr) -> Option<FuncId> {
        let mut best: Option<(Conversion, FuncId)> = None;
        for &decl in decls {
            let args = [Arg::Expr(expr.clone())];
            let Some(func) =
                self.quietly(|s| s.candidate_function(decl, None, &args, expr.span).ok()).ok().flatten()
            else {
                continue;
            };
            let inst: &FnInst<'a> = self.functions.inst(func);
            let Some(&param) = inst.params.first() else { continue };
            let Some(conversion) = self.conversion_of(expr, param, false) else { continue };
            if best.is_none_or(|(known, _)| conversion < known) {
                best = Some((conversion, func));
            }
        }
        best.map(|(_, func)| func)
    }

    /// The conversion operator of `from` whose result converts to `to`; an explicit one where these count.
    fn conversion_operator(
        &mut self,
        from: RecordId,
        expr: &Expr,
        to: Ty,
        is_explicit: bool,
    ) -> Option<(FuncId, Conversion)> {
        self.declare_members(from);
        let mut operators = self.records.get(from).conversions.clone();
        for base in self.records.bases_of(from) {
            operators.extend(self.records.get(base).conversions.iter().copied());
        }
        let mut best: Option<(Conversion, Conversion, FuncId)> = None;
        for decl in operators {
            if self.functions.decl(decl).ast.specifiers.is_explicit && !is_explicit {
                continue;
            }
            let Some(func) = self.conversion_candidate(decl, to) else { continue };
            let Some(object) = self.object_conversion(func, expr) else { continue };
            let Some(ret) = self.functions.inst(func).ret else { continue };
            let value = self.stand_in(ret, expr.span);
            let Some(second) = self.conversion_of(&value, QualTy::plain(to), false) else { continue };
            if best.is_none_or(|(first, known, _)| (object, second) < (first, known)) {
                best = Some((object, second, func));
            }
        }
        best.map(|(_, second, func)| (func, second))
    }

    /// A conversion operator's instance; for a template, deduced from the wanted type.
    fn conversion_candidate(&mut self, decl: FnDeclId, to: Ty) -> Option<FuncId> {
        let data = self.functions.decl(decl);
        let (ast, template, scope, span) = (data.ast, data.template, data.scope, data.ast.span);
        let args = match template {
            None => Rc::from([]),
            Some(template) => {
                let FunctionName::Operator(OperatorName::Conversion(ty)) = &ast.name else {
                    return None;
                };
                let pattern = self.in_scope(scope, |s| s.pattern(ty, &template.params));
                let mut deduced = vec![None; template.params.len()];
                if !self.deduce(&pattern, QualTy::plain(to), &mut deduced) {
                    return None;
                }
                self.finish_deduction(&template.params, deduced, scope, span)?
            }
        };
        self.quietly(|s| s.instantiate_function(decl, args, span)).ok().flatten()
    }

    /// An expression of a type, for asking about conversions only.
    pub(in crate::sema) fn stand_in(&mut self, ty: QualTy, span: Span) -> Expr {
        match self.types.referent(ty.ty) {
            Some(to) => Expr::place(ExprKind::Undef, to, span),
            None => Expr::value(ExprKind::Undef, ty.ty, span),
        }
    }

    pub(super) fn perform_user(&mut self, expr: Expr, to: Ty) -> Expr {
        let span = expr.span;
        match self.user_conversion(&expr, to) {
            Some(UserConversion::Constructor(func)) => {
                let param = self.functions.inst(func).params[0];
                let mut args = vec![self.perform(expr, param)];
                self.default_arguments(func, &mut args, span);
                self.constructed(func, args, to, span)
            }
            Some(UserConversion::Operator(func, _)) => {
                let value = self.call_function(func, Some(expr), Vec::new(), span);
                self.perform_value(value, to)
            }
            None => {
                self.report_no_conversion(&expr, QualTy::plain(to), "");
                self.poison(span)
            }
        }
    }

    /// Converts a class value to the arithmetic type (or pointer) its only fitting conversion operator
    /// gives, for the builtin operators; others are left alone. Explicit operators do not fit.
    pub(in crate::sema) fn builtin_operand(&mut self, expr: Expr) -> Expr {
        let Some(record) = self.types.as_record(expr.ty.ty) else { return expr };
        self.declare_members(record);
        for decl in self.records.get(record).conversions.clone() {
            if self.functions.decl(decl).template.is_some()
                || self.functions.decl(decl).ast.specifiers.is_explicit
            {
                continue;
            }
            let Some(func) = self.instantiate_function(decl, Rc::from([]), expr.span) else {
                continue;
            };
            if self.object_conversion(func, &expr).is_some() {
                let span = expr.span;
                return self.call_function(func, Some(expr), Vec::new(), span);
            }
        }
        for (base, _) in self.records.get(record).bases.clone() {
            if !self.records.get(base).conversions.is_empty() {
                let ty = self.records.get(base).ty;
                let place = if expr.is_place { expr } else { self.materialize(expr) };
                let place = self.upcast_place(place, ty);
                return self.builtin_operand(place);
            }
        }
        expr
    }
}
