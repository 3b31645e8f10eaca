//! `[[…]]`, `__attribute__((…))` and `alignas`.

use super::Parser;
use crate::ast::{Attribute, Expr};
use crate::token::{Kw, Punct};

/// Attributes gathered on the way through a declaration.
#[derive(Default)]
pub(super) struct Attributes {
    pub(super) list: Vec<Attribute>,
    /// `alignas(e)` expressions.
    pub(super) align: Vec<Expr>,
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
            into.list.push(Attribute { namespace, name, args, span: self.since(start) });
        }
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
