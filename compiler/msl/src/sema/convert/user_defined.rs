//! Conversions by constructors and conversion operators.
//!
//! Invariant: a conversion has at most one of them: their own arguments and results convert without.

use super::{Conversion, Rank};
use crate::ast::{FunctionName, OperatorName};
use crate::hir::{Expr, ExprKind, FuncId, QualTy, RecordId, Ty};
use crate::sema::call::Arg;
use crate::sema::checker::{Checker, FnDeclId};
use crate::sema::function::{FnInst, Origin};
use crate::sema::init::Memberwise;
use crate::sema::special::Copying;
use anymetal_diagnostics::{Diagnostic, Span};
use std::rc::Rc;

/// How a class takes part in a conversion.
#[derive(Clone, Copy, Debug)]
pub(super) enum UserConversion {
    Constructor(FuncId),
    /// With the conversion of its result.
    Operator(FuncId, Conversion),
    /// Two that are equally good.
    Ambiguous(FuncId, FuncId),
}

/// A constructor or conversion operator that fits.
#[derive(Clone, Copy, Debug)]
struct UserCandidate {
    func: FuncId,
    /// The conversion of the expression to its parameter or object.
    first: Conversion,
    /// The conversion of the result.
    second: Conversion,
}

/// The best candidate, and another one that is as good.
type Best = (UserCandidate, Option<FuncId>);

impl UserConversion {
    /// How good it is.
    pub(super) fn conversion(self) -> Conversion {
        let (func, detail) = match self {
            Self::Constructor(func) => (Some(func), 0),
            Self::Operator(func, second) => (Some(func), (second.rank as u8) << 4 | second.detail.min(7)),
            // Neither better nor worse than others (C++14 [over.best.ics.10]).
            Self::Ambiguous(..) => (None, 0),
        };
        Conversion { rank: Rank::User, detail, through: func }
    }
}

impl<'a> Checker<'a> {
    /// The constructor or conversion operator that turns the expression into a `to`.
    pub(super) fn user_conversion(&mut self, expr: &Expr, to: Ty) -> Option<UserConversion> {
        let constructor = self.types.as_record(to).and_then(|record| {
            self.declare_members(record);
            if self.records.inherits_constructors(record) {
                let _ = self.quietly(|s| s.complete_record(record, expr.span));
            }
            let constructors = self.records.get(record).constructors.clone();
            self.converting_constructor(&constructors, expr)
        });
        let from = self.types.as_record(expr.ty.ty);
        let operator = from.and_then(|from| self.conversion_operator(from, expr, to, false));
        let ((best, rival), is_constructor) = match (constructor, operator) {
            (None, None) => return None,
            (Some(constructor), None) => (constructor, true),
            (None, Some(operator)) => (operator, false),
            (Some(constructor), Some(operator)) => {
                let (a, b) = (constructor.0, operator.0);
                if self.is_better_conversion(&b, &a, false) {
                    (operator, false)
                } else if self.is_better_conversion(&a, &b, false) {
                    (constructor, true)
                } else {
                    ((a, Some(b.func)), true)
                }
            }
        };
        Some(match rival {
            Some(rival) => UserConversion::Ambiguous(best.func, rival),
            None if is_constructor => UserConversion::Constructor(best.func),
            None => UserConversion::Operator(best.func, best.second),
        })
    }

    /// Whether one conversion is better than another; `by_result` also compares what follows.
    fn is_better_conversion(&mut self, a: &UserCandidate, b: &UserCandidate, by_result: bool) -> bool {
        if a.first != b.first {
            return a.first < b.first;
        }
        if by_result && a.second != b.second {
            return a.second < b.second;
        }
        let decl = |candidate: &UserCandidate| self.functions.inst(candidate.func).origin.decl();
        let (Some(x), Some(y)) = (decl(a), decl(b)) else { return false };
        match (self.functions.decl(x).template.is_some(), self.functions.decl(y).template.is_some()) {
            (false, true) => true,
            (true, true) => self.is_more_specialised(x, y, 1) && !self.is_more_specialised(y, x, 1),
            (true | false, false) => false,
        }
    }

    fn best_conversion(&mut self, candidates: &[UserCandidate]) -> Option<Best> {
        let mut best = *candidates.first()?;
        for candidate in &candidates[1..] {
            if self.is_better_conversion(candidate, &best, true) {
                best = *candidate;
            }
        }
        let rival = candidates.iter().find(|candidate| {
            !self.is_hidden_by(candidate.func, best.func)
                && !self.is_better_conversion(&best, candidate, true)
        });
        Some((best, rival.map(|rival| rival.func)))
    }

    /// Whether a constructor or operator is the other one, an overload of it for another address space, or
    /// hidden by it as a member of a base.
    fn is_hidden_by(&mut self, hidden: FuncId, by: FuncId) -> bool {
        let (a, b) = (self.functions.inst(hidden), self.functions.inst(by));
        if !Self::are_same_params(&a.params, &b.params) || a.ret != b.ret {
            return false;
        }
        let owner = |origin: Origin| origin.decl().and_then(|decl| self.functions.decl(decl).owner);
        match (owner(b.origin), owner(a.origin)) {
            (Some(derived), Some(base)) => self.base_path(derived, base).is_some(),
            _ => true,
        }
    }

