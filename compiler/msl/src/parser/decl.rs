//! Declarations at every scope: which kind it is, and what specifiers alone declare.
//!
//! What follows the specifiers is in `init_declarator`; `namespace`, `template`, `record` and
//! `enumeration` have the declarations of those names.

use super::declaration_rules::Declared;
use super::declarator::Place;
use super::scope::NameKind;
use super::specifier::Specifiers;
use super::{
    Parser, assembler, bindings, declaration_rules, expr, init_declarator, namespace, specifier, template,
};
use crate::ast::{
    Access, Declarator, Field, Item, ItemKind, Path, PathSegment, Record, RecordKind, TagWord, Type,
    TypeKind, Variable,
};
use crate::token::{Kw, Name, Pragma, Punct, TokenKind};
use anymetal_diagnostics::{Diagnostic, Span};
use std::sync::Arc;

pub(super) fn translation_unit(p: &mut Parser<'_>) -> Vec<Item> {
    let mut items = Vec::new();
    while !p.at_end() {
        let before = p.at;
        if p.is(Punct::RBrace) {
            p.error("unmatched-brace", p.span(), "`}` without `{`");
            p.advance();
            continue;
        }
        add_item(p, &mut items);
        if p.at == before && !p.at_end() {
            p.advance();
        }
    }
    items
}

/// Adds a declaration at namespace scope, after the classes that it names first
/// (C++14 [basic.scope.pdecl.7]).
fn add_item(p: &mut Parser<'_>, items: &mut Vec<Item>) {
    let declared = item(p);
    for record in std::mem::take(&mut p.implied_records) {
        let span = record.span;
        let kind = ItemKind::Record(Arc::new(record));
        items.push(Item { kind, template: None, access: Access::Public, span });
    }
    items.extend(declared);
}

/// One declaration at namespace scope.
pub(super) fn item(p: &mut Parser<'_>) -> Vec<Item> {
    p.nested(|p| item_at(p, Place::Namespace), |_| Vec::new())
}

/// One declaration; it may declare several things.
pub(super) fn item_at(p: &mut Parser<'_>, place: Place) -> Vec<Item> {
    let start = p.span();
    let one = |kind, span| vec![Item { kind, template: None, access: Access::Public, span }];
    match p.peek() {
        TokenKind::Punct(Punct::Semi) => {
            p.advance();
            one(ItemKind::Empty, start)
        }
        TokenKind::Pragma(pragma) => {
            if p.scopes.in_class_body() && matches!(pragma, Pragma::MathMode(_) | Pragma::Contract(_)) {
                p.error(
                    "misplaced-pragma",
                    p.span(),
                    "this pragma cannot appear in the declaration of a class",
                );
            }
            p.advance();
            skip_pragma(p, pragma);
            p.fp.follow(pragma);
            Vec::new()
        }
        TokenKind::Keyword(Kw::Asm) => {
            assembler::at_file_scope(p);
            Vec::new()
        }
        TokenKind::Keyword(Kw::Namespace) => namespace::parse(p, false),
        TokenKind::Keyword(Kw::Inline) if p.peek_at(1) == TokenKind::Keyword(Kw::Namespace) => {
            p.advance();
            namespace::parse(p, true)
        }
        TokenKind::Keyword(Kw::Using) => namespace::using(p),
        TokenKind::Keyword(Kw::StaticAssert) => static_assert(p),
        TokenKind::Keyword(Kw::Template) => template::parse(p, place),
        // `extern template …;` says that another file has the instance.
        TokenKind::Keyword(Kw::Extern) if p.peek_at(1) == TokenKind::Keyword(Kw::Template) => {
            p.advance();
            let mut items = template::parse(p, place);
            for item in &mut items {
                if let ItemKind::ExplicitInstantiation(instantiation) = &mut item.kind {
                    instantiation.is_extern = true;
                }
            }
            items
        }
        // `extern "C" { … }`
        TokenKind::Keyword(Kw::Extern) if matches!(p.peek_at(1), TokenKind::Str(_)) => linkage(p, place),
        _ => declaration(p, place),
    }
}

