//! Loops over ranges: arrays by index, classes by what their `begin()` and `end()` give.

use super::loops;
use crate::ast::{self, BinaryOp, UnaryOp};
use crate::hir::{Block, CompareOp, Expr, ExprKind, LoopHint, QualTy, ScalarTy, Stmt, StmtKind, Ty};
use crate::sema::call::Arg;
use crate::sema::checker::Checker;
use crate::sema::entities::LocalDecl;
use crate::sema::expr::scalar_const;
use crate::sema::fn_context::FnContext;
use crate::sema::function::mentions_auto;
use crate::sema::{
    ambiguity, assign, bindings, call, convert, expr, init, member, operator, record, resolve_type, stmt,
    variable,
};
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

pub(super) fn check<'a>(cx: &mut Checker<'a>, range_for: &RangeFor<'a>, out: &mut Vec<Stmt>) {
    let range = expr::check(cx, range_for.range);
    if range.ty.ty.is_error() {
        return;
    }
    let range = expr::materialize(range);
    let mut stmts = Vec::new();
    cx.in_block(|cx| {
        let ty = cx.types.pointer(range.ty);
        let place_ty = range.ty;
        let address = Expr::value(ExprKind::AddressOf(Box::new(range)), ty, range_for.span);
        let pointer = load(&hidden_variable(&mut cx.function, address, &mut stmts));
        let range = Expr::place(ExprKind::Deref(Box::new(pointer)), place_ty, range_for.range.span);
        match range_array(cx, &range) {
            Some(array) => for_array(cx, range_for, array, &mut stmts),
            None => for_class(cx, range_for, &range, &mut stmts),
        }
    });
    stmt::push(out, StmtKind::Block(Block { stmts }), range_for.span);
}

fn for_array<'a>(cx: &mut Checker<'a>, range_for: &RangeFor<'a>, array: Expr, stmts: &mut Vec<Stmt>) {
    let span = range_for.span;
    let Some((_, count)) = cx.types.as_array(array.ty.ty) else { return };
    let hint = loops::loop_hint(cx, range_for.hint);
    counted_loop(cx, count, hint, span, stmts, |cx, index| {
        let element = member::index_checked(cx, array, index, span);
        range_body(cx, range_for, element)
    });
}

/// A loop whose body is given the index, which counts from 0 to `count - 1`.
pub(in crate::sema) fn counted_loop<'a>(
    cx: &mut Checker<'a>,
    count: u64,
    hint: Option<LoopHint>,
    span: Span,
    stmts: &mut Vec<Stmt>,
    body: impl FnOnce(&mut Checker<'a>, Expr) -> Block,
) {
    let index = hidden_variable(&mut cx.function, scalar_const(ScalarTy::I64, 0, span), stmts);
    let end = scalar_const(ScalarTy::I64, count, span);
    let compare = ExprKind::Compare(CompareOp::Lt, Box::new(load(&index)), Box::new(end));
    let cond = Some(Expr::value(compare, Ty::BOOL, span));
    let one = scalar_const(ScalarTy::I64, 1, span);
    let step = Some(assign::compound(cx, BinaryOp::Add, index.clone(), one, span));
    let body = body(cx, load(&index));
    stmt::push(stmts, StmtKind::Loop { cond, post_test: false, step, body, hint }, span);
}

fn for_class<'a>(cx: &mut Checker<'a>, range_for: &RangeFor<'a>, range: &Expr, stmts: &mut Vec<Stmt>) {
    let span = range_for.span;
    let ends = [range_end(cx, "begin", range), range_end(cx, "end", range)];
    let [Some(begin), Some(end)] = ends else {
        let message = "only arrays and classes with `begin()` and `end()` can be iterated over";
        cx.error("bad-range", range.span, message);
        return;
    };
    if begin.ty.ty.is_error() || end.ty.ty.is_error() {
        return;
    }
    let (begin, end) = (cx.values().rvalue(begin), cx.values().rvalue(end));
    let at = hidden_variable(&mut cx.function, begin, stmts);
    let end = hidden_variable(&mut cx.function, end, stmts);
    let differ = operator::binary(cx, BinaryOp::Ne, at.clone(), end, span);
    let cond = Some(expr::condition(cx, differ));
    let step = Some(assign::increment(cx, at.clone(), false, false, span));
    let element = operator::unary(cx, UnaryOp::Deref, at, span);
    let hint = loops::loop_hint(cx, range_for.hint);
    let body = range_body(cx, range_for, element);
    stmt::push(stmts, StmtKind::Loop { cond, post_test: false, step, body, hint }, span);
}

