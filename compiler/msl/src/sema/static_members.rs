//! Static data members: their initialisers, and their definitions outside of the class
//! (C++17 [class.static.data]).

use super::checker::Checker;
use super::table::Layer;
use super::{lookup, path, record, resolve_type};
use crate::ast::{self, ItemKind};
use crate::hir::{RecordId, TyKind};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};
use anymetal_ir::Space;
use rustc_hash::FxHashMap;

/// Checks the declaration of a static data member in its class.
pub(super) fn check<'a>(cx: &mut Checker<'a>, variable: &'a ast::Variable) {
    let name = variable.declarator.name;
    let is_inline = variable.is_inline || variable.is_constexpr;
    if variable.is_constexpr && variable.init.is_none() {
        let message = format!("declaration of constexpr static data member `{name}` requires an initializer");
        return cx.error("uninitialised-constant", variable.span, message);
    }
    if variable.init.is_none() || is_inline {
        return;
    }
    // An error of the type is reported where the variable is defined.
    let Ok(ty) = cx.quietly(|cx| resolve_type::resolve(cx, &variable.ty)) else { return };
    // Metal's constants are initialised in the class.
    if cx.is_dependent(ty.ty) || super::function::mentions_auto(&variable.ty) || ty.space == Space::Constant {
        return;
    }
    if ty.is_const && ty.is_volatile {
        let message = format!("static const volatile data member `{name}` must be initialized out of line");
        return cx.error("static-member", variable.span, message);
    }
    if !ty.is_const {
        let message = format!("non-const static data member `{name}` must be initialized out of line");
        return cx.error("static-member", variable.span, message);
    }
    let is_integral = cx.types.as_scalar(ty.ty).is_some_and(|scalar| scalar.is_integral());
    if !is_integral && !matches!(cx.types.kind(ty.ty), TyKind::Enum(_)) {
        let shown = cx.show(ty);
        let message = format!(
            "in-class initializer for static data member of type `{shown}` requires `constexpr` specifier"
        );
        cx.error("static-member", variable.span, message);
    }
}

/// Reports the static data members of a class that cannot have any; `what` describes the class.
pub(super) fn refuse(cx: &mut Checker<'_>, record: &ast::Record, what: &str) {
    for item in record.members.iter().flatten() {
        if let ItemKind::Variable(variable) = &item.kind {
            let name = variable.declarator.name;
            let message = format!("static data member `{name}` not allowed in {what}");
            cx.error("static-member", variable.span, message);
        }
    }
}

/// Reports definitions outside of classes of members that are defined already.
pub(super) fn check_definitions<'a>(cx: &mut Checker<'a>, layer: &'a Layer) {
    let mut defined: FxHashMap<(RecordId, Name), Span> = FxHashMap::default();
    for (id, entry) in layer.own_items() {
        let ItemKind::Variable(variable) = &entry.item.kind else { continue };
        let declarator = &variable.declarator;
        let is_plain = entry.item.template.is_none() && declarator.specialisation.is_none();
        let Some(written) = declarator.scope.as_ref().filter(|_| is_plain) else { continue };
        let scope = cx.scopes.of_item(id);
        let Some(class) = path::class_of_path(cx, written, scope) else {
            let (ns, name) = (cx.table.find_namespace(entry.ns, written), declarator.name);
            if ns.is_some_and(|ns| lookup::in_namespace(cx, ns, name).is_none()) {
                cx.error(
                    "no-such-member",
                    variable.span,
                    format!("no member named `{name}` in the namespace"),
                );
            }
            continue;
        };
        // The class of an error is reported where it is defined.
        if !cx.quietly(|cx| record::complete(cx, class, written.span)).is_ok_and(|is_complete| is_complete) {
            continue;
        }
        let Some(declared) = member_of(cx, class, declarator.name) else {
            if !cx.records.get(class).has_unknown_base {
                let (name, shown) = (declarator.name, cx.types.record(class).name.clone());
                let message = format!("no static data member named `{name}` in `{shown}`");
                cx.error("no-such-member", variable.span, message);
            }
            continue;
        };
        let earlier = match defined.insert((class, declarator.name), variable.span) {
            Some(earlier) => Some(earlier),
            // A `constexpr` member may be declared again (C++17 [depr.static_constexpr]).
            None => (declared.is_inline && !declared.is_constexpr).then_some(declared.span),
        };
        let name = declarator.name;
        let (at, message) = match earlier {
            Some(earlier) => (earlier, format!("redefinition of `{name}`")),
            None if declared.init.is_some() && variable.init.is_some() => {
                (declared.span, format!("static data member `{name}` already has an initializer"))
            }
            None => continue,
        };
        let diagnostic = Diagnostic::error("redefinition", variable.span, message);
        cx.report(diagnostic.with_note(at, "previously declared here"));
    }
}

/// The declaration of a static data member in its class.
fn member_of<'a>(cx: &Checker<'a>, class: RecordId, name: Name) -> Option<&'a ast::Variable> {
    let members = cx.records.get(class).ast?.members.as_ref()?;
    members.iter().find_map(|item| match &item.kind {
        ItemKind::Variable(variable) if variable.declarator.name == name => Some(&**variable),
        _ => None,
    })
}
