//! Conversions on scalars and on vectors of lanes.

use anymetal_ir::{CastOp, Scalar};

use super::arith::{from_f32, to_f32};
use super::width::Width;
use crate::llvm::{
    Builder, Cast, DOUBLE, FLOAT, FloatPredicate, I8, I16, I32, I64, IntPredicate, Opd, scalar_type, wrap_int,
};

/// An elementwise conversion that keeps the number of elements and is not a bitcast. `saturates`: the
/// processor's conversions of vectors to integers do.
pub(crate) fn cast(
    t: &mut Builder,
    (width, saturates): (Width, bool),
    op: CastOp,
    from: Scalar,
    to: Scalar,
    a: &Opd,
) -> Opd {
    if from == to && matches!(op, CastOp::Trunc | CastOp::ZExt | CastOp::SExt | CastOp::FCast) {
        return a.clone();
    }
    let (source, target) = (width.ty(from), width.ty(to));
    t.expect(a, source);
    match op {
        CastOp::Trunc | CastOp::ZExt | CastOp::SExt => {
            let name = match op {
                CastOp::Trunc => Cast::Trunc,
                CastOp::ZExt => Cast::ZExt,
                _ => Cast::SExt,
            };
            if let Opd::Int(_, value) = a {
                let bits = *value as u64 & anymetal_ir::eval::mask(from);
                let result = anymetal_ir::eval::eval_cast(op, from, to, bits);
                let to = scalar_type(to);
                return Opd::int(to, wrap_int(to, result as i64));
            }
            t.cast(name, a, target)
        }
        CastOp::FCast => {
            let wide = to_f32(t, width, from, a);
            from_f32(t, width, to, &wide)
        }
        CastOp::FToS | CastOp::FToU => {
            let wide = to_f32(t, width, from, a);
            let signed = op == CastOp::FToS;
            if width == Width::One || saturates {
                let name = if signed { "fptosi.sat" } else { "fptoui.sat" };
                let function = format!("llvm.{name}.{}.{}", target.suffix(), wide.ty().suffix());
                return t.call_declared(target, &function, &[&wide]);
            }
            to_integer(t, width, signed, to, &wide)
        }
        CastOp::SToF | CastOp::UToF => to_float(t, width, op, from, to, a),
        CastOp::Bitcast | CastOp::PtrToInt | CastOp::IntToPtr => {
            unreachable!("{op:?} is not elementwise")
        }
    }
}

/// Floats to integers that have room for them, once they are rounded towards zero.
pub(crate) fn to_integer_within(
    t: &mut Builder,
    width: Width,
    signed: bool,
    (from, to): (Scalar, Scalar),
    a: &Opd,
) -> Opd {
    let wide = to_f32(t, width, from, a);
    let name = if signed { Cast::FpToSi } else { Cast::FpToUi };
    t.cast(name, &wide, width.ty(to))
}

/// Vectors of floats to integers, the nearest there is, and zero for a NaN. LLVM writes its own conversions
/// that saturate out lane by lane. So numbers are brought into range before, as far as floats go, and those
/// above it get the largest integer after.
fn to_integer(t: &mut Builder, width: Width, signed: bool, to: Scalar, a: &Opd) -> Opd {
    assert!(!matches!(to, Scalar::Bool) && to.is_int(), "floats do not become a {to:?}");
    let target = width.ty(to);
    let bits = to.bits() - u32::from(signed);
    let constant = |x: f64| width.constant(&Opd::float(x));
    let above = (1u128 << bits) as f64;
    // The last float that is not too large.
    let last_places = bits.saturating_sub(f32::MANTISSA_DIGITS);
    let max = above - (1u128 << last_places) as f64;
    let min = constant(if signed { -above } else { 0.0 });
    let zero = constant(0.0);
    let number = if signed {
        let is = t.fcmp(FloatPredicate::Ord, a, &zero);
        t.select(&is, a, &zero)
    } else {
        a.clone()
    };
    // A NaN is not greater than the least number either.
    let is = t.fcmp(FloatPredicate::Ogt, &number, &min);
    let number = t.select(&is, &number, &min);
    let is = t.fcmp(FloatPredicate::Olt, &number, &constant(max));
    let number = t.select(&is, &number, &constant(max));
    // Processors convert to 32 bits at least.
    let wide = width.of(if to.bits() < 32 { I32 } else { scalar_type(to) });
    let name = if signed || to.bits() < 32 { Cast::FpToSi } else { Cast::FpToUi };
    let result = t.cast(name, &number, wide);
    if to.bits() < 32 {
        return t.trunc(&result, target);
    }
    let largest = width.int(scalar_type(to), if signed { i64::MAX >> (64 - to.bits()) } else { -1 });
    let is = t.fcmp(FloatPredicate::Oge, a, &constant(above));
    t.select(&is, &largest, &result)
}

