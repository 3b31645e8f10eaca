//! Loops, and the pragmas in front of them.

use super::Parser;
use super::declarator::Place;
use crate::ast::{Expr, ForInit, ItemKind, LoopHint, StmtKind, Type, Variable};
use crate::token::{Kw, Pragma, Punct, TokenKind, UnrollHint};

impl Parser<'_> {
    /// Loop pragmas in front of a statement. A hint before something else than a loop is dropped.
    pub(super) fn loop_hint(&mut self) -> Option<LoopHint> {
        let mut hint = None;
        loop {
            match self.peek() {
                TokenKind::Pragma(Pragma::Unroll(kind)) => {
                    self.advance();
                    hint = Some(match kind {
                        UnrollHint::Enable => LoopHint::Enable,
                        UnrollHint::Full => LoopHint::Full,
                        UnrollHint::Disable => LoopHint::Disable,
                    });
                }
                TokenKind::Pragma(Pragma::UnrollCountBegin) => {
                    self.advance();
                    hint = Some(LoopHint::Count(self.expr()));
                    while !matches!(self.peek(), TokenKind::Pragma(Pragma::End) | TokenKind::Eof) {
                        self.advance();
                    }
                    self.advance();
                }
                TokenKind::Pragma(Pragma::Contract(_)) => {
                    self.advance();
                }
                _ => return hint,
            }
        }
    }

    pub(super) fn for_statement(&mut self, hint: Option<Box<LoopHint>>) -> StmtKind {
        self.advance();
        self.expect(Punct::LParen, "after `for`");
        let entered = self.enter();
        let kind = match self.range_for_header() {
            Some((ty, variable, range)) => {
                let body = Box::new(self.statement());
                StmtKind::RangeFor { ty: Box::new(ty), variable: Box::new(variable), range, body, hint }
            }
            None => self.for_rest(hint),
        };
        self.leave(entered);
        kind
    }

    fn for_rest(&mut self, hint: Option<Box<LoopHint>>) -> StmtKind {
        let init = if self.eat(Punct::Semi) {
            ForInit::Empty
        } else if self.may_start_declaration() {
            let items = self.item_at(Place::Block);
            let variables = items.into_iter().filter_map(|item| match item.kind {
                ItemKind::Variable(variable) => Some(*variable),
                _ => None,
            });
            ForInit::Declaration(variables.collect())
        } else {
            let expr = self.expr();
            self.expect(Punct::Semi, "after the loop's first clause");
            ForInit::Expr(expr)
        };
        let cond = if self.is(Punct::Semi) { None } else { Some(Box::new(self.expr())) };
        self.expect(Punct::Semi, "after the loop's condition");
        let step = if self.is(Punct::RParen) { None } else { Some(Box::new(self.parenthesised_expr())) };
        self.expect(Punct::RParen, "to end the loop's head");
        let body = Box::new(self.statement());
        StmtKind::For { init: Box::new(init), cond, step, body, hint }
    }

    /// `T x : range)`, or nothing happened.
    fn range_for_header(&mut self) -> Option<(Type, Variable, Expr)> {
        if !self.may_start_declaration() {
            return None;
        }
        self.attempt(|p| {
            let specs = p.specifiers(true)?;
            let base = specs.ty?;
            let declarator = p.declarator(base, Place::Block, true)?;
            p.is(Punct::Colon).then_some(())?;
            let ty = declarator.ty.clone();
            let variable = p.variable_rest(declarator, &specs.function, specs.attributes.list, false);
            p.advance();
            let range = if p.is(Punct::LBrace) { p.init_list() } else { p.expr() };
            p.eat(Punct::RParen).then_some((ty, variable, range))
        })
    }

    pub(super) fn while_statement(&mut self, hint: Option<Box<LoopHint>>) -> StmtKind {
        self.advance();
        self.expect(Punct::LParen, "after `while`");
        let cond = self.parenthesised_expr();
        self.expect(Punct::RParen, "to end the condition");
        StmtKind::While { cond, body: Box::new(self.statement()), hint }
    }

    pub(super) fn do_statement(&mut self, hint: Option<Box<LoopHint>>) -> StmtKind {
        self.advance();
        let body = Box::new(self.statement());
        if !self.eat_kw(Kw::While) {
            let found = self.peek();
            self.error(
                "expected-token",
                self.span(),
                format!("expected `while` after the loop's body, found {found}"),
            );
        }
        self.expect(Punct::LParen, "after `while`");
        let cond = self.parenthesised_expr();
        self.expect(Punct::RParen, "to end the condition");
        self.end_at_semicolon("this");
        StmtKind::DoWhile { body, cond, hint }
    }
}
