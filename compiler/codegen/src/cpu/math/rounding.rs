//! Rounding to an integral value.

use anymetal_ir::MathFn;

use super::value::Val;

pub(super) fn emit(function: MathFn, x: Val<'_>) -> Val<'_> {
    match function {
        MathFn::Floor => x.unary("floor"),
        MathFn::Ceil => x.unary("ceil"),
        MathFn::Trunc => x.unary("trunc"),
        // The rounding mode is never changed, so `rint` and `nearbyint` are one; this one is lowered
        // to a single instruction by all.
        MathFn::Rint => x.unary("nearbyint"),
        MathFn::Round => round_half_away(x),
        other => panic!("not a rounding function: {other:?}"),
    }
}

/// Half away from zero. The addend is the float below one half: with one half itself, the sum
/// 0.49999997 + 0.5 would round up to one. Where the sum is inexact for large `x`, it rounds back to
/// `x`, which is integral.
fn round_half_away(x: Val<'_>) -> Val<'_> {
    let almost_half = x.like(0.499_999_97_f32).with_sign_of(x);
    (x + almost_half).unary("trunc").with_sign_of(x)
}
