//! Names that mean several things: members of two bases, declarations that two directives make visible.
//!
//! A lookup returns [`Found::Ambiguous`], and the use of the name reports it with [`unambiguous`].

use super::checker::Checker;
use super::diagnostics::{DEPENDENT, Diagnostics};
use super::entities::{Ambiguity, FnDeclId, Found, TArg};
use super::function::Functions;
use super::path::Miss;
use super::record::Records;
use super::table::{Decl, NsId};
use super::{lookup, path, record};
use crate::hir::RecordId;
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A member that a class has from its bases.
#[derive(Clone, Debug)]
struct Inherited<'a> {
    found: Found<'a>,
    from: RecordId,
    /// Whether it is in several base subobjects.
    is_repeated: bool,
    /// A base with another member of that name.
    rival: Option<RecordId>,
    /// The functions of all bases, if all members of that name are functions.
    functions: Option<Rc<[FnDeclId]>>,
}

/// Returns the found entity; reports an ambiguous name.
pub(super) fn unambiguous<'a>(
    diagnostics: &mut Diagnostics,
    found: Found<'a>,
    span: Span,
) -> Result<Found<'a>, Miss> {
    let Found::Ambiguous(ambiguity) = &found else { return Ok(found) };
    // Lookup shows declarations after the use, too: they must not make it ambiguous.
    let is_before = |at: &Span| at.file != span.file || at.lo <= span.lo;
    let declared = ambiguity.candidates.iter().zip(&ambiguity.found).filter(|(at, _)| is_before(at));
    let declared: Vec<&Found<'a>> = declared.map(|(_, found)| found).collect();
    if let [only] = declared.as_slice() {
        return Ok((*only).clone());
    }
    let mut diagnostic = Diagnostic::error(ambiguity.id, span, ambiguity.message.clone());
    for &candidate in &ambiguity.candidates {
        diagnostic = diagnostic.with_note(candidate, "candidate");
    }
    diagnostics.report(diagnostic);
    Err(Miss::Reported)
}

/// The functions of an operator that a class has, those of all bases together, as Clang has it; an error
/// if the name is ambiguous otherwise.
pub(super) fn member_functions(
    cx: &mut Checker<'_>,
    record: RecordId,
    name: Name,
    span: Span,
) -> Result<Option<Rc<[FnDeclId]>>, Miss> {
    let Some(found) = record::lookup(cx, record, name) else { return Ok(None) };
    if let Found::Ambiguous(ambiguity) = &found
        && !ambiguity.functions.is_empty()
    {
        return Ok(Some(ambiguity.functions.clone()));
    }
    match unambiguous(&mut cx.diagnostics, found, span)? {
        Found::Functions(decls) => Ok(Some(decls)),
        _ => Ok(None),
    }
}

/// Looks a name up in the bases of a class (C++14 [class.member.lookup]).
pub(super) fn lookup_in_bases<'a>(cx: &mut Checker<'a>, id: RecordId, name: Name) -> Option<Found<'a>> {
    let inherited = inherited_by_bases(cx, id, name, &mut FxHashMap::default())?;
    let Inherited { found, from, is_repeated, rival, functions } = inherited;
    if rival.is_none() && !(is_repeated && needs_object(&cx.functions, &found)) {
        return Some(found);
    }
    // Hides the placeholder for unknown arguments, with which the message would be dropped.
    let class = cx.types.record(id).name.replace(DEPENDENT, "…");
    let message = match rival {
        Some(_) => format!("`{name}` is a member of several bases of `{class}`"),
        None => format!("`{name}` is a member of a base that `{class}` has several times"),
    };
    // A base that is there several times has one function: the object is what is ambiguous.
    let functions = functions.filter(|_| rival.is_some()).unwrap_or_default();
    let declared = |id: RecordId| cx.records.get(id).ast.map(|ast| ast.span);
    let candidates = std::iter::once(from).chain(rival).filter_map(declared).collect();
    Some(Found::Ambiguous(Rc::new(Ambiguity {
        id: "ambiguous-member",
        message,
        candidates,
        found: Vec::new(),
        functions,
    })))
}

/// A member of a class or its bases; each class is examined once.
fn inherited<'a>(
    cx: &mut Checker<'a>,
    id: RecordId,
    name: Name,
    known: &mut FxHashMap<RecordId, Option<Inherited<'a>>>,
) -> Option<Inherited<'a>> {
    if let Some(known) = known.get(&id) {
        return known.clone();
    }
    let own = record::lookup_in_class(cx, id, name);
    let inherited = match own {
        Some(found) => {
            let functions = match &found {
                Found::Functions(decls) => Some(decls.clone()),
                _ => None,
            };
            Some(Inherited { found, from: id, is_repeated: false, rival: None, functions })
        }
        None => inherited_by_bases(cx, id, name, known),
    };
    known.insert(id, inherited.clone());
    inherited
}

fn inherited_by_bases<'a>(
    cx: &mut Checker<'a>,
    id: RecordId,
    name: Name,
    known: &mut FxHashMap<RecordId, Option<Inherited<'a>>>,
) -> Option<Inherited<'a>> {
    let mut merged: Option<Inherited<'a>> = None;
    for (base, _) in cx.records.get(id).bases.clone() {
        let Some(next) = inherited(cx, base, name, known) else { continue };
        merged = Some(match merged {
            None => next,
            Some(first) => merge(&cx.records, first, next),
        });
    }
    merged
}

