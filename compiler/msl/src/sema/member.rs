//! Member access, swizzles and indexing.

use super::checker::Checker;
use super::diagnostics::Diagnostics;
use super::entities::Found;
use super::expr::after;
use super::overload::is_pack;
use super::values::arithmetic_scalar;
use super::{
    access, ambiguity, call, convert, data_member, expr, function_pointer, function_table, operator, path,
    record, variable,
};
use crate::ast;
use crate::hir::{ConstValue, Expr, ExprKind, MAX_VECTOR_LEN, QualTy, RecordId, Ty, TyKind, Types};
use anymetal_diagnostics::{Diagnostic, Span};

pub(super) fn check<'a>(
    cx: &mut Checker<'a>,
    base: &'a ast::Expr,
    arrow: bool,
    member: &'a ast::Path,
    span: Span,
) -> Expr {
    let object = object_of(cx, base, arrow, member);
    if object.ty.ty.is_error() {
        return object;
    }
    named(cx, object, member, span)
}

/// A member of a checked object.
pub(super) fn named<'a>(cx: &mut Checker<'a>, object: Expr, member: &'a ast::Path, span: Span) -> Expr {
    if let Some(record) = cx.types.as_record(object.ty.ty) {
        return match call::member_target(cx, record, member) {
            Some(found) => {
                let object = as_naming_class(cx, object, member);
                value_of(cx, object, found, span)
            }
            None => cx.poison(span),
        };
    }
    let name = member.segments.last().map_or("", |segment| segment.name.as_str());
    if cx.types.as_vector(object.ty.ty).is_some() {
        return swizzle(&mut cx.types, &mut cx.diagnostics, object, name, span);
    }
    let message = format!("`{name}`: a value of type `{}` has no members", cx.show(object.ty));
    let diagnostic = Diagnostic::error("no-members", span, message);
    let is_pointer = cx.types.pointee(object.ty.ty).is_some_and(|to| cx.types.as_record(to.ty).is_some());
    cx.report(match is_pointer {
        true => diagnostic.with_hint("members of what a pointer points to are named with `->`").with_edit_of(
            before(member.span, "."),
            ".",
            "->",
        ),
        false => diagnostic,
    });
    cx.poison(span)
}

/// The part of an object that a qualified name's class is: `x.Base::y` is the `y` of that base.
pub(super) fn as_naming_class<'a>(cx: &mut Checker<'a>, object: Expr, member: &'a ast::Path) -> Expr {
    if member.segments.len() < 2 {
        return object;
    }
    let count = member.segments.len() - 1;
    let class = cx.quietly(|cx| path::resolve_prefix(cx, member, count));
    let Ok(Ok(target)) = class else { return object };
    let (span, is_record) = (member.span, cx.types.as_record(object.ty.ty).is_some());
    if is_record && !record::complete_type(cx, object.ty.ty, span) {
        return cx.poison(span);
    }
    match path::type_of_found(&cx.records, &target.found) {
        Some(class) if convert::is_derived(cx, object.ty.ty, class.ty) => {
            if !access::check_base(cx, object.ty.ty, class.ty, span) {
                return cx.poison(span);
            }
            let object = expr::materialize(object);
            convert::upcast_place(cx, object, class.ty)
        }
        _ => object,
    }
}

/// The place of a text that ends where a span begins.
fn before(span: Span, text: &str) -> Span {
    Span { lo: span.lo.saturating_sub(text.len() as u32), hi: span.lo, ..span }
}

/// The object before `.` or what the pointer before `->` points to.
pub(super) fn object_of<'a>(
    cx: &mut Checker<'a>,
    base: &'a ast::Expr,
    arrow: bool,
    member: &'a ast::Path,
) -> Expr {
    let object = expr::check(cx, base);
    if object.ty.ty.is_error() {
        return object;
    }
    let span = base.span;
    if !arrow {
        let is_record = cx.types.as_record(object.ty.ty).is_some();
        return if is_record { expr::materialize(object) } else { object };
    }
    let pointer = behind_arrow(cx, object, member, span);
    let pointer = cx.values().rvalue(pointer);
    if cx.types.pointee(pointer.ty.ty).is_none() && !pointer.ty.ty.is_error() {
        let message = format!("`->` needs a pointer, not a `{}`", cx.show(pointer.ty));
        let diagnostic = Diagnostic::error("not-a-pointer", span, message);
        cx.report(match cx.types.as_vector(pointer.ty.ty) {
            Some(_) => named_by_dot(diagnostic, member, "elements of a vector are named with `.`"),
            None => diagnostic,
        });
        return cx.poison(span);
    }
    operator::dereference(cx, pointer, span)
}

