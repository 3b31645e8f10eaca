//! Accesses: which vector loads or stores a load or store of one thread becomes, by what that costs.
//!
//! Owns [`Strategy`]. Of the strategies that an access may have, [`of_load`] and [`of_store`] choose the
//! cheapest. Costs are numbers of machine instructions for the 32 lanes, counted for each register of the
//! processor. Invariant: a strategy other than [`Strategy::Varying`] names each lane's place.

use anymetal_analysis::divergence::{Affine, Assumption, LANES};
use anymetal_analysis::limits::MAX_SEGMENTS;
use anymetal_ir::{Scalar, Type};

use crate::limits::{MAX_SCATTER_COMPONENTS, MAX_SPAN};
use crate::target::CpuFeatures;

/// What each lane accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Item {
    /// Elements of this type; encoded pointers are `I64`.
    pub scalar: Scalar,
    /// How many.
    pub count: usize,
}

impl Item {
    /// The item of an IR type.
    pub fn of(ty: Type) -> Self {
        Self { scalar: ty.scalar().unwrap_or(Scalar::I64), count: usize::from(ty.lanes()) }
    }

    /// Bytes of an element.
    pub fn size(self) -> i64 {
        i64::from(self.scalar.size())
    }

    /// Bytes that a lane accesses.
    pub fn bytes(self) -> i64 {
        self.size() * self.count as i64
    }

    /// Bits of an element.
    pub fn bits(self) -> u32 {
        self.scalar.size() * 8
    }
}

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

/// How the lanes of a SIMD-group access memory together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Strategy {
    /// One place for all lanes.
    Uniform,
    /// A few runs.
    Runs(Vec<Run>),
    /// Lanes scattered over a short stretch, which is loaded whole: the element that each starts at, and how
    /// many there are.
    Span {
        /// Offset of the stretch from the base.
        low: i64,
        /// Per lane.
        picks: Vec<usize>,
        /// In the whole stretch.
        elements: usize,
    },
    /// Contiguous lanes in whatever order, which are stored together.
    Pieces(Vec<Piece>),
    /// Lane by lane, at known distances from a few bases.
    Lanes,
    /// Lanes that are anywhere: tests at run time come first.
    Varying,
}

/// How lanes load that follow a pattern, if `lanes` is one.
pub fn of_load(lanes: Option<&Affine>, item: Item, features: &CpuFeatures) -> Strategy {
    let Some(lanes) = lanes else { return Strategy::Varying };
    if lanes.is_uniform() {
        // Where an assumption does not hold, a uniform form says nothing of other lanes.
        return if lanes.is_assumed() { Strategy::Varying } else { Strategy::Uniform };
    }
    let by_lanes = (item.count == 1 && is_certain_enough(lanes)).then_some(Strategy::Lanes);
    let runs = few_runs(lanes, item).map(Strategy::Runs);
    let candidates = [runs, span(lanes, item), by_lanes].into_iter().flatten();
    // Of equals the first.
    let cheapest = candidates.min_by_key(|strategy| load_cost(strategy, item, features));
    cheapest.unwrap_or(Strategy::Varying)
}

/// How lanes store that follow a pattern, if `lanes` is one. `may_split`: pieces may be stored one by one.
pub fn of_store(lanes: Option<&Affine>, item: Item, features: &CpuFeatures, may_split: bool) -> Strategy {
    let Some(lanes) = lanes else { return Strategy::Varying };
    if lanes.is_uniform() {
        return if lanes.is_assumed() { Strategy::Varying } else { Strategy::Uniform };
    }
    if let Some(runs) = few_runs(lanes, item).filter(|runs| runs.iter().all(|run| !run.same)) {
        return Strategy::Runs(runs);
    }
    let may_split = may_split && is_certain_enough(lanes) && item.count <= MAX_SCATTER_COMPONENTS;
    let found = if may_split { pieces(lanes, item.bytes()) } else { None };
    match found.map(Strategy::Pieces) {
        Some(pieces) if store_cost(&pieces, item, features) <= scatter_cost(item, features) => pieces,
        _ => Strategy::Varying,
    }
}

