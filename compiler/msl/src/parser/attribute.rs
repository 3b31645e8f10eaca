//! `[[…]]`, `__attribute__((…))` and `alignas`.
//!
//! `table` says what each name means. What lays data out otherwise (`aligned`, `packed`, `ext_vector_type`)
//! is kept apart from the rest: each place that attributes may stand at takes it or refuses it
//! ([`Parser::refuse_layout`]).

pub(super) mod table;

use super::Parser;
use crate::ast::{Attribute, Expr, ExprKind, Type, TypeKind};
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
    pub(super) align: Vec<Expr>,
    /// Where `packed` stands.
    pub(super) packed: Option<Span>,
    /// The number of elements in `ext_vector_type(n)`.
    pub(super) vector: Option<Expr>,
}

impl Attributes {
    pub(super) fn has(&self, name: &str) -> bool {
        self.list.iter().any(|attribute| attribute.name.as_str() == name)
    }
}

impl Parser<'_> {
    pub(super) fn at_attribute(&self) -> bool {
        (self.is(Punct::LBracket) && self.next_is(1, Punct::LBracket))
            || self.is_kw(Kw::Attribute)
            || self.is_kw(Kw::Alignas)
    }

    /// Parses any number of attributes of all spellings.
    pub(super) fn attributes(&mut self, into: &mut Attributes) {
        while self.at_attribute() {
            if self.eat_kw(Kw::Alignas) {
                self.alignas(into);
            } else if self.eat_kw(Kw::Attribute) {
                self.expect(Punct::LParen, "after `__attribute__`");
                self.expect(Punct::LParen, "after `__attribute__(`");
                self.attribute_list(into, Punct::RParen);
                self.expect(Punct::RParen, "to end the attribute");
                self.expect(Punct::RParen, "to end the attribute");
            } else {
                self.advance();
                self.advance();
                self.attribute_list(into, Punct::RBracket);
                self.expect(Punct::RBracket, "to end the attribute");
                self.expect(Punct::RBracket, "to end the attribute");
            }
        }
    }

    fn alignas(&mut self, into: &mut Attributes) {
        if !self.expect(Punct::LParen, "after `alignas`") {
            return;
        }
        let start = self.span();
        let expr = match self.attempt(|p| p.type_id().filter(|_| p.is(Punct::RParen))) {
            Some(ty) => Expr { span: ty.span, kind: crate::ast::ExprKind::AlignofType(Box::new(ty)) },
            None => self.parenthesised_expr(),
        };
        into.align.push(Expr { span: self.since(start), ..expr });
        self.expect(Punct::RParen, "to end `alignas`");
    }

    fn attribute_list(&mut self, into: &mut Attributes, end: Punct) {
        while !self.is(end) && !self.at_end() {
            if self.eat(Punct::Comma) {
                continue;
            }
            let start = self.span();
            let Some(mut name) = self.tokens.get(self.at).and_then(|token| token.word()) else {
                let found = self.peek();
                self.error("expected-name", start, format!("expected an attribute's name, found {found}"));
                self.skip_until(&[end, Punct::LBrace, Punct::RBrace, Punct::Semi]);
                return;
            };
            self.advance();
            let mut namespace = None;
            if self.eat(Punct::ColonColon)
                && let Some(word) = self.tokens.get(self.at).and_then(|token| token.word())
            {
                self.advance();
                namespace = Some(name);
                name = word;
            }
            let args = if self.eat(Punct::LParen) { self.attribute_args() } else { Vec::new() };
            self.keep_attribute(into, Attribute { namespace, name, args, span: self.since(start) });
        }
    }

    /// Files an attribute by what it means, or refuses it.
    fn keep_attribute(&mut self, into: &mut Attributes, attribute: Attribute) {
        let name = attribute.name.as_str();
        let known_namespace = attribute
            .namespace
            .is_none_or(|namespace| matches!(namespace.as_str(), "gnu" | "clang" | "metal"));
        match table::meaning(name).filter(|_| known_namespace) {
            Some(Meaning::Harmless | Meaning::Metal) => into.list.push(attribute),
            Some(Meaning::Packed) => into.packed = Some(attribute.span),
            Some(Meaning::Aligned) => {
                let span = attribute.span;
                let natural =
                    ExprKind::Int { value: MAX_NATURAL_ALIGN, unsigned: false, long: false, decimal: true };
                let align = attribute.args.into_iter().next().unwrap_or(Expr { kind: natural, span });
                into.align.push(align);
            }
            Some(Meaning::ExtVector) => match attribute.args.into_iter().next() {
                Some(len) => into.vector = Some(len),
                None => self.error(
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
                self.report(diagnostic);
            }
            None => {
                let message = format!("`{name}` is not known, and ignored");
                self.warn(Diagnostic::warning("unknown-attribute", attribute.span, message));
            }
        }
    }

    /// Reports attributes that would lay data out otherwise, at a place where they cannot be carried out.
    pub(super) fn refuse_layout(&mut self, attributes: &Attributes, place: &str) {
        if let Some(align) = attributes.align.first() {
            let message = format!("an alignment of {place} is not supported");
            self.error("unsupported-attribute", align.span, message);
        }
        if let Some(packed) = attributes.packed {
            self.error("unsupported-attribute", packed, format!("`packed` is not supported on {place}"));
        }
        if let Some(vector) = &attributes.vector {
            let message = format!("`ext_vector_type` is not supported on {place}");
            self.error("unsupported-attribute", vector.span, message);
        }
    }

    /// The vector type that `ext_vector_type` makes of a type, or the type itself.
    pub(super) fn vector_of(&mut self, attributes: &mut Attributes, ty: Type) -> Type {
        let Some(len) = attributes.vector.take() else { return ty };
        let span = ty.span;
        Type { kind: TypeKind::ExtVector(Box::new(ty), Box::new(len)), quals: Default::default(), span }
    }

    fn attribute_args(&mut self) -> Vec<Expr> {
        let mut args = Vec::new();
        let angle = std::mem::replace(&mut self.angle, false);
        while !self.is(Punct::RParen) && !self.at_end() {
            let before = self.at;
            args.push(self.assignment_expr());
            if !self.eat(Punct::Comma) && !self.is(Punct::RParen) {
                break;
            }
            if self.at == before {
                break;
            }
        }
        self.expect(Punct::RParen, "to end the attribute's arguments");
        self.angle = angle;
        args
    }
}
