//! Completing a class: bases, data members, layout, assertions.
//!
//! Invariant: a class is completed once; one that needs itself complete for that is reported.

use super::lookup::names_constructors;
use super::{Member, RecordState, declare, instance};
use crate::ast::{self, Access, ItemKind, TypeKind};
use crate::hir::{
    BitField, FieldAlign, FieldInfo, MAX_OBJECT_BYTES, Padding, QualTy, RecordId, Ty, TyKind, Types,
};
use crate::sema::checker::Checker;
use crate::sema::diagnostics::{Deferred, Diagnostics};
use crate::sema::entities::Found;
use crate::sema::fn_context::FnContext;
use crate::sema::record::Records;
use crate::sema::{
    alignment, declaration_order, evaluate, expr, init, kernel, lookup, path, resolve_type, using_rules,
};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};

/// The greatest number of a member of an argument buffer.
const MAX_ARGUMENT_ID: u32 = u32::MAX >> 1;

/// What is wrong with a union of which two members are initialised.
pub(in crate::sema) const UNION_MEMBERS: &str = "initializing multiple members of union";

/// The members of a record while it is completed.
#[derive(Default)]
struct Members {
    fields: Vec<FieldInfo>,
    /// The unnamed bit-fields.
    padding: Vec<Padding>,
    /// The base classes, with their fields and access.
    bases: Vec<(RecordId, Option<u32>, Access)>,
}

/// Types the members and lays the record out. Reports when that is impossible.
pub(in crate::sema) fn complete(cx: &mut Checker<'_>, id: RecordId, span: Span) -> bool {
    if declaration_order::is_defined_later(cx, id, span) {
        let name = cx.types.record(id).name.clone();
        cx.error("incomplete-type", span, format!("`{name}` is used before it is defined"));
        return false;
    }
    if cx.checks_everything && !cx.diagnostics.is_quiet() && !cx.scopes.is_in_instance() {
        cx.records.required.entry(id).or_insert(span);
    }
    match cx.records.get(id).state {
        RecordState::Complete => {
            let is_deferred = cx.diagnostics.has_deferred(Deferred::Record(id));
            cx.diagnostics.report_deferred(Deferred::Record(id));
            let is_complete = cx.types.record(id).is_complete;
            if is_complete {
                instance::check(cx, id, span);
            } else if !is_deferred && is_undefined(cx, id) && cx.records.last_undefined != Some((id, span)) {
                // Each use needs the definition.
                report_undefined(cx, id, span);
            }
            return is_complete;
        }
        RecordState::Completing | RecordState::Declaring => {
            let name = cx.types.record(id).name.clone();
            cx.error("incomplete-type", span, format!("`{name}` is used before it is complete"));
            return false;
        }
        RecordState::Named | RecordState::Declared => {}
    }
    declare::declare_members(cx, id);
    cx.records.get_mut(id).state = RecordState::Completing;
    cx.records.instantiated.insert(id, span);
    // A class that depends on nothing unknown is checked as always, also if a template's code needs it.
    let in_template = cx.diagnostics.in_template();
    cx.diagnostics.set_in_template(in_template && cx.scopes.is_in_template(cx.records.get(id).scope));
    let ok = cx.once(Deferred::Record(id), |cx| complete_in_trace(cx, id, span));
    cx.diagnostics.set_in_template(in_template);
    cx.types.records[id.0 as usize].is_complete = ok;
    cx.records.get_mut(id).state = RecordState::Complete;
    if ok {
        instance::check(cx, id, span);
    }
    ok
}

/// Whether a class is declared only.
fn is_undefined(cx: &Checker<'_>, id: RecordId) -> bool {
    cx.records.get(id).ast.is_some_and(|ast| ast.members.is_none())
}

/// Reports a use of a class that is only declared.
fn report_undefined(cx: &mut Checker<'_>, id: RecordId, span: Span) {
    let name = cx.types.record(id).name.clone();
    cx.error("incomplete-type", span, format!("`{name}` is declared but not defined"));
    if !cx.diagnostics.is_quiet() {
        cx.records.last_undefined = Some((id, span));
    }
}

