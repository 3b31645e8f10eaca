//! Lists in braces, with designators.

use super::Parser;
use crate::ast::{Designator, Expr, ExprKind, InitClause};
use crate::token::{Punct, TokenKind};

impl Parser<'_> {
    /// `{a, .b = c, {d}}`
    pub(super) fn init_list(&mut self) -> Expr {
        let start = self.span();
        let clauses = self.nested(Self::brace_clauses, |p| {
            p.height = 1;
            Vec::new()
        });
        let height = self.height;
        self.node(ExprKind::InitList(clauses), start, height)
    }

    /// The clauses of a braced list; the height is the greatest clause's.
    pub(super) fn brace_clauses(&mut self) -> Vec<InitClause> {
        self.expect(Punct::LBrace, "to begin the list");
        let angle = std::mem::replace(&mut self.angle, false);
        let mut clauses = Vec::new();
        let mut height = 0;
        while !self.is(Punct::RBrace) && !self.at_end() {
            let designators = self.designators();
            let value = if self.is(Punct::LBrace) { self.init_list() } else { self.assignment_expr() };
            let value = self.pack_expansion(value);
            height = height.max(self.height);
            let failed = matches!(value.kind, ExprKind::Error);
            clauses.push(InitClause { id: self.ids.fresh(), designators, value });
            if !self.eat(Punct::Comma) || failed {
                break;
            }
        }
        self.angle = angle;
        self.expect(Punct::RBrace, "to end the list");
        self.height = height;
        clauses
    }

    /// Values in parentheses as clauses.
    pub(super) fn plain_clauses(&mut self, values: Vec<Expr>) -> Vec<InitClause> {
        let ids = &mut self.ids;
        let clause = |value| InitClause { id: ids.fresh(), designators: Vec::new(), value };
        values.into_iter().map(clause).collect()
    }

    fn designators(&mut self) -> Vec<Designator> {
        let mut designators = Vec::new();
        loop {
            if self.is(Punct::Dot) && matches!(self.peek_at(1), TokenKind::Ident(_)) {
                self.advance();
                if let Some((name, span)) = self.ident("a member's name") {
                    designators.push(Designator::Field(name, span));
                }
            } else if self.is(Punct::LBracket) {
                // `[3] =` is an array designator; anything else here is a lambda.
                match self.attempt(Self::array_designator) {
                    Some(designator) => designators.push(designator),
                    None => break,
                }
            } else {
                break;
            }
        }
        if !designators.is_empty() {
            self.expect(Punct::Assign, "after the designator");
        }
        designators
    }

    /// `[3]` or `[0 ... 7]`, followed by `=`, `.` or `[`.
    fn array_designator(&mut self) -> Option<Designator> {
        self.advance();
        let first = self.parenthesised_expr();
        let last = if self.eat(Punct::Ellipsis) { Some(self.parenthesised_expr()) } else { None };
        self.eat(Punct::RBracket).then_some(())?;
        let follows = self.is(Punct::Assign) || self.is(Punct::Dot) || self.is(Punct::LBracket);
        follows.then_some(match last {
            Some(last) => Designator::Range(first, last),
            None => Designator::Index(first),
        })
    }
}
