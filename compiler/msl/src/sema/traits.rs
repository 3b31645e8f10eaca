//! `sizeof`, `alignof`, and the `__is_*` type traits.

use super::checker::Checker;
use super::diagnostics::Diagnostics;
use super::special::Triviality;
use super::values::bit_field;
use super::{construct, convert, expr, function_pointer, record, resolve_type, special};
use crate::ast::{self, ExprKind as Ast};
use crate::hir::{Expr, ExprKind, QualTy, ScalarTy, Ty, TyKind};
use crate::token::Name;
use anymetal_diagnostics::Span;

/// Whether both sides of a conditional are bit-fields of one type, so that it is one too.
fn chooses_bit_field<'a>(cx: &mut Checker<'a>, operand: &'a ast::Expr) -> bool {
    let Ast::Conditional(_, a, b) = &unparenthesised(operand).kind else { return false };
    cx.function.unevaluated += 1;
    let sides = [a, b].map(|side| cx.quietly(|cx| expr::check(cx, side)).ok());
    cx.function.unevaluated -= 1;
    let [Some(a), Some(b)] = sides else { return false };
    a.ty == b.ty && [a, b].iter().all(|side| side.is_place && bit_field(&cx.types, side).is_some())
}

fn unparenthesised(expr: &ast::Expr) -> &ast::Expr {
    match &expr.kind {
        Ast::Paren(inner) => unparenthesised(inner),
        _ => expr,
    }
}

/// An expression about types.
pub(super) fn check<'a>(cx: &mut Checker<'a>, expr: &'a ast::Expr) -> Expr {
    let span = expr.span;
    match &expr.kind {
        Ast::SizeofType(ty) => {
            let ty = resolve_type::resolve(cx, ty);
            size_of(cx, ty, span)
        }
        Ast::SizeofExpr(inner) => {
            cx.function.unevaluated += 1;
            let value = expr::check(cx, inner);
            cx.function.unevaluated -= 1;
            if bit_field(&cx.types, &value).is_some() || chooses_bit_field(cx, inner) {
                cx.error("bad-sizeof", span, "a bit-field has no size in bytes");
                return cx.poison(span);
            }
            if matches!(value.kind, ExprKind::Undef | ExprKind::Global(_))
                && matches!(cx.types.as_array(value.ty.ty), Some((_, 0)))
            {
                let message = "invalid application of `sizeof` to an array without a bound";
                cx.error("no-size", span, message);
                return cx.poison(span);
            }
            let names_function = !value.is_place
                && cx.types.pointed_function(value.ty.ty).is_some()
                && function_pointer::is_function_name(inner);
            if names_function {
                cx.error("no-size", span, "a function has no size");
                return cx.poison(span);
            }
            size_of(cx, value.ty, span)
        }
        Ast::SizeofPack(name) => match cx.scopes.pack_length(*name) {
            Some(_) if cx.diagnostics.in_template() => cx.poison(span),
            Some(count) => super::expr::scalar_const(ScalarTy::U64, count as u64, span),
            None => {
                cx.error("not-a-pack", span, format!("`{name}` is not a parameter pack"));
                cx.poison(span)
            }
        },
        Ast::AlignofType(ty) => {
            let ty = resolve_type::resolve(cx, ty);
            if cx.is_dependent(ty.ty) || !record::complete_type(cx, ty.ty, span) {
                return cx.poison(span);
            }
            super::expr::scalar_const(ScalarTy::U64, u64::from(cx.types.layout(ty.ty).align), span)
        }
        Ast::TypeTrait(name, types) => type_trait(cx, *name, types, span),
        _ => cx.poison(span),
    }
}

fn size_of(cx: &mut Checker<'_>, ty: QualTy, span: Span) -> Expr {
    let ty = cx.types.referent(ty.ty).unwrap_or(ty);
    if cx.is_dependent(ty.ty) || !record::complete_type(cx, ty.ty, span) {
        return cx.poison(span);
    }
    if matches!(cx.types.kind(ty.ty), TyKind::Void | TyKind::Function { .. }) {
        let shown = cx.show(ty);
        cx.error("no-size", span, format!("`{shown}` has no size"));
        return cx.poison(span);
    }
    super::expr::scalar_const(ScalarTy::U64, cx.types.layout(ty.ty).size, span)
}

