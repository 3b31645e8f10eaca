//! SIMD-group and quad-group operations over the active lanes.
//!
//! # Order of reductions
//! The code generators match this bit for bit. A reduction is a butterfly: for each `delta` of 16, 8, 4, 2,
//! 1 (quads: 2, 1), all lanes at once, `x[l] = op(x[l], x[l ^ delta])`. Inactive lanes take part with
//! nothing: an operation with one side missing gives the other side. That is the same as giving them the
//! operation's neutral element: sum −0.0 or 0, product 1, `fmin` and `fmax` NaN, `umin` and `and` all ones,
//! `umax`, `or` and `xor` 0, `smin` and `smax` the greatest and least integer. Each step rounds to the
//! value's type.
//!
//! Prefix operations go through the active lanes of the group in ascending order: the inclusive result of the
//! first is its own value, of every other `op(result before, own value)`; the exclusive result is the
//! inclusive one of the active lane before, 0 (product: 1) for the first.
//!
//! # Lanes that are not there
//! A shuffle or broadcast from a lane that is inactive or does not exist returns zero.

use anymetal_ir::eval::{eval_binary, eval_math};
use anymetal_ir::{Combination, Combine, CombinedLanes, Scalar, SimdOp};

use crate::lanes::{Lanes, lanes_in, mask_of};

/// The result for all lanes; `args` beyond the operation's own are ignored.
pub(super) fn apply(op: SimdOp, ty: Scalar, active: u32, args: [&Lanes; 4]) -> Lanes {
    let value = args[0];
    if let Some(combination) = op.combination(ty) {
        return combine(combination, ty, value, active);
    }
    match op {
        SimdOp::Any => [u64::from(mask_of(value) & active != 0); 32],
        SimdOp::All => [u64::from(!mask_of(value) & active == 0); 32],
        SimdOp::Ballot => [u64::from(mask_of(value) & active); 32],
        SimdOp::ActiveMask => [u64::from(active); 32],
        SimdOp::IsFirst => std::array::from_fn(|lane| u64::from(lane == active.trailing_zeros() as usize)),
        SimdOp::BroadcastFirst => [value[active.trailing_zeros() as usize & 31]; 32],
        _ => shuffle(op, active, args),
    }
}

fn one(ty: Scalar) -> u64 {
    match ty {
        Scalar::F32 => u64::from(1f32.to_bits()),
        Scalar::F16 => u64::from(half::f16::ONE.to_bits()),
        Scalar::Bf16 => u64::from(half::bf16::ONE.to_bits()),
        _ => 1,
    }
}

fn combine(combination: Combination, ty: Scalar, value: &Lanes, active: u32) -> Lanes {
    let pair = |a, b| match combination.combine {
        Combine::Binary(op) => eval_binary(op, ty, a, b),
        Combine::Math(function) => eval_math(function, ty, &[a, b]).expect("minimum and maximum are exact"),
    };
    if combination.lanes == CombinedLanes::All {
        return reduce(value, active, combination.width, pair);
    }
    let mut out = [0; 32];
    for group in (0..32).step_by(combination.width) {
        let mut before: Option<u64> = None;
        for lane in lanes_in(active).filter(|lane| lane - lane % combination.width == group) {
            let inclusive = before.map_or(value[lane], |before| pair(before, value[lane]));
            out[lane] = match (combination.lanes, before) {
                (CombinedLanes::UpToThis, _) => inclusive,
                (_, Some(before)) => before,
                (_, None) if combination.starts_at_one() => one(ty),
                (_, None) => 0,
            };
            before = Some(inclusive);
        }
    }
    out
}

fn reduce(value: &Lanes, active: u32, width: usize, pair: impl Fn(u64, u64) -> u64) -> Lanes {
    let mut current: [Option<u64>; 32] =
        std::array::from_fn(|lane| (active >> lane & 1 != 0).then_some(value[lane]));
    let mut delta = width / 2;
    while delta > 0 {
        current = std::array::from_fn(|lane| match (current[lane], current[lane ^ delta]) {
            (Some(own), Some(other)) => Some(pair(own, other)),
            (own, other) => own.or(other),
        });
        delta /= 2;
    }
    // Lanes that no active lane reaches are inactive themselves.
    current.map(|value| value.unwrap_or(0))
}

/// Where a lane's value comes from.
#[derive(Clone, Copy)]
enum Source {
    Value(usize),
    Fill(usize),
}

/// The active lanes whose result is the value of a lane that is inactive or does not exist.
pub(super) fn lanes_without_source(op: SimdOp, active: u32, args: [&Lanes; 4]) -> u32 {
    if !is_shuffle(op) {
        return 0;
    }
    let is_undefined = |&lane: &usize| {
        let (Source::Value(from) | Source::Fill(from)) = source_of(op, lane, active, args);
        !active & 1 << (from & 31) != 0
    };
    lanes_in(active).filter(is_undefined).fold(0, |lanes, lane| lanes | 1 << lane)
}

