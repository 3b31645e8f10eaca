//! Names of operator functions: `operator+`, `operator()`, `operator T`.

use super::Parser;
use super::expr::{assign_operator, binary_op};
use crate::ast::{BinaryOp, OperatorName, Type, TypeKind, UnaryOp};
use crate::token::{Punct, TokenKind};

impl Parser<'_> {
    /// `operator+`, `operator()`, `operator float`.
    pub(super) fn operator_name(&mut self) -> Option<OperatorName> {
        self.advance();
        let span = self.span();
        let TokenKind::Punct(punct) = self.peek() else { return self.conversion_name() };
        let name = match punct {
            Punct::LParen if self.next_is(1, Punct::RParen) => {
                self.advance();
                OperatorName::Call
            }
            Punct::LBracket if self.next_is(1, Punct::RBracket) => {
                self.advance();
                OperatorName::Index
            }
            _ => match operator_of(punct) {
                Some(name) => name,
                None => {
                    let message = format!("`{}` cannot be overloaded", punct.as_str());
                    self.error("expected-operator", span, message);
                    return None;
                }
            },
        };
        self.advance();
        Some(name)
    }

    /// A conversion: a type without function or array parts; `operator T() const`.
    fn conversion_name(&mut self) -> Option<OperatorName> {
        let specs = self.specifiers(false)?;
        let mut ty = specs.ty?;
        while self.is(Punct::Star) || self.is(Punct::Amp) {
            let reference = self.is(Punct::Amp);
            self.advance();
            let mut quals = Default::default();
            while self.qualifier(&mut quals) {}
            let span = self.since(ty.span);
            let kind = if reference {
                TypeKind::Reference { referent: Box::new(ty), rvalue: false }
            } else {
                TypeKind::Pointer(Box::new(ty))
            };
            ty = Type { kind, quals, span };
        }
        Some(OperatorName::Conversion(Box::new(ty)))
    }
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
