//! Where explicit specialisations, explicit instantiations and definitions with qualified names may stand: in
//! a namespace that encloses the entity (C++14 [temp.expl.spec.2], [temp.explicit.3], [class.mfct.2]).

use super::specialisation;
use crate::ast::{self, ItemKind, Path};
use crate::hir::RecordId;
use crate::sema::ast_names::{self, Visitor};
use crate::sema::checker::Checker;
use crate::sema::scopes::ScopeId;
use crate::sema::table::{Entry, ItemId, NsId};
use crate::sema::{lookup, out_of_line, path, specialise};
use crate::token::Name;
use anymetal_diagnostics::Span;

/// Reports a specialisation whose entity is outside of the namespace `from`; returns false after an error.
pub(super) fn check_specialised(
    cx: &mut Checker<'_>,
    from: NsId,
    entity: ScopeId,
    name: &str,
    span: Span,
) -> bool {
    let target = cx.scopes.enclosing_namespace(entity);
    let fits = cx.table.encloses(from, target);
    if !fits {
        let message = match target == NsId::GLOBAL {
            true => format!("explicit specialization of `{name}` must occur at global scope"),
            false => {
                let shown = namespace_name(cx, target);
                format!("explicit specialization of `{name}` not in a namespace enclosing {shown}")
            }
        };
        cx.error("wrong-namespace", span, message);
    }
    fits
}

/// Reports an explicit instantiation outside of the namespaces that enclose the template; with a name on its
/// own, it must be in the template's namespace, of which inline namespaces are a part.
pub(super) fn check_instantiated(cx: &mut Checker<'_>, from: NsId, entity: ScopeId, path: &Path) {
    let target = cx.scopes.enclosing_namespace(entity);
    let is_qualified = path.global || path.segments.len() > 1;
    let fits = match is_qualified {
        true => cx.table.encloses(from, target),
        false => cx.table.enclosing_set(target).contains(&from),
    };
    if fits {
        return;
    }
    let name = path.segments.last().expect("a path has a segment").name;
    let message = match (target == NsId::GLOBAL, is_qualified) {
        (true, _) => format!("explicit instantiation of `{name}` must occur at global scope"),
        (false, true) => {
            let shown = namespace_name(cx, target);
            format!("explicit instantiation of `{name}` not in a namespace enclosing {shown}")
        }
        (false, false) => {
            let shown = namespace_name(cx, target);
            format!("explicit instantiation of `{name}` must occur in {shown}")
        }
    };
    cx.error("wrong-namespace", path.span, message);
}

fn namespace_name(cx: &Checker<'_>, ns: NsId) -> String {
    format!("namespace `{}`", cx.table.prefix(ns).trim_end_matches("::"))
}

/// Checks a definition with a qualified name: its namespace, and whether it begins with the `template<>` that
/// its class needs.
pub(in crate::sema) fn check_definition<'a>(cx: &mut Checker<'a>, id: ItemId, entry: &'a Entry) {
    let (path, name, span) = match &entry.item.kind {
        ItemKind::Function(function) => {
            (&function.scope, crate::sema::spelling::function(&function.name), function.span)
        }
        ItemKind::Variable(variable) => {
            (&variable.declarator.scope, variable.declarator.name.to_string(), variable.span)
        }
        // Specialisations of class templates are checked by themselves.
        ItemKind::Record(record) if record.specialisation.is_none() => {
            let name = record.name.map_or_else(String::new, |name| name.to_string());
            (&record.scope, name, record.span)
        }
        _ => return,
    };
    let Some(path) = path else { return };
    let heads = entry.item.template.as_ref().map_or_else(Vec::new, ast::TemplateParams::heads);
    if let Some(first) = heads.iter().position(|head| !head.params.is_empty()) {
        if heads[first..].iter().any(|head| head.params.is_empty()) {
            let message = "cannot specialize (with `template<>`) a member of an unspecialized template";
            cx.error("bad-template", span, message);
        } else if first == 0 {
            let scope = cx.scopes.of_item(id);
            cx.in_scope(scope, |cx| check_class_heads(cx, &heads, path, span));
        }
        return;
    }
    let scope = cx.scopes.of_item(id);
    if let Some(ns) = cx.table.find_namespace(entry.ns, path) {
        if !cx.table.encloses(entry.ns, ns) {
            let shown = namespace_name(cx, ns);
            let message =
                format!("cannot define or redeclare `{name}` here, which is not in {shown} or one around it");
            cx.error("wrong-namespace", span, message);
        }
        return;
    }
    let Some(class) = path::class_of_path(cx, path, scope) else {
        if let ItemKind::Record(_) = entry.item.kind {
            // Functions and variables are reported with the declarations that they have not.
            cx.without_access(|cx| cx.in_scope(scope, |cx| path::resolve_type(cx, path)));
        }
        return;
    };
    let target = cx.records.get(class).decl_scope;
    if !check_specialised(cx, entry.ns, target, &name, span) {
        return;
    }
    let needed = heads_needed(cx, class, span);
    if heads.is_empty() && needed > 0 && !matches!(entry.item.kind, ItemKind::Record(_)) {
        let message = format!("template specialization of `{name}` requires `template<>`");
        cx.error("bad-template", span, message);
    }
}

