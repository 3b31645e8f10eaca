//! Uses before an explicit specialisation, which instantiate the template implicitly: a specialisation is
//! declared before its first use (C++14 [temp.expl.spec.6]).

use super::History;
use crate::hir::{ExprKind, FuncId, RecordId};
use crate::sema::checker::Checker;
use crate::sema::walk;
use anymetal_diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashMap;

/// Reports specialisations of functions that functions before them call. The calls of instances of templates
/// do not count: they are instantiated at the end of the program as well.
pub(in crate::sema) fn check(cx: &mut Checker<'_>, history: &History) {
    let specialised = history.specialised_functions();
    if specialised.is_empty() {
        return;
    }
    let calls = first_calls(cx);
    for (func, span) in specialised {
        if let Some(&call) = calls.get(&func)
            && is_before(call, span)
        {
            let name = cx.functions.inst(func).name.clone();
            report(cx, &name, span, call);
        }
    }
}

/// Reports a specialisation of a class that code before it needs to be complete.
pub(super) fn check_class(cx: &mut Checker<'_>, class: RecordId, span: Span) {
    if let Some(&used) = cx.records.required.get(&class)
        && is_before(used, span)
    {
        let name = cx.types.record(class).name.clone();
        report(cx, &name, span, used);
    }
}

fn is_before(used: Span, span: Span) -> bool {
    used.file == span.file && used.expansion == span.expansion && used.lo < span.lo && !used.is_none()
}

fn report(cx: &mut Checker<'_>, name: &str, span: Span, used: Span) {
    let message = format!("explicit specialization of `{name}` after instantiation");
    let diagnostic = Diagnostic::error("explicit-instantiation", span, message);
    cx.report(diagnostic.with_note(used, "implicit instantiation first required here"));
}

/// The first call of each function in functions that are not instances.
fn first_calls(cx: &Checker<'_>) -> FxHashMap<FuncId, Span> {
    let mut calls: FxHashMap<FuncId, Span> = FxHashMap::default();
    for caller in cx.functions.with_bodies() {
        let inst = cx.functions.inst(caller);
        let Some(hir) = inst.hir.as_ref().filter(|_| inst.trace.is_none()) else { continue };
        walk::each_in_block(&hir.body, &mut |expr| {
            if let ExprKind::Call(func, _) | ExprKind::Construct(func, _) = &expr.kind {
                let first = calls.entry(*func).or_insert(expr.span);
                if is_before(expr.span, *first) {
                    *first = expr.span;
                }
            }
        });
    }
    calls
}
