//! Declarations at every scope: which kind it is, and what specifiers alone declare.
//!
//! What follows the specifiers is in `init_declarator`; `namespace`, `template`, `record` and
//! `enumeration` have the declarations of those names.

use super::Parser;
use super::declarator::Place;
use super::scope::NameKind;
use super::specifier::Specifiers;
use crate::ast::{Access, Field, Item, ItemKind, Path, PathSegment, Record, TypeKind};
use crate::token::{Kw, Pragma, Punct, TokenKind};
use anymetal_diagnostics::{Diagnostic, Span};

impl Parser<'_> {
    pub(super) fn translation_unit(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        while !self.at_end() {
            let before = self.at;
            if self.is(Punct::RBrace) {
                self.error("unmatched-brace", self.span(), "`}` without `{`");
                self.advance();
                continue;
            }
            items.extend(self.item());
            if self.at == before && !self.at_end() {
                self.advance();
            }
        }
        items
    }

    /// One declaration at namespace scope.
    pub(super) fn item(&mut self) -> Vec<Item> {
        self.nested(|p| p.item_at(Place::Namespace), |_| Vec::new())
    }

    /// One declaration; it may declare several things.
    pub(super) fn item_at(&mut self, place: Place) -> Vec<Item> {
        let start = self.span();
        let one = |kind, span| vec![Item { kind, template: None, access: Access::Public, span }];
        match self.peek() {
            TokenKind::Punct(Punct::Semi) => {
                self.advance();
                one(ItemKind::Empty, start)
            }
            TokenKind::Pragma(pragma) => {
                self.advance();
                self.skip_pragma(pragma);
                self.fp.follow(pragma);
                Vec::new()
            }
            TokenKind::Keyword(Kw::Namespace) => self.namespace(false),
            TokenKind::Keyword(Kw::Inline) if self.peek_at(1) == TokenKind::Keyword(Kw::Namespace) => {
                self.advance();
                self.namespace(true)
            }
            TokenKind::Keyword(Kw::Using) => self.using(),
            TokenKind::Keyword(Kw::StaticAssert) => self.static_assert(),
            TokenKind::Keyword(Kw::Template) => self.template(place),
            // `extern "C" { … }`
            TokenKind::Keyword(Kw::Extern) if matches!(self.peek_at(1), TokenKind::Str(_)) => {
                self.advance();
                self.advance();
                if self.is(Punct::LBrace) { self.braced_items() } else { self.item_at(place) }
            }
            _ => self.declaration(place),
        }
    }

    fn skip_pragma(&mut self, pragma: Pragma) {
        if pragma == Pragma::UnrollCountBegin {
            while !matches!(self.peek(), TokenKind::Pragma(Pragma::End) | TokenKind::Eof) {
                self.advance();
            }
            self.advance();
        }
    }

    pub(super) fn braced_items(&mut self) -> Vec<Item> {
        let start = self.span();
        self.advance();
        let mut items = Vec::new();
        while !self.is(Punct::RBrace) && !self.at_end() {
            let before = self.at;
            items.extend(self.item());
            if self.at == before {
                self.advance();
            }
        }
        if !self.eat(Punct::RBrace) {
            let diagnostic = Diagnostic::error("unclosed-brace", self.span(), "expected `}`")
                .with_secondary(start, "to match this");
            self.report(diagnostic);
        }
        items
    }

    fn static_assert(&mut self) -> Vec<Item> {
        let start = self.span();
        self.advance();
        self.expect(Punct::LParen, "after `static_assert`");
        let cond = self.assignment_expr();
        let mut message = None;
        if self.eat(Punct::Comma) {
            if let TokenKind::Str(text) = self.peek() {
                message = Some(text);
                self.advance();
            } else {
                self.assignment_expr();
            }
        }
        self.expect(Punct::RParen, "to end the assertion");
        self.expect(Punct::Semi, "after the assertion");
        vec![Item {
            kind: ItemKind::StaticAssert(cond, message),
            template: None,
            access: Access::Public,
            span: self.since(start),
        }]
    }

    /// Specifiers and declarators, up to the semicolon or the function's body.
    pub(super) fn declaration(&mut self, place: Place) -> Vec<Item> {
        let start = self.span();
        if place == Place::Namespace && self.at_deduction_guide() {
            return self.deduction_guide(start);
        }
        let Some(specs) = self.specifiers(true) else {
            self.skip_statement();
            return Vec::new();
        };
        if specs.function.is_friend && self.is(Punct::Semi) {
            return self.friend_type(specs, start);
        }
        let mut items = Vec::new();
        let mut specs = self.extract_type_definition(specs, &mut items, start);
        if self.is(Punct::Semi) {
            self.advance();
            self.anonymous_member(&mut specs, &mut items, start);
            return items;
        }
        if self.at_bindings(&specs) {
            items.extend(self.bindings_declaration(place, specs, start));
            return items;
        }
        if specs.ty.is_none() {
            return self.untyped_function(specs, items, start);
        }
        self.declarators(place, specs, items, start)
    }

    /// `friend class S;`, `friend S;`
    fn friend_type(&mut self, specs: Specifiers, start: Span) -> Vec<Item> {
        self.advance();
        let Some(mut ty) = specs.ty else { return Vec::new() };
        if let TypeKind::Record(record) = &ty.kind
            && let Some(name) = record.name
        {
            let segment = PathSegment { name, operator: None, args: None, span: record.span };
            ty.kind = TypeKind::Path(Path { global: false, segments: vec![segment], span: record.span });
        }
        let (kind, span) = (ItemKind::Friend(Box::new(ty)), self.since(start));
        vec![Item { kind, template: None, access: Access::Public, span }]
    }

    /// A record or enum defined in the specifiers becomes an item of its own, and a path to it the
    /// type; an unnamed one stays in place.
    fn extract_type_definition(
        &mut self,
        mut specs: Specifiers,
        items: &mut Vec<Item>,
        start: Span,
    ) -> Specifiers {
        let Some(ty) = &mut specs.ty else { return specs };
        let (kind, name) = match &ty.kind {
            TypeKind::Record(record) => (ItemKind::Record(record.clone()), record.name),
            TypeKind::Enum(definition) => {
                let name = definition.name;
                // Only its enumerators matter; as a type it is reachable through the declarators.
                (ItemKind::Enum(definition.clone()), name)
            }
            _ => return specs,
        };
        let is_unnamed_record = name.is_none() && matches!(kind, ItemKind::Record(_));
        if is_unnamed_record || (name.is_none() && !self.is(Punct::Semi)) {
            return specs;
        }
        items.push(Item { kind, template: None, access: Access::Public, span: self.since(start) });
        if let Some(name) = name {
            let segment = PathSegment { name, operator: None, args: None, span: ty.span };
            let path = Path { global: false, segments: vec![segment], span: ty.span };
            ty.kind = TypeKind::Path(path);
        }
        specs
    }

    /// `struct { … };` or `union { … };` inside a record.
    fn anonymous_member(&mut self, specs: &mut Specifiers, items: &mut Vec<Item>, start: Span) {
        let Some(ty) = specs.ty.take() else { return };
        if !matches!(ty.kind, TypeKind::Record(_)) {
            return;
        }
        if !self.scopes.in_class_body() {
            self.error("unnamed-record", start, "an unnamed record at this scope declares nothing");
            return;
        }
        if let TypeKind::Record(record) = &ty.kind {
            self.declare_anonymous_names(record);
        }
        let align = std::mem::take(&mut specs.attributes.align);
        let is_packed = specs.attributes.packed.is_some();
        let attributes = Vec::new();
        let field =
            Field { name: None, span: ty.span, ty, width: None, init: None, attributes, align, is_packed };
        items.push(Item {
            kind: ItemKind::Field(Box::new(field)),
            template: None,
            access: Access::Public,
            span: self.since(start),
        });
    }

    fn declare_anonymous_names(&mut self, record: &Record) {
        for item in record.members.iter().flatten() {
            if let ItemKind::Field(field) = &item.kind
                && let Some(name) = field.name
            {
                self.scopes.declare(name, NameKind::Value);
            }
        }
    }
}
