//! Which threadgroup sizes are worth measuring.

/// Sizes with more threads than this were never faster where they were tried, and many kernels' registers
/// or threadgroup memory do not allow them; the limit of the kernel comes on top.
const MAX_THREADS: u32 = 1024;

/// A threadgroup size for a grid of that many dimensions: 256, 32×8 or 32×4×2, so that the lanes of a
/// SIMD-group are neighbours along x; made smaller until it fits the limit.
pub fn default_group_size(dimensions: usize, limit: u32) -> [u32; 3] {
    let mut size = match dimensions {
        0 | 1 => [256, 1, 1],
        2 => [32, 8, 1],
        _ => [32, 4, 2],
    };
    while size.iter().product::<u32>() > limit.max(1) {
        // The last axis first: keeps rows long.
        let axis = size.iter().rposition(|&threads| threads > 1).unwrap_or(0);
        size[axis] = (size[axis] / 2).max(1);
    }
    size
}

/// Powers of two along each axis that make up whole SIMD-groups of `simd_width` threads, up to `limit`
/// threads; the default size first. No axis is longer than the grid along it, rounded up to a power of two.
pub fn candidates(grid: [u32; 3], dimensions: usize, simd_width: u32, limit: u32) -> Vec<[u32; 3]> {
    let first = default_group_size(dimensions, limit);
    let limit = limit.clamp(1, MAX_THREADS);
    let longest = |axis: usize| match axis < dimensions.max(1) {
        true => grid[axis].max(1).checked_next_power_of_two().unwrap_or(limit).min(limit),
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

    #[test]
    fn default_group_sizes_respect_the_limit() {
        assert_eq!(default_group_size(1, 1024), [256, 1, 1]);
        assert_eq!(default_group_size(1, 100), [64, 1, 1]);
        assert_eq!(default_group_size(2, 1024), [32, 8, 1]);
        assert_eq!(default_group_size(2, 128), [32, 4, 1]);
        assert_eq!(default_group_size(3, 1024), [32, 4, 2]);
        assert_eq!(default_group_size(3, 64), [32, 2, 1]);
        assert_eq!(default_group_size(3, 1), [1, 1, 1]);
    }

    #[test]
    fn candidates_are_whole_simd_groups_within_grid_and_limit() {
        let line = candidates([1 << 20, 1, 1], 1, 32, 1024);
        assert_eq!(line[0], [256, 1, 1]);
        assert_eq!(line.len(), 6, "{line:?}");
        assert_eq!(candidates([100, 1, 1], 1, 32, 1024), [[256, 1, 1], [32, 1, 1], [64, 1, 1], [128, 1, 1]]);
        let plane = candidates([640, 3, 1], 2, 32, 256);
        assert!(plane.iter().skip(1).all(|size| size[1] <= 4 && size.iter().product::<u32>() <= 256));
        assert!(plane.contains(&[64, 4, 1]) && !plane.contains(&[8, 2, 1]));
    }

    #[test]
    fn tiny_limits_leave_the_default() {
        assert_eq!(candidates([10, 1, 1], 1, 32, 8), [[8, 1, 1]]);
        assert_eq!(candidates([0, 0, 0], 3, 32, 0).len(), 1);
    }
}
