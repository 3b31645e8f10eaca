//! Expressions with operators; operands are in `postfix.rs`.
//!
//! Invariant: when a parsing function returns, [`Parser::height`] is the height of the expression it
//! returned; [`node`] keeps it within [`MAX_HEIGHT`], so that no walk over a tree recurses
//! deeper than that.

use super::{MAX_HEIGHT, Parser, fold, init_list, postfix, specifier};
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

/// A node over children whose greatest height is `children`.
pub(super) fn node(p: &mut Parser<'_>, kind: ExprKind, start: Span, children: u32) -> Expr {
    let span = p.since(start);
    if children >= MAX_HEIGHT {
        if p.pending_errors.is_none() {
            p.error("too-deep", span, format!("expression of more than {MAX_HEIGHT} levels"));
            p.at = p.tokens.len().saturating_sub(1);
            p.split_greater = false;
        } else {
            p.pending_errors = p.pending_errors.map(|count| count + 1);
        }
        p.height = 1;
        return Expr { kind: ExprKind::Error, span };
    }
    p.height = children + 1;
    Expr { kind, span }
}

pub(super) fn error(p: &mut Parser<'_>) -> Expr {
    p.height = 1;
    Expr { kind: ExprKind::Error, span: p.span() }
}

/// A full expression, commas included.
pub(super) fn parse(p: &mut Parser<'_>) -> Expr {
    let start = p.span();
    let mut left = assignment(p);
    while p.is(Punct::Comma) && !fold::at(p) {
        p.advance();
        let height = p.height;
        let right = assignment(p);
        let height = height.max(p.height);
        left = node(p, ExprKind::Binary(BinaryOp::Comma, Box::new(left), Box::new(right)), start, height);
    }
    left
}

/// A full expression inside parentheses or brackets, where `>` is an operator again.
pub(super) fn parenthesised(p: &mut Parser<'_>) -> Expr {
    let angle = std::mem::replace(&mut p.angle, false);
    let expr = parse(p);
    p.angle = angle;
    expr
}

/// An expression without top-level commas.
pub(super) fn assignment(p: &mut Parser<'_>) -> Expr {
    p.nested_expr(assignment_inner, error)
}

fn assignment_inner(p: &mut Parser<'_>) -> Expr {
    let start = p.span();
    let left = conditional(p);
    let TokenKind::Punct(punct) = p.peek() else { return left };
    let Some(op) = assign_operator(punct) else { return left };
    if fold::at(p) {
        return left;
    }
    p.advance();
    let height = p.height;
    let right = if p.is(Punct::LBrace) { init_list::parse(p) } else { assignment(p) };
    let height = height.max(p.height);
    node(p, ExprKind::Assign(op, Box::new(left), Box::new(right)), start, height)
}

/// `c ? a : b` and tighter.
pub(super) fn conditional(p: &mut Parser<'_>) -> Expr {
    p.nested_expr(conditional_inner, error)
}

fn conditional_inner(p: &mut Parser<'_>) -> Expr {
    let start = p.span();
    let cond = binary(p, 0);
    if !p.eat(Punct::Question) {
        return cond;
    }
    let height = p.height;
    let then = parenthesised(p);
    let height = height.max(p.height);
    p.expect(Punct::Colon, "in the conditional expression");
    let otherwise = assignment(p);
    let height = height.max(p.height);
    let kind = ExprKind::Conditional(Box::new(cond), Box::new(then), Box::new(otherwise));
    node(p, kind, start, height)
}

/// Operators of at least precedence `least`, by climbing.
fn binary(p: &mut Parser<'_>, least: u8) -> Expr {
    let start = p.span();
    let mut left = unary(p);
    loop {
        let TokenKind::Punct(punct) = p.peek() else { return left };
        if p.angle && matches!(punct, Punct::Greater | Punct::Shr) {
            return left;
        }
        let Some((precedence, op)) = binary_operator(punct) else { return left };
        if precedence < least.max(1) || fold::at(p) {
            return left;
        }
        p.advance();
        let height = p.height;
        // Recursion here is bounded by the ten levels of precedence.
        let right = binary(p, precedence + 1);
        let height = height.max(p.height);
        left = node(p, ExprKind::Binary(op, Box::new(left), Box::new(right)), start, height);
    }
}

/// Prefix operators, casts, `sizeof`.
pub(super) fn unary(p: &mut Parser<'_>) -> Expr {
    let start = p.span();
    let op = match p.peek() {
        TokenKind::Punct(Punct::Plus) => UnaryOp::Plus,
        TokenKind::Punct(Punct::Minus) => UnaryOp::Minus,
        TokenKind::Punct(Punct::Bang) => UnaryOp::Not,
        TokenKind::Punct(Punct::Tilde) => UnaryOp::BitNot,
        TokenKind::Punct(Punct::Star) => UnaryOp::Deref,
        TokenKind::Punct(Punct::Amp) => UnaryOp::AddressOf,
        TokenKind::Punct(Punct::PlusPlus) => UnaryOp::PreIncrement,
        TokenKind::Punct(Punct::MinusMinus) => UnaryOp::PreDecrement,
        TokenKind::Keyword(Kw::Sizeof) => return sizeof(p),
        TokenKind::Keyword(Kw::Alignof) => return alignof(p),
        TokenKind::Keyword(Kw::Noexcept) => return noexcept(p),
        TokenKind::Punct(Punct::LParen) => {
            if let Some(cast) = c_cast(p) {
                return cast;
            }
            return postfix::parse(p);
        }
        _ => return postfix::parse(p),
    };
    p.advance();
    let operand = p.nested_expr(unary, error);
    let height = p.height;
    node(p, ExprKind::Unary(op, Box::new(operand)), start, height)
}

