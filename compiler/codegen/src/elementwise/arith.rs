//! Arithmetic on scalars and on vectors of lanes, as LLVM text. The same code writes both widths.
//!
//! Invariant: nothing here is undefined for any bits in any lane, because lanes that are switched
//! off compute too: divisors and shift amounts are made harmless first.

use anymetal_ir::{BinOp, CmpOp, FpMode, MathFn, Scalar, UnOp};

use super::width::Width;
use crate::cpu::math::Library;
use crate::llvm::{
    self, Binary, Builder, Cast, DOUBLE, FLOAT, FloatPredicate, HALF, I16, I32, IntPredicate, Opd,
    scalar_type,
};

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
pub(crate) fn to_f32(t: &mut Builder, width: Width, scalar: Scalar, a: &Opd) -> Opd {
    let float = width.of(FLOAT);
    match scalar {
        Scalar::F16 => t.cast(Cast::FpExt, a, float),
        Scalar::Bf16 => {
            let wide = t.zext(a, width.of(I32));
            let shifted = t.shl(&wide, 16);
            t.bitcast(&shifted, float)
        }
        Scalar::F32 => a.clone(),
        other => unreachable!("a {other:?} is not a float"),
    }
}

/// A `float` rounded to the type, once, to nearest even.
pub(crate) fn from_f32(t: &mut Builder, width: Width, scalar: Scalar, a: &Opd) -> Opd {
    match scalar {
        Scalar::F16 => t.cast(Cast::FpTrunc, a, width.of(HALF)),
        Scalar::Bf16 => to_bf16(t, width, a, true),
        Scalar::F32 => a.clone(),
        other => unreachable!("a {other:?} is not a float"),
    }
}

/// [`from_f32`] of what arithmetic on numbers of that type gave. A NaN of it is a quiet one that is zero
/// where `bf16` ends, and rounding leaves it as it is.
fn from_arithmetic(t: &mut Builder, width: Width, scalar: Scalar, a: &Opd) -> Opd {
    match scalar {
        Scalar::Bf16 => to_bf16(t, width, a, false),
        _ => from_f32(t, width, scalar, a),
    }
}

/// The nearest `bf16` to a `float`, ties to even; with care, also of any NaN.
fn to_bf16(t: &mut Builder, width: Width, a: &Opd, any_nan: bool) -> Opd {
    let i32s = width.of(I32);
    let bits = t.bitcast(a, i32s);
    let high = t.lshr(&bits, 16);
    let odd = t.and(&high, 1);
    let bias = t.add(&odd, 0x7FFF);
    let rounded = t.add(&bits, &bias);
    let mut result = t.lshr(&rounded, 16);
    if any_nan {
        let quiet = t.or(&high, 0x40);
        let zero = width.constant(&Opd::zero(FLOAT));
        let nan = t.fcmp(FloatPredicate::Uno, a, &zero);
        result = t.select(&nan, &quiet, &result);
    }
    t.trunc(&result, width.of(I16))
}

