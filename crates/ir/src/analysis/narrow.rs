//! Indices that are computed with few bits and widened.

use crate::eval::{mask, sign_extend};
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
        let all = mask(scalar);
        let (most, constant, limit) = match cast {
            CastOp::SExt => (magnitude(function, a, bounds, DEPTH), sign_extend(scalar, constant), all >> 1),
            _ => (bounds(function, a), constant as i64, all),
        };
        // Unsigned, a constant with the highest bit is large.
        let added = if cast == CastOp::SExt { constant.unsigned_abs() } else { constant as u64 };
        if most.checked_add(added).is_none_or(|sum| sum > limit) {
            break;
        }
        constants = constants.wrapping_add(constant);
        rest = a;
    }
    (rest, constants)
}

/// How far computations of an index are looked through.
const DEPTH: u32 = 6;

/// The largest absolute value of an integer, read as signed.
fn magnitude(function: &Function, value: Value, bounds: Bounds<'_>, depth: u32) -> u64 {
    let Some(scalar) = function.ty(value).scalar().filter(|scalar| scalar.is_int()) else { return u64::MAX };
    let positive = mask(scalar) >> 1;
    let own = bounds(function, value);
    let own = if own <= positive { own } else { positive + 1 };
    let Some(depth) = depth.checked_sub(1) else { return own };
    let of = |value: Value| magnitude(function, value, bounds, depth);
    let computed = match function.def(value) {
        Some(&Op::Const(bits)) => Some(sign_extend(scalar, bits).unsigned_abs()),
        Some(&Op::Cast(CastOp::SExt, a)) => Some(of(a)),
        // Where these exceed the type they wrap, to something that the type holds.
        Some(&Op::Binary(BinOp::Add | BinOp::Sub, a, b)) => of(a).checked_add(of(b)),
        Some(&Op::Binary(BinOp::Mul, a, b)) => of(a).checked_mul(of(b)),
        _ => None,
    };
    computed.filter(|&computed| computed <= positive).map_or(own, |computed| computed.min(own))
}
