//! The threadgroup size that code for a promised size is really made for.
//!
//! A SIMD-group of threads in rows of 16 or 8 spans several rows of a picture, so that nothing it reads is
//! contiguous. A kernel that cannot tell how its grid is divided is run in rows of whole SIMD-groups instead.
//! Invariant: the same grid of threads runs, and no threadgroup has more SIMD-groups than the promised one.

use anymetal_analysis::observes_threadgroups;
use anymetal_ir::{Kernel, Module};

use crate::llvm::LANES;

/// The size to execute a grid with whose threadgroups are given as `size`, if another is faster and the
/// kernel cannot tell.
pub fn executed_group(module: &Module, kernel: &Kernel, size: [u32; 3]) -> Option<[u32; 3]> {
    let rows = rows_of_simdgroups(size)?;
    let is_fixed = kernel.required_threads.is_some()
        || kernel.max_threads.is_some_and(|max| rows.iter().product::<u32>() > max);
    (!is_fixed && !observes_threadgroups(module, kernel)).then_some(rows)
}

/// Threadgroups of several rows, none of which fills SIMD-groups, as rows of one SIMD-group each. One column
/// stays one: its grid may be a column, too.
fn rows_of_simdgroups([x, y, z]: [u32; 3]) -> Option<[u32; 3]> {
    let lanes = LANES as u32;
    if x <= 1 || x.is_multiple_of(lanes) || (y <= 1 && z <= 1) {
        return None;
    }
    let threads = x.checked_mul(y)?.checked_mul(z)?;
    Some([lanes, (threads / lanes).max(1), 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn squares_become_rows_of_simdgroups() {
        for (given, executed) in [
            ([16, 16, 1], [32, 8, 1]),
            ([8, 8, 1], [32, 2, 1]),
            ([8, 8, 4], [32, 8, 1]),
            ([4, 4, 1], [32, 1, 1]),
            ([10, 10, 1], [32, 3, 1]),
        ] {
            assert_eq!(rows_of_simdgroups(given), Some(executed), "{given:?}");
        }
        for given in [[32, 8, 1], [64, 4, 1], [1, 256, 1], [16, 1, 1], [256, 1, 1]] {
            assert_eq!(rows_of_simdgroups(given), None, "{given:?}");
        }
    }
}
