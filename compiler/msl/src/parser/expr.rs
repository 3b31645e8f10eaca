//! Expressions with operators; operands are in `postfix.rs`.
//!
//! Invariant: when a parsing function returns, [`Parser::height`] is the height of the expression it
//! returned; [`Parser::node`] keeps it within [`MAX_HEIGHT`], so that no walk over a tree recurses
//! deeper than that.

use super::{MAX_HEIGHT, Parser};
use crate::ast::{AssignOp, BinaryOp, CastKind, Expr, ExprKind, TypeKind, UnaryOp};
use crate::token::{Kw, Punct, TokenKind};
use anymetal_diagnostics::Span;

/// The operator's precedence (higher binds tighter) and meaning.
fn binary_operator(punct: Punct) -> Option<(u8, BinaryOp)> {
    Some(match punct {
        Punct::OrOr => (1, BinaryOp::LogicalOr),
        Punct::AndAnd => (2, BinaryOp::LogicalAnd),
        Punct::Pipe => (3, BinaryOp::BitOr),
        Punct::Caret => (4, BinaryOp::BitXor),
        Punct::Amp => (5, BinaryOp::BitAnd),
        Punct::EqEq => (6, BinaryOp::Eq),
        Punct::NotEq => (6, BinaryOp::Ne),
        Punct::Less => (7, BinaryOp::Lt),
        Punct::Greater => (7, BinaryOp::Gt),
        Punct::LessEq => (7, BinaryOp::Le),
        Punct::GreaterEq => (7, BinaryOp::Ge),
        Punct::Shl => (8, BinaryOp::Shl),
        Punct::Shr => (8, BinaryOp::Shr),
        Punct::Plus => (9, BinaryOp::Add),
        Punct::Minus => (9, BinaryOp::Sub),
        Punct::Star => (10, BinaryOp::Mul),
        Punct::Slash => (10, BinaryOp::Div),
        Punct::Percent => (10, BinaryOp::Rem),
        _ => return None,
    })
}

/// The operator without its precedence.
pub(super) fn binary_op(punct: Punct) -> Option<BinaryOp> {
    binary_operator(punct).map(|(_, op)| op)
}

pub(super) fn assign_operator(punct: Punct) -> Option<AssignOp> {
    Some(AssignOp(match punct {
        Punct::Assign => None,
        Punct::PlusEq => Some(BinaryOp::Add),
        Punct::MinusEq => Some(BinaryOp::Sub),
        Punct::StarEq => Some(BinaryOp::Mul),
        Punct::SlashEq => Some(BinaryOp::Div),
        Punct::PercentEq => Some(BinaryOp::Rem),
        Punct::ShlEq => Some(BinaryOp::Shl),
        Punct::ShrEq => Some(BinaryOp::Shr),
        Punct::AmpEq => Some(BinaryOp::BitAnd),
        Punct::CaretEq => Some(BinaryOp::BitXor),
        Punct::PipeEq => Some(BinaryOp::BitOr),
        _ => return None,
    }))
}

