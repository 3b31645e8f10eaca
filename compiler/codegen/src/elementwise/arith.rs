//! Arithmetic on scalars and on vectors of lanes, as LLVM text. The same code writes both widths.
//!
//! Invariant: nothing here is undefined for any bits in any lane, because lanes that are switched
//! off compute too: divisors and shift amounts are made harmless first.

use anymetal_ir::{BinOp, CmpOp, FpMode, MathFn, Scalar, UnOp};

use super::width::Width;
use crate::cpu::math::Library;
use crate::llvm_text::{Opd, Text, scalar_type};

/// Fast-math flags; never `nnan` or `ninf`, which would make lanes that are off poison.
pub(crate) fn flags(fp: FpMode) -> &'static str {
    match fp {
        FpMode::Safe => "",
        FpMode::Relaxed | FpMode::Fast => "reassoc nsz arcp contract afn ",
    }
}

/// The flags of an operation on these operands.
///
/// Multiplications and divisions by constants are not reassociated: LLVM would combine `x * 1e36 * 1e5` to a
/// product with infinity, and do so or not by the order of its passes.
pub(crate) fn flags_of(fp: FpMode, op: BinOp, a: &Opd, b: &Opd) -> &'static str {
    let is_scaling = matches!(op, BinOp::FMul | BinOp::FDiv) && (a.is_const() || b.is_const());
    match fp {
        FpMode::Relaxed | FpMode::Fast if is_scaling => "nsz arcp contract afn ",
        _ => flags(fp),
    }
}

/// A float operand as `float`.
pub(crate) fn to_f32(t: &mut Text, width: Width, scalar: Scalar, a: &Opd) -> Opd {
    let float = width.of("float");
    match scalar {
        Scalar::F16 => t.value(format_args!("fpext {} {a} to {float}", width.of("half"))),
        Scalar::Bf16 => {
            let wide = t.value(format_args!("zext {} {a} to {}", width.of("i16"), width.of("i32")));
            let i32s = width.of("i32");
            let shifted = t.value(format_args!("shl {i32s} {wide}, {}", width.int("i32", 16)));
            t.value(format_args!("bitcast {i32s} {shifted} to {float}"))
        }
        Scalar::F32 => a.clone(),
        other => unreachable!("a {other:?} is not a float"),
    }
}

/// A `float` rounded to the type, once, to nearest even.
pub(crate) fn from_f32(t: &mut Text, width: Width, scalar: Scalar, a: &Opd) -> Opd {
    let float = width.of("float");
    match scalar {
        Scalar::F16 => t.value(format_args!("fptrunc {float} {a} to {}", width.of("half"))),
        Scalar::Bf16 => to_bf16(t, width, a, true),
        Scalar::F32 => a.clone(),
        other => unreachable!("a {other:?} is not a float"),
    }
}

/// [`from_f32`] of what arithmetic on numbers of that type gave. A NaN of it is a quiet one that is zero
/// where `bf16` ends, and rounding leaves it as it is.
fn from_arithmetic(t: &mut Text, width: Width, scalar: Scalar, a: &Opd) -> Opd {
    match scalar {
        Scalar::Bf16 => to_bf16(t, width, a, false),
        _ => from_f32(t, width, scalar, a),
    }
}

/// The nearest `bf16` to a `float`, ties to even; with care, also of any NaN.
fn to_bf16(t: &mut Text, width: Width, a: &Opd, any_nan: bool) -> Opd {
    let (float, i32s) = (width.of("float"), width.of("i32"));
    let bits = t.value(format_args!("bitcast {float} {a} to {i32s}"));
    let high = t.value(format_args!("lshr {i32s} {bits}, {}", width.int("i32", 16)));
    let odd = t.value(format_args!("and {i32s} {high}, {}", width.int("i32", 1)));
    let bias = t.value(format_args!("add {i32s} {odd}, {}", width.int("i32", 0x7FFF)));
    let rounded = t.value(format_args!("add {i32s} {bits}, {bias}"));
    let mut result = t.value(format_args!("lshr {i32s} {rounded}, {}", width.int("i32", 16)));
    if any_nan {
        let quiet = t.value(format_args!("or {i32s} {high}, {}", width.int("i32", 0x40)));
        let zero = width.constant("float", &Opd::text("0.0"));
        let nan = t.value(format_args!("fcmp uno {float} {a}, {zero}"));
        result = t.value(format_args!("select {} {nan}, {i32s} {quiet}, {i32s} {result}", width.of("i1")));
    }
    t.value(format_args!("trunc {i32s} {result} to {}", width.of("i16")))
}

