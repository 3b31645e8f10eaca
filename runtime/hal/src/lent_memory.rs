//! Host memory that a program lends to a device, where it is.
//!
//! Owns [`LentMemory`], the one way for memory that no Rust value of ours owns, such as a NumPy
//! array's, to become a buffer without a copy. Invariant: who makes one promises that the bytes
//! stay valid until its owner is dropped; everything above can pass it on without unsafe code.

use std::any::Any;
use std::fmt;
use std::ptr::NonNull;

/// A range of host memory with what keeps it alive.
pub struct LentMemory {
    start: NonNull<u8>,
    length: usize,
    /// Dropped with the loan.
    _owner: Box<dyn Any + Send + Sync>,
}

impl LentMemory {
    /// `length` bytes from `start` on, which are valid until `owner` is dropped.
    ///
    /// # Safety
    ///
    /// Until `owner` is dropped, the range lies within one allocation, its bytes are initialised
    /// and may be read; they may be written as well if a kernel that writes them is given the
    /// memory. No reference to them exists while a kernel that is given the memory runs. They may
    /// change between kernels. Loans whose bytes overlap are not given to one kernel.
    ///
    /// # Panics
    ///
    /// If the range exceeds the address space. Boundaries to other languages check lengths that they
    /// are given before they make a loan.
    pub unsafe fn new(start: NonNull<u8>, length: usize, owner: Box<dyn Any + Send + Sync>) -> Self {
        let end = start.addr().get().checked_add(length);
        assert!(
            end.is_some() && isize::try_from(length).is_ok(),
            "a loan of {length} bytes from {start:p} on exceeds the address space"
        );
        LentMemory { start, length, _owner: owner }
    }

    /// The first byte.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Bytes.
    pub fn length(&self) -> u64 {
        self.length as u64
    }
}

// SAFETY: the value only carries the address; whoever dereferences it answers for races, as with
// any raw pointer, and the owner is `Send`.
unsafe impl Send for LentMemory {}
// SAFETY: no method reads or writes the bytes, and the owner is `Sync`.
unsafe impl Sync for LentMemory {}

impl fmt::Debug for LentMemory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "LentMemory({} bytes)", self.length)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_owner_lives_as_long_as_the_loan() {
        let owner: Arc<Vec<u8>> = Arc::new(vec![7; 16]);
        let start = NonNull::new(owner.as_ptr().cast_mut()).unwrap();
        // SAFETY: the vector is never resized, and the loan holds it.
        let lent = unsafe { LentMemory::new(start, owner.len(), Box::new(Arc::clone(&owner))) };
        assert_eq!((lent.length(), lent.start(), Arc::strong_count(&owner)), (16, start, 2));
        drop(lent);
        assert_eq!(Arc::strong_count(&owner), 1);
    }

    #[test]
    #[should_panic(expected = "exceeds the address space")]
    fn a_range_that_no_allocation_has_is_a_bug_of_the_lender() {
        // SAFETY: not a range of an allocation, which is what the assertion finds.
        let _lent = unsafe { LentMemory::new(NonNull::dangling(), usize::MAX, Box::new(())) };
    }
}
