//! Structs, classes and unions.

use super::attribute::Attributes;
use super::declarator::Place;
use super::qualified_name::Expected;
use super::scope::{Entry, NameKind, ScopeId};
use super::{Parser, attribute, decl, declaration_rules, qualified_name, specifier, template};
use crate::ast::{Access, Base, Item, Path, Record, RecordKind, TagWord, TemplateArg, Type, TypeKind};
use crate::token::{Kw, Name, Punct, TokenKind};
use anymetal_diagnostics::Span;
use std::sync::Arc;

/// The head of a record: everything up to the bases.
struct Head {
    name: Option<Name>,
    scope: Option<Path>,
    specialisation: Option<Vec<TemplateArg>>,
    span: Span,
    known: Option<ScopeId>,
    /// Whether the path has the word `template`.
    has_template_word: bool,
}

/// `struct S … { … }`, or a reference to one (`struct S x`).
pub(super) fn parse(p: &mut Parser<'_>) -> Option<TypeKind> {
    let default = if p.is_kw(Kw::Class) { Access::Private } else { Access::Public };
    let kind = if p.is_kw(Kw::Union) { RecordKind::Union } else { RecordKind::Struct };
    let start = p.span();
    p.advance();
    let mut attributes = Attributes::default();
    attribute::attributes(p, &mut attributes);
    let head = head(p)?;
    attribute::attributes(p, &mut attributes);
    // `struct S final {`: a word only here. There are no virtual functions for it to matter to.
    if matches!(p.peek(), TokenKind::Ident(word) if word.as_str() == "final")
        && (p.next_is(1, Punct::LBrace) || p.next_is(1, Punct::Colon))
    {
        p.advance();
    }
    let defines = p.is(Punct::LBrace) || p.is(Punct::Colon);
    // `template <> struct S<int>::Inner;` declares a specialisation.
    let is_specialisation =
        !p.template_heads.is_empty() && p.template_depth == 0 && !p.scopes.in_class_body();
    let declares = p.is(Punct::Semi) && (head.scope.is_none() || is_specialisation);
    if !defines && p.is(Punct::Semi) && head.has_template_word && !p.template_heads.is_empty() {
        declaration_rules::refuse_template_word(p, head.span);
    }
    if !defines && !declares {
        // `struct S x`: a use.
        let name = head.name?;
        // `struct` is part of the path's place: it makes the name known if it is not.
        let span = start.to(head.span);
        if head.scope.is_none() && head.specialisation.is_none() && p.scopes.lookup(name).is_none() {
            imply(p, name, kind, head.span);
        }
        let tag = Some(if kind == RecordKind::Union { TagWord::Union } else { TagWord::Struct });
        let mut path =
            head.scope.unwrap_or(Path { global: false, segments: Vec::new(), tag, is_typename: false, span });
        path.tag = tag;
        path.segments.push(crate::ast::PathSegment {
            name,
            operator: None,
            args: head.specialisation,
            has_template_word: false,
            span: head.span,
        });
        return Some(TypeKind::Path(path));
    }
    if head.has_template_word {
        declaration_rules::refuse_template_word(p, head.span);
    }
    if defines && head.scope.is_some() && p.scopes.in_class_body() {
        declaration_rules::refuse_qualified_member(p, head.span);
    }
    let scope = declare(p, &head);
    let bases = bases(p, default);
    let members = if defines { Some(members(p, scope, head.name, default)) } else { None };
    attribute::attributes(p, &mut attributes);
    let is_packed = attributes.packed.take().is_some();
    let align = std::mem::take(&mut attributes.align);
    attribute::refuse_layout(p, &attributes, "a class");
    Some(TypeKind::Record(Arc::new(Record {
        id: p.ids.fresh(),
        kind,
        name: head.name,
        scope: head.scope,
        specialisation: head.specialisation,
        bases,
        members,
        align,
        is_packed,
        attributes: attributes.list,
        span: head.span,
    })))
}

/// Declares a class that is named for the first time.
fn imply(p: &mut Parser<'_>, name: Name, kind: RecordKind, span: Span) {
    let is_implied = p.implied_records.iter().any(|record| record.name == Some(name));
    if is_implied || p.pending_errors.is_some() {
        // What is only tried may mean something else.
        return;
    }
    let record = Record {
        id: p.ids.fresh(),
        kind,
        name: Some(name),
        scope: None,
        specialisation: None,
        bases: Vec::new(),
        members: None,
        align: Vec::new(),
        is_packed: false,
        attributes: Vec::new(),
        span,
    };
    p.implied_records.push(record);
}