fn complete_in_trace(cx: &mut Checker<'_>, id: RecordId, span: Span) -> bool {
    if cx.records.get(id).template.is_some() {
        cx.instantiating(
            |cx| format!("in instantiation of `{}` requested here", cx.types.record(id).name),
            span,
            |cx| complete_members(cx, id, span),
        )
        .unwrap_or(false)
    } else {
        cx.deeper(span, |cx| complete_members(cx, id, span)).unwrap_or(false)
    }
}

fn complete_members(cx: &mut Checker<'_>, id: RecordId, span: Span) -> bool {
    let scope = cx.records.get(id).scope;
    let Some(ast) = cx.records.get(id).ast else { return true };
    let Some(items) = &ast.members else {
        report_undefined(cx, id, span);
        return false;
    };
    let mut members = Members::default();
    let mut aligns = Vec::new();
    let mut ok = true;
    let unevaluated = cx.function.unevaluated;
    let outside = FnContext { unevaluated, ..FnContext::outside(u32::MAX) };
    let function = std::mem::replace(&mut cx.function, outside);
    cx.in_scope(scope, |cx| {
        for base in &ast.bases {
            ok &= complete_bases(cx, id, base, &mut members);
        }
        // Only now, so that the name of one base is not looked up in another.
        let inst = cx.records.get_mut(id);
        for (base, field, access) in members.bases.drain(..) {
            inst.bases.push((base, field));
            inst.access.bases.insert(base, access);
            inst.access.hides_data |= access != Access::Public;
        }
        aligns.resize(members.fields.len(), FieldAlign::default());
        for item in items {
            if let ItemKind::UsingDeclaration(using) = &item.kind {
                complete_usings(cx, id, using);
            }
            if let ItemKind::Field(field) = &item.kind {
                ok &= complete_field(cx, id, field, item.access, &mut members);
                let align = alignment::declared(cx, &field.align);
                if let Some(info) = members.fields.last().filter(|info| Some(info.name) == field.name) {
                    let natural = cx.types.layout(info.ty.ty).align;
                    alignment::refuse_less(cx, &field.align, align, natural, info.ty.ty);
                }
                aligns
                    .resize(members.fields.len(), FieldAlign { at_least: align, is_packed: field.is_packed });
            }
        }
    });
    let align = cx.in_scope(scope, |cx| alignment::declared(cx, &ast.align));
    let align = align.max(align_of_empty_bases(cx, id));
    cx.function = function;
    let is_union = cx.types.record(id).is_union;
    if is_union {
        refuse_several_initialisers(&mut cx.diagnostics, items);
    }
    let Members { mut fields, padding, .. } = members;
    if ast.is_packed {
        aligns.iter_mut().for_each(|field| field.is_packed = true);
    }
    let layout = cx.types.lay_out(&mut fields, &padding, &aligns, is_union, align);
    if layout.size > MAX_OBJECT_BYTES {
        let name = cx.types.record(id).name.clone();
        cx.error("too-large", ast.span, format!("`{name}` takes more than {MAX_OBJECT_BYTES} bytes"));
        return false;
    }
    let requested = cx.quietly(|cx| cx.in_scope(scope, |cx| alignment::declared(cx, &ast.align)));
    if let Ok(requested) = requested {
        let own = cx.records.get(id).ty;
        alignment::refuse_less(cx, &ast.align, requested, layout.align, own);
    }
    cx.types.set_layout(id, fields, layout);
    cx.in_scope(scope, |cx| {
        for item in items {
            match &item.kind {
                ItemKind::StaticAssert(cond, message) => {
                    evaluate::static_assert(cx, cond, *message, item.span);
                }
                // The declarations of members are instantiated with their class (C++14 [temp.inst.1]).
                ItemKind::Alias(alias) if cx.checks_everything && item.template.is_none() => {
                    lookup::alias_found(cx, alias, None, scope);
                }
                _ => {}
            }
        }
    });
    ok
}

