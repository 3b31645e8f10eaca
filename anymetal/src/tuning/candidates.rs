//! Which threadgroup size launches have that name none, and which are worth measuring.

use anymetal_hal::artifact::{KernelInfo, SIMD_WIDTH};
use anymetal_hal::capabilities::Capabilities;

/// Sizes with more threads than this were never faster where they were tried, and many kernels' registers
/// or threadgroup memory do not allow them; the limit of the kernel comes on top.
const MAX_THREADS: u32 = 1024;

/// Threads of a threadgroup where neither grid nor kernel say otherwise.
const DEFAULT_THREADS: u32 = 256;

/// What of a device decides how large threadgroups are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeLimits {
    /// Those that share a small grid's threadgroups; `None`: it is not divided for that.
    pub compute_units: Option<u32>,
    /// The most threads of a threadgroup along each axis.
    pub threads_per_dimension: [u32; 3],
}

impl From<&Capabilities> for SizeLimits {
    fn from(capabilities: &Capabilities) -> Self {
        let &Capabilities { compute_units, max_threads_per_dimension, .. } = capabilities;
        Self { compute_units: Some(compute_units), threads_per_dimension: max_threads_per_dimension }
    }
}

/// The threadgroup size of launches that name none, for a grid of threads. Where the grid is large these are
/// 256, 32×8 or 32×4×2 threads.
///
/// Rows lie along the axis along which neighbouring threads access neighbouring memory
/// ([`KernelInfo::leading_axis`]), no axis is longer than a grid of several axes is along it (rounded up to a
/// power of two), and further rows are added where they start few more idle threads. A grid too small to give
/// each compute unit half a threadgroup is divided into SIMD-groups if the kernel cannot tell
/// ([`KernelInfo::threadgroup_agnostic`]).
pub fn default_group_size(grid: [u32; 3], kernel: &KernelInfo, limits: SizeLimits) -> [u32; 3] {
    // An empty grid has the size of a large one.
    let grid = grid.map(|size| if size == 0 { u32::MAX } else { size });
    let limit = kernel.max_threads_per_threadgroup.max(1);
    let threads = grid.iter().fold(1u64, |product, &size| product.saturating_mul(size.into()));
    let is_small = limits
        .compute_units
        .is_some_and(|units| threads <= u64::from(units) * u64::from(DEFAULT_THREADS / 2));
    let wanted = if is_small && kernel.threadgroup_agnostic { SIMD_WIDTH } else { DEFAULT_THREADS };
    let wanted = 1 << wanted.min(limit).ilog2();
    let most = limits.threads_per_dimension.map(|most| 1 << most.clamp(1, wanted).ilog2());
    let in_grid = |axis: usize| grid[axis].checked_next_power_of_two().unwrap_or(wanted);
    let mut longest: [u32; 3] = std::array::from_fn(|axis| in_grid(axis).min(most[axis]));
    if grid[1..] == [1; 2] {
        // Each size has code of its own: short lines have that of long ones.
        longest[0] = most[0];
    }
    let (order, row) = match kernel.leading_axis {
        // Blocks of rows along x: most kernels of two and three axes read their neighbours.
        0 => ([0, 1, 2], SIMD_WIDTH),
        // Threadgroups follow each other along x, so that the next one continues no row along another axis.
        1 => ([1, 0, 2], DEFAULT_THREADS),
        2 => ([2, 0, 1], DEFAULT_THREADS),
        axis => panic!("a grid has no axis {axis}"),
    };
    let mut size = [1; 3];
    let threads_of = |size: [u32; 3]| size.iter().product::<u32>();
    size[order[0]] = longest[order[0]].min(row);
    for axis in [order[1], order[2]] {
        size[axis] = longest[axis].min((SIMD_WIDTH.min(wanted) / threads_of(size)).max(1));
    }
    let started = |axis: usize, length: u32| u64::from(grid[axis].div_ceil(length)) * u64::from(length);
    while threads_of(size) < wanted {
        let has_room = |axis: &usize| 2 * size[*axis] <= longest[*axis];
        // A quarter more idle threads cost less than few SIMD-groups, whose latencies nothing hides.
        let wastes_little =
            |axis: &usize| 4 * started(*axis, 2 * size[*axis]) <= 5 * started(*axis, size[*axis]);
        let others = [order[1], order[2]].into_iter().filter(has_room).filter(wastes_little);
        let shorter = others.min_by_key(|&axis| size[axis]);
        match shorter.or_else(|| Some(order[0]).filter(has_room)) {
            Some(axis) => size[axis] *= 2,
            None => break,
        }
    }
    size
}

