//! Operators without assignment: arithmetic, comparison, logic, `?:`, indexing, `&` and `*`.

use super::call::Arg;
use super::checker::{Checker, FnDeclId};
use super::convert::promote;
use super::lookup::Found;
use super::overload::{Call, NoOverload};
use super::spelling;
use crate::ast::{self, BinaryOp as Op, ExprKind as Ast, UnaryOp as Unary};
use crate::hir::{
    BinaryOp, CastKind, CompareOp, ConstValue, Expr, ExprKind, LogicalOp, QualTy, ScalarTy, Ty, TyKind,
    UnaryOp,
};
use crate::token::Name;
use anymetal_diag::Span;
use anymetal_ir::eval;

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
        if matches!(op, Op::LogicalAnd | Op::LogicalOr)
            && let ExprKind::Const(ConstValue::Scalar(bits)) = lhs.kind
            && lhs.ty.ty == Ty::BOOL
            && (bits != 0) == (op == Op::LogicalOr)
        {
            // The other side is still checked, but never evaluated.
            let _ = self.expr(rhs);
            return Expr { span, ..lhs };
        }
        let rhs = match &rhs.kind {
            Ast::InitList(_) => {
                self.error("init-list", rhs.span, "an initialiser list is no operand");
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
        if self.is_overloadable(lhs.ty.ty) || self.is_overloadable(rhs.ty.ty) {
            let name = Name::new(&format!("operator{}", spelling::binary(op)));
            if let Some(result) = self.operator_call(name, vec![lhs.clone(), rhs.clone()], span) {
                return result;
            }
        }
        if op == Op::Comma {
            let ty = rhs.ty;
            let is_place = rhs.is_place;
            return Expr { kind: ExprKind::Comma(Box::new(lhs), Box::new(rhs)), ty, is_place, span };
        }
        let (lhs, rhs) = (self.builtin_operand(lhs), self.builtin_operand(rhs));
        let (lhs, rhs) = (self.rvalue(lhs), self.rvalue(rhs));
        if lhs.ty.ty.is_error() || rhs.ty.ty.is_error() {
            return self.poison(span);
        }
        let (left, right) = (lhs.ty, rhs.ty);
        let result = match op {
            Op::LogicalAnd | Op::LogicalOr => self.logical(op, lhs, rhs, span),
            Op::Eq | Op::Ne | Op::Lt | Op::Gt | Op::Le | Op::Ge => {
                self.comparison(compare_op(op), lhs, rhs, span)
            }
            Op::Shl | Op::Shr => self.shift(op, lhs, rhs, span),
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

    /// Whether operators on this type may be functions.
    pub(super) fn is_overloadable(&self, ty: Ty) -> bool {
        matches!(self.types.kind(ty), TyKind::Record(_) | TyKind::Enum(_) | TyKind::Matrix { .. })
    }

    /// Calls an operator function, if one fits; `None` leaves the builtin meaning.
    pub(super) fn operator_call(&mut self, name: Name, operands: Vec<Expr>, span: Span) -> Option<Expr> {
        let mut members = Vec::new();
        if let Some(record) = operands.first().and_then(|first| self.types.as_record(first.ty.ty))
            && self.complete_record(record, span)
            && let Some(Found::Functions(decls)) = self.lookup_in_record(record, name)
        {
            members.extend(decls.iter().copied());
        }
        let args: Vec<Arg<'a>> = operands.iter().cloned().map(Arg::Expr).collect();
        let mut free: Vec<FnDeclId> = Vec::new();
        if let Some(Found::Functions(decls)) = self.lookup_operator(name) {
            free.extend(decls.iter().copied());
        }
        let more = self.argument_dependent(name, &args, &free);
        free.extend(more);
        self.best_operator(name, members, free, &operands, args, span)
    }

    /// Operators are looked up past class scopes: members are considered apart.
    fn lookup_operator(&mut self, name: Name) -> Option<Found<'a>> {
        let ns = self.enclosing_namespace(self.scope);
        let mut at = Some(ns);
        while let Some(ns) = at {
            if let Some(found) = self.lookup_in_namespace(ns, name) {
                return Some(found);
            }
            at = self.table.parent(ns);
        }
        None
    }

    fn best_operator(
        &mut self,
        name: Name,
        members: Vec<FnDeclId>,
        free: Vec<FnDeclId>,
        operands: &[Expr],
        args: Vec<Arg<'a>>,
        span: Span,
    ) -> Option<Expr> {
        let member_args = &args[1..];
        let by_member = Call {
            name: name.as_str(),
            decls: &members,
            explicit: None,
            object: operands.first(),
            args: member_args,
            span,
        };
        let member = if members.is_empty() { None } else { Some(self.find_overload(&by_member)) };
        let by_name =
            Call { name: name.as_str(), decls: &free, explicit: None, object: None, args: &args, span };
        let free_result = if free.is_empty() { None } else { Some(self.find_overload(&by_name)) };
        match (member, free_result) {
            // A member found by the object's own type is preferred to a free function.
            (Some(Ok(func)), _) => {
                let mut args = args;
                let object = operands.first().cloned();
                args.remove(0);
                Some(self.call_known(func, object, args, span))
            }
            (_, Some(Ok(func))) => Some(self.call_known(func, None, args, span)),
            (Some(Err(NoOverload::Ambiguous(decls))), _) | (_, Some(Err(NoOverload::Ambiguous(decls)))) => {
                let mut diagnostic = anymetal_diag::Diagnostic::error(
                    "ambiguous-call",
                    span,
                    format!("`{name}` is ambiguous here"),
                );
                for decl in decls {
                    diagnostic = diagnostic.with_note(self.decl(decl).ast.span, "candidate");
                }
                self.report(diagnostic);
                Some(self.poison(span))
            }
            _ => None,
        }
    }

    // --- the usual conversions

    /// The scalar that arithmetic on two scalars is done in.
    pub(super) fn common_scalar(a: ScalarTy, b: ScalarTy) -> ScalarTy {
        if a.is_float() || b.is_float() {
            return match (a.is_float(), b.is_float()) {
                (true, false) => a,
                (false, true) => b,
                _ if a == b => a,
                _ => ScalarTy::Float,
            };
        }
        let (a, b) = (promote(a), promote(b));
        if a == b {
            a
        } else if a.size() != b.size() {
            // The wider one can hold the narrower one's values, signed or not.
            if a.size() > b.size() { a } else { b }
        } else if a.is_unsigned() {
            a
        } else {
            b
        }
    }

    /// Brings two operands to the type that arithmetic on them is done in.
    pub(super) fn common_operands(&mut self, a: Expr, b: Expr) -> Option<(Expr, Expr)> {
        let (a, b) = (self.unpack(a), self.unpack(b));
        let (left, right) = (a.ty.ty, b.ty.ty);
        let common = match (self.types.as_vector(left), self.types.as_vector(right)) {
            (Some((x, n)), Some((y, m))) => {
                if x != y || n != m {
                    return None;
                }
                left
            }
            (Some((elem, _)), None) => {
                self.types.scalar_repr(right).filter(|s| elem.is_float() || s.is_integral())?;
                left
            }
            (None, Some((elem, _))) => {
                self.types.scalar_repr(left).filter(|s| elem.is_float() || s.is_integral())?;
                right
            }
            (None, None) => {
                let (x, y) = (self.arithmetic_scalar(left)?, self.arithmetic_scalar(right)?);
                Ty::scalar(Self::common_scalar(x, y))
            }
        };
        let to = QualTy::plain(common);
        let (x, y) = (self.splat_or_convert(a, to.ty), self.splat_or_convert(b, to.ty));
        Some((x, y))
    }

    /// The scalar of an arithmetic or unscoped enumeration type.
    pub(super) fn arithmetic_scalar(&self, ty: Ty) -> Option<ScalarTy> {
        match *self.types.kind(ty) {
            TyKind::Scalar(scalar) => Some(scalar),
            TyKind::Enum(id) if !self.types.enumeration(id).is_scoped => {
                Some(self.types.enumeration(id).underlying)
            }
            _ => None,
        }
    }

    pub(super) fn splat_or_convert(&mut self, value: Expr, to: Ty) -> Expr {
        let span = value.span;
        match (self.types.as_vector(value.ty.ty), self.types.as_vector(to)) {
            (None, Some((elem, _))) => {
                let value = self.cast_value(CastKind::Convert, value, Ty::scalar(elem), span);
                self.cast_value(CastKind::Splat, value, to, span)
            }
            _ => self.cast_value(CastKind::Convert, value, to, span),
        }
    }

    /// A packed vector as an ordinary one.
    pub(super) fn unpack(&mut self, value: Expr) -> Expr {
        match *self.types.kind(value.ty.ty) {
            TyKind::Vector { elem, len, packed: true } => {
                let span = value.span;
                let plain = self.types.vector(elem, len);
                self.cast_value(CastKind::Convert, value, plain, span)
            }
            _ => value,
        }
    }

    // --- builtin operators: `None` when the operands do not fit

    pub(super) fn arithmetic(&mut self, op: Op, lhs: Expr, rhs: Expr, span: Span) -> Option<Expr> {
        if self.involves_pointer(&lhs, &rhs) {
            return self.pointer_arithmetic(op, &lhs, &rhs, span);
        }
        let (a, b) = self.common_operands(lhs, rhs)?;
        let elem = self.types.element(a.ty.ty)?;
        let hir_op = match op {
            Op::Add => BinaryOp::Add,
            Op::Sub => BinaryOp::Sub,
            Op::Mul => BinaryOp::Mul,
            Op::Div => BinaryOp::Div,
            Op::Rem => BinaryOp::Rem,
            Op::BitAnd => BinaryOp::And,
            Op::BitOr => BinaryOp::Or,
            Op::BitXor => BinaryOp::Xor,
            _ => return None,
        };
        if elem.is_float() && matches!(hir_op, BinaryOp::Rem | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor) {
            return None;
        }
        Some(self.binary_value(hir_op, a, b, span))
    }

    fn involves_pointer(&self, a: &Expr, b: &Expr) -> bool {
        let is_pointer = |e: &Expr| self.types.pointee(e.ty.ty).is_some() || e.ty.ty == Ty::NULLPTR;
        is_pointer(a) || is_pointer(b)
    }

    fn pointer_arithmetic(&mut self, op: Op, lhs: &Expr, rhs: &Expr, span: Span) -> Option<Expr> {
        let (left, right) = (self.types.pointee(lhs.ty.ty), self.types.pointee(rhs.ty.ty));
        match (op, left, right) {
            (Op::Add | Op::Sub, Some(pointee), None) => {
                self.arithmetic_scalar(rhs.ty.ty).filter(|scalar| scalar.is_integral())?;
                if !self.complete_type(pointee.ty, span) {
                    return Some(self.poison(span));
                }
                let mut index = self.index_value(rhs.clone());
                if op == Op::Sub {
                    index = self.negated(index);
                }
                Some(Expr::value(
                    ExprKind::PointerAdd(Box::new(lhs.clone()), Box::new(index)),
                    lhs.ty.ty,
                    span,
                ))
            }
            (Op::Add, None, Some(_)) => self.pointer_arithmetic(op, rhs, lhs, span),
            (Op::Sub, Some(a), Some(b)) if a.ty == b.ty && a.space == b.space => {
                let right = self.cast_value(CastKind::Pointer, rhs.clone(), lhs.ty.ty, span);
                Some(Expr::value(
                    ExprKind::PointerDiff(Box::new(lhs.clone()), Box::new(right)),
                    Ty::LONG,
                    span,
                ))
            }
            _ => None,
        }
    }

    /// An integer as `long`, for indexing.
    pub(super) fn index_value(&mut self, index: Expr) -> Expr {
        let span = index.span;
        let value = self.rvalue(index);
        self.cast_value(CastKind::Convert, value, Ty::LONG, span)
    }

    fn negated(&mut self, value: Expr) -> Expr {
        let (ty, span) = (value.ty.ty, value.span);
        if let (ExprKind::Const(ConstValue::Scalar(bits)), Some(scalar)) =
            (&value.kind, self.types.as_scalar(ty))
        {
            let op = if scalar.is_float() { anymetal_ir::UnOp::FNeg } else { anymetal_ir::UnOp::INeg };
            let bits = eval::eval_unary(op, scalar.ir(), *bits);
            return Expr::value(ExprKind::Const(ConstValue::Scalar(bits)), ty, span);
        }
        Expr::value(ExprKind::Unary(UnaryOp::Neg, Box::new(value)), ty, span)
    }

    fn shift(&mut self, op: Op, lhs: Expr, rhs: Expr, span: Span) -> Option<Expr> {
        let (lhs, rhs) = (self.unpack(lhs), self.unpack(rhs));
        if !self.types.element(lhs.ty.ty)?.is_integral() || !self.types.element(rhs.ty.ty)?.is_integral() {
            return None;
        }
        let to = match (self.types.as_vector(lhs.ty.ty), self.types.as_vector(rhs.ty.ty)) {
            (Some((_, n)), Some((_, m))) if n != m => return None,
            (Some(_), _) => lhs.ty.ty,
            (None, Some((_, n))) => {
                let elem = self.types.scalar_repr(lhs.ty.ty)?;
                self.types.vector(elem, n)
            }
            (None, None) => Ty::scalar(promote(self.arithmetic_scalar(lhs.ty.ty)?)),
        };
        let (a, b) = (self.splat_or_convert(lhs, to), self.splat_or_convert(rhs, to));
        let hir_op = if op == Op::Shl { BinaryOp::Shl } else { BinaryOp::Shr };
        Some(self.binary_value(hir_op, a, b, span))
    }

    fn comparison(&mut self, op: CompareOp, lhs: Expr, rhs: Expr, span: Span) -> Option<Expr> {
        if self.involves_pointer(&lhs, &rhs) {
            return self.pointer_comparison(op, &lhs, &rhs, span);
        }
        let same_enum = lhs.ty.ty == rhs.ty.ty && matches!(self.types.kind(lhs.ty.ty), TyKind::Enum(_));
        let (a, b) = if same_enum {
            let repr = Ty::scalar(self.types.scalar_repr(lhs.ty.ty)?);
            (
                self.cast_value(CastKind::Convert, lhs, repr, span),
                self.cast_value(CastKind::Convert, rhs, repr, span),
            )
        } else {
            self.common_operands(lhs, rhs)?
        };
        let ty = match self.types.as_vector(a.ty.ty) {
            Some((_, len)) => self.types.vector(ScalarTy::Bool, len),
            None => Ty::BOOL,
        };
        if let (ExprKind::Const(ConstValue::Scalar(x)), ExprKind::Const(ConstValue::Scalar(y))) =
            (&a.kind, &b.kind)
            && let Some(scalar) = self.types.as_scalar(a.ty.ty)
        {
            let ir = super::evaluate::ir_compare(op, scalar);
            let result = eval::eval_compare(ir, scalar.ir(), *x, *y);
            return Some(self.bool_const(result, span));
        }
        Some(Expr::value(ExprKind::Compare(op, Box::new(a), Box::new(b)), ty, span))
    }

    fn pointer_comparison(&mut self, op: CompareOp, lhs: &Expr, rhs: &Expr, span: Span) -> Option<Expr> {
        let is_pointer = |s: &Self, e: &Expr| s.types.pointee(e.ty.ty).is_some() || e.ty.ty == Ty::NULLPTR;
        let is_null = |e: &Expr| e.ty.ty == Ty::NULLPTR || super::convert::is_zero_literal(e);
        let (a, b) = match (is_pointer(self, lhs), is_pointer(self, rhs)) {
            (false, false) => return None,
            (true, _) if is_null(rhs) && self.types.pointee(lhs.ty.ty).is_some() => {
                (lhs.clone(), Expr::value(ExprKind::Const(ConstValue::Null), lhs.ty.ty, rhs.span))
            }
            (_, true) if is_null(lhs) && self.types.pointee(rhs.ty.ty).is_some() => {
                (Expr::value(ExprKind::Const(ConstValue::Null), rhs.ty.ty, lhs.span), rhs.clone())
            }
            (true, true) => {
                if lhs.ty.ty == Ty::NULLPTR && rhs.ty.ty == Ty::NULLPTR {
                    return Some(self.bool_const(op == CompareOp::Eq, span));
                }
                let (x, y) = (self.types.pointee(lhs.ty.ty)?, self.types.pointee(rhs.ty.ty)?);
                let fits = x.space == y.space && (x.ty == y.ty || x.ty == Ty::VOID || y.ty == Ty::VOID);
                if !fits {
                    return None;
                }
                (lhs.clone(), self.cast_value(CastKind::Pointer, rhs.clone(), lhs.ty.ty, span))
            }
            _ => return None,
        };
        Some(Expr::value(ExprKind::Compare(op, Box::new(a), Box::new(b)), Ty::BOOL, span))
    }

    fn logical(&mut self, op: Op, lhs: Expr, rhs: Expr, span: Span) -> Option<Expr> {
        let (a, b) = (self.types.as_vector(lhs.ty.ty), self.types.as_vector(rhs.ty.ty));
        if let Some((_, len)) = a.or(b) {
            // Elementwise; both sides are evaluated.
            if a.zip(b).is_some_and(|((_, n), (_, m))| n != m) {
                return None;
            }
            let to = self.types.vector(ScalarTy::Bool, len);
            let (x, y) = (self.splat_or_convert(lhs, to), self.splat_or_convert(rhs, to));
            let op = if op == Op::LogicalAnd { BinaryOp::And } else { BinaryOp::Or };
            return Some(Expr::value(ExprKind::Binary(op, Box::new(x), Box::new(y)), to, span));
        }
        let (x, y) = (self.condition(lhs), self.condition(rhs));
        if x.ty.ty.is_error() || y.ty.ty.is_error() {
            return Some(self.poison(span));
        }
        let op = if op == Op::LogicalAnd { LogicalOp::And } else { LogicalOp::Or };
        if let ExprKind::Const(ConstValue::Scalar(bits)) = x.kind {
            let decides = (bits != 0) == (op == LogicalOp::Or);
            return Some(if decides { Expr { span, ..x } } else { Expr { span, ..y } });
        }
        Some(Expr::value(ExprKind::Logical(op, Box::new(x), Box::new(y)), Ty::BOOL, span))
    }

    // --- unary operators

    pub(super) fn unary_expr(&mut self, op: Unary, inner: &'a ast::Expr, span: Span) -> Expr {
        if matches!(op, Unary::PreIncrement | Unary::PreDecrement) {
            return self.increment_expr(inner, op == Unary::PreDecrement, false, span);
        }
        let operand = self.expr(inner);
        if operand.ty.ty.is_error() {
            return operand;
        }
        if self.is_overloadable(operand.ty.ty) && op != Unary::AddressOf {
            let name = Name::new(&format!("operator{}", spelling::unary(op)));
            if let Some(result) = self.operator_call(name, vec![operand.clone()], span) {
                return result;
            }
        }
        match op {
            Unary::AddressOf => self.address_of(operand, span),
            Unary::Deref => {
                let pointer = self.builtin_operand(operand);
                let pointer = self.rvalue(pointer);
                self.dereference(pointer, span)
            }
            Unary::Not => self.logical_not(operand, span),
            _ => {
                let operand = self.builtin_operand(operand);
                let value = self.rvalue(operand);
                self.unary_arithmetic(op, value, span)
            }
        }
    }

    fn address_of(&mut self, operand: Expr, span: Span) -> Expr {
        if !operand.is_place {
            self.error("address-of-value", span, "only something in memory has an address");
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

    fn logical_not(&mut self, operand: Expr, span: Span) -> Expr {
        if let Some((_, len)) = self.types.as_vector(operand.ty.ty) {
            let value = self.rvalue(operand);
            let to = self.types.vector(ScalarTy::Bool, len);
            let value = self.splat_or_convert(value, to);
            return Expr::value(ExprKind::Unary(UnaryOp::Not, Box::new(value)), to, span);
        }
        let value = self.condition(operand);
        if let ExprKind::Const(ConstValue::Scalar(bits)) = value.kind {
            return self.bool_const(bits == 0, span);
        }
        if value.ty.ty.is_error() {
            return value;
        }
        Expr::value(ExprKind::Unary(UnaryOp::Not, Box::new(value)), Ty::BOOL, span)
    }

    fn unary_arithmetic(&mut self, op: Unary, value: Expr, span: Span) -> Expr {
        if value.ty.ty.is_error() {
            return value;
        }
        let value = self.unpack(value);
        let Some(elem) =
            self.types.element(value.ty.ty).filter(|_| self.types.as_matrix(value.ty.ty).is_none())
        else {
            if op == Unary::Plus && self.types.pointee(value.ty.ty).is_some() {
                return value;
            }
            return self.bad_operands(spelling::unary(op), value.ty, None, span);
        };
        if op == Unary::BitNot && elem.is_float() {
            return self.bad_operands("~", value.ty, None, span);
        }
        let value = match self.types.as_vector(value.ty.ty) {
            Some(_) => value,
            None => self.cast_value(CastKind::Convert, value, Ty::scalar(promote(elem)), span),
        };
        let (ty, kind) = (value.ty.ty, op);
        match kind {
            Unary::Plus => value,
            Unary::Minus => Expr { span, ..self.negated(value) },
            _ => {
                if let (ExprKind::Const(ConstValue::Scalar(bits)), Some(scalar)) =
                    (&value.kind, self.types.as_scalar(ty))
                {
                    let bits = eval::eval_unary(anymetal_ir::UnOp::Not, scalar.ir(), *bits);
                    return Expr::value(ExprKind::Const(ConstValue::Scalar(bits)), ty, span);
                }
                Expr::value(ExprKind::Unary(UnaryOp::BitNot, Box::new(value)), ty, span)
            }
        }
    }

    // --- conditional

    pub(super) fn conditional_expr(
        &mut self,
        cond: &'a ast::Expr,
        a: &'a ast::Expr,
        b: &'a ast::Expr,
        span: Span,
    ) -> Expr {
        let cond = self.expr(cond);
        let (a, b) = (self.expr(a), self.expr(b));
        if cond.ty.ty.is_error() || a.ty.ty.is_error() || b.ty.ty.is_error() {
            return self.poison(span);
        }
        if let Some((_, len)) = self.types.as_vector(cond.ty.ty) {
            return self.vector_select(cond, a, b, len, span);
        }
        let cond = self.condition(cond);
        if cond.ty.ty.is_error() {
            return cond;
        }
        let (a, b) = match self.conditional_operands(a, b, span) {
            Some(pair) => pair,
            None => return self.poison(span),
        };
        if let ExprKind::Const(ConstValue::Scalar(bits)) = cond.kind {
            return if bits != 0 { a } else { b };
        }
        if a.is_place {
            // Both are places of one type: choose between their addresses.
            let to = a.ty;
            let pointer = self.types.pointer(to);
            let at = |place: Expr| Expr::value(ExprKind::AddressOf(Box::new(place)), pointer, span);
            let kind = ExprKind::Conditional(Box::new(cond), Box::new(at(a)), Box::new(at(b)));
            let chosen = Expr::value(kind, pointer, span);
            return Expr::place(ExprKind::Deref(Box::new(chosen)), to, span);
        }
        let ty = a.ty.ty;
        Expr::value(ExprKind::Conditional(Box::new(cond), Box::new(a), Box::new(b)), ty, span)
    }

    /// `c ? a : b` as a place, when both sides are places of one type: the value of such a conditional
    /// loads them, which is what most uses want.
    pub(super) fn conditional_place(&mut self, expr: Expr) -> Expr {
        let ExprKind::Conditional(cond, a, b) = &expr.kind else { return expr };
        let (ExprKind::Load(x), ExprKind::Load(y)) = (&a.kind, &b.kind) else { return expr };
        if x.ty != y.ty || x.ty.ty != expr.ty.ty {
            return expr;
        }
        let (to, span) = (x.ty, expr.span);
        let pointer = self.types.pointer(to);
        let at = |place: &Expr| Expr::value(ExprKind::AddressOf(Box::new(place.clone())), pointer, span);
        let kind = ExprKind::Conditional(cond.clone(), Box::new(at(x)), Box::new(at(y)));
        let chosen = Expr::value(kind, pointer, span);
        Expr::place(ExprKind::Deref(Box::new(chosen)), to, span)
    }

    /// Both sides brought to one type; as places only when both are alike and hold more than a value.
    fn conditional_operands(&mut self, a: Expr, b: Expr, span: Span) -> Option<(Expr, Expr)> {
        let (left, right) = (a.ty.ty, b.ty.ty);
        if left == right {
            let is_wide = matches!(self.types.kind(left), TyKind::Record(_) | TyKind::Array(..));
            if a.is_place && b.is_place && is_wide && a.ty == b.ty {
                return Some((a, b));
            }
            return Some((self.rvalue(a), self.rvalue(b)));
        }
        if self.is_overloadable(left) || self.is_overloadable(right) {
            if self.conversion_of(&b, QualTy::plain(left), true).is_some() {
                let b = self.perform(b, QualTy::plain(left));
                return Some((self.rvalue(a), b));
            }
            if self.conversion_of(&a, QualTy::plain(right), true).is_some() {
                let a = self.perform(a, QualTy::plain(right));
                return Some((a, self.rvalue(b)));
            }
        }
        let (a, b) = (self.rvalue(a), self.rvalue(b));
        let (left, right) = (a.ty.ty, b.ty.ty);
        if left == right {
            return Some((a, b));
        }
        if let Some(pair) = self.common_pointers(&a, &b) {
            return Some(pair);
        }
        if (left == Ty::VOID) != (right == Ty::VOID) {
            let (a, b) = (
                self.cast_value(CastKind::ToVoid, a, Ty::VOID, span),
                self.cast_value(CastKind::ToVoid, b, Ty::VOID, span),
            );
            return Some((a, b));
        }
        let result = self.common_operands(a, b);
        if result.is_none() {
            self.bad_operands("?:", QualTy::plain(left), Some(QualTy::plain(right)), span);
        }
        result
    }

    fn common_pointers(&mut self, a: &Expr, b: &Expr) -> Option<(Expr, Expr)> {
        for (from, to, swapped) in [(b, a, false), (a, b, true)] {
            if self.types.pointee(to.ty.ty).is_some() && self.conversion_of(from, to.ty, false).is_some() {
                let converted = self.perform(from.clone(), to.ty);
                return Some(if swapped { (converted, to.clone()) } else { (to.clone(), converted) });
            }
        }
        None
    }

    fn vector_select(&mut self, cond: Expr, a: Expr, b: Expr, len: u8, span: Span) -> Expr {
        let cond = self.rvalue(cond);
        let flags = self.types.vector(ScalarTy::Bool, len);
        let cond = self.splat_or_convert(cond, flags);
        let (a, b) = (self.rvalue(a), self.rvalue(b));
        let (left, right) = (a.ty, b.ty);
        let Some((a, b)) = self.common_operands(a, b) else {
            return self.bad_operands("?:", left, Some(right), span);
        };
        let to = match self.types.as_vector(a.ty.ty) {
            Some((_, n)) if n == len => a.ty.ty,
            Some(_) => return self.bad_operands("?:", cond.ty, Some(a.ty), span),
            None => {
                let Some(elem) = self.types.as_scalar(a.ty.ty) else { return self.poison(span) };
                self.types.vector(elem, len)
            }
        };
        let (a, b) = (self.splat_or_convert(a, to), self.splat_or_convert(b, to));
        Expr::value(ExprKind::Select(Box::new(cond), Box::new(a), Box::new(b)), to, span)
    }
}

fn compare_op(op: Op) -> CompareOp {
    match op {
        Op::Ne => CompareOp::Ne,
        Op::Lt => CompareOp::Lt,
        Op::Gt => CompareOp::Gt,
        Op::Le => CompareOp::Le,
        Op::Ge => CompareOp::Ge,
        _ => CompareOp::Eq,
    }
}
