//! What follows the specifiers of a declaration: declarators with bodies or initialisers.
//!
//! Invariant: a name is declared as soon as its declarator is read, before its body or initialiser; the names
//! of parameters are gone after the body.

use super::attribute::Attributes;
use super::declaration_rules::{self, Word};
use super::declarator::{ParsedDeclarator, Place};
use super::scope::{Entry, NameKind, ScopeId};
use super::specifier::Specifiers;
use super::{Parser, attribute, declarator, expr, function, namespace, template, variable};
use crate::ast::{Access, Field, FunctionName, Item, ItemKind, Type, TypeAlias, TypeKind};
use crate::foreign_words;
use crate::token::{Kw, Name, Punct, TokenKind};
use anymetal_diagnostics::{Diagnostic, Span};
use std::sync::Arc;

/// Constructors, destructors and conversion operators; otherwise an error.
pub(super) fn untyped_function(
    p: &mut Parser<'_>,
    specs: Specifiers,
    mut items: Vec<Item>,
    start: Span,
) -> Vec<Item> {
    let is_constructor = function::at_constructor_name(p);
    let outer = p.scopes.enter();
    let declarator = match p.peek() {
        TokenKind::Ident(_) if is_constructor => function::constructor_declarator(p),
        TokenKind::Keyword(Kw::Operator) | TokenKind::Punct(Punct::Tilde) | TokenKind::Ident(_) => {
            let error = Type { kind: TypeKind::Error, quals: Default::default(), span: p.span() };
            p.attempt(|p| declarator::parse(p, error, Place::Namespace, true).filter(|d| d.params.is_some()))
        }
        _ => None,
    };
    if let Some(mut declarator) = declarator {
        qualified_constructor(&mut declarator);
        let is_special =
            declarator.name.as_ref().is_some_and(|name| !matches!(name.name, FunctionName::Name(_)));
        if !is_special {
            p.error("missing-type", start, "a function needs a result type");
        }
        let words = specs.words.clone();
        let function = function::rest(p, specs, declarator);
        p.scopes.set_current(outer);
        declaration_rules::check_qualifiers(p, &function, p.scopes.in_class_body());
        declaration_rules::check_special_friend(p, &function);
        declaration_rules::check_parameters(p, &function);
        let kind = ItemKind::Function(Arc::new(function));
        check_words(p, &words, &kind, p.scopes.in_class_body());
        items.push(Item { kind, template: None, access: Access::Public, span: p.since(start) });
        return items;
    }
    p.scopes.set_current(outer);
    let found = p.peek();
    p.error("expected-declaration", p.span(), format!("expected a declaration, found {found}"));
    p.skip_statement();
    items
}

/// `S::S(…)` outside of the class.
fn qualified_constructor(declarator: &mut ParsedDeclarator) {
    let Some(name) = &mut declarator.name else { return };
    let last = name.scope.as_ref().and_then(|scope| scope.segments.last()).map(|segment| segment.name);
    if let (FunctionName::Name(own), Some(class)) = (&name.name, last)
        && *own == class
    {
        name.name = FunctionName::Constructor(class);
    }
}

pub(super) fn declarators(
    p: &mut Parser<'_>,
    place: Place,
    specs: Specifiers,
    mut items: Vec<Item>,
    start: Span,
) -> Vec<Item> {
    let (words, in_class) = (specs.words.clone(), p.scopes.in_class_body());
    if place == Place::Block {
        declaration_rules::refuse_inline_in_block(p, &words);
    }
    let mut is_first = true;
    while let Some(base) = specs.ty.clone() {
        // Parameters must be visible in the body, and invisible after.
        let entered = p.enter();
        let declarator = declarator::parse(p, base, place, true);
        let (outer, inner) = (entered.outer, p.scopes.current());
        p.scopes.set_current(outer);
        let Some(declarator) = declarator else {
            p.skip_statement();
            return items;
        };
        if let Some(name) =
            declarator.name.as_ref().filter(|_| !specs.function.is_friend && !specs.is_typedef)
        {
            if name.args.is_some() {
                declaration_rules::require_template_head(p, declarator.span);
            }
            if in_class && place == Place::Namespace && name.scope.is_some() {
                declaration_rules::refuse_qualified_member(p, declarator.span);
            }
        }
        let scope = declarator.name.as_ref().and_then(|name| name.scope.as_ref());
        declaration_rules::check_static_member(p, &words, scope);
        let template_word = declarator.name.as_ref().and_then(|name| name.template_word);
        if let Some(span) = template_word.filter(|_| !specs.function.is_friend) {
            declaration_rules::refuse_template_word(p, span);
        }
        if declarator.params.is_some() && !specs.is_typedef {
            declare_function(p, &declarator);
            p.scopes.set_current(inner);
            enter_class_of(p, &declarator, outer, inner);
            let function = function::rest(p, specs, declarator);
            p.leave(entered);
            declaration_rules::check_qualifiers(p, &function, in_class);
            declaration_rules::check_parameters(p, &function);
            let kind = ItemKind::Function(Arc::new(function));
            check_words(p, &words, &kind, in_class);
            items.push(Item { kind, template: None, access: Access::Public, span: p.since(start) });
            return items;
        }
        p.leave(entered);
        // A bit-field may do without a name.
        let is_padding = p.is(Punct::Colon) && p.scopes.in_class_body();
        if declarator.name.is_none() && !is_padding {
            let message = format!("expected a name after the type, found {}", p.peek());
            let mut diagnostic = Diagnostic::error("expected-name", p.span(), message);
            if p.is(Punct::LParen) && place == Place::Namespace {
                diagnostic = diagnostic.with_hint("the type of a function's result stands before its name");
            } else if let Some(hint) = specs.ty.as_ref().and_then(hint_of_type) {
                diagnostic = diagnostic.with_hint(hint);
            }
            p.report(diagnostic);
            p.skip_statement();
            return items;
        }
        let kind = declared(p, declarator, &specs);
        if is_first {
            check_words(p, &words, &kind, in_class);
        }
        is_first = false;
        items.push(Item { kind, template: None, access: Access::Public, span: p.since(start) });
        if !p.eat(Punct::Comma) {
            break;
        }
    }
    p.end_at_semicolon("the declaration");
    items
}

