//! Lambdas: captures, parameters, body.

use super::{Parser, attribute, declarator, expr, function, specifier, statement_expr, stmt};
use crate::ast::{Expr, ExprKind, InitCapture, Lambda, Noexcept};
use crate::token::{Kw, Name, Punct, TokenKind};
use std::sync::Arc;

/// A capture list.
struct Captures {
    /// `=` or `&` stands in it.
    all: bool,
    /// `&` stands in it.
    by_reference: bool,
    /// `*this` stands in it.
    copies_this: bool,
    /// Names, and whether by reference.
    named: Vec<(Name, bool, anymetal_diagnostics::Span)>,
    /// Those with initialisers.
    initialised: Vec<InitCapture>,
}

pub(super) fn parse(p: &mut Parser<'_>) -> Expr {
    let start = p.span();
    p.advance();
    let captures = captures(p);
    p.expect(Punct::RBracket, "to end the capture list");
    let entered = p.enter();
    let angle = std::mem::replace(&mut p.angle, false);
    let lambda = p.nested(|p| rest(p, captures), |_| None);
    p.angle = angle;
    p.leave(entered);
    match lambda {
        Some(lambda) => expr::node(p, ExprKind::Lambda(Arc::new(lambda)), start, 0),
        None => expr::error(p),
    }
}

fn captures(p: &mut Parser<'_>) -> Captures {
    let mut captures = Captures {
        all: false,
        by_reference: false,
        copies_this: false,
        named: Vec::new(),
        initialised: Vec::new(),
    };
    while !p.is(Punct::RBracket) && !p.at_end() {
        let reference = p.eat(Punct::Amp);
        match p.peek() {
            TokenKind::Ident(name) => {
                let span = p.span();
                p.advance();
                p.eat(Punct::Ellipsis);
                match capture_initialiser(p) {
                    Some(init) => {
                        captures.initialised.push(InitCapture { name, by_reference: reference, init });
                    }
                    None => captures.named.push((name, reference, span)),
                }
            }
            TokenKind::Keyword(Kw::This) => {
                p.advance();
            }
            TokenKind::Punct(Punct::Star) if p.peek_at(1) == TokenKind::Keyword(Kw::This) => {
                captures.copies_this = true;
                p.advance();
                p.advance();
            }
            TokenKind::Punct(Punct::Assign) => {
                captures.all = true;
                p.advance();
            }
            _ => {
                captures.all |= reference;
                captures.by_reference |= reference;
            }
        }
        if !p.eat(Punct::Comma) {
            break;
        }
    }
    captures
}

/// `= e`, `(e)` or `{e}` after a captured name.
fn capture_initialiser(p: &mut Parser<'_>) -> Option<Expr> {
    let close = match p.peek() {
        TokenKind::Punct(Punct::Assign) => None,
        TokenKind::Punct(Punct::LParen) => Some(Punct::RParen),
        TokenKind::Punct(Punct::LBrace) => Some(Punct::RBrace),
        _ => return None,
    };
    p.advance();
    let init = expr::assignment(p);
    if let Some(close) = close {
        p.expect(close, "to end the capture's initialiser");
    }
    Some(init)
}

fn rest(p: &mut Parser<'_>, captures: Captures) -> Option<Lambda> {
    let params = if p.is(Punct::LParen) { declarator::parameters(p)?.0 } else { Vec::new() };
    let mut attributes = super::attribute::Attributes::default();
    let mut words = Vec::new();
    while let TokenKind::Keyword(word @ (Kw::Constexpr | Kw::Mutable)) = p.peek() {
        if words.contains(&word) {
            let message = format!("{} stands twice here", TokenKind::Keyword(word));
            p.error("misplaced-specifier", p.span(), message);
        }
        words.push(word);
        p.advance();
    }
    let noexcept = if p.is_kw(Kw::Noexcept) { function::noexcept_specifier(p) } else { Noexcept::Absent };
    attribute::attributes(p, &mut attributes);
    let ret = if p.eat(Punct::Arrow) { Some(specifier::type_id(p)?) } else { None };
    let body = statement_expr::own_body(p, stmt::block);
    let Captures { all, by_reference, copies_this, named, initialised } = captures;
    let fp = p.fp;
    Some(Lambda {
        id: p.ids.fresh(),
        captures_all: all,
        by_reference,
        copies_this,
        captures: named,
        initialised,
        params,
        ret,
        noexcept,
        body,
        fp,
    })
}
