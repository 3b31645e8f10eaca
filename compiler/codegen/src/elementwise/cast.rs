//! Conversions on scalars and on vectors of lanes.

use anymetal_ir::{CastOp, Scalar};

use super::arith::{from_f32, to_f32};
use super::width::Width;
use crate::llvm_text::{Opd, Text, mangle, scalar_type, wrap_int};

/// An elementwise conversion that keeps the number of elements and is not a bitcast. `saturates`: the
/// processor's conversions of vectors to integers do.
pub(crate) fn cast(
    t: &mut Text,
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
    t.expect(a, &source);
    match op {
        CastOp::Trunc | CastOp::ZExt | CastOp::SExt => {
            let name = match op {
                CastOp::Trunc => "trunc",
                CastOp::ZExt => "zext",
                _ => "sext",
            };
            if let Opd::Int(value) = a {
                let bits = *value as u64 & anymetal_ir::eval::mask(from);
                let result = anymetal_ir::eval::eval_cast(op, from, to, bits);
                return Opd::Int(wrap_int(scalar_type(to), result as i64));
            }
            t.value(format_args!("{name} {source} {a} to {target}"))
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
                let float = width.of("float");
                let function = format!("@llvm.{name}.{}.{}", mangle(&target), mangle(&float));
                t.declare(format!("declare {target} {function}({float})"));
                return t.value(format_args!("call {target} {function}({float} {wide})"));
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
    t: &mut Text,
    width: Width,
    signed: bool,
    (from, to): (Scalar, Scalar),
    a: &Opd,
) -> Opd {
    let wide = to_f32(t, width, from, a);
    let name = if signed { "fptosi" } else { "fptoui" };
    t.value(format_args!("{name} {} {wide} to {}", width.of("float"), width.ty(to)))
}

/// Vectors of floats to integers, the nearest there is, and zero for a NaN. LLVM writes its own conversions
/// that saturate out lane by lane. So numbers are brought into range before, as far as floats go, and those
/// above it get the largest integer after.
fn to_integer(t: &mut Text, width: Width, signed: bool, to: Scalar, a: &Opd) -> Opd {
    assert!(!matches!(to, Scalar::Bool) && to.is_int(), "floats do not become a {to:?}");
    let (float, mask, target) = (width.of("float"), width.of("i1"), width.ty(to));
    let bits = to.bits() - u32::from(signed);
    let constant = |x: f64| width.constant("float", &Opd::text(format!("0x{:016X}", x.to_bits())));
    let above = (1u128 << bits) as f64;
    // The last float that is not too large.
    let last_places = bits.saturating_sub(f32::MANTISSA_DIGITS);
    let max = above - (1u128 << last_places) as f64;
    let min = constant(if signed { -above } else { 0.0 });
    let zero = constant(0.0);
    let number = if signed {
        let is = t.value(format_args!("fcmp ord {float} {a}, {zero}"));
        t.select(&mask, &is, &float, a, &zero)
    } else {
        a.clone()
    };
    // A NaN is not greater than the least number either.
    let is = t.value(format_args!("fcmp ogt {float} {number}, {min}"));
    let number = t.select(&mask, &is, &float, &number, &min);
    let is = t.value(format_args!("fcmp olt {float} {number}, {}", constant(max)));
    let number = t.select(&mask, &is, &float, &number, &constant(max));
    // Processors convert to 32 bits at least.
    let wide = width.of(if to.bits() < 32 { "i32" } else { scalar_type(to) });
    let name = if signed || to.bits() < 32 { "fptosi" } else { "fptoui" };
    let result = t.value(format_args!("{name} {float} {number} to {wide}"));
    if to.bits() < 32 {
        return t.value(format_args!("trunc {wide} {result} to {target}"));
    }
    let largest = width.int(scalar_type(to), if signed { i64::MAX >> (64 - to.bits()) } else { -1 });
    let is = t.value(format_args!("fcmp oge {float} {a}, {}", constant(above)));
    t.select(&mask, &is, &target, &largest, &result)
}

/// Integers to floats, rounded once. `half` may go through `float`: where that rounds, the `half` is
/// infinite anyway. `bfloat` may not.
fn to_float(t: &mut Text, width: Width, op: CastOp, from: Scalar, to: Scalar, a: &Opd) -> Opd {
    let name = if op == CastOp::SToF && from != Scalar::Bool { "sitofp" } else { "uitofp" };
    let source = width.ty(from);
    let float = width.of("float");
    if to != Scalar::Bf16 || from.bits() <= 16 {
        let wide = t.value(format_args!("{name} {source} {a} to {float}"));
        return from_f32(t, width, to, &wide);
    }
    let (double, ints) = (width.of("double"), width.of("i32"));
    let mask = width.of("i1");
    let a = if from == Scalar::I64 { &within_double(t, width, op == CastOp::SToF, a) } else { a };
    let exact = t.value(format_args!("{name} {source} {a} to {double}"));
    // Round to odd in between: then rounding again cannot go wrong.
    let near = t.value(format_args!("fptrunc {double} {exact} to {float}"));
    let back = t.value(format_args!("fpext {float} {near} to {double}"));
    let bits = t.value(format_args!("bitcast {float} {near} to {ints}"));
    let size = t.intrinsic("fabs", &double, "", &[&exact]);
    let near_size = t.intrinsic("fabs", &double, "", &[&back]);
    let over = t.value(format_args!("fcmp ogt {double} {near_size}, {size}"));
    let inexact = t.value(format_args!("fcmp une {double} {back}, {exact}"));
    let less = t.value(format_args!("sub {ints} {bits}, {}", width.int("i32", 1)));
    let down = t.value(format_args!("select {mask} {over}, {ints} {less}, {ints} {bits}"));
    let odd = t.value(format_args!("or {ints} {down}, {}", width.int("i32", 1)));
    let chosen = t.value(format_args!("select {mask} {inexact}, {ints} {odd}, {ints} {bits}"));
    let rounded = t.value(format_args!("bitcast {ints} {chosen} to {float}"));
    from_f32(t, width, to, &rounded)
}

/// Integers of 64 bits that doubles hold exactly: larger ones are rounded to odd at bit 11, which is
/// below the last place of any narrower float.
fn within_double(t: &mut Text, width: Width, signed: bool, a: &Opd) -> Opd {
    let (ints, mask) = (width.of("i64"), width.of("i1"));
    let int = |value: i64| width.int("i64", value);
    let upper = t.value(format_args!("and {ints} {a}, {}", int(!0x7FF)));
    let lower = t.value(format_args!("and {ints} {a}, {}", int(0x7FF)));
    let carried = t.value(format_args!("add {ints} {lower}, {}", int(0x7FF)));
    let lost = t.value(format_args!("and {ints} {carried}, {}", int(0x800)));
    let odd = t.value(format_args!("or {ints} {upper}, {lost}"));
    // From 0 to twice the limit, or to the limit.
    let (offset, count) = if signed { (1_i64 << 53, 1_i64 << 54) } else { (0, 1 << 53) };
    let distance = t.value(format_args!("add {ints} {a}, {}", int(offset)));
    let small = t.value(format_args!("icmp ult {ints} {distance}, {}", int(count)));
    t.select(&mask, &small, &ints, a, &odd)
}

/// The same bits as another type of the same size.
pub(crate) fn reinterpret(t: &mut Text, width: Width, from: &str, to: &str, a: &Opd) -> Opd {
    if from == to {
        return a.clone();
    }
    t.value(format_args!("bitcast {} {a} to {}", width.of(from), width.of(to)))
}

/// A bitcast between vectors: `parts` of one scalar type become elements of another.
pub(crate) fn bitcast(t: &mut Text, width: Width, from: Scalar, parts: &[Opd], to: Scalar) -> Vec<Opd> {
    let integer = |scalar: Scalar| match scalar.size() {
        1 => "i8",
        2 => "i16",
        4 => "i32",
        8 => "i64",
        size => unreachable!("scalars do not have {size} bytes"),
    };
    assert_ne!(from, Scalar::Bool, "booleans are not reinterpreted");
    let (small, large) = (integer(from), integer(to));
    let ints: Vec<Opd> =
        parts.iter().map(|part| reinterpret(t, width, scalar_type(from), small, part)).collect();
    let (from_size, to_size) = (from.size() as usize, to.size() as usize);
    let bits = |size: usize| (size * 8) as i64;
    let results: Vec<Opd> = if from_size == to_size {
        ints
    } else if from_size < to_size {
        let join = |t: &mut Text, group: &[Opd]| {
            let mut whole: Option<Opd> = None;
            for (index, part) in group.iter().enumerate() {
                let wide = t.value(format_args!("zext {} {part} to {}", width.of(small), width.of(large)));
                let amount = width.int(large, bits(from_size) * index as i64);
                let shifted = t.value(format_args!("shl {} {wide}, {amount}", width.of(large)));
                whole = Some(match whole {
                    None => shifted,
                    Some(whole) => t.value(format_args!("or {} {whole}, {shifted}", width.of(large))),
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
                let amount = width.int(small, bits(to_size) * index as i64);
                let shifted = t.value(format_args!("lshr {} {whole}, {amount}", width.of(small)));
                results.push(t.value(format_args!(
                    "trunc {} {shifted} to {}",
                    width.of(small),
                    width.of(large)
                )));
            }
        }
        results
    };
    results.iter().map(|result| reinterpret(t, width, large, scalar_type(to), result)).collect()
}
