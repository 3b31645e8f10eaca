//! The number of parameters of overloaded operators (C++14 [over.oper]).

use super::Parser;
use crate::ast::{BinaryOp, Function, OperatorName, TypeKind, UnaryOp};
use std::ops::RangeInclusive;

/// Reports an operator function with a number of operands that the operator does not have.
pub(super) fn check_operands(
    p: &mut Parser<'_>,
    function: &Function,
    operator: &OperatorName,
    in_class: bool,
) {
    let has_pack = function.params.iter().any(|param| matches!(param.ty.kind, TypeKind::Pack(_)));
    // Whether a qualified name is of a class is not known here.
    if has_pack || function.scope.is_some() {
        return;
    }
    let is_member = in_class && !function.specifiers.is_friend && !function.specifiers.is_static;
    let Some(wanted) = operands(operator) else { return };
    let given = function.params.len() + usize::from(is_member);
    if wanted.contains(&given) {
        return;
    }
    let kind = match (*wanted.start(), *wanted.end()) {
        (1, 1) => "a unary operator",
        (2, _) => "a binary operator",
        _ => "a unary or binary operator",
    };
    let message = format!("overloaded operator must be {kind} (it has {given} operands)");
    p.error("operator-operands", function.span, message);
}

/// How many operands an operator has; `None` for those with any number.
fn operands(operator: &OperatorName) -> Option<RangeInclusive<usize>> {
    Some(match operator {
        OperatorName::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::BitAnd) => 1..=2,
        OperatorName::Unary(UnaryOp::Not | UnaryOp::BitNot) | OperatorName::Arrow => 1..=1,
        OperatorName::Increment { .. } | OperatorName::Unary(_) => 1..=2,
        OperatorName::Binary(_) | OperatorName::Assign(_) => 2..=2,
        // As in C++23.
        OperatorName::Index => 2..=usize::MAX,
        OperatorName::Call | OperatorName::Conversion(_) | OperatorName::Literal(_) => return None,
    })
}
