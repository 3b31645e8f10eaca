//! Matrix products by the `gemm` crate, over row-major slices.

use gemm::Parallelism;

/// Whether [`multiply`] may use rayon's threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Threads {
    /// The calling thread only.
    One,
    /// All of rayon's.
    All,
}

/// `out = a·b` for row-major `a` (`rows`×`inner`), `b` (`inner`×`columns`) and `out` (`rows`×`columns`).
///
/// # Panics
///
/// If a slice does not have exactly the length that the sizes require.
pub fn multiply([rows, inner, columns]: [usize; 3], a: &[f32], b: &[f32], out: &mut [f32], threads: Threads) {
    assert_eq!(a.len(), rows * inner, "length of a");
    assert_eq!(b.len(), inner * columns, "length of b");
    assert_eq!(out.len(), rows * columns, "length of out");
    let threads = match threads {
        Threads::One => Parallelism::None,
        Threads::All => Parallelism::Rayon(0),
    };
    // SAFETY: the assertions above make every element that the strides reach (row·columns + column, and so
    // on) are within its slice; `out` is borrowed mutably, so it overlaps neither input; `f32` is one of the
    // types that the function accepts.
    unsafe {
        gemm::gemm(
            rows,
            columns,
            inner,
            out.as_mut_ptr(),
            1,
            columns as isize,
            false,
            a.as_ptr(),
            1,
            inner as isize,
            b.as_ptr(),
            1,
            columns as isize,
            0.0,
            1.0,
            false,
            false,
            false,
            threads,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_row_by_column() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [7.0, 8.0, 9.0, 10.0, 11.0, 12.0]);
        for threads in [Threads::One, Threads::All] {
            let mut out = [f32::NAN; 4];
            multiply([2, 3, 2], &a, &b, &mut out, threads);
            assert_eq!(out, [58.0, 64.0, 139.0, 154.0]);
        }
    }
}
