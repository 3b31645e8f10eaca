//! One rule per operation: the result's shape from the operands' shapes.
//!
//! Invariant: the rules are monotone, and for every laned result the emitter can compute the bases
//! from the operands' bases (`emit/pure.rs` and `emit/conditional.rs` mirror [`binary`] and [`cast`] case by case).

use anymetal_ir::{BinOp, CastOp, CmpOp, Scalar, UnOp, eval};

use super::{Lanes, Shape, trailing_zeros};
use crate::cpu::llvm_text::LANES;

/// How a laned result of a binary operation is computed.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::cpu) enum Rule {
    /// Known now.
    Known,
    /// On the single bases, as scalars.
    Scalar,
    /// Sum or difference of bases and patterns.
    Sum,
    /// Bases and pattern times a constant.
    Scale(i64),
    /// Each segment's value times the uniform second operand (the first, if `swapped`).
    SegmentProduct {
        /// The uniform operand is the first.
        swapped: bool,
    },
    /// Bases and pattern shifted right.
    ShiftRight(u32),
    /// Bases and pattern masked.
    Mask(i64),
    /// Pattern only, or-ed.
    Insert(i64),
    /// One operand, as long as the other, uniform one does not limit any lane: conditional.
    Unclamped,
    /// One operand, as long as the other, uniform one is 1: conditional.
    UnitFactor,
    /// Lane by lane.
    None,
}

/// The bits of a known lane.
fn bits(scalar: Scalar, value: i64) -> u64 {
    value as u64 & eval::mask(scalar)
}

/// The known lane of these bits.
pub(in crate::cpu) fn lane_of(scalar: Scalar, bits: u64) -> i64 {
    if scalar == Scalar::Bool { bits as i64 & 1 } else { eval::sign_extend(scalar, bits) }
}

fn wrapped(scalar: Scalar, value: i64) -> i64 {
    lane_of(scalar, bits(scalar, value))
}

fn uniform_of(a: &Lanes, b: &Lanes, align: u32) -> Lanes {
    Lanes { align: align.min(31), ..Lanes::uniform(a.group && b.group) }
}

/// The rule and the shape of `op` on operands of type `scalar`. `bounded` tells whether the first
/// operand is known not to be negative as a signed number.
pub(in crate::cpu) fn binary(
    op: BinOp,
    scalar: Scalar,
    a: &Shape,
    b: &Shape,
    bounded: bool,
) -> (Rule, Shape) {
    let (Shape::Lanes(a), Shape::Lanes(b)) = (a, b) else {
        let bottom = *a == Shape::Bottom || *b == Shape::Bottom;
        return (Rule::None, if bottom { Shape::Bottom } else { Shape::Varying });
    };
    if !scalar.is_int() {
        let both = a.is_uniform() && b.is_uniform();
        return if both {
            (Rule::Scalar, Shape::Lanes(uniform_of(a, b, 0)))
        } else {
            (Rule::None, Shape::Varying)
        };
    }
    if a.absolute && b.absolute {
        let value = |lane| eval::eval_binary(op, scalar, bits(scalar, a.at(lane)), bits(scalar, b.at(lane)));
        let values = std::array::from_fn(|lane| lane_of(scalar, value(lane)));
        return (Rule::Known, Shape::Lanes(Lanes::known(values)));
    }
    let conditional = a.conditional || b.conditional;
    if a.is_uniform() && b.is_uniform() && !conditional {
        return (Rule::Scalar, Shape::Lanes(uniform_of(a, b, uniform_align(op, a, b))));
    }
    match linear(op, scalar, a, b, bounded && !conditional, conditional) {
        (rule, Some(lanes)) => (rule, Shape::Lanes(lanes.kept())),
        (_, None) => (Rule::None, Shape::Varying),
    }
}

