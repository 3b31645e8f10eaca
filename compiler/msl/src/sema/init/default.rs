//! Default and value initialisation: `T x;` and `T()`.
//!
//! Invariant: a default constructor is synthesised once a class, and only where it would do something.

use super::{DefaultInit, Synthesised, inherited, synthesised};
use crate::hir::{Expr, ExprKind, FuncId, RecordId, Ty, TyKind, Types};
use crate::sema::checker::Checker;
use crate::sema::diagnostics::Diagnostics;
use crate::sema::overload::Call;
use crate::sema::{access, call, construct, destructor, record, special};
use crate::token::Name;
use anymetal_diagnostics::Span;

/// The largest array whose elements are initialised one by one.
const MAX_ELEMENTS: u64 = 65_536;

/// Whether the default constructor that a class declares as defaulted may be used here; reports if not.
pub(in crate::sema) fn check_default_access(cx: &mut Checker<'_>, ty: Ty, span: Span) -> bool {
    let record = cx.types.as_record(element_of_arrays(&cx.types, ty));
    let defaulted = record.and_then(|record| cx.records.get(record).special.defaulted);
    defaulted.is_none_or(|func| access::check_function(cx, func, None, span))
}

/// What `T x;` does.
pub(in crate::sema) fn default_init(cx: &mut Checker<'_>, ty: Ty, span: Span) -> DefaultInit {
    match *cx.types.kind(ty) {
        TyKind::Array(elem, _) => default_init(cx, elem, span),
        TyKind::Record(record) => default_init_record(cx, record, span),
        _ => DefaultInit::Trivial,
    }
}

fn default_init_record(cx: &mut Checker<'_>, record: RecordId, span: Span) -> DefaultInit {
    if !record::complete(cx, record, span) {
        return DefaultInit::Trivial;
    }
    if cx.records.get(record).lambda.is_some() {
        // C++17 [expr.prim.lambda.closure.11]
        return DefaultInit::Impossible;
    }
    if let Some(known) = cx.records.get(record).special.default_init {
        return known;
    }
    let init = find_default_init(cx, record, span);
    cx.records.get_mut(record).special.default_init = Some(init);
    init
}

fn find_default_init(cx: &mut Checker<'_>, record: RecordId, span: Span) -> DefaultInit {
    let constructors = inherited::own_constructors(&cx.records, &cx.functions, record);
    if !constructors.is_empty() {
        let name = cx.types.record(record).name.clone();
        let call = Call { name: &name, decls: &constructors, explicit: None, object: None, args: &[], span };
        return match construct::constructor_among(cx, &call).ok() {
            Some(func) if construct::is_defaulted(&cx.functions, func) => {
                cx.records.get_mut(record).special.defaulted = Some(func);
                implicit_default_init(cx, record, span)
            }
            Some(func) if special::is_deleted(cx, func) => {
                DefaultInit::Deleted(special::default_constructor_deletion(&cx.functions, func))
            }
            Some(func) => DefaultInit::Constructor(func),
            None => DefaultInit::Impossible,
        };
    }
    implicit_default_init(cx, record, span)
}

/// Whether the default constructor of a class is deleted if it is defaulted.
pub(in crate::sema) fn is_default_deleted(cx: &mut Checker<'_>, record: RecordId, span: Span) -> bool {
    let init = implicit_default_init(cx, record, span);
    matches!(init, DefaultInit::Deleted(_) | DefaultInit::Impossible)
}

fn implicit_default_init(cx: &mut Checker<'_>, record: RecordId, span: Span) -> DefaultInit {
    let has_initialisers = cx.records.get(record).field_inits.iter().any(Option::is_some);
    let mut needed = has_initialisers;
    if let Some(deletion) = special::default_deletion(&cx.types, &cx.records, &cx.functions, record) {
        return DefaultInit::Deleted(deletion);
    }
    let inits = cx.records.get(record).field_inits.clone();
    let fields = cx.types.record(record).fields.iter().zip(inits);
    let mut parts: Vec<(Name, Ty)> =
        fields.filter(|(_, init)| init.is_none()).map(|(field, _)| (field.name, field.ty.ty)).collect();
    let empty = cx.records.get(record).bases.iter().filter(|(_, field)| field.is_none());
    let empty_bases: Vec<Ty> = empty.map(|&(base, _)| cx.records.get(base).ty).collect();
    parts.extend(empty_bases.iter().map(|&ty| (Name::EMPTY, ty)));
    for (name, ty) in parts {
        if !destructor::is_usable_in(cx, record, ty, name == Name::EMPTY) {
            return DefaultInit::Deleted(special::part_deletion(&cx.records, record, name));
        }
        match default_init(cx, ty, span) {
            DefaultInit::Trivial => {}
            _ if cx.types.record(record).is_union => {
                if !has_initialisers {
                    return DefaultInit::Deleted(special::variant_deletion(&cx.records, record, name));
                }
            }
            DefaultInit::Constructor(func) if !access::is_accessible_in(cx, record, func, false) => {
                return DefaultInit::Deleted(special::part_deletion(&cx.records, record, name));
            }
            DefaultInit::Constructor(_) => needed |= !empty_bases.contains(&ty),
            DefaultInit::Impossible | DefaultInit::Deleted(_) => {
                return DefaultInit::Deleted(special::part_deletion(&cx.records, record, name));
            }
        }
    }
    if !needed {
        return DefaultInit::Trivial;
    }
    DefaultInit::Constructor(synthesised::synthesise(cx, Synthesised::DefaultConstructor(record), span))
}

