//! Indices that are computed with few bits and widened.

use crate::{BinOp, CastOp, Function, Op, Value};

/// What is known of how large a value can be, read as unsigned.
pub type Bounds<'a> = &'a dyn Fn(&Function, Value) -> u64;

/// A value that `cast` widens, without the constants that are added to it, and their sum: widened, the value is
/// larger than the rest by these, as no sum on the way exceeds what the narrow type holds.
pub fn constants_taken_out(
    function: &Function,
    cast: CastOp,
    value: Value,
    bounds: Bounds<'_>,
) -> (Value, i64) {
    let (mut rest, mut constants) = (value, 0i64);
    while let Some(&Op::Binary(BinOp::Add, a, b)) = function.def(rest)
        && let (Some(constant), Some(scalar)) = (function.as_const(b), function.ty(a).scalar())
    {
        let mask = crate::eval::mask(scalar);
        let limit = if cast == CastOp::SExt { mask >> 1 } else { mask };
        if bounds(function, a).checked_add(constant).is_none_or(|sum| sum > limit) {
            break;
        }
        constants = constants.wrapping_add(constant as i64);
        rest = a;
    }
    (rest, constants)
}
