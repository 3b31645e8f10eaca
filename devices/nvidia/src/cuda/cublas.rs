//! Products of matrices by cuBLAS.
//!
//! Owns [`Products`]: what the library has for each stream, made at the stream's first product, with some
//! 32 MiB of the card. They are the card's and not a device's: they live as long as the process, as the
//! card's context does, and devices that are opened later use them. When a stream goes, the next one that
//! needs a handle gets it, once the work of the first has ended. None is returned to the library, which
//! would wait for all work of the card, a kernel that never ends included. Concurrency: a stream's handle
//! has its own lock, so that streams do not wait for each other.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::handles::Handles;
use crate::cublas::product::{Element, Matrix, Product};
use crate::cublas::{Cublas, CublasError, Handle};
use anymetal_hal::caches::{self, CacheLimit, CacheOwner, CacheUsage};
use anymetal_hal::matrix_product::{MatrixOperand, MatrixProduct};

use crate::driver::DriverError;

/// Never dropped: see the module's documentation.
type Kept = ManuallyDrop<Handle>;

/// About what the library allocates on the card for a handle.
const HANDLE_BYTES: u64 = 32 << 20;

/// The handles of one card.
#[derive(Debug)]
pub(super) struct Products {
    /// The device's name.
    card: String,
    handles: Mutex<Handles<Kept>>,
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

impl CacheOwner for Products {
    fn usage(&self, into: &mut Vec<CacheUsage>) {
        let entries = self.lock().len() as u64;
        let usage = CacheUsage::new("cuBLAS handles", self.card.clone(), CacheLimit::Bytes(u64::MAX));
        into.push(usage.entries(entries).bytes(entries * HANDLE_BYTES));
    }

    /// The library would wait for all work of the card.
    fn trim(&self) {}
}

impl Products {
    /// Those of the card of that number.
    pub(super) fn of_card(number: c_int) -> Arc<Self> {
        static CARDS: Mutex<BTreeMap<c_int, Arc<Products>>> = Mutex::new(BTreeMap::new());
        let mut cards = CARDS.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || {
            let card = format!("nvidia:{number}");
            let products = Arc::new(Products { card, handles: Mutex::new(Handles::new()) });
            let owner: Arc<dyn CacheOwner> = Arc::<Products>::clone(&products);
            caches::register(Arc::downgrade(&owner));
            products
        };
        Arc::clone(cards.entry(number).or_insert_with(new))
    }

    fn lock(&self) -> MutexGuard<'_, Handles<Kept>> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a product into a stream. The card's context is current. `destroy_idle` destroys a stream if it
    /// has no work, and returns whether it did.
    pub(super) fn put(
        &self,
        product: &MatrixProduct<u64>,
        stream: u64,
        destroy_idle: impl Fn(u64) -> bool,
    ) -> Result<(), DriverError> {
        let product = addressed(product)?;
        let slot = self.lock().slot(stream);
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = match &mut *slot {
            Some(handle) => handle,
            None => slot.insert(self.handle(stream, destroy_idle)?),
        };
        // SAFETY: the device checked the ranges of all three matrices against live memory, which stays until
        // the stream has ended, and that the result overlaps no factor.
        unsafe { handle.multiply(&product) }.map_err(error_of)
    }

    /// A handle for a stream that has none.
    fn handle(&self, stream: u64, destroy_idle: impl Fn(u64) -> bool) -> Result<Kept, DriverError> {
        let idle = self.lock().take_idle(destroy_idle);
        let Some(mut handle) = idle else {
            // SAFETY: the card's context is current, and the stream is of it. It is destroyed only after
            // `retire`, which takes the handle from it.
            let made = unsafe { Handle::new(library()?, stream) };
            return made.map(ManuallyDrop::new).map_err(error_of);
        };
        // SAFETY: as above; the work of an idle handle's last stream has ended.
        match unsafe { handle.set_stream(stream) } {
            Ok(()) => Ok(handle),
            Err(error) => {
                self.lock().put_back(handle);
                Err(error_of(error))
            }
        }
    }

    /// Ends the use of a stream. False if the caller has to destroy it; otherwise `destroy_idle` does so, now
    /// or once its work has ended.
    pub(super) fn retire(&self, stream: u64, destroy_idle: impl Fn(u64) -> bool) -> bool {
        let mut handles = self.lock();
        let is_retired = handles.retire(stream);
        handles.sweep(destroy_idle);
        is_retired
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
