//! Which atomic operations exist, by type, memory order and address space (MSL 2.6, 6.15).

use crate::hir::{ConstValue, Expr, FuncId, QualTy, ScalarTy, TyKind};
use crate::sema::checker::Checker;
use crate::sema::entities::TArg;
use crate::sema::evaluate;
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};
use anymetal_ir::Space;

/// The value of `memory_order_relaxed`.
const RELAXED: u64 = 0;

/// Reports a call of an atomic function of the library with a type, an order or in a space that Metal does
/// not have it for. `args` are converted to the parameters' types.
pub(in crate::sema) fn check_call(cx: &mut Checker<'_>, func: FuncId, args: &[Expr], span: Span) {
    let Some(name) = atomic_function(cx, func, args) else { return };
    for arg in args {
        if !is_enumeration(cx, arg) {
            // Not an order.
            continue;
        }
        // An order that is not constant is left to Metal's own compiler.
        if let Ok(ConstValue::Scalar(order)) = evaluate::value_of(cx, arg)
            && order != RELAXED
        {
            let message = format!("the memory order of `{name}` must be `memory_order_relaxed`");
            let hint = "order other accesses with `atomic_thread_fence(flags, memory_order_seq_cst, scope)`";
            cx.report(Diagnostic::error("atomic-operation", arg.span, message).with_hint(hint));
        }
    }
    let Some((object, element)) = args.first().and_then(|object| atomic_object(cx, object)) else { return };
    let is_min_or_max = matches!(name.as_str(), "atomic_min_explicit" | "atomic_max_explicit");
    if element == ScalarTy::U64 && !is_min_or_max {
        let message = format!("`{name}` does not take an `atomic_ulong`");
        let hint = "64-bit atomics have `atomic_min_explicit` and `atomic_max_explicit` only";
        cx.report(Diagnostic::error("atomic-operation", span, message).with_hint(hint));
    }
    if element == ScalarTy::F32 && object.space != Space::Device {
        let message = format!("an `atomic_float` must be in device memory, not in {}", object.space.name());
        let hint = "exchange the bits of an `atomic_uint` with `atomic_compare_exchange_weak_explicit`";
        cx.report(Diagnostic::error("atomic-operation", span, message).with_hint(hint));
    }
}

/// The name of the function if it is one of the library's operations on atomic objects: those end with the
/// memory order. A fence does not access an object and takes other orders.
fn atomic_function(cx: &Checker<'_>, func: FuncId, args: &[Expr]) -> Option<Name> {
    args.last().filter(|last| is_enumeration(cx, last))?;
    let declared = cx.functions.decl(cx.functions.inst(func).origin.decl()?).ast;
    let name = declared.name.ordinary().filter(|_| cx.diagnostics.is_of_library(declared.span))?;
    let is_atomic = name.as_str().starts_with("atomic_") && name.as_str().ends_with("_explicit");
    is_atomic.then_some(name)
}

fn is_enumeration(cx: &Checker<'_>, value: &Expr) -> bool {
    cx.types.as_enum(value.ty.ty).is_some()
}

/// The atomic object that a pointer points to, and the type of its value.
fn atomic_object(cx: &Checker<'_>, pointer: &Expr) -> Option<(QualTy, ScalarTy)> {
    let object = cx.types.pointee(pointer.ty.ty)?;
    let TyKind::Record(record) = *cx.types.kind(object.ty) else { return None };
    let [TArg::Type(element)] = &*cx.records.get(record).args else { return None };
    Some((object, cx.types.as_scalar(element.ty)?))
}