/// What a type's name says of the source, if it is a word of another language.
fn hint_of_type(ty: &Type) -> Option<String> {
    match &ty.kind {
        TypeKind::Path(path) => foreign_words::hint(path.segments.last()?.name.as_str()),
        _ => None,
    }
}

fn check_words(p: &mut Parser<'_>, words: &[Word], kind: &ItemKind, in_class: bool) {
    if let Some(declared) = declaration_rules::declared(kind, in_class)
        && !words.is_empty()
    {
        declaration_rules::check(p, words, declared);
    }
}

fn declare_function(p: &mut Parser<'_>, declarator: &ParsedDeclarator) {
    let Some(name) = declarator.name.as_ref().filter(|name| name.scope.is_none()) else { return };
    if p.template_depth == 0 && !p.template_heads.is_empty() {
        // A full specialisation declares no name: its template may be in an inline namespace.
        return;
    }
    if let FunctionName::Name(ident) = name.name {
        let template = p.template_depth > 0 && name.args.is_none();
        let kind = if template { NameKind::ValueTemplate } else { NameKind::Value };
        template::declare_outside_template(p, ident, Entry { kind, scope: None });
    }
}

/// The body of `R S::f(…)` sees the names of `S`.
fn enter_class_of(p: &mut Parser<'_>, declarator: &ParsedDeclarator, outer: ScopeId, inner: ScopeId) {
    let Some(scope) = declarator.name.as_ref().and_then(|name| name.scope.as_ref()) else { return };
    let Some(segment) = scope.segments.last() else { return };
    p.scopes.set_current(outer);
    let class = p.scopes.lookup(segment.name).and_then(|entry| entry.scope);
    p.scopes.set_current(inner);
    if let Some(class) = class {
        p.scopes.use_namespace(class);
    }
}

/// One declarator that is not a function with parameters.
fn declared(p: &mut Parser<'_>, declarator: ParsedDeclarator, specs: &Specifiers) -> ItemKind {
    let simple = declarator.name.as_ref().and_then(|name| name.simple());
    if specs.is_typedef {
        let name = simple.unwrap_or(Name::EMPTY);
        let is_qualified = declarator.name.as_ref().is_some_and(|name| name.scope.is_some());
        if simple.is_none() || is_qualified {
            p.error("expected-name", declarator.span, "the name of a type alias is an identifier");
        }
        attribute::refuse_layout(p, &specs.attributes, "an alias");
        attribute::refuse_layout(p, &declarator.attributes, "an alias");
        let mut ty = declarator.ty;
        if let Some((params, is_variadic)) = declarator.params {
            declaration_rules::check_type_parameters(p, &params);
            let params = params.into_iter().map(|param| param.ty).collect();
            let (span, method) = (ty.span, function::type_qualifiers(p));
            let kind = TypeKind::Function { ret: Box::new(ty), params, is_variadic, method };
            ty = Type { kind, quals: Default::default(), span };
        }
        let scope = namespace::scope_of_type(p, &ty);
        p.scopes.declare_with(name, Entry { kind: NameKind::Type, scope });
        return ItemKind::Alias(TypeAlias { id: p.ids.fresh(), name, ty });
    }
    // `x<1>` is a specialisation of a static member.
    let is_specialisation = declarator.name.as_ref().is_some_and(|name| name.args.is_some());
    let is_field = p.scopes.in_class_body()
        && !specs.function.is_static
        && !specs.function.is_friend
        && !is_specialisation;
    if specs.function.is_friend {
        declaration_rules::check_friend_variable(p, &declarator.ty, declarator.span);
    }
    if !is_field {
        let attributes = specs.attributes.clone();
        let variable = variable::rest(p, declarator, &specs.function, attributes, specs.is_extern);
        return ItemKind::Variable(Box::new(variable));
    }
    if let Some(name) = simple {
        p.scopes.declare(name, NameKind::Value);
    }
    let width = p.eat(Punct::Colon).then(|| expr::conditional(p));
    let quals = declarator.ty.quals;
    if width.is_some() && simple.is_none() && (quals.is_const || quals.is_volatile) {
        p.error("bad-bit-field", declarator.span, "anonymous bit-field cannot have qualifiers");
    }
    let mut after_width = Attributes::default();
    attribute::attributes(p, &mut after_width);
    let init = variable::initialiser(p);
    let (ty, span) = (declarator.ty, declarator.span);
    let written = [&specs.attributes, &declarator.attributes, &after_width];
    let is_packed = written.iter().any(|attributes| attributes.packed.is_some());
    let align = written.iter().flat_map(|attributes| attributes.align.clone()).collect();
    let attributes = written.iter().flat_map(|attributes| attributes.list.clone()).collect();
    let mutable = specs.words.iter().find(|(word, _)| *word == Kw::Mutable).map(|&(_, span)| span);
    let name = simple;
    ItemKind::Field(Box::new(Field { name, ty, width, init, attributes, align, is_packed, mutable, span }))
}
