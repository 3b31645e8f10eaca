//! How syntax is quoted in messages.

use crate::ast::{BinaryOp, FunctionName, OperatorName, Path, UnaryOp};

/// An infix operator.
pub(crate) fn binary(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Rem => "%",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
        BinaryOp::LogicalAnd => "&&",
        BinaryOp::LogicalOr => "||",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::Lt => "<",
        BinaryOp::Gt => ">",
        BinaryOp::Le => "<=",
        BinaryOp::Ge => ">=",
        BinaryOp::Comma => ",",
    }
}

/// A prefix operator.
pub(super) fn unary(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Plus => "+",
        UnaryOp::Minus => "-",
        UnaryOp::Not => "!",
        UnaryOp::BitNot => "~",
        UnaryOp::Deref => "*",
        UnaryOp::AddressOf => "&",
        UnaryOp::PreIncrement => "++",
        UnaryOp::PreDecrement => "--",
    }
}

/// A path without its template arguments.
pub(super) fn path(path: &Path) -> String {
    let names: Vec<_> = path.segments.iter().map(|segment| segment.name.as_str()).collect();
    format!("{}{}", if path.global { "::" } else { "" }, names.join("::"))
}

/// A function's name.
pub(super) fn function(name: &FunctionName) -> String {
    match name {
        FunctionName::Name(name) | FunctionName::Constructor(name) => name.to_string(),
        FunctionName::Operator(OperatorName::Conversion(_)) => "conversion operator".to_owned(),
        FunctionName::Operator(op) => super::table::operator_key(op).to_string(),
        FunctionName::Destructor => "destructor".to_owned(),
    }
}
