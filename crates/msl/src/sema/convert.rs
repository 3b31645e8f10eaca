//! Implicit conversions: whether there is one and how good it is ([`Checker::conversion`]), and making
//! it explicit ([`Checker::convert`]).
//!
//! The two must agree: what `conversion` calls viable, `convert` performs without an error.

use super::call::Arg;
use super::checker::{Checker, FnDeclId};
use super::function::FnInst;
use crate::hir::{CastKind, ConstValue, Expr, ExprKind, FuncId, QualTy, ScalarTy, Ty, TyKind};
use anymetal_diag::Span;
use anymetal_ir::Space;

/// How good a conversion is; the smaller the better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Rank {
    Exact,
    Promotion,
    Conversion,
    /// Viable, but never preferred to anything: what strict MSL would refuse.
    Lenient,
    User,
}

/// A conversion sequence. Compared in the order of the members.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Conversion {
    pub(super) rank: Rank,
    /// Tells sequences of one rank apart: qualifiers added, a temporary made.
    pub(super) detail: u8,
}

impl Conversion {
    const EXACT: Self = Self { rank: Rank::Exact, detail: 0 };

    const fn new(rank: Rank, detail: u8) -> Self {
        Self { rank, detail }
    }
}

impl<'a> Checker<'a> {
    /// The conversion of an argument to a parameter type, if there is one.
    pub(super) fn conversion(&mut self, arg: &Arg<'a>, to: QualTy) -> Option<Conversion> {
        match arg {
            Arg::Expr(expr) => self.conversion_of(expr, to, true),
            Arg::List(clauses, _) => self.list_conversion(clauses, to),
            Arg::Functions(decls, args, span) => {
                let (decls, args, span) = (decls.clone(), *args, *span);
                let function = self.quietly(|s| s.function_for_type(&decls, args, to.ty, span));
                function.ok().flatten().map(|_| Conversion::EXACT)
            }
        }
    }

    /// The conversion of an expression. `user` allows constructors and conversion operators.
    pub(super) fn conversion_of(&mut self, expr: &Expr, to: QualTy, user: bool) -> Option<Conversion> {
        if expr.ty.ty.is_error() || to.ty.is_error() {
            return Some(Conversion::EXACT);
        }
        if let TyKind::Reference { to: referent, rvalue } = *self.types.kind(to.ty) {
            return self.reference_binding(expr, referent, rvalue, user);
        }
        self.value_conversion(expr, to.ty, user)
    }

    fn reference_binding(&mut self, expr: &Expr, to: QualTy, rvalue: bool, user: bool) -> Option<Conversion> {
        let related = expr.ty.ty == to.ty || self.is_derived(expr.ty.ty, to.ty);
        if expr.is_place && !rvalue && related && expr.ty.space == to.space && is_addressable(expr) {
            let adds_const = to.is_const && !expr.ty.is_const;
            let ok = (to.is_const || !expr.ty.is_const || to.space == Space::Constant)
                && (to.is_volatile || !expr.ty.is_volatile);
            if ok {
                let adds = u8::from(adds_const || (to.is_volatile && !expr.ty.is_volatile));
                let rank = if expr.ty.ty == to.ty { Rank::Exact } else { Rank::Conversion };
                return Some(Conversion::new(rank, adds));
            }
        }
        // A temporary lives in thread space and is only seen through `const T&` or `T&&`.
        if to.space != Space::Thread || !(to.is_const || rvalue) || (rvalue && expr.is_place && related) {
            return None;
        }
        let inner = self.value_conversion(expr, to.ty, user)?;
        if inner.rank == Rank::Exact {
            return Some(match (expr.is_place, rvalue) {
                (true, _) => Conversion::new(Rank::Conversion, 3),
                (false, true) => Conversion::new(Rank::Exact, 0),
                (false, false) => Conversion::new(Rank::Exact, 1),
            });
        }
        Some(Conversion { detail: inner.detail.saturating_add(1), ..inner })
    }

