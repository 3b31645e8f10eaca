//! Arithmetic on two operands: how the lanes of the result follow from the operands' lanes.
//!
//! Bases are added, multiplied by constants or, segment by segment, by uniform values, shifted and masked; a
//! conditional shape is that of one operand, as long as the other is no limit, or the factor 1.

use anymetal_ir::{BinOp, Scalar, eval};

use super::{bits, lane_of, wrapped};

use crate::divergence::{Affine, Assumption, LANES, Shape, trailing_zeros};

fn uniform_of(a: &Affine, b: &Affine, align: u32) -> Affine {
    Affine { align: align.min(31), ..Affine::uniform(a.group && b.group) }
}

/// The shape of `op` on operands of type `scalar`. `bounded` tells whether the first
/// operand is known not to be negative as a signed number.
pub fn binary(op: BinOp, scalar: Scalar, a: &Shape, b: &Shape, bounded: bool) -> Shape {
    let (Shape::Affine(a), Shape::Affine(b)) = (a, b) else {
        let bottom = *a == Shape::Bottom || *b == Shape::Bottom;
        return if bottom { Shape::Bottom } else { Shape::Varying };
    };
    if !scalar.is_int() {
        let both = a.is_uniform() && b.is_uniform();
        return if both { Shape::Affine(uniform_of(a, b, 0)) } else { Shape::Varying };
    }
    if a.is_constant && b.is_constant {
        let value = |lane| eval::eval_binary(op, scalar, bits(scalar, a.at(lane)), bits(scalar, b.at(lane)));
        let values = std::array::from_fn(|lane| lane_of(scalar, value(lane)));
        return Shape::Affine(Affine::known(values));
    }
    let assumed = a.is_assumed() || b.is_assumed();
    if a.is_uniform() && b.is_uniform() && !assumed {
        return Shape::Affine(uniform_of(a, b, uniform_align(op, a, b)));
    }
    let lanes = linear(op, scalar, a, b, bounded && !assumed, assumed);
    let Some(lanes) = lanes else { return Shape::Varying };
    assert!(lanes.align <= 31, "alignments are tracked up to 2^31");
    assert!(!assumed || lanes.is_assumed(), "the result of {op:?} on a conditional form is conditional");
    Shape::Affine(lanes.kept())
}

/// How often two divides a uniform result, from what is known of the operands.
fn uniform_align(op: BinOp, a: &Affine, b: &Affine) -> u32 {
    let of = |lanes: &Affine| if lanes.is_constant { trailing_zeros(lanes.at(0)) } else { lanes.align };
    match op {
        BinOp::Add | BinOp::Sub | BinOp::Or | BinOp::Xor => of(a).min(of(b)),
        BinOp::Mul => of(a) + of(b),
        BinOp::And => of(a).max(of(b)),
        BinOp::Shl => b.constant().filter(|c| (0..32).contains(c)).map_or(0, |c| of(a) + c as u32),
        _ => 0,
    }
}

fn linear(op: BinOp, scalar: Scalar, a: &Affine, b: &Affine, bounded: bool, assumed: bool) -> Option<Affine> {
    match op {
        BinOp::Add | BinOp::Sub => sum(op, scalar, a, b),
        BinOp::Mul => product(scalar, a, b),
        BinOp::SMin | BinOp::SMax | BinOp::UMin | BinOp::UMax => unclamped(a, b),
        _ if assumed => None,
        BinOp::Shl => match b.constant() {
            Some(c) if (0..i64::from(scalar.bits().min(32))).contains(&c) => {
                product(scalar, a, &Affine::known([1 << c; LANES]))
            }
            _ => None,
        },
        BinOp::LShr | BinOp::UDiv => shift_right(op, scalar, a, b),
        BinOp::AShr if bounded => shift_right(BinOp::LShr, scalar, a, b),
        BinOp::SDiv if bounded => shift_right(BinOp::UDiv, scalar, a, b),
        BinOp::URem => remainder(a, b),
        BinOp::SRem if bounded => remainder(a, b),
        BinOp::And => match (a.constant(), b.constant()) {
            (None, Some(c)) => mask(a, c),
            (Some(c), None) => mask(b, c),
            _ => None,
        },
        BinOp::Or | BinOp::Xor => match b.constant() {
            Some(c) if a.is_disjoint() && c >= 0 && c < 1 << a.align => {
                let values = a.values().map(|value| if op == BinOp::Or { value | c } else { value ^ c });
                Some(a.with_values(values))
            }
            _ => None,
        },
        _ => None,
    }
}

/// A minimum or maximum usually limits no lane of a SIMD-group in the middle of the data.
fn unclamped(a: &Affine, b: &Affine) -> Option<Affine> {
    let (affine, limit) = if b.is_uniform() { (a, b) } else { (b, a) };
    if affine.segments != 1 || !limit.is_uniform() || limit.is_assumed() {
        return None;
    }
    let lanes = affine.kept();
    let assumption = lanes.assumption.max(Some(Assumption::Unclamped));
    let shape =
        Affine { is_constant: false, group: a.group && b.group, assumption, align: 0, ..lanes.normal() };
    Some(shape)
}