fn head(p: &mut Parser<'_>) -> Option<Head> {
    let span = p.span();
    if !matches!(p.peek(), TokenKind::Ident(_)) {
        let has_template_word = false;
        return Some(Head {
            name: None,
            scope: None,
            specialisation: None,
            span,
            known: None,
            has_template_word,
        });
    }
    let begin = p.at;
    let mut parsed = qualified_name::path(p, Expected::Type)?;
    let words = p.tokens[begin..p.at].windows(2);
    let has_template_word = words.into_iter().any(|pair| {
        pair[0].kind == TokenKind::Punct(Punct::ColonColon)
            && pair[1].kind == TokenKind::Keyword(Kw::Template)
    });
    let last = parsed.path.segments.pop()?;
    let scope = (!parsed.path.segments.is_empty()).then_some(parsed.path);
    Some(Head {
        name: Some(last.name),
        scope,
        specialisation: last.args,
        span: last.span,
        known: parsed.scope,
        has_template_word,
    })
}

/// Declares the name where the record stands, outside of its own template parameters' scope.
fn declare(p: &mut Parser<'_>, head: &Head) -> ScopeId {
    let scope = p.scopes.add(true);
    if head.specialisation.is_some() || head.scope.is_some() {
        return scope;
    }
    let Some(name) = head.name else { return scope };
    let kind = if p.template_depth > 0 { NameKind::TypeTemplate } else { NameKind::Type };
    let known = head.known.filter(|_| p.scopes.own(name).is_some());
    template::declare_outside_template(p, name, Entry { kind, scope: Some(known.unwrap_or(scope)) });
    known.unwrap_or(scope)
}

/// The access word at the current token.
fn access_specifier(p: &Parser<'_>) -> Option<Access> {
    match p.peek() {
        TokenKind::Keyword(Kw::Public) => Some(Access::Public),
        TokenKind::Keyword(Kw::Protected) => Some(Access::Protected),
        TokenKind::Keyword(Kw::Private) => Some(Access::Private),
        _ => None,
    }
}

fn bases(p: &mut Parser<'_>, default: Access) -> Vec<Base> {
    let mut bases = Vec::new();
    if !p.eat(Punct::Colon) {
        return bases;
    }
    loop {
        let mut access = default;
        while let Some(written) = access_specifier(p) {
            access = written;
            p.advance();
        }
        match base(p) {
            Some(Type { kind: TypeKind::Pack(ty), .. }) => {
                bases.push(Base { ty: *ty, access, is_pack: true });
            }
            Some(ty) => bases.push(Base { ty, access, is_pack: false }),
            None => {
                p.error("expected-type", p.span(), "expected a base class");
                p.skip_until(&[Punct::LBrace, Punct::RBrace, Punct::Semi]);
                return bases;
            }
        }
        if !p.eat(Punct::Comma) {
            return bases;
        }
    }
}

/// A base class, whose name a function or a variable may hide.
fn base(p: &mut Parser<'_>) -> Option<Type> {
    if p.peek() == TokenKind::Keyword(Kw::Typename) {
        p.error(
            "misplaced-specifier",
            p.span(),
            "`typename` is redundant; base classes are implicitly types",
        );
    }
    if let TokenKind::Ident(name) = p.peek()
        && p.classify(name) == NameKind::Value
    {
        let span = p.span();
        let path = qualified_name::path(p, Expected::Type)?.path;
        return Some(Type { kind: TypeKind::Path(path), quals: Default::default(), span });
    }
    specifier::type_id(p)
}

/// `{ … }` of a record.
fn members(p: &mut Parser<'_>, scope: ScopeId, name: Option<Name>, default: Access) -> Vec<Item> {
    let start = p.span();
    if !p.expect(Punct::LBrace, "to begin the members") {
        return Vec::new();
    }
    let outer = p.scopes.current();
    p.scopes.set_parent(scope, outer);
    p.scopes.set_current(scope);
    p.scopes.class_name = name;
    let template_depth = std::mem::replace(&mut p.template_depth, 0);
    let template_heads = std::mem::take(&mut p.template_heads);
    let mut items: Vec<Item> = Vec::new();
    let mut access = default;
    while !p.is(Punct::RBrace) && !p.at_end() {
        let before = p.at;
        p.scopes.class_name = name;
        if let Some(written) = access_specifier(p) {
            access = written;
            p.advance();
            let mut attributes = Attributes::default();
            attribute::attributes(p, &mut attributes);
            for attribute in attributes.list.iter().filter(|attribute| attribute.name.as_str() != "annotate")
            {
                let message = "an access specifier can only have annotation attributes";
                p.error("attribute-placement", attribute.span, message);
            }
            p.expect(Punct::Colon, "after the access word");
            continue;
        }
        let declared = p.nested(|p| decl::item_at(p, Place::Namespace), |_| Vec::new());
        items.extend(declared.into_iter().map(|item| Item { access, ..item }));
        if p.at == before {
            p.advance();
        }
    }
    p.template_depth = template_depth;
    p.template_heads = template_heads;
    p.scopes.class_name = None;
    p.scopes.set_current(outer);
    if !p.eat(Punct::RBrace) {
        let diagnostic = anymetal_diagnostics::Diagnostic::error(
            "unclosed-brace",
            p.span(),
            "expected `}` to end the record",
        )
        .with_secondary(start, "the record begins here");
        p.report(diagnostic);
    }
    items
}
