//! Enumerations.

use super::attribute::Attributes;
use super::scope::{Entry, NameKind};
use super::{Parser, attribute, expr, qualified_name, specifier};
use crate::ast::{Enum, Enumerator, TagWord, TypeKind};
use crate::token::{Kw, Punct, TokenKind};
use std::sync::Arc;

/// `enum E : T { … }`, or a reference to one (`enum E x`).
pub(super) fn parse(p: &mut Parser<'_>) -> Option<TypeKind> {
    let is_friend = p.at > 0 && p.tokens[p.at - 1].kind == TokenKind::Keyword(Kw::Friend);
    p.advance();
    let is_scoped = p.eat_kw(Kw::Class) || p.eat_kw(Kw::Struct);
    let mut attributes = Attributes::default();
    attribute::attributes(p, &mut attributes);
    let mut span = p.span();
    let mut name = None;
    if let TokenKind::Ident(_) = p.peek() {
        if !p.next_is(1, Punct::LBrace) && !p.next_is(1, Punct::Colon) && !p.next_is(1, Punct::Semi) {
            let mut path = qualified_name::path(p, super::qualified_name::Expected::Type)?.path;
            path.tag = Some(TagWord::Enum);
            return Some(TypeKind::Path(path));
        }
        (name, span) = p.ident("the enumeration's name").map(|(name, span)| (Some(name), span))?;
    }
    let underlying = if p.eat(Punct::Colon) { specifier::parse(p, false)?.ty } else { None };
    let is_new = name.is_some_and(|name| p.scopes.own(name).is_none());
    if underlying.is_none() && !is_scoped && p.is(Punct::Semi) && is_new && !is_friend {
        p.rule_error(
            "enum-type",
            span,
            "an enumeration without a fixed underlying type is declared by its definition",
        );
    }
    let scope = p.scopes.add(true);
    if let Some(name) = name {
        p.scopes.declare_with(name, Entry { kind: NameKind::Type, scope: Some(scope) });
    }
    let enumerators = if p.eat(Punct::LBrace) { Some(enumerators(p, is_scoped, scope)) } else { None };
    attribute::attributes(p, &mut attributes);
    attribute::refuse_layout(p, &attributes, "an enumeration");
    let id = p.ids.fresh();
    Some(TypeKind::Enum(Arc::new(Enum { id, name, is_scoped, underlying, enumerators, span })))
}

fn enumerators(p: &mut Parser<'_>, is_scoped: bool, scope: super::scope::ScopeId) -> Vec<Enumerator> {
    let mut list = Vec::new();
    while !p.is(Punct::RBrace) && !p.at_end() {
        let Some((name, span)) = p.ident("an enumerator") else { break };
        let mut attributes = Attributes::default();
        attribute::attributes(p, &mut attributes);
        let value = if p.eat(Punct::Assign) { Some(expr::conditional(p)) } else { None };
        if !is_scoped {
            p.scopes.declare(name, NameKind::Value);
        }
        let outer = p.scopes.current();
        p.scopes.set_current(scope);
        p.scopes.declare(name, NameKind::Value);
        p.scopes.set_current(outer);
        list.push(Enumerator { name, value, span });
        if !p.eat(Punct::Comma) {
            break;
        }
    }
    p.expect(Punct::RBrace, "to end the enumeration");
    list
}
