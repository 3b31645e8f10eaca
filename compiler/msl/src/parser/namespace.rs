//! Namespaces, `using` and aliases of types.
//!
//! Invariant: after a namespace the current scope is the one before it, and the names in it are known to the
//! parser, which must tell types from values.

use super::qualified_name::Expected;
use super::scope::{Entry, NameKind, ScopeId};
use super::{
    MAX_DIRECTIVES, Parser, attribute, decl, declaration_rules, qualified_name, specifier, template,
};
use crate::ast::{Access, Item, ItemKind, Namespace, Type, TypeAlias, TypeKind, UsingDeclaration};
use crate::token::{Kw, Name, Punct, TokenKind};
use anymetal_diagnostics::{Diagnostic, Span};

pub(super) fn parse(p: &mut Parser<'_>, is_inline: bool) -> Vec<Item> {
    let start = p.span();
    p.advance();
    let mut attributes = attribute::at(p).then(|| p.span());
    attribute::attributes(p, &mut Default::default());
    let names = names(p);
    if attribute::at(p) {
        attributes = Some(p.span());
        attribute::attributes(p, &mut Default::default());
    }
    let name_span = p.previous_span();
    let is_alias = names.len() == 1 && p.is(Punct::Assign);
    if let Some(span) = attributes.filter(|_| is_alias || names.len() > 1) {
        let what = if is_alias { "a namespace alias" } else { "a nested namespace definition" };
        p.error("attribute-placement", span, format!("attributes cannot be specified on {what}"));
    }
    if is_alias {
        p.advance();
        return alias_of_namespace(p, names[0], name_span);
    }
    if is_inline && names.len() > 1 {
        p.error("misplaced-specifier", start, "nested namespace definition cannot be `inline`");
    }
    let outer = p.scopes.current();
    if let Some(&first) = names.first() {
        check_redefinition(p, first, name_span);
    }
    if names.is_empty() {
        let inner = p.scopes.add(false);
        p.scopes.use_namespace(inner);
        p.scopes.set_current(inner);
    }
    for &name in &names {
        enter_namespace(p, name, is_inline);
    }
    if !p.is(Punct::LBrace) {
        let found = p.peek();
        p.error("expected-token", p.span(), format!("expected `{{` to begin the namespace, found {found}"));
    }
    let items = if p.is(Punct::LBrace) { decl::braced_items(p) } else { Vec::new() };
    p.scopes.set_current(outer);
    let span = p.since(start);
    let wrap = |name, items| {
        let kind = ItemKind::Namespace(Namespace { name, is_inline, items });
        vec![Item { kind, template: None, access: Access::Public, span }]
    };
    if names.is_empty() {
        return wrap(None, items);
    }
    names.into_iter().rev().fold(items, |items, name| wrap(Some(name), items))
}

/// `a::b::c`; nothing for a namespace without a name.
fn names(p: &mut Parser<'_>) -> Vec<Name> {
    let mut names = Vec::new();
    while let TokenKind::Ident(name) = p.peek() {
        p.advance();
        names.push(name);
        if !p.eat(Punct::ColonColon) {
            break;
        }
        p.eat_kw(Kw::Inline);
    }
    names
}

fn enter_namespace(p: &mut Parser<'_>, name: Name, is_inline: bool) {
    let known = p.scopes.own(name).filter(|entry| entry.kind == NameKind::Namespace);
    let scope = match known.and_then(|entry| entry.scope) {
        Some(scope) => scope,
        None => {
            let scope = p.scopes.add(false);
            p.scopes.declare_with(name, Entry { kind: NameKind::Namespace, scope: Some(scope) });
            scope
        }
    };
    if is_inline {
        p.scopes.use_namespace(scope);
    }
    p.scopes.set_current(scope);
}

/// Reports a namespace with the name of something else.
fn check_redefinition(p: &mut Parser<'_>, name: Name, span: Span) {
    if p.scopes.own(name).is_some_and(|entry| !matches!(entry.kind, NameKind::Namespace | NameKind::Unknown))
    {
        let message = format!("redefinition of `{name}` as different kind of symbol");
        p.error("redefinition", span, message);
    }
}

fn alias_of_namespace(p: &mut Parser<'_>, name: Name, name_span: Span) -> Vec<Item> {
    let span = p.span();
    if let Some(parsed) = qualified_name::path(p, Expected::Type) {
        let scope = qualified_name::namespace_scope(&parsed);
        check_redefinition(p, name, name_span);
        let known = p.scopes.own(name).filter(|entry| entry.kind == NameKind::Namespace);
        if let (Some(known), Some(target)) = (known.and_then(|entry| entry.scope), scope)
            && known != target
        {
            let message = format!("redefinition of `{name}` as an alias for a different namespace");
            p.error("redefinition", name_span, message);
        }
        p.scopes.declare_with(name, Entry { kind: NameKind::Namespace, scope });
        p.expect(Punct::Semi, "after the namespace alias");
        let alias = Namespace { name: Some(name), is_inline: false, items: Vec::new() };
        let using = Item {
            kind: ItemKind::UsingNamespace(parsed.path),
            template: None,
            access: Access::Public,
            span,
        };
        // An alias is a namespace that uses the other: lookups through it find the same names.
        let kind = ItemKind::Namespace(Namespace { items: vec![using], ..alias });
        return vec![Item { kind, template: None, access: Access::Public, span }];
    }
    Vec::new()
}

