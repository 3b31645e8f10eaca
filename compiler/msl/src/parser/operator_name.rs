//! Names of operator functions: `operator+`, `operator()`, `operator T`.

use super::expr::{assign_operator, binary_op};
use super::{Parser, specifier};
use crate::ast::{BinaryOp, OperatorName, Type, TypeKind, UnaryOp};
use crate::token::{Punct, TokenKind};

/// `operator+`, `operator()`, `operator float`.
pub(super) fn parse(p: &mut Parser<'_>) -> Option<OperatorName> {
    p.advance();
    let span = p.span();
    if let (TokenKind::Str(text), TokenKind::Ident(suffix)) = (p.peek(), p.peek_at(1)) {
        if !text.as_str().is_empty() {
            p.error("expected-operator", span, "string literal after `operator` must be `\"\"`");
        }
        p.advance();
        p.advance();
        return Some(OperatorName::Literal(suffix));
    }
    if let TokenKind::Str(_) = p.peek() {
        p.error("expected-name", span, "expected an identifier: the suffix of the literals");
        return None;
    }
    let TokenKind::Punct(punct) = p.peek() else { return conversion(p) };
    let name = match punct {
        Punct::LParen if p.next_is(1, Punct::RParen) => {
            p.advance();
            OperatorName::Call
        }
        Punct::LBracket if p.next_is(1, Punct::RBracket) => {
            p.advance();
            OperatorName::Index
        }
        _ => match operator_of(punct) {
            Some(name) => name,
            None => {
                let message = format!("`{}` cannot be overloaded", punct.as_str());
                p.error("expected-operator", span, message);
                return None;
            }
        },
    };
    p.advance();
    Some(name)
}

/// A conversion: a type without function or array parts; `operator T() const`.
fn conversion(p: &mut Parser<'_>) -> Option<OperatorName> {
    let specs = specifier::parse(p, false)?;
    let mut ty = specs.ty?;
    while p.is(Punct::Star) || p.is(Punct::Amp) {
        let reference = p.is(Punct::Amp);
        p.advance();
        let mut quals = Default::default();
        while specifier::qualifier(p, &mut quals) {}
        let span = p.since(ty.span);
        let kind = if reference {
            TypeKind::Reference { referent: Box::new(ty), rvalue: false }
        } else {
            TypeKind::Pointer(Box::new(ty))
        };
        ty = Type { kind, quals, span };
    }
    Some(OperatorName::Conversion(Box::new(ty)))
}

/// The operator that one token stands for.
fn operator_of(punct: Punct) -> Option<OperatorName> {
    Some(match punct {
        Punct::Arrow => OperatorName::Arrow,
        Punct::PlusPlus => OperatorName::Increment { decrement: false },
        Punct::MinusMinus => OperatorName::Increment { decrement: true },
        Punct::Bang => OperatorName::Unary(UnaryOp::Not),
        Punct::Tilde => OperatorName::Unary(UnaryOp::BitNot),
        Punct::Comma => OperatorName::Binary(BinaryOp::Comma),
        _ => match (assign_operator(punct), binary_op(punct)) {
            (Some(op), _) => OperatorName::Assign(op),
            (_, Some(op)) => OperatorName::Binary(op),
            _ => return None,
        },
    })
}
