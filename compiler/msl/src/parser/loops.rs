//! Loops, and the pragmas in front of them.

use super::declarator::Place;
use super::{
    Parser, ambiguity, attribute, bindings, decl, declarator, expr, init_list, specifier, stmt, variable,
};
use crate::ast::{Expr, ForInit, ItemKind, LoopHint, Stmt, StmtKind, Variable};
use crate::token::{Kw, Name, Pragma, Punct, TokenKind, UnrollHint};
use anymetal_diagnostics::Span;

/// The variable, the names of its elements if they are bound, and the range.
type RangeHeader = (Variable, Option<Vec<(Name, Span)>>, Expr);

/// Loop pragmas in front of a statement, which must be a loop.
pub(super) fn loop_hint(p: &mut Parser<'_>) -> Option<LoopHint> {
    let hint = loop_pragmas(p);
    let is_loop = matches!(p.peek(), TokenKind::Keyword(Kw::For | Kw::While | Kw::Do));
    if hint.is_some() && !is_loop && !attribute::at(p) {
        p.error("misplaced-pragma", p.span(), "expected a `for`, `while` or `do` loop after the loop pragma");
    }
    hint
}

fn loop_pragmas(p: &mut Parser<'_>) -> Option<LoopHint> {
    let mut hint = None;
    loop {
        let is_further = hint.is_some();
        if is_further && matches!(p.peek(), TokenKind::Pragma(Pragma::Unroll(_) | Pragma::UnrollCountBegin)) {
            p.error("misplaced-pragma", p.span(), "the loop has another pragma about unrolling");
        }
        match p.peek() {
            TokenKind::Pragma(Pragma::Unroll(kind)) => {
                p.advance();
                hint = Some(match kind {
                    UnrollHint::Enable => LoopHint::Enable,
                    UnrollHint::Full => LoopHint::Full,
                    UnrollHint::Disable => LoopHint::Disable,
                });
            }
            TokenKind::Pragma(Pragma::UnrollCountBegin) => {
                p.advance();
                hint = Some(LoopHint::Count(expr::parse(p)));
                while !matches!(p.peek(), TokenKind::Pragma(Pragma::End) | TokenKind::Eof) {
                    p.advance();
                }
                p.advance();
            }
            _ => return hint,
        }
    }
}

pub(super) fn for_statement(p: &mut Parser<'_>, hint: Option<Box<LoopHint>>) -> StmtKind {
    p.advance();
    p.expect(Punct::LParen, "after `for`");
    let entered = p.enter();
    let kind = match range_for_header(p) {
        Some((variable, bindings, range)) => {
            let body = Box::new(stmt::parse(p));
            let (ty, variable) = (Box::new(variable.ty.clone()), Box::new(variable));
            StmtKind::RangeFor { ty, variable, bindings, range, body, hint }
        }
        None => for_rest(p, hint),
    };
    p.leave(entered);
    kind
}

fn for_rest(p: &mut Parser<'_>, hint: Option<Box<LoopHint>>) -> StmtKind {
    let init = if p.eat(Punct::Semi) {
        ForInit::Empty
    } else if ambiguity::may_start_declaration(p) {
        let items = decl::item_at(p, Place::Block);
        let variables = items.into_iter().filter_map(|item| match item.kind {
            ItemKind::Variable(variable) => Some(*variable),
            _ => None,
        });
        ForInit::Declaration(variables.collect())
    } else {
        let expr = expr::parse(p);
        p.expect(Punct::Semi, "after the loop's first clause");
        ForInit::Expr(expr)
    };
    let (cond, declared) = match p.is(Punct::Semi) {
        true => (None, None),
        false => {
            let (cond, declared) = stmt::condition(p);
            (Some(cond), declared)
        }
    };
    p.expect(Punct::Semi, "after the loop's condition");
    let step = if p.is(Punct::RParen) { None } else { Some(Box::new(expr::parenthesised(p))) };
    p.expect(Punct::RParen, "to end the loop's head");
    let (cond, body) = body(p, cond, declared);
    StmtKind::For { init: Box::new(init), cond: cond.map(Box::new), step, body, hint }
}

/// The body of a loop. A condition that declares a variable does so in each iteration, so it becomes
/// part of the body: `if (T x = e) body else break;`.
fn body(
    p: &mut Parser<'_>,
    cond: Option<Expr>,
    declared: Option<Box<Variable>>,
) -> (Option<Expr>, Box<Stmt>) {
    let body = Box::new(stmt::parse(p));
    let (Some(cond), Some(variable)) = (&cond, declared) else { return (cond, body) };
    let span = body.span;
    let otherwise = Some(Box::new(Stmt { kind: StmtKind::Break, span }));
    let kind = StmtKind::If {
        is_constexpr: false,
        init: None,
        cond: cond.clone(),
        declared: Some(variable),
        then: body,
        otherwise,
    };
    (None, Box::new(Stmt { kind, span }))
}

/// `T x : range)` or `auto [a, b] : range)`, or nothing happened.
fn range_for_header(p: &mut Parser<'_>) -> Option<RangeHeader> {
    if !ambiguity::may_start_declaration(p) {
        return None;
    }
    p.attempt(|p| {
        let specs = specifier::parse(p, true)?;
        let (variable, bindings) = if bindings::at(p, &specs) {
            let bindings = bindings::head(p, specs)?;
            (bindings.variable, Some(bindings.names))
        } else {
            let base = specs.ty?;
            let declarator = declarator::parse(p, base, Place::Block, true)?;
            p.is(Punct::Colon).then_some(())?;
            (variable::rest(p, declarator, &specs.function, specs.attributes.list, false), None)
        };
        p.eat(Punct::Colon).then_some(())?;
        let range = if p.is(Punct::LBrace) { init_list::parse(p) } else { expr::parse(p) };
        p.eat(Punct::RParen).then_some((variable, bindings, range))
    })
}

pub(super) fn while_statement(p: &mut Parser<'_>, hint: Option<Box<LoopHint>>) -> StmtKind {
    p.advance();
    p.expect(Punct::LParen, "after `while`");
    let entered = p.enter();
    let (cond, declared) = stmt::condition(p);
    p.expect(Punct::RParen, "to end the condition");
    let (cond, body) = body(p, Some(cond), declared);
    p.leave(entered);
    match cond {
        Some(cond) => StmtKind::While { cond, body, hint },
        None => StmtKind::For { init: Box::new(ForInit::Empty), cond: None, step: None, body, hint },
    }
}

pub(super) fn do_statement(p: &mut Parser<'_>, hint: Option<Box<LoopHint>>) -> StmtKind {
    p.advance();
    let body = Box::new(stmt::parse(p));
    if !p.eat_kw(Kw::While) {
        let found = p.peek();
        p.error("expected-token", p.span(), format!("expected `while` after the loop's body, found {found}"));
    }
    p.expect(Punct::LParen, "after `while`");
    let cond = expr::parenthesised(p);
    p.expect(Punct::RParen, "to end the condition");
    p.end_at_semicolon("this");
    StmtKind::DoWhile { body, cond, hint }
}
