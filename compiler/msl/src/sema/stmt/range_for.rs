//! Loops over ranges: arrays by index, classes by what their `begin()` and `end()` give.

use crate::ast::{self, BinaryOp, UnaryOp};
use crate::hir::{Block, CompareOp, Expr, ExprKind, LoopHint, QualTy, ScalarTy, Stmt, StmtKind, Ty};
use crate::sema::call::Arg;
use crate::sema::checker::{Checker, LocalDecl};
use crate::sema::expr::scalar_const;
use crate::sema::function::mentions_auto;
use crate::token::Name;
use anymetal_diagnostics::Span;

/// `for (T x : range) body`
#[derive(Clone, Copy)]
pub(super) struct RangeFor<'a> {
    pub(super) ty: &'a ast::Type,
    pub(super) variable: &'a ast::Variable,
    /// The names of `auto [a, b]`.
    pub(super) bindings: Option<&'a [(Name, Span)]>,
    pub(super) range: &'a ast::Expr,
    pub(super) body: &'a ast::Stmt,
    pub(super) hint: Option<&'a ast::LoopHint>,
    pub(super) span: Span,
}

impl<'a> Checker<'a> {
    pub(super) fn range_for(&mut self, range_for: &RangeFor<'a>, out: &mut Vec<Stmt>) {
        let range = self.expr(range_for.range);
        if range.ty.ty.is_error() {
            return;
        }
        let range = self.materialize(range);
        let mut stmts = Vec::new();
        self.in_block(|s| {
            let ty = s.types.pointer(range.ty);
            let place_ty = range.ty;
            let address = Expr::value(ExprKind::AddressOf(Box::new(range)), ty, range_for.span);
            let pointer = load(&s.hidden_variable(address, &mut stmts));
            let range = Expr::place(ExprKind::Deref(Box::new(pointer)), place_ty, range_for.range.span);
            match s.range_array(&range) {
                Some(array) => s.for_array(range_for, array, &mut stmts),
                None => s.for_class(range_for, &range, &mut stmts),
            }
        });
        Self::push(out, StmtKind::Block(Block { stmts }), range_for.span);
    }

    fn for_array(&mut self, range_for: &RangeFor<'a>, array: Expr, stmts: &mut Vec<Stmt>) {
        let span = range_for.span;
        let Some((_, count)) = self.types.as_array(array.ty.ty) else { return };
        let hint = self.loop_hint(range_for.hint);
        self.counted_loop(count, hint, span, stmts, |s, index| {
            let element = s.index_checked(array, index, span);
            s.range_body(range_for, element)
        });
    }

    /// A loop whose body is given the index, which counts from 0 to `count - 1`.
    pub(in crate::sema) fn counted_loop(
        &mut self,
        count: u64,
        hint: Option<LoopHint>,
        span: Span,
        stmts: &mut Vec<Stmt>,
        body: impl FnOnce(&mut Self, Expr) -> Block,
    ) {
        let index = self.hidden_variable(scalar_const(ScalarTy::I64, 0, span), stmts);
        let end = scalar_const(ScalarTy::I64, count, span);
        let compare = ExprKind::Compare(CompareOp::Lt, Box::new(load(&index)), Box::new(end));
        let cond = Some(Expr::value(compare, Ty::BOOL, span));
        let one = scalar_const(ScalarTy::I64, 1, span);
        let step = Some(self.compound_assign(BinaryOp::Add, index.clone(), one, span));
        let body = body(self, load(&index));
        Self::push(stmts, StmtKind::Loop { cond, post_test: false, step, body, hint }, span);
    }