/// The value of `T()` and `T{}`.
pub(in crate::sema) fn value_init(cx: &mut Checker<'_>, ty: Ty, span: Span) -> Expr {
    let init = default_init(cx, ty, span);
    if !check_default_access(cx, ty, span) {
        return cx.poison(span);
    }
    match init {
        DefaultInit::Trivial => cx.values().zero(ty, span),
        DefaultInit::Impossible | DefaultInit::Deleted(_) => {
            report_no_default(&cx.types, &mut cx.diagnostics, ty, init, span);
            cx.poison(span)
        }
        DefaultInit::Constructor(func) => default_constructed(cx, ty, func, span),
    }
}

/// Reports an explicit default constructor that `T x = {};` chooses.
pub(super) fn refuse_explicit(cx: &mut Checker<'_>, record: RecordId, span: Span) {
    let chosen = match default_init_record(cx, record, span) {
        DefaultInit::Constructor(func) => Some(func),
        DefaultInit::Trivial | DefaultInit::Impossible | DefaultInit::Deleted(_) => None,
    };
    // A defaulted constructor stands for the function that is synthesised for it.
    if let Some(func) = cx.records.get(record).special.defaulted.or(chosen) {
        construct::refuse_explicit(cx, func, span);
    }
}

/// Reports that an object has no default constructor, or a deleted one.
pub(in crate::sema) fn report_no_default(
    types: &Types,
    diagnostics: &mut Diagnostics,
    ty: Ty,
    init: DefaultInit,
    span: Span,
) {
    let element = element_of_arrays(types, ty);
    if let DefaultInit::Deleted(deletion) = init {
        return special::report_deletion(types, diagnostics, "default constructor", element, deletion, span);
    }
    let shown = types.display(element);
    diagnostics.error("no-default-constructor", span, format!("`{shown}` has no default constructor"));
}

/// The type of the innermost elements of an array, other types themselves.
fn element_of_arrays(types: &Types, ty: Ty) -> Ty {
    let mut inner = ty;
    while let Some((elem, _)) = types.as_array(inner) {
        inner = elem;
    }
    inner
}

/// Reports an array that has too many objects with constructors, those of inner arrays counted.
pub(super) fn refuse_too_many_elements(
    types: &Types,
    diagnostics: &mut Diagnostics,
    ty: Ty,
    span: Span,
) -> bool {
    let (mut inner, mut count) = (ty, 1_u64);
    while let Some((elem, len)) = types.as_array(inner) {
        (inner, count) = (elem, count.saturating_mul(len));
    }
    if count > MAX_ELEMENTS {
        let message =
            format!("an array of more than {MAX_ELEMENTS} objects with constructors is not supported");
        diagnostics.error("array-length", span, message);
    }
    count > MAX_ELEMENTS
}

/// An object (or array of them) made by a default constructor.
pub(in crate::sema) fn default_constructed(cx: &mut Checker<'_>, ty: Ty, func: FuncId, span: Span) -> Expr {
    if let Some((elem, len)) = cx.types.as_array(ty) {
        if refuse_too_many_elements(&cx.types, &mut cx.diagnostics, ty, span) {
            return cx.poison(span);
        }
        let one = default_constructed(cx, elem, func, span);
        let values = (0..len).map(|_| one.clone()).collect();
        return Expr::value(ExprKind::Array(values), ty, span);
    }
    if !special::check_usable(cx, func, None, span) {
        return cx.poison(span);
    }
    let mut args = Vec::new();
    call::default_arguments(cx, func, &mut args, span);
    Expr::value(ExprKind::Construct(func, args), ty, span)
}
