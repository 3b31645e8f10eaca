//! The types of a kernel's thread attributes, which depend on each other (MSL 5.2.3.6).

use crate::hir::{KernelParam, KernelParamKind, ScalarTy};
use crate::sema::diagnostics::Diagnostics;
use anymetal_diagnostics::{Diagnostic, Span};

/// Those that, where they are vectors, have the same number of components.
const OF_ONE_DIMENSION: &[&str] = &[
    "thread_position_in_grid",
    "threads_per_grid",
    "thread_position_in_threadgroup",
    "threads_per_threadgroup",
    "threadgroup_position_in_grid",
    "dispatch_threads_per_threadgroup",
    "threadgroups_per_grid",
];

/// Sets of attributes that have one type.
const OF_ONE_TYPE: &[&[&str]] = &[
    &["thread_position_in_grid", "threads_per_grid"],
    &["thread_position_in_threadgroup", "threads_per_threadgroup", "dispatch_threads_per_threadgroup"],
    &[
        "thread_index_in_simdgroup",
        "threads_per_simdgroup",
        "thread_execution_width",
        "simdgroup_index_in_threadgroup",
        "simdgroups_per_threadgroup",
        "dispatch_simdgroups_per_threadgroup",
        "quadgroup_index_in_threadgroup",
        "quadgroups_per_threadgroup",
        "dispatch_quadgroups_per_threadgroup",
    ],
];

/// A parameter with a thread attribute.
#[derive(Clone, Copy)]
struct Fact {
    attribute: &'static str,
    elem: ScalarTy,
    len: u8,
    span: Span,
}

/// Reports attributes of a kernel whose types do not go together.
pub(in crate::sema) fn check(diagnostics: &mut Diagnostics, params: &[KernelParam]) {
    let fact = |param: &KernelParam| match param.kind {
        KernelParamKind::Thread { elem, len, attribute, .. } => {
            Some(Fact { attribute, elem, len, span: param.span })
        }
        _ => None,
    };
    let facts: Vec<Fact> = params.iter().filter_map(fact).collect();
    let vectors = facts.iter().filter(|fact| fact.len > 1 && OF_ONE_DIMENSION.contains(&fact.attribute));
    let differs = |a: &Fact, b: &Fact| a.len != b.len;
    report_difference(diagnostics, vectors, differs, "must have the same number of components");
    for set in OF_ONE_TYPE {
        let of_set = facts.iter().filter(|fact| set.contains(&fact.attribute));
        let differs = |a: &Fact, b: &Fact| (a.elem, a.len) != (b.elem, b.len);
        report_difference(diagnostics, of_set, differs, "must have the same type");
    }
    let named = |name: &str| facts.iter().find(|fact| fact.attribute == name);
    if let Some(position) = named("thread_position_in_threadgroup")
        && let Some(index) = named("thread_index_in_threadgroup")
        && (position.elem, index.elem) == (ScalarTy::U32, ScalarTy::U16)
    {
        report(diagnostics, position, index, "must both be of `uint`");
    }
}

/// Reports the first of some attributes that differs from the one before all of them.
fn report_difference<'f>(
    diagnostics: &mut Diagnostics,
    mut facts: impl Iterator<Item = &'f Fact>,
    differs: impl Fn(&Fact, &Fact) -> bool,
    rule: &str,
) {
    let Some(first) = facts.next() else {
        // The kernel has none of them.
        return;
    };
    if let Some(other) = facts.find(|fact| differs(first, fact)) {
        report(diagnostics, first, other, rule);
    }
}

fn report(diagnostics: &mut Diagnostics, first: &Fact, other: &Fact, rule: &str) {
    let message = format!("`{}` and `{}` {rule}", first.attribute, other.attribute);
    let diagnostic = Diagnostic::error("thread-attribute-types", other.span, message);
    diagnostics.report(diagnostic.with_secondary(first.span, "the other one"));
}
