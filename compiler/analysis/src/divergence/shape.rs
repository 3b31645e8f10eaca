//! Divergence and stride analysis: how a value differs between the 32 lanes of a SIMD-group.
//!
//! A value is either *affine* ([`Affine`]): `base[segment of lane] + pattern[lane]` with few scalar bases
//! and a pattern known at compile time, or varying. Uniform values are the affine ones with one base and no
//! pattern. Speed rests on this: an affine address is a plain vector access.
//!
//! Invariant: shapes only move up the lattice `Bottom < Affine < Varying` while the analysis in `flow`
//! iterates, and the emitter computes values in exactly the form that the analysis found. `transfer` has
//! one rule per operation, `queries` the thread positions, `range` proves that sums of a base and a pattern
//! do not wrap.

pub(super) mod flow;
pub(crate) mod queries;
pub(crate) mod range;
pub(super) mod transfer;

use std::rc::Rc;

use super::llvm_text::LANES;

/// The maximum number of segments that are worth scalar bases.
const MAX_SEGMENTS: usize = 8;

/// What is known of a value's lanes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// Not computed yet.
    Bottom,
    /// Base and pattern.
    Affine(Affine),
    /// Anything.
    Varying,
}

/// `value[lane] = base[lane / segment_len] + pattern[lane]`, modulo the type's width.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Affine {
    /// 1, 2, 4 or 8 bases.
    pub(super) segments: usize,
    /// `None`: zeros.
    pub(super) pattern: Option<Rc<[i64; LANES]>>,
    /// The base (only one then) is zero: the pattern is the value.
    pub(super) is_constant: bool,
    /// All bases are multiples of `1 << align`.
    pub(super) align: u32,
    /// The bases are the same for all SIMD-groups of the threadgroup.
    pub(super) group: bool,
    /// Holds only if a condition tested at run time does (a widened sum did not wrap); without it the
    /// value must be computed lane by lane from its operands.
    pub(super) assumed: bool,
}

impl Affine {
    /// One unknown base.
    pub(super) fn uniform(group: bool) -> Self {
        Self { segments: 1, pattern: None, is_constant: false, align: 0, group, assumed: false }
    }

    /// Values known now.
    pub(super) fn known(values: [i64; LANES]) -> Self {
        let pattern = if values == [0; LANES] { None } else { Some(Rc::new(values)) };
        Self { segments: 1, pattern, is_constant: true, align: 31, group: true, assumed: false }
    }

    /// One base plus a pattern.
    pub(super) fn based(pattern: [i64; LANES], align: u32) -> Self {
        assert!(align <= 31, "alignments are tracked up to 2^31");
        let pattern = if pattern == [0; LANES] { None } else { Some(Rc::new(pattern)) };
        Self { segments: 1, pattern, is_constant: false, align, group: false, assumed: false }
    }

    /// Whether all lanes have the same value.
    pub(super) fn is_uniform(&self) -> bool {
        self.segments == 1
            && self.pattern.as_ref().is_none_or(|pattern| pattern.iter().all(|&value| value == pattern[0]))
    }

    /// The value, if all lanes have the same one and it is known now.
    pub(super) fn constant(&self) -> Option<i64> {
        (self.is_constant && self.is_uniform()).then(|| self.at(0))
    }

    /// Whether the pattern stays below the alignment of the bases, so that bits do not mix.
    pub(super) fn is_disjoint(&self) -> bool {
        assert!(self.align <= 31, "alignments are tracked up to 2^31");
        let (low, high) = self.extent();
        self.is_constant && low >= 0 || low >= 0 && high < 1 << self.align
    }

    /// Lanes per segment.
    pub(super) fn segment_len(&self) -> usize {
        assert!(
            self.segments.is_power_of_two() && self.segments <= MAX_SEGMENTS,
            "lanes divide into 1, 2, 4 or 8 segments, not {}",
            self.segments
        );
        LANES / self.segments
    }

    /// The pattern's value in a lane.
    pub(super) fn at(&self, lane: usize) -> i64 {
        debug_assert!(lane < LANES, "a SIMD-group has no lane {lane}");
        self.pattern.as_ref().map_or(0, |pattern| pattern[lane])
    }

    /// The pattern, zeros written out.
    pub(super) fn values(&self) -> [i64; LANES] {
        self.pattern.as_ref().map_or([0; LANES], |pattern| **pattern)
    }

    /// With another pattern.
    pub(super) fn with_values(&self, values: [i64; LANES]) -> Self {
        let pattern = if values == [0; LANES] { None } else { Some(Rc::new(values)) };
        Self { pattern, ..self.clone() }
    }

    /// The smallest and the largest pattern value.
    pub(super) fn extent(&self) -> (i64, i64) {
        let values = self.values();
        (values.iter().copied().min().unwrap_or(0), values.iter().copied().max().unwrap_or(0))
    }

    /// With more bases, each repeated.
    pub(super) fn widened(&self, segments: usize) -> Self {
        assert!(
            segments.is_multiple_of(self.segments),
            "{} bases do not repeat into {segments}",
            self.segments
        );
        Self { segments, is_constant: self.is_constant && segments == 1, ..self.clone() }
    }

    /// The form in which each segment's first lane has pattern zero.
    pub(super) fn normal(&self) -> Self {
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
    pub(super) fn kept(&self) -> Self {
        if self.is_constant { self.clone() } else { self.normal() }
    }

    /// The fewest segments (not fewer than now) in which the pattern is constant.
    pub(super) fn constant_segments(&self) -> Option<usize> {
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
            assumed: a.assumed || b.assumed,
            ..a
        })
    }
}

impl Shape {
    /// One unknown base.
    pub(super) fn uniform(group: bool) -> Self {
        Self::Affine(Affine::uniform(group))
    }

    /// Whether all lanes have the same value, for sure.
    pub(super) fn is_uniform(&self) -> bool {
        matches!(self, Self::Affine(lanes) if lanes.is_uniform() && !lanes.assumed)
    }

    /// Whether all threads of the threadgroup have the same value.
    pub(super) fn is_group_uniform(&self) -> bool {
        matches!(self, Self::Affine(lanes) if lanes.is_uniform() && lanes.group && !lanes.assumed)
    }

    /// The lanes, if affine.
    pub(super) fn affine(&self) -> Option<&Affine> {
        match self {
            Self::Affine(lanes) => Some(lanes),
            _ => None,
        }
    }

    /// The least shape above both.
    pub(super) fn join(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Bottom, shape) | (shape, Self::Bottom) => shape.clone(),
            (Self::Affine(a), Self::Affine(b)) => a.join(b),
            _ => Self::Varying,
        }
    }

    /// The same, but not known to agree between SIMD-groups.
    pub(super) fn not_group(&self) -> Self {
        match self {
            Self::Affine(lanes) => Self::Affine(Affine { group: false, ..lanes.clone() }),
            other => other.clone(),
        }
    }
}

/// How often two divides the number; 31 for zero and more.
pub(super) fn trailing_zeros(value: i64) -> u32 {
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