/// `op a`.
pub(crate) fn unary(t: &mut Text, width: Width, op: UnOp, scalar: Scalar, a: &Opd) -> Opd {
    let element = scalar_type(scalar);
    let ty = width.of(element);
    match op {
        UnOp::FNeg if scalar == Scalar::Bf16 => {
            t.value(format_args!("xor {ty} {a}, {}", width.int("i16", -0x8000)))
        }
        UnOp::FNeg => t.value(format_args!("fneg {ty} {a}")),
        UnOp::INeg if width == Width::One => t.sub(element, &Opd::Int(0), a),
        UnOp::INeg => t.value(format_args!("sub {ty} zeroinitializer, {a}")),
        UnOp::Not if scalar == Scalar::Bool => {
            t.value(format_args!("xor {ty} {a}, {}", width.constant("i1", &Opd::text("true"))))
        }
        UnOp::Not => t.value(format_args!("xor {ty} {a}, {}", width.int(element, -1))),
    }
}

/// What an operation needs to know beyond its operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arithmetic {
    /// Scalar or vector.
    pub(crate) width: Width,
    /// Leave to deviate.
    pub(crate) fp: FpMode,
    /// The operands' type.
    pub(crate) scalar: Scalar,
    /// The second operand, if it is a constant.
    pub(crate) constant: Option<i64>,
}

/// `a op b`.
pub(crate) fn binary(
    t: &mut Text,
    library: &mut Library,
    how: Arithmetic,
    op: BinOp,
    a: &Opd,
    b: &Opd,
) -> Opd {
    let Arithmetic { width, scalar, constant, .. } = how;
    assert!(op.is_float() == scalar.is_float(), "{op:?} does not compute in {scalar:?}");
    let element = scalar_type(scalar);
    let ty = width.of(element);
    t.expect(a, &ty);
    t.expect(b, &ty);
    if width == Width::One && scalar.is_int() {
        match op {
            BinOp::Add => return t.add(element, a, b),
            BinOp::Sub => return t.sub(element, a, b),
            BinOp::Mul => return t.mul(element, a, b),
            _ => {}
        }
    }
    let plain = |t: &mut Text, name: &str| t.value(format_args!("{name} {ty} {a}, {b}"));
    match op {
        BinOp::FAdd | BinOp::FSub | BinOp::FMul | BinOp::FDiv | BinOp::FRem => {
            float(t, library, how, op, a, b)
        }
        BinOp::Add => plain(t, "add"),
        BinOp::Sub => plain(t, "sub"),
        BinOp::Mul => plain(t, "mul"),
        BinOp::And => plain(t, "and"),
        BinOp::Or => plain(t, "or"),
        BinOp::Xor => plain(t, "xor"),
        BinOp::Shl | BinOp::LShr | BinOp::AShr => {
            let bits = i64::from(scalar.bits());
            let amount = match constant {
                Some(amount) => width.int(element, amount & (bits - 1)),
                None => t.value(format_args!("and {ty} {b}, {}", width.int(element, bits - 1))),
            };
            assert!(bits.count_ones() == 1, "shift amounts are masked, and {bits} is not a power of two");
            let name = match op {
                BinOp::Shl => "shl",
                BinOp::LShr => "lshr",
                _ => "ashr",
            };
            t.value(format_args!("{name} {ty} {a}, {amount}"))
        }
        BinOp::UDiv | BinOp::SDiv | BinOp::URem | BinOp::SRem => division(t, how, op, a, b),
        BinOp::UMulHi | BinOp::SMulHi => high_product(t, how, op, a, b),
        BinOp::UMin => t.intrinsic("umin", &ty, "", &[a, b]),
        BinOp::UMax => t.intrinsic("umax", &ty, "", &[a, b]),
        BinOp::SMin => t.intrinsic("smin", &ty, "", &[a, b]),
        BinOp::SMax => t.intrinsic("smax", &ty, "", &[a, b]),
        BinOp::UAddSat => t.intrinsic("uadd.sat", &ty, "", &[a, b]),
        BinOp::SAddSat => t.intrinsic("sadd.sat", &ty, "", &[a, b]),
        BinOp::USubSat => t.intrinsic("usub.sat", &ty, "", &[a, b]),
        BinOp::SSubSat => t.intrinsic("ssub.sat", &ty, "", &[a, b]),
    }
}