/// Reports heads of classes that are not those of the class templates that the path names: with parameters
/// that nothing determines, or in another order.
fn check_class_heads(cx: &mut Checker<'_>, heads: &[&ast::TemplateParams], path: &Path, span: Span) {
    let first = path.segments.first().expect("a path has a segment");
    if first.args.is_some() && !path.global && lookup::unqualified(cx, first.name).is_none() {
        return cx.error("unknown-name", first.span, format!("no template named `{}`", first.name));
    }
    let classes = path.segments.iter().filter_map(|segment| segment.args.as_ref());
    if classes.clone().count() > heads.len() {
        return;
    }
    for (head, args) in heads.iter().zip(classes) {
        let names: Vec<Option<usize>> =
            args.iter().map(|arg| out_of_line::named_parameter(arg, head)).collect();
        let is_in_order = names.iter().enumerate().all(|(n, name)| *name == Some(n));
        let names_all = head.params.iter().all(|param| args.iter().any(|arg| mentions(arg, param.name)));
        if is_in_order && names.len() < head.params.len() {
            let message = "too many template parameters in the definition of a member";
            return cx.error("bad-template", head.span, message);
        }
        let is_permuted =
            !is_in_order && names.len() == head.params.len() && names.iter().all(Option::is_some);
        if !names_all || is_permuted {
            let message = "this definition does not refer to a class template or a partial specialization";
            return cx.error("bad-template", span, message);
        }
    }
}

/// Whether an argument mentions a parameter.
pub(super) fn mentions(arg: &ast::TemplateArg, name: Option<Name>) -> bool {
    let mut found = false;
    let mut look = |seen| found |= Some(seen) == name;
    ast_names::in_arg(arg, &mut Visitor::all(&mut look));
    found
}

/// Whether a definition of a member of the class must begin with `template<>`.
pub(in crate::sema) fn needs_head(cx: &mut Checker<'_>, class: RecordId, definition: Span) -> bool {
    heads_needed(cx, class, definition) > 0
}

/// The number of `template<>` before a definition of a member: one for each class around it that is made from
/// a template and not specialised explicitly, up to one that is specialised
/// before the definition.
pub(super) fn heads_needed(cx: &mut Checker<'_>, class: RecordId, definition: Span) -> usize {
    let mut needed = 0;
    let mut at = Some(class);
    while let Some(class) = at {
        let is_later = cx
            .records
            .get(class)
            .ast
            .is_some_and(|ast| ast.span.file == definition.file && ast.span.lo > definition.lo);
        if is_specialised(cx, class) && !is_later {
            break;
        }
        needed += usize::from(cx.records.get(class).template.is_some());
        at = cx.scopes.class_of_scope(cx.records.get(class).decl_scope);
    }
    needed
}

/// Whether a class is an explicit specialisation: of a template, or of a member class of one.
fn is_specialised(cx: &mut Checker<'_>, class: RecordId) -> bool {
    specialise::is_full(cx, class) || specialisation::is_specialised_member(cx, class)
}