    fn for_class(&mut self, range_for: &RangeFor<'a>, range: &Expr, stmts: &mut Vec<Stmt>) {
        let span = range_for.span;
        let ends = [self.range_end("begin", range), self.range_end("end", range)];
        let [Some(begin), Some(end)] = ends else {
            let message = "only arrays and classes with `begin()` and `end()` can be iterated over";
            self.error("bad-range", range.span, message);
            return;
        };
        if begin.ty.ty.is_error() || end.ty.ty.is_error() {
            return;
        }
        let (begin, end) = (self.values().rvalue(begin), self.values().rvalue(end));
        let at = self.hidden_variable(begin, stmts);
        let end = self.hidden_variable(end, stmts);
        let differ = self.binary(BinaryOp::Ne, at.clone(), end, span);
        let cond = Some(self.condition(differ));
        let step = Some(self.increment(at.clone(), false, false, span));
        let element = self.unary(UnaryOp::Deref, at, span);
        let hint = self.loop_hint(range_for.hint);
        let body = self.range_body(range_for, element);
        Self::push(stmts, StmtKind::Loop { cond, post_test: false, step, body, hint }, span);
    }

    /// A call of `begin` or `end`: the member, or the function that the range's type leads to.
    fn range_end(&mut self, name: &str, range: &Expr) -> Option<Expr> {
        let (key, span) = (Name::new(name), range.span);
        let record = self.types.as_record(range.ty.ty)?;
        if !self.complete_record(record, span) {
            return None;
        }
        if let Ok(Some(decls)) = self.member_functions(record, key, span) {
            return Some(self.overloaded_call(name, &decls, None, Some(range.clone()), Vec::new(), span));
        }
        let args = vec![Arg::Expr(range.clone())];
        let decls = self.argument_dependent(key, &args, &[]);
        (!decls.is_empty()).then(|| self.overloaded_call(name, &decls, None, None, args, span))
    }

    /// Declares a variable without a name; the place it is.
    fn hidden_variable(&mut self, init: Expr, stmts: &mut Vec<Stmt>) -> Expr {
        let (ty, span) = (init.ty.ty, init.span);
        let local = self.function.new_local(Name::EMPTY, ty, span);
        Self::push(stmts, StmtKind::Declare { local, init: Some(init) }, span);
        Expr::place(ExprKind::Local(local), QualTy::plain(ty), span)
    }

    /// The element's declaration and the body.
    fn range_body(&mut self, range_for: &RangeFor<'a>, element: Expr) -> Block {
        let RangeFor { ty, variable, bindings, body, span, .. } = *range_for;
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
                    s.copied_array(element)
                } else {
                    s.convert(element, to, "in this initialiser")
                };
                let repr = s.values().value_repr(ty);
                let name = variable.declarator.name;
                let local = s.function.new_local(name, repr, span);
                s.declare_local(name, LocalDecl::Variable { local, ty, function: s.function.serial }, span);
                Self::push(&mut stmts, StmtKind::Declare { local, init: Some(value) }, span);
                if let Some(names) = bindings {
                    let place = s.values().variable_place(local, ty, span);
                    s.bind_names(names, Some(place), span);
                }
            }
            stmts.extend(s.loop_body(body).stmts);
            Block { stmts }
        })
    }

    /// The array to iterate over: the range itself, or the elements of the library's `array`.
    fn range_array(&mut self, range: &Expr) -> Option<Expr> {
        if self.types.as_array(range.ty.ty).is_some() {
            return Some(range.clone());
        }
        let record = self.types.as_record(range.ty.ty)?;
        let [only] = self.types.record(record).fields.as_slice() else { return None };
        let (ty, span) = (only.ty.ty, range.span);
        self.types.as_array(ty)?;
        let space = self.scopes.enclosing_namespace(self.records.get(record).decl_scope);
        (Some(space) == self.metal_namespace()).then(|| {
            let kind = ExprKind::Field(Box::new(range.clone()), record, 0);
            Expr::place(kind, range.ty.with_ty(ty), span)
        })
    }
}

/// The value of a variable.
fn load(place: &Expr) -> Expr {
    Expr::value(ExprKind::Load(Box::new(place.clone())), place.ty.ty, place.span)
}
