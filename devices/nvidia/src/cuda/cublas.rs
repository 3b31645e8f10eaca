//! Products of matrices by cuBLAS.
//!
//! Owns [`Products`]: what the library has for each stream, made at the stream's first product, with some 32
//! MiB of the card. When the stream goes, the next one that needs a handle gets it. None is given back to the
//! library, which would wait for all work of the card, a kernel that never ends included. Concurrency: a
//! stream's handle is behind a lock of its own, so that streams do not wait for each other.

use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, PoisonError};

use crate::cublas::product::{Element, Matrix, Product};
use crate::cublas::{Cublas, CublasError, Handle};
use anymetal_hal::matrix_product::{MatrixOperand, MatrixProduct};

use crate::driver::DriverError;

/// Never dropped: see the module's documentation.
type Kept = ManuallyDrop<Handle>;

/// A card's handles: by stream, and those of streams that are gone.
#[derive(Debug, Default)]
pub(super) struct Products {
    handles: Mutex<BTreeMap<u64, Arc<Mutex<Option<Kept>>>>>,
    idle: Mutex<Vec<Kept>>,
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
            None => slot.insert(self.handle(stream)?),
        };
        // SAFETY: the device checked the ranges of all three matrices against live memory, which stays until
        // the stream has ended, and that the result overlaps no factor.
        unsafe { handle.multiply(&product) }.map_err(error_of)
    }

    /// A handle for a stream that has none.
    fn handle(&self, stream: u64) -> Result<Kept, DriverError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let Some(mut handle) = idle else {
            // SAFETY: the card's context is current, and the stream is of it. Before the stream goes,
            // `forget` sees to it that the handle is not used with it any more.
            let made = unsafe { Handle::new(library()?, stream) };
            return made.map(ManuallyDrop::new).map_err(error_of);
        };
        // SAFETY: as above; what is idle was in a stream without work.
        unsafe { handle.set_stream(stream) }.map_err(error_of)?;
        Ok(handle)
    }

    /// A stream goes; its handle is used again only if the stream has no work.
    pub(super) fn forget(&self, stream: u64, has_work: bool) {
        let slot = self.handles.lock().unwrap_or_else(PoisonError::into_inner).remove(&stream);
        let handle = slot.and_then(|slot| slot.lock().unwrap_or_else(PoisonError::into_inner).take());
        if !has_work {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).extend(handle);
        }
    }
}

fn addressed(product: &MatrixProduct<u64>) -> Result<Product, DriverError> {
    let matrix = |operand: &MatrixOperand<u64>| {
        let refused = || DriverError::Refused(format!("products of {} elements", operand.element));
        let element = Element::of(operand.element).ok_or_else(refused)?;
        let (row_stride, batch_stride) = (operand.row_stride, operand.batch_stride);
        let address = operand.buffer + operand.offset;
        Ok(Matrix { address, element, row_stride, batch_stride, transposed: operand.transposed })
    };
    let MatrixProduct { rows, columns, inner, batches, alpha, beta, .. } = *product;
    let (left, right, result) = (matrix(&product.left)?, matrix(&product.right)?, matrix(&product.result)?);
    Ok(Product { left, right, result, rows, columns, inner, batches, alpha, beta })
}