/// Reports the second member of a union with an initialiser, those of anonymous members included
/// (C++14 [class.union.8]).
fn refuse_several_initialisers(diagnostics: &mut Diagnostics, items: &[ast::Item]) {
    fn initialised(items: &[ast::Item], found: &mut Vec<Span>) {
        for item in items {
            let ItemKind::Field(field) = &item.kind else { continue };
            if field.init.is_some() {
                found.push(field.span);
            }
            if let (None, TypeKind::Record(inner)) = (field.name, &field.ty.kind) {
                let mut of_inner = Vec::new();
                initialised(inner.members.as_deref().unwrap_or_default(), &mut of_inner);
                // Those of a class within the union are initialised together.
                found.extend(of_inner.into_iter().take(1));
            }
        }
    }
    let mut found = Vec::new();
    initialised(items, &mut found);
    if let [first, second, ..] = *found {
        let diagnostic = Diagnostic::error("uninitialised-member", second, UNION_MEMBERS);
        diagnostics.report(diagnostic.with_note(first, "previous initialization is here"));
    }
}

/// Bases without members take no bytes, but may be aligned.
fn align_of_empty_bases(cx: &Checker<'_>, id: RecordId) -> u32 {
    let bases = cx.records.get(id).bases.iter();
    let empty = bases.filter(|(_, field)| field.is_none());
    empty.map(|&(base, _)| cx.types.record(base).align).max().unwrap_or(1)
}

/// A base, or those of a pack.
fn complete_bases<'a>(
    cx: &mut Checker<'a>,
    id: RecordId,
    base: &'a ast::Base,
    members: &mut Members,
) -> bool {
    if !base.is_pack {
        return complete_base(cx, id, &base.ty, base.access, members);
    }
    let Some(length) = cx.scopes.pack_length_of_type(&base.ty) else {
        cx.error("not-a-pack", base.ty.span, "`...` needs a parameter pack before it");
        return false;
    };
    (0..length).all(|n| {
        !cx.diagnostics.gave_up()
            && cx.with_pack_index(n, |cx| complete_base(cx, id, &base.ty, base.access, members))
    })
}

fn complete_base<'a>(
    cx: &mut Checker<'a>,
    id: RecordId,
    base: &'a ast::Type,
    access: Access,
    members: &mut Members,
) -> bool {
    let ty = match &base.kind {
        TypeKind::Path(path) => path::resolve_class_or_type(cx, path).unwrap_or(QualTy::plain(Ty::ERROR)),
        _ => resolve_type::resolve(cx, base),
    };
    let Some(base_id) = cx.types.as_record(ty.ty) else {
        if !ty.ty.is_error() {
            let message = format!("base `{}` is not a class", cx.show(ty));
            cx.error("bad-base", base.span, message);
            return false;
        }
        cx.records.get_mut(id).has_unknown_base = true;
        return cx.diagnostics.in_template();
    };
    let is_within = cx.records.get(id).ast.is_some_and(|ast| ast.scope.is_none())
        && cx.scopes.unfinished_classes().contains(&base_id);
    if is_within {
        // A class around is complete at its end only.
        cx.error("incomplete-type", base.span, "base class has incomplete type");
        cx.records.get_mut(id).has_unknown_base = true;
        return false;
    }
    if !complete(cx, base_id, base.span) {
        return false;
    }
    if members.bases.iter().any(|(known, ..)| *known == base_id) {
        let message = format!("`{}` is a direct base twice", cx.types.record(base_id).name);
        cx.error("bad-base", base.span, message);
        return false;
    }
    let is_empty = cx.types.record(base_id).fields.is_empty();
    let field = (!is_empty).then_some(members.fields.len() as u32);
    if !is_empty {
        members.fields.push(FieldInfo {
            name: Name::EMPTY,
            ty: QualTy::plain(ty.ty),
            offset: 0,
            is_reference: false,
            bits: None,
            id: None,
        });
        cx.records.get_mut(id).field_inits.push(None);
    }
    members.bases.push((base_id, field, access));
    true
}