/// `(T)e`, unless the parenthesis holds an expression.
fn c_cast(p: &mut Parser<'_>) -> Option<Expr> {
    let start = p.span();
    let is_type = match p.peek_at(1) {
        TokenKind::Keyword(_) | TokenKind::Ident(_) | TokenKind::Punct(Punct::ColonColon) => {
            let at = p.checkpoint();
            p.advance();
            let may = specifier::may_start_type(p);
            p.rewind(at);
            may
        }
        _ => false,
    };
    if !is_type {
        return None;
    }
    let known = known_type_ahead(p);
    let angle = std::mem::replace(&mut p.angle, false);
    let ty = p.attempt(|p| {
        p.advance();
        let ty = specifier::type_id(p)?;
        p.eat(Punct::RParen).then_some(())?;
        // `(f<T>())` reads as a function type too, but nothing can be cast to one.
        let is_function = matches!(ty.kind, TypeKind::Function { .. });
        let fits = if known { may_start_cast_operand(p) } else { unknown_cast_operand(p) };
        (!is_function && fits).then_some(ty)
    });
    p.angle = angle;
    let ty = ty?;
    if p.is(Punct::LBrace) {
        // `(T){…}`, a compound literal: the same as `T{…}`.
        let args = init_list::brace_clauses(p);
        let height = p.height;
        return Some(node(p, ExprKind::Construct { ty: Box::new(ty), args, braced: true }, start, height));
    }
    let operand = p.nested_expr(unary, error);
    let height = p.height;
    Some(node(p, ExprKind::Cast(CastKind::CStyle, Box::new(ty), Box::new(operand)), start, height))
}

/// Does the parenthesis at the current token begin with something certainly a type?
fn known_type_ahead(p: &mut Parser<'_>) -> bool {
    match p.peek_at(1) {
        TokenKind::Keyword(_) => true,
        TokenKind::Ident(name) => {
            use super::scope::NameKind;
            matches!(p.classify(name), NameKind::Type | NameKind::TypeTemplate | NameKind::Namespace)
        }
        _ => false,
    }
}

/// After `(something of a type)`: what follows is no operand if it can only follow one, as in
/// `(Traits::value) ? a : b`.
fn may_start_cast_operand(p: &Parser<'_>) -> bool {
    match p.peek() {
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
fn unknown_cast_operand(p: &Parser<'_>) -> bool {
    matches!(
        p.peek(),
        TokenKind::Ident(_)
            | TokenKind::Int(_)
            | TokenKind::Float(_)
            | TokenKind::Keyword(Kw::This | Kw::Sizeof)
    )
}

fn sizeof(p: &mut Parser<'_>) -> Expr {
    let start = p.span();
    p.advance();
    if p.eat(Punct::Ellipsis) {
        p.expect(Punct::LParen, "after `sizeof...`");
        let name = p.ident("a parameter pack's name").map_or(crate::token::Name::EMPTY, |(name, _)| name);
        p.expect(Punct::RParen, "to end `sizeof...`");
        return node(p, ExprKind::SizeofPack(name), start, 0);
    }
    if let Some(ty) = parenthesised_type(p) {
        return node(p, ExprKind::SizeofType(Box::new(ty)), start, 0);
    }
    let operand = p.nested_expr(unary, error);
    let height = p.height;
    node(p, ExprKind::SizeofExpr(Box::new(operand)), start, height)
}

/// `noexcept(e)`
fn noexcept(p: &mut Parser<'_>) -> Expr {
    let start = p.span();
    p.advance();
    p.expect(Punct::LParen, "after `noexcept`");
    let angle = std::mem::replace(&mut p.angle, false);
    let operand = p.nested_expr(parenthesised, error);
    p.angle = angle;
    p.expect(Punct::RParen, "to end `noexcept`");
    let height = p.height;
    node(p, ExprKind::Noexcept(Box::new(operand)), start, height)
}

fn alignof(p: &mut Parser<'_>) -> Expr {
    let start = p.span();
    p.advance();
    match parenthesised_type(p) {
        Some(ty) => node(p, ExprKind::AlignofType(Box::new(ty)), start, 0),
        None => {
            p.error("expected-type", start, "`alignof` takes a type in parentheses");
            error(p)
        }
    }
}

/// `(T)`, or nothing happened.
pub(super) fn parenthesised_type(p: &mut Parser<'_>) -> Option<crate::ast::Type> {
    if !p.is(Punct::LParen) {
        return None;
    }
    let angle = std::mem::replace(&mut p.angle, false);
    let ty = p.attempt(|p| {
        p.advance();
        if !specifier::may_start_type(p) {
            return None;
        }
        let ty = specifier::type_id(p)?;
        p.eat(Punct::RParen).then_some(ty)
    });
    p.angle = angle;
    ty
}