fn sum(op: BinOp, scalar: Scalar, a: &Affine, b: &Affine) -> Option<Affine> {
    let segments = a.segments.max(b.segments);
    let values = std::array::from_fn(|lane| {
        let (x, y) = (a.at(lane), b.at(lane));
        wrapped(scalar, if op == BinOp::Add { x.wrapping_add(y) } else { x.wrapping_sub(y) })
    });
    let shape = Affine {
        segments,
        pattern: None,
        is_constant: false,
        align: a.align.min(b.align),
        group: a.group && b.group,
        assumption: a.assumption.max(b.assumption),
    };
    Some(shape.with_values(values))
}

fn product(scalar: Scalar, a: &Affine, b: &Affine) -> Option<Affine> {
    if let Some(c) = b.constant() {
        return Some(scaled(scalar, a, c));
    }
    if let Some(c) = a.constant() {
        return Some(scaled(scalar, b, c));
    }
    let (affine, uniform) = match (a.is_uniform(), b.is_uniform()) {
        (_, true) => (a, b),
        (true, _) => (b, a),
        _ => return None,
    };
    let Some(segments) = affine.constant_segments().filter(|_| !affine.is_assumed() && !uniform.is_assumed())
    else {
        return unit_factor(affine, uniform);
    };
    let align = affine.values().iter().map(|&value| trailing_zeros(value)).fold(affine.align, u32::min);
    let align = (align + uniform.align).min(31);
    let shape = Affine { segments, align, ..Affine::uniform(a.group && b.group) };
    Some(shape)
}

/// A stride that the program is given is 1 more often than not.
fn unit_factor(affine: &Affine, factor: &Affine) -> Option<Affine> {
    if affine.is_uniform() || factor.is_assumed() {
        return None;
    }
    let group = affine.group && factor.group;
    let assumption = affine.assumption.max(Some(Assumption::UnitFactor));
    let shape = Affine { is_constant: false, group, assumption, align: 0, ..affine.normal() };
    Some(shape)
}

fn scaled(scalar: Scalar, lanes: &Affine, c: i64) -> Affine {
    let values = lanes.values().map(|value| wrapped(scalar, value.wrapping_mul(c)));
    let align = (lanes.align + trailing_zeros(c)).min(31);
    Affine { align, ..lanes.with_values(values) }
}

fn shift_right(op: BinOp, scalar: Scalar, a: &Affine, b: &Affine) -> Option<Affine> {
    let c = b.constant()?;
    let shift = match op {
        BinOp::LShr if (0..i64::from(scalar.bits())).contains(&c) => c as u32,
        BinOp::UDiv if c > 0 && (c as u64).is_power_of_two() => c.trailing_zeros(),
        _ => return None,
    };
    if !a.is_disjoint() || shift > a.align {
        return None;
    }
    debug_assert!(a.extent().0 >= 0, "a disjoint pattern is not negative, so that shifts divide it");
    let shape = a.with_values(a.values().map(|value| value >> shift));
    Some(Affine { align: a.align - shift, ..shape })
}

fn remainder(a: &Affine, b: &Affine) -> Option<Affine> {
    match b.constant() {
        Some(c) if c > 0 && (c as u64).is_power_of_two() => mask(a, c - 1),
        _ => None,
    }
}

fn mask(a: &Affine, c: i64) -> Option<Affine> {
    if !a.is_disjoint() {
        return None;
    }
    let values = a.values().map(|value| value & c);
    if c >= 0 && c < 1 << a.align {
        return Some(Affine::known(values));
    }
    let align = a.align.max(trailing_zeros(c));
    Some(Affine { align, ..a.with_values(values) })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{constant, ids, thread_index};
    use super::*;

    #[test]
    fn known_lanes_fold() {
        let shape = binary(BinOp::URem, Scalar::I32, &ids(), &constant(8), false);
        assert_eq!(shape.affine().unwrap().at(9), 1);
    }

    #[test]
    fn aligned_bases_divide() {
        let row = binary(BinOp::UDiv, Scalar::I32, &thread_index(), &constant(16), false);
        let row = row.affine().unwrap().clone();
        assert_eq!((row.at(15), row.at(16), row.align), (0, 1, 1));
        let column = binary(BinOp::URem, Scalar::I32, &thread_index(), &constant(16), false);
        assert!(column.affine().unwrap().is_constant);
        let odd = binary(BinOp::UDiv, Scalar::I32, &thread_index(), &constant(64), false);
        assert_eq!(odd, Shape::Varying);
    }

    #[test]
    fn products_with_uniform_values_need_segments() {
        let row = binary(BinOp::UDiv, Scalar::I32, &thread_index(), &constant(16), false);
        let shape = binary(BinOp::Mul, Scalar::I32, &row, &Shape::uniform(true), false);
        assert_eq!(shape.affine().unwrap().segments, 2);
        let shape = binary(BinOp::Mul, Scalar::I32, &thread_index(), &Shape::uniform(true), false);
        assert!(shape.affine().unwrap().is_assumed());
    }
}