/// Whether lanes hardly ever are elsewhere than their form says: what is done otherwise may be slow.
fn is_certain_enough(lanes: &Affine) -> bool {
    match lanes.assumption {
        None | Some(Assumption::NoWrap) => true,
        Some(Assumption::Unclamped | Assumption::UnitFactor) => false,
    }
}

/// The access as few runs, if it is that.
pub fn few_runs(lanes: &Affine, item: Item) -> Option<Vec<Run>> {
    let mut pieces = lanes.segments;
    while pieces <= MAX_SEGMENTS {
        if let Some(runs) = runs(lanes, pieces, item.bytes()) {
            return Some(runs);
        }
        pieces *= 2;
    }
    None
}

fn span(lanes: &Affine, item: Item) -> Option<Strategy> {
    let (low, high) = lanes.extent();
    let (size, bytes) = (item.size(), high.wrapping_sub(low).wrapping_add(item.bytes()));
    let is_aligned = (0..LANES).all(|lane| lanes.at(lane).wrapping_sub(low) % size == 0);
    if lanes.segments != 1 || !is_aligned || !(0..=MAX_SPAN).contains(&bytes) {
        return None;
    }
    let picks = (0..LANES).map(|lane| ((lanes.at(lane) - low) / size) as usize).collect();
    Some(Strategy::Span { low, picks, elements: (bytes / size) as usize })
}

/// The cost of a load that needs no checks.
pub fn load_cost(strategy: &Strategy, item: Item, features: &CpuFeatures) -> u32 {
    let registers = |elements: usize| registers(elements, item, features);
    let count = item.count as u32;
    match strategy {
        Strategy::Uniform => 2 * count,
        Strategy::Runs(runs) => {
            let each = runs.iter().map(|run| match run.same {
                true => 2 * count,
                false => registers(run.lanes * item.count) * if item.count == 1 { 1 } else { 2 },
            });
            // A load puts half a register where it belongs.
            let half = features.register_bytes() / 2;
            let are_halves =
                |run: &Run| !run.same && item.count == 1 && run.lanes as i64 * item.size() == half;
            let joins = if runs.iter().all(are_halves) { 0 } else { joins(runs.len()) };
            each.sum::<u32>() + joins
        }
        Strategy::Span { elements, picks, .. } => {
            // Each register of the result comes from several of the stretch, in words if elements are narrow.
            let words = item.size() as u32 * word_elements(picks, item) as u32;
            let result = registers(LANES) * words / item.size() as u32;
            let all = registers(*elements).max(result);
            let narrowings = if words == item.size() as u32 { 0 } else { result + registers(LANES) };
            all + count * (result * (all.div_ceil(result) - 1).max(1) + narrowings)
        }
        // A load and an insertion, which are one instruction for halves of a register.
        Strategy::Lanes | Strategy::Varying => {
            let each = if item.bits() == 64 && !features.fast_gather { 1 } else { 2 };
            each * LANES as u32 * count + joins(LANES / 8)
        }
        Strategy::Pieces(_) => unreachable!("pieces are stored"),
    }
}

/// The number of elements of the words as which a span of narrow elements is loaded. All lanes begin at a
/// word: to narrow words is cheaper than to pick elements.
pub fn word_elements(picks: &[usize], item: Item) -> usize {
    let fits = |elements: usize| {
        elements as i64 * item.size() <= 8 && picks.iter().all(|pick| pick.is_multiple_of(elements))
    };
    match item.size() < 4 && item.scalar != Scalar::Bool {
        true => [8, 4, 2].into_iter().find(|&elements| fits(elements)).unwrap_or(1),
        false => 1,
    }
}

/// The cost of a store that needs no checks.
pub fn store_cost(strategy: &Strategy, item: Item, features: &CpuFeatures) -> u32 {
    let registers = |elements: usize| registers(elements, item, features);
    match strategy {
        Strategy::Uniform => item.count as u32,
        Strategy::Runs(runs) => {
            let each = runs.iter().map(|run| registers(run.lanes * item.count)).sum::<u32>();
            each * if item.count == 1 { 1 } else { 2 }
        }
        // An extraction and a store.
        Strategy::Pieces(pieces) => {
            pieces.iter().map(|piece| 1 + registers(piece.lanes.len() * item.count)).sum()
        }
        Strategy::Varying => scatter_cost(item, features),
        Strategy::Span { .. } | Strategy::Lanes => unreachable!("spans and single lanes are loaded"),
    }
}

