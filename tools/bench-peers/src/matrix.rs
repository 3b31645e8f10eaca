//! Matrix products by the `gemm` crate, over row-major slices.

use anymetal_host_gemm::Matrix;
pub use anymetal_host_gemm::Threads;

/// `out = a·b` for row-major `a` (`rows`×`inner`), `b` (`inner`×`columns`) and `out` (`rows`×`columns`).
///
/// # Panics
///
/// If a slice does not have exactly the length that the sizes require.
pub fn multiply([rows, inner, columns]: [usize; 3], a: &[f32], b: &[f32], out: &mut [f32], threads: Threads) {
    assert_eq!(a.len(), rows * inner, "length of a");
    assert_eq!(b.len(), inner * columns, "length of b");
    assert_eq!(out.len(), rows * columns, "length of out");
    let rows_of = |elements, shape| Matrix::rows(elements, shape).expect("the length was just compared");
    let (a, b) = (rows_of(a, [rows, inner]), rows_of(b, [inner, columns]));
    anymetal_host_gemm::multiply(a, b, out, threads);
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
