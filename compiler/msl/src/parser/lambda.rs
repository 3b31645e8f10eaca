//! Lambdas: captures, parameters, body.

use super::Parser;
use crate::ast::{Expr, ExprKind, InitCapture, Lambda, Noexcept};
use crate::token::{Kw, Name, Punct, TokenKind};
use std::sync::Arc;

/// A capture list.
struct Captures {
    /// `=` or `&` stands in it.
    all: bool,
    /// `&` stands in it.
    by_reference: bool,
    /// Names, and whether by reference.
    named: Vec<(Name, bool, anymetal_diagnostics::Span)>,
    /// Those with initialisers.
    initialised: Vec<InitCapture>,
}

impl Parser<'_> {
    pub(super) fn lambda(&mut self) -> Expr {
        let start = self.span();
        self.advance();
        let captures = self.captures();
        self.expect(Punct::RBracket, "to end the capture list");
        let entered = self.enter();
        let angle = std::mem::replace(&mut self.angle, false);
        let lambda = self.nested(|p| p.lambda_rest(captures), |_| None);
        self.angle = angle;
        self.leave(entered);
        match lambda {
            Some(lambda) => self.node(ExprKind::Lambda(Arc::new(lambda)), start, 0),
            None => self.error_expr(),
        }
    }

    fn captures(&mut self) -> Captures {
        let mut captures =
            Captures { all: false, by_reference: false, named: Vec::new(), initialised: Vec::new() };
        while !self.is(Punct::RBracket) && !self.at_end() {
            let reference = self.eat(Punct::Amp);
            match self.peek() {
                TokenKind::Ident(name) => {
                    let span = self.span();
                    self.advance();
                    match self.capture_initialiser() {
                        Some(init) => {
                            captures.initialised.push(InitCapture { name, by_reference: reference, init });
                        }
                        None => captures.named.push((name, reference, span)),
                    }
                }
                TokenKind::Keyword(Kw::This) => {
                    self.advance();
                }
                TokenKind::Punct(Punct::Assign) => {
                    captures.all = true;
                    self.advance();
                }
                _ => {
                    captures.all |= reference;
                    captures.by_reference |= reference;
                }
            }
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        captures
    }

    /// `= e`, `(e)` or `{e}` after a captured name.
    fn capture_initialiser(&mut self) -> Option<Expr> {
        let close = match self.peek() {
            TokenKind::Punct(Punct::Assign) => None,
            TokenKind::Punct(Punct::LParen) => Some(Punct::RParen),
            TokenKind::Punct(Punct::LBrace) => Some(Punct::RBrace),
            _ => return None,
        };
        self.advance();
        let init = self.assignment_expr();
        if let Some(close) = close {
            self.expect(close, "to end the capture's initialiser");
        }
        Some(init)
    }

    fn lambda_rest(&mut self, captures: Captures) -> Option<Lambda> {
        let params = if self.is(Punct::LParen) { self.parameters()?.0 } else { Vec::new() };
        let mut attributes = super::attribute::Attributes::default();
        while self.eat_kw(Kw::Constexpr) || self.eat_kw(Kw::Mutable) {}
        let noexcept = if self.is_kw(Kw::Noexcept) { self.noexcept_specifier() } else { Noexcept::Absent };
        self.attributes(&mut attributes);
        let ret = if self.eat(Punct::Arrow) { Some(self.type_id()?) } else { None };
        let body = self.own_body(Self::block);
        let Captures { all, by_reference, named, initialised } = captures;
        let fp = self.fp;
        Some(Lambda {
            id: self.ids.fresh(),
            captures_all: all,
            by_reference,
            captures: named,
            initialised,
            params,
            ret,
            noexcept,
            body,
            fp,
        })
    }
}
