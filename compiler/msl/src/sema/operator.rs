//! Operators without assignment: from syntax to the function or the builtin meaning they have.
//!
//! Operator functions come first (`overloaded`); what no function takes goes to the builtin operators, whose
//! operands are brought to one type by the usual conversions (`operands`). A builtin operator gives `None`
//! where its operands do not fit, and the caller reports that.

mod arithmetic;
mod comparison;
mod conditional;
mod overloaded;

use super::checker::Checker;
use super::spelling;
use super::values::bit_field;
use crate::ast::{self, BinaryOp as Op, ExprKind as Ast, UnaryOp as Unary};
use crate::hir::{Expr, ExprKind, QualTy, Ty};
use crate::token::Name;
use anymetal_diagnostics::Span;
use comparison::compare_op;

impl<'a> Checker<'a> {
    /// A chain of left-associative operators, without recursion on its left side.
    pub(super) fn binary_chain(&mut self, expr: &'a ast::Expr) -> Expr {
        let mut chain = Vec::new();
        let mut at = expr;
        while let Ast::Binary(op, lhs, rhs) = &at.kind {
            chain.push((*op, rhs.as_ref(), at.span));
            at = lhs;
        }
        let mut value = self.expr(at);
        while let Some((op, rhs, span)) = chain.pop() {
            value = self.binary_step(op, value, rhs, span);
        }
        value
    }

    fn binary_step(&mut self, op: Op, lhs: Expr, rhs: &'a ast::Expr, span: Span) -> Expr {
        let rhs = match &rhs.kind {
            Ast::InitList(_) => {
                self.error("init-list", rhs.span, "an initialiser list cannot be an operand");
                self.poison(rhs.span)
            }
            _ => self.expr(rhs),
        };
        self.binary(op, lhs, rhs, span)
    }

    /// A binary operator on checked operands.
    pub(super) fn binary(&mut self, op: Op, lhs: Expr, rhs: Expr, span: Span) -> Expr {
        if lhs.ty.ty.is_error() || rhs.ty.ty.is_error() {
            return self.poison(span);
        }
        if let Some(result) = self.binary_function(spelling::binary(op), "", &lhs, &rhs, span) {
            return result;
        }
        if op == Op::Comma {
            let ty = rhs.ty;
            let is_place = rhs.is_place;
            return Expr { kind: ExprKind::Comma(Box::new(lhs), Box::new(rhs)), ty, is_place, span };
        }
        // Operands of `&&` and `||` are conditions, which explicit conversions serve as well.
        let is_logical = matches!(op, Op::LogicalAnd | Op::LogicalOr);
        let (lhs, rhs) = match is_logical {
            true => (lhs, rhs),
            false => (self.builtin_operand(lhs), self.builtin_operand(rhs)),
        };
        let (lhs, rhs) = (self.values().promoted(lhs), self.values().promoted(rhs));
        let (lhs, rhs) = (self.values().rvalue(lhs), self.values().rvalue(rhs));
        if lhs.ty.ty.is_error() || rhs.ty.ty.is_error() {
            return self.poison(span);
        }
        let (left, right) = (lhs.ty, rhs.ty);
        let result = match op {
            Op::LogicalAnd | Op::LogicalOr => self.logical(op, lhs, rhs, span),
            Op::Eq | Op::Ne | Op::Lt | Op::Gt | Op::Le | Op::Ge => {
                self.comparison(compare_op(op), lhs, rhs, span)
            }
            Op::Shl | Op::Shr => self.values().shift(op, lhs, rhs, span),
            _ => self.arithmetic(op, lhs, rhs, span),
        };
        result.unwrap_or_else(|| self.bad_operands(spelling::binary(op), left, Some(right), span))
    }

    fn bad_operands(&mut self, op: &str, lhs: QualTy, rhs: Option<QualTy>, span: Span) -> Expr {
        let left = self.show(lhs);
        let message = match rhs {
            Some(rhs) => format!("invalid operands to `{op}`: `{left}` and `{}`", self.show(rhs)),
            None => format!("invalid operand to `{op}`: `{left}`"),
        };
        self.error("invalid-operands", span, message);
        self.poison(span)
    }

    pub(super) fn unary_expr(&mut self, op: Unary, inner: &'a ast::Expr, span: Span) -> Expr {
        if matches!(op, Unary::PreIncrement | Unary::PreDecrement) {
            return self.increment_expr(inner, op == Unary::PreDecrement, false, span);
        }
        let operand = self.expr(inner);
        if op == Unary::AddressOf && !operand.is_place && self.is_function_name(inner) {
            // The name of a function is a pointer to it.
            return operand;
        }
        self.unary(op, operand, span)
    }

    /// A unary operator on a checked operand; not `++` and `--`.
    pub(super) fn unary(&mut self, op: Unary, operand: Expr, span: Span) -> Expr {
        if operand.ty.ty.is_error() {
            return operand;
        }
        if self.is_overloadable(operand.ty.ty) {
            let name = Name::new(&format!("operator{}", spelling::unary(op)));
            if let Some(result) = self.operator_call(name, vec![operand.clone()], span) {
                return result;
            }
        }
        match op {
            Unary::AddressOf => self.address_of(operand, span),
            Unary::Deref => {
                let pointer = self.builtin_operand(operand);
                let pointer = self.values().rvalue(pointer);
                self.dereference(pointer, span)
            }
            Unary::Not => self.logical_not(operand, span),
            _ => {
                let operand = self.builtin_operand(operand);
                let operand = self.values().promoted(operand);
                let value = self.values().rvalue(operand);
                self.unary_arithmetic(op, value, span)
            }
        }
    }

    fn address_of(&mut self, operand: Expr, span: Span) -> Expr {
        if !operand.is_place {
            self.error(
                "address-of-value",
                span,
                "only variables and memory have an address, and this is a value",
            );
            return self.poison(span);
        }
        if bit_field(&self.types, &operand).is_some() {
            self.error("address-of-value", span, "a bit-field has no address");
            return self.poison(span);
        }
        if matches!(&operand.kind, ExprKind::Swizzle(_, picks) if picks.len() > 1) {
            self.error("address-of-value", span, "several elements of a vector have no address");
            return self.poison(span);
        }
        let pointer = self.types.pointer(operand.ty);
        Expr::value(ExprKind::AddressOf(Box::new(operand)), pointer, span)
    }

    /// What a pointer points to.
    pub(super) fn dereference(&mut self, pointer: Expr, span: Span) -> Expr {
        match self.types.pointee(pointer.ty.ty) {
            Some(_) if self.types.pointed_function(pointer.ty.ty).is_some() => pointer,
            Some(to) if to.ty != Ty::VOID => {
                if !self.complete_type(to.ty, span) {
                    return self.poison(span);
                }
                Expr::place(ExprKind::Deref(Box::new(pointer)), to, span)
            }
            _ if pointer.ty.ty.is_error() => pointer,
            _ => self.bad_operands("*", pointer.ty, None, span),
        }
    }
}