fn scatter_cost(item: Item, features: &CpuFeatures) -> u32 {
    let each = match features.avx512 && item.bits() >= 32 {
        true => SCATTER,
        false => LANE_LOOP,
    };
    each * item.count as u32
}

/// The processor's scatter: as much as eight pieces, measured.
const SCATTER: u32 = 16;
/// A loop over the lanes, with some eight instructions for each.
const LANE_LOOP: u32 = 8 * LANES as u32;

fn registers(elements: usize, item: Item, features: &CpuFeatures) -> u32 {
    ((elements as i64 * item.size()) as u64).div_ceil(features.register_bytes() as u64) as u32
}

/// Instructions that put parts together.
fn joins(parts: usize) -> u32 {
    parts as u32 - 1
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
fn pieces(shape: &Affine, access: i64) -> Option<Vec<Piece>> {
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

    const FLOAT: Item = Item { scalar: Scalar::F32, count: 1 };
    const AVX2: CpuFeatures = CpuFeatures {
        avx512: false,
        avx2: true,
        fma: true,
        f16c: true,
        neon: false,
        fast_gather: false,
        streams_in_second_level: false,
    };

    fn lanes(f: impl Fn(i64) -> i64) -> Affine {
        Affine::based(std::array::from_fn(|lane| f(lane as i64)), 0)
    }

    fn load(lanes: &Affine, item: Item) -> Strategy {
        of_load(Some(lanes), item, &AVX2)
    }

    #[test]
    fn consecutive_lanes_are_one_run() {
        let Strategy::Runs(runs) = load(&lanes(|l| l * 4), FLOAT) else { panic!() };
        assert_eq!(runs, [Run { segment: 0, lane: 0, lanes: 32, same: false }]);
        let vectors = Item { count: 4, ..FLOAT };
        let Strategy::Runs(runs) = load(&lanes(|l| l * 16), vectors) else { panic!() };
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
        let Strategy::Runs(runs) = load(&lanes(|l| l / 8 * 100 + l % 8 * 4), FLOAT) else { panic!() };
        assert_eq!(runs.len(), 4);
        let Strategy::Runs(runs) = load(&lanes(|l| l / 16 * 64), FLOAT) else { panic!() };
        assert!(runs.iter().all(|run| run.same));
        let Strategy::Span { elements, .. } = load(&lanes(|l| l * 8), FLOAT) else { panic!() };
        assert_eq!(elements, 63);
        assert_eq!(load(&lanes(|l| l * 4096), FLOAT), Strategy::Lanes);
    }

    #[test]
    fn the_cheapest_strategy_is_taken() {
        // Of long integers in three registers of four, one by one is cheaper than a shuffle.
        let long = Item { scalar: Scalar::I64, count: 1 };
        assert_eq!(load(&lanes(|l| l * 24), long), Strategy::Lanes);
        let avx512 = CpuFeatures { avx512: true, fast_gather: true, ..AVX2 };
        assert!(matches!(of_load(Some(&lanes(|l| l * 24)), long, &avx512), Strategy::Span { .. }));
        // With AVX-512 a scatter is as good as more than eight pieces.
        let strided = lanes(|l| l * 8);
        assert!(matches!(of_store(Some(&strided), FLOAT, &AVX2, true), Strategy::Pieces(_)));
        assert_eq!(of_store(Some(&strided), FLOAT, &avx512, true), Strategy::Varying);
    }

    #[test]
    fn narrow_elements_at_even_distances_are_in_words() {
        let byte = Item { scalar: Scalar::I8, count: 1 };
        let picks = |step: usize| (0..LANES).map(|lane| lane * step).collect::<Vec<_>>();
        assert_eq!([2, 3, 4, 6, 8, 16].map(|step| word_elements(&picks(step), byte)), [2, 1, 4, 2, 8, 8]);
        assert_eq!(word_elements(&picks(4), FLOAT), 1);
    }
}
