//! One rule per operation: the result's shape from the operands' shapes.
//!
//! Invariant: the rules are monotone, and for every affine result the emitter can compute the bases from
//! the operands' bases (`emit/pure` and `emit/assumptions` mirror [`binary`] and [`cast`] case by case).
//! `binary` has the rules of arithmetic on two operands; all others are here.

mod binary;

use anymetal_ir::{CastOp, CmpOp, Scalar, UnOp, eval};

use super::{Affine, Assumption, Shape, trailing_zeros};
pub use binary::binary;

/// The bits of a known lane.
fn bits(scalar: Scalar, value: i64) -> u64 {
    value as u64 & eval::mask(scalar)
}

/// The known lane of these bits.
pub fn lane_of(scalar: Scalar, bits: u64) -> i64 {
    if scalar == Scalar::Bool { bits as i64 & 1 } else { eval::sign_extend(scalar, bits) }
}

fn wrapped(scalar: Scalar, value: i64) -> i64 {
    lane_of(scalar, bits(scalar, value))
}

/// The shape of a one-operand operation.
pub fn unary(op: UnOp, scalar: Scalar, a: &Shape) -> Shape {
    match a {
        Shape::Affine(lanes) if lanes.is_constant && !scalar.is_float() => {
            let value = |lane| eval::eval_unary(op, scalar, bits(scalar, lanes.at(lane)));
            Shape::Affine(Affine::known(std::array::from_fn(|lane| lane_of(scalar, value(lane)))))
        }
        Shape::Affine(lanes) if lanes.is_uniform() && !lanes.is_assumed() => Shape::uniform(lanes.group),
        Shape::Bottom => Shape::Bottom,
        _ => Shape::Varying,
    }
}

/// The shape of a comparison.
pub fn compare(op: CmpOp, scalar: Scalar, a: &Shape, b: &Shape) -> Shape {
    if let (Shape::Affine(a), Shape::Affine(b)) = (a, b)
        && a.is_constant
        && b.is_constant
        && !scalar.is_float()
    {
        let value = |lane| eval::eval_compare(op, scalar, bits(scalar, a.at(lane)), bits(scalar, b.at(lane)));
        return Shape::Affine(Affine::known(std::array::from_fn(|lane| i64::from(value(lane)))));
    }
    if let (Shape::Affine(a), Shape::Affine(b)) = (a, b)
        && compares_alike(op, scalar, a, b)
    {
        return Shape::uniform(a.group && b.group);
    }
    all_uniform([a, b])
}

/// Whether all lanes are on the same side of a limit: the limit is a multiple of a power of two, and so is
/// the lanes' base, from which they differ by less. Threads of a SIMD-group and `tid < 32`, say.
fn compares_alike(op: CmpOp, scalar: Scalar, a: &Affine, b: &Affine) -> bool {
    let (affine, limit) = match op {
        CmpOp::ULt | CmpOp::UGe | CmpOp::SLt | CmpOp::SGe => (a, b),
        CmpOp::UGt | CmpOp::ULe | CmpOp::SGt | CmpOp::SLe => (b, a),
        _ => return false,
    };
    if !limit.is_uniform() || affine.segments != 1 || affine.is_assumed() || limit.is_assumed() {
        return false;
    }
    let align_of = |lanes: &Affine| if lanes.is_constant { 31 } else { lanes.align };
    let limit_align = align_of(limit).min(trailing_zeros(limit.at(0)));
    let align = align_of(affine).min(limit_align).min(scalar.bits() - 1);
    let (low, high) = affine.extent();
    low >= 0 && high < 1 << align
}

/// Uniform if all operands are.
pub fn all_uniform<'a>(operands: impl IntoIterator<Item = &'a Shape>) -> Shape {
    let mut group = true;
    let mut bottom = false;
    for operand in operands {
        match operand {
            Shape::Bottom => bottom = true,
            shape if shape.is_uniform() => group &= shape.is_group_uniform(),
            _ => return Shape::Varying,
        }
    }
    if bottom { Shape::Bottom } else { Shape::uniform(group) }
}

/// The shape of `condition ? a : b`.
pub fn select(condition: &Shape, a: &Shape, b: &Shape) -> Shape {
    debug_assert!(
        !condition.affine().is_some_and(|lanes| lanes.is_assumed()),
        "conditions do not have a conditional form"
    );
    if *condition == Shape::Bottom {
        return Shape::Bottom;
    }
    if let Some(known) = condition.affine().and_then(Affine::constant) {
        return if known & 1 == 1 { a.clone() } else { b.clone() };
    }
    let assumed = |shape: &Shape| shape.affine().is_some_and(|lanes| lanes.is_assumed());
    if !condition.is_uniform() || assumed(a) || assumed(b) {
        let known = |shape: &Shape| shape.affine().is_some_and(|lanes| lanes.is_constant);
        return if a == b && known(a) { a.clone() } else { Shape::Varying };
    }
    let joined = a.join(b);
    if condition.is_group_uniform() { joined } else { joined.not_group() }
}