    /// The conversion of an expression's value to an unqualified type.
    fn value_conversion(&mut self, expr: &Expr, to: Ty, user: bool) -> Option<Conversion> {
        let from = self.decayed_value(expr.ty).ty;
        if from == to {
            return Some(Conversion::EXACT);
        }
        if let Some(found) = self.builtin_conversion(expr, from, to) {
            return Some(found);
        }
        if let (Some(derived), Some(base)) = (self.types.as_record(from), self.types.as_record(to))
            && self.base_path(derived, base).is_some()
        {
            return Some(Conversion::new(Rank::Conversion, 0));
        }
        if user && self.user_conversion(expr, to).is_some() {
            return Some(Conversion::new(Rank::User, 0));
        }
        None
    }

    fn builtin_conversion(&mut self, expr: &Expr, from: Ty, to: Ty) -> Option<Conversion> {
        let types = &self.types;
        match (types.kind(from).clone(), types.kind(to).clone()) {
            (TyKind::Scalar(a), TyKind::Scalar(b)) => Some(scalar_conversion(a, b)),
            (TyKind::Enum(id), TyKind::Scalar(b)) if !types.enumeration(id).is_scoped => {
                let underlying = types.enumeration(id).underlying;
                let promoted = promote(underlying);
                Some(if b == promoted || b == underlying {
                    Conversion::new(Rank::Promotion, 0)
                } else {
                    Conversion::new(Rank::Conversion, 0)
                })
            }
            (TyKind::Scalar(a), TyKind::Vector { elem, packed, .. }) => {
                let inner = scalar_conversion(a, elem);
                let rank = if inner.rank == Rank::Lenient { Rank::Lenient } else { Rank::Conversion };
                Some(Conversion::new(rank, 2 + u8::from(packed)))
            }
            (TyKind::Enum(id), TyKind::Vector { .. }) if !types.enumeration(id).is_scoped => {
                Some(Conversion::new(Rank::Conversion, 3))
            }
            (TyKind::Vector { elem: a, len: n, .. }, TyKind::Vector { elem: b, len: m, .. })
                if a == b && n == m =>
            {
                Some(Conversion::new(Rank::Promotion, 1))
            }
            (TyKind::Pointer(a), TyKind::Pointer(b)) => self.pointer_conversion(a, b),
            (TyKind::Nullptr, TyKind::Pointer(_)) => Some(Conversion::new(Rank::Conversion, 0)),
            (TyKind::Scalar(s), TyKind::Pointer(_)) if s.is_int() && is_zero_literal(expr) => {
                Some(Conversion::new(Rank::Conversion, 1))
            }
            (TyKind::Pointer(_) | TyKind::Nullptr, TyKind::Scalar(ScalarTy::Bool)) => {
                Some(Conversion::new(Rank::Conversion, 4))
            }
            _ => None,
        }
    }

    fn pointer_conversion(&mut self, from: QualTy, to: QualTy) -> Option<Conversion> {
        // Constant memory is const, said or not.
        let drops_const = from.is_const && !to.is_const && to.space != Space::Constant;
        if from.space != to.space || drops_const || (from.is_volatile && !to.is_volatile) {
            return None;
        }
        let adds = u8::from(from.is_const != to.is_const || from.is_volatile != to.is_volatile);
        if from.ty == to.ty {
            Some(Conversion::new(Rank::Exact, adds))
        } else if to.ty == Ty::VOID {
            Some(Conversion::new(Rank::Conversion, 1 + adds))
        } else if self.is_derived(from.ty, to.ty) {
            Some(Conversion::new(Rank::Conversion, adds))
        } else {
            None
        }
    }

    pub(super) fn is_derived(&mut self, derived: Ty, base: Ty) -> bool {
        match (self.types.as_record(derived), self.types.as_record(base)) {
            (Some(derived), Some(base)) if derived != base => self.base_path(derived, base).is_some(),
            _ => false,
        }
    }

    // --- performing conversions

