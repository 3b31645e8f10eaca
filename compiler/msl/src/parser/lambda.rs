//! Lambdas: captures, parameters, body.

use super::scope::NameKind;
use super::{Parser, attribute, declarator, expr, function, specifier, statement_expr, stmt};
use crate::ast::{Expr, ExprKind, InitCapture, Lambda, Noexcept};
use crate::token::{Kw, Name, Punct, TokenKind};
use anymetal_diagnostics::Span;
use std::sync::Arc;

/// A capture list.
struct Captures {
    /// `=` or `&` stands in it.
    all: bool,
    /// `&` stands in it.
    by_reference: bool,
    /// `*this` stands in it.
    copies_this: bool,
    /// Where `this` or `*this` stands.
    this_at: Option<Span>,
    /// Names, and whether by reference.
    named: Vec<(Name, bool, Span)>,
    /// Those with initialisers.
    initialised: Vec<InitCapture>,
}

pub(super) fn parse(p: &mut Parser<'_>) -> Expr {
    let start = p.span();
    p.advance();
    let captures = captures(p);
    p.expect(Punct::RBracket, "to end the capture list");
    let entered = p.enter();
    for capture in &captures.initialised {
        p.scopes.declare(capture.name, NameKind::Value);
    }
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
        this_at: None,
        named: Vec::new(),
        initialised: Vec::new(),
    };
    let mut known = Vec::new();
    while !p.is(Punct::RBracket) && !p.at_end() {
        let start = p.span();
        let reference = p.eat(Punct::Amp);
        check_capture(p, &captures, &mut known, reference, start);
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
                captures.this_at = Some(start);
                p.advance();
            }
            TokenKind::Punct(Punct::Star) if p.peek_at(1) == TokenKind::Keyword(Kw::This) => {
                captures.copies_this = true;
                captures.this_at = Some(start);
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

/// Reports a capture that is repeated, or that the default says already (C++14 [expr.prim.lambda.8]).
fn check_capture(
    p: &mut Parser<'_>,
    captures: &Captures,
    known: &mut Vec<TokenKind>,
    reference: bool,
    start: Span,
) {
    let captured = p.peek();
    let is_this = captured == TokenKind::Keyword(Kw::This);
    if !is_this && !matches!(captured, TokenKind::Ident(_)) {
        // A default, or `*this`.
        return;
    }
    if known.contains(&captured) {
        p.rule_error("lambda-capture", start, format!("{captured} can appear only once in a capture list"));
        return;
    }
    known.push(captured);
    let is_initialised = matches!(
        p.peek_at(1),
        TokenKind::Punct(Punct::Assign | Punct::LParen | Punct::LBrace | Punct::Ellipsis)
    );
    if !captures.all || is_initialised || is_this || reference != captures.by_reference {
        return;
    }
    let message = match reference {
        true => "`&` cannot precede a capture when the capture default is `&`",
        false => "`&` must precede a capture when the capture default is `=`",
    };
    p.rule_error("lambda-capture", start, message);
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
    for param in &params {
        let is_captured = |name: Name| {
            captures.named.iter().any(|&(captured, ..)| captured == name)
                || captures.initialised.iter().any(|capture| capture.name == name)
        };
        if param.name.is_some_and(is_captured) {
            let message = "a lambda parameter cannot shadow an explicitly captured entity";
            p.rule_error("lambda-capture", param.span, message);
        }
    }
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
    let Captures { all, by_reference, copies_this, this_at, named, initialised } = captures;
    let fp = p.fp;
    Some(Lambda {
        id: p.ids.fresh(),
        captures_all: all,
        by_reference,
        copies_this,
        this_at,
        is_mutable: words.contains(&Kw::Mutable),
        captures: named,
        initialised,
        params,
        ret,
        noexcept,
        body,
        fp,
    })
}
