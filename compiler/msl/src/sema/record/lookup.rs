//! Names in a class and its bases, and the way from a class to a base.

use super::{Member, RecordState, complete, declare};
use crate::ast;
use crate::hir::{QualTy, RecordId};
use crate::sema::checker::Checker;
use crate::sema::entities::{FnDeclId, Found, VarDecl};
use crate::sema::{ambiguity, enumeration, lookup, path};
use crate::token::Name;
use anymetal_diagnostics::Span;
use rustc_hash::FxHashSet;
use std::rc::Rc;

/// Looks a name up in a class and its bases.
pub(in crate::sema) fn lookup<'a>(cx: &mut Checker<'a>, id: RecordId, name: Name) -> Option<Found<'a>> {
    if let Some(found) = lookup_in_class(cx, id, name) {
        return Some(found);
    }
    ambiguity::lookup_in_bases(cx, id, name)
}

/// Looks a name up in a class alone.
pub(in crate::sema) fn lookup_in_class<'a>(
    cx: &mut Checker<'a>,
    id: RecordId,
    name: Name,
) -> Option<Found<'a>> {
    declare::declare_members(cx, id);
    if let Some(found) = own_member(cx, id, name) {
        return Some(found);
    }
    if cx.records.get(id).state == RecordState::Declared && cx.records.has_more_members(id, name) {
        // Data members and bases are only known of a complete class.
        let span = cx.records.get(id).ast.map_or(Span::NONE, |ast| ast.span);
        complete::complete(cx, id, span);
        if let Some(found) = own_member(cx, id, name) {
            return Some(found);
        }
    }
    (cx.records.get(id).name == Some(name)).then_some(Found::Injected(id))
}

fn own_member<'a>(cx: &mut Checker<'a>, id: RecordId, name: Name) -> Option<Found<'a>> {
    let members = cx.records.get(id).members.get(&name)?;
    let scope = cx.records.get(id).scope;
    let mut methods: Vec<FnDeclId> = members
        .iter()
        .filter_map(|m| if let Member::Method(decl) = m { Some(*decl) } else { None })
        .collect();
    let first = members.iter().find(|member| !matches!(member, Member::Using(_))).cloned();
    let usings: Vec<&'a ast::UsingDeclaration> = members
        .iter()
        .filter_map(|m| if let Member::Using(using) = m { Some(*using) } else { None })
        .collect();
    let mut is_unknown = false;
    for using in usings {
        match used_member(cx, id, using) {
            Some(Found::Functions(decls)) => {
                let known: FxHashSet<FnDeclId> = methods.iter().copied().collect();
                methods.extend(decls.iter().filter(|decl| !known.contains(decl)));
            }
            Some(found) if methods.is_empty() && first.is_none() => return Some(found),
            // Of a base that depends on a template's arguments, of which none are known.
            None => is_unknown |= cx.diagnostics.in_template(),
            // Another declaration hides it, or it leads nowhere, which is reported where the class is
            // completed.
            Some(_) => {}
        }
    }
    if !methods.is_empty() {
        return Some(Found::Functions(methods.into()));
    }
    if is_unknown && first.is_none() {
        return Some(Found::Error);
    }
    Some(match first? {
        Member::Field(path) => Found::Field(id, path),
        Member::Method(_) | Member::Using(_) => return None,
        Member::Variable(variable, template) => Found::Variable(VarDecl { variable, template, scope }),
        Member::Alias(alias, template) => lookup::alias_found(cx, alias, template, scope),
        Member::Record(record, template) => {
            lookup::record_found(&mut cx.types, &mut cx.records, record, template, Vec::new(), scope)
        }
        Member::Enum(enumeration) => Found::Type(QualTy::plain(enumeration::type_of(cx, enumeration, scope))),
        Member::Enumerator(enumeration, n) => enumeration::enumerator(cx, enumeration, scope, n),
    })
}

/// What a using-declaration of a class stands for.
fn used_member<'a>(
    cx: &mut Checker<'a>,
    id: RecordId,
    using: &'a ast::UsingDeclaration,
) -> Option<Found<'a>> {
    if cx.records.usings.is_cycle(using.id) {
        return None;
    }
    if let Some(known) = cx.records.usings.functions(id, using.id) {
        return Some(Found::Functions(known));
    }
    let cycles = cx.records.usings.enter(using.id);
    let scope = cx.records.get(id).scope;
    let found = cx.in_scope(scope, |cx| used_by(cx, using));
    let is_whole = cx.records.usings.leave(cycles);
    let found = found?;
    if let Found::Functions(decls) = &found {
        let introduced = &mut cx.records.get_mut(id).introduced;
        introduced.extend(decls.iter().filter(|decl| !introduced.contains(decl)).collect::<Vec<_>>());
        // What a cycle cut short, and what may still get declarations, is looked up again.
        if is_whole && cx.records.get(id).state == RecordState::Complete {
            cx.records.usings.set_functions(id, using.id, Rc::clone(decls));
        }
    }
    Some(found)
}

/// What a using-declaration names: of a pack, the functions of all elements.
fn used_by<'a>(cx: &mut Checker<'a>, using: &'a ast::UsingDeclaration) -> Option<Found<'a>> {
    let resolve = |cx: &mut Checker<'a>| cx.quietly(|cx| path::resolve(cx, &using.path)).ok()?.ok();
    if !using.is_pack {
        return Some(resolve(cx)?.found);
    }
    let mut all: Vec<FnDeclId> = Vec::new();
    let mut other = None;
    for n in 0..cx.scopes.pack_length_of_path(&using.path)? {
        match cx.with_pack_index(n, resolve)?.found {
            Found::Functions(decls) => {
                all.extend(decls.iter().filter(|decl| !all.contains(decl)).collect::<Vec<_>>())
            }
            found => other = Some(found),
        }
    }
    if all.is_empty() { other } else { Some(Found::Functions(all.into())) }
}

/// The assignment operators that a class declares or takes over: those of bases are hidden.
pub(in crate::sema) fn assignment_operators(cx: &mut Checker<'_>, id: RecordId) -> Vec<FnDeclId> {
    declare::declare_members(cx, id);
    match own_member(cx, id, cx.names.assign_operator) {
        Some(Found::Functions(decls)) => decls.to_vec(),
        _ => Vec::new(),
    }
}

/// The offset path from a class to one of its bases, as field indices; `None` if it is no base.
/// An empty base has no field: then `Some(vec![])` stands for the object itself.
pub(in crate::sema) fn base_path(
    cx: &mut Checker<'_>,
    derived: RecordId,
    base: RecordId,
) -> Option<Vec<u32>> {
    if derived == base {
        return Some(Vec::new());
    }
    declare::declare_members(cx, derived);
    if cx.records.get(derived).ast.is_none_or(|ast| ast.bases.is_empty()) {
        return None;
    }
    let span = cx.records.get(derived).ast.map_or(Span::NONE, |ast| ast.span);
    if cx.records.get(derived).state < RecordState::Completing {
        complete::complete(cx, derived, span);
    }
    let mut path = Vec::new();
    cx.records.find_base(derived, base, &mut path, &mut FxHashSet::default()).then_some(path)
}

/// `B::B`, where `B` may be an alias, and have template arguments in front.
pub(super) fn names_constructors(path: &ast::Path) -> bool {
    matches!(path.segments.as_slice(), [.., class, last] if class.name == last.name && last.operator.is_none())
}