    /// Converts an expression to a type, reporting when that is impossible. For a reference the result
    /// is the pointer that implements it.
    pub(super) fn convert(&mut self, expr: Expr, to: QualTy, what: &str) -> Expr {
        let span = expr.span;
        if expr.ty.ty.is_error() || to.ty.is_error() {
            return self.poison(span);
        }
        let wants_place = self.types.referent(to.ty).is_some_and(|to| !to.is_const);
        let expr = if wants_place { self.conditional_place(expr) } else { expr };
        if self.conversion_of(&expr, to, true).is_none() {
            self.report_no_conversion(&expr, to, what);
            return self.poison(span);
        }
        self.perform(expr, to)
    }

    pub(super) fn report_no_conversion(&mut self, expr: &Expr, to: QualTy, what: &str) {
        let from = self.show(expr.ty);
        let to = self.show(to);
        self.error("no-conversion", expr.span, format!("no conversion from `{from}` to `{to}` {what}"));
    }

    /// Performs a conversion that is known to exist.
    pub(super) fn perform(&mut self, expr: Expr, to: QualTy) -> Expr {
        if let TyKind::Reference { to: referent, rvalue } = *self.types.kind(to.ty) {
            return self.bind_reference(expr, referent, rvalue);
        }
        self.perform_value(expr, to.ty)
    }

    fn bind_reference(&mut self, expr: Expr, to: QualTy, rvalue: bool) -> Expr {
        let span = expr.span;
        let pointer = self.types.pointer(to);
        let related = expr.ty.ty == to.ty || self.is_derived(expr.ty.ty, to.ty);
        let direct =
            expr.is_place && !rvalue && related && expr.ty.space == to.space && is_addressable(&expr);
        let place = if direct {
            self.upcast_place(expr, to.ty)
        } else {
            let value = self.perform_value(expr, to.ty);
            self.materialize(value)
        };
        Expr::value(ExprKind::AddressOf(Box::new(place)), pointer, span)
    }

    /// A place of a class as a place of its base.
    pub(super) fn upcast_place(&mut self, mut place: Expr, to: Ty) -> Expr {
        if place.ty.ty == to {
            return place;
        }
        let (Some(derived), Some(base)) = (self.types.as_record(place.ty.ty), self.types.as_record(to))
        else {
            return place;
        };
        let path = self.base_path(derived, base).unwrap_or_default();
        let mut at = derived;
        for field in path {
            let ty = self.types.record(at).fields[field as usize].ty.ty;
            let (qual, span) = (place.ty.with_ty(ty), place.span);
            place = Expr::place(ExprKind::Field(Box::new(place), at, field), qual, span);
            at = self.types.as_record(ty).unwrap_or(at);
        }
        if place.ty.ty != to {
            // An empty base lies at the object's own address.
            let span = place.span;
            let qual = place.ty.with_ty(to);
            let from = self.types.pointer(place.ty);
            let pointer = self.types.pointer(qual);
            let address = Expr::value(ExprKind::AddressOf(Box::new(place)), from, span);
            let cast = Expr::value(ExprKind::Cast(CastKind::Pointer, Box::new(address)), pointer, span);
            place = Expr::place(ExprKind::Deref(Box::new(cast)), qual, span);
        }
        place
    }

