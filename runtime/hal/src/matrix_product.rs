//! Products of matrices by a library that is made for the device: a command beside dispatches.
//!
//! Owns [`MatrixProduct`] and its rules, which all devices share. A device that has such a library takes the
//! command ([`crate::device::Device::matrix_products`]), in order with all others. Sums are in `float`, and
//! factors of `float` are multiplied in full precision. Invariant: a [`CheckedProduct`] stays within its
//! buffers, and its result overlaps neither a factor nor itself.

use std::ops::{Deref, Range};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::buffer::{Buffer, same_buffer};
use crate::error::DeviceError;
use crate::validate::check_range;
use anymetal_types::scalar::ScalarType;

/// A matrix in rows, or a batch of them; `B` is what says where it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MatrixOperand<B = Arc<dyn Buffer>> {
    /// The buffer.
    pub buffer: B,
    /// The first byte of the first element.
    pub offset: u64,
    /// The type of the elements.
    pub element: ScalarType,
    /// Elements from one stored row to the next.
    pub row_stride: u64,
    /// Elements from one matrix of a batch to the next; 0 if all are the same.
    pub batch_stride: u64,
    /// The stored rows are the matrix's columns. Not of a result.
    pub transposed: bool,
}

/// `result = alpha * left * right + beta * result`, of each matrix of a batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MatrixProduct<B = Arc<dyn Buffer>> {
    /// Of `rows` by `inner` elements: `half`, `bfloat` or `float`.
    pub left: MatrixOperand<B>,
    /// Of `inner` by `columns` elements of the same type.
    pub right: MatrixOperand<B>,
    /// Of `rows` by `columns` elements, of the factors' type or `float`.
    pub result: MatrixOperand<B>,
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
    /// The scale of what the result holds before; if it is zero, that is not read.
    pub beta: f32,
}

impl<B> MatrixOperand<B> {
    /// A matrix whose rows are stored one after the other, the same in each product of a batch. `offset` is
    /// in bytes, `row_stride` in elements.
    pub fn new(buffer: B, offset: u64, element: ScalarType, row_stride: u64) -> Self {
        MatrixOperand { buffer, offset, element, row_stride, batch_stride: 0, transposed: false }
    }

    /// Replaces the elements from one matrix of a batch to the next.
    #[must_use]
    pub fn batch_stride(self, batch_stride: u64) -> Self {
        MatrixOperand { batch_stride, ..self }
    }

    /// Sets whether the stored rows are the columns of the matrix.
    #[must_use]
    pub fn transposed(self, transposed: bool) -> Self {
        MatrixOperand { transposed, ..self }
    }
}

impl<B> MatrixProduct<B> {
    /// `result = left * right`, of matrices of `rows` by `inner`, `inner` by `columns` and `rows` by
    /// `columns` elements.
    pub fn new(
        [left, right]: [MatrixOperand<B>; 2],
        result: MatrixOperand<B>,
        [rows, columns, inner]: [u32; 3],
    ) -> Self {
        MatrixProduct { left, right, result, rows, columns, inner, batches: 1, alpha: 1.0, beta: 0.0 }
    }

    /// Replaces the number of matrices in the batch.
    #[must_use]
    pub fn batches(self, batches: u32) -> Self {
        MatrixProduct { batches, ..self }
    }

    /// Replaces the scales of the product and of the previous contents of the result.
    #[must_use]
    pub fn scales(self, alpha: f32, beta: f32) -> Self {
        MatrixProduct { alpha, beta, ..self }
    }

    /// The same product of matrices that are named in another way.
    pub fn try_map<C, E>(&self, mut place: impl FnMut(&B) -> Result<C, E>) -> Result<MatrixProduct<C>, E> {
        let mut operand = |operand: &MatrixOperand<B>| {
            Ok(MatrixOperand {
                buffer: place(&operand.buffer)?,
                offset: operand.offset,
                element: operand.element,
                row_stride: operand.row_stride,
                batch_stride: operand.batch_stride,
                transposed: operand.transposed,
            })
        };
        Ok(MatrixProduct {
            left: operand(&self.left)?,
            right: operand(&self.right)?,
            result: operand(&self.result)?,
            rows: self.rows,
            columns: self.columns,
            inner: self.inner,
            batches: self.batches,
            alpha: self.alpha,
            beta: self.beta,
        })
    }

