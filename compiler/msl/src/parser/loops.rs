//! Loops, and the pragmas in front of them.

use super::declarator::Place;
use super::{
    Parser, ambiguity, attribute, bindings, decl, declarator, expr, init_list, specifier, stmt, variable,
};
use crate::ast::{Expr, ForInit, ItemKind, LoopHint, Stmt, StmtKind, Unroll, Variable};
use crate::token::{Kw, LoopCount, LoopSetting, LoopTransform, Name, Pragma, Punct, TokenKind};
use anymetal_diagnostics::Span;

/// The variable, the names of its elements if they are bound, and the range.
type RangeHeader = (Variable, Option<Vec<(Name, Span)>>, Expr);

/// Loop pragmas in front of a statement, which must be a loop.
pub(super) fn loop_hint(p: &mut Parser<'_>) -> Option<LoopHint> {
    if !at_loop_pragma(p) {
        return None;
    }
    let mut hint = LoopHint::default();
    let mut known = Vec::new();
    while at_loop_pragma(p) {
        loop_pragma(p, &mut hint, &mut known);
    }
    let at = p.span();
    if attribute::at(p) {
        // Attributes of the loop.
        attribute::attributes(p, &mut Default::default());
    }
    if !matches!(p.peek(), TokenKind::Keyword(Kw::For | Kw::While | Kw::Do)) {
        p.error("misplaced-pragma", at, "expected a `for`, `while` or `do` loop after the loop pragma");
    }
    Some(hint)
}

/// The transformation and the setting of a pragma; `None` for a number.
type Hinted = (LoopTransform, Option<LoopSetting>);

fn at_loop_pragma(p: &Parser<'_>) -> bool {
    matches!(p.peek(), TokenKind::Pragma(Pragma::Loop(..) | Pragma::LoopCountBegin(_)))
}

fn loop_pragma(p: &mut Parser<'_>, hint: &mut LoopHint, known: &mut Vec<Hinted>) {
    let span = p.span();
    match p.advance() {
        TokenKind::Pragma(Pragma::Loop(transform, setting)) => {
            check_compatible(p, known, (transform, Some(setting)), span);
            if transform == LoopTransform::Unroll {
                hint.unroll = Some(match setting {
                    LoopSetting::Enable | LoopSetting::AssumeSafety => Unroll::Enable,
                    LoopSetting::Full => Unroll::Full,
                    LoopSetting::Disable => Unroll::Disable,
                });
            }
        }
        TokenKind::Pragma(Pragma::LoopCountBegin(LoopCount { transform, may_be_zero })) => {
            check_compatible(p, known, (transform, None), span);
            let count = expr::parse(p);
            while !matches!(p.peek(), TokenKind::Pragma(Pragma::End) | TokenKind::Eof) {
                p.advance();
            }
            p.advance();
            if transform == LoopTransform::Unroll {
                hint.unroll = Some(Unroll::Count { count, may_be_zero });
            } else {
                hint.counts.push(count);
            }
        }
        other => unreachable!("{other} is not a loop pragma"),
    }
}

/// Reports a pragma that repeats or contradicts an earlier pragma of the loop, as clang does.
fn check_compatible(p: &mut Parser<'_>, known: &mut Vec<Hinted>, new: Hinted, span: Span) {
    let of_same = |&&(transform, _): &&Hinted| transform == new.0;
    let has_count = |setting: Option<LoopSetting>| setting.is_none();
    let is_repeated = known.iter().filter(of_same).any(|old| has_count(old.1) == has_count(new.1));
    let is_unrolling = matches!(new.0, LoopTransform::Unroll | LoopTransform::UnrollAndJam);
    let disables = |setting: Option<LoopSetting>| setting == Some(LoopSetting::Disable);
    let contradicts = known.iter().filter(of_same).any(|old| {
        has_count(old.1) != has_count(new.1) && (is_unrolling || disables(old.1) || disables(new.1))
    });
    if is_repeated || contradicts {
        let verb = if is_repeated { "repeats" } else { "contradicts" };
        p.error("misplaced-pragma", span, format!("the pragma {verb} another one of this loop"));
    }
    known.push(new);
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
            if let (ForInit::Declaration(variables), Some(declared)) = (&init, &declared)
                && variables.iter().any(|variable| variable.declarator.name == declared.declarator.name)
            {
                let name = declared.declarator.name;
                p.error("redefinition", declared.span, format!("redefinition of `{name}`"));
            }
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
            (variable::rest(p, declarator, &specs.function, specs.attributes, false), None)
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
