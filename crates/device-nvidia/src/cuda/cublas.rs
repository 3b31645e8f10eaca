//! Products of matrices by cuBLAS.
//!
//! Owns [`Products`]: what the library has for each stream, made at the stream's first product. It holds some
//! 32 MiB of the card until the stream goes. Concurrency: a stream's handle is behind a lock of its own, so
//! that streams do not wait for each other.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use anymetal_cublas::product::{Element, Matrix, Product};
use anymetal_cublas::{Cublas, CublasError, Handle};
use anymetal_hal::artifact::ScalarType;
use anymetal_hal::matrix_product::{MatrixOperand, MatrixProduct};

use crate::driver::DriverError;

/// A card's handles by stream.
#[derive(Debug, Default)]
pub(super) struct Products {
    handles: Mutex<BTreeMap<u64, Arc<Mutex<Option<Handle>>>>>,
}

/// The library, or why there is none.
pub(super) fn library() -> Result<&'static Cublas, DriverError> {
    Cublas::load().map_err(error_of)
}

fn error_of(error: CublasError) -> DriverError {
    match error {
        CublasError::OutOfMemory { .. } => DriverError::OutOfMemory,
        CublasError::Failed { .. } => DriverError::Other(error.to_string()),
        _ => DriverError::Refused(format!("products of matrices as commands: {error}")),
    }
}

impl Products {
    /// Puts a product into a stream. The card's context is current.
    pub(super) fn put(&self, product: &MatrixProduct<u64>, stream: u64) -> Result<(), DriverError> {
        let product = addressed(product)?;
        let slot = {
            let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(handles.entry(stream).or_default())
        };
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = match &mut *slot {
            Some(handle) => handle,
            None => {
                // SAFETY: the context is current, and the stream is of it. The handle goes with `forget`,
                // before the stream does.
                let made = unsafe { Handle::new(library()?, stream) };
                slot.insert(made.map_err(error_of)?)
            }
        };
        // SAFETY: the device checked the ranges of all three matrices against live memory, which stays until
        // the stream has ended, and that the result overlaps no factor.
        unsafe { handle.multiply(&product) }.map_err(error_of)
    }

    /// Gives back what the library has for a stream that goes. The card's context is current.
    pub(super) fn forget(&self, stream: u64) {
        let handle = self.handles.lock().unwrap_or_else(PoisonError::into_inner).remove(&stream);
        drop(handle);
    }
}

fn addressed(product: &MatrixProduct<u64>) -> Result<Product, DriverError> {
    let matrix = |operand: &MatrixOperand<u64>| {
        let element = match operand.element {
            ScalarType::F16 => Element::F16,
            ScalarType::BF16 => Element::BF16,
            ScalarType::F32 => Element::F32,
            other => return Err(DriverError::Refused(format!("products of {other:?} elements"))),
        };
        let (row_stride, batch_stride) = (operand.row_stride, operand.batch_stride);
        let address = operand.buffer + operand.offset;
        Ok(Matrix { address, element, row_stride, batch_stride, transposed: operand.transposed })
    };
    let MatrixProduct { rows, columns, inner, batches, alpha, beta, .. } = *product;
    let (left, right, result) = (matrix(&product.left)?, matrix(&product.right)?, matrix(&product.result)?);
    Ok(Product { left, right, result, rows, columns, inner, batches, alpha, beta })
}
