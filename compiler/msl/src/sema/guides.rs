//! Deduction guides as declarations: in the scope of their class template, of which they deduce a
//! specialisation, and each declared once (C++17 [temp.deduct.guide]).

use super::checker::Checker;
use super::entities::{ClassTemplate, Found};
use super::equivalence::{self, Signature};
use super::pattern::{self, Pat, same_template};
use super::scopes::ScopeId;
use super::table::Layer;
use super::{function, lookup, path, uninstantiated};
use crate::ast::{self, Item, ItemKind, Qualifiers, TypeKind};
use anymetal_diagnostics::{Diagnostic, Span};

/// The guides of one scope so far.
#[derive(Debug, Default)]
pub(super) struct Guides<'a> {
    known: Vec<(ScopeId, &'a ast::Function, Signature)>,
}

/// Checks the guides of namespaces.
pub(super) fn check<'a>(cx: &mut Checker<'a>, layer: &'a Layer) {
    let mut guides = Guides::default();
    for (id, entry) in layer.own_items() {
        let scope = cx.scopes.of_item(id);
        check_item(cx, &mut guides, &entry.item, scope);
    }
}

/// Checks a declaration if it is a guide.
pub(super) fn check_item<'a>(cx: &mut Checker<'a>, guides: &mut Guides<'a>, item: &'a Item, scope: ScopeId) {
    let ItemKind::DeductionGuide(ast) = &item.kind else { return };
    let Some(template) = template_of(cx, ast, scope) else { return };
    let name = template.primary.name.expect("a class template has a name");
    if template.scope != scope {
        let message = format!("deduction guide must be declared in the same scope as template `{name}`");
        return error(cx, ast.span, message, template.primary.span);
    }
    let head = item.template.as_ref();
    let before = cx.diagnostics.set_in_template(cx.diagnostics.in_template() || head.is_some());
    let inner = head.map_or(scope, |head| {
        let args = uninstantiated::unknown_args(head);
        cx.scopes.template_scope(&head.params, &args, scope)
    });
    cx.in_scope(inner, |cx| function::param_types(cx, ast));
    cx.diagnostics.set_in_template(before);
    check_result(cx, ast, head.map_or(&[], |head| &head.params), &template, scope);
    let signature = equivalence::signature_of(cx, ast, head, scope);
    let mut earlier = guides.known.iter().filter(|(at, other, _)| *at == scope && is_alike(other, ast));
    let earlier = earlier.find(|(.., other)| other.has_same_params(&signature));
    if let Some((_, other, form)) = earlier {
        let message = match (form.ret == signature.ret, head) {
            (true, _) => "redeclaration of deduction guide",
            (false, None) => "deduction guides that differ only in their result type cannot be overloaded",
            // The results of templates are a part of their signatures.
            (false, Some(_)) => return,
        };
        error(cx, ast.span, message.to_owned(), other.span);
    }
    guides.known.push((scope, ast, signature));
}

fn is_alike(a: &ast::Function, b: &ast::Function) -> bool {
    a.name.ordinary() == b.name.ordinary()
}

fn error(cx: &mut Checker<'_>, at: Span, message: String, other: Span) {
    let diagnostic = Diagnostic::error("deduction-guide", at, message);
    cx.report(diagnostic.with_note(other, "the other declaration is here"));
}

/// The class template that a guide names; reports another entity.
fn template_of<'a>(
    cx: &mut Checker<'a>,
    ast: &'a ast::Function,
    scope: ScopeId,
) -> Option<ClassTemplate<'a>> {
    let name = ast.name.ordinary()?;
    let what = match cx.in_scope(scope, |cx| lookup::unqualified(cx, name)) {
        Some(Found::ClassTemplate(template)) => return Some(template),
        Some(Found::AliasTemplate(_)) => "alias template",
        Some(Found::BuiltinTemplate(_)) => "built-in template",
        Some(Found::TArg(_)) => "template template parameter",
        // A name that is not known is reported by the parser.
        _ => return None,
    };
    cx.error("deduction-guide", ast.span, format!("cannot specify deduction guide for {what} `{name}`"));
    None
}

/// The result is written as a specialisation of the template.
fn check_result<'a>(
    cx: &mut Checker<'a>,
    ast: &'a ast::Function,
    params: &'a [ast::TemplateParam],
    template: &ClassTemplate<'a>,
    scope: ScopeId,
) {
    let ret = ast.ret.as_ref().expect("a deduction guide has a result");
    let fits = cx.in_scope(scope, |cx| {
        let is_alias = match &ret.kind {
            TypeKind::Path(written) => names_alias(cx, written),
            _ => true,
        };
        let pattern = pattern::of_type(cx, ret, params);
        let plain = Qualifiers::default();
        match pattern {
            _ if is_alias || ret.quals != plain => false,
            Pat::Class { template: own, .. } => same_template(&own, template),
            Pat::Fixed(ty) => {
                let own =
                    cx.types.as_record(ty.ty).and_then(|record| cx.records.get(record).template.as_ref());
                own.is_some_and(|own| same_template(own, template))
            }
            // Other types are reported where the guide is used.
            Pat::Opaque => true,
            _ => false,
        }
    });
    if !fits {
        let name = template.primary.name.expect("a class template has a name");
        let message = format!(
            "deduced type of deduction guide is not written as a specialization of template `{name}`"
        );
        cx.error("deduction-guide", ret.span, message);
    }
}

/// Whether a path is the name of an alias template.
fn names_alias<'a>(cx: &mut Checker<'a>, written: &'a ast::Path) -> bool {
    let [only] = written.segments.as_slice() else { return false };
    matches!(lookup::unqualified(cx, path::segment_key(only)), Some(Found::AliasTemplate(_)))
}