impl Parser<'_> {
    /// A node over children whose greatest height is `children`.
    pub(super) fn node(&mut self, kind: ExprKind, start: Span, children: u32) -> Expr {
        let span = self.since(start);
        if children >= MAX_HEIGHT {
            if self.pending_errors.is_none() {
                self.error("too-deep", span, format!("expression of more than {MAX_HEIGHT} levels"));
                self.at = self.tokens.len().saturating_sub(1);
                self.split_greater = false;
            } else {
                self.pending_errors = self.pending_errors.map(|count| count + 1);
            }
            self.height = 1;
            return Expr { kind: ExprKind::Error, span };
        }
        self.height = children + 1;
        Expr { kind, span }
    }

    pub(super) fn error_expr(&mut self) -> Expr {
        self.height = 1;
        Expr { kind: ExprKind::Error, span: self.span() }
    }

    /// A full expression, commas included.
    pub(super) fn expr(&mut self) -> Expr {
        let start = self.span();
        let mut left = self.assignment_expr();
        while self.is(Punct::Comma) && !self.at_fold() {
            self.advance();
            let height = self.height;
            let right = self.assignment_expr();
            let height = height.max(self.height);
            left =
                self.node(ExprKind::Binary(BinaryOp::Comma, Box::new(left), Box::new(right)), start, height);
        }
        left
    }

    /// A full expression inside parentheses or brackets, where `>` is an operator again.
    pub(super) fn parenthesised_expr(&mut self) -> Expr {
        let angle = std::mem::replace(&mut self.angle, false);
        let expr = self.expr();
        self.angle = angle;
        expr
    }

    /// An expression without top-level commas.
    pub(super) fn assignment_expr(&mut self) -> Expr {
        self.nested_expr(Self::assignment_expr_inner, Self::error_expr)
    }

    fn assignment_expr_inner(&mut self) -> Expr {
        let start = self.span();
        let left = self.conditional_expr();
        let TokenKind::Punct(punct) = self.peek() else { return left };
        let Some(op) = assign_operator(punct) else { return left };
        if self.at_fold() {
            return left;
        }
        self.advance();
        let height = self.height;
        let right = if self.is(Punct::LBrace) { self.init_list() } else { self.assignment_expr() };
        let height = height.max(self.height);
        self.node(ExprKind::Assign(op, Box::new(left), Box::new(right)), start, height)
    }

    /// `c ? a : b` and tighter.
    pub(super) fn conditional_expr(&mut self) -> Expr {
        self.nested_expr(Self::conditional_expr_inner, Self::error_expr)
    }

    fn conditional_expr_inner(&mut self) -> Expr {
        let start = self.span();
        let cond = self.binary_expr(0);
        if !self.eat(Punct::Question) {
            return cond;
        }
        let height = self.height;
        let then = self.parenthesised_expr();
        let height = height.max(self.height);
        self.expect(Punct::Colon, "in the conditional expression");
        let otherwise = self.assignment_expr();
        let height = height.max(self.height);
        let kind = ExprKind::Conditional(Box::new(cond), Box::new(then), Box::new(otherwise));
        self.node(kind, start, height)
    }

    /// Operators of at least precedence `least`, by climbing.
    fn binary_expr(&mut self, least: u8) -> Expr {
        let start = self.span();
        let mut left = self.unary_expr();
        loop {
            let TokenKind::Punct(punct) = self.peek() else { return left };
            if self.angle && matches!(punct, Punct::Greater | Punct::Shr) {
                return left;
            }
            let Some((precedence, op)) = binary_operator(punct) else { return left };
            if precedence < least.max(1) || self.at_fold() {
                return left;
            }
            self.advance();
            let height = self.height;
            // Recursion here is bounded by the ten levels of precedence.
            let right = self.binary_expr(precedence + 1);
            let height = height.max(self.height);
            left = self.node(ExprKind::Binary(op, Box::new(left), Box::new(right)), start, height);
        }
    }

    /// Prefix operators, casts, `sizeof`.
    pub(super) fn unary_expr(&mut self) -> Expr {
        let start = self.span();
        let op = match self.peek() {
            TokenKind::Punct(Punct::Plus) => UnaryOp::Plus,
            TokenKind::Punct(Punct::Minus) => UnaryOp::Minus,
            TokenKind::Punct(Punct::Bang) => UnaryOp::Not,
            TokenKind::Punct(Punct::Tilde) => UnaryOp::BitNot,
            TokenKind::Punct(Punct::Star) => UnaryOp::Deref,
            TokenKind::Punct(Punct::Amp) => UnaryOp::AddressOf,
            TokenKind::Punct(Punct::PlusPlus) => UnaryOp::PreIncrement,
            TokenKind::Punct(Punct::MinusMinus) => UnaryOp::PreDecrement,
            TokenKind::Keyword(Kw::Sizeof) => return self.sizeof_expr(),
            TokenKind::Keyword(Kw::Alignof) => return self.alignof_expr(),
            TokenKind::Keyword(Kw::Noexcept) => return self.noexcept_expr(),
            TokenKind::Punct(Punct::LParen) => {
                if let Some(cast) = self.c_cast() {
                    return cast;
                }
                return self.postfix_expr();
            }
            _ => return self.postfix_expr(),
        };
        self.advance();
        let operand = self.nested_expr(Self::unary_expr, Self::error_expr);
        let height = self.height;
        self.node(ExprKind::Unary(op, Box::new(operand)), start, height)
    }

    /// `(T)e`, unless the parenthesis holds an expression.
    fn c_cast(&mut self) -> Option<Expr> {
        let start = self.span();
        let is_type = match self.peek_at(1) {
            TokenKind::Keyword(_) | TokenKind::Ident(_) | TokenKind::Punct(Punct::ColonColon) => {
                let at = self.checkpoint();
                self.advance();
                let may = self.may_start_type();
                self.rewind(at);
                may
            }
            _ => false,
        };
        if !is_type {
            return None;
        }
        let known = self.known_type_ahead();
        let angle = std::mem::replace(&mut self.angle, false);
        let ty = self.attempt(|p| {
            p.advance();
            let ty = p.type_id()?;
            p.eat(Punct::RParen).then_some(())?;
            // `(f<T>())` reads as a function type too, but nothing can be cast to one.
            let is_function = matches!(ty.kind, TypeKind::Function { .. });
            let fits = if known { p.may_start_cast_operand() } else { p.unknown_cast_operand() };
            (!is_function && fits).then_some(ty)
        });
        self.angle = angle;
        let ty = ty?;
        if self.is(Punct::LBrace) {
            // `(T){…}`, a compound literal: the same as `T{…}`.
            let args = self.brace_clauses();
            let height = self.height;
            return Some(self.node(
                ExprKind::Construct { ty: Box::new(ty), args, braced: true },
                start,
                height,
            ));
        }
        let operand = self.nested_expr(Self::unary_expr, Self::error_expr);
        let height = self.height;
        Some(self.node(ExprKind::Cast(CastKind::CStyle, Box::new(ty), Box::new(operand)), start, height))
    }

    /// Does the parenthesis at the current token begin with something certainly a type?
    fn known_type_ahead(&mut self) -> bool {
        match self.peek_at(1) {
            TokenKind::Keyword(_) => true,
            TokenKind::Ident(name) => {
                use super::scope::NameKind;
                matches!(self.classify(name), NameKind::Type | NameKind::TypeTemplate | NameKind::Namespace)
            }
            _ => false,
        }
    }

    /// After `(something of a type)`: what follows is no operand if it can only follow one, as in
    /// `(Traits::value) ? a : b`.
    fn may_start_cast_operand(&self) -> bool {
        match self.peek() {
            TokenKind::Punct(punct) => matches!(
                punct,
                Punct::LParen
                    | Punct::LBrace
                    | Punct::LBracket
                    | Punct::Plus
                    | Punct::Minus
                    | Punct::Bang
                    | Punct::Tilde
                    | Punct::Star
                    | Punct::Amp
                    | Punct::PlusPlus
                    | Punct::MinusMinus
                    | Punct::ColonColon
            ),
            _ => true,
        }
    }

    /// After `(unknown)`: only an operand that could not follow an expression makes it a cast.
    fn unknown_cast_operand(&self) -> bool {
        matches!(
            self.peek(),
            TokenKind::Ident(_)
                | TokenKind::Int(_)
                | TokenKind::Float(_)
                | TokenKind::Keyword(Kw::This | Kw::Sizeof)
        )
    }

    fn sizeof_expr(&mut self) -> Expr {
        let start = self.span();
        self.advance();
        if self.eat(Punct::Ellipsis) {
            self.expect(Punct::LParen, "after `sizeof...`");
            let name =
                self.ident("a parameter pack's name").map_or(crate::token::Name::EMPTY, |(name, _)| name);
            self.expect(Punct::RParen, "to end `sizeof...`");
            return self.node(ExprKind::SizeofPack(name), start, 0);
        }
        if let Some(ty) = self.parenthesised_type() {
            return self.node(ExprKind::SizeofType(Box::new(ty)), start, 0);
        }
        let operand = self.nested_expr(Self::unary_expr, Self::error_expr);
        let height = self.height;
        self.node(ExprKind::SizeofExpr(Box::new(operand)), start, height)
    }

    /// `noexcept(e)`
    fn noexcept_expr(&mut self) -> Expr {
        let start = self.span();
        self.advance();
        self.expect(Punct::LParen, "after `noexcept`");
        let angle = std::mem::replace(&mut self.angle, false);
        let operand = self.nested_expr(Self::parenthesised_expr, Self::error_expr);
        self.angle = angle;
        self.expect(Punct::RParen, "to end `noexcept`");
        let height = self.height;
        self.node(ExprKind::Noexcept(Box::new(operand)), start, height)
    }

    fn alignof_expr(&mut self) -> Expr {
        let start = self.span();
        self.advance();
        match self.parenthesised_type() {
            Some(ty) => self.node(ExprKind::AlignofType(Box::new(ty)), start, 0),
            None => {
                self.error("expected-type", start, "`alignof` takes a type in parentheses");
                self.error_expr()
            }
        }
    }

    /// `(T)`, or nothing happened.
    pub(super) fn parenthesised_type(&mut self) -> Option<crate::ast::Type> {
        if !self.is(Punct::LParen) {
            return None;
        }
        let angle = std::mem::replace(&mut self.angle, false);
        let ty = self.attempt(|p| {
            p.advance();
            if !p.may_start_type() {
                return None;
            }
            let ty = p.type_id()?;
            p.eat(Punct::RParen).then_some(ty)
        });
        self.angle = angle;
        ty
    }
}