/// The shape of an elementwise integer conversion. `bound` is the operand's largest value.
pub fn cast(op: CastOp, from: Scalar, to: Scalar, a: &Shape, bound: u64) -> Shape {
    debug_assert!(!matches!(op, CastOp::PtrToInt | CastOp::IntToPtr), "{op:?} is not elementwise");
    let Shape::Affine(lanes) = a else { return a.clone() };
    let integers = !from.is_float() && !to.is_float();
    if integers && lanes.is_constant && matches!(op, CastOp::Trunc | CastOp::ZExt | CastOp::SExt) {
        let value = |lane| eval::eval_cast(op, from, to, bits(from, lanes.at(lane)));
        return Shape::Affine(Affine::known(std::array::from_fn(|lane| lane_of(to, value(lane)))));
    }
    if lanes.is_uniform() && !lanes.is_assumed() {
        let align = if integers && from.is_int() && !lanes.is_constant { lanes.align } else { 0 };
        return Shape::Affine(Affine { align, ..Affine::uniform(lanes.group) });
    }
    if !from.is_int() || lanes.is_assumed() && op == CastOp::Trunc {
        return Shape::Varying;
    }
    match op {
        CastOp::Trunc => {
            Shape::Affine(lanes.with_values(lanes.values().map(|value| wrapped(to, value))).kept())
        }
        CastOp::ZExt | CastOp::SExt if !may_wrap(op, from, lanes, bound) => a.clone(),
        CastOp::ZExt | CastOp::SExt if to == Scalar::I64 => Shape::Affine(Affine {
            assumption: lanes.assumption.max(Some(Assumption::NoWrap)),
            ..lanes.clone()
        }),
        _ => Shape::Varying,
    }
}

/// The shape of the addresses of offsets in one binding.
pub fn addressed(offsets: &Shape) -> Shape {
    match offsets {
        Shape::Affine(lanes) => Shape::Affine(Affine { align: 0, ..lanes.normal() }),
        other => other.clone(),
    }
}

/// The shape of encoded pointers, from that of their offsets. Offsets saturate, so lanes keep their distances
/// only if these are zero.
pub(super) fn encoded(offsets: &Shape) -> Shape {
    match offsets {
        Shape::Bottom => Shape::Bottom,
        Shape::Affine(lanes) if offsets.is_uniform() => {
            Shape::Affine(Affine { is_constant: false, align: 0, pattern: None, ..lanes.clone() })
        }
        Shape::Affine(_) | Shape::Varying => Shape::Varying,
    }
}

/// Whether widening the sum of base and pattern could differ from the sum of the widened. When no
/// lane exceeds `bound` and there is room for the pattern above it, base and sum are both exact; so they are
/// where each lane has its segment's base.
pub fn may_wrap(op: CastOp, from: Scalar, lanes: &Affine, bound: u64) -> bool {
    let (low, high) = lanes.extent();
    let room = low.unsigned_abs().max(high.unsigned_abs());
    let limit = if op == CastOp::SExt { eval::mask(from) >> 1 } else { eval::mask(from) };
    room != 0 && bound.checked_add(room).is_none_or(|sum| sum > limit)
}

#[cfg(test)]
mod tests {
    use anymetal_ir::BinOp;

    use super::*;
    use crate::divergence::LANES;

    pub(super) fn ids() -> Shape {
        Shape::Affine(Affine::known(std::array::from_fn(|lane| lane as i64)))
    }

    pub(super) fn thread_index() -> Shape {
        Shape::Affine(Affine::based(std::array::from_fn(|lane| lane as i64), 5))
    }

    pub(super) fn constant(value: i64) -> Shape {
        Shape::Affine(Affine::known([value; LANES]))
    }

    #[test]
    fn a_simdgroup_is_on_one_side_of_multiples_of_its_size() {
        let alike = |op, a: &Shape, b: &Shape| compare(op, Scalar::I32, a, b).is_uniform();
        let (index, limit) = (thread_index(), constant(64));
        for op in [CmpOp::ULt, CmpOp::UGe, CmpOp::SLt, CmpOp::SGe] {
            assert!(alike(op, &index, &limit), "{op:?}");
            assert!(!alike(op, &limit, &index), "{op:?}");
        }
        for op in [CmpOp::ULe, CmpOp::UGt, CmpOp::SLe, CmpOp::SGt] {
            assert!(alike(op, &limit, &index), "{op:?}");
            assert!(!alike(op, &index, &limit), "{op:?}");
        }
        assert!(!alike(CmpOp::Eq, &index, &limit) && !alike(CmpOp::Ne, &index, &limit));
        assert!(!alike(CmpOp::ULt, &index, &constant(48)));
        assert!(!alike(CmpOp::ULt, &index, &Shape::uniform(true)));
        let shifted = binary(BinOp::Add, Scalar::I32, &index, &constant(1), false);
        assert!(!alike(CmpOp::ULt, &shifted, &limit));
        let multiple = binary(BinOp::Shl, Scalar::I32, &Shape::uniform(true), &constant(5), false);
        assert!(alike(CmpOp::ULt, &index, &multiple) && alike(CmpOp::ULt, &ids(), &multiple));
    }

    #[test]
    fn a_signed_byte_is_on_one_side_too() {
        let lanes = |align| Shape::Affine(Affine::based(std::array::from_fn(|lane| 4 * lane as i64), align));
        assert!(compare(CmpOp::SLt, Scalar::I8, &lanes(20), &constant(-128)).is_uniform());
        assert!(!compare(CmpOp::SLt, Scalar::I8, &lanes(6), &constant(-128)).is_uniform());
    }

    #[test]
    fn widening_segments_of_equal_lanes_is_exact() {
        let rows = Shape::Affine(Affine { segments: 8, ..Affine::uniform(false) });
        let wide = cast(CastOp::SExt, Scalar::I32, Scalar::I64, &rows, u64::MAX);
        assert_eq!(wide, rows);
    }

    #[test]
    fn widening_is_assumed_unless_bounded() {
        let wide = cast(CastOp::ZExt, Scalar::I32, Scalar::I64, &thread_index(), 1055);
        assert!(!wide.affine().unwrap().is_assumed());
        let wide = cast(CastOp::ZExt, Scalar::I32, Scalar::I64, &thread_index(), u64::from(u32::MAX));
        assert!(wide.affine().unwrap().is_assumed());
    }
}