fn complete_usings<'a>(cx: &mut Checker<'a>, id: RecordId, using: &'a ast::UsingDeclaration) {
    if !using.is_pack {
        return complete_using(cx, id, &using.path, using.is_typename);
    }
    let Some(length) = cx.scopes.pack_length_of_path(&using.path) else {
        return cx.error("not-a-pack", using.path.span, "`...` needs a parameter pack before it");
    };
    for n in 0..length {
        if cx.diagnostics.gave_up() {
            return;
        }
        cx.with_pack_index(n, |cx| complete_using(cx, id, &using.path, using.is_typename));
    }
}

/// Checks what a using-declaration names, and adds the constructors that it inherits.
fn complete_using<'a>(cx: &mut Checker<'a>, id: RecordId, path: &'a ast::Path, is_typename: bool) {
    let target = if names_constructors(path) {
        path::resolve_prefix(cx, path, path.segments.len() - 1)
    } else {
        path::resolve(cx, path)
    };
    let found = match target {
        Ok(target) => target.found,
        Err(miss) => return path::report_miss(&cx.scopes, &cx.records, &mut cx.diagnostics, miss, "member"),
    };
    if !names_constructors(path) {
        using_rules::inside_of_class(cx, id, path);
    }
    let is_type = path::type_of_found(&cx.records, &found).is_some()
        && !names_constructors(path)
        && !matches!(found, Found::Injected(_));
    if is_type
        && !is_typename
        && !cx.diagnostics.in_template()
        && using_rules::has_dependent_scope(&cx.scopes, path)
    {
        let message = "dependent using declaration resolved to type without `typename`";
        cx.error("using-declaration", path.span, message);
    }
    if is_typename
        && matches!(
            found,
            Found::Field(..) | Found::Functions(_) | Found::Variable(_) | Found::Enumerator(..)
        )
    {
        cx.error("using-declaration", path.span, "`typename` keyword used on a non-type");
    }
    if names_constructors(path) || matches!(found, Found::Injected(_)) {
        match path::type_of_found(&cx.records, &found) {
            Some(base) => init::inherit_constructors(cx, id, base.ty, path.span),
            None => cx.error("bad-base", path.span, "only classes have constructors to inherit"),
        }
    }
}

fn complete_field<'a>(
    cx: &mut Checker<'a>,
    id: RecordId,
    field: &'a ast::Field,
    access: Access,
    members: &mut Members,
) -> bool {
    let mut ty = resolve_type::resolve(cx, &field.ty);
    if ty.ty.is_error() && !cx.diagnostics.in_template() {
        return false;
    }
    if let Some(mutable) = field.mutable {
        // C++14 [dcl.stc.9]
        if cx.types.referent(ty.ty).is_some() {
            cx.error("misplaced-specifier", mutable, "`mutable` cannot be applied to references");
        } else if ty.is_const {
            cx.error("misplaced-specifier", mutable, "`mutable` and `const` cannot be mixed");
        }
    }
    let mut is_reference = false;
    if let Some(to) = cx.types.referent(ty.ty) {
        ty = QualTy::plain(cx.types.pointer(to));
        is_reference = true;
    }
    if matches!(cx.types.kind(ty.ty), TyKind::Void | TyKind::Function { .. }) {
        let message = format!("a member cannot have type `{}`", cx.show(ty));
        cx.error("bad-member-type", field.span, message);
        return false;
    }
    if !ty.ty.is_error() && !complete_type(cx, ty.ty, field.span) {
        return false;
    }
    let mut bits = None;
    if let Some(width) = &field.width {
        let known = bit_field_width(cx, field, width, ty);
        let Some(width) = known.or(cx.diagnostics.in_template().then_some(1)) else { return false };
        if field.name.is_none() {
            members.padding.push(Padding { before: members.fields.len(), ty: ty.ty, width });
            return true;
        }
        bits = Some(BitField { shift: 0, width, bytes: 0 });
    }
    cx.records.get_mut(id).access.hides_data |= access != Access::Public;
    declare_field(
        &cx.types,
        &mut cx.records,
        &mut cx.diagnostics,
        id,
        (field, access),
        members.fields.len() as u32,
        ty.ty,
    );
    let Some(argument_id) = argument_id(cx, field) else { return false };
    let name = field.name.unwrap_or(Name::EMPTY);
    members.fields.push(FieldInfo { name, ty, offset: 0, is_reference, bits, id: argument_id });
    cx.records.get_mut(id).field_inits.push(field.init.as_ref());
    true
}