/// How often two divides a uniform result, from what is known of the operands.
fn uniform_align(op: BinOp, a: &Lanes, b: &Lanes) -> u32 {
    let of = |lanes: &Lanes| if lanes.absolute { trailing_zeros(lanes.at(0)) } else { lanes.align };
    match op {
        BinOp::Add | BinOp::Sub | BinOp::Or | BinOp::Xor => of(a).min(of(b)),
        BinOp::Mul => of(a) + of(b),
        BinOp::And => of(a).max(of(b)),
        BinOp::Shl => b.constant().filter(|c| (0..32).contains(c)).map_or(0, |c| of(a) + c as u32),
        _ => 0,
    }
}

fn linear(
    op: BinOp,
    scalar: Scalar,
    a: &Lanes,
    b: &Lanes,
    bounded: bool,
    conditional: bool,
) -> (Rule, Option<Lanes>) {
    match op {
        BinOp::Add | BinOp::Sub => sum(op, scalar, a, b),
        BinOp::Mul => product(scalar, a, b),
        BinOp::SMin | BinOp::SMax | BinOp::UMin | BinOp::UMax => unclamped(a, b),
        _ if conditional => (Rule::None, None),
        BinOp::Shl => match b.constant() {
            Some(c) if (0..i64::from(scalar.bits().min(32))).contains(&c) => {
                product(scalar, a, &Lanes::known([1 << c; LANES]))
            }
            _ => (Rule::None, None),
        },
        BinOp::LShr | BinOp::UDiv => shift_right(op, scalar, a, b),
        BinOp::AShr if bounded => shift_right(BinOp::LShr, scalar, a, b),
        BinOp::SDiv if bounded => shift_right(BinOp::UDiv, scalar, a, b),
        BinOp::URem => remainder(a, b),
        BinOp::SRem if bounded => remainder(a, b),
        BinOp::And => match (a.constant(), b.constant()) {
            (None, Some(c)) => mask(a, c),
            (Some(c), None) => mask(b, c),
            _ => (Rule::None, None),
        },
        BinOp::Or | BinOp::Xor => match b.constant() {
            Some(c) if a.is_disjoint() && c >= 0 && c < 1 << a.align => {
                let values = a.values().map(|value| if op == BinOp::Or { value | c } else { value ^ c });
                (Rule::Insert(c), Some(a.with_values(values)))
            }
            _ => (Rule::None, None),
        },
        _ => (Rule::None, None),
    }
}

/// A minimum or maximum usually limits no lane of a SIMD-group in the middle of the data.
fn unclamped(a: &Lanes, b: &Lanes) -> (Rule, Option<Lanes>) {
    let (laned, limit) = if b.is_uniform() { (a, b) } else { (b, a) };
    if laned.segments != 1 || !limit.is_uniform() || limit.conditional {
        return (Rule::None, None);
    }
    let lanes = laned.kept();
    let shape =
        Lanes { absolute: false, group: a.group && b.group, conditional: true, align: 0, ..lanes.normal() };
    (Rule::Unclamped, Some(shape))
}

fn sum(op: BinOp, scalar: Scalar, a: &Lanes, b: &Lanes) -> (Rule, Option<Lanes>) {
    let segments = a.segments.max(b.segments);
    let values = std::array::from_fn(|lane| {
        let (x, y) = (a.at(lane), b.at(lane));
        wrapped(scalar, if op == BinOp::Add { x.wrapping_add(y) } else { x.wrapping_sub(y) })
    });
    let shape = Lanes {
        segments,
        pattern: None,
        absolute: false,
        align: a.align.min(b.align),
        group: a.group && b.group,
        conditional: a.conditional || b.conditional,
    };
    (Rule::Sum, Some(shape.with_values(values)))
}

fn product(scalar: Scalar, a: &Lanes, b: &Lanes) -> (Rule, Option<Lanes>) {
    if let Some(c) = b.constant() {
        return (Rule::Scale(c), Some(scaled(scalar, a, c)));
    }
    if let Some(c) = a.constant() {
        return (Rule::Scale(c), Some(scaled(scalar, b, c)));
    }
    let (laned, uniform, swapped) = match (a.is_uniform(), b.is_uniform()) {
        (_, true) => (a, b, false),
        (true, _) => (b, a, true),
        _ => return (Rule::None, None),
    };
    let Some(segments) = laned.constant_segments().filter(|_| !laned.conditional && !uniform.conditional)
    else {
        return unit_factor(laned, uniform);
    };
    let align = laned.values().iter().map(|&value| trailing_zeros(value)).fold(laned.align, u32::min);
    let align = (align + uniform.align).min(31);
    let shape = Lanes { segments, align, ..Lanes::uniform(a.group && b.group) };
    (Rule::SegmentProduct { swapped }, Some(shape))
}

