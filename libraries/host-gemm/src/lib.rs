//! Products of matrices on the host by the `gemm` crate, behind safe functions.
//!
//! Owns [`Matrix`] and [`multiply`]. Invariant: a matrix reaches only elements of its slice, which
//! is checked when it is made.

use gemm::Parallelism;

/// Whether [`multiply`] may use rayon's threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Threads {
    /// The calling thread only.
    One,
    /// All of rayon's.
    All,
}

/// A matrix of any strides within a slice.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<'a> {
    elements: &'a [f32],
    first: usize,
    shape: [usize; 2],
    strides: [isize; 2],
}

impl<'a> Matrix<'a> {
    /// The matrix whose first element is there, of `shape` rows and columns, `strides` elements
    /// apart. `None` if an element would lie outside of the slice.
    pub fn new(
        elements: &'a [f32],
        first: usize,
        shape: [usize; 2],
        strides: [isize; 2],
    ) -> Option<Matrix<'a>> {
        let (mut low, mut high) = (first as i128, first as i128);
        for (extent, stride) in shape.into_iter().zip(strides) {
            let reach = (extent as i128 - 1) * stride as i128;
            if reach < 0 { low += reach } else { high += reach }
        }
        let inside = shape.contains(&0) || (low >= 0 && high < elements.len() as i128);
        inside.then_some(Matrix { elements, first, shape, strides })
    }

    /// Rows one after the other in the whole slice. `None` if it has another length.
    pub fn rows(elements: &'a [f32], shape: [usize; 2]) -> Option<Matrix<'a>> {
        let fits = shape[0].checked_mul(shape[1]) == Some(elements.len());
        fits.then_some(())?;
        Matrix::new(elements, 0, shape, [shape[1] as isize, 1])
    }
}

/// `out = a·b`, rows of `out` one after the other.
///
/// # Panics
///
/// If the columns of `a` are not as many as the rows of `b`, or `out` has not exactly their
/// product's elements.
pub fn multiply(a: Matrix<'_>, b: Matrix<'_>, out: &mut [f32], threads: Threads) {
    let ([rows, inner], [b_rows, columns]) = (a.shape, b.shape);
    assert_eq!(inner, b_rows, "columns of a and rows of b");
    assert_eq!(out.len(), rows * columns, "length of out");
    if out.is_empty() || inner == 0 {
        out.fill(0.0);
        return;
    }
    let threads = match threads {
        Threads::One => Parallelism::None,
        Threads::All => Parallelism::Rayon(0),
    };
    // SAFETY: a matrix without an empty extent was checked to reach elements of its slice only, and
    // here no extent is zero; `out` has rows·columns elements, which its strides reach; it is
    // borrowed mutably, so it overlaps neither input; `f32` is one of the types that the function
    // accepts.
    unsafe {
        gemm::gemm(
            rows,
            columns,
            inner,
            out.as_mut_ptr(),
            1,
            columns as isize,
            false,
            a.elements.as_ptr().add(a.first),
            a.strides[1],
            a.strides[0],
            b.elements.as_ptr().add(b.first),
            b.strides[1],
            b.strides[0],
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
            let (a, b) = (Matrix::rows(&a, [2, 3]).unwrap(), Matrix::rows(&b, [3, 2]).unwrap());
            multiply(a, b, &mut out, threads);
            assert_eq!(out, [58.0, 64.0, 139.0, 154.0]);
        }
    }

    #[test]
    fn strides_may_be_of_any_sign() {
        let elements = [1.0, 2.0, 3.0, 4.0];
        let mut out = [0.0; 4];
        let reversed = Matrix::new(&elements, 3, [2, 2], [-2, -1]).unwrap();
        let transposed = Matrix::new(&elements, 0, [2, 2], [1, 2]).unwrap();
        multiply(reversed, transposed, &mut out, Threads::One);
        assert_eq!(out, [4.0 + 6.0, 12.0 + 12.0, 2.0 + 2.0, 6.0 + 4.0]);
    }

    #[test]
    fn a_matrix_beyond_its_slice_is_refused() {
        let elements = [0.0; 4];
        assert!(Matrix::new(&elements, 0, [2, 3], [2, 1]).is_none());
        assert!(Matrix::new(&elements, 1, [2, 2], [-2, 1]).is_none());
        assert!(Matrix::new(&elements, 9, [0, 2], [1, 1]).is_some());
        assert!(Matrix::rows(&elements, [2, 3]).is_none());
    }
}
