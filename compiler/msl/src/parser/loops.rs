//! Loops, and the pragmas in front of them.

use super::Parser;
use super::declarator::Place;
use crate::ast::{Expr, ForInit, ItemKind, LoopHint, Stmt, StmtKind, Variable};
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
        let (cond, declared) = match self.is(Punct::Semi) {
            true => (None, None),
            false => {
                let (cond, declared) = self.condition();
                (Some(cond), declared)
            }
        };
        self.expect(Punct::Semi, "after the loop's condition");
        let step = if self.is(Punct::RParen) { None } else { Some(Box::new(self.parenthesised_expr())) };
        self.expect(Punct::RParen, "to end the loop's head");
        let (cond, body) = self.loop_body(cond, declared);
        StmtKind::For { init: Box::new(init), cond: cond.map(Box::new), step, body, hint }
    }

    /// The body of a loop. A condition that declares a variable does so in each iteration, so it becomes
    /// part of the body: `if (T x = e) body else break;`.
    fn loop_body(
        &mut self,
        cond: Option<Expr>,
        declared: Option<Box<Variable>>,
    ) -> (Option<Expr>, Box<Stmt>) {
        let body = Box::new(self.statement());
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
        let entered = self.enter();
        let (cond, declared) = self.condition();
        self.expect(Punct::RParen, "to end the condition");
        let (cond, body) = self.loop_body(Some(cond), declared);
        self.leave(entered);
        match cond {
            Some(cond) => StmtKind::While { cond, body, hint },
            None => StmtKind::For { init: Box::new(ForInit::Empty), cond: None, step: None, body, hint },
        }
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
