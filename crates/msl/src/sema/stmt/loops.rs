//! Loops. All of them become one kind, with a condition before or after the body and a step.
//!
//! Invariant: a `continue` in a body belongs to the loop, and so does a `break` that is in no switch inside
//! it.

use crate::ast::{self, ForInit};
use crate::hir::{
    Block, CompareOp, ConstValue, Expr, ExprKind, LoopHint, QualTy, ScalarTy, Stmt, StmtKind, Ty,
};
use crate::sema::checker::{Checker, LocalDecl};
use crate::sema::expr::scalar_const;
use crate::sema::function::mentions_auto;
use crate::token::Name;
use anymetal_diag::Span;

impl<'a> Checker<'a> {
    fn loop_condition(&mut self, cond: Option<&'a ast::Expr>) -> Option<Expr> {
        let value = self.expr(cond?);
        let cond = self.condition(value);
        match cond.kind {
            ExprKind::Const(ConstValue::Scalar(1)) => None,
            _ => Some(cond),
        }
    }

    fn loop_body(&mut self, body: &'a ast::Stmt) -> Block {
        self.function.loops += 1;
        let switches = std::mem::take(&mut self.function.switches);
        let block = self.body(body);
        self.function.switches = switches;
        self.function.loops -= 1;
        block
    }

    fn loop_hint(&mut self, hint: Option<&'a ast::LoopHint>) -> Option<LoopHint> {
        Some(match hint? {
            ast::LoopHint::Full => LoopHint::Full,
            ast::LoopHint::Enable => LoopHint::Enable,
            ast::LoopHint::Disable => LoopHint::Disable,
            ast::LoopHint::Count(expr) => {
                // A count that is not constant (a function constant, say) is no more than "please".
                let count = self.quietly(|s| {
                    let value = s.expr(expr);
                    s.constant_integer(value)
                });
                match count.ok().flatten() {
                    Some(n @ 1..=65_536) => LoopHint::Count(n as u32),
                    _ => LoopHint::Enable,
                }
            }
        })
    }

    pub(super) fn while_stmt(
        &mut self,
        cond: &'a ast::Expr,
        body: &'a ast::Stmt,
        hint: Option<&'a ast::LoopHint>,
        span: Span,
        out: &mut Vec<Stmt>,
    ) {
        let cond = self.loop_condition(Some(cond));
        let hint = self.loop_hint(hint);
        let body = self.loop_body(body);
        Self::push(out, StmtKind::Loop { cond, post_test: false, step: None, body, hint }, span);
    }

