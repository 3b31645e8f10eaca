//! The lattice: what is known of a value's lanes.
//!
//! A value is either *affine* ([`Affine`]): `base[segment of lane] + pattern[lane]` with few scalar bases
//! and a pattern known at compile time, or varying. Uniform values are the affine ones with one base and no
//! pattern. Speed rests on this: an affine address is a plain vector access. Code generators compute values
//! in exactly the form that the analysis found.

use std::rc::Rc;

use crate::limits::MAX_SEGMENTS;

/// Threads of a SIMD-group.
pub const LANES: usize = 32;

/// What is known of a value's lanes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Not computed yet.
    Bottom,
    /// Base and pattern.
    Affine(Affine),
    /// Anything.
    Varying,
}

/// `value[lane] = base[lane / segment_len] + pattern[lane]`, modulo the type's width.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Affine {
    /// 1, 2, 4 or 8 bases.
    pub segments: usize,
    /// `None`: zeros.
    pub pattern: Option<Rc<[i64; LANES]>>,
    /// The base (only one then) is zero: the pattern is the value.
    pub is_constant: bool,
    /// All bases are multiples of `1 << align`.
    pub align: u32,
    /// The bases are the same for all SIMD-groups of the threadgroup.
    pub group: bool,
    /// What the form depends on; where that does not hold at run time, the value must be computed lane by
    /// lane from its operands.
    pub assumption: Option<Assumption>,
}

/// A condition that code tests at run time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Assumption {
    /// No sum of a base and a pattern wraps before it is widened.
    NoWrap,
    /// A minimum or maximum limits no lane.
    Unclamped,
    /// A factor is 1.
    UnitFactor,
}

impl Affine {
    /// One unknown base.
    pub fn uniform(group: bool) -> Self {
        Self { segments: 1, pattern: None, is_constant: false, align: 0, group, assumption: None }
    }

    /// Values known now.
    pub fn known(values: [i64; LANES]) -> Self {
        let pattern = if values == [0; LANES] { None } else { Some(Rc::new(values)) };
        Self { segments: 1, pattern, is_constant: true, align: 31, group: true, assumption: None }
    }

    /// One base plus a pattern.
    pub fn based(pattern: [i64; LANES], align: u32) -> Self {
        assert!(align <= 31, "alignments are tracked up to 2^31");
        let pattern = if pattern == [0; LANES] { None } else { Some(Rc::new(pattern)) };
        Self { segments: 1, pattern, is_constant: false, align, group: false, assumption: None }
    }

    /// Whether all lanes have the same value.
    pub fn is_uniform(&self) -> bool {
        self.segments == 1
            && self.pattern.as_ref().is_none_or(|pattern| pattern.iter().all(|&value| value == pattern[0]))
    }

    /// Whether the form depends on a condition that is tested at run time.
    pub fn is_assumed(&self) -> bool {
        self.assumption.is_some()
    }

    /// The distance of each lane's pattern from that of the lane before, if it is the same for all lanes.
    pub fn step(&self) -> Option<i64> {
        let step = self.at(1).wrapping_sub(self.at(0));
        let is_same = |lane: usize| self.at(lane).wrapping_sub(self.at(lane - 1)) == step;
        (1..LANES).all(is_same).then_some(step)
    }

    /// The positive distance of each lane's value from that of the lane before, if it is the same for all.
    pub fn rising_step(&self) -> Option<u32> {
        let step = self.step().filter(|_| self.segments == 1 && !self.is_assumed())?;
        u32::try_from(step).ok().filter(|&step| step > 0)
    }

    /// The value, if all lanes have the same one and it is known now.
    pub fn constant(&self) -> Option<i64> {
        (self.is_constant && self.is_uniform()).then(|| self.at(0))
    }

    /// Whether the pattern stays below the alignment of the bases, so that bits do not mix.
    pub fn is_disjoint(&self) -> bool {
        assert!(self.align <= 31, "alignments are tracked up to 2^31");
        let (low, high) = self.extent();
        self.is_constant && low >= 0 || low >= 0 && high < 1 << self.align
    }

    /// Lanes per segment.
    pub fn segment_len(&self) -> usize {
        assert!(
            self.segments.is_power_of_two() && self.segments <= MAX_SEGMENTS,
            "lanes divide into 1, 2, 4 or 8 segments, not {}",
            self.segments
        );
        LANES / self.segments
    }

    /// The pattern's value in a lane.
    pub fn at(&self, lane: usize) -> i64 {
        debug_assert!(lane < LANES, "a SIMD-group has no lane {lane}");
        self.pattern.as_ref().map_or(0, |pattern| pattern[lane])
    }

    /// The pattern, zeros written out.
    pub fn values(&self) -> [i64; LANES] {
        self.pattern.as_ref().map_or([0; LANES], |pattern| **pattern)
    }

    /// With another pattern.
    pub fn with_values(&self, values: [i64; LANES]) -> Self {
        let pattern = if values == [0; LANES] { None } else { Some(Rc::new(values)) };
        Self { pattern, ..self.clone() }
    }

    /// The smallest and the largest pattern value.
    pub fn extent(&self) -> (i64, i64) {
        let values = self.values();
        (values.iter().copied().min().unwrap_or(0), values.iter().copied().max().unwrap_or(0))
    }

