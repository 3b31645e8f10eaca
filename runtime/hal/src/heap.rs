//! Heaps: one block of device memory from which buffers are cut.
//!
//! Owns the [`Heap`] trait and [`RangeAllocator`], the bookkeeping that every device's heap shares.
//! Invariant: ranges that are handed out never overlap, never leave the heap, and return to it exactly once.
//! A range returns when the last handle of its buffer goes, and submitted work holds handles: so never while
//! the device still uses it.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use anymetal_types::setters;

use crate::buffer::{Buffer, BufferDescriptor, StorageMode};
use crate::error::DeviceError;

/// The alignment of each buffer in a heap: a cache line, and the widest vector.
pub const HEAP_ALIGNMENT: u64 = 64;

/// What heap to make.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct HeapDescriptor {
    /// Its length in bytes.
    pub length: u64,
    /// The storage mode of all its buffers.
    pub storage_mode: StorageMode,
    /// A name for messages; may be empty.
    pub label: String,
    /// Whether kernels may access all of the heap through each of its buffers, as on Metal's GPUs. Such
    /// buffers cannot be mapped, since work with one may access the bytes of another. A device may let
    /// kernels access the buffer alone.
    pub whole: bool,
}

impl HeapDescriptor {
    /// A heap of that many bytes, with the default storage mode and without a label.
    pub fn new(length: u64) -> Self {
        HeapDescriptor { length, ..HeapDescriptor::default() }
    }
}

setters!(HeapDescriptor { storage_mode: StorageMode, whole: bool } into { label: String });

/// A block of device memory from which buffers are cut.
pub trait Heap: Send + Sync + fmt::Debug {
    /// Cuts a buffer, all zero. Its storage mode must be the heap's. [`DeviceError::HeapFull`] if no free
    /// range is long enough.
    fn buffer(&self, descriptor: &BufferDescriptor) -> Result<Arc<dyn Buffer>, DeviceError>;

    /// Its length in bytes.
    fn length(&self) -> u64;

    /// Bytes that live buffers take, padding included.
    fn used_bytes(&self) -> u64;

    /// The longest buffer that can be cut now.
    fn largest_free_bytes(&self) -> u64;

    /// Its name; may be empty.
    fn label(&self) -> &str;

    /// For the owning device to find its own type again.
    fn as_any(&self) -> &dyn Any;
}

/// Which ranges of a heap are free: first fit, neighbours are joined when they come back.
#[derive(Debug)]
pub struct RangeAllocator {
    length: u64,
    free: BTreeMap<u64, u64>,
    used: u64,
}

impl RangeAllocator {
    /// All of it free. A length that is no multiple of [`HEAP_ALIGNMENT`] loses its tail.
    pub fn new(length: u64) -> Self {
        let whole = length - length % HEAP_ALIGNMENT;
        let free = if whole > 0 { BTreeMap::from([(0, whole)]) } else { BTreeMap::new() };
        RangeAllocator { length, free, used: 0 }
    }

    /// Takes a range for so many bytes (at least one unit, so that every buffer has a place of its own);
    /// gives its start.
    pub fn allocate(&mut self, bytes: u64) -> Result<u64, DeviceError> {
        let full = || DeviceError::HeapFull {
            requested: bytes,
            largest_free: self.largest_free(),
            length: self.length,
        };
        let size = padded(bytes).ok_or_else(full)?;
        let found = self.free.iter().find(|(_, free)| **free >= size).map(|(start, free)| (*start, *free));
        let (start, free) = found.ok_or_else(full)?;
        self.free.remove(&start);
        if free > size {
            self.free.insert(start + size, free - size);
        }
        self.used += size;
        Ok(start)
    }

    /// Takes a range back that [`RangeAllocator::allocate`] gave for the same number of bytes.
    pub fn release(&mut self, start: u64, bytes: u64) {
        let size = padded(bytes).unwrap_or(self.length);
        self.used = self.used.saturating_sub(size);
        let (mut start, mut size) = (start, size);
        if let Some((&before, &length)) = self.free.range(..start).next_back()
            && before + length == start
        {
            self.free.remove(&before);
            (start, size) = (before, size + length);
        }
        if let Some(after) = self.free.remove(&(start + size)) {
            size += after;
        }
        self.free.insert(start, size);
    }

    /// Bytes that are handed out, padding included.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// The longest free range.
    pub fn largest_free(&self) -> u64 {
        self.free.values().copied().max().unwrap_or(0)
    }
}

fn padded(bytes: u64) -> Option<u64> {
    bytes.max(1).checked_next_multiple_of(HEAP_ALIGNMENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_never_overlap_and_all_come_back() {
        let mut allocator = RangeAllocator::new(100 * HEAP_ALIGNMENT + 7);
        let mut live: Vec<(u64, u64)> = Vec::new();
        let mut random = 1u64;
        for _ in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let draw = random >> 33;
            if draw.is_multiple_of(3) && !live.is_empty() {
                let (start, bytes) = live.swap_remove(draw as usize / 3 % live.len());
                allocator.release(start, bytes);
                continue;
            }
            let bytes = draw % 1000;
            let Ok(start) = allocator.allocate(bytes) else {
                assert!(allocator.largest_free() < bytes.max(1).next_multiple_of(HEAP_ALIGNMENT));
                continue;
            };
            assert!(start % HEAP_ALIGNMENT == 0 && start + bytes <= 100 * HEAP_ALIGNMENT);
            for &(other, length) in &live {
                assert!(start + bytes.max(1) <= other || other + length.max(1) <= start);
            }
            live.push((start, bytes));
        }
        live.drain(..).for_each(|(start, bytes)| allocator.release(start, bytes));
        assert_eq!((allocator.used(), allocator.largest_free()), (0, 100 * HEAP_ALIGNMENT));
    }

    #[test]
    fn a_full_heap_says_what_is_left() {
        let mut allocator = RangeAllocator::new(256);
        allocator.allocate(100).unwrap();
        let full = DeviceError::HeapFull { requested: 129, largest_free: 128, length: 256 };
        assert_eq!(allocator.allocate(129), Err(full));
        assert!(allocator.allocate(u64::MAX).is_err());
        assert_eq!(allocator.allocate(128), Ok(128));
    }
}
