//! Namespaces, `using` and aliases of types.
//!
//! Invariant: after a namespace the current scope is the one before it, and the names in it are known to the
//! parser, which must tell types from values.

use super::Parser;
use super::qualified_name::Expected;
use super::scope::{Entry, NameKind, ScopeId};
use crate::ast::{Access, Item, ItemKind, Namespace, Type, TypeAlias, TypeKind, UsingDeclaration};
use crate::token::{Kw, Name, Punct, TokenKind};
use anymetal_diagnostics::Span;

impl Parser<'_> {
    pub(super) fn namespace(&mut self, is_inline: bool) -> Vec<Item> {
        let start = self.span();
        self.advance();
        let mut attributes = Default::default();
        self.attributes(&mut attributes);
        let names = self.namespace_names();
        if names.len() == 1 && self.eat(Punct::Assign) {
            return self.namespace_alias(names[0]);
        }
        let outer = self.scopes.current();
        if names.is_empty() {
            let inner = self.scopes.add(false);
            self.scopes.use_namespace(inner);
            self.scopes.set_current(inner);
        }
        for &name in &names {
            self.enter_namespace(name, is_inline);
        }
        if !self.is(Punct::LBrace) {
            let found = self.peek();
            self.error(
                "expected-token",
                self.span(),
                format!("expected `{{` to begin the namespace, found {found}"),
            );
        }
        let items = if self.is(Punct::LBrace) { self.braced_items() } else { Vec::new() };
        self.scopes.set_current(outer);
        let span = self.since(start);
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
    fn namespace_names(&mut self) -> Vec<Name> {
        let mut names = Vec::new();
        while let TokenKind::Ident(name) = self.peek() {
            self.advance();
            names.push(name);
            if !self.eat(Punct::ColonColon) {
                break;
            }
            self.eat_kw(Kw::Inline);
        }
        names
    }

    fn enter_namespace(&mut self, name: Name, is_inline: bool) {
        let known = self.scopes.own(name).filter(|entry| entry.kind == NameKind::Namespace);
        let scope = match known.and_then(|entry| entry.scope) {
            Some(scope) => scope,
            None => {
                let scope = self.scopes.add(false);
                self.scopes.declare_with(name, Entry { kind: NameKind::Namespace, scope: Some(scope) });
                scope
            }
        };
        if is_inline {
            self.scopes.use_namespace(scope);
        }
        self.scopes.set_current(scope);
    }

    fn namespace_alias(&mut self, name: Name) -> Vec<Item> {
        let span = self.span();
        if let Some(parsed) = self.path(Expected::Type) {
            let scope = self.namespace_scope(&parsed);
            self.scopes.declare_with(name, Entry { kind: NameKind::Namespace, scope });
            self.expect(Punct::Semi, "after the namespace alias");
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

    pub(super) fn using(&mut self) -> Vec<Item> {
        let start = self.span();
        self.advance();
        if self.eat_kw(Kw::Namespace) {
            let Some(parsed) = self.path(Expected::Type) else {
                self.skip_statement();
                return Vec::new();
            };
            if let Some(scope) = self.namespace_scope(&parsed) {
                self.scopes.use_namespace(scope);
            }
            self.expect(Punct::Semi, "after the using directive");
            return vec![Item {
                kind: ItemKind::UsingNamespace(parsed.path),
                template: None,
                access: Access::Public,
                span: self.since(start),
            }];
        }
        if let TokenKind::Ident(name) = self.peek()
            && (self.next_is(1, Punct::Assign)
                || self.next_is(1, Punct::LBracket)
                || self.peek_at(1) == TokenKind::Keyword(Kw::Attribute))
        {
            return self.alias(name, start);
        }
        self.using_declarations(start)
    }

    /// `using a::b, typename c::d;`
    fn using_declarations(&mut self, start: Span) -> Vec<Item> {
        let mut items = Vec::new();
        loop {
            let is_type = self.eat_kw(Kw::Typename);
            let Some(parsed) = self.path(Expected::Type) else {
                self.skip_statement();
                return items;
            };
            if let Some(last) = parsed.path.segments.last() {
                let kind = match parsed.kind {
                    NameKind::Unknown if is_type => NameKind::Type,
                    NameKind::Unknown => NameKind::Value,
                    known => known,
                };
                self.scopes.declare_with(last.name, Entry { kind, scope: parsed.scope });
            }
            let is_pack = self.eat(Punct::Ellipsis);
            let (id, path) = (self.ids.fresh(), parsed.path);
            let kind = ItemKind::UsingDeclaration(UsingDeclaration { id, path, is_pack });
            items.push(Item { kind, template: None, access: Access::Public, span: self.since(start) });
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        self.expect(Punct::Semi, "after the using declaration");
        items
    }

    fn alias(&mut self, name: Name, start: Span) -> Vec<Item> {
        self.advance();
        let mut attributes = Default::default();
        self.attributes(&mut attributes);
        self.expect(Punct::Assign, "in the alias");
        let Some(mut ty) = self.type_id() else {
            let found = self.peek();
            self.error("expected-type", self.span(), format!("expected a type, found {found}"));
            self.skip_statement();
            return Vec::new();
        };
        ty = self.vector_of(&mut attributes, ty);
        self.refuse_layout(&attributes, "an alias");
        let kind = if self.template_depth > 0 { NameKind::TypeTemplate } else { NameKind::Type };
        let scope = self.scope_of_type(&ty);
        self.declare_outside_template(name, Entry { kind, scope });
        self.expect(Punct::Semi, "after the alias");
        let alias = TypeAlias { id: self.ids.fresh(), name, ty };
        vec![Item {
            kind: ItemKind::Alias(alias),
            template: None,
            access: Access::Public,
            span: self.since(start),
        }]
    }

    /// The class scope of a plain named type, so that `Alias::Member` parses.
    pub(super) fn scope_of_type(&self, ty: &Type) -> Option<ScopeId> {
        match &ty.kind {
            TypeKind::Path(path) if path.segments.len() == 1 => {
                self.scopes.lookup(path.segments[0].name).and_then(|entry| entry.scope)
            }
            _ => None,
        }
    }
}