    /// With more bases, each repeated.
    pub fn widened(&self, segments: usize) -> Self {
        assert!(
            segments.is_multiple_of(self.segments),
            "{} bases do not repeat into {segments}",
            self.segments
        );
        Self { segments, is_constant: self.is_constant && segments == 1, ..self.clone() }
    }

    /// The form in which each segment's first lane has pattern zero.
    pub fn normal(&self) -> Self {
        let len = self.segment_len();
        let mut align = if self.is_constant { 31 } else { self.align };
        let mut values = self.values();
        for lane in 0..LANES {
            let first = self.at(lane / len * len);
            values[lane] = values[lane].wrapping_sub(first);
            align = align.min(trailing_zeros(first));
        }
        debug_assert!(
            (0..LANES).step_by(len).all(|first| values[first] == 0),
            "the pattern is zero in the first lane of each segment"
        );
        Self { is_constant: false, align, ..self.with_values(values) }
    }

    /// The form that shapes are kept in: absolute, or normal.
    pub fn kept(&self) -> Self {
        if self.is_constant { self.clone() } else { self.normal() }
    }

    /// The fewest segments (not fewer than now) in which the pattern is constant.
    pub fn constant_segments(&self) -> Option<usize> {
        let mut segments = self.segments;
        while segments <= MAX_SEGMENTS {
            let len = LANES / segments;
            if (0..LANES).all(|lane| self.at(lane) == self.at(lane / len * len)) {
                return Some(segments);
            }
            segments *= 2;
        }
        None
    }

    fn join(&self, other: &Self) -> Shape {
        if self.is_constant && other.is_constant && self.pattern == other.pattern {
            return Shape::Affine(Self { group: self.group && other.group, ..self.clone() });
        }
        let segments = self.segments.max(other.segments);
        let (a, b) = (self.widened(segments).normal(), other.widened(segments).normal());
        if a.pattern != b.pattern {
            return Shape::Varying;
        }
        Shape::Affine(Self {
            align: a.align.min(b.align),
            group: a.group && b.group,
            assumption: a.assumption.max(b.assumption),
            ..a
        })
    }
}

impl Shape {
    /// One unknown base.
    pub fn uniform(group: bool) -> Self {
        Self::Affine(Affine::uniform(group))
    }

    /// Whether all lanes have the same value, for sure.
    pub fn is_uniform(&self) -> bool {
        matches!(self, Self::Affine(lanes) if lanes.is_uniform() && !lanes.is_assumed())
    }

    /// Whether all threads of the threadgroup have the same value.
    pub fn is_group_uniform(&self) -> bool {
        matches!(self, Self::Affine(lanes) if lanes.is_uniform() && lanes.group && !lanes.is_assumed())
    }

    /// The lanes, if affine.
    pub fn affine(&self) -> Option<&Affine> {
        match self {
            Self::Affine(lanes) => Some(lanes),
            _ => None,
        }
    }

    /// The least shape above both.
    pub fn join(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Bottom, shape) | (shape, Self::Bottom) => shape.clone(),
            (Self::Affine(a), Self::Affine(b)) => a.join(b),
            _ => Self::Varying,
        }
    }

    /// The shape after jumps passed the value, or a masked store wrote it: `lanes` at different times, or
    /// SIMD-groups by different paths.
    pub(super) fn passed_by_jumps(&self, lanes: bool, groups: bool) -> Self {
        match self {
            Self::Bottom => Self::Bottom,
            Self::Affine(affine) if lanes || affine.is_assumed() => Self::Varying,
            Self::Affine(_) if groups => self.not_group(),
            Self::Affine(_) | Self::Varying => self.clone(),
        }
    }

    /// The same, but not known to agree between SIMD-groups.
    pub fn not_group(&self) -> Self {
        match self {
            Self::Affine(lanes) => Self::Affine(Affine { group: false, ..lanes.clone() }),
            other => other.clone(),
        }
    }
}

/// How often two divides the number; 31 for zero and more.
pub fn trailing_zeros(value: i64) -> u32 {
    if value == 0 { 31 } else { value.trailing_zeros().min(31) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane_ids() -> [i64; LANES] {
        std::array::from_fn(|lane| lane as i64)
    }

    #[test]
    fn joins_meet_in_the_normal_form() {
        let ids = Affine::known(lane_ids());
        let shifted = Affine::known(lane_ids().map(|id| id + 4));
        let Shape::Affine(both) = Shape::Affine(ids.clone()).join(&Shape::Affine(shifted)) else {
            panic!("same stride");
        };
        assert!(!both.is_constant);
        assert_eq!(both.values(), lane_ids());
        assert_eq!(both.align, 2);
        let strided = Affine::known(lane_ids().map(|id| id * 2));
        assert_eq!(Shape::Affine(ids).join(&Shape::Affine(strided)), Shape::Varying);
    }

    #[test]
    fn rows_become_segments() {
        let rows = Affine::based(std::array::from_fn(|lane| lane as i64 / 16), 1);
        assert_eq!(rows.constant_segments(), Some(2));
        assert_eq!(Affine::known(lane_ids()).constant_segments(), None);
        assert_eq!(Affine::uniform(true).constant_segments(), Some(1));
        assert_eq!(Affine::known([7; LANES]).constant(), Some(7));
    }
}