/// `extern "C"` before a declaration or a block of them.
fn linkage(p: &mut Parser<'_>, place: Place) -> Vec<Item> {
    p.advance();
    let is_c = matches!(p.peek(), TokenKind::Str(language) if language.as_str() == "C");
    p.advance();
    let outer = std::mem::replace(&mut p.has_c_linkage, is_c);
    let items = if p.is(Punct::LBrace) {
        braced_items(p)
    } else {
        // The word makes a declaration of a variable, as `extern` does.
        let mut items = item_at(p, place);
        for item in &mut items {
            if let ItemKind::Variable(variable) = &mut item.kind {
                variable.is_extern = true;
            }
        }
        items
    };
    p.has_c_linkage = outer;
    items
}

fn skip_pragma(p: &mut Parser<'_>, pragma: Pragma) {
    if matches!(pragma, Pragma::LoopCountBegin(_)) {
        while !matches!(p.peek(), TokenKind::Pragma(Pragma::End) | TokenKind::Eof) {
            p.advance();
        }
        p.advance();
    }
}

pub(super) fn braced_items(p: &mut Parser<'_>) -> Vec<Item> {
    let start = p.span();
    p.advance();
    let mut items = Vec::new();
    while !p.is(Punct::RBrace) && !p.at_end() {
        let before = p.at;
        add_item(p, &mut items);
        if p.at == before {
            p.advance();
        }
    }
    if !p.eat(Punct::RBrace) {
        let diagnostic = Diagnostic::error("unclosed-brace", p.span(), "expected `}`")
            .with_secondary(start, "to match this");
        p.report(diagnostic);
    }
    items
}

fn static_assert(p: &mut Parser<'_>) -> Vec<Item> {
    let start = p.span();
    p.advance();
    p.expect(Punct::LParen, "after `static_assert`");
    let cond = expr::assignment(p);
    let mut message = None;
    if p.eat(Punct::Comma) {
        if let TokenKind::Str(text) = p.peek() {
            message = Some(text);
            p.advance();
        } else {
            expr::assignment(p);
        }
    }
    p.expect(Punct::RParen, "to end the assertion");
    p.expect(Punct::Semi, "after the assertion");
    vec![Item {
        kind: ItemKind::StaticAssert(cond, message),
        template: None,
        access: Access::Public,
        span: p.since(start),
    }]
}

/// Specifiers and declarators, up to the semicolon or the function's body.
pub(super) fn declaration(p: &mut Parser<'_>, place: Place) -> Vec<Item> {
    let start = p.span();
    if place == Place::Namespace && template::at_deduction_guide(p) {
        return template::deduction_guide(p, start);
    }
    let begin = p.at;
    let is_elaborated = matches!(p.peek(), TokenKind::Keyword(Kw::Struct | Kw::Class | Kw::Union | Kw::Enum));
    let Some(specs) = specifier::parse(p, true) else {
        p.skip_statement();
        return Vec::new();
    };
    if specs.function.is_friend && p.is(Punct::Semi) {
        if specs.ty.as_ref().is_some_and(|ty| defines_type(&ty.kind)) {
            p.error("bad-friend", start, "cannot define a type in a friend declaration");
        }
        let is_enum = p.tokens[begin..p.at].iter().any(|token| token.kind == TokenKind::Keyword(Kw::Enum));
        if is_enum {
            p.error("bad-friend", start, "a friend cannot be declared with `enum`");
        }
        if let Some(ty) = &specs.ty {
            declaration_rules::check_friend_type(p, ty, p.tokens[begin].kind);
        }
        return friend_type(p, specs, start);
    }
    let mut items = Vec::new();
    let is_tag = specs.ty.as_ref().is_some_and(|ty| declaration_rules::is_tag(&ty.kind));
    let mut specs = extract_type_definition(p, specs, &mut items, start);
    if p.is(Punct::Semi) {
        p.advance();
        if is_elaborated && !is_tag && place != Place::Param {
            refuse_qualified_tag(p, &specs);
        }
        let is_union = specs.ty.as_ref().is_some_and(|ty| is_union(&ty.kind)) && !p.scopes.in_class_body();
        let declared = match is_tag {
            // An unnamed union declares variables.
            true if is_union => Declared::Variable,
            true => Declared::Tag,
            false => Declared::Type,
        };
        declaration_rules::check(p, &specs.words, declared);
        if let Some(Type { kind: TypeKind::Path(path), span, .. }) = &specs.ty
            && let [only] = path.segments.as_slice()
            && path.tag.is_none()
            && only.args.is_none()
            && items.is_empty()
            && p.classify(only.name) == NameKind::Unknown
        {
            p.error("missing-type", *span, "a type specifier is required for all declarations");
        }
        anonymous_member(p, &mut specs, &mut items, (place, start));
        return items;
    }
    if bindings::at(p, &specs) {
        items.extend(bindings::declaration(p, place, specs, start));
        return items;
    }
    if specs.ty.is_none() {
        return init_declarator::untyped_function(p, specs, items, start);
    }
    init_declarator::declarators(p, place, specs, items, start)
}

