//! Assignment, compound assignment, `++` and `--`.

use super::checker::Checker;
use super::init::Memberwise;
use super::special::Copying;
use super::spelling;
use super::values::promoted_bit_field;
use crate::ast::{self, AssignOp, BinaryOp as Op, ExprKind as Ast};
use crate::hir::{BinaryOp, Expr, ExprKind, QualTy, RecordId, ScalarTy, Ty};
use crate::token::Name;
use anymetal_diagnostics::Span;
use anymetal_ir::Space;

impl<'a> Checker<'a> {
    pub(super) fn assign_expr(
        &mut self,
        op: AssignOp,
        lhs: &'a ast::Expr,
        rhs: &'a ast::Expr,
        span: Span,
    ) -> Expr {
        let place = self.expr(lhs);
        let place = self.values().conditional_place(place);
        match op.0 {
            None => self.plain_assign(place, rhs, span),
            Some(op) => {
                let value = self.expr(rhs);
                self.compound_assign(op, place, value, span)
            }
        }
    }

    fn plain_assign(&mut self, place: Expr, rhs: &'a ast::Expr, span: Span) -> Expr {
        if let Ast::InitList(clauses) = &rhs.kind {
            if place.ty.ty.is_error() {
                return place;
            }
            let value = self.list_value(clauses, place.ty.unqualified(), rhs.span);
            return self.assign_value(place, value, span);
        }
        let value = self.expr(rhs);
        self.assign_value(place, value, span)
    }

    /// `=` with a checked right side.
    pub(super) fn assign_value(&mut self, place: Expr, value: Expr, span: Span) -> Expr {
        if place.ty.ty.is_error() || value.ty.ty.is_error() {
            return self.poison(span);
        }
        let same = value.ty.ty == place.ty.ty || self.is_derived(value.ty.ty, place.ty.ty);
        if let Some(record) = self.types.as_record(place.ty.ty) {
            let mut is_implicit = false;
            if same {
                let ty = place.ty.ty;
                let source = self.object_as(&value, ty);
                match self.copying(Memberwise::Assign, &source) {
                    Copying::Defaulted(func) if !self.check_function_access(func, None, span) => {
                        return self.poison(span);
                    }
                    Copying::Parts | Copying::Defaulted(_) => is_implicit = true,
                    Copying::Declared(_) => {}
                    Copying::Deleted(deletion) => {
                        self.report_deletion("assignment", ty, deletion, span);
                        return self.poison(span);
                    }
                }
            }
            if !is_implicit && self.has_own_assignment(record) {
                let name = self.names.assign_operator;
                if let Some(result) = self.operator_call(name, vec![place.clone(), value.clone()], span) {
                    return result;
                }
            }
            if is_implicit && self.copies_by_code(Memberwise::Assign, place.ty.ty) {
                let from = self.materialize(value);
                return self.assigned_parts(place, from, span);
            }
        }
        let value = if value.ty.ty == place.ty.ty {
            // Members are assigned, no object is constructed.
            self.values().rvalue(value)
        } else {
            self.convert(value, place.ty.unqualified(), "in this assignment")
        };
        self.store(place, value, span)
    }

    /// An object as one of its class or of a base, to ask about copies only.
    fn object_as(&self, object: &Expr, ty: Ty) -> Expr {
        Expr { kind: ExprKind::Undef, ty: object.ty.with_ty(ty), ..object.clone() }
    }

    /// Whether the class declares an assignment operator that does not just copy.
    fn has_own_assignment(&mut self, record: RecordId) -> bool {
        self.assignment_operators(record).into_iter().any(|decl| {
            matches!(
                self.functions.decl(decl).ast.body,
                ast::FunctionBody::Block(_) | ast::FunctionBody::None | ast::FunctionBody::Delete
            )
        })
    }

    /// Stores a value of the place's type.
    pub(super) fn store(&mut self, place: Expr, value: Expr, span: Span) -> Expr {
        if place.ty.ty.is_error() || value.ty.ty.is_error() || !self.check_modifiable(&place, span) {
            return self.poison(span);
        }
        let ty = place.ty;
        Expr::place(ExprKind::Assign(Box::new(place), Box::new(value)), ty, span)
    }

    /// Whether a place may be written to; reports if not.
    pub(super) fn check_modifiable(&mut self, place: &Expr, span: Span) -> bool {
        let problem = if !place.is_place {
            Some("this is not something that can be assigned to".to_owned())
        } else if place.ty.space == Space::Constant {
            Some("constant memory cannot be written to".to_owned())
        } else if place.ty.is_const {
            Some(format!("this is const: `{}`", self.show(place.ty)))
        } else if let ExprKind::Swizzle(_, picks) = &place.kind
            && picks.iter().enumerate().any(|(n, pick)| picks[..n].contains(pick))
        {
            Some("an element occurs twice among those assigned to".to_owned())
        } else if self.types.as_array(place.ty.ty).is_some() {
            Some("arrays cannot be assigned".to_owned())
        } else {
            None
        };
        match problem {
            Some(problem) => {
                self.error("not-assignable", span, problem);
                false
            }
            None => true,
        }
    }