/// Powers of two along each axis that make up whole SIMD-groups, up to the kernel's limit of threads; the
/// default size first. No axis is longer than the grid along it, rounded up to a power of two.
pub fn candidates(
    grid: [u32; 3],
    dimensions: usize,
    kernel: &KernelInfo,
    limits: SizeLimits,
) -> Vec<[u32; 3]> {
    let first = default_group_size(grid, kernel, limits);
    let (limit, simd_width) = (kernel.max_threads_per_threadgroup.clamp(1, MAX_THREADS), kernel.simd_width);
    let longest = |axis: usize| match axis < dimensions.max(1) {
        true => {
            let most = limit.min(limits.threads_per_dimension[axis]);
            grid[axis].max(1).checked_next_power_of_two().unwrap_or(most).min(most)
        }
        false => 1,
    };
    let powers = |most: u32| (0..32).map(|power| 1u32 << power).take_while(move |&size| size <= most);
    let mut found = vec![first];
    for z in powers(longest(2)) {
        for y in powers(longest(1)) {
            for x in powers(longest(0)) {
                let threads = u64::from(x) * u64::from(y) * u64::from(z);
                let whole = threads.is_multiple_of(u64::from(simd_width.max(1)));
                let size = [x, y, z];
                if whole && threads <= u64::from(limit) && size != first {
                    found.push(size);
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: SizeLimits = SizeLimits { compute_units: Some(2), threads_per_dimension: [1024; 3] };

    fn kernel(limit: u32) -> KernelInfo {
        KernelInfo::new("k", "k").max_threads_per_threadgroup(limit).simd_width(32).threadgroup_agnostic(true)
    }

    fn default_size(grid: [u32; 3], limit: u32) -> [u32; 3] {
        default_group_size(grid, &kernel(limit), CPU)
    }

    #[test]
    fn default_group_sizes_respect_the_limit() {
        const FAR: u32 = 1 << 20;
        assert_eq!(default_size([FAR, 1, 1], 1024), [256, 1, 1]);
        assert_eq!(default_size([FAR, 1, 1], 100), [64, 1, 1]);
        assert_eq!(default_size([FAR, FAR, 1], 1024), [32, 8, 1]);
        assert_eq!(default_size([u32::MAX; 3], 1024), [32, 4, 2]);
        assert_eq!(default_size([FAR, FAR, 1], 128), [32, 4, 1]);
        assert_eq!(default_size([FAR; 3], 64), [32, 2, 1]);
        assert_eq!(default_size([FAR; 3], 1), [1, 1, 1]);
        assert_eq!(default_size([0, 0, 0], 0), [1, 1, 1]);
        assert_eq!(default_size([0, 1, 1], 1024), [256, 1, 1], "nothing is launched");
    }

    #[test]
    fn default_group_sizes_follow_narrow_grids() {
        assert_eq!(default_size([1, 100_000, 1], 1024), [1, 256, 1]);
        assert_eq!(default_size([1, 1, 100_000], 1024), [1, 1, 256]);
        assert_eq!(default_size([3, 100_000, 1], 1024), [4, 64, 1]);
        assert_eq!(default_size([100_000, 3, 1], 1024), [256, 1, 1], "a fourth row would be idle");
        assert_eq!(default_size([16, 16, 4096], 1024), [16, 4, 4]);
    }

    #[test]
    fn default_group_sizes_follow_the_leading_axis() {
        let size = |axis: u8, grid| default_group_size(grid, &kernel(1024).leading_axis(axis), CPU);
        assert_eq!(size(1, [1000, 1000, 1]), [1, 256, 1]);
        assert_eq!(size(1, [1000, 8, 1]), [32, 8, 1]);
        assert_eq!(size(2, [100, 100, 1000]), [1, 1, 256]);
    }

    #[test]
    fn default_group_sizes_respect_the_limits_of_axes() {
        let limits = SizeLimits { compute_units: Some(132), threads_per_dimension: [1024, 1024, 64] };
        let size = |grid| default_group_size(grid, &kernel(1024), limits);
        assert_eq!(size([1, 1, 1 << 20]), [1, 1, 64]);
        assert_eq!(size([1, 1 << 20, 1]), [1, 256, 1]);
        assert_eq!(default_group_size([1 << 20; 3], &kernel(1024).leading_axis(2), limits), [2, 2, 64]);
    }

    #[test]
    fn small_grids_are_shared_among_compute_units() {
        assert_eq!(default_size([256, 1, 1], 1024), [32, 1, 1]);
        assert_eq!(default_size([257, 1, 1], 1024), [256, 1, 1]);
        assert_eq!(default_size([4, 4, 4], 1024), [4, 4, 2]);
        assert_eq!(default_size([1, 1, 1], 1024), [32, 1, 1]);
        let observing = kernel(1024).threadgroup_agnostic(false);
        assert_eq!(default_group_size([256, 1, 1], &observing, CPU), [256, 1, 1], "it can tell");
    }

    #[test]
    fn candidates_are_whole_simd_groups_within_grid_and_limit() {
        let candidates = |grid, dimensions, limit| candidates(grid, dimensions, &kernel(limit), CPU);
        let line = candidates([1 << 20, 1, 1], 1, 1024);
        assert_eq!(line[0], [256, 1, 1]);
        assert_eq!(line.len(), 6, "{line:?}");
        assert_eq!(candidates([300, 1, 1], 1, 1024).len(), 5, "up to 512");
        let plane = candidates([640, 3, 1], 2, 256);
        assert!(plane.iter().all(|size| size[1] <= 4 && size.iter().product::<u32>() <= 256));
        assert!(plane.contains(&[64, 4, 1]) && !plane.contains(&[8, 2, 1]));
    }

    #[test]
    fn tiny_limits_leave_the_default() {
        assert_eq!(candidates([10, 1, 1], 1, &kernel(8), CPU), [[8, 1, 1]]);
        assert_eq!(candidates([0, 0, 0], 3, &kernel(0), CPU).len(), 1);
    }
}