fn float(t: &mut Text, library: &mut Library, how: Arithmetic, op: BinOp, a: &Opd, b: &Opd) -> Opd {
    let Arithmetic { width, fp, scalar, .. } = how;
    let (x, y) = (to_f32(t, width, scalar, a), to_f32(t, width, scalar, b));
    let ty = width.of("float");
    let name = match op {
        BinOp::FAdd => "fadd",
        BinOp::FSub => "fsub",
        BinOp::FMul => "fmul",
        BinOp::FDiv => "fdiv",
        other => {
            assert_eq!(other, BinOp::FRem, "{other:?} does not compute in floats");
            let count = width.count() as u32;
            let name = library.require(MathFn::Fmod, Scalar::F32, FpMode::Safe, count).to_owned();
            let result = t.value(format_args!("call {ty} @{name}({ty} {x}, {ty} {y})"));
            return from_f32(t, width, scalar, &result);
        }
    };
    let result = t.value(format_args!("{name} {}{ty} {x}, {y}", flags_of(fp, op, &x, &y)));
    from_arithmetic(t, width, scalar, &result)
}

fn is_signed(op: BinOp) -> bool {
    matches!(op, BinOp::SDiv | BinOp::SRem | BinOp::SMulHi)
}

/// A divisor of zero counts as one, and so does -1 under the smallest number.
fn safe_divisor(t: &mut Text, how: Arithmetic, op: BinOp, a: &Opd, b: &Opd) -> Opd {
    let Arithmetic { width, scalar, constant, .. } = how;
    let element = scalar_type(scalar);
    let (ty, mask) = (width.of(element), width.of("i1"));
    match constant {
        Some(0) => return width.int(element, 1),
        Some(c) if c != -1 || !is_signed(op) => return b.clone(),
        _ => {}
    }
    let mut bad = t.value(format_args!("icmp eq {ty} {b}, {}", width.int(element, 0)));
    if is_signed(op) {
        let smallest = width.int(element, i64::MIN >> (64 - scalar.bits()));
        let minus = t.value(format_args!("icmp eq {ty} {b}, {}", width.int(element, -1)));
        let lowest = t.value(format_args!("icmp eq {ty} {a}, {smallest}"));
        let overflow = t.value(format_args!("and {mask} {minus}, {lowest}"));
        bad = t.value(format_args!("or {mask} {bad}, {overflow}"));
    }
    t.value(format_args!("select {mask} {bad}, {ty} {}, {ty} {b}", width.int(element, 1)))
}

fn division(t: &mut Text, how: Arithmetic, op: BinOp, a: &Opd, b: &Opd) -> Opd {
    let Arithmetic { width, scalar, constant, .. } = how;
    let divisor = safe_divisor(t, how, op, a, b);
    let ty = width.ty(scalar);
    let name = match op {
        BinOp::UDiv => "udiv",
        BinOp::SDiv => "sdiv",
        BinOp::URem => "urem",
        BinOp::SRem => "srem",
        other => unreachable!("{other:?} does not divide"),
    };
    if width == Width::One || constant.is_some() || scalar == Scalar::I64 {
        return t.value(format_args!("{name} {ty} {a}, {divisor}"));
    }
    // Processors have no vector division of integers. That of floats is exact here: the distance of
    // a quotient that is not whole from the next whole number is far above the rounding error.
    let wide = if scalar == Scalar::I32 { "double" } else { "float" };
    let (to, back) = if is_signed(op) { ("sitofp", "fptosi") } else { ("uitofp", "fptoui") };
    let wide = width.of(wide);
    let x = t.value(format_args!("{to} {ty} {a} to {wide}"));
    let y = t.value(format_args!("{to} {ty} {divisor} to {wide}"));
    let quotient = t.value(format_args!("fdiv {wide} {x}, {y}"));
    let quotient = t.value(format_args!("{back} {wide} {quotient} to {ty}"));
    if matches!(op, BinOp::UDiv | BinOp::SDiv) {
        return quotient;
    }
    let whole = t.value(format_args!("mul {ty} {quotient}, {divisor}"));
    t.value(format_args!("sub {ty} {a}, {whole}"))
}

