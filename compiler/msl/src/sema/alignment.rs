//! `alignas` and `aligned` (C++14 [dcl.align]).

use super::checker::Checker;
use super::{evaluate, expr};
use crate::ast;
use crate::hir::{QualTy, Ty};

/// Checks the alignment that is requested for a variable. Variables are aligned as their types here, and no
/// address of one shows more.
pub(super) fn check_variable<'a>(cx: &mut Checker<'a>, variable: &'a ast::Variable, ty: QualTy) {
    if variable.align.is_empty() || ty.ty.is_error() || cx.is_dependent(ty.ty) {
        return;
    }
    let requested = declared(cx, &variable.align);
    let natural = cx.types.layout(ty.ty).align;
    refuse_less(cx, &variable.align, requested, natural, ty.ty);
}

/// The alignment that is requested, 1 for none.
pub(super) fn declared<'a>(cx: &mut Checker<'a>, written: &'a [ast::Alignment]) -> u32 {
    let mut align = 1;
    for ast::Alignment { value: expr, .. } in written {
        let value = expr::check(cx, expr);
        if value.ty.ty.is_error() {
            continue;
        }
        match evaluate::constant_integer(cx, value) {
            Some(n) if n > 0 && n <= 4096 && (n as u32).is_power_of_two() => align = align.max(n as u32),
            Some(0) | None => {}
            Some(n) => cx.error(
                "bad-alignment",
                expr.span,
                format!("an alignment is a power of two up to 4096, not {n}"),
            ),
        }
    }
    align
}

/// Reports `alignas` that requests less than the type needs (C++14 [dcl.align.5]); `alignas(0)` requests
/// nothing.
pub(super) fn refuse_less(
    cx: &mut Checker<'_>,
    written: &[ast::Alignment],
    requested: u32,
    natural: u32,
    ty: Ty,
) {
    let first = written.iter().find(|align| align.is_alignas);
    if let Some(first) = first.filter(|_| 1 < requested && requested < natural)
        && !cx.is_dependent(ty)
    {
        let shown = cx.types.display(ty);
        let message =
            format!("requested alignment is less than minimum alignment of {natural} for type `{shown}`");
        cx.error("bad-alignment", first.value.span, message);
    }
}
