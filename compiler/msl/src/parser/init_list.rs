//! Lists in braces, with designators.

use super::{Parser, expr, postfix};
use crate::ast::{Designator, Expr, ExprKind, InitClause};
use crate::token::{Punct, TokenKind};

/// `{a, .b = c, {d}}`
pub(super) fn parse(p: &mut Parser<'_>) -> Expr {
    let start = p.span();
    let clauses = p.nested(brace_clauses, |p| {
        p.height = 1;
        Vec::new()
    });
    let height = p.height;
    expr::node(p, ExprKind::InitList(clauses), start, height)
}

/// The clauses of a braced list; the height is the greatest clause's.
pub(super) fn brace_clauses(p: &mut Parser<'_>) -> Vec<InitClause> {
    p.expect(Punct::LBrace, "to begin the list");
    let angle = std::mem::replace(&mut p.angle, false);
    let mut clauses = Vec::new();
    let mut height = 0;
    while !p.is(Punct::RBrace) && !p.at_end() {
        let designators = designators(p);
        let value = if p.is(Punct::LBrace) { parse(p) } else { expr::assignment(p) };
        let value = postfix::pack_expansion(p, value);
        height = height.max(p.height);
        let failed = matches!(value.kind, ExprKind::Error);
        clauses.push(InitClause { id: p.ids.fresh(), designators, value });
        if !p.eat(Punct::Comma) || failed {
            break;
        }
    }
    p.angle = angle;
    p.expect(Punct::RBrace, "to end the list");
    p.height = height;
    clauses
}

/// Values in parentheses as clauses.
pub(super) fn plain_clauses(p: &mut Parser<'_>, values: Vec<Expr>) -> Vec<InitClause> {
    let ids = &mut p.ids;
    let clause = |value| InitClause { id: ids.fresh(), designators: Vec::new(), value };
    values.into_iter().map(clause).collect()
}

fn designators(p: &mut Parser<'_>) -> Vec<Designator> {
    let mut designators = Vec::new();
    loop {
        if p.is(Punct::Dot) && matches!(p.peek_at(1), TokenKind::Ident(_)) {
            p.advance();
            if let Some((name, span)) = p.ident("a member's name") {
                designators.push(Designator::Field(name, span));
            }
        } else if p.is(Punct::LBracket) {
            // `[3] =` is an array designator; anything else here is a lambda.
            match p.attempt(array_designator) {
                Some(designator) => designators.push(designator),
                None => break,
            }
        } else {
            break;
        }
    }
    if !designators.is_empty() {
        p.expect(Punct::Assign, "after the designator");
    }
    designators
}

/// `[3]` or `[0 ... 7]`, followed by `=`, `.` or `[`.
fn array_designator(p: &mut Parser<'_>) -> Option<Designator> {
    p.advance();
    let first = expr::parenthesised(p);
    let last = if p.eat(Punct::Ellipsis) { Some(expr::parenthesised(p)) } else { None };
    p.eat(Punct::RBracket).then_some(())?;
    let follows = p.is(Punct::Assign) || p.is(Punct::Dot) || p.is(Punct::LBracket);
    follows.then_some(match last {
        Some(last) => Designator::Range(first, last),
        None => Designator::Index(first),
    })
}
