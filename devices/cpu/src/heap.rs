//! Heaps of the CPU device: one block of host memory from which buffers are cut.
//!
//! Owns [`CpuHeap`] and [`Range`], a buffer's hold on its part. Invariant: ranges of live buffers do not
//! overlap (`anymetal_hal::heap::RangeAllocator`), and the block lives as long as any of them.

use std::any::Any;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anymetal_hal::buffer::{Buffer, BufferDescriptor, StorageMode};
use anymetal_hal::capabilities::Capabilities;
use anymetal_hal::error::DeviceError;
use anymetal_hal::heap::{Heap, HeapDescriptor, RangeAllocator};

use crate::aligned::AlignedMemory;
use crate::memory::{CpuBuffer, MemoryAccount, Reachable};

/// A block of memory from which buffers are cut.
pub(crate) struct CpuHeap {
    block: Arc<Block>,
}

/// What a heap and its buffers share.
struct Block {
    memory: AlignedMemory,
    ranges: Mutex<RangeAllocator>,
    storage_mode: StorageMode,
    label: String,
    /// As [`HeapDescriptor::whole`].
    is_whole: bool,
    account: Arc<MemoryAccount>,
}

/// A buffer's part of a heap; gives it back when dropped.
pub(crate) struct Range {
    block: Arc<Block>,
    offset: u64,
    length: u64,
}

impl CpuHeap {
    pub(crate) fn new(
        descriptor: &HeapDescriptor,
        account: &Arc<MemoryAccount>,
        limits: &Capabilities,
    ) -> Result<Self, DeviceError> {
        let memory = account.allocate(descriptor.length, limits)?;
        let block = Block {
            memory,
            ranges: Mutex::new(RangeAllocator::new(descriptor.length)),
            storage_mode: descriptor.storage_mode,
            label: descriptor.label.clone(),
            is_whole: descriptor.whole,
            account: Arc::clone(account),
        };
        Ok(CpuHeap { block: Arc::new(block) })
    }
}

impl Block {
    fn ranges(&self) -> MutexGuard<'_, RangeAllocator> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.account.allocated.fetch_sub(self.memory.len() as u64, Ordering::Relaxed);
    }
}

impl Range {
    /// The first byte.
    pub(crate) fn start(&self) -> std::ptr::NonNull<u8> {
        let start = self.block.memory.start().as_ptr().wrapping_add(self.offset as usize);
        // The block's address is not null, and the offset is within it.
        std::ptr::NonNull::new(start).unwrap_or(self.block.memory.start())
    }

    /// How many bytes.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// All of the heap, if kernels may access it.
    pub(crate) fn whole(&self) -> Option<Reachable> {
        let Block { memory, is_whole, .. } = &*self.block;
        let whole = || Reachable { start: memory.start(), length: memory.len() as u64, offset: self.offset };
        is_whole.then(whole)
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        self.block.ranges().release(self.offset, self.length);
    }
}

impl Heap for CpuHeap {
    fn buffer(&self, descriptor: &BufferDescriptor) -> Result<Arc<dyn Buffer>, DeviceError> {
        if descriptor.storage_mode != self.block.storage_mode {
            let (heap, buffer) = (self.block.storage_mode, descriptor.storage_mode);
            return Err(DeviceError::HeapStorageMode { heap, buffer });
        }
        let offset = self.block.ranges().allocate(descriptor.length)?;
        let range = Range { block: Arc::clone(&self.block), offset, length: descriptor.length };
        {
            let _gate = self.block.account.gate.shared();
            // SAFETY: the range was just handed out, so it lies within the block and nobody else uses it; no
            // slice into buffer contents exists while the gate is shared.
            unsafe { std::ptr::write_bytes(range.start().as_ptr(), 0, descriptor.length as usize) };
        }
        Ok(Arc::new(CpuBuffer::in_heap(descriptor, range, &self.block.account)))
    }

    fn length(&self) -> u64 {
        self.block.memory.len() as u64
    }

    fn used_bytes(&self) -> u64 {
        self.block.ranges().used()
    }

    fn largest_free_bytes(&self) -> u64 {
        self.block.ranges().largest_free()
    }

    fn label(&self) -> &str {
        &self.block.label
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl fmt::Debug for CpuHeap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (label, length, used) = (self.label(), self.length(), self.used_bytes());
        formatter
            .debug_struct("CpuHeap")
            .field("label", &label)
            .field("length", &length)
            .field("used", &used)
            .finish()
    }
}
