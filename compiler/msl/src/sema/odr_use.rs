//! Constants of an enclosing function in the members of a local class, which may read them and not use them
//! otherwise (C++14 [basic.def.odr.3], [class.local.1]).
//!
//! Such a constant is a datum of its own, so that a use of its address remains visible in the typed body: a
//! read is folded, or is a load from a part of the datum.

use super::checker::Checker;
use super::evaluate;
use super::walk;
use crate::hir::{Block, ConstValue, Expr, ExprKind, Global, GlobalId, QualTy};
use crate::token::Name;
use anymetal_diagnostics::Span;
use anymetal_ir::Space;
use rustc_hash::FxHashSet;

/// Whether the code is a member function of a class that is not the type of a lambda, whose captures decide
/// which variables it uses.
fn in_local_class(cx: &Checker<'_>) -> bool {
    let class = cx.function.this.and_then(|(_, this)| cx.types.as_record(this.ty));
    class.is_some_and(|class| cx.records.get(class).lambda.is_none())
}

/// The constant of an enclosing function as a place; `None` where it is a mere value.
pub(super) fn outer_constant(
    cx: &mut Checker<'_>,
    ty: QualTy,
    value: &ConstValue,
    span: Span,
) -> Option<Expr> {
    if !cx.checks_everything || !in_local_class(cx) {
        return None;
    }
    let bytes = evaluate::value_to_bytes(&cx.types, ty.ty, value);
    let id = cx.data.add_global(Global { name: Name::EMPTY.to_string(), ty: ty.ty, bytes, span });
    cx.data.outer_constants.insert(id);
    let qual = QualTy { is_const: true, ..QualTy::in_space(ty.ty, Space::Constant) };
    Some(Expr::place(ExprKind::Global(id), qual, span))
}

/// The constant that a place is, or is a part of.
fn root<'e>(constants: &FxHashSet<GlobalId>, place: &'e Expr) -> Option<&'e Expr> {
    match &place.kind {
        ExprKind::Global(id) => constants.contains(id).then_some(place),
        ExprKind::Field(base, ..)
        | ExprKind::Swizzle(base, _)
        | ExprKind::Element(base, _)
        | ExprKind::Column(base, _)
        | ExprKind::VectorElement(base, _)
        | ExprKind::Comma(_, base) => root(constants, base),
        _ => None,
    }
}

/// Reports a constant that is evaluated for nothing, which is a use of the variable.
pub(super) fn check_discarded(cx: &mut Checker<'_>, value: &Expr) {
    if let Some(constant) = root(&cx.data.outer_constants, value) {
        report(cx, constant.span);
    }
}

/// Reports the uses in a body other than reads.
pub(super) fn check_body(cx: &mut Checker<'_>, body: &Block) {
    if cx.data.outer_constants.is_empty() {
        return;
    }
    let (mut uses, mut reads) = (Vec::new(), FxHashSet::default());
    walk::each_in_block(body, &mut |expr| match &expr.kind {
        ExprKind::Global(id) if cx.data.outer_constants.contains(id) => uses.push((*id, expr.span)),
        ExprKind::Load(place) => {
            if let Some(Expr { kind: ExprKind::Global(id), .. }) = root(&cx.data.outer_constants, place) {
                reads.insert(*id);
            }
        }
        _ => {}
    });
    for (id, span) in uses {
        if !reads.contains(&id) {
            report(cx, span);
        }
    }
}

fn report(cx: &mut Checker<'_>, span: Span) {
    cx.error("not-captured", span, "reference to a local variable of the enclosing function");
}
