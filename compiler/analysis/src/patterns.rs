//! Small patterns of the IR that several analyses match.

use anymetal_ir::{CastOp, CmpOp, Function, Op, Value};

/// A pointer sum: `base + index × scale + offset`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PointerSum {
    /// A pointer.
    pub base: Value,
    /// An integer of 64 bits.
    pub index: Option<Value>,
    /// Bytes per unit of the index.
    pub scale: u32,
    /// Bytes.
    pub offset: i64,
}

/// The pointer sum that defines the value, if one does.
pub fn pointer_sum(function: &Function, value: Value) -> Option<PointerSum> {
    match *function.def(value)? {
        Op::PtrAdd { base, index, scale, offset } => Some(PointerSum { base, index, scale, offset }),
        _ => None,
    }
}

/// The integer that the value extends with zeros or its sign, and which of the two.
pub fn widened(function: &Function, value: Value) -> Option<(CastOp, Value)> {
    match *function.def(value)? {
        Op::Cast(cast @ (CastOp::ZExt | CastOp::SExt), narrow) => Some((cast, narrow)),
        _ => None,
    }
}

/// The comparison that defines the value, if one does.
pub fn comparison(function: &Function, value: Value) -> Option<(CmpOp, Value, Value)> {
    match *function.def(value)? {
        Op::Compare(op, a, b) => Some((op, a, b)),
        _ => None,
    }
}
