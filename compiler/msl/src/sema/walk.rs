//! Walks over finished trees.
//!
//! Invariant: what the operands of a node are stands here once, for walks that look and walks that change.

use crate::hir::{Block, Expr, ExprKind, Stmt, StmtKind};

/// Calls `$f` for the operands of a kind of expression, borrowed as the kind is.
macro_rules! for_operands {
    ($kind:expr, $iter:ident, $f:expr) => {
        match $kind {
            ExprKind::Local(_)
            | ExprKind::Global(_)
            | ExprKind::Threadgroup(_)
            | ExprKind::Const(_)
            | ExprKind::Zero
            | ExprKind::Undef
            | ExprKind::FunctionConstant(_)
            | ExprKind::FunctionConstantDefined(_)
            | ExprKind::ThreadFact { .. }
            | ExprKind::Resource(_)
            | ExprKind::Error => {}
            ExprKind::Deref(a)
            | ExprKind::Field(a, ..)
            | ExprKind::Swizzle(a, _)
            | ExprKind::Materialize(a)
            | ExprKind::Load(a)
            | ExprKind::AddressOf(a)
            | ExprKind::ArrayDecay(a)
            | ExprKind::Unary(_, a)
            | ExprKind::Cast(_, a)
            | ExprKind::Union(_, a)
            | ExprKind::Let(_, None, a) => $f(a),
            ExprKind::Element(a, b)
            | ExprKind::Column(a, b)
            | ExprKind::VectorElement(a, b)
            | ExprKind::Assign(a, b)
            | ExprKind::Binary(_, a, b)
            | ExprKind::Compare(_, a, b)
            | ExprKind::Logical(_, a, b)
            | ExprKind::PointerAdd(a, b)
            | ExprKind::PointerDiff(a, b)
            | ExprKind::Let(_, Some(a), b)
            | ExprKind::Comma(a, b) => {
                $f(a);
                $f(b);
            }
            ExprKind::Conditional(a, b, c) | ExprKind::Select(a, b, c) => {
                $f(a);
                $f(b);
                $f(c);
            }
            ExprKind::Update { rhs, place, value, .. } => {
                if let Some((_, rhs)) = rhs {
                    $f(rhs);
                }
                $f(place);
                $f(value);
            }
            ExprKind::Vector(parts)
            | ExprKind::Matrix(parts)
            | ExprKind::Struct(parts)
            | ExprKind::Array(parts)
            | ExprKind::Construct(_, parts)
            | ExprKind::Call(_, parts)
            | ExprKind::Builtin(_, parts) => parts.$iter().for_each($f),
        }
    };
}

/// The direct operands of an expression, in order of evaluation (roughly).
pub(crate) fn operands<'e>(expr: &'e Expr, f: &mut dyn FnMut(&'e Expr)) {
    for_operands!(&expr.kind, iter, f);
}

/// As [`operands`], to be changed in place.
fn operands_mut<'e>(expr: &'e mut Expr, f: &mut dyn FnMut(&'e mut Expr)) {
    for_operands!(&mut expr.kind, iter_mut, f);
}

/// Calls `f` for the expression and everything in it, without recursion.
pub(super) fn each_expr<'e>(expr: &'e Expr, f: &mut dyn FnMut(&'e Expr)) {
    each_of_stack(&mut vec![expr], f);
}

/// Calls `f` for the expressions of a stack and everything in them; empties it.
fn each_of_stack<'e>(stack: &mut Vec<&'e Expr>, f: &mut dyn FnMut(&'e Expr)) {
    while let Some(at) = stack.pop() {
        f(at);
        operands(at, &mut |operand| stack.push(operand));
    }
}

/// Whether evaluating the expression may do more than give its value.
pub(super) fn has_effects(expr: &Expr) -> bool {
    let mut found = false;
    each_expr(expr, &mut |expr| {
        found |= match &expr.kind {
            ExprKind::Assign(..)
            | ExprKind::Update { .. }
            | ExprKind::Call(..)
            | ExprKind::Construct(..)
            | ExprKind::Builtin(..)
            | ExprKind::Let(..) => true,
            ExprKind::Load(place) => place.ty.is_volatile,
            _ => false,
        };
    });
    found
}

/// Calls `f` for every expression of a block.
pub(super) fn each_in_block<'e>(block: &'e Block, f: &mut dyn FnMut(&'e Expr)) {
    each_in_stmts(&block.stmts, f);
}

/// Calls `f` for every expression of statements.
pub(super) fn each_in_stmts<'e>(stmts: &'e [Stmt], f: &mut dyn FnMut(&'e Expr)) {
    let mut stack = Vec::new();
    each_full_expr(stmts, &mut |expr| {
        stack.push(expr);
        each_of_stack(&mut stack, f);
    });
}

/// Calls `f` for every expression of statements that is no part of another.
pub(super) fn each_full_expr<'e>(stmts: &'e [Stmt], f: &mut dyn FnMut(&'e Expr)) {
    stmts.iter().for_each(|stmt| each_in_stmt(stmt, f));
}

fn each_in_stmt<'e>(stmt: &'e Stmt, f: &mut dyn FnMut(&'e Expr)) {
    match &stmt.kind {
        StmtKind::Expr(expr) | StmtKind::Declare { init: Some(expr), .. } | StmtKind::Return(Some(expr)) => {
            f(expr);
        }
        StmtKind::Block(block) => each_full_expr(&block.stmts, f),
        StmtKind::If { cond, then, otherwise } => {
            f(cond);
            each_full_expr(&then.stmts, f);
            each_full_expr(&otherwise.stmts, f);
        }
        StmtKind::Loop { cond, step, body, .. } => {
            cond.iter().chain(step).for_each(&mut *f);
            each_full_expr(&body.stmts, f);
        }
        StmtKind::Switch { selector, cases } => {
            f(selector);
            cases.iter().for_each(|case| each_full_expr(&case.body.stmts, f));
        }
        StmtKind::Declare { init: None, .. }
        | StmtKind::Break
        | StmtKind::Continue
        | StmtKind::Return(None)
        | StmtKind::Fp(_) => {}
    }
}

/// Calls `f` for every expression of a block, to be changed in place; outer ones first.
pub(super) fn each_in_block_mut(block: &mut Block, f: &mut dyn FnMut(&mut Expr)) {
    for stmt in &mut block.stmts {
        match &mut stmt.kind {
            StmtKind::Expr(expr)
            | StmtKind::Declare { init: Some(expr), .. }
            | StmtKind::Return(Some(expr)) => {
                each_expr_mut(expr, f);
            }
            StmtKind::Block(block) => each_in_block_mut(block, f),
            StmtKind::If { cond, then, otherwise } => {
                each_expr_mut(cond, f);
                each_in_block_mut(then, f);
                each_in_block_mut(otherwise, f);
            }
            StmtKind::Loop { cond, step, body, .. } => {
                cond.iter_mut().chain(step).for_each(|expr| each_expr_mut(expr, f));
                each_in_block_mut(body, f);
            }
            StmtKind::Switch { selector, cases } => {
                each_expr_mut(selector, f);
                cases.iter_mut().for_each(|case| each_in_block_mut(&mut case.body, f));
            }
            StmtKind::Declare { init: None, .. }
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(None)
            | StmtKind::Fp(_) => {}
        }
    }
}

/// Calls `f` for the expression and everything in it, to be changed in place.
pub(super) fn each_expr_mut(expr: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
    let mut stack = vec![expr];
    while let Some(at) = stack.pop() {
        f(at);
        operands_mut(at, &mut |operand| stack.push(operand));
    }
}