/// A stride that the program is given is 1 more often than not.
fn unit_factor(laned: &Lanes, factor: &Lanes) -> (Rule, Option<Lanes>) {
    if laned.is_uniform() || factor.conditional {
        return (Rule::None, None);
    }
    let group = laned.group && factor.group;
    let shape = Lanes { absolute: false, group, conditional: true, align: 0, ..laned.normal() };
    (Rule::UnitFactor, Some(shape))
}

fn scaled(scalar: Scalar, lanes: &Lanes, c: i64) -> Lanes {
    let values = lanes.values().map(|value| wrapped(scalar, value.wrapping_mul(c)));
    let align = (lanes.align + trailing_zeros(c)).min(31);
    Lanes { align, ..lanes.with_values(values) }
}

fn shift_right(op: BinOp, scalar: Scalar, a: &Lanes, b: &Lanes) -> (Rule, Option<Lanes>) {
    let Some(c) = b.constant() else { return (Rule::None, None) };
    let shift = match op {
        BinOp::LShr if (0..i64::from(scalar.bits())).contains(&c) => c as u32,
        BinOp::UDiv if c > 0 && (c as u64).is_power_of_two() => c.trailing_zeros(),
        _ => return (Rule::None, None),
    };
    if !a.is_disjoint() || shift > a.align {
        return (Rule::None, None);
    }
    let shape = a.with_values(a.values().map(|value| value >> shift));
    (Rule::ShiftRight(shift), Some(Lanes { align: a.align - shift, ..shape }))
}

fn remainder(a: &Lanes, b: &Lanes) -> (Rule, Option<Lanes>) {
    match b.constant() {
        Some(c) if c > 0 && (c as u64).is_power_of_two() => mask(a, c - 1),
        _ => (Rule::None, None),
    }
}

fn mask(a: &Lanes, c: i64) -> (Rule, Option<Lanes>) {
    if !a.is_disjoint() {
        return (Rule::None, None);
    }
    let values = a.values().map(|value| value & c);
    if c >= 0 && c < 1 << a.align {
        return (Rule::Mask(c), Some(Lanes::known(values)));
    }
    let align = a.align.max(trailing_zeros(c));
    (Rule::Mask(c), Some(Lanes { align, ..a.with_values(values) }))
}

/// The shape of a one-operand operation.
pub(in crate::cpu) fn unary(op: UnOp, scalar: Scalar, a: &Shape) -> Shape {
    match a {
        Shape::Lanes(lanes) if lanes.absolute && !scalar.is_float() => {
            let value = |lane| eval::eval_unary(op, scalar, bits(scalar, lanes.at(lane)));
            Shape::Lanes(Lanes::known(std::array::from_fn(|lane| lane_of(scalar, value(lane)))))
        }
        Shape::Lanes(lanes) if lanes.is_uniform() && !lanes.conditional => Shape::uniform(lanes.group),
        Shape::Bottom => Shape::Bottom,
        _ => Shape::Varying,
    }
}

/// The shape of a comparison.
pub(in crate::cpu) fn compare(op: CmpOp, scalar: Scalar, a: &Shape, b: &Shape) -> Shape {
    if let (Shape::Lanes(a), Shape::Lanes(b)) = (a, b)
        && a.absolute
        && b.absolute
        && !scalar.is_float()
    {
        let value = |lane| eval::eval_compare(op, scalar, bits(scalar, a.at(lane)), bits(scalar, b.at(lane)));
        return Shape::Lanes(Lanes::known(std::array::from_fn(|lane| i64::from(value(lane)))));
    }
    if let (Shape::Lanes(a), Shape::Lanes(b)) = (a, b)
        && compares_alike(op, scalar, a, b)
    {
        return Shape::uniform(a.group && b.group);
    }
    all_uniform([a, b])
}

