//! The extent of a dispatch.

use serde::{Deserialize, Serialize};

use crate::artifact::SIMD_WIDTH;

/// The extent of a dispatch. A zero in any dimension is an empty dispatch: it succeeds and does nothing.
///
/// Exhaustive, like [`crate::command::Command`]: a device must handle both forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Grid {
    /// That many threads; the last threadgroup of a dimension may be partial.
    Threads([u32; 3]),
    /// That many full threadgroups.
    Threadgroups([u32; 3]),
}

/// The threadgroups of a size along each axis of a grid of threads, partial ones included.
pub(crate) fn groups_along(threads: [u32; 3], group_size: [u32; 3]) -> [u32; 3] {
    std::array::from_fn(|axis| threads[axis].div_ceil(group_size[axis].max(1)))
}

impl Grid {
    /// How many threadgroups of that size it has, partial ones included.
    pub fn threadgroup_count(self, group_size: [u32; 3]) -> u64 {
        let counts = match self {
            Grid::Threadgroups(counts) => counts,
            Grid::Threads(threads) => groups_along(threads, group_size),
        };
        counts.iter().fold(1, |product: u64, &count| product.saturating_mul(count.into()))
    }

    /// Whether no threadgroup of that size is cut off at the grid's edge. A size of zero is refused
    /// elsewhere.
    pub fn is_whole(self, group_size: [u32; 3]) -> bool {
        match self {
            Grid::Threadgroups(_) => true,
            Grid::Threads(threads) => {
                threads.iter().zip(group_size).all(|(threads, size)| threads.checked_rem(size) == Some(0))
            }
        }
    }

    /// Whether threadgroups of that size lie in several rows, none of which fills SIMD-groups, and no row of
    /// the grid would fill one either.
    pub fn is_narrow(self, group_size: [u32; 3]) -> bool {
        let width = match self {
            Grid::Threads([x, ..]) => x,
            Grid::Threadgroups([x, ..]) => x.saturating_mul(group_size[0]),
        };
        let in_rows = !group_size[0].is_multiple_of(SIMD_WIDTH) && group_size[1..] != [1; 2];
        in_rows && width < SIMD_WIDTH
    }
}
