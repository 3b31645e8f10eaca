//! What follows the specifiers of a declaration: declarators with bodies or initialisers.
//!
//! Invariant: a name is declared as soon as its declarator is read, before its body or initialiser; the names
//! of parameters are gone after the body.

use super::Parser;
use super::attribute::Attributes;
use super::declarator::{ParsedDeclarator, Place};
use super::scope::{Entry, NameKind, ScopeId};
use super::specifier::Specifiers;
use crate::ast::{Access, Field, FunctionName, Item, ItemKind, Type, TypeAlias, TypeKind};
use crate::token::{Kw, Name, Punct, TokenKind};
use anymetal_diagnostics::{Diagnostic, Span};
use std::sync::Arc;

impl Parser<'_> {
    /// Constructors, destructors and conversion operators; otherwise an error.
    pub(super) fn untyped_function(
        &mut self,
        specs: Specifiers,
        mut items: Vec<Item>,
        start: Span,
    ) -> Vec<Item> {
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
            items.push(Item { kind, template: None, access: Access::Public, span: self.since(start) });
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

    pub(super) fn declarators(
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
                items.push(Item { kind, template: None, access: Access::Public, span: self.since(start) });
                return items;
            }
            self.leave(entered);
            // A bit-field may do without a name.
            let is_padding = self.is(Punct::Colon) && self.scopes.in_class_body();
            if declarator.name.is_none() && !is_padding {
                let message = format!("expected a name after the type, found {}", self.peek());
                let mut diagnostic = Diagnostic::error("expected-name", self.span(), message);
                if self.is(Punct::LParen) && place == Place::Namespace {
                    diagnostic =
                        diagnostic.with_hint("the type of a function's result stands before its name");
                }
                self.report(diagnostic);
                self.skip_statement();
                return items;
            }
            let kind = self.declared(declarator, &specs);
            items.push(Item { kind, template: None, access: Access::Public, span: self.since(start) });
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        self.end_at_semicolon("the declaration");
        items
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
    fn enter_class_of(&mut self, declarator: &ParsedDeclarator, outer: ScopeId, inner: ScopeId) {
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
            self.refuse_layout(&specs.attributes, "an alias");
            self.refuse_layout(&declarator.attributes, "an alias");
            let mut ty = declarator.ty;
            if let Some((params, _)) = declarator.params {
                let params = params.into_iter().map(|param| param.ty).collect();
                let span = ty.span;
                let kind = TypeKind::Function { ret: Box::new(ty), params };
                ty = Type { kind, quals: Default::default(), span };
            }
            let scope = self.scope_of_type(&ty);
            self.scopes.declare_with(name, Entry { kind: NameKind::Type, scope });
            return ItemKind::Alias(TypeAlias { id: self.ids.fresh(), name, ty });
        }
        let is_field = self.scopes.in_class_body() && !specs.function.is_static && !specs.function.is_friend;
        if !is_field {
            let attributes = specs.attributes.list.clone();
            let variable = self.variable_rest(declarator, &specs.function, attributes, specs.is_extern);
            return ItemKind::Variable(Box::new(variable));
        }
        if let Some(name) = simple {
            self.scopes.declare(name, NameKind::Value);
        }
        let width = self.eat(Punct::Colon).then(|| self.conditional_expr());
        let mut after_width = Attributes::default();
        self.attributes(&mut after_width);
        let init = self.initialiser();
        let (ty, span) = (declarator.ty, declarator.span);
        let written = [&specs.attributes, &declarator.attributes, &after_width];
        let is_packed = written.iter().any(|attributes| attributes.packed.is_some());
        let align = written.iter().flat_map(|attributes| attributes.align.clone()).collect();
        let attributes = written.iter().flat_map(|attributes| attributes.list.clone()).collect();
        ItemKind::Field(Box::new(Field { name: simple, ty, width, init, attributes, align, is_packed, span }))
    }
}