fn type_trait<'a>(cx: &mut Checker<'a>, name: Name, types: &'a [ast::Type], span: Span) -> Expr {
    let resolved: Vec<QualTy> = types.iter().map(|ty| resolve_type::resolve(cx, ty)).collect();
    if resolved.iter().any(|ty| cx.is_dependent(ty.ty)) {
        return cx.poison(span);
    }
    let answer = match (name.as_str(), resolved.as_slice()) {
        ("__is_same", &[a, b]) => a == b,
        ("__is_convertible" | "__is_convertible_to", &[from, to]) => {
            let value = convert::stand_in(&cx.types, from, span);
            let made = cx.quietly(|cx| convert::to_type(cx, value, to, ""));
            to.ty == Ty::VOID || made.is_ok_and(|value| !value.ty.ty.is_error())
        }
        ("__is_constructible", &[to, ref from @ ..]) => {
            let args: Vec<_> = from
                .iter()
                .map(|&ty| super::call::Arg::Expr(convert::stand_in(&cx.types, ty, span)))
                .collect();
            let made = cx
                .quietly(|cx| construct::object(cx, to, super::construct::ConstructArgs::Paren(args), span));
            made.is_ok_and(|value| !value.ty.ty.is_error())
        }
        ("__is_base_of", &[base, derived]) => {
            base.ty == derived.ty || convert::is_derived(cx, derived.ty, base.ty)
        }
        (_, &[ty]) => match unary_trait(cx, name.as_str(), ty, span) {
            Some(answer) => answer,
            None => return unknown_trait(&mut cx.diagnostics, name, span),
        },
        _ => return unknown_trait(&mut cx.diagnostics, name, span),
    };
    expr::bool_const(answer, span)
}

fn unknown_trait(diagnostics: &mut Diagnostics, name: Name, span: Span) -> Expr {
    diagnostics.error(
        "unknown-trait",
        span,
        format!("`{name}` is not a type trait, or takes other arguments"),
    );
    diagnostics.poison(span)
}

fn unary_trait(cx: &mut Checker<'_>, name: &str, ty: QualTy, span: Span) -> Option<bool> {
    let kind = cx.types.kind(ty.ty).clone();
    let scalar = cx.types.as_scalar(ty.ty);
    let element = scalar.or_else(|| cx.types.as_vector(ty.ty).map(|(element, _)| element));
    Some(match name {
        "__is_empty" => match kind {
            TyKind::Record(id) => {
                record::complete(cx, id, span)
                    && cx.types.record(id).fields.is_empty()
                    && !cx.types.record(id).is_union
            }
            _ => false,
        },
        "__is_class" => matches!(kind, TyKind::Record(id) if !cx.types.record(id).is_union),
        "__is_union" => matches!(kind, TyKind::Record(id) if cx.types.record(id).is_union),
        "__is_enum" => matches!(kind, TyKind::Enum(_)),
        "__is_void" => kind == TyKind::Void,
        "__is_pointer" => matches!(kind, TyKind::Pointer(_)),
        "__is_reference" => matches!(kind, TyKind::Reference { .. }),
        "__is_lvalue_reference" => matches!(kind, TyKind::Reference { rvalue: false, .. }),
        "__is_rvalue_reference" => matches!(kind, TyKind::Reference { rvalue: true, .. }),
        "__is_array" => matches!(kind, TyKind::Array(..)),
        "__is_function" => matches!(kind, TyKind::Function { .. }),
        "__is_const" => ty.is_const,
        "__is_volatile" => ty.is_volatile,
        "__is_arithmetic" => scalar.is_some(),
        // Metal's are true of vectors, too.
        "__is_integral" => element.is_some_and(ScalarTy::is_integral),
        "__is_floating_point" => element.is_some_and(ScalarTy::is_float),
        "__is_signed" => scalar.is_some_and(|s| s.is_float() || s.is_signed()),
        "__is_unsigned" => scalar.is_some_and(|scalar| scalar.is_integral() && !scalar.is_signed()),
        "__is_scalar" => {
            scalar.is_some() || matches!(kind, TyKind::Enum(_) | TyKind::Pointer(_) | TyKind::Nullptr)
        }
        "__is_vector" => matches!(kind, TyKind::Vector { .. }),
        "__is_trivially_copyable" | "__is_trivially_relocatable" | "__is_trivial" | "__is_pod"
            if matches!(kind, TyKind::Void | TyKind::Reference { .. } | TyKind::Function { .. }) =>
        {
            false
        }
        "__is_trivially_copyable" | "__is_trivially_relocatable" | "__is_trivial" | "__is_pod"
            if !record::complete_type(cx, ty.ty, span) =>
        {
            false
        }
        "__is_trivially_copyable" | "__is_trivially_relocatable" => {
            special::is_trivial(cx, ty.ty, Triviality::Copies, span)
        }
        "__is_trivial" | "__is_pod" => special::is_trivial(cx, ty.ty, Triviality::All, span),
        "__is_standard_layout" => true,
        _ => return None,
    })
}