/// The number of `[[id(n)]]`: `Some(None)` when there is none.
fn argument_id<'a>(cx: &mut Checker<'a>, field: &'a ast::Field) -> Option<Option<u32>> {
    match field.attributes.iter().find(|found| found.name.as_str() == "id") {
        Some(attribute) => Some(Some(kernel::attribute_index(cx, attribute, MAX_ARGUMENT_ID)?)),
        None => Some(None),
    }
}

/// The width of a bit-field. `None` (reported) if the type or the width makes none.
fn bit_field_width<'a>(
    cx: &mut Checker<'a>,
    field: &'a ast::Field,
    width: &'a ast::Expr,
    ty: QualTy,
) -> Option<u32> {
    if ty.ty.is_error() {
        return None;
    }
    let Some(scalar) = cx.types.scalar_repr(ty.ty).filter(|scalar| scalar.is_integral()) else {
        let message = format!("a bit-field cannot have type `{}`", cx.show(ty));
        cx.error("bad-bit-field", field.span, message);
        return None;
    };
    let value = expr::check(cx, width);
    let n = evaluate::constant_integer(cx, value)?;
    let most = i128::from(scalar.size() * 8);
    let problem = if n < 0 {
        format!("a bit-field cannot have {n} bits")
    } else if n == 0 && field.name.is_some() {
        "a bit-field with a name needs at least one bit".to_owned()
    } else if n > most {
        format!("a bit-field of {n} bits is wider than its type `{}`, which is not supported", cx.show(ty))
    } else {
        return Some(n as u32);
    };
    cx.error("bad-bit-field", width.span, problem);
    None
}

/// Enters the name of a data member, or the names of an anonymous one's members.
fn declare_field(
    types: &Types,
    records: &mut Records<'_>,
    diagnostics: &mut Diagnostics,
    id: RecordId,
    (field, access): (&ast::Field, Access),
    index: u32,
    ty: Ty,
) {
    match (field.name, &field.ty.kind) {
        (Some(name), _) => {
            // Tags may be hidden, and later static members are reported themselves.
            let may_be_there = |member: &Member<'_>| match member {
                Member::Record(_, None) | Member::Enum(_) => true,
                Member::Variable(variable, _) => variable.span.lo > field.span.lo,
                _ => false,
            };
            let members = records.get(id).members.get(&name);
            let is_known = members.is_some_and(|members| !members.iter().all(may_be_there));
            if is_known {
                diagnostics.error("redefinition", field.span, format!("member `{name}` is declared twice"));
            }
            records.add_member(id, name, Member::Field([index].into()), access);
        }
        (None, TypeKind::Record(_)) => lift_anonymous(types, records, id, (index, access), ty),
        (None, _) => {}
    }
}

/// Makes the members of an anonymous struct or union members of the record around it.
fn lift_anonymous(
    types: &Types,
    records: &mut Records<'_>,
    id: RecordId,
    (index, access): (u32, Access),
    ty: Ty,
) {
    let Some(inner) = types.as_record(ty) else { return };
    for name in records.get(inner).member_names() {
        let members = records.get(inner).members[&name].clone();
        for member in members {
            if let Member::Field(path) = member {
                let path: Vec<u32> = std::iter::once(index).chain(path.iter().copied()).collect();
                records.add_member(id, name, Member::Field(path.into()), access);
            }
        }
    }
}

/// What `alignas` and `aligned` ask for: 1 or a greater power of two.
/// Makes sure that a type's size is known; false (reported) if it cannot be.
pub(in crate::sema) fn complete_type(cx: &mut Checker<'_>, ty: Ty, span: Span) -> bool {
    match *cx.types.kind(ty) {
        TyKind::Record(id) => complete(cx, id, span),
        TyKind::Array(elem, _) => complete_type(cx, elem, span),
        TyKind::Error => false,
        _ => true,
    }
}
