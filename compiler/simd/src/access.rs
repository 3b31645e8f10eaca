//! Vector accesses: which vector loads or stores an affine access becomes.

use crate::limits::MAX_SPAN;
use anymetal_analysis::divergence::Affine;
use anymetal_analysis::divergence::LANES;
use anymetal_analysis::limits::MAX_SEGMENTS;

/// Consecutive lanes that access consecutive places, or all the same place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// Which base.
    pub segment: usize,
    /// The first lane.
    pub lane: usize,
    /// How many lanes.
    pub lanes: usize,
    /// All the same place.
    pub same: bool,
}

/// The shape of an access.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Strategy {
    /// One place for all lanes.
    Uniform,
    /// A few runs.
    Runs(Vec<Run>),
    /// Lanes scattered over a short stretch: the element that each starts at, and how many there are.
    Span {
        /// Offset of the stretch from the base.
        low: i64,
        /// Per lane.
        picks: Vec<usize>,
        /// In the whole stretch.
        elements: usize,
    },
    /// Lane by lane.
    Gather,
}

/// Plans an access of `count` elements of `size` bytes per lane.
pub fn plan(shape: &Affine, size: i64, count: i64) -> Strategy {
    if shape.is_uniform() {
        return Strategy::Uniform;
    }
    let access = size * count;
    let mut pieces = shape.segments;
    while pieces <= MAX_SEGMENTS {
        if let Some(runs) = runs(shape, pieces, access) {
            return Strategy::Runs(runs);
        }
        pieces *= 2;
    }
    let (low, high) = shape.extent();
    let span = high.wrapping_sub(low).wrapping_add(access);
    let aligned = (0..LANES).all(|lane| shape.at(lane).wrapping_sub(low) % size == 0);
    if shape.segments == 1 && aligned && (0..=MAX_SPAN).contains(&span) {
        let picks = (0..LANES).map(|lane| ((shape.at(lane) - low) / size) as usize).collect();
        return Strategy::Span { low, picks, elements: (span / size) as usize };
    }
    Strategy::Gather
}

/// The access as `pieces` runs of equal length.
pub fn runs(shape: &Affine, pieces: usize, access: i64) -> Option<Vec<Run>> {
    let lanes = LANES / pieces;
    let mut runs = Vec::with_capacity(pieces);
    for piece in 0..pieces {
        let first = piece * lanes;
        let steps = |step: i64| {
            (0..lanes).all(|lane| shape.at(first + lane) == shape.at(first).wrapping_add(step * lane as i64))
        };
        let same = steps(0);
        if !same && !steps(access) {
            return None;
        }
        runs.push(Run { segment: first / shape.segment_len(), lane: first, lanes, same });
    }
    Some(runs)
}

/// Lanes of one segment that are contiguous, in whatever order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Piece {
    /// Which base.
    pub segment: usize,
    /// In order of their places.
    pub lanes: Vec<usize>,
}

/// The access as pieces of 1, 2, 4, … lanes, for stores: `None` if lanes of a segment overlap, for then the
/// last one's value remains.
pub fn pieces(shape: &Affine, access: i64) -> Option<Vec<Piece>> {
    let mut found = Vec::new();
    for segment in 0..shape.segments {
        let len = shape.segment_len();
        let mut lanes: Vec<usize> = (segment * len..(segment + 1) * len).collect();
        lanes.sort_by_key(|&lane| shape.at(lane));
        if lanes.windows(2).any(|pair| shape.at(pair[1]).wrapping_sub(shape.at(pair[0])) < access) {
            return None;
        }
        for stretch in lanes.chunk_by(|&a, &b| shape.at(b).wrapping_sub(shape.at(a)) == access) {
            let mut rest = stretch;
            while !rest.is_empty() {
                let (piece, others) = rest.split_at(1 << rest.len().ilog2());
                found.push(Piece { segment, lanes: piece.to_vec() });
                rest = others;
            }
        }
    }
    Some(found)
}

/// The bytes that a segment's lanes touch: the lowest offset from its base, and how many.
pub fn extent_of_segment(shape: &Affine, segment: usize, access: i64) -> (i64, i64) {
    let len = shape.segment_len();
    let lanes = segment * len..(segment + 1) * len;
    let low = lanes.clone().map(|lane| shape.at(lane)).min().unwrap_or(0);
    let high = lanes.map(|lane| shape.at(lane)).max().unwrap_or(0);
    (low, high.wrapping_sub(low).wrapping_add(access))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes(f: impl Fn(i64) -> i64) -> Affine {
        Affine::based(std::array::from_fn(|lane| f(lane as i64)), 0)
    }

    #[test]
    fn consecutive_lanes_are_one_run() {
        let Strategy::Runs(runs) = plan(&lanes(|l| l * 4), 4, 1) else { panic!() };
        assert_eq!(runs, [Run { segment: 0, lane: 0, lanes: 32, same: false }]);
        let Strategy::Runs(runs) = plan(&lanes(|l| l * 16), 4, 4) else { panic!() };
        assert_eq!(runs.len(), 1);
    }

    #[test]
    fn lanes_in_another_order_are_pieces() {
        // Even lanes contiguous, odd ones elsewhere.
        let found = pieces(&lanes(|l| l / 2 * 2 + l % 2 * 1000), 2).unwrap_or_default();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].lanes, (0..LANES).step_by(2).collect::<Vec<_>>());
        assert_eq!(pieces(&lanes(|l| l * 100), 4).unwrap_or_default().len(), LANES);
        assert_eq!(pieces(&lanes(|l| l / 2 * 4), 4), None);
        assert_eq!(pieces(&lanes(|l| l * 2), 4), None);
    }

    #[test]
    fn rows_are_runs_and_strides_are_spans() {
        let Strategy::Runs(runs) = plan(&lanes(|l| l / 8 * 100 + l % 8 * 4), 4, 1) else { panic!() };
        assert_eq!(runs.len(), 4);
        let Strategy::Runs(runs) = plan(&lanes(|l| l / 16 * 64), 4, 1) else { panic!() };
        assert!(runs.iter().all(|run| run.same));
        let Strategy::Span { elements, .. } = plan(&lanes(|l| l * 8), 4, 1) else { panic!() };
        assert_eq!(elements, 63);
        assert_eq!(plan(&lanes(|l| l * 4096), 4, 1), Strategy::Gather);
    }
}