/// Whether a type is a class or an enumeration that is defined here.
pub(super) fn defines_type(kind: &TypeKind) -> bool {
    match kind {
        TypeKind::Record(record) => record.members.is_some(),
        TypeKind::Enum(enumeration) => enumeration.enumerators.is_some(),
        _ => false,
    }
}

/// `struct n::S;` declares nothing new, and cannot be written.
fn refuse_qualified_tag(p: &mut Parser<'_>, specs: &Specifiers) {
    // `template<>` makes it a specialisation of a member, which may be declared.
    let is_primary = p.template_depth > 0 && p.template_heads.len() == p.template_depth as usize;
    if let Some(Type { kind: TypeKind::Path(path), span, .. }) = &specs.ty
        && path.segments.len() > 1
        && path.segments.last().is_some_and(|last| last.args.is_none())
        && (is_primary || path.segments.iter().all(|segment| segment.args.is_none()))
    {
        p.error("expected-declaration", *span, "a class that is only declared cannot have a qualified name");
    }
}

/// `friend class S;`, `friend S;`
fn friend_type(p: &mut Parser<'_>, specs: Specifiers, start: Span) -> Vec<Item> {
    p.advance();
    let Some(mut ty) = specs.ty else { return Vec::new() };
    if let TypeKind::Record(record) = &ty.kind
        && let Some(name) = record.name
    {
        let segment = PathSegment {
            name,
            operator: None,
            args: record.specialisation.clone(),
            has_template_word: false,
            span: record.span,
        };
        // `class` is part of the path's place: it makes the name known if it is not.
        let span = start.to(record.span);
        let tag = match record.kind {
            RecordKind::Struct => TagWord::Struct,
            RecordKind::Union => TagWord::Union,
        };
        ty.kind = TypeKind::Path(Path {
            global: false,
            segments: vec![segment],
            tag: Some(tag),
            is_typename: false,
            span,
        });
    }
    let (kind, span) = (ItemKind::Friend(Box::new(ty)), p.since(start));
    vec![Item { kind, template: None, access: Access::Public, span }]
}

/// A record or enum defined in the specifiers becomes an item of its own, and a path to it the
/// type; an unnamed one stays in place.
fn extract_type_definition(
    p: &mut Parser<'_>,
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
    if is_unnamed_record || (name.is_none() && !p.is(Punct::Semi)) {
        return specs;
    }
    items.push(Item { kind, template: None, access: Access::Public, span: p.since(start) });
    if let Some(name) = name {
        let segment =
            PathSegment { name, operator: None, args: None, has_template_word: false, span: ty.span };
        let path =
            Path { global: false, segments: vec![segment], tag: None, is_typename: false, span: ty.span };
        ty.kind = TypeKind::Path(path);
    }
    specs
}

fn is_union(kind: &TypeKind) -> bool {
    matches!(kind, TypeKind::Record(record) if record.kind == RecordKind::Union && record.name.is_none())
}

