//! Questions about a float, answered from its bits; the result is a mask.
//!
//! They hold in every mode: a program that asks for NaN gets an honest answer even in fast mode.

use anymetal_ir::MathFn;

use super::value::Val;

/// Bits of positive infinity and of the smallest normal number.
const INFINITY: i32 = 0x7F80_0000;
const SMALLEST_NORMAL: i32 = 0x0080_0000;

pub(super) fn emit(function: MathFn, x: Val<'_>) -> Val<'_> {
    let magnitude = || x.bits() & 0x7FFF_FFFF;
    match function {
        MathFn::IsNan => magnitude().gt(INFINITY),
        MathFn::IsInf => magnitude().eq(INFINITY),
        MathFn::IsFinite => magnitude().lt(INFINITY),
        MathFn::IsNormal => (magnitude() - SMALLEST_NORMAL).ult(INFINITY - SMALLEST_NORMAL),
        MathFn::SignBit => x.bits().lt(0),
        other => panic!("not a classification: {other:?}"),
    }
}