    /// The bytes from the first element of an operand of so many rows and columns to the last one of the
    /// batch.
    fn bytes(&self, operand: &MatrixOperand<B>, [rows, columns]: [u32; 2]) -> u64 {
        let [rows, columns] = if operand.transposed { [columns, rows] } else { [rows, columns] };
        let before = |count: u32, stride: u64| u64::from(count.saturating_sub(1)).saturating_mul(stride);
        let elements = before(self.batches, operand.batch_stride)
            .saturating_add(before(rows, operand.row_stride))
            .saturating_add(u64::from(columns));
        elements.saturating_mul(operand.element.size().into())
    }

    /// The bytes from the result's first element to its last.
    pub fn result_bytes(&self) -> u64 {
        self.bytes(&self.result, [self.rows, self.columns])
    }
}

impl MatrixProduct {
    /// Checks sizes, types, strides and ranges.
    fn check(&self) -> Result<(), DeviceError> {
        let refuse = |rule: &'static str| Err(DeviceError::InvalidMatrixProduct { rule });
        if [self.rows, self.columns, self.inner, self.batches].contains(&0) {
            return refuse("rows, columns, inner size and batches must be at least one");
        }
        let (left, right, result) = (&self.left, &self.right, &self.result);
        if !matches!(left.element, ScalarType::F16 | ScalarType::BF16 | ScalarType::F32)
            || left.element != right.element
        {
            return refuse("both factors must be of `half`, both of `bfloat` or both of `float`");
        }
        if result.element != left.element && result.element != ScalarType::F32 {
            return refuse("the result must be of the factors' type or of `float`");
        }
        if result.transposed {
            return refuse("the result must be stored in rows");
        }
        let operands = [
            (left, [self.rows, self.inner]),
            (right, [self.inner, self.columns]),
            (result, [self.rows, self.columns]),
        ];
        for (operand, extents) in operands {
            if operand.row_stride < u64::from(extents[usize::from(!operand.transposed)]) {
                return refuse("a stored row must not reach into the next one");
            }
            if operand.offset % u64::from(operand.element.size()) != 0 {
                return refuse("an operand must begin at a multiple of its element's size");
            }
            check_range(operand.offset, self.bytes(operand, extents), operand.buffer.length())?;
        }
        let matrix = u64::from(self.rows - 1).saturating_mul(result.row_stride);
        if self.batches > 1 && result.batch_stride < matrix.saturating_add(u64::from(self.columns)) {
            return refuse("a result must not reach into the next one of the batch");
        }
        let written = self.range(result, [self.rows, self.columns]);
        let meets = |factor: &MatrixOperand, extents| {
            let read = self.range(factor, extents);
            let shares = read.start < written.end && written.start < read.end;
            shares && same_buffer(&factor.buffer, &result.buffer)
        };
        if meets(left, [self.rows, self.inner]) || meets(right, [self.inner, self.columns]) {
            return refuse("the result must not overlap a factor");
        }
        Ok(())
    }

    /// The bytes of a checked operand.
    fn range(&self, operand: &MatrixOperand, extents: [u32; 2]) -> Range<u64> {
        operand.offset..operand.offset.saturating_add(self.bytes(operand, extents))
    }
}

/// A product that keeps the rules, which are checked where it is made.
#[derive(Debug, Clone)]
pub struct CheckedProduct(MatrixProduct);

impl CheckedProduct {
    /// Checks sizes, types, strides and ranges.
    ///
    /// # Errors
    /// [`DeviceError::InvalidMatrixProduct`] names the broken rule,
    /// [`DeviceError::RangeOutsideBuffer`] the operand's bytes.
    pub fn new(product: MatrixProduct) -> Result<Self, DeviceError> {
        product.check()?;
        Ok(CheckedProduct(product))
    }
}

impl Deref for CheckedProduct {
    type Target = MatrixProduct;

    fn deref(&self) -> &MatrixProduct {
        &self.0
    }
}

/// The answer of a device that has no library of products.
pub fn unsupported(device: &str) -> DeviceError {
    DeviceError::Unsupported {
        device: device.to_owned(),
        what: "products of matrices as commands".to_owned(),
        alternative: "make them with a kernel".to_owned(),
    }
}