/// Says that `->` should be `.`.
fn named_by_dot(diagnostic: Diagnostic, member: &ast::Path, hint: &str) -> Diagnostic {
    diagnostic.with_hint(hint).with_edit_of(before(member.span, "->"), "->", ".")
}

/// The operand of `->`: of an object, what its operator returns, which may be an object in turn.
fn behind_arrow(cx: &mut Checker<'_>, object: Expr, member: &ast::Path, span: Span) -> Expr {
    let mut operand = object;
    let mut seen = Vec::new();
    while cx.types.as_record(operand.ty.ty).is_some() {
        let (ty, shown) = (operand.ty.ty, cx.types.display(operand.ty.ty));
        let name = cx.names.arrow_operator;
        let next = if seen.contains(&ty) { None } else { operator::call(cx, name, vec![operand], span) };
        let Some(next) = next else {
            let message = format!("`->` needs a pointer, not a `{shown}`");
            let diagnostic = Diagnostic::error("not-a-pointer", span, message);
            cx.report(match seen.is_empty() {
                true => named_by_dot(diagnostic, member, "members of an object are named with `.`"),
                false => diagnostic.with_hint("a chain of `operator->` ends with a pointer"),
            });
            return cx.poison(span);
        };
        seen.push(ty);
        operand = next;
    }
    operand
}

/// What a found member of a class means for an object.
pub(super) fn value_of<'a>(cx: &mut Checker<'a>, object: Expr, found: Found<'a>, span: Span) -> Expr {
    match found {
        Found::Field(record, path) => field_place(cx, object, record, &path, span),
        Found::Variable(decl) => match variable::global_of(cx, decl, None, span) {
            Some(global) => {
                let member = variable::global_value(cx, global, span);
                after(object, member)
            }
            None => cx.poison(span),
        },
        Found::Enumerator(ty, value) => {
            let enumerator = Expr::value(ExprKind::Const(value), ty, span);
            after(object, enumerator)
        }
        Found::Error => cx.poison(span),
        Found::Functions(decls) if decls.iter().all(|&decl| !cx.functions.needs_object(decl)) => {
            let function = function_pointer::named_function(cx, &decls, None, span);
            after(object, function)
        }
        Found::Functions(_) => {
            cx.error("method-value", span, "a method can only be called");
            cx.poison(span)
        }
        _ => {
            cx.error("not-a-value", span, "this member is not a value");
            cx.poison(span)
        }
    }
}

fn field_place(cx: &mut Checker<'_>, object: Expr, record: RecordId, path: &[u32], span: Span) -> Expr {
    let object = expr::materialize(object);
    let class = cx.records.get(record).ty;
    let mut place = convert::upcast_place(cx, object, class);
    let mut at = record;
    for &index in path {
        let Some(field) = cx.types.record(at).fields.get(index as usize) else {
            return cx.poison(span);
        };
        let (name, ty, is_reference) = (field.name, field.ty, field.is_reference);
        let is_mutable = place.ty.is_const && data_member::is_mutable(&cx.records, at, name);
        let qual = QualTy {
            ty: ty.ty,
            is_const: (place.ty.is_const && !is_mutable) || ty.is_const,
            is_volatile: place.ty.is_volatile || ty.is_volatile,
            space: place.ty.space,
        };
        place = Expr::place(ExprKind::Field(Box::new(place), at, index), qual, span);
        if is_reference {
            let pointer = cx.values().rvalue(place);
            place = operator::dereference(cx, pointer, span);
        }
        if let Some(inner) = cx.types.as_record(ty.ty) {
            at = inner;
        }
    }
    place
}

fn swizzle(types: &mut Types, diagnostics: &mut Diagnostics, object: Expr, name: &str, span: Span) -> Expr {
    let Some((elem, len)) = types.as_vector(object.ty.ty) else { return diagnostics.poison(span) };
    let Some(picks) = named_elements(name, len) else {
        let shown = types.display_qual(object.ty.unqualified());
        diagnostics.error("bad-swizzle", span, format!("`{name}` does not name elements of `{shown}`"));
        return diagnostics.poison(span);
    };
    let ty = types.vector_or_scalar(elem, picks.len() as u8);
    pick_elements(object, picks, ty, span)
}