    pub(super) fn do_stmt(
        &mut self,
        body: &'a ast::Stmt,
        cond: &'a ast::Expr,
        hint: Option<&'a ast::LoopHint>,
        span: Span,
        out: &mut Vec<Stmt>,
    ) {
        let hint = self.loop_hint(hint);
        let body = self.loop_body(body);
        let cond = self.loop_condition(Some(cond));
        Self::push(out, StmtKind::Loop { cond, post_test: true, step: None, body, hint }, span);
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one statement")]
    pub(super) fn for_stmt(
        &mut self,
        init: &'a ForInit,
        cond: Option<&'a ast::Expr>,
        step: Option<&'a ast::Expr>,
        body: &'a ast::Stmt,
        hint: Option<&'a ast::LoopHint>,
        span: Span,
        out: &mut Vec<Stmt>,
    ) {
        let mut stmts = Vec::new();
        self.in_block(|s| {
            match init {
                ForInit::Empty => {}
                ForInit::Declaration(variables) => {
                    variables.iter().for_each(|variable| s.local_variable(variable, &mut stmts));
                }
                ForInit::Expr(expr) => {
                    let value = s.expr(expr);
                    Self::push(&mut stmts, StmtKind::Expr(value), span);
                }
            }
            let hint = s.loop_hint(hint);
            let cond = s.loop_condition(cond);
            let step = step.map(|step| s.expr(step));
            let body = s.loop_body(body);
            Self::push(&mut stmts, StmtKind::Loop { cond, post_test: false, step, body, hint }, span);
        });
        Self::push(out, StmtKind::Block(Block { stmts }), span);
    }

    /// `for (T x : array)`: by index over an array.
    #[allow(clippy::too_many_arguments, reason = "the parts of one statement")]
    pub(super) fn range_for(
        &mut self,
        ty: &'a ast::Type,
        variable: &'a ast::Variable,
        bindings: Option<&'a [(Name, Span)]>,
        range: &'a ast::Expr,
        body: &'a ast::Stmt,
        hint: Option<&'a ast::LoopHint>,
        span: Span,
        out: &mut Vec<Stmt>,
    ) {
        let range_span = range.span;
        let range = self.expr(range);
        if range.ty.ty.is_error() {
            return;
        }
        let Some(array) = self.range_array(range) else {
            self.error("bad-range", range_span, "only arrays can be iterated over");
            return;
        };
        let Some((_, count)) = self.types.as_array(array.ty.ty) else { return };
        let mut stmts = Vec::new();
        self.in_block(|s| {
            let (pointer_ty, array_ty) = (s.types.pointer(array.ty), array.ty);
            let address = Expr::value(ExprKind::AddressOf(Box::new(array)), pointer_ty, span);
            let pointer = s.hidden_variable(address, &mut stmts);
            let index = s.hidden_variable(scalar_const(ScalarTy::I64, 0, span), &mut stmts);
            let load = |place: &Expr| Expr::value(ExprKind::Load(Box::new(place.clone())), place.ty.ty, span);
            let end = scalar_const(ScalarTy::I64, count, span);
            let compare = ExprKind::Compare(CompareOp::Lt, Box::new(load(&index)), Box::new(end));
            let cond = Some(Expr::value(compare, Ty::BOOL, span));
            let one = scalar_const(ScalarTy::I64, 1, span);
            let step = Some(s.compound_assign(ast::BinaryOp::Add, index.clone(), one, span));
            let array = Expr::place(ExprKind::Deref(Box::new(load(&pointer))), array_ty, span);
            let element = s.index_checked(array, load(&index), span);
            let hint = s.loop_hint(hint);
            let body = s.range_body(ty, variable, bindings, element, body, span);
            Self::push(&mut stmts, StmtKind::Loop { cond, post_test: false, step, body, hint }, span);
        });
        Self::push(out, StmtKind::Block(Block { stmts }), span);
    }

    /// Declares a variable without a name; the place it is.
    fn hidden_variable(&mut self, init: Expr, stmts: &mut Vec<Stmt>) -> Expr {
        let (ty, span) = (init.ty.ty, init.span);
        let local = self.new_local(Name::EMPTY, ty, span);
        Self::push(stmts, StmtKind::Declare { local, init: Some(init) }, span);
        Expr::place(ExprKind::Local(local), QualTy::plain(ty), span)
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one statement")]
    fn range_body(
        &mut self,
        ty: &'a ast::Type,
        variable: &'a ast::Variable,
        bindings: Option<&'a [(Name, Span)]>,
        element: Expr,
        body: &'a ast::Stmt,
        span: Span,
    ) -> Block {
        self.in_block(|s| {
            let mut stmts = Vec::new();
            let ty = if mentions_auto(ty) {
                s.auto_type(ty, &element, span)
            } else {
                Some(s.resolve_type(ty)).filter(|ty| !ty.ty.is_error())
            };
            if let Some(ty) = ty {
                let to = s.initialised_type(ty);
                let value = if s.types.as_array(element.ty.ty).is_some() && to.ty == element.ty.ty {
                    s.whole_value(element)
                } else {
                    s.convert(element, to, "in this initialiser")
                };
                let repr = s.value_repr(ty);
                let name = variable.declarator.name;
                let local = s.new_local(name, repr, span);
                s.declare_local(name, LocalDecl::Variable { local, ty, function: s.function.serial }, span);
                Self::push(&mut stmts, StmtKind::Declare { local, init: Some(value) }, span);
                if let Some(names) = bindings {
                    let place = s.variable_place(local, ty, span);
                    s.bind_names(names, Some(place), span);
                }
            }
            stmts.extend(s.loop_body(body).stmts);
            Block { stmts }
        })
    }

    /// The array to iterate over: the range itself, or the only member of a class such as `array`.
    fn range_array(&mut self, range: Expr) -> Option<Expr> {
        let range = self.materialize(range);
        if self.types.as_array(range.ty.ty).is_some() {
            return Some(range);
        }
        let record = self.types.as_record(range.ty.ty)?;
        let [only] = self.types.record(record).fields.as_slice() else { return None };
        self.types.as_array(only.ty.ty)?;
        let (qual, span) = (range.ty.with_ty(only.ty.ty), range.span);
        Some(Expr::place(ExprKind::Field(Box::new(range), record, 0), qual, span))
    }
}
