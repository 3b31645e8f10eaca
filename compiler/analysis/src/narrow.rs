//! Indices that are computed in a narrow type and extended.

use anymetal_ir::eval::{mask, sign_extend};
use anymetal_ir::{BinOp, CastOp, Function, Op, Value};

use crate::limits::MAX_BRANCHING_DEPTH;

/// Upper bound of a value, read as unsigned.
pub type Bounds<'a> = &'a dyn Fn(&Function, Value) -> u64;

/// Splits a value that `cast` extends into a rest and a constant: the extended value equals the extended rest
/// plus the constant, because no addition wraps in the narrow type.
pub fn constants_taken_out(
    function: &Function,
    cast: CastOp,
    value: Value,
    bounds: Bounds<'_>,
) -> (Value, i64) {
    assert!(matches!(cast, CastOp::ZExt | CastOp::SExt), "{cast:?} does not extend");
    let (mut rest, mut constants) = (value, 0i64);
    while let Some(&Op::Binary(BinOp::Add, a, b)) = function.def(rest)
        && let (Some(constant), Some(scalar)) = (function.as_const(b), function.ty(a).scalar())
    {
        let all = mask(scalar);
        let (most, constant, limit) = match cast {
            CastOp::SExt => {
                (magnitude(function, a, bounds, MAX_BRANCHING_DEPTH), sign_extend(scalar, constant), all >> 1)
            }
            _ => (bounds(function, a), constant as i64, all),
        };
        // An unsigned constant with the highest bit set is large.
        let added = if cast == CastOp::SExt { constant.unsigned_abs() } else { constant as u64 };
        if most.checked_add(added).is_none_or(|sum| sum > limit) {
            break;
        }
        constants = constants.wrapping_add(constant);
        rest = a;
    }
    debug_assert_eq!(function.ty(rest), function.ty(value), "what is left is extended in place of the sum");
    (rest, constants)
}

/// The largest absolute value of an integer, read as signed.
fn magnitude(function: &Function, value: Value, bounds: Bounds<'_>, depth: u32) -> u64 {
    let Some(scalar) = function.ty(value).scalar().filter(|scalar| scalar.is_int()) else {
        // A `bool` is not extended by its sign.
        return u64::MAX;
    };
    let positive = mask(scalar) >> 1;
    let bounded = bounds(function, value);
    let bounded = if bounded <= positive { bounded } else { positive + 1 };
    let Some(depth) = depth.checked_sub(1) else {
        // Too deep to be followed; the bound holds anyway.
        return bounded;
    };
    let of = |value: Value| magnitude(function, value, bounds, depth);
    let computed = match function.def(value) {
        Some(&Op::Const(bits)) => Some(sign_extend(scalar, bits).unsigned_abs()),
        Some(&Op::Cast(CastOp::SExt, a)) => Some(of(a)),
        // Results that exceed the type wrap to a value that the type can hold.
        Some(&Op::Binary(BinOp::Add | BinOp::Sub, a, b)) => of(a).checked_add(of(b)),
        Some(&Op::Binary(BinOp::Mul, a, b)) => of(a).checked_mul(of(b)),
        _ => None,
    };
    computed.filter(|&computed| computed <= positive).map_or(bounded, |computed| computed.min(bounded))
}