    pub(super) fn compound_assign(&mut self, op: Op, place: Expr, value: Expr, span: Span) -> Expr {
        if place.ty.ty.is_error() || value.ty.ty.is_error() {
            return self.poison(span);
        }
        if let Some(result) = self.binary_function(spelling::binary(op), "=", &place, &value, span) {
            return result;
        }
        if self.types.as_record(place.ty.ty).is_some() {
            return self.no_compound_operator(op, &place, &value, span);
        }
        if !self.check_modifiable(&place, span) {
            return self.poison(span);
        }
        let value = self.builtin_operand(value);
        let value = self.values().promoted(value);
        let value = self.values().rvalue(value);
        // A constant needs no variable of its own.
        let (rhs, operand) = match value.kind {
            ExprKind::Const(_) => (None, value),
            _ => {
                let local = self.function.new_local(Name::EMPTY, value.ty.ty, span);
                let operand = Expr::place(ExprKind::Local(local), value.ty, span);
                (Some((local, Box::new(value))), operand)
            }
        };
        let old = self.function.new_local(Name::EMPTY, place.ty.ty, span);
        let mut before = Expr::place(ExprKind::Local(old), place.ty.unqualified(), span);
        if let Some(promoted) = promoted_bit_field(&self.types, &place) {
            let value = self.values().rvalue(before);
            before = self.values().cast_value(crate::hir::CastKind::Convert, value, promoted, span);
        }
        let result = self.binary(op, before, operand, span);
        if result.ty.ty.is_error() {
            return result;
        }
        let result = self.convert(result, place.ty.unqualified(), "in this assignment");
        if result.ty.ty.is_error() {
            return result;
        }
        let ty = place.ty;
        let kind =
            ExprKind::Update { rhs, place: Box::new(place), old, value: Box::new(result), yields_old: false };
        Expr::place(kind, ty, span)
    }

    /// A record has no such operator but the one that it declares, whatever its other operators.
    fn no_compound_operator(&mut self, op: Op, place: &Expr, value: &Expr, span: Span) -> Expr {
        let (left, right) = (self.show(place.ty), self.show(value.ty));
        let op = spelling::binary(op);
        let message = format!("no `operator{op}=` takes `{left}` and `{right}`");
        let mut diagnostic = anymetal_diagnostics::Diagnostic::error("invalid-operands", span, message);
        if place.ty.space != Space::Thread {
            diagnostic = diagnostic.with_hint(
                "member functions without an address space take objects of the thread address space only",
            );
        }
        self.report(diagnostic);
        self.poison(span)
    }

    pub(super) fn increment_expr(
        &mut self,
        inner: &'a ast::Expr,
        decrement: bool,
        postfix: bool,
        span: Span,
    ) -> Expr {
        let place = self.expr(inner);
        self.increment(place, decrement, postfix, span)
    }

    /// `++` and `--` of a checked operand.
    pub(super) fn increment(&mut self, place: Expr, decrement: bool, postfix: bool, span: Span) -> Expr {
        let place = self.values().conditional_place(place);
        if place.ty.ty.is_error() {
            return place;
        }
        if self.is_overloadable(place.ty.ty) {
            let name = Name::new(if decrement { "operator--" } else { "operator++" });
            let mut operands = vec![place.clone()];
            if postfix {
                operands.push(super::expr::scalar_const(ScalarTy::I32, 0, span));
            }
            if let Some(result) = self.operator_call(name, operands, span) {
                return result;
            }
        }
        if !self.check_modifiable(&place, span) {
            return self.poison(span);
        }
        let old = self.function.new_local(Name::EMPTY, place.ty.ty, span);
        let old_place = Expr::place(ExprKind::Local(old), place.ty.unqualified(), span);
        let one = super::expr::scalar_const(ScalarTy::I32, 1, span);
        let result = if self.types.pointee(place.ty.ty).is_some() {
            let op = if decrement { Op::Sub } else { Op::Add };
            self.binary(op, old_place, one, span)
        } else if place.ty.ty == Ty::BOOL && !decrement {
            // Deprecated in C++14: the result is true.
            self.bool_const(true, span)
        } else {
            self.stepped(old_place, one, decrement, span)
        };
        if result.ty.ty.is_error() {
            return result;
        }
        let result = self.convert(result, place.ty.unqualified(), "");
        let ty = place.ty;
        let kind = ExprKind::Update {
            rhs: None,
            place: Box::new(place),
            old,
            value: Box::new(result),
            yields_old: postfix,
        };
        if postfix { Expr::value(kind, ty.ty, span) } else { Expr::place(kind, ty, span) }
    }

    fn stepped(&mut self, old: Expr, one: Expr, decrement: bool, span: Span) -> Expr {
        let ty = old.ty.ty;
        let elem = self.types.as_scalar(ty).or_else(|| self.types.as_vector(ty).map(|(elem, _)| elem));
        if elem.is_none_or(|elem| elem == ScalarTy::Bool) {
            let shown = self.show(QualTy::plain(ty));
            self.error(
                "invalid-operands",
                span,
                format!("a value of type `{shown}` cannot be counted up or down"),
            );
            return self.poison(span);
        }
        let value = self.values().rvalue(old);
        let value = self.values().unpack(value);
        let one = self.values().splat_or_convert(one, value.ty.ty);
        self.values().binary_value(if decrement { BinaryOp::Sub } else { BinaryOp::Add }, value, one, span)
    }
}