    fn perform_value(&mut self, expr: Expr, to: Ty) -> Expr {
        let span = expr.span;
        let from = self.decayed_value(expr.ty).ty;
        if from == to {
            return self.rvalue(expr);
        }
        match (self.types.kind(from).clone(), self.types.kind(to).clone()) {
            (TyKind::Scalar(_) | TyKind::Enum(_), TyKind::Scalar(_) | TyKind::Enum(_)) => {
                let value = self.rvalue(expr);
                self.cast_value(CastKind::Convert, value, to, span)
            }
            (TyKind::Scalar(s), TyKind::Pointer(_)) if s.is_int() => {
                Expr::value(ExprKind::Const(ConstValue::Null), to, span)
            }
            (TyKind::Scalar(_) | TyKind::Enum(_), TyKind::Vector { elem, len, packed }) => {
                let value = self.rvalue(expr);
                let value = self.cast_value(CastKind::Convert, value, Ty::scalar(elem), span);
                let plain = self.types.vector(elem, len);
                let value = self.cast_value(CastKind::Splat, value, plain, span);
                if packed { self.cast_value(CastKind::Convert, value, to, span) } else { value }
            }
            (TyKind::Vector { .. }, TyKind::Vector { .. }) => {
                let value = self.rvalue(expr);
                self.cast_value(CastKind::Convert, value, to, span)
            }
            (TyKind::Nullptr, TyKind::Pointer(_)) => Expr::value(ExprKind::Const(ConstValue::Null), to, span),
            (TyKind::Nullptr, TyKind::Scalar(ScalarTy::Bool)) => self.bool_const(false, span),
            (TyKind::Pointer(a), TyKind::Pointer(b)) => {
                let value = self.rvalue(expr);
                if a.ty != b.ty && self.is_derived(a.ty, b.ty) {
                    let place = Expr::place(ExprKind::Deref(Box::new(value)), a, span);
                    let place = self.upcast_place(place, b.ty);
                    return Expr::value(ExprKind::AddressOf(Box::new(place)), to, span);
                }
                self.cast_value(CastKind::Pointer, value, to, span)
            }
            (TyKind::Pointer(_), TyKind::Scalar(ScalarTy::Bool)) => {
                let value = self.rvalue(expr);
                self.cast_value(CastKind::PointerToBool, value, to, span)
            }
            (TyKind::Record(_), TyKind::Record(_)) if self.is_derived(from, to) => {
                let place = if expr.is_place { expr } else { self.materialize(expr) };
                let place = self.upcast_place(place, to);
                self.rvalue(place)
            }
            _ => self.perform_user(expr, to),
        }
    }

    // --- user-defined conversions

    /// The constructor or conversion operator that turns the expression into a `to`.
    fn user_conversion(&mut self, expr: &Expr, to: Ty) -> Option<UserConversion> {
        if let Some(record) = self.types.as_record(to) {
            self.declare_members(record);
            let constructors = self.record_inst(record).constructors.clone();
            if let Some(found) = self.converting_constructor(&constructors, expr) {
                return Some(UserConversion::Constructor(found));
            }
        }
        let from = self.types.as_record(expr.ty.ty)?;
        self.conversion_operator(from, expr, to).map(UserConversion::Operator)
    }

