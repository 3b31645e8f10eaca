//! A stream's use of the library.
//!
//! Owns [`Handle`]. Invariant: one thread at a time, which its owner sees to.

use std::ffi::{c_int, c_void};
use std::ptr;

use crate::cublas::error::{CublasError, check};
use crate::cublas::library::Cublas;
use crate::cublas::product::{Element, Matrix, Product};

/// `CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION`: partial sums are added as `float`.
const MATH_MODE: c_int = 16;
/// `CUBLAS_COMPUTE_32F`: sums in `float`, and no `tf32`.
const COMPUTE_F32: c_int = 68;
/// `CUBLAS_GEMM_DEFAULT`: the library chooses by its heuristics.
const ALGORITHM: c_int = -1;

/// Puts products into one stream.
#[derive(Debug)]
pub struct Handle {
    library: &'static Cublas,
    raw: *mut c_void,
}

// SAFETY: cuBLAS lets any thread use a handle whose context is current there, one at a time, which `&mut`
// sees to.
unsafe impl Send for Handle {}

impl Handle {
    /// For that stream.
    ///
    /// # Safety
    /// The stream's context is current on the calling thread, here and in all further calls, the drop
    /// included. The stream outlives the handle.
    pub unsafe fn new(library: &'static Cublas, stream: u64) -> Result<Handle, CublasError> {
        let mut raw = ptr::null_mut();
        // SAFETY: a context is current, as the caller promises; the result outlives the call.
        check("cublasCreate", unsafe { (library.create)(&raw mut raw) })?;
        let mut handle = Handle { library, raw };
        // SAFETY: the caller promises it.
        unsafe { handle.set_stream(stream) }?;
        // SAFETY: the handle was made above.
        check("cublasSetMathMode", unsafe { (library.set_math_mode)(raw, MATH_MODE) })?;
        Ok(handle)
    }

    /// Puts products into another stream from now on.
    ///
    /// # Safety
    /// The stream is of the same context and outlives its use. Products in the stream before have ended: both
    /// would use the library's memory at once.
    pub unsafe fn set_stream(&mut self, stream: u64) -> Result<(), CublasError> {
        // SAFETY: the handle is alive; the caller promises the rest.
        let status = unsafe { (self.library.set_stream)(self.raw, stream as usize as *mut c_void) };
        check("cublasSetStream", status)
    }

    /// Puts a product into the stream.
    ///
    /// # Safety
    /// All elements of the three matrices, by sizes, strides and batches, are in memory that the stream's
    /// card reaches, which stays until the product has ended; the result overlaps no factor.
    pub unsafe fn multiply(&mut self, product: &Product) -> Result<(), CublasError> {
        let Product { left, right, result, .. } = product;
        let [rows, columns, inner, batches] =
            [product.rows, product.columns, product.inner, product.batches].map(|n| count(u64::from(n)));
        let (alpha, beta) = (ptr::from_ref(&product.alpha), ptr::from_ref(&product.beta));
        // Rows here are columns there: the transposed result is the transposed right factor by the
        // transposed left one.
        // SAFETY: the handle is alive, both scales outlive the call, which reads them before it returns; the
        // caller promises the rest.
        let status = unsafe {
            (self.library.gemm)(
                self.raw,
                c_int::from(right.transposed),
                c_int::from(left.transposed),
                columns?,
                rows?,
                inner?,
                alpha.cast(),
                right.address as usize as *const c_void,
                element(right),
                count(right.row_stride)?,
                right.batch_stride as i64,
                left.address as usize as *const c_void,
                element(left),
                count(left.row_stride)?,
                left.batch_stride as i64,
                beta.cast(),
                result.address as usize as *mut c_void,
                element(result),
                count(result.row_stride)?,
                result.batch_stride as i64,
                batches?,
                COMPUTE_F32,
                ALGORITHM,
            )
        };
        check("cublasGemmStridedBatchedEx", status)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: made by `cublasCreate` and destroyed once; the context is current, as `new` demands. A
        // failure leaves nothing to be done.
        let _ = unsafe { (self.library.destroy)(self.raw) };
    }
}

fn count(number: u64) -> Result<c_int, CublasError> {
    c_int::try_from(number).map_err(|_| CublasError::TooLarge { number })
}

/// `cudaDataType`.
fn element(matrix: &Matrix) -> c_int {
    match matrix.element {
        Element::F32 => 0,
        Element::F16 => 2,
        Element::BF16 => 14,
    }
}
