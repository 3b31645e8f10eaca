//! Enumerations.

use super::Parser;
use super::attribute::Attributes;
use super::scope::{Entry, NameKind};
use crate::ast::{Enum, Enumerator, TypeKind};
use crate::token::{Kw, Punct, TokenKind};
use std::sync::Arc;

impl Parser<'_> {
    /// `enum E : T { … }`, or a reference to one (`enum E x`).
    pub(super) fn enum_specifier(&mut self) -> Option<TypeKind> {
        self.advance();
        let is_scoped = self.eat_kw(Kw::Class) || self.eat_kw(Kw::Struct);
        let mut attributes = Attributes::default();
        self.attributes(&mut attributes);
        let mut span = self.span();
        let mut name = None;
        if let TokenKind::Ident(_) = self.peek() {
            if !self.next_is(1, Punct::LBrace)
                && !self.next_is(1, Punct::Colon)
                && !self.next_is(1, Punct::Semi)
            {
                return Some(TypeKind::Path(self.path(super::qualified_name::Expected::Type)?.path));
            }
            (name, span) = self.ident("the enumeration's name").map(|(name, span)| (Some(name), span))?;
        }
        let underlying = if self.eat(Punct::Colon) { self.specifiers(false)?.ty } else { None };
        let scope = self.scopes.add(true);
        if let Some(name) = name {
            self.scopes.declare_with(name, Entry { kind: NameKind::Type, scope: Some(scope) });
        }
        let enumerators =
            if self.eat(Punct::LBrace) { Some(self.enumerators(is_scoped, scope)) } else { None };
        self.attributes(&mut attributes);
        self.refuse_layout(&attributes, "an enumeration");
        let id = self.ids.fresh();
        Some(TypeKind::Enum(Arc::new(Enum { id, name, is_scoped, underlying, enumerators, span })))
    }

    fn enumerators(&mut self, is_scoped: bool, scope: super::scope::ScopeId) -> Vec<Enumerator> {
        let mut list = Vec::new();
        while !self.is(Punct::RBrace) && !self.at_end() {
            let Some((name, span)) = self.ident("an enumerator") else { break };
            let mut attributes = Attributes::default();
            self.attributes(&mut attributes);
            let value = if self.eat(Punct::Assign) { Some(self.conditional_expr()) } else { None };
            if !is_scoped {
                self.scopes.declare(name, NameKind::Value);
            }
            let outer = self.scopes.current();
            self.scopes.set_current(scope);
            self.scopes.declare(name, NameKind::Value);
            self.scopes.set_current(outer);
            list.push(Enumerator { name, value, span });
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        self.expect(Punct::RBrace, "to end the enumeration");
        list
    }
}