fn pick_elements(object: Expr, picks: Vec<u8>, ty: Ty, span: Span) -> Expr {
    // A swizzle of a swizzle picks from the inner one's base.
    if let ExprKind::Swizzle(base, inner) = object.kind {
        let composed = picks.iter().map(|&n| inner[usize::from(n)]).collect();
        return Expr {
            kind: ExprKind::Swizzle(base, composed),
            ty: object.ty.with_ty(ty),
            is_place: object.is_place,
            span,
        };
    }
    let (qual, is_place) = (object.ty.with_ty(ty), object.is_place);
    Expr { kind: ExprKind::Swizzle(Box::new(object), picks), ty: qual, is_place, span }
}

// --- indexing

pub(super) fn check_index<'a>(
    cx: &mut Checker<'a>,
    base: &'a ast::Expr,
    index: &'a ast::Expr,
    span: Span,
) -> Expr {
    let object = indexed(cx, base);
    if let Some(record) = cx.types.as_record(object.ty.ty)
        && record::complete(cx, record, span)
    {
        if function_table::is_table(&cx.types, &cx.names, object.ty.ty) {
            return function_table::function_of_table(cx, object, index, span);
        }
        let name = cx.names.index_operator;
        if let Some(found) = ambiguity::member_functions(cx, record, name, span).transpose() {
            let Ok(decls) = found else { return cx.poison(span) };
            let takes_several = decls.iter().any(|&decl| takes_several(&cx.functions.decl(decl).ast.params));
            let written = if takes_several { subscripts(index) } else { vec![index] };
            let Some(args) = call::check_args(cx, written) else { return cx.poison(span) };
            return call::overloaded(cx, "operator[]", &decls, None, Some(object), args, span);
        }
    }
    let index = expr::check(cx, index);
    if object.ty.ty.is_error() || index.ty.ty.is_error() {
        return cx.poison(span);
    }
    let object = convert::builtin_operand(cx, object);
    let index = convert::builtin_operand(cx, index);
    // `3[p]` is `p[3]`.
    let is_array = |ty: Ty| cx.types.pointee(ty).is_some() || cx.types.as_array(ty).is_some();
    let (object, index) = match is_array(index.ty.ty) && cx.types.as_scalar(object.ty.ty).is_some() {
        true => (index, object),
        false => (object, index),
    };
    let index = cx.values().rvalue(index);
    if arithmetic_scalar(&cx.types, index.ty.ty).is_none_or(|scalar| scalar.is_float()) {
        let shown = cx.types.display(index.ty.ty);
        cx.error("bad-index", index.span, format!("an index must be an integer, not a `{shown}`"));
        return cx.poison(span);
    }
    index_checked(cx, object, index, span)
}

/// What is indexed. A matrix has one member, the array of its columns, which is only of use with an
/// index: `m.columns[i]` is `m[i]`.
fn indexed<'a>(cx: &mut Checker<'a>, base: &'a ast::Expr) -> Expr {
    let ast::ExprKind::Member { base: matrix, arrow, member } = &base.kind else {
        return expr::check(cx, base);
    };
    if !matches!(&member.segments[..], [only] if only.name.as_str() == "columns") {
        return expr::check(cx, base);
    }
    let object = object_of(cx, matrix, *arrow, member);
    if object.ty.ty.is_error() || cx.types.as_matrix(object.ty.ty).is_some() {
        return object;
    }
    named(cx, object, member, base.span)
}

/// Indexing with a checked integer value.
pub(super) fn index_checked(cx: &mut Checker<'_>, object: Expr, index: Expr, span: Span) -> Expr {
    match *cx.types.kind(object.ty.ty) {
        TyKind::Array(elem, _) => {
            let object = expr::materialize(object);
            let index = cx.values().index_value(index);
            let qual = object.ty.with_ty(elem);
            Expr::place(ExprKind::Element(Box::new(object), Box::new(index)), qual, span)
        }
        TyKind::Pointer(to) => {
            if to.ty == Ty::VOID {
                cx.error("bad-index", span, "a pointer to `void` cannot be indexed");
                return cx.poison(span);
            }
            if !record::complete_type(cx, to.ty, span) {
                return cx.poison(span);
            }
            let ty = object.ty.ty;
            let pointer = cx.values().rvalue(object);
            let index = cx.values().index_value(index);
            let at = Expr::value(ExprKind::PointerAdd(Box::new(pointer), Box::new(index)), ty, span);
            Expr::place(ExprKind::Deref(Box::new(at)), to, span)
        }
        TyKind::Vector { elem, len, .. } => {
            let qual = object.ty.with_ty(Ty::scalar(elem));
            if let Some(n) = literal_index(&cx.types, &mut cx.diagnostics, &index, len, span) {
                return pick_elements(object, vec![n], Ty::scalar(elem), span);
            }
            let index = small_index(cx, index);
            let is_place = object.is_place;
            Expr {
                kind: ExprKind::VectorElement(Box::new(object), Box::new(index)),
                ty: qual,
                is_place,
                span,
            }
        }
        TyKind::Matrix { elem, cols, rows } => {
            let column = cx.types.vector(elem, rows);
            if let ExprKind::Const(value) = &index.kind
                && let Some(n) = super::evaluate::integer_of(&cx.types, index.ty.ty, value)
                && !(0..i128::from(cols)).contains(&n)
            {
                let message = format!("column {n} is outside of a matrix of {cols} columns");
                cx.error("matrix-index", span, message);
                return cx.poison(span);
            }
            let index = small_index(cx, index);
            let (qual, is_place) = (object.ty.with_ty(column), object.is_place);
            Expr { kind: ExprKind::Column(Box::new(object), Box::new(index)), ty: qual, is_place, span }
        }
        _ => {
            let shown = cx.show(object.ty);
            cx.error("not-indexable", span, format!("a value of type `{shown}` cannot be indexed"));
            cx.poison(span)
        }
    }
}