/// Integers to floats, rounded once. `half` may go through `float`: where that rounds, the `half` is
/// infinite anyway. `bfloat` may not.
fn to_float(t: &mut Builder, width: Width, op: CastOp, from: Scalar, to: Scalar, a: &Opd) -> Opd {
    let name = if op == CastOp::SToF && from != Scalar::Bool { Cast::SiToFp } else { Cast::UiToFp };
    let float = width.of(FLOAT);
    if to != Scalar::Bf16 || from.bits() <= 16 {
        let wide = t.cast(name, a, float);
        return from_f32(t, width, to, &wide);
    }
    let (double, ints) = (width.of(DOUBLE), width.of(I32));
    let a = if from == Scalar::I64 { &within_double(t, op == CastOp::SToF, a) } else { a };
    let exact = t.cast(name, a, double);
    // Round to odd in between: then rounding again cannot go wrong.
    let near = t.cast(Cast::FpTrunc, &exact, float);
    let back = t.cast(Cast::FpExt, &near, double);
    let bits = t.bitcast(&near, ints);
    let size = t.intrinsic("fabs", "", &[&exact]);
    let near_size = t.intrinsic("fabs", "", &[&back]);
    let over = t.fcmp(FloatPredicate::Ogt, &near_size, &size);
    let inexact = t.fcmp(FloatPredicate::Une, &back, &exact);
    let less = t.sub(&bits, 1);
    let down = t.select(&over, &less, &bits);
    let odd = t.or(&down, 1);
    let chosen = t.select(&inexact, &odd, &bits);
    let rounded = t.bitcast(&chosen, float);
    from_f32(t, width, to, &rounded)
}

/// Integers of 64 bits that doubles hold exactly: larger ones are rounded to odd at bit 11, which is
/// below the last place of any narrower float.
fn within_double(t: &mut Builder, signed: bool, a: &Opd) -> Opd {
    let upper = t.and(a, !0x7FF);
    let lower = t.and(a, 0x7FF);
    let carried = t.add(&lower, 0x7FF);
    let lost = t.and(&carried, 0x800);
    let odd = t.or(&upper, &lost);
    // From 0 to twice the limit, or to the limit.
    let (offset, count) = if signed { (1_i64 << 53, 1_i64 << 54) } else { (0, 1 << 53) };
    let distance = t.add(a, offset);
    let small = t.icmp(IntPredicate::ULt, &distance, count);
    t.select(&small, a, &odd)
}

/// A bitcast between vectors: `parts` of one scalar type become elements of another.
pub(crate) fn bitcast(t: &mut Builder, width: Width, from: Scalar, parts: &[Opd], to: Scalar) -> Vec<Opd> {
    let integer = |scalar: Scalar| match scalar.size() {
        1 => I8,
        2 => I16,
        4 => I32,
        8 => I64,
        size => unreachable!("scalars do not have {size} bytes"),
    };
    assert_ne!(from, Scalar::Bool, "booleans are not reinterpreted");
    let (small, large) = (integer(from), integer(to));
    let ints: Vec<Opd> = parts.iter().map(|part| t.reinterpret(part, small)).collect();
    let (from_size, to_size) = (from.size() as usize, to.size() as usize);
    let bits = |size: usize| (size * 8) as i64;
    let results: Vec<Opd> = if from_size == to_size {
        ints
    } else if from_size < to_size {
        let join = |t: &mut Builder, group: &[Opd]| {
            let mut whole: Option<Opd> = None;
            for (index, part) in group.iter().enumerate() {
                let wide = t.zext(part, width.of(large));
                let shifted = t.shl(&wide, bits(from_size) * index as i64);
                whole = Some(match whole {
                    None => shifted,
                    Some(whole) => t.or(&whole, &shifted),
                });
            }
            whole.expect("an element has at least one part")
        };
        assert!(ints.len().is_multiple_of(to_size / from_size), "the parts form whole elements");
        ints.chunks(to_size / from_size).map(|group| join(t, group)).collect()
    } else {
        let mut results = Vec::new();
        for whole in &ints {
            for index in 0..from_size / to_size {
                let shifted = t.lshr(whole, bits(to_size) * index as i64);
                results.push(t.trunc(&shifted, width.of(large)));
            }
        }
        results
    };
    results.iter().map(|result| t.reinterpret(result, scalar_type(to))).collect()
}
