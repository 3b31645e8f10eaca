//! `[[…]]`, `__attribute__((…))` and `alignas`.
//!
//! `table` says what each name means. What lays data out otherwise (`aligned`, `packed`, `ext_vector_type`)
//! is kept apart from the rest: each place that attributes may stand at takes it or refuses it
//! ([`refuse_layout`]).

pub(super) mod table;

use super::{Parser, expr, specifier};
use crate::ast::{Alignment, Attribute, Expr, ExprKind, GraphicsStage, Type, TypeKind};
use crate::token::{Kw, Punct};
use anymetal_diagnostics::{Diagnostic, Span};
use table::Meaning;

/// The alignment that `aligned` without a number stands for: the largest of a type.
const MAX_NATURAL_ALIGN: u64 = 16;

/// Attributes gathered on the way through a declaration.
#[derive(Clone, Default)]
pub(super) struct Attributes {
    pub(super) list: Vec<Attribute>,
    /// The expressions of `alignas(e)` and `aligned(e)`.
    pub(super) align: Vec<Alignment>,
    /// Where `packed` stands.
    pub(super) packed: Option<Span>,
    /// The number of elements in `ext_vector_type(n)`.
    pub(super) vector: Option<Expr>,
}

impl Attributes {
    pub(super) fn has(&self, name: &str) -> bool {
        self.list.iter().any(|attribute| attribute.name.as_str() == name)
    }

    /// The stage of a graphics function with these attributes.
    pub(super) fn graphics_stage(&self) -> Option<GraphicsStage> {
        self.list.iter().find_map(|attribute| GraphicsStage::of_attribute(attribute.name.as_str()))
    }
}

pub(super) fn at(p: &Parser<'_>) -> bool {
    (p.is(Punct::LBracket) && p.next_is(1, Punct::LBracket)) || p.is_kw(Kw::Attribute) || p.is_kw(Kw::Alignas)
}

/// Parses any number of attributes of all spellings.
pub(super) fn attributes(p: &mut Parser<'_>, into: &mut Attributes) {
    while at(p) {
        if p.eat_kw(Kw::Alignas) {
            alignas(p, into);
        } else if p.eat_kw(Kw::Attribute) {
            p.expect(Punct::LParen, "after `__attribute__`");
            p.expect(Punct::LParen, "after `__attribute__(`");
            list(p, into, Punct::RParen);
            p.expect(Punct::RParen, "to end the attribute");
            p.expect(Punct::RParen, "to end the attribute");
        } else {
            p.advance();
            p.advance();
            list(p, into, Punct::RBracket);
            p.expect(Punct::RBracket, "to end the attribute");
            p.expect(Punct::RBracket, "to end the attribute");
        }
    }
}

fn alignas(p: &mut Parser<'_>, into: &mut Attributes) {
    if !p.expect(Punct::LParen, "after `alignas`") {
        return;
    }
    let start = p.span();
    let expr = match p.attempt(|p| specifier::type_id(p).filter(|_| p.is(Punct::RParen))) {
        Some(ty) => Expr { span: ty.span, kind: crate::ast::ExprKind::AlignofType(Box::new(ty)) },
        None => expr::parenthesised(p),
    };
    let value = Expr { span: p.since(start), ..expr };
    into.align.push(Alignment { value, is_alignas: true });
    p.expect(Punct::RParen, "to end `alignas`");
}

fn list(p: &mut Parser<'_>, into: &mut Attributes, end: Punct) {
    while !p.is(end) && !p.at_end() {
        if p.eat(Punct::Comma) {
            continue;
        }
        let start = p.span();
        let Some(mut name) = p.tokens.get(p.at).and_then(|token| token.word()) else {
            let found = p.peek();
            p.error("expected-name", start, format!("expected an attribute's name, found {found}"));
            p.skip_until(&[end, Punct::LBrace, Punct::RBrace, Punct::Semi]);
            return;
        };
        p.advance();
        let mut namespace = None;
        if p.eat(Punct::ColonColon)
            && let Some(word) = p.tokens.get(p.at).and_then(|token| token.word())
        {
            p.advance();
            namespace = Some(name);
            name = word;
        }
        let takes_arguments = p.is(Punct::LParen);
        let args = if p.eat(Punct::LParen) { args(p) } else { Vec::new() };
        if takes_arguments && namespace.is_none() && table::takes_no_arguments(name.as_str()) {
            let message = format!("attribute `{name}` cannot have an argument list");
            p.rule_error("attribute-argument", p.since(start), message);
        }
        if name.as_str() == "annotate" && args.is_empty() {
            p.rule_error(
                "attribute-argument",
                p.since(start),
                "attribute `annotate` takes at least 1 argument",
            );
        }
        keep(p, into, Attribute { namespace, name, args, span: p.since(start) });
    }
}