/// Whether all lanes are on the same side of a limit: the limit is a multiple of a power of two, and so is
/// the lanes' base, from which they differ by less. Threads of a SIMD-group and `tid < 32`, say.
fn compares_alike(op: CmpOp, scalar: Scalar, a: &Lanes, b: &Lanes) -> bool {
    let (laned, limit) = match op {
        CmpOp::ULt | CmpOp::UGe | CmpOp::SLt | CmpOp::SGe => (a, b),
        CmpOp::UGt | CmpOp::ULe | CmpOp::SGt | CmpOp::SLe => (b, a),
        _ => return false,
    };
    if !limit.is_uniform() || laned.segments != 1 || laned.conditional || limit.conditional {
        return false;
    }
    let align_of = |lanes: &Lanes| if lanes.absolute { 31 } else { lanes.align };
    let limit_align = align_of(limit).min(trailing_zeros(limit.at(0)));
    let align = align_of(laned).min(limit_align).min(scalar.bits() - 1);
    let (low, high) = laned.extent();
    low >= 0 && high < 1 << align
}

/// Uniform if all operands are.
pub(in crate::cpu) fn all_uniform<'a>(operands: impl IntoIterator<Item = &'a Shape>) -> Shape {
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
pub(in crate::cpu) fn select(condition: &Shape, a: &Shape, b: &Shape) -> Shape {
    if *condition == Shape::Bottom {
        return Shape::Bottom;
    }
    if let Some(known) = condition.lanes().and_then(Lanes::constant) {
        return if known & 1 == 1 { a.clone() } else { b.clone() };
    }
    let conditional = |shape: &Shape| shape.lanes().is_some_and(|lanes| lanes.conditional);
    if !condition.is_uniform() || conditional(a) || conditional(b) {
        let known = |shape: &Shape| shape.lanes().is_some_and(|lanes| lanes.absolute);
        return if a == b && known(a) { a.clone() } else { Shape::Varying };
    }
    let joined = a.join(b);
    if condition.is_group_uniform() { joined } else { joined.not_group() }
}

/// The shape of an elementwise integer conversion. `bound` is the operand's largest value.
pub(in crate::cpu) fn cast(op: CastOp, from: Scalar, to: Scalar, a: &Shape, bound: u64) -> Shape {
    let Shape::Lanes(lanes) = a else { return a.clone() };
    let integers = !from.is_float() && !to.is_float();
    if integers && lanes.absolute && matches!(op, CastOp::Trunc | CastOp::ZExt | CastOp::SExt) {
        let value = |lane| eval::eval_cast(op, from, to, bits(from, lanes.at(lane)));
        return Shape::Lanes(Lanes::known(std::array::from_fn(|lane| lane_of(to, value(lane)))));
    }
    if lanes.is_uniform() && !lanes.conditional {
        let align = if integers && from.is_int() && !lanes.absolute { lanes.align } else { 0 };
        return Shape::Lanes(Lanes { align, ..Lanes::uniform(lanes.group) });
    }
    if !from.is_int() || lanes.conditional && op == CastOp::Trunc {
        return Shape::Varying;
    }
    match op {
        CastOp::Trunc => {
            Shape::Lanes(lanes.with_values(lanes.values().map(|value| wrapped(to, value))).kept())
        }
        CastOp::ZExt | CastOp::SExt if !may_wrap(op, from, lanes, bound) => a.clone(),
        CastOp::ZExt | CastOp::SExt if to == Scalar::I64 => {
            Shape::Lanes(Lanes { conditional: true, ..lanes.clone() })
        }
        _ => Shape::Varying,
    }
}

/// Whether widening the sum of base and pattern could differ from the sum of the widened. When no
/// lane exceeds `bound` and there is room for the pattern above it, base and sum are both exact; so they are where
/// each lane has its segment's base.
pub(in crate::cpu) fn may_wrap(op: CastOp, from: Scalar, lanes: &Lanes, bound: u64) -> bool {
    let (low, high) = lanes.extent();
    let room = low.unsigned_abs().max(high.unsigned_abs());
    let limit = if op == CastOp::SExt { eval::mask(from) >> 1 } else { eval::mask(from) };
    room != 0 && bound.checked_add(room).is_none_or(|sum| sum > limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids() -> Shape {
        Shape::Lanes(Lanes::known(std::array::from_fn(|lane| lane as i64)))
    }

    fn thread_index() -> Shape {
        Shape::Lanes(Lanes::based(std::array::from_fn(|lane| lane as i64), 5))
    }

    fn constant(value: i64) -> Shape {
        Shape::Lanes(Lanes::known([value; LANES]))
    }

    #[test]
    fn known_lanes_fold() {
        let (rule, shape) = binary(BinOp::URem, Scalar::I32, &ids(), &constant(8), false);
        assert_eq!(rule, Rule::Known);
        assert_eq!(shape.lanes().unwrap().at(9), 1);
    }

    #[test]
    fn aligned_bases_divide() {
        let (_, row) = binary(BinOp::UDiv, Scalar::I32, &thread_index(), &constant(16), false);
        let row = row.lanes().unwrap().clone();
        assert_eq!((row.at(15), row.at(16), row.align), (0, 1, 1));
        let (_, column) = binary(BinOp::URem, Scalar::I32, &thread_index(), &constant(16), false);
        assert!(column.lanes().unwrap().absolute);
        let (_, odd) = binary(BinOp::UDiv, Scalar::I32, &thread_index(), &constant(64), false);
        assert_eq!(odd, Shape::Varying);
    }

    #[test]
    fn products_with_uniform_values_need_segments() {
        let (_, row) = binary(BinOp::UDiv, Scalar::I32, &thread_index(), &constant(16), false);
        let (rule, shape) = binary(BinOp::Mul, Scalar::I32, &row, &Shape::uniform(true), false);
        assert_eq!(rule, Rule::SegmentProduct { swapped: false });
        assert_eq!(shape.lanes().unwrap().segments, 2);
        let (rule, shape) = binary(BinOp::Mul, Scalar::I32, &thread_index(), &Shape::uniform(true), false);
        assert_eq!(rule, Rule::UnitFactor);
        assert!(shape.lanes().unwrap().conditional);
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
        let (_, shifted) = binary(BinOp::Add, Scalar::I32, &index, &constant(1), false);
        assert!(!alike(CmpOp::ULt, &shifted, &limit));
        let (_, multiple) = binary(BinOp::Shl, Scalar::I32, &Shape::uniform(true), &constant(5), false);
        assert!(alike(CmpOp::ULt, &index, &multiple) && alike(CmpOp::ULt, &ids(), &multiple));
    }

    #[test]
    fn a_signed_byte_is_on_one_side_too() {
        let lanes = |align| Shape::Lanes(Lanes::based(std::array::from_fn(|lane| 4 * lane as i64), align));
        assert!(compare(CmpOp::SLt, Scalar::I8, &lanes(20), &constant(-128)).is_uniform());
        assert!(!compare(CmpOp::SLt, Scalar::I8, &lanes(6), &constant(-128)).is_uniform());
    }

    #[test]
    fn widening_segments_of_equal_lanes_is_exact() {
        let rows = Shape::Lanes(Lanes { segments: 8, ..Lanes::uniform(false) });
        let wide = cast(CastOp::SExt, Scalar::I32, Scalar::I64, &rows, u64::MAX);
        assert_eq!(wide, rows);
    }

    #[test]
    fn widening_is_conditional_unless_bounded() {
        let wide = cast(CastOp::ZExt, Scalar::I32, Scalar::I64, &thread_index(), 1055);
        assert!(!wide.lanes().unwrap().conditional);
        let wide = cast(CastOp::ZExt, Scalar::I32, Scalar::I64, &thread_index(), u64::from(u32::MAX));
        assert!(wide.lanes().unwrap().conditional);
    }
}
