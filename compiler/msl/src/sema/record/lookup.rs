//! Names in a class and its bases, and the way from a class to a base.

use super::{Member, RecordState, complete, declare};
use crate::ast;
use crate::hir::{QualTy, RecordId};
use crate::sema::checker::Checker;
use crate::sema::entities::{FnDeclId, Found, VarDecl};
use crate::sema::{ambiguity, enumeration, equivalence, lookup, path, record};
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
    let declares = |member: &&Member<'a>| !matches!(member, Member::Using(_));
    // Values hide the class or enumeration of their name.
    let is_value = |member: &&Member<'a>| {
        matches!(member, Member::Field(_) | Member::Variable(..) | Member::Enumerator(..))
    };
    let first = members.iter().find(is_value).or_else(|| members.iter().find(declares)).cloned();
    let usings: Vec<&'a ast::UsingDeclaration> = members
        .iter()
        .filter_map(|m| if let Member::Using(using) = m { Some(*using) } else { None })
        .collect();
    let own = methods.clone();
    let mut is_unknown = false;
    for using in usings {
        match used_member(cx, id, using, &own) {
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

/// The class or enumeration of that name that a class or a base declares, even if another member hides it.
pub(in crate::sema) fn member_tag(cx: &mut Checker<'_>, id: RecordId, name: Name) -> Option<QualTy> {
    let bases = cx.records.bases_of(id);
    std::iter::once(id).chain(bases).find_map(|class| {
        let scope = cx.records.get(class).scope;
        let members = cx.records.get(class).members.get(&name)?;
        let ty = members.clone().into_iter().find_map(|member| match member {
            Member::Record(record, None) => {
                Some(record::plain(&mut cx.types, &mut cx.records, record, scope))
            }
            Member::Enum(enumeration) => Some(enumeration::type_of(cx, enumeration, scope)),
            _ => None,
        })?;
        Some(QualTy::plain(ty))
    })
}

/// The entity that a using-declaration of a class names. `own` are the methods of that name that the class
/// declares.
fn used_member<'a>(
    cx: &mut Checker<'a>,
    id: RecordId,
    using: &'a ast::UsingDeclaration,
    own: &[FnDeclId],
) -> Option<Found<'a>> {
    if cx.records.usings.is_cycle(using.id) {
        return None;
    }
    if let Some(known) = cx.records.usings.functions(id, using.id) {
        return Some(Found::Functions(known));
    }
    let cycles = cx.records.usings.enter(using.id);
    let scope = cx.records.get(id).scope;
    let found = cx.in_scope(scope, |cx| used_by(cx, using)).map(|found| without_hidden(cx, found, own));
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

/// Removes base function templates that a function template of the class hides (C++14 [namespace.udecl.15]).
/// Like clang, ignores the template parameters. Overload resolution removes hidden functions that are not
/// templates.
fn without_hidden<'a>(cx: &mut Checker<'a>, found: Found<'a>, own: &[FnDeclId]) -> Found<'a> {
    let Found::Functions(decls) = &found else { return found };
    let is_template = |cx: &Checker<'a>, decl: FnDeclId| cx.functions.decl(decl).template.is_some();
    let own: Vec<FnDeclId> = own.iter().copied().filter(|&decl| is_template(cx, decl)).collect();
    if own.is_empty() {
        return found;
    }
    let mut kept = Vec::with_capacity(decls.len());
    for &decl in decls.iter() {
        let is_hidden =
            is_template(cx, decl) && own.iter().any(|&own| equivalence::have_same_parameters(cx, own, decl));
        if !is_hidden {
            kept.push(decl);
        }
    }
    Found::Functions(kept.into())
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