fn is_shuffle(op: SimdOp) -> bool {
    use SimdOp as S;
    matches!(
        op,
        S::Shuffle
            | S::ShuffleXor
            | S::ShuffleUp
            | S::ShuffleDown
            | S::RotateUp
            | S::RotateDown
            | S::ShuffleAndFillUp
            | S::ShuffleAndFillDown
            | S::Broadcast
            | S::QuadBroadcast
            | S::QuadShuffle
            | S::QuadShuffleXor
            | S::QuadShuffleUp
            | S::QuadShuffleDown
    )
}

/// Where an active lane's result comes from.
fn source_of(op: SimdOp, lane: usize, active: u32, [_, second, third, fourth]: [&Lanes; 4]) -> Source {
    if matches!(op, SimdOp::ShuffleAndFillUp | SimdOp::ShuffleAndFillDown) {
        return filled(op, lane, third[lane] as usize, fourth[lane] as usize);
    }
    // A broadcast's lane number is uniform; the first active lane speaks for all.
    let from = if op == SimdOp::Broadcast { active.trailing_zeros() as usize & 31 } else { lane };
    Source::Value(source_lane(op, lane, second[from] as usize))
}

fn shuffle(op: SimdOp, active: u32, args: [&Lanes; 4]) -> Lanes {
    let mut out = [0; 32];
    for lane in lanes_in(active) {
        let (lanes, from) = match source_of(op, lane, active, args) {
            Source::Value(from) => (args[0], from & 31),
            Source::Fill(from) => (args[1], from & 31),
        };
        out[lane] = if active >> from & 1 != 0 { lanes[from] } else { 0 };
    }
    out
}

/// The lane that a shuffle reads.
fn source_lane(op: SimdOp, lane: usize, operand: usize) -> usize {
    let (quad, in_quad) = (lane & !3, lane & 3);
    match op {
        SimdOp::ShuffleXor => lane ^ (operand & 31),
        SimdOp::ShuffleUp => lane.checked_sub(operand).unwrap_or(lane),
        SimdOp::ShuffleDown => {
            if operand < 32 - lane {
                lane + operand
            } else {
                lane
            }
        }
        SimdOp::RotateUp => lane.wrapping_sub(operand),
        SimdOp::RotateDown => lane.wrapping_add(operand),
        SimdOp::QuadBroadcast | SimdOp::QuadShuffle => quad | (operand & 3),
        SimdOp::QuadShuffleXor => quad | (in_quad ^ (operand & 3)),
        SimdOp::QuadShuffleUp => in_quad.checked_sub(operand).map_or(lane, |from| quad | from),
        SimdOp::QuadShuffleDown => {
            if operand < 4 - in_quad {
                lane + operand
            } else {
                lane
            }
        }
        SimdOp::Shuffle | SimdOp::Broadcast => operand,
        _ => unreachable!("{op:?} takes no value of another lane"),
    }
}