/// Reports what no member of an anonymous union or structure is (C++14 [class.union.5]).
fn check_anonymous_members(p: &mut Parser<'_>, record: &Record) {
    for item in record.members.iter().flatten() {
        let problem = match &item.kind {
            ItemKind::Field(_) if item.access != Access::Public => "a private or protected data member",
            // In a class, that is reported with its members.
            ItemKind::Variable(_) if !p.scopes.in_class_body() => "a static data member",
            _ => continue,
        };
        p.error(
            "unnamed-record",
            item.span,
            format!("an anonymous union or structure cannot contain {problem}"),
        );
    }
}

/// `union { … };` outside of a class, whose members are variables in one place (C++14 [class.union.5]).
fn anonymous_union(
    p: &mut Parser<'_>,
    specs: &Specifiers,
    ty: Type,
    items: &mut Vec<Item>,
    (place, start): (Place, Span),
) {
    let TypeKind::Record(record) = &ty.kind else { unreachable!("an unnamed union is a record") };
    declare_anonymous_names(p, record);
    check_anonymous_members(p, record);
    let variable = |p: &mut Parser<'_>, name, ty, span| {
        let declarator = Declarator { name, specialisation: None, scope: None };
        Variable {
            id: p.ids.fresh(),
            declarator,
            ty,
            init: None,
            is_constexpr: false,
            is_static: specs.function.is_static,
            is_extern: false,
            is_inline: false,
            align: Vec::new(),
            attributes: Vec::new(),
            span,
        }
    };
    let span = p.since(start);
    let item = |variable| {
        let kind = ItemKind::Variable(Box::new(variable));
        Item { kind, template: None, access: Access::Public, span }
    };
    if place == Place::Block {
        let variable = variable(p, Name::EMPTY, ty, span);
        return items.push(item(variable));
    }
    if !specs.function.is_static {
        let message = "anonymous unions at namespace or global scope must be declared `static`";
        p.error("unnamed-record", start, message);
    }
    for field in record.members.iter().flatten() {
        // Variables of a namespace are constants, of which one cannot be in the place of another.
        if let ItemKind::Field(field) = &field.kind
            && let Some(name) = field.name
        {
            let variable = variable(p, name, field.ty.clone(), field.span);
            items.push(item(variable));
        }
    }
}

/// `struct { … };` or `union { … };` inside a record.
fn anonymous_member(
    p: &mut Parser<'_>,
    specs: &mut Specifiers,
    items: &mut Vec<Item>,
    (place, start): (Place, Span),
) {
    let Some(ty) = specs.ty.take() else { return };
    if !matches!(ty.kind, TypeKind::Record(_)) {
        let names_member = matches!(&ty.kind, TypeKind::Path(path) if path.segments.len() > 1);
        if names_member && items.is_empty() && p.scopes.in_class_body() {
            let diagnostic = Diagnostic::error("expected-declaration", start, "this declares nothing");
            p.report(diagnostic.with_hint("a using-declaration begins with `using`"));
        }
        return;
    }
    if !p.scopes.in_class_body() && is_union(&ty.kind) {
        return anonymous_union(p, specs, ty, items, (place, start));
    }
    if !p.scopes.in_class_body() {
        p.error("unnamed-record", start, "an unnamed record at this scope declares nothing");
        return;
    }
    if let TypeKind::Record(record) = &ty.kind {
        declare_anonymous_names(p, record);
        check_anonymous_members(p, record);
    }
    let align = std::mem::take(&mut specs.attributes.align);
    let is_packed = specs.attributes.packed.is_some();
    let attributes = Vec::new();
    let field = Field {
        name: None,
        span: ty.span,
        ty,
        width: None,
        init: None,
        attributes,
        align,
        is_packed,
        mutable: None,
    };
    items.push(Item {
        kind: ItemKind::Field(Box::new(field)),
        template: None,
        access: Access::Public,
        span: p.since(start),
    });
}

fn declare_anonymous_names(p: &mut Parser<'_>, record: &Record) {
    for item in record.members.iter().flatten() {
        let ItemKind::Field(field) = &item.kind else { continue };
        match (field.name, &field.ty.kind) {
            (Some(name), _) => p.scopes.declare(name, NameKind::Value),
            // Unnamed ones nest as deeply as they were parsed.
            (None, TypeKind::Record(inner)) => declare_anonymous_names(p, inner),
            (None, _) => {}
        }
    }
}
