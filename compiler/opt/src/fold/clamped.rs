//! Comparisons of clamped positions with the size that they were clamped to.
//!
//! Filters clamp a position to `size - 1`, and what they read it with tests it against `size` again: that
//! test is decided. Positions and sizes are often vectors, so what is looked at are elements.

use anymetal_ir::eval::mask;
use anymetal_ir::{BinOp, CmpOp, Function, Op, Value};

use super::vectors::{Element, element};

/// Whether a comparison of scalars without a sign holds whatever the values are; `None` if it may do either.
pub(super) fn decided(function: &Function, op: CmpOp, a: Value, b: Value) -> Option<bool> {
    if function.ty(a).lanes() != 1 {
        return None;
    }
    match op {
        CmpOp::ULt => is_below(function, a, b).then_some(true),
        CmpOp::UGe => is_below(function, a, b).then_some(false),
        CmpOp::UGt => is_below(function, b, a).then_some(true),
        CmpOp::ULe => is_below(function, b, a).then_some(false),
        _ => None,
    }
}

/// Whether `position < size`, without signs, of a constant that a maximum keeps the size above, or of a
/// position that a minimum limits to `size - 1` and a size that is not 0.
///
/// With signs, the position must not be negative before it is limited. Then it lies in `0..size` where
/// `size - 1` has no sign bit, and is `size - 1` where it has one.
fn is_below(function: &Function, position: Value, size: Value) -> bool {
    let (position, size) = (element(function, (position, 0)), element(function, (size, 0)));
    if let Some(position) = constant(function, position) {
        return position < lower_bound(function, size);
    }
    let limited = binary(function, position);
    limited.filter(|(op, ..)| matches!(op, BinOp::SMin | BinOp::UMin)).is_some_and(|(op, a, b)| {
        let is_limited = |value: Element, limit: Element| {
            is_one_less(function, limit, size) && (op == BinOp::UMin || is_not_negative(function, value))
        };
        lower_bound(function, size) > 0 && (is_limited(a, b) || is_limited(b, a))
    })
}

fn binary(function: &Function, (value, n): Element) -> Option<(BinOp, Element, Element)> {
    match *function.def(value)? {
        Op::Binary(op, a, b) => Some((op, element(function, (a, n)), element(function, (b, n)))),
        _ => None,
    }
}

fn constant(function: &Function, (value, _): Element) -> Option<u64> {
    function.as_const(value)
}

fn is_one_less(function: &Function, value: Element, than: Element) -> bool {
    let is = |element: Element, bits: u64| {
        let ones = function.ty(element.0).scalar().map(mask);
        constant(function, element).is_some_and(|found| Some(found) == ones.map(|ones| bits & ones))
    };
    match binary(function, value) {
        Some((BinOp::Sub, a, b)) => a == than && is(b, 1),
        Some((BinOp::Add, a, b)) => a == than && is(b, u64::MAX) || b == than && is(a, u64::MAX),
        _ => false,
    }
}

/// What a maximum with a constant limits the value to, without signs.
fn lower_bound(function: &Function, value: Element) -> u64 {
    match binary(function, value) {
        Some((BinOp::UMax, a, b)) => {
            let of = |side| constant(function, side).unwrap_or(0);
            of(a).max(of(b))
        }
        _ => 0,
    }
}

fn is_not_negative(function: &Function, value: Element) -> bool {
    let scalar = function.ty(value.0).scalar().expect("minima are of numbers");
    let has_no_sign = |element| constant(function, element).is_some_and(|bits| bits <= mask(scalar) >> 1);
    let max = binary(function, value).filter(|(op, ..)| *op == BinOp::SMax);
    max.is_some_and(|(_, a, b)| has_no_sign(a) || has_no_sign(b))
}