/// A call of `begin` or `end`: the member, or the function that the range's type leads to.
fn range_end(cx: &mut Checker<'_>, name: &str, range: &Expr) -> Option<Expr> {
    let (key, span) = (Name::new(name), range.span);
    let record = cx.types.as_record(range.ty.ty)?;
    if !record::complete(cx, record, span) {
        return None;
    }
    if let Ok(Some(decls)) = ambiguity::member_functions(cx, record, key, span) {
        return Some(call::overloaded(cx, name, &decls, None, Some(range.clone()), Vec::new(), span));
    }
    let args = vec![Arg::Expr(range.clone())];
    let decls = call::argument_dependent(cx, key, &args, &[]);
    (!decls.is_empty()).then(|| call::overloaded(cx, name, &decls, None, None, args, span))
}

/// Declares a variable without a name; the place it is.
fn hidden_variable(function: &mut FnContext, init: Expr, stmts: &mut Vec<Stmt>) -> Expr {
    let (ty, span) = (init.ty.ty, init.span);
    let local = function.new_local(Name::EMPTY, ty, span);
    stmt::push(stmts, StmtKind::Declare { local, init: Some(init) }, span);
    Expr::place(ExprKind::Local(local), QualTy::plain(ty), span)
}

/// The element's declaration and the body.
fn range_body<'a>(cx: &mut Checker<'a>, range_for: &RangeFor<'a>, element: Expr) -> Block {
    let RangeFor { ty, variable, bindings, body, span, .. } = *range_for;
    cx.in_block(|cx| {
        let mut stmts = Vec::new();
        let ty = if mentions_auto(ty) {
            variable::auto_type(cx, ty, &element, span)
        } else {
            Some(resolve_type::resolve(cx, ty)).filter(|ty| !ty.ty.is_error())
        };
        if let Some(ty) = ty {
            let to = init::initialised_type(&cx.types, ty);
            let value = if cx.types.as_array(element.ty.ty).is_some() && to.ty == element.ty.ty {
                init::copied_array(cx, element)
            } else {
                convert::to_type(cx, element, to, "in this initialiser")
            };
            let repr = cx.values().value_repr(ty);
            let name = variable.declarator.name;
            let local = cx.function.new_local(name, repr, span);
            cx.declare_local(name, LocalDecl::Variable { local, ty, function: cx.function.serial }, span);
            stmt::push(&mut stmts, StmtKind::Declare { local, init: Some(value) }, span);
            if let Some(names) = bindings {
                let place = cx.values().variable_place(local, ty, span);
                bindings::bind_names(cx, names, Some(place), span);
            }
        }
        stmts.extend(loops::loop_body(cx, body).stmts);
        Block { stmts }
    })
}

/// The array to iterate over: the range itself, or the elements of the library's `array`.
fn range_array(cx: &mut Checker<'_>, range: &Expr) -> Option<Expr> {
    if cx.types.as_array(range.ty.ty).is_some() {
        return Some(range.clone());
    }
    let record = cx.types.as_record(range.ty.ty)?;
    let [only] = cx.types.record(record).fields.as_slice() else { return None };
    let (ty, span) = (only.ty.ty, range.span);
    cx.types.as_array(ty)?;
    let space = cx.scopes.enclosing_namespace(cx.records.get(record).decl_scope);
    (Some(space) == call::metal_namespace(cx)).then(|| {
        let kind = ExprKind::Field(Box::new(range.clone()), record, 0);
        Expr::place(kind, range.ty.with_ty(ty), span)
    })
}

/// The value of a variable.
fn load(place: &Expr) -> Expr {
    Expr::value(ExprKind::Load(Box::new(place.clone())), place.ty.ty, place.span)
}