    /// The conversion operators of a class and its bases.
    fn conversion_operators(&mut self, class: RecordId) -> Vec<FnDeclId> {
        self.declare_members(class);
        let mut operators = self.records.get(class).conversions.clone();
        for base in self.records.bases_of(class) {
            operators.extend(self.records.get(base).conversions.iter().copied());
        }
        operators
    }

    fn report_ambiguous_conversion(&mut self, from: Ty, to: Option<Ty>, functions: [FuncId; 2], span: Span) {
        let from = self.types.display(from);
        let to = to.map_or_else(String::new, |to| format!(" to `{}`", self.types.display(to)));
        let message = format!("the conversion from `{from}`{to} is ambiguous");
        let mut diagnostic = Diagnostic::error("ambiguous-conversion", span, message);
        for function in functions {
            diagnostic = diagnostic.with_note(self.functions.inst(function).span, "candidate");
        }
        self.report(diagnostic);
    }

    /// The result of the conversion operator, explicit or not, by which a cast or a condition makes a `to` of
    /// an object.
    pub(in crate::sema) fn cast_by_operator(&mut self, expr: &Expr, to: Ty) -> Option<Expr> {
        let from = self.types.as_record(expr.ty.ty)?;
        let (best, rival) = self.conversion_operator(from, expr, to, true)?;
        if let Some(rival) = rival {
            self.report_ambiguous_conversion(expr.ty.ty, Some(to), [best.func, rival], expr.span);
            return Some(self.poison(expr.span));
        }
        Some(self.call_function(best.func, Some(expr.clone()), Vec::new(), expr.span))
    }

    /// The value of an expression: of an object, a copy by the functions that its class and its members have.
    pub(in crate::sema) fn copied(&mut self, expr: Expr) -> Expr {
        if !expr.is_place || self.types.as_record(expr.ty.ty).is_none() {
            return self.values().rvalue(expr);
        }
        let constructor = match self.copying(Memberwise::Construct, &expr) {
            Copying::Defaulted(func) | Copying::Declared(func)
                if !self.check_function_access(func, None, expr.span) =>
            {
                return self.poison(expr.span);
            }
            Copying::Declared(constructor) => constructor,
            Copying::Parts | Copying::Defaulted(_)
                if self.copies_by_code(Memberwise::Construct, expr.ty.ty) =>
            {
                return self.copied_parts(expr);
            }
            Copying::Parts | Copying::Defaulted(_) => return self.values().rvalue(expr),
            Copying::Deleted(deletion) => {
                self.report_deletion("copy constructor", expr.ty.ty, deletion, expr.span);
                return self.poison(expr.span);
            }
        };
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

    fn converting_constructor(&mut self, constructors: &[FnDeclId], expr: &Expr) -> Option<Best> {
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
    fn single_argument_candidate(&mut self, decls: &[FnDeclId], expr: &Expr) -> Option<Best> {
        let mut candidates = Vec::new();
        for &decl in decls {
            let args = [Arg::Expr(expr.clone())];
            let Some(func) =
                self.quietly(|s| s.candidate_function(decl, None, &args, expr.span).ok()).ok().flatten()
            else {
                continue;
            };
            let inst: &FnInst<'a> = self.functions.inst(func);
            let Some(&param) = inst.params.first() else { continue };
            let Some(first) = self.conversion_of(expr, param, false) else { continue };
            candidates.push(UserCandidate { func, first, second: Conversion::EXACT });
        }
        self.best_conversion(&candidates)
    }

    /// The conversion operator of `from` whose result converts to `to`; an explicit one where these count.
    fn conversion_operator(
        &mut self,
        from: RecordId,
        expr: &Expr,
        to: Ty,
        is_explicit: bool,
    ) -> Option<Best> {
        let operators = self.conversion_operators(from);
        let mut candidates = Vec::new();
        for decl in operators {
            if self.functions.decl(decl).ast.specifiers.is_explicit && !is_explicit {
                continue;
            }
            let Some(func) = self.conversion_candidate(decl, to) else { continue };
            let Some(first) = self.object_conversion(func, expr) else { continue };
            let Some(ret) = self.functions.inst(func).ret else { continue };
            let value = self.stand_in(ret, expr.span);
            let Some(second) = self.conversion_of(&value, QualTy::plain(to), false) else { continue };
            candidates.push(UserCandidate { func, first, second });
        }
        self.best_conversion(&candidates)
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
            Some(UserConversion::Ambiguous(a, b)) => {
                self.report_ambiguous_conversion(expr.ty.ty, Some(to), [a, b], span);
                self.poison(span)
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
        let mut candidates = Vec::new();
        for decl in self.conversion_operators(record) {
            if self.functions.decl(decl).template.is_some()
                || self.functions.decl(decl).ast.specifiers.is_explicit
            {
                continue;
            }
            let Some(func) = self.instantiate_function(decl, Rc::from([]), expr.span) else { continue };
            if let Some(first) = self.object_conversion(func, &expr) {
                candidates.push(UserCandidate { func, first, second: Conversion::EXACT });
            }
        }
        if let Some((best, rival)) = self.best_conversion(&candidates) {
            let span = expr.span;
            let is_number =
                |func| self.functions.inst(func).ret.is_some_and(|ret| self.types.element(ret.ty).is_some());
            if let Some(rival) = rival.filter(|&rival| is_number(best.func) && is_number(rival)) {
                self.report_ambiguous_conversion(expr.ty.ty, None, [best.func, rival], span);
                return self.poison(span);
            }
            return self.call_function(best.func, Some(expr), Vec::new(), span);
        }
        expr
    }
}
