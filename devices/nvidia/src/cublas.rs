//! Products of matrices by cuBLAS, which is loaded at run time.
//!
//! Owns [`Cublas`], the library, and [`Handle`], one stream's use of it ([`product`] has what it multiplies).
//! Invariant: no function is called unless the library is there and has it; what is missing is a
//! [`CublasError`]. `cudarc`, which the rest of CUDA is reached through, knows the library's names up to CUDA
//! 12 only and panics where one is missing, so six functions are bound here.
//!
//! Sums are in `float`, and factors of `float` are multiplied in full precision: no `tf32`, and no sums of
//! partial sums in a narrower type.

mod error;
mod handle;
mod library;
pub mod product;

pub use error::CublasError;
pub use handle::Handle;
pub use library::Cublas;
