//! Declarations at every scope.

use super::Parser;
use super::chain::Expected;
use super::declarator::{ParsedDeclarator, Place};
use super::scope::{Entry, NameKind};
use super::specifier::Specifiers;
use crate::ast::{Field, FunctionName, Item, ItemKind, Namespace, TemplateParams, Type, TypeAlias, TypeKind};
use crate::token::{Kw, Name, Pragma, Punct, TokenKind};
use anymetal_diag::Span;
use std::sync::Arc;

impl Parser<'_> {
    pub(super) fn translation_unit(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        while !self.at_end() {
            let before = self.at;
            if self.is(Punct::RBrace) {
                self.error("unmatched", self.span(), "unmatched `}`");
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
        let one = |kind, span| vec![Item { kind, template: None, span }];
        match self.peek() {
            TokenKind::Punct(Punct::Semi) => {
                self.advance();
                one(ItemKind::Empty, start)
            }
            TokenKind::Pragma(pragma) => {
                self.advance();
                self.skip_pragma(pragma);
                match pragma {
                    Pragma::MathMode(mode) => one(ItemKind::MathMode(mode), start),
                    _ => Vec::new(),
                }
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
            _ => self.declaration(place, None),
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

    fn braced_items(&mut self) -> Vec<Item> {
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
            let diagnostic = anymetal_diag::Diagnostic::error("unclosed", self.span(), "expected `}`")
                .with_secondary(start, "to match this");
            self.report(diagnostic);
        }
        items
    }

    fn namespace(&mut self, is_inline: bool) -> Vec<Item> {
        let start = self.span();
        self.advance();
        let mut attributes = Default::default();
        self.attributes(&mut attributes);
        let mut names = Vec::new();
        while let TokenKind::Ident(name) = self.peek() {
            self.advance();
            names.push(name);
            if !self.eat(Punct::ColonColon) {
                break;
            }
            self.eat_kw(Kw::Inline);
        }
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
        let mut items = if self.is(Punct::LBrace) { self.braced_items() } else { Vec::new() };
        self.scopes.set_current(outer);
        let span = self.since(start);
        let wrap = |name, items| {
            vec![Item {
                kind: ItemKind::Namespace(Namespace { name, is_inline, items }),
                template: None,
                span,
            }]
        };
        if names.is_empty() {
            return wrap(None, items);
        }
        for name in names.into_iter().rev() {
            items = wrap(Some(name), items);
        }
        items
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
            let using = Item { kind: ItemKind::UsingNamespace(parsed.path), template: None, span };
            // An alias is a namespace that uses the other: lookups through it find the same names.
            let kind = ItemKind::Namespace(Namespace { items: vec![using], ..alias });
            return vec![Item { kind, template: None, span }];
        }
        Vec::new()
    }

    fn using(&mut self) -> Vec<Item> {
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
                span: self.since(start),
            }];
        }
        if let TokenKind::Ident(name) = self.peek()
            && (self.next_is(1, Punct::Assign) || self.next_is(1, Punct::LBracket))
        {
            return self.alias(name, start);
        }
        self.eat_kw(Kw::Typename);
        let Some(parsed) = self.path(Expected::Type) else {
            self.skip_statement();
            return Vec::new();
        };
        if let Some(last) = parsed.path.segments.last() {
            let kind = if parsed.kind == NameKind::Unknown { NameKind::Value } else { parsed.kind };
            self.scopes.declare_with(last.name, Entry { kind, scope: parsed.scope });
        }
        self.expect(Punct::Semi, "after the using declaration");
        vec![Item { kind: ItemKind::UsingDeclaration(parsed.path), template: None, span: self.since(start) }]
    }

    fn alias(&mut self, name: Name, start: Span) -> Vec<Item> {
        self.advance();
        let mut attributes = Default::default();
        self.attributes(&mut attributes);
        self.expect(Punct::Assign, "in the alias");
        let Some(ty) = self.type_id() else {
            let found = self.peek();
            self.error("expected-type", self.span(), format!("expected a type, found {found}"));
            self.skip_statement();
            return Vec::new();
        };
        let kind = if self.template_depth > 0 { NameKind::TypeTemplate } else { NameKind::Type };
        let scope = self.scope_of_type(&ty);
        self.declare_outside_template(name, Entry { kind, scope });
        self.expect(Punct::Semi, "after the alias");
        vec![Item { kind: ItemKind::Alias(TypeAlias { name, ty }), template: None, span: self.since(start) }]
    }

    /// The class scope behind a plain named type, so that `Alias::Member` parses.
    fn scope_of_type(&self, ty: &Type) -> Option<super::scope::ScopeId> {
        match &ty.kind {
            TypeKind::Path(path) if path.segments.len() == 1 => {
                self.scopes.lookup(path.segments[0].name).and_then(|entry| entry.scope)
            }
            _ => None,
        }
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
        vec![Item { kind: ItemKind::StaticAssert(cond, message), template: None, span: self.since(start) }]
    }

    fn template(&mut self, place: Place) -> Vec<Item> {
        let start = self.span();
        self.advance();
        if !self.is(Punct::Less) {
            return match self.explicit_instantiation() {
                Some(kind) => vec![Item { kind, template: None, span: self.since(start) }],
                None => {
                    self.skip_statement();
                    Vec::new()
                }
            };
        }
        let outer = self.scopes.enter_template();
        let params = self.template_params();
        let Some(params) = params else {
            self.scopes.set_current(outer);
            self.skip_statement();
            return Vec::new();
        };
        let is_template = u32::from(!params.params.is_empty());
        self.template_depth += is_template;
        let items = self.templated_item(place, params, start);
        self.template_depth -= is_template;
        self.scopes.set_current(outer);
        items
    }

    fn templated_item(&mut self, place: Place, params: TemplateParams, start: Span) -> Vec<Item> {
        let mut items = match self.peek() {
            TokenKind::Keyword(Kw::Using) => self.using(),
            // `template<> template<>` and out-of-class member templates: the inner one counts.
            TokenKind::Keyword(Kw::Template) => self.nested(|p| p.template(place), |_| Vec::new()),
            _ => self.declaration(place, None),
        };
        let span = self.since(start);
        let mut params = Some(params);
        // The last first, which mostly is the only one.
        for (left, item) in items.iter_mut().enumerate().rev() {
            item.span = span;
            if item.template.is_none() {
                item.template = if left == 0 { params.take() } else { params.clone() };
            }
        }
        items
    }

    /// Declares a template's name outside of the scope of its parameters.
    pub(super) fn declare_outside_template(&mut self, name: Name, entry: Entry) {
        let current = self.scopes.current();
        self.scopes.set_current(self.scopes.outside_template());
        self.scopes.declare_with(name, entry);
        self.scopes.set_current(current);
    }

    /// Specifiers and declarators, up to the semicolon or the function's body.
    fn declaration(&mut self, place: Place, _template: Option<()>) -> Vec<Item> {
        let start = self.span();
        let Some(specs) = self.specifiers(true) else {
            self.skip_statement();
            return Vec::new();
        };
        let mut items = Vec::new();
        let mut specs = self.extract_type_definition(specs, &mut items, start);
        if self.is(Punct::Semi) {
            self.advance();
            self.anonymous_member(&mut specs, &mut items, start);
            return items;
        }
        if specs.ty.is_none() {
            return self.untyped_function(specs, items, start);
        }
        self.declarators(place, specs, items, start)
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
        items.push(Item { kind, template: None, span: self.since(start) });
        if let Some(name) = name {
            let segment = crate::ast::PathSegment { name, operator: None, args: None, span: ty.span };
            let path = crate::ast::Path { global: false, segments: vec![segment], span: ty.span };
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
        let field = Field { name: None, span: ty.span, ty, init: None, attributes: Vec::new() };
        items.push(Item { kind: ItemKind::Field(Box::new(field)), template: None, span: self.since(start) });
    }

    fn declare_anonymous_names(&mut self, record: &crate::ast::Record) {
        for item in record.members.iter().flatten() {
            if let ItemKind::Field(field) = &item.kind
                && let Some(name) = field.name
            {
                self.scopes.declare(name, NameKind::Value);
            }
        }
    }

    /// Constructors, destructors and conversion operators; otherwise an error.
    fn untyped_function(&mut self, specs: Specifiers, mut items: Vec<Item>, start: Span) -> Vec<Item> {
        let is_constructor = self.at_constructor_name();
        let outer = self.scopes.enter();
        let declarator = match self.peek() {
            TokenKind::Ident(_) if is_constructor => self.constructor_declarator(),
            TokenKind::Keyword(Kw::Operator) | TokenKind::Punct(Punct::Tilde) | TokenKind::Ident(_) => {
                let error = Type { kind: TypeKind::Error, quals: Default::default(), span: self.span() };
                self.attempt(|p| p.declarator(error, Place::Namespace, true).filter(|d| d.params.is_some()))
            }
            _ => None,
        };
        if let Some(mut declarator) = declarator {
            self.qualified_constructor(&mut declarator);
            let is_special =
                declarator.name.as_ref().is_some_and(|name| !matches!(name.name, FunctionName::Name(_)));
            if !is_special {
                self.error("missing-type", start, "a function needs a result type");
            }
            let function = self.function_rest(specs, declarator);
            self.scopes.set_current(outer);
            let kind = ItemKind::Function(Arc::new(function));
            items.push(Item { kind, template: None, span: self.since(start) });
            return items;
        }
        self.scopes.set_current(outer);
        let found = self.peek();
        self.error("expected-declaration", self.span(), format!("expected a declaration, found {found}"));
        self.skip_statement();
        items
    }

    /// `S::S(…)` outside of the class.
    fn qualified_constructor(&mut self, declarator: &mut ParsedDeclarator) {
        let Some(name) = &mut declarator.name else { return };
        let last = name.scope.as_ref().and_then(|scope| scope.segments.last()).map(|segment| segment.name);
        if let (FunctionName::Name(own), Some(class)) = (&name.name, last)
            && *own == class
        {
            name.name = FunctionName::Constructor(class);
        }
    }

    fn declarators(
        &mut self,
        place: Place,
        specs: Specifiers,
        mut items: Vec<Item>,
        start: Span,
    ) -> Vec<Item> {
        while let Some(base) = specs.ty.clone() {
            // Parameters must be visible in the body, and invisible after.
            let entered = self.enter();
            let declarator = self.declarator(base, place, true);
            let (outer, inner) = (entered.outer, self.scopes.current());
            self.scopes.set_current(outer);
            let Some(declarator) = declarator else {
                self.skip_statement();
                return items;
            };
            if declarator.params.is_some() && !specs.is_typedef {
                self.declare_function(&declarator);
                self.scopes.set_current(inner);
                self.enter_class_of(&declarator, outer, inner);
                let function = self.function_rest(specs, declarator);
                self.leave(entered);
                let kind = ItemKind::Function(Arc::new(function));
                items.push(Item { kind, template: None, span: self.since(start) });
                return items;
            }
            self.leave(entered);
            if declarator.name.is_none() {
                let found = self.peek();
                self.error(
                    "expected-name",
                    self.span(),
                    format!("expected a name after the type, found {found}"),
                );
                self.skip_statement();
                return items;
            }
            let kind = self.declared(declarator, &specs);
            items.push(Item { kind, template: None, span: self.since(start) });
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        self.end_declaration();
        items
    }

    fn end_declaration(&mut self) {
        if self.eat(Punct::Semi) {
            return;
        }
        let previous = self.previous_span();
        let after = Span { lo: previous.hi.saturating_sub(1), ..previous };
        let found = self.peek();
        self.error("expected-token", after, format!("expected `;` after the declaration, found {found}"));
        self.skip_statement();
    }

    fn declare_function(&mut self, declarator: &ParsedDeclarator) {
        let Some(name) = declarator.name.as_ref().filter(|name| name.scope.is_none()) else { return };
        if let FunctionName::Name(ident) = name.name {
            let template = self.template_depth > 0 && name.args.is_none();
            let kind = if template { NameKind::ValueTemplate } else { NameKind::Value };
            self.declare_outside_template(ident, Entry { kind, scope: None });
        }
    }

    /// The body of `R S::f(…)` sees the names of `S`.
    fn enter_class_of(
        &mut self,
        declarator: &ParsedDeclarator,
        outer: super::scope::ScopeId,
        inner: super::scope::ScopeId,
    ) {
        let Some(scope) = declarator.name.as_ref().and_then(|name| name.scope.as_ref()) else { return };
        let Some(segment) = scope.segments.last() else { return };
        self.scopes.set_current(outer);
        let class = self.scopes.lookup(segment.name).and_then(|entry| entry.scope);
        self.scopes.set_current(inner);
        if let Some(class) = class {
            self.scopes.use_namespace(class);
        }
    }

    /// One declarator that is not a function with parameters.
    fn declared(&mut self, declarator: ParsedDeclarator, specs: &Specifiers) -> ItemKind {
        let simple = declarator.name.as_ref().and_then(|name| name.simple());
        if specs.is_typedef {
            let name = simple.unwrap_or(Name::EMPTY);
            let mut ty = declarator.ty;
            if let Some((params, _)) = declarator.params {
                let params = params.into_iter().map(|param| param.ty).collect();
                let span = ty.span;
                let kind = TypeKind::Function { ret: Box::new(ty), params };
                ty = Type { kind, quals: Default::default(), span };
            }
            let scope = self.scope_of_type(&ty);
            self.scopes.declare_with(name, Entry { kind: NameKind::Type, scope });
            return ItemKind::Alias(TypeAlias { name, ty });
        }
        let is_field = self.scopes.in_class_body() && !specs.function.is_static && !specs.is_friend;
        if !is_field {
            let attributes = specs.attributes.list.clone();
            let variable = self.variable_rest(declarator, &specs.function, attributes, specs.is_extern);
            return ItemKind::Variable(Box::new(variable));
        }
        let mut attributes = specs.attributes.list.clone();
        attributes.extend(declarator.attributes.list);
        if let Some(name) = simple {
            self.scopes.declare(name, NameKind::Value);
        }
        if self.is(Punct::Colon) {
            self.error("unsupported", self.span(), "bit-fields are not supported");
            self.advance();
            self.conditional_expr();
        }
        let init = self.initialiser();
        let (ty, span) = (declarator.ty, declarator.span);
        ItemKind::Field(Box::new(Field { name: simple, ty, init, attributes, span }))
    }
}