/// `op a`.
pub(crate) fn unary(t: &mut Builder, width: Width, op: UnOp, scalar: Scalar, a: &Opd) -> Opd {
    let element = scalar_type(scalar);
    let ty = width.of(element);
    match op {
        UnOp::FNeg if scalar == Scalar::Bf16 => t.xor(a, -0x8000),
        UnOp::FNeg => t.fneg(a),
        UnOp::INeg if width == Width::One => t.sub(&Opd::int(element, 0), a),
        UnOp::INeg => t.sub(&Opd::zero(ty), a),
        UnOp::Not if scalar == Scalar::Bool => t.not(a),
        UnOp::Not => t.xor(a, -1),
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
    t: &mut Builder,
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
    t.expect(a, ty);
    t.expect(b, ty);
    if width == Width::One && scalar.is_int() {
        match op {
            BinOp::Add => return t.add(a, b),
            BinOp::Sub => return t.sub(a, b),
            BinOp::Mul => return t.mul(a, b),
            _ => {}
        }
    }
    match op {
        BinOp::FAdd | BinOp::FSub | BinOp::FMul | BinOp::FDiv | BinOp::FRem => {
            float(t, library, how, op, a, b)
        }
        BinOp::Add => t.binary(Binary::Add, a, b),
        BinOp::Sub => t.binary(Binary::Sub, a, b),
        BinOp::Mul => t.binary(Binary::Mul, a, b),
        BinOp::And => t.binary(Binary::And, a, b),
        BinOp::Or => t.binary(Binary::Or, a, b),
        BinOp::Xor => t.binary(Binary::Xor, a, b),
        BinOp::Shl | BinOp::LShr | BinOp::AShr => {
            let bits = i64::from(scalar.bits());
            let amount = match constant {
                Some(amount) => width.int(element, amount & (bits - 1)),
                None => t.and(b, bits - 1),
            };
            assert!(bits.count_ones() == 1, "shift amounts are masked, and {bits} is not a power of two");
            let name = match op {
                BinOp::Shl => Binary::Shl,
                BinOp::LShr => Binary::LShr,
                _ => Binary::AShr,
            };
            t.binary(name, a, &amount)
        }
        BinOp::UDiv | BinOp::SDiv | BinOp::URem | BinOp::SRem => division(t, how, op, a, b),
        BinOp::UMulHi | BinOp::SMulHi => high_product(t, how, op, a, b),
        BinOp::UMin => t.intrinsic("umin", "", &[a, b]),
        BinOp::UMax => t.intrinsic("umax", "", &[a, b]),
        BinOp::SMin => t.intrinsic("smin", "", &[a, b]),
        BinOp::SMax => t.intrinsic("smax", "", &[a, b]),
        BinOp::UAddSat => t.intrinsic("uadd.sat", "", &[a, b]),
        BinOp::SAddSat => t.intrinsic("sadd.sat", "", &[a, b]),
        BinOp::USubSat => t.intrinsic("usub.sat", "", &[a, b]),
        BinOp::SSubSat => t.intrinsic("ssub.sat", "", &[a, b]),
    }
}

fn float(t: &mut Builder, library: &mut Library, how: Arithmetic, op: BinOp, a: &Opd, b: &Opd) -> Opd {
    let Arithmetic { width, fp, scalar, .. } = how;
    let (x, y) = (to_f32(t, width, scalar, a), to_f32(t, width, scalar, b));
    let ty = width.of(FLOAT);
    let name = match op {
        BinOp::FAdd => Binary::FAdd,
        BinOp::FSub => Binary::FSub,
        BinOp::FMul => Binary::FMul,
        BinOp::FDiv => Binary::FDiv,
        other => {
            assert_eq!(other, BinOp::FRem, "{other:?} does not compute in floats");
            let count = width.count() as u32;
            let name = library.require(MathFn::Fmod, Scalar::F32, FpMode::Safe, count).to_owned();
            let result = t.call(ty, &name, &[&x, &y]);
            return from_f32(t, width, scalar, &result);
        }
    };
    let result = t.binary_with(name, flags_of(fp, op, &x, &y), &x, &y);
    from_arithmetic(t, width, scalar, &result)
}

fn is_signed(op: BinOp) -> bool {
    matches!(op, BinOp::SDiv | BinOp::SRem | BinOp::SMulHi)
}

/// A divisor of zero counts as one, and so does -1 under the smallest number.
fn safe_divisor(t: &mut Builder, how: Arithmetic, op: BinOp, a: &Opd, b: &Opd) -> Opd {
    let Arithmetic { width, scalar, constant, .. } = how;
    let element = scalar_type(scalar);
    match constant {
        Some(0) => return width.int(element, 1),
        Some(c) if c != -1 || !is_signed(op) => return b.clone(),
        _ => {}
    }
    let mut bad = t.icmp(IntPredicate::Eq, b, 0);
    if is_signed(op) {
        let smallest = width.int(element, i64::MIN >> (64 - scalar.bits()));
        let minus = t.icmp(IntPredicate::Eq, b, -1);
        let lowest = t.icmp(IntPredicate::Eq, a, &smallest);
        let overflow = t.and(&minus, &lowest);
        bad = t.or(&bad, &overflow);
    }
    t.select(&bad, &width.int(element, 1), b)
}

fn division(t: &mut Builder, how: Arithmetic, op: BinOp, a: &Opd, b: &Opd) -> Opd {
    let Arithmetic { width, scalar, constant, .. } = how;
    let divisor = safe_divisor(t, how, op, a, b);
    let ty = width.ty(scalar);
    let name = match op {
        BinOp::UDiv => Binary::UDiv,
        BinOp::SDiv => Binary::SDiv,
        BinOp::URem => Binary::URem,
        BinOp::SRem => Binary::SRem,
        other => unreachable!("{other:?} does not divide"),
    };
    if width == Width::One || constant.is_some() || scalar == Scalar::I64 {
        return t.binary(name, a, &divisor);
    }
    // Processors have no vector division of integers. That of floats is exact here: the distance of
    // a quotient that is not whole from the next whole number is far above the rounding error.
    let wide = if scalar == Scalar::I32 { DOUBLE } else { FLOAT };
    let (to, back) = if is_signed(op) { (Cast::SiToFp, Cast::FpToSi) } else { (Cast::UiToFp, Cast::FpToUi) };
    let wide = width.of(wide);
    let x = t.cast(to, a, wide);
    let y = t.cast(to, &divisor, wide);
    let quotient = t.binary(Binary::FDiv, &x, &y);
    let quotient = t.cast(back, &quotient, ty);
    if matches!(op, BinOp::UDiv | BinOp::SDiv) {
        return quotient;
    }
    let whole = t.mul(&quotient, &divisor);
    t.sub(a, &whole)
}

/// Division of 32-bit integers in all lanes by one divisor: a product with the reciprocal, which is computed
/// once. As a `double` a hair above the exact one it gives the exact quotient: for numbers below 2^32 the
/// excess stays under 2^-17 divisors' parts, and the next whole number is at least one part away.
pub(crate) fn division_by_one(t: &mut Builder, op: BinOp, a: &Opd, divisor: &Opd) -> Opd {
    t.expect(divisor, I32);
    t.expect(a, I32.lanes());
    const ABOVE_ONE: f64 = 1.0 + 4.0 * f64::EPSILON;
    let (ty, wide) = (Width::All.of(I32), Width::All.of(DOUBLE));
    let none = t.icmp(IntPredicate::Eq, divisor, 0);
    let divisor = t.select(&none, &Opd::int(I32, 1), divisor);
    let signed = is_signed(op);
    let magnitude = |t: &mut Builder, value: &Opd| {
        let name = format!("llvm.abs.{}", value.ty().suffix());
        t.call_declared(value.ty(), &name, &[value, &Opd::bool(false)])
    };
    let (x, y) = match signed {
        true => (magnitude(t, a), magnitude(t, &divisor)),
        false => (a.clone(), divisor.clone()),
    };
    let y = t.cast(Cast::UiToFp, &y, DOUBLE);
    let reciprocal = t.binary(Binary::FDiv, &Opd::double(ABOVE_ONE), &y);
    let reciprocal = t.splat(&reciprocal);
    let x = t.cast(Cast::UiToFp, &x, wide);
    let quotient = t.binary(Binary::FMul, &x, &reciprocal);
    let mut quotient = t.cast(Cast::FpToUi, &quotient, ty);
    let divisors = t.splat(&divisor);
    if signed {
        let signs = t.xor(a, &divisors);
        let signs = t.ashr(&signs, 31);
        let flipped = t.xor(&quotient, &signs);
        quotient = t.sub(&flipped, &signs);
    }
    if matches!(op, BinOp::UDiv | BinOp::SDiv) {
        return quotient;
    }
    let whole = t.mul(&quotient, &divisors);
    t.sub(a, &whole)
}

fn high_product(t: &mut Builder, how: Arithmetic, op: BinOp, a: &Opd, b: &Opd) -> Opd {
    let Arithmetic { width, scalar, .. } = how;
    assert!(scalar.is_int(), "{scalar:?} products do not have a high half");
    let bits = scalar.bits();
    let (ty, wide) = (width.ty(scalar), width.of(llvm::Type::int(bits * 2)));
    let extend = if is_signed(op) { Cast::SExt } else { Cast::ZExt };
    let x = t.cast(extend, a, wide);
    let y = t.cast(extend, b, wide);
    let product = t.mul(&x, &y);
    let high = t.lshr(&product, i64::from(bits));
    t.trunc(&high, ty)
}

/// `a op b` of scalars that are not pointers.
pub(crate) fn compare(t: &mut Builder, width: Width, op: CmpOp, scalar: Scalar, a: &Opd, b: &Opd) -> Opd {
    let integer = match op {
        CmpOp::Eq => IntPredicate::Eq,
        CmpOp::Ne => IntPredicate::Ne,
        CmpOp::ULt => IntPredicate::ULt,
        CmpOp::ULe => IntPredicate::ULe,
        CmpOp::UGt => IntPredicate::UGt,
        CmpOp::UGe => IntPredicate::UGe,
        CmpOp::SLt => IntPredicate::SLt,
        CmpOp::SLe => IntPredicate::SLe,
        CmpOp::SGt => IntPredicate::SGt,
        CmpOp::SGe => IntPredicate::SGe,
        CmpOp::FEq | CmpOp::FLt | CmpOp::FLe | CmpOp::FGt | CmpOp::FGe | CmpOp::FNe => {
            return compare_floats(t, width, op, scalar, a, b);
        }
        CmpOp::Disjoint => unreachable!("scalars have no allocations"),
    };
    t.icmp(integer, a, b)
}

fn compare_floats(t: &mut Builder, width: Width, op: CmpOp, scalar: Scalar, a: &Opd, b: &Opd) -> Opd {
    let predicate = match op {
        CmpOp::FEq => FloatPredicate::Oeq,
        CmpOp::FLt => FloatPredicate::Olt,
        CmpOp::FLe => FloatPredicate::Ole,
        CmpOp::FGt => FloatPredicate::Ogt,
        CmpOp::FGe => FloatPredicate::Oge,
        CmpOp::FNe => FloatPredicate::Une,
        other => unreachable!("{other:?} does not compare floats"),
    };
    let (x, y) = (to_f32(t, width, scalar, a), to_f32(t, width, scalar, b));
    t.fcmp(predicate, &x, &y)
}
