//! Products by the `gemm` crate, over the buffers' own memory.
//!
//! Invariant: the buffers are mapped while the library works on them, so no kernel uses them
//! meanwhile; making the mappings waits for the work before that does.

use anymetal_host_gemm::{Matrix, Threads, multiply};

use crate::context::Ops;
use crate::error::OpError;
use crate::matmul::Factors;
use crate::shape::contiguous_strides;
use crate::tensor::Tensor;

/// Products of fewer multiplications than this are faster by the library than by kernels, whose
/// launch costs more than the product. Measured by `ops-bench crossover` on a CPU with AVX-512: at
/// 96 by 96 by 96 the library is faster, at 128 both are as fast, from 256 on kernels have more
/// than twice its rate.
const MAX_PRODUCTS: usize = 112 * 112 * 112;

/// Products of one matrix that are worth more than one thread.
const MIN_THREADED: usize = 128 * 128 * 128;

impl Ops {
    /// Makes the product of `float` matrices if the host sees their memory; else false.
    pub(super) fn product_by_host(&self, factors: &Factors, out: &Tensor) -> Result<bool, OpError> {
        // Memory that the host does not see is left to kernels.
        let maps = (factors.a.buffer().map(), factors.b.buffer().map(), out.buffer().map_mut());
        let (Ok(a), Ok(b), Ok(mut target)) = maps else { return Ok(false) };
        let (Ok(a), Ok(b), Ok(target)) = (
            bytemuck::try_cast_slice::<u8, f32>(&a),
            bytemuck::try_cast_slice::<u8, f32>(&b),
            bytemuck::try_cast_slice_mut::<u8, f32>(&mut target),
        ) else {
            return Ok(false);
        };
        let Factors { rows, columns, inner, .. } = *factors;
        let one = rows * columns * inner;
        let threads = if one >= MIN_THREADED { Threads::All } else { Threads::One };
        let results = target.chunks_exact_mut(rows * columns);
        for (batch, result) in results.enumerate().take(factors.batches.iter().product()) {
            let left = matrix(a, &factors.a, &factors.batches, batch);
            let right = matrix(b, &factors.b, &factors.batches, batch);
            // Both lie within their tensors, which lie within their buffers.
            let (Some(left), Some(right)) = (left, right) else { return Ok(false) };
            multiply(left, right, result, threads);
        }
        Ok(true)
    }
}

/// Whether the library is expected to be faster than kernels.
pub(super) fn pays(factors: &Factors) -> bool {
    let batches: usize = factors.batches.iter().product();
    batches * factors.rows * factors.columns * factors.inner < MAX_PRODUCTS
}

/// One batch's matrix of a tensor.
fn matrix<'a>(elements: &'a [f32], tensor: &Tensor, batches: &[usize], batch: usize) -> Option<Matrix<'a>> {
    let rank = batches.len();
    let mut first = tensor.offset() as isize;
    let mut rest = batch;
    for (dimension, step) in contiguous_strides(batches).into_iter().enumerate() {
        first += (rest / step as usize) as isize * tensor.strides()[dimension];
        rest %= step as usize;
    }
    let (shape, strides) = (&tensor.shape()[rank..], &tensor.strides()[rank..]);
    Matrix::new(elements, first as usize, [shape[0], shape[1]], [strides[0], strides[1]])
}