pub(super) fn using(p: &mut Parser<'_>) -> Vec<Item> {
    let start = p.span();
    p.advance();
    if p.eat_kw(Kw::Namespace) {
        if p.scopes.in_class_body() {
            p.error("using-declaration", start, "`using namespace` is not allowed in classes");
        }
        let Some(parsed) = qualified_name::path(p, Expected::Type) else {
            p.skip_statement();
            return Vec::new();
        };
        if let Some(scope) = qualified_name::namespace_scope(&parsed) {
            p.scopes.use_namespace(scope);
            if p.scopes.has_too_many_directives() {
                // Each further lookup would follow them all.
                let message = format!("there are more than {MAX_DIRECTIVES} using-directives");
                p.report(Diagnostic::error("directive-limit", p.since(start), message));
                p.give_up();
                return Vec::new();
            }
        }
        p.expect(Punct::Semi, "after the using directive");
        return vec![Item {
            kind: ItemKind::UsingNamespace(parsed.path),
            template: None,
            access: Access::Public,
            span: p.since(start),
        }];
    }
    if let TokenKind::Ident(name) = p.peek()
        && (p.next_is(1, Punct::Assign)
            || p.next_is(1, Punct::LBracket)
            || p.peek_at(1) == TokenKind::Keyword(Kw::Attribute))
    {
        return alias(p, name, start);
    }
    using_declarations(p, start)
}

/// `using a::b, typename c::d;`
fn using_declarations(p: &mut Parser<'_>, start: Span) -> Vec<Item> {
    let mut items = Vec::new();
    loop {
        let is_type = p.eat_kw(Kw::Typename);
        let Some(parsed) = qualified_name::path(p, Expected::Type) else {
            p.skip_statement();
            return items;
        };
        if let Some(last) = parsed.path.segments.last() {
            let kind = match parsed.kind {
                NameKind::Unknown if is_type => NameKind::Type,
                NameKind::Unknown => NameKind::Value,
                known => known,
            };
            p.scopes.declare_with(last.name, Entry { kind, scope: parsed.scope });
        }
        declaration_rules::check_using(p, &parsed.path, is_type);
        let is_pack = p.eat(Punct::Ellipsis);
        let (id, path) = (p.ids.fresh(), parsed.path);
        let using = UsingDeclaration { id, path, is_pack, is_typename: is_type };
        let kind = ItemKind::UsingDeclaration(using);
        items.push(Item { kind, template: None, access: Access::Public, span: p.since(start) });
        if !p.eat(Punct::Comma) {
            break;
        }
    }
    p.expect(Punct::Semi, "after the using declaration");
    items
}

fn alias(p: &mut Parser<'_>, name: Name, start: Span) -> Vec<Item> {
    p.advance();
    let mut attributes = Default::default();
    attribute::attributes(p, &mut attributes);
    p.expect(Punct::Assign, "in the alias");
    let Some(mut ty) = specifier::type_id(p) else {
        let found = p.peek();
        p.error("expected-type", p.span(), format!("expected a type, found {found}"));
        p.skip_statement();
        return Vec::new();
    };
    if p.template_depth > 0 && decl::defines_type(&ty.kind) {
        p.error("bad-template", ty.span, "a type cannot be defined in an alias template");
    }
    ty = attribute::vector_of(&mut attributes, ty);
    attribute::refuse_layout(p, &attributes, "an alias");
    let kind = if p.template_depth > 0 { NameKind::TypeTemplate } else { NameKind::Type };
    let scope = scope_of_type(p, &ty);
    template::declare_outside_template(p, name, Entry { kind, scope });
    p.expect(Punct::Semi, "after the alias");
    let alias = TypeAlias { id: p.ids.fresh(), name, ty };
    vec![Item { kind: ItemKind::Alias(alias), template: None, access: Access::Public, span: p.since(start) }]
}

/// The class scope of a plain named type, so that `Alias::Member` parses.
pub(super) fn scope_of_type(p: &Parser<'_>, ty: &Type) -> Option<ScopeId> {
    match &ty.kind {
        TypeKind::Path(path) if path.segments.len() == 1 => {
            p.scopes.lookup(path.segments[0].name).and_then(|entry| entry.scope)
        }
        _ => None,
    }
}
