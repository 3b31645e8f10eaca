//! What is multiplied.
//!
//! Owns [`Product`]: sizes and places of matrices in rows. Invariant: plain data; cuBLAS counts in columns,
//! so a product is computed as its transpose, which [`crate::cublas::Handle::multiply`] does.

use anymetal_hal::artifact::ScalarType;

/// The type of a matrix's elements: those scalar types that the products take. A type of its own, so that a
/// [`Product`] cannot name another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Element {
    /// `half`.
    F16,
    /// `bfloat`.
    BF16,
    /// `float`.
    F32,
}

impl Element {
    /// The type, if there are products of it.
    pub fn of(scalar: ScalarType) -> Option<Self> {
        match scalar {
            ScalarType::F16 => Some(Element::F16),
            ScalarType::BF16 => Some(Element::BF16),
            ScalarType::F32 => Some(Element::F32),
            _ => None,
        }
    }
}

/// A matrix in the card's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Matrix {
    /// The first element.
    pub address: u64,
    /// The type of the elements.
    pub element: Element,
    /// Elements from one stored row to the next.
    pub row_stride: u64,
    /// Elements from one matrix of a batch to the next; 0 if all are the same.
    pub batch_stride: u64,
    /// The stored rows are the matrix's columns. Not of a result.
    pub transposed: bool,
}

/// `result = alpha * left * right + beta * result`, of each matrix of a batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Product {
    /// Of `rows` by `inner`.
    pub left: Matrix,
    /// Of `inner` by `columns`; its elements are of the type of the left's.
    pub right: Matrix,
    /// Of `rows` by `columns`; its elements are of the type of the factors', or `float`.
    pub result: Matrix,
    /// Rows of the result.
    pub rows: u32,
    /// Columns of the result.
    pub columns: u32,
    /// Columns of the left factor and rows of the right one.
    pub inner: u32,
    /// Matrices of the batch.
    pub batches: u32,
    /// The product's scale.
    pub alpha: f32,
    /// The scale of what the result holds before; if it is zero, nothing is read.
    pub beta: f32,
}