/// Division of 32-bit integers in all lanes by one divisor: a product with the reciprocal, which is computed
/// once. As a `double` a hair above the exact one it gives the exact quotient: for numbers below 2^32 the
/// excess stays under 2^-17 divisors' parts, and the next whole number is at least one part away.
pub(crate) fn division_by_one(t: &mut Text, op: BinOp, a: &Opd, divisor: &Opd) -> Opd {
    t.expect(divisor, "i32");
    t.expect(a, "<32 x i32>");
    const ABOVE_ONE: f64 = 1.0 + 4.0 * f64::EPSILON;
    let (ty, wide) = (Width::All.of("i32"), Width::All.of("double"));
    let none = t.icmp("eq", "i32", divisor, &Opd::Int(0));
    let divisor = t.select("i1", &none, "i32", &Opd::Int(1), divisor);
    let signed = is_signed(op);
    let magnitude = |t: &mut Text, ty: &str, value: &Opd| {
        let name = format!("llvm.abs.{}", crate::llvm_text::mangle(ty));
        t.declare(format!("declare {ty} @{name}({ty}, i1)"));
        t.value(format_args!("call {ty} @{name}({ty} {value}, i1 false)"))
    };
    let (x, y) = match signed {
        true => (magnitude(t, &ty, a), magnitude(t, "i32", &divisor)),
        false => (a.clone(), divisor.clone()),
    };
    let y = t.value(format_args!("uitofp i32 {y} to double"));
    let reciprocal = t.value(format_args!("fdiv double 0x{:016X}, {y}", ABOVE_ONE.to_bits()));
    let reciprocal = t.splat("double", &reciprocal);
    let x = t.value(format_args!("uitofp {ty} {x} to {wide}"));
    let quotient = t.value(format_args!("fmul {wide} {x}, {reciprocal}"));
    let mut quotient = t.value(format_args!("fptoui {wide} {quotient} to {ty}"));
    let divisors = t.splat("i32", &divisor);
    if signed {
        let signs = t.value(format_args!("xor {ty} {a}, {divisors}"));
        let signs = t.value(format_args!("ashr {ty} {signs}, splat (i32 31)"));
        let flipped = t.value(format_args!("xor {ty} {quotient}, {signs}"));
        quotient = t.value(format_args!("sub {ty} {flipped}, {signs}"));
    }
    if matches!(op, BinOp::UDiv | BinOp::SDiv) {
        return quotient;
    }
    let whole = t.value(format_args!("mul {ty} {quotient}, {divisors}"));
    t.value(format_args!("sub {ty} {a}, {whole}"))
}

fn high_product(t: &mut Text, how: Arithmetic, op: BinOp, a: &Opd, b: &Opd) -> Opd {
    let Arithmetic { width, scalar, .. } = how;
    assert!(scalar.is_int(), "{scalar:?} products do not have a high half");
    let bits = scalar.bits();
    let wide_element = format!("i{}", bits * 2);
    let (ty, wide) = (width.ty(scalar), width.of(&wide_element));
    let extend = if is_signed(op) { "sext" } else { "zext" };
    let x = t.value(format_args!("{extend} {ty} {a} to {wide}"));
    let y = t.value(format_args!("{extend} {ty} {b} to {wide}"));
    let product = t.value(format_args!("mul {wide} {x}, {y}"));
    let shift = width.constant(&wide_element, &Opd::Int(i64::from(bits)));
    let high = t.value(format_args!("lshr {wide} {product}, {shift}"));
    t.value(format_args!("trunc {wide} {high} to {ty}"))
}

/// `a op b` of scalars that are not pointers.
pub(crate) fn compare(t: &mut Text, width: Width, op: CmpOp, scalar: Scalar, a: &Opd, b: &Opd) -> Opd {
    let integer = match op {
        CmpOp::Eq => "eq",
        CmpOp::Ne => "ne",
        CmpOp::ULt => "ult",
        CmpOp::ULe => "ule",
        CmpOp::UGt => "ugt",
        CmpOp::UGe => "uge",
        CmpOp::SLt => "slt",
        CmpOp::SLe => "sle",
        CmpOp::SGt => "sgt",
        CmpOp::SGe => "sge",
        CmpOp::FEq | CmpOp::FLt | CmpOp::FLe | CmpOp::FGt | CmpOp::FGe | CmpOp::FNe => {
            return compare_floats(t, width, op, scalar, a, b);
        }
        CmpOp::Disjoint => unreachable!("scalars have no allocations"),
    };
    let ty = width.ty(scalar);
    if width == Width::One && scalar.is_int() {
        return t.icmp(integer, &ty, a, b);
    }
    t.value(format_args!("icmp {integer} {ty} {a}, {b}"))
}

fn compare_floats(t: &mut Text, width: Width, op: CmpOp, scalar: Scalar, a: &Opd, b: &Opd) -> Opd {
    let predicate = match op {
        CmpOp::FEq => "oeq",
        CmpOp::FLt => "olt",
        CmpOp::FLe => "ole",
        CmpOp::FGt => "ogt",
        CmpOp::FGe => "oge",
        CmpOp::FNe => "une",
        other => unreachable!("{other:?} does not compare floats"),
    };
    let (x, y) = (to_f32(t, width, scalar, a), to_f32(t, width, scalar, b));
    t.value(format_args!("fcmp {predicate} {} {x}, {y}", width.of("float")))
}
