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
    let mut sorted: Vec<Vec<Declared>> = groups.into_values().collect();
    for group in &mut sorted {
        group.sort_by_key(|declared| (declared.place.file, declared.place.lo));
    }
    sorted.sort_by_key(|group| group[0].place.lo);
    for group in sorted {
        let is_template = |declared: &Declared| cx.functions.decl(declared.decl).template.is_some();
        let (templates, functions): (Vec<_>, Vec<_>) = group.into_iter().partition(is_template);
        check_group(cx, &functions);
        check_templates(cx, &templates);
    }
}

/// Reports function templates that an instance defines as friends and that are defined elsewhere as well.
fn check_templates(cx: &mut Checker<'_>, group: &[Declared]) {
    let mut known: Vec<(Rc<Signature>, Declared)> = Vec::new();
    let mut reported: Vec<Span> = Vec::new();
    for &declared in group {
        let ast = cx.functions.decl(declared.decl).ast;
        if matches!(ast.body, FunctionBody::None) {
            continue;
        }
        let signature = equivalence::signature(cx, declared.decl);
        let mut others = known.iter().filter(|(other, _)| *other == signature).map(|(_, other)| other);
        let earlier = others.find(|other| other.is_of_instance || declared.is_of_instance);
        if let Some(earlier) = earlier
            && !reported.contains(&ast.span)
        {
            reported.push(ast.span);
            let earlier = cx.functions.decl(earlier.decl).ast.span;
            let message = format!("redefinition of `{}`", spelling::function(&ast.name));
            cx.report(
                Diagnostic::error("redefinition", ast.span, message)
                    .with_note(earlier, "previously declared here"),
            );
        }
        known.push((signature, declared));
    }
}

/// The friends of complete classes, by namespace and name. Friends of templates without arguments count
/// only where they are not defined.
fn of_instances(cx: &Checker<'_>) -> FxHashMap<(NsId, Name), Vec<Declared>> {
    let mut groups: FxHashMap<(NsId, Name), Vec<Declared>> = FxHashMap::default();
    for n in 0..cx.records.count() {
        let record = cx.records.get(RecordId(n as u32));
        if record.state != RecordState::Complete || record.friends.is_empty() {
            continue;
        }
        let is_instance = record.template.is_some();
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
                groups.entry((ns, name)).or_default().push(Declared {
                    decl,
                    is_of_instance: is_instance,
                    place,
                });
            }
        }
    }
    groups
}

fn check_group(cx: &mut Checker<'_>, group: &[Declared]) {
    let mut known: Vec<(FuncId, bool)> = Vec::new();
    let mut reported: Vec<Span> = Vec::new();
    for declared in group {
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