/// Files an attribute by what it means, or refuses it.
fn keep(p: &mut Parser<'_>, into: &mut Attributes, attribute: Attribute) {
    let name = attribute.name.as_str();
    let known_namespace =
        attribute.namespace.is_none_or(|namespace| matches!(namespace.as_str(), "gnu" | "clang" | "metal"));
    match table::meaning(name).filter(|_| known_namespace) {
        Some(Meaning::Harmless | Meaning::Metal) => into.list.push(attribute),
        Some(Meaning::Packed) => into.packed = Some(attribute.span),
        Some(Meaning::Aligned) => {
            let span = attribute.span;
            let natural =
                ExprKind::Int { value: MAX_NATURAL_ALIGN, unsigned: false, long: false, decimal: true };
            let value = attribute.args.into_iter().next().unwrap_or(Expr { kind: natural, span });
            into.align.push(Alignment { value, is_alignas: false });
        }
        Some(Meaning::ExtVector) => match attribute.args.into_iter().next() {
            Some(len) => into.vector = Some(len),
            None => p.error(
                "attribute-argument",
                attribute.span,
                "`ext_vector_type` takes the number of elements",
            ),
        },
        Some(Meaning::Refused) => {
            let message = format!("`{name}` changes what this declares, and is not supported");
            let mut diagnostic = Diagnostic::error("unsupported-attribute", attribute.span, message);
            if table::plain_name(name) == "vector_size" {
                diagnostic = diagnostic.with_hint("`ext_vector_type(n)` makes a vector of n elements");
            }
            p.report(diagnostic);
        }
        None => {
            let message = format!("`{name}` is not known, and ignored");
            p.warn(Diagnostic::warning("unknown-attribute", attribute.span, message));
        }
    }
}

/// Reports attributes that would lay data out otherwise, at a place where they cannot be carried out.
pub(super) fn refuse_layout(p: &mut Parser<'_>, attributes: &Attributes, place: &str) {
    if let Some(align) = attributes.align.first() {
        let message = format!("an alignment of {place} is not supported");
        p.error("unsupported-attribute", align.value.span, message);
    }
    if let Some(packed) = attributes.packed {
        p.error("unsupported-attribute", packed, format!("`packed` is not supported on {place}"));
    }
    if let Some(vector) = &attributes.vector {
        let message = format!("`ext_vector_type` is not supported on {place}");
        p.error("unsupported-attribute", vector.span, message);
    }
}

/// Ignores attributes that would lay data out otherwise in the name of a type, which declares no data, as
/// clang does.
pub(super) fn ignore_layout(p: &mut Parser<'_>, attributes: &Attributes) {
    let aligned = attributes.align.first().map(|align| ("aligned", align.value.span));
    let packed = attributes.packed.map(|span| ("packed", span));
    for (name, span) in aligned.into_iter().chain(packed) {
        let message = format!("`{name}` has no effect in the name of a type");
        p.warn(Diagnostic::warning("ignored-attributes", span, message));
    }
    if let Some(vector) = &attributes.vector {
        p.error("unsupported-attribute", vector.span, "`ext_vector_type` is not supported on a type");
    }
}

/// The vector type that `ext_vector_type` makes of a type, or the type itself.
pub(super) fn vector_of(attributes: &mut Attributes, ty: Type) -> Type {
    let Some(len) = attributes.vector.take() else { return ty };
    let span = ty.span;
    Type { kind: TypeKind::ExtVector(Box::new(ty), Box::new(len)), quals: Default::default(), span }
}

fn args(p: &mut Parser<'_>) -> Vec<Expr> {
    let mut args = Vec::new();
    let angle = std::mem::replace(&mut p.angle, false);
    while !p.is(Punct::RParen) && !p.at_end() {
        let before = p.at;
        args.push(expr::assignment(p));
        if !p.eat(Punct::Comma) && !p.is(Punct::RParen) {
            break;
        }
        if p.at == before {
            break;
        }
    }
    p.expect(Punct::RParen, "to end the attribute's arguments");
    p.angle = angle;
    args
}
