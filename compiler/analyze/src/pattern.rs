//! How the lanes of a SIMD-group access memory by one instruction, and what that costs.

use anymetal_analysis::divergence::LANES;
use serde::Serialize;

/// How the lanes' addresses differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Pattern {
    /// All lanes access the same bytes.
    Uniform,
    /// Each lane accesses the bytes after those of the lane before.
    Contiguous,
    /// The distance between neighbouring lanes is the same, and another.
    Strided {
        /// Bytes; `None`: known only at run time.
        bytes: Option<i64>,
    },
    /// Anything else.
    Gathered,
}

impl Pattern {
    /// The pattern of lanes at these byte offsets, of an access of `bytes` bytes. `offsets` holds pairs of a
    /// lane and its offset, lanes ascending; fewer than two are uniform.
    pub fn of(offsets: &[(usize, i64)], bytes: u64) -> Self {
        let mut stride = None;
        for pair in offsets.windows(2) {
            let (lanes, distance) = ((pair[1].0 - pair[0].0) as i64, pair[1].1.wrapping_sub(pair[0].1));
            if distance % lanes != 0 || stride.is_some_and(|known| known != distance / lanes) {
                return Self::Gathered;
            }
            stride = Some(distance / lanes);
        }
        match stride {
            None | Some(0) => Self::Uniform,
            Some(by) if by as u64 == bytes => Self::Contiguous,
            by => Self::Strided { bytes: by },
        }
    }
}

/// What one instruction of a SIMD-group costs, for lanes at known distances from an aligned first lane.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Cost {
    /// Sectors of 32 bytes: the unit in which NVIDIA GPUs fetch from the second-level cache.
    pub nvidia_sectors: u32,
    /// Cache lines of 128 bytes, as Apple's processors have them.
    pub apple_lines: u32,
    /// Cache lines of 64 bytes, as x86 processors have them.
    pub cpu_lines: u32,
}

impl Cost {
    /// Of lanes at these byte offsets from the first, each accessing `bytes` bytes.
    pub(crate) fn of(offsets: &[i64], bytes: u64) -> Self {
        let touched = |unit: i64| {
            let mut units: Vec<i64> = offsets
                .iter()
                .flat_map(|&at| {
                    at.div_euclid(unit)..=at.saturating_add(bytes.max(1) as i64 - 1).div_euclid(unit)
                })
                .collect();
            units.sort_unstable();
            units.dedup();
            units.len() as u32
        };
        Self { nvidia_sectors: touched(32), apple_lines: touched(128), cpu_lines: touched(64) }
    }
}

/// The most different words of one of 32 banks of threadgroup memory that the lanes access at once.
pub(crate) fn bank_conflicts(offsets: &[i64]) -> u32 {
    let mut words: Vec<i64> = offsets.iter().map(|at| at.div_euclid(4)).collect();
    words.sort_unstable();
    words.dedup();
    let mut banks = [0u32; LANES];
    words.iter().for_each(|word| banks[word.rem_euclid(LANES as i64) as usize] += 1);
    banks.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_by_the_distance_between_lanes() {
        let of = |stride: i64| (0..4).map(|lane| (lane, lane as i64 * stride)).collect::<Vec<_>>();
        assert_eq!(Pattern::of(&of(0), 4), Pattern::Uniform);
        assert_eq!(Pattern::of(&of(4), 4), Pattern::Contiguous);
        assert_eq!(Pattern::of(&of(-8), 4), Pattern::Strided { bytes: Some(-8) });
        assert_eq!(Pattern::of(&[(0, 0), (1, 4), (2, 12)], 4), Pattern::Gathered);
        assert_eq!(Pattern::of(&[(0, 0), (2, 8), (3, 12)], 4), Pattern::Contiguous);
    }

    #[test]
    fn cost_and_conflicts_of_strides() {
        let offsets = |stride: i64| -> [i64; LANES] { std::array::from_fn(|lane| lane as i64 * stride) };
        let cost = |stride| Cost::of(&offsets(stride), 4);
        assert_eq!(cost(4), Cost { nvidia_sectors: 4, apple_lines: 1, cpu_lines: 2 });
        assert_eq!(cost(128), Cost { nvidia_sectors: 32, apple_lines: 32, cpu_lines: 32 });
        assert_eq!([0, 4, 8, 128, 132].map(|stride| bank_conflicts(&offsets(stride))), [1, 1, 2, 32, 1]);
    }
}