fn merge<'a>(records: &Records<'a>, first: Inherited<'a>, next: Inherited<'a>) -> Inherited<'a> {
    let is_repeated = first.is_repeated || next.is_repeated;
    let rival = first.rival.or(next.rival);
    let functions = match (&first.functions, &next.functions) {
        (Some(a), Some(b)) => {
            Some(a.iter().chain(b.iter().filter(|decl| !a.contains(decl))).copied().collect())
        }
        _ => None,
    };
    if rival.is_some() {
        return Inherited { rival, is_repeated, functions, ..first };
    }
    if is_same_entity(records, &first.found, &next.found) {
        return Inherited { is_repeated: true, functions, ..first };
    }
    match common_template(records, &first.found, &next.found) {
        Some(template) => Inherited { found: template, is_repeated, functions, ..first },
        None => Inherited { rival: Some(next.from), is_repeated, functions, ..first },
    }
}

/// The template that the names of two classes in themselves stand for (C++14 [temp.local]).
fn common_template<'a>(records: &Records<'a>, a: &Found<'a>, b: &Found<'a>) -> Option<Found<'a>> {
    let template = |found: &Found<'a>| match found {
        Found::Injected(record) => records.get(*record).template.clone(),
        Found::ClassTemplate(template) => Some(template.clone()),
        _ => None,
    };
    let (a, b) = (template(a)?, template(b)?);
    (a.primary.id == b.primary.id && a.scope == b.scope).then_some(Found::ClassTemplate(a))
}

fn needs_object<'a>(functions: &Functions<'a>, found: &Found<'a>) -> bool {
    match found {
        Found::Field(..) => true,
        Found::Functions(decls) => decls.iter().any(|&decl| functions.needs_object(decl)),
        _ => false,
    }
}

/// Whether two lookups found the same thing.
fn is_same_entity<'a>(records: &Records<'a>, a: &Found<'a>, b: &Found<'a>) -> bool {
    if let (Some(a), Some(b)) = (path::type_of_found(records, a), path::type_of_found(records, b)) {
        return a == b;
    }
    match (a, b) {
        (Found::BuiltinTemplate(a), Found::BuiltinTemplate(b)) => a == b,
        (Found::ClassTemplate(a), Found::ClassTemplate(b)) => {
            a.primary.id == b.primary.id && a.scope == b.scope
        }
        (Found::AliasTemplate(a), Found::AliasTemplate(b)) => a.alias.id == b.alias.id && a.scope == b.scope,
        (Found::Functions(a), Found::Functions(b)) => a == b,
        (Found::Variable(a), Found::Variable(b)) => a.variable.id == b.variable.id && a.scope == b.scope,
        (Found::Enumerator(a, x), Found::Enumerator(b, y)) => a == b && x == y,
        (Found::Field(a, x), Found::Field(b, y)) => a == b && x == y,
        (Found::Namespace(a), Found::Namespace(b)) => a == b,
        (Found::TArg(TArg::Value(a, x)), Found::TArg(TArg::Value(b, y))) => a == b && x == y,
        (Found::Error, _) | (_, Found::Error) => true,
        _ => false,
    }
}

/// What makes a name ambiguous that several namespaces at one level declare: other things than functions
/// that the program declares (C++14 [namespace.udir]). The library has names that Metal has not, which
/// those of the program hide.
pub(super) fn of_namespaces<'a>(
    cx: &mut Checker<'a>,
    decls: &[(Decl, NsId)],
    name: Name,
) -> Option<Found<'a>> {
    let own: Vec<(Decl, NsId)> = decls.iter().copied().filter(|(decl, _)| cx.table.is_own(*decl)).collect();
    let first = own.first()?.1;
    if own.iter().all(|(_, ns)| *ns == first) {
        return None;
    }
    let mut namespaces: Vec<NsId> = Vec::new();
    for &(_, ns) in &own {
        if !namespaces.contains(&ns) {
            namespaces.push(ns);
        }
    }
    let mut entities: Vec<(Found<'a>, Span)> = Vec::new();
    for ns in namespaces {
        let group: Vec<(Decl, NsId)> = own.iter().copied().filter(|(_, at)| *at == ns).collect();
        let Some(found) = lookup::found_in_decls(cx, &group, name) else { continue };
        let is_function = matches!(found, Found::Functions(_));
        let is_known = entities.iter().any(|(known, _)| {
            (is_function && matches!(known, Found::Functions(_)))
                || is_same_entity(&cx.records, known, &found)
        });
        if !is_known {
            entities.push((found, cx.table.span(group[0].0)));
        }
    }
    if entities.len() < 2 {
        return None;
    }
    let message = format!("`{name}` is declared in several namespaces that are visible here");
    let (found, candidates) = entities.into_iter().unzip();
    let functions = Rc::default();
    let ambiguity = Ambiguity { id: "ambiguous-name", message, candidates, found, functions };
    Some(Found::Ambiguous(Rc::new(ambiguity)))
}
