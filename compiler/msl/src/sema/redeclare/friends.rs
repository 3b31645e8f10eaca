//! Friend functions of instances of class templates: each instance declares, and perhaps defines, functions
//! of the enclosing namespace (C++14 [temp.friend], [basic.def.odr]).

use super::excludes;
use crate::ast::{FunctionBody, ItemKind};
use crate::hir::{FuncId, RecordId};
use crate::sema::checker::Checker;
use crate::sema::entities::{FnDeclId, TArg};
use crate::sema::equivalence::{self, Signature};
use crate::sema::record::RecordState;
use crate::sema::table::{Decl, Layer, NsId};
use crate::sema::{function, spelling};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A declaration of a function of a namespace.
#[derive(Clone, Copy)]
struct Declared {
    decl: FnDeclId,
    /// Whether it is the friend of an instance.
    is_of_instance: bool,
    /// Where it takes effect: the instance's first use.
    place: Span,
}

/// Reports friends of instances that other functions exclude, and functions that such friends exclude.
pub(in crate::sema) fn check<'a>(cx: &mut Checker<'a>, layer: &'a Layer) {
    let mut groups = of_instances(cx);
    for (name, decls) in layer.own_names() {
        for &decl in decls {
            let Decl::Item(id) = decl else { continue };
            let item = &layer.entry(id).item;
            let ItemKind::Function(ast) = &item.kind else { continue };
            let is_specialisation = item.template.as_ref().is_some_and(|head| head.params.is_empty());
            if let Some(group) = groups.get_mut(&(layer.entry(id).ns, name))
                && !is_specialisation
            {
                let scope = cx.scopes.of_item(id);
                let decl = cx.functions.declare(ast, item.template.as_ref(), scope, None);
                group.push(Declared { decl, is_of_instance: false, place: ast.span });
            }
        }
    }
    add_friends_of_classes(cx, &mut groups);
    let mut sorted: Vec<Vec<Declared>> = groups.into_values().collect();
    for group in &mut sorted {
        group.sort_by_key(|declared| (declared.place.file, declared.place.lo));
    }
    sorted.sort_by_key(|group| group[0].place.lo);
    sorted.iter().for_each(|group| check_group(cx, group));
}

/// The friends of complete instances, by namespace and name. Friends of templates without arguments count
/// only where they are not defined.
fn of_instances(cx: &Checker<'_>) -> FxHashMap<(NsId, Name), Vec<Declared>> {
    let mut groups: FxHashMap<(NsId, Name), Vec<Declared>> = FxHashMap::default();
    for n in 0..cx.records.count() {
        let record = cx.records.get(RecordId(n as u32));
        if record.template.is_none() || record.state != RecordState::Complete {
            continue;
        }
        let is_known = !record.args.iter().any(TArg::is_unknown);
        for &(name, decl) in &record.friends {
            let data = cx.functions.decl(decl);
            let is_defined = !matches!(data.ast.body, FunctionBody::None);
            if is_known || (!is_defined && data.template.is_none()) {
                let ns = cx.scopes.enclosing_namespace(record.decl_scope);
                let place = match cx.records.instantiated.get(&RecordId(n as u32)) {
                    Some(place) if is_known => *place,
                    _ => data.ast.span,
                };
                groups.entry((ns, name)).or_default().push(Declared { decl, is_of_instance: true, place });
            }
        }
    }
    groups
}

/// Adds the friends that classes which are no instances define, to the groups that friends of instances make.
fn add_friends_of_classes(cx: &Checker<'_>, groups: &mut FxHashMap<(NsId, Name), Vec<Declared>>) {
    for n in 0..cx.records.count() {
        let record = cx.records.get(RecordId(n as u32));
        if record.template.is_some() || cx.scopes.is_in_template(record.decl_scope) {
            continue;
        }
        let ns = cx.scopes.enclosing_namespace(record.decl_scope);
        for &(name, decl) in &record.friends {
            let ast = cx.functions.decl(decl).ast;
            if let Some(group) = groups.get_mut(&(ns, name))
                && !matches!(ast.body, FunctionBody::None)
            {
                group.push(Declared { decl, is_of_instance: false, place: ast.span });
            }
        }
    }
}

/// Reports friend templates of instances that are defined although the template is.
fn check_templates(cx: &mut Checker<'_>, group: &[Declared]) {
    let mut known: Vec<(Rc<Signature>, Declared)> = Vec::new();
    let mut reported: Vec<Span> = Vec::new();
    for &declared in group {
        let data = cx.functions.decl(declared.decl);
        let span = data.ast.span;
        if data.template.is_none() || matches!(data.ast.body, FunctionBody::None) {
            continue;
        }
        let signature = equivalence::signature(cx, declared.decl);
        let excludes = |(other, earlier): &&(Rc<Signature>, Declared)| {
            *other == signature && (earlier.is_of_instance || declared.is_of_instance)
        };
        if let Some((_, earlier)) = known.iter().find(excludes)
            && !reported.contains(&span)
        {
            let earlier = cx.functions.decl(earlier.decl).ast;
            let message = format!("redefinition of `{}`", spelling::function(&earlier.name));
            let diagnostic = Diagnostic::error("redefinition", span, message);
            cx.report(diagnostic.with_note(earlier.span, "previously declared here"));
            reported.push(span);
        }
        known.push((signature, declared));
    }
}

fn check_group(cx: &mut Checker<'_>, group: &[Declared]) {
    check_templates(cx, group);
    let mut known: Vec<(FuncId, bool)> = Vec::new();
    let mut reported: Vec<Span> = Vec::new();
    for declared in group {
        if cx.functions.decl(declared.decl).template.is_some() {
            continue;
        }
        let span = cx.functions.decl(declared.decl).ast.span;
        let func = cx.quietly(|cx| function::instantiate(cx, declared.decl, Rc::from([]), span));
        let Ok(Some(func)) = func else { continue };
        let mut others = known.iter().filter(|(_, other)| *other || declared.is_of_instance);
        let problem = others.find_map(|&(earlier, _)| excludes(cx, earlier, func));
        if let Some((earlier, message)) = problem
            && !reported.contains(&span)
        {
            reported.push(span);
            cx.report(
                Diagnostic::error("redefinition", span, message)
                    .with_note(earlier, "previously declared here"),
            );
        }
        known.push((func, declared.is_of_instance));
    }
}