    fn converting_constructor(&mut self, constructors: &[FnDeclId], expr: &Expr) -> Option<FuncId> {
        let usable: Vec<FnDeclId> =
            constructors.iter().copied().filter(|&id| !self.decl(id).ast.specifiers.is_explicit).collect();
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
            let inst: &FnInst<'a> = self.inst(func);
            let Some(&param) = inst.params.first() else { continue };
            let Some(conversion) = self.conversion_of(expr, param, false) else { continue };
            if best.is_none_or(|(known, _)| conversion < known) {
                best = Some((conversion, func));
            }
        }
        best.map(|(_, func)| func)
    }

    /// The conversion operator of `from` whose result converts to `to`.
    fn conversion_operator(&mut self, from: crate::hir::RecordId, expr: &Expr, to: Ty) -> Option<FuncId> {
        self.declare_members(from);
        let mut operators = self.record_inst(from).conversions.clone();
        let _ = self.base_path(from, from);
        for (base, _) in self.record_inst(from).bases.clone() {
            operators.extend(self.record_inst(base).conversions.iter().copied());
        }
        let mut best: Option<(Conversion, Conversion, FuncId)> = None;
        for decl in operators {
            if self.decl(decl).ast.specifiers.is_explicit && to != Ty::BOOL {
                continue;
            }
            let Some(func) = self.conversion_candidate(decl, to) else { continue };
            let Some(object) = self.object_conversion(func, expr) else { continue };
            let Some(ret) = self.inst(func).ret else { continue };
            let value = self.stand_in(ret, expr.span);
            let Some(second) = self.conversion_of(&value, QualTy::plain(to), false) else { continue };
            if best.is_none_or(|(first, known, _)| (object, second) < (first, known)) {
                best = Some((object, second, func));
            }
        }
        best.map(|(.., func)| func)
    }

    /// A conversion operator's instance; for a template, deduced from the wanted type.
    fn conversion_candidate(&mut self, decl: FnDeclId, to: Ty) -> Option<FuncId> {
        let data = self.decl(decl);
        let (ast, template, scope, span) = (data.ast, data.template, data.scope, data.ast.span);
        let args = match template {
            None => std::rc::Rc::from([]),
            Some(template) => {
                let crate::ast::FunctionName::Operator(crate::ast::OperatorName::Conversion(ty)) = &ast.name
                else {
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
    pub(super) fn stand_in(&mut self, ty: QualTy, span: Span) -> Expr {
        match self.types.referent(ty.ty) {
            Some(to) => Expr::place(ExprKind::Undef, to, span),
            None => Expr::value(ExprKind::Undef, ty.ty, span),
        }
    }

    fn perform_user(&mut self, expr: Expr, to: Ty) -> Expr {
        let span = expr.span;
        match self.user_conversion(&expr, to) {
            Some(UserConversion::Constructor(func)) => {
                let param = self.inst(func).params[0];
                let mut args = vec![self.perform(expr, param)];
                self.default_arguments(func, &mut args, span);
                Expr::value(ExprKind::Construct(func, args), to, span)
            }
            Some(UserConversion::Operator(func)) => {
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
    /// gives, for the builtin operators; others are left alone.
    pub(super) fn builtin_operand(&mut self, expr: Expr) -> Expr {
        let Some(record) = self.types.as_record(expr.ty.ty) else { return expr };
        self.declare_members(record);
        for decl in self.record_inst(record).conversions.clone() {
            if self.decl(decl).template.is_some() {
                continue;
            }
            let Some(func) = self.instantiate_function(decl, std::rc::Rc::from([]), expr.span) else {
                continue;
            };
            if self.object_conversion(func, &expr).is_some() {
                let span = expr.span;
                return self.call_function(func, Some(expr), Vec::new(), span);
            }
        }
        for (base, _) in self.record_inst(record).bases.clone() {
            if !self.record_inst(base).conversions.is_empty() {
                let ty = self.record_inst(base).ty;
                let place = if expr.is_place { expr } else { self.materialize(expr) };
                let place = self.upcast_place(place, ty);
                return self.builtin_operand(place);
            }
        }
        expr
    }
}

/// How a class takes part in a conversion.
#[derive(Clone, Copy, Debug)]
enum UserConversion {
    Constructor(FuncId),
    Operator(FuncId),
}

/// What small integers become in arithmetic.
pub(super) fn promote(scalar: ScalarTy) -> ScalarTy {
    match scalar {
        ScalarTy::Bool | ScalarTy::I8 | ScalarTy::U8 | ScalarTy::I16 | ScalarTy::U16 => ScalarTy::I32,
        other => other,
    }
}

fn scalar_conversion(from: ScalarTy, to: ScalarTy) -> Conversion {
    if from == to {
        return Conversion::EXACT;
    }
    if from.is_integral() && promote(from) == to {
        return Conversion::new(Rank::Promotion, 0);
    }
    if from == ScalarTy::Bfloat && to == ScalarTy::Float {
        // Where the library has no function for bfloat, the one for float is meant, not one for integers.
        return Conversion::new(Rank::Promotion, 0);
    }
    let bfloat =
        (to == ScalarTy::Bfloat && from.is_float()) || (from == ScalarTy::Bfloat && to == ScalarTy::Half);
    Conversion::new(if bfloat { Rank::Lenient } else { Rank::Conversion }, 0)
}

/// Whether the expression is the literal 0.
pub(super) fn is_zero_literal(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Const(ConstValue::Scalar(0)))
}

/// Whether a reference can bind to the place: several elements of a vector have no address.
fn is_addressable(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Swizzle(base, picks) => picks.len() == 1 && is_addressable(base),
        _ => true,
    }
}
