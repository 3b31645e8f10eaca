//! Loops, and the pragmas in front of them.

use super::Parser;
use super::declarator::Place;
use crate::ast::{Expr, ForInit, ItemKind, LoopHint, StmtKind, Variable};
use crate::token::{Kw, Name, Pragma, Punct, TokenKind, UnrollHint};
use anymetal_diagnostics::Span;

/// The variable, the names of its elements if they are bound, and the range.
type RangeHeader = (Variable, Option<Vec<(Name, Span)>>, Expr);

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
                _ => return hint,
            }
        }
    }

    pub(super) fn for_statement(&mut self, hint: Option<Box<LoopHint>>) -> StmtKind {
        self.advance();
        self.expect(Punct::LParen, "after `for`");
        let entered = self.enter();
        let kind = match self.range_for_header() {
            Some((variable, bindings, range)) => {
                let body = Box::new(self.statement());
                let (ty, variable) = (Box::new(variable.ty.clone()), Box::new(variable));
                StmtKind::RangeFor { ty, variable, bindings, range, body, hint }
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

    /// `T x : range)` or `auto [a, b] : range)`, or nothing happened.
    fn range_for_header(&mut self) -> Option<RangeHeader> {
        if !self.may_start_declaration() {
            return None;
        }
        self.attempt(|p| {
            let specs = p.specifiers(true)?;
            let (variable, bindings) = if p.at_bindings(&specs) {
                let bindings = p.bindings_head(specs)?;
                (bindings.variable, Some(bindings.names))
            } else {
                let base = specs.ty?;
                let declarator = p.declarator(base, Place::Block, true)?;
                p.is(Punct::Colon).then_some(())?;
                (p.variable_rest(declarator, &specs.function, specs.attributes.list, false), None)
            };
            p.eat(Punct::Colon).then_some(())?;
            let range = if p.is(Punct::LBrace) { p.init_list() } else { p.expr() };
            p.eat(Punct::RParen).then_some((variable, bindings, range))
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
