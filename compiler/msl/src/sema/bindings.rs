//! Structured bindings: names for the elements of an unnamed variable.
//!
//! The elements are those of an array, of a vector (Clang's extension), or the data members of a class, all
//! of which must be direct members of it or of one base. Metal has no `std::tuple_size`, so nothing else has
//! any.

use super::checker::Checker;
use super::diagnostics::Diagnostics;
use super::entities::LocalDecl;
use super::record::Records;
use super::{access, expr, init, member, record, resolve_type, variable};
use crate::ast::{self, Initialiser, TypeKind};
use crate::hir::{Expr, ExprKind, QualTy, RecordId, ScalarTy, Stmt, StmtKind, Ty, Types};
use crate::sema::expr::scalar_const;
use crate::token::Name;
use anymetal_diagnostics::Span;
use std::rc::Rc;

/// A declaration of structured bindings in a block.
pub(super) fn check<'a>(cx: &mut Checker<'a>, bindings: &'a ast::Bindings, out: &mut Vec<Stmt>) {
    let variable = &bindings.variable;
    let place = variable.init.as_ref().and_then(|init| bound_object(cx, variable, init, out));
    bind_names(cx, &bindings.names, place, variable.span);
}

/// The unnamed variable, declared.
fn bound_object<'a>(
    cx: &mut Checker<'a>,
    variable: &'a ast::Variable,
    init: &'a Initialiser,
    out: &mut Vec<Stmt>,
) -> Option<Expr> {
    let written = variable::single_initialiser(&mut cx.diagnostics, init, variable.span)?;
    let value = expr::check(cx, written);
    let is_array = cx.types.as_array(value.ty.ty).is_some();
    let (ty, value) = if is_array && matches!(variable.ty.kind, TypeKind::Auto) {
        // An array is copied whole here, where `auto` of a variable would make a pointer of it.
        let ty = resolve_type::qualify(
            &cx.types,
            &mut cx.diagnostics,
            QualTy::plain(value.ty.ty),
            variable.ty.quals,
            variable.span,
        );
        (ty, init::copied_array(cx, value))
    } else {
        variable::auto_variable(cx, variable, value)?
    };
    if value.ty.ty.is_error() {
        return None;
    }
    let span = variable.span;
    let repr = cx.values().value_repr(ty);
    let local = cx.function.new_local(Name::EMPTY, repr, span);
    out.push(Stmt { kind: StmtKind::Declare { local, init: Some(value) }, span });
    Some(cx.values().variable_place(local, ty, span))
}

/// Declares the names for the elements of a place; all are in error without one.
pub(super) fn bind_names(cx: &mut Checker<'_>, names: &[(Name, Span)], place: Option<Expr>, span: Span) {
    let elements = place.and_then(|place| elements_to_bind(cx, place, names.len(), span));
    for (n, &(name, at)) in names.iter().enumerate() {
        let element = match &elements {
            Some(elements) => Expr { span: at, ..elements[n].clone() },
            None => cx.poison(at),
        };
        let function = cx.function.serial;
        cx.declare_local(name, LocalDecl::Binding { element: Rc::new(element), function }, at);
    }
}

/// The elements of an object, as many as there are names.
fn elements_to_bind(cx: &mut Checker<'_>, place: Expr, wanted: usize, span: Span) -> Option<Vec<Expr>> {
    let ty = place.ty;
    let count = countable_elements(&cx.types, ty.ty);
    if let Some(count) = count {
        check_binding_count(&cx.types, &mut cx.diagnostics, ty, count, wanted, span).then_some(())?;
        let index = |n: usize| scalar_const(ScalarTy::I32, n as u64, span);
        return Some((0..wanted).map(|n| member::index_checked(cx, place.clone(), index(n), span)).collect());
    }
    let Some(record) = cx.types.as_record(ty.ty) else {
        let shown = cx.show(ty.unqualified());
        cx.error("bad-bindings", span, format!("a value of type `{shown}` has no elements to bind"));
        return None;
    };
    if !record::complete(cx, record, span) {
        return None;
    }
    let (place, record) = bound_class(&cx.types, &cx.records, &mut cx.diagnostics, place, record, span)?;
    let fields = cx.types.record(record).fields.len() as u64;
    check_binding_count(&cx.types, &mut cx.diagnostics, ty, fields, wanted, span).then_some(())?;
    let found = |n: usize| super::entities::Found::Field(record, Rc::from([n as u32]));
    for n in 0..wanted {
        let name = cx.types.record(record).fields[n].name;
        if !access::check(cx, record, name, &found(n), true, span) {
            return None;
        }
    }
    Some((0..wanted).map(|n| member::value_of(cx, place.clone(), found(n), span)).collect())
}

fn countable_elements(types: &Types, ty: Ty) -> Option<u64> {
    types.as_array(ty).map(|(_, len)| len).or_else(|| types.as_vector(ty).map(|(_, len)| u64::from(len)))
}

/// The class whose direct members all data members are: the object's or one of its bases.
fn bound_class(
    types: &Types,
    records: &Records<'_>,
    diagnostics: &mut Diagnostics,
    mut place: Expr,
    mut record: RecordId,
    span: Span,
) -> Option<(Expr, RecordId)> {
    loop {
        let info = types.record(record);
        let nameless = info.fields.iter().any(|field| field.name == Name::EMPTY);
        if !nameless && !info.is_union {
            return Some((place, record));
        }
        let bases = records.get(record).bases.clone();
        let base = bases.iter().find(|(_, field)| field.is_some()).map(|&(base, _)| base);
        let only = types.record(record).fields.len() == 1;
        let Some(base) = base.filter(|_| only) else {
            let shown = types.record(record).name.clone();
            let message = format!(
                "the members of `{shown}` cannot be bound: they are not all direct members of one class"
            );
            diagnostics.error("bad-bindings", span, message);
            return None;
        };
        let ty = records.get(base).ty;
        let qual = place.ty.with_ty(ty);
        place = Expr::place(ExprKind::Field(Box::new(place), record, 0), qual, span);
        record = base;
    }
}

fn check_binding_count(
    types: &Types,
    diagnostics: &mut Diagnostics,
    ty: QualTy,
    have: u64,
    wanted: usize,
    span: Span,
) -> bool {
    if have == wanted as u64 {
        return true;
    }
    let shown = types.display_qual(ty.unqualified());
    let message = format!("`{shown}` has {have} elements, but {wanted} names are given");
    diagnostics.error("binding-count", span, message);
    false
}
