//! A function's body: calls of kernels, and constants: division by zero, indices, null pointers, addresses
//! that are returned.
//!
//! Code that a constant condition keeps from running is gone by now.

use super::warn;
use crate::hir::{BinaryOp, CastKind, ConstValue, Expr, ExprKind, LocalId, QualTy, Stmt, StmtKind, Types};
use crate::sema::checker::Checker;
use crate::sema::walk;
use anymetal_diagnostics::Span;

/// A warning that is found while the checker is borrowed.
type Found = (&'static str, Span, String);

pub(super) fn check(cx: &mut Checker<'_>, ret: QualTy, stmts: &[Stmt]) {
    let mut found = Vec::new();
    // One past the end of an array has an address. The walk visits the only operand of `&` next.
    let mut addressed: *const Expr = std::ptr::null();
    let mut kernel_calls = Vec::new();
    let types = &cx.types;
    walk::each_in_stmts(stmts, &mut |expr| match &expr.kind {
        ExprKind::AddressOf(place) => {
            addressed = std::ptr::from_ref(&**place);
        }
        ExprKind::Binary(op @ (BinaryOp::Div | BinaryOp::Rem), _, by) => {
            division(types, *op, by, expr, &mut found)
        }
        ExprKind::Element(array, index) => {
            let is_addressed = std::ptr::eq(addressed, expr);
            element(types, array, index, is_addressed, expr, &mut found);
        }
        ExprKind::Call(func, _) if cx.functions.is_entry_point(*func) => {
            kernel_calls.push(expr.span);
        }
        ExprKind::Deref(pointer) if !std::ptr::eq(addressed, expr) && is_null(pointer) => {
            let message = "indirection of non-volatile null pointer will be deleted, not trap";
            found.push(("null-dereference", expr.span, message.to_owned()));
        }
        _ => {}
    });
    if types.pointee(ret.ty).is_some() || types.referent(ret.ty).is_some() {
        let is_reference = types.referent(ret.ty).is_some();
        returned(cx, stmts, is_reference, &mut found);
    }
    for (id, span, message) in found {
        warn(cx, id, span, message);
    }
    for span in kernel_calls {
        let message = "a kernel or a graphics function cannot be called by another function";
        cx.error("kernel-call", span, message);
    }
}

fn division(types: &Types, op: BinaryOp, by: &Expr, expr: &Expr, found: &mut Vec<Found>) {
    let by = if let ExprKind::Cast(CastKind::Splat, inner) = &by.kind { inner } else { by };
    let is_zero = matches!(by.kind, ExprKind::Const(ConstValue::Scalar(0)));
    if is_zero && types.element(expr.ty.ty).is_some_and(|elem| elem.is_integral()) {
        let word = if op == BinaryOp::Div { "division" } else { "remainder" };
        found.push(("division-by-zero", expr.span, format!("{word} by zero is undefined")));
    }
}

fn element(
    types: &Types,
    array: &Expr,
    index: &Expr,
    is_addressed: bool,
    expr: &Expr,
    found: &mut Vec<Found>,
) {
    let ExprKind::Const(ConstValue::Scalar(bits)) = index.kind else {
        // Only constant indices are known.
        return;
    };
    let Some((_, length)) = types.as_array(array.ty.ty) else {
        // A pointer does not know how many elements follow.
        return;
    };
    // An array at the end of a structure may be followed by more elements.
    let may_be_longer = match &array.kind {
        ExprKind::Field(_, record, n) => *n as usize + 1 == types.record(*record).fields.len(),
        _ => false,
    };
    let index = bits as i64;
    let end = length + u64::from(is_addressed);
    if index < 0 {
        let message = format!("array index {index} is before the beginning of the array");
        found.push(("past-array", expr.span, message));
    } else if index as u64 >= end && length > 0 && !may_be_longer {
        let shown = types.display(array.ty.ty);
        let message = format!("array index {index} is past the end of the array (that has type '{shown}')");
        found.push(("past-array", expr.span, message));
    }
}

fn is_null(pointer: &Expr) -> bool {
    match &pointer.kind {
        ExprKind::Const(ConstValue::Null) => true,
        ExprKind::Cast(CastKind::Pointer, inner) => is_null(inner),
        ExprKind::Cast(CastKind::IntToPointer, inner) => {
            matches!(inner.kind, ExprKind::Const(ConstValue::Scalar(0)))
        }
        _ => false,
    }
}

/// Addresses of local variables that a function returns.
fn returned(cx: &Checker<'_>, stmts: &[Stmt], is_reference: bool, found: &mut Vec<Found>) {
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::Return(Some(value)) => {
                let Some(local) = local_of(value) else { continue };
                let (name, params) = (cx.function.locals[local.0 as usize].name, cx.function.params);
                if name.as_str().is_empty() {
                    continue;
                }
                let what = if is_reference { "reference to" } else { "address of" };
                let which = if local.0 < params { "parameter" } else { "local variable" };
                let message = format!("{what} stack memory associated with {which} '{name}' returned");
                found.push(("return-stack-address", value.span, message));
            }
            StmtKind::Block(block) => returned(cx, &block.stmts, is_reference, found),
            StmtKind::If { then, otherwise, .. } => {
                returned(cx, &then.stmts, is_reference, found);
                returned(cx, &otherwise.stmts, is_reference, found);
            }
            StmtKind::Loop { body, .. } => returned(cx, &body.stmts, is_reference, found),
            StmtKind::Switch { cases, .. } => {
                cases.iter().for_each(|case| returned(cx, &case.body.stmts, is_reference, found));
            }
            StmtKind::Expr(_)
            | StmtKind::Declare { .. }
            | StmtKind::Return(None)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Fp(_) => {}
        }
    }
}

/// The local variable that a pointer points into.
fn local_of(pointer: &Expr) -> Option<LocalId> {
    let mut at = pointer;
    loop {
        at = match &at.kind {
            ExprKind::Cast(CastKind::Pointer | CastKind::Xvalue, inner) => inner,
            ExprKind::PointerAdd(inner, _) => inner,
            ExprKind::AddressOf(place) | ExprKind::ArrayDecay(place) => return local_of_place(place),
            _ => return None,
        };
    }
}

fn local_of_place(place: &Expr) -> Option<LocalId> {
    let mut at = place;
    loop {
        at = match &at.kind {
            ExprKind::Local(local) => return Some(*local),
            ExprKind::Field(inner, ..)
            | ExprKind::Element(inner, _)
            | ExprKind::Swizzle(inner, _)
            | ExprKind::VectorElement(inner, _)
            | ExprKind::Column(inner, _) => inner,
            ExprKind::Deref(pointer) => return local_of(pointer),
            _ => return None,
        };
    }
}