fn literal_index(
    types: &Types,
    diagnostics: &mut Diagnostics,
    index: &Expr,
    len: u8,
    span: Span,
) -> Option<u8> {
    let ExprKind::Const(value @ ConstValue::Scalar(_)) = &index.kind else {
        // The index is known at run time only.
        return None;
    };
    let n = super::evaluate::integer_of(types, index.ty.ty, value)?;
    if n < 0 || n >= i128::from(len) {
        diagnostics.report(anymetal_diagnostics::Diagnostic::warning(
            "index-out-of-range",
            span,
            format!("index {n} is outside of a vector of {len} elements"),
        ));
    }
    Some(n.rem_euclid(i128::from(len)) as u8)
}

/// An integer of any type as `int` or `uint`.
fn small_index(cx: &mut Checker<'_>, index: Expr) -> Expr {
    let span = index.span;
    match arithmetic_scalar(&cx.types, index.ty.ty) {
        Some(crate::hir::ScalarTy::U32) => {
            cx.values().cast_value(crate::hir::CastKind::Convert, index, Ty::UINT, span)
        }
        _ => cx.values().cast_value(crate::hir::CastKind::Convert, index, Ty::INT, span),
    }
}

/// Whether an `operator[]` takes more than one index, as those of tensors do (MSL section 2.20.2). Before
/// C++23 the comma in `a[i, j]` is otherwise an operator.
fn takes_several(params: &[ast::Param]) -> bool {
    params.len() > 1 || params.iter().any(is_pack)
}

/// The indices of `a[i, j]`.
fn subscripts(index: &ast::Expr) -> Vec<&ast::Expr> {
    let mut found = Vec::new();
    let mut at = index;
    while let ast::ExprKind::Binary(ast::BinaryOp::Comma, rest, last) = &at.kind {
        found.push(&**last);
        at = rest;
    }
    found.push(at);
    found.reverse();
    found
}

/// The elements that a member name picks from a vector of `len`: `xyzw` or `rgba`, `s` with hexadecimal
/// digits, `lo`, `hi`, `even`, `odd`. `None` for other names and for elements beyond the end.
fn named_elements(name: &str, len: u8) -> Option<Vec<u8>> {
    let half = len.div_ceil(2);
    let picks: Vec<u8> = match name {
        "lo" if len > 1 => (0..half).collect(),
        "hi" if len > 1 => (half..2 * half).collect(),
        "even" if len > 1 => (0..half).map(|n| 2 * n).collect(),
        "odd" if len > 1 => (0..half).map(|n| 2 * n + 1).collect(),
        _ => match name.strip_prefix(['s', 'S']).filter(|digits| !digits.is_empty()) {
            Some(digits) => digits.chars().map(|c| Some(c.to_digit(16)? as u8)).collect::<Option<_>>()?,
            None => letters(name)?,
        },
    };
    let fits = (1..=usize::from(MAX_VECTOR_LEN)).contains(&picks.len()) && picks.iter().all(|&n| n < len);
    fits.then_some(picks)
}

/// The elements that one to four letters of one set stand for.
fn letters(name: &str) -> Option<Vec<u8>> {
    let pick = |set: &str| name.chars().map(|c| set.find(c).map(|n| n as u8)).collect::<Option<Vec<_>>>();
    pick("xyzw").or_else(|| pick("rgba")).filter(|picks| picks.len() <= 4)
}
