//! Lambdas: captures, parameters, body.

use super::Parser;
use crate::ast::{Expr, ExprKind, Lambda};
use crate::token::{Kw, Name, Punct, TokenKind};
use std::sync::Arc;

impl Parser<'_> {
    pub(super) fn lambda(&mut self) -> Expr {
        let start = self.span();
        self.advance();
        let (by_reference, captures) = self.captures();
        self.expect(Punct::RBracket, "to end the capture list");
        let entered = self.enter();
        let angle = std::mem::replace(&mut self.angle, false);
        let lambda = self.nested(|p| p.lambda_rest(by_reference, captures), |_| None);
        self.angle = angle;
        self.leave(entered);
        match lambda {
            Some(lambda) => self.node(ExprKind::Lambda(Arc::new(lambda)), start, 0),
            None => self.error_expr(),
        }
    }

    fn captures(&mut self) -> (bool, Vec<(Name, bool, anymetal_diag::Span)>) {
        let mut by_reference = false;
        let mut captures = Vec::new();
        while !self.is(Punct::RBracket) && !self.at_end() {
            let reference = self.eat(Punct::Amp);
            match self.peek() {
                TokenKind::Ident(name) => {
                    captures.push((name, reference, self.span()));
                    self.advance();
                }
                TokenKind::Keyword(Kw::This) => {
                    self.advance();
                }
                TokenKind::Punct(Punct::Assign) => {
                    self.advance();
                }
                _ => by_reference |= reference,
            }
            if !self.eat(Punct::Comma) {
                break;
            }
        }
        (by_reference, captures)
    }

    fn lambda_rest(
        &mut self,
        by_reference: bool,
        captures: Vec<(Name, bool, anymetal_diag::Span)>,
    ) -> Option<Lambda> {
        let params = if self.is(Punct::LParen) { self.parameters()?.0 } else { Vec::new() };
        let mut attributes = super::attribute::Attributes::default();
        while self.eat_kw(Kw::Constexpr) || self.eat_kw(Kw::Mutable) {}
        self.attributes(&mut attributes);
        let ret = if self.eat(Punct::Arrow) { Some(self.type_id()?) } else { None };
        let body = self.block();
        Some(Lambda { by_reference, captures, params, ret, body })
    }
}