/// The shuffles that fill from a second value, in segments of `modulo` lanes.
fn filled(op: SimdOp, lane: usize, delta: usize, modulo: usize) -> Source {
    let modulo = if (1..=32).contains(&modulo) { modulo } else { 32 };
    let delta = delta.min(modulo);
    let in_segment = lane % modulo;
    if op == SimdOp::ShuffleAndFillUp {
        if in_segment >= delta { Source::Value(lane - delta) } else { Source::Fill(lane + modulo - delta) }
    } else if in_segment + delta < modulo {
        Source::Value(lane + delta)
    } else {
        Source::Fill((lane + delta).wrapping_sub(modulo))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane_numbers() -> Lanes {
        std::array::from_fn(|lane| lane as u64)
    }

    fn one_arg(op: SimdOp, ty: Scalar, active: u32, value: &Lanes) -> Lanes {
        apply(op, ty, active, [value; 4])
    }

    #[test]
    fn sums_skip_inactive_lanes_and_keep_negative_zero() {
        let value = lane_numbers();
        assert_eq!(one_arg(SimdOp::Sum, Scalar::I32, u32::MAX, &value)[7], 496);
        assert_eq!(one_arg(SimdOp::Sum, Scalar::I32, 0b1010, &value)[1], 4);
        let negative_zero = [u64::from((-0f32).to_bits()); 32];
        assert_eq!(one_arg(SimdOp::Sum, Scalar::F32, 1, &negative_zero)[0], negative_zero[0]);
    }

    #[test]
    fn a_float_sum_is_the_documented_butterfly() {
        let x: [f32; 32] = std::array::from_fn(|lane| 1.0 / (lane as f32 + 1.0));
        let mut expected = x;
        for delta in [16, 8, 4, 2, 1] {
            expected = std::array::from_fn(|lane| expected[lane] + expected[lane ^ delta]);
        }
        let bits = x.map(|x| u64::from(x.to_bits()));
        let result = one_arg(SimdOp::Sum, Scalar::F32, u32::MAX, &bits);
        assert_eq!(result, expected.map(|x| u64::from(x.to_bits())));
    }

    #[test]
    fn prefixes_go_through_active_lanes() {
        let value = lane_numbers();
        let inclusive = one_arg(SimdOp::PrefixInclusiveSum, Scalar::I32, 0b11010, &value);
        assert_eq!([inclusive[1], inclusive[3], inclusive[4]], [1, 4, 8]);
        let exclusive = one_arg(SimdOp::PrefixExclusiveSum, Scalar::I32, 0b11010, &value);
        assert_eq!([exclusive[1], exclusive[3], exclusive[4]], [0, 1, 4]);
        let exclusive = one_arg(SimdOp::PrefixExclusiveProduct, Scalar::I32, 0b11010, &value);
        assert_eq!([exclusive[1], exclusive[3], exclusive[4]], [1, 1, 3]);
    }

    #[test]
    fn quads_combine_their_own_active_lanes() {
        let value = lane_numbers();
        let active = 0b1110_0000_1011;
        let of = |op| one_arg(op, Scalar::I32, active, &value);
        let (least, most) = (of(SimdOp::QuadUMin), of(SimdOp::QuadSMax));
        assert_eq!([least[0], least[3], least[9], most[1], most[10]], [0, 0, 9, 3, 11]);
        let sum = of(SimdOp::QuadPrefixExclusiveSum);
        assert_eq!([sum[0], sum[1], sum[3], sum[9], sum[10], sum[11]], [0, 0, 1, 0, 9, 19]);
        let product = of(SimdOp::QuadPrefixInclusiveProduct);
        assert_eq!([product[0], product[3], product[9], product[11]], [0, 0, 9, 990]);
        assert_eq!(of(SimdOp::QuadPrefixExclusiveProduct)[9], 1);
    }

    #[test]
    fn values_of_lanes_that_are_not_there_are_zero() {
        let value = lane_numbers();
        let by = |op, operand: u64| {
            let args = [&value, &[operand; 32], &value, &value];
            (apply(op, Scalar::I32, 0xffff, args), lanes_without_source(op, 0xffff, args))
        };
        let (down, undefined) = by(SimdOp::ShuffleDown, 4);
        assert_eq!(([down[11], down[12], down[15]], undefined), ([15, 0, 0], 0xf000));
        let (all, undefined) = by(SimdOp::Broadcast, 16);
        assert_eq!(([all[0], all[15]], undefined), ([0, 0], 0xffff));
        assert_eq!(by(SimdOp::Broadcast, 15).1, 0);
    }

    #[test]
    fn shuffles_stay_in_range() {
        let value = lane_numbers();
        let by =
            |op, operand: u64| apply(op, Scalar::I32, u32::MAX, [&value, &[operand; 32], &value, &value]);
        assert_eq!(by(SimdOp::Shuffle, 33)[5], 1);
        assert_eq!(by(SimdOp::ShuffleXor, 3)[5], 6);
        assert_eq!([by(SimdOp::ShuffleUp, 4)[3], by(SimdOp::ShuffleUp, 4)[4]], [3, 0]);
        assert_eq!([by(SimdOp::ShuffleDown, 4)[27], by(SimdOp::ShuffleDown, 4)[28]], [31, 28]);
        assert_eq!(by(SimdOp::ShuffleDown, u64::from(u32::MAX))[3], 3);
        assert_eq!([by(SimdOp::RotateUp, 1)[0], by(SimdOp::RotateDown, 1)[31]], [31, 0]);
        assert_eq!([by(SimdOp::QuadShuffleUp, 1)[4], by(SimdOp::QuadShuffleDown, 1)[4]], [4, 5]);
        assert_eq!(by(SimdOp::QuadBroadcast, 2)[9], 10);
    }

    #[test]
    fn fills_come_from_the_other_end_of_the_segment() {
        let value = lane_numbers();
        let fill: Lanes = std::array::from_fn(|lane| 100 + lane as u64);
        let by = |op, delta| apply(op, Scalar::I32, u32::MAX, [&value, &fill, &[delta; 32], &[8; 32]]);
        let up = by(SimdOp::ShuffleAndFillUp, 2);
        assert_eq!([up[8], up[9], up[10]], [114, 115, 8]);
        let down = by(SimdOp::ShuffleAndFillDown, 2);
        assert_eq!([down[13], down[14], down[15]], [15, 108, 109]);
    }

    #[test]
    fn votes_look_at_active_lanes() {
        let value: Lanes = std::array::from_fn(|lane| u64::from(lane < 4));
        assert_eq!(one_arg(SimdOp::Ballot, Scalar::Bool, 0b11110, &value)[1], 0b1110);
        assert_eq!(one_arg(SimdOp::All, Scalar::Bool, 0b110, &value)[1], 1);
        assert_eq!(one_arg(SimdOp::All, Scalar::Bool, 0b11000, &value)[3], 0);
        assert_eq!(one_arg(SimdOp::Any, Scalar::Bool, 0b10000, &value)[4], 0);
        let first = one_arg(SimdOp::IsFirst, Scalar::Bool, 0b11000, &value);
        assert_eq!([first[3], first[4]], [1, 0]);
    }
}
