//! Heaps: a range of the shared memory from which buffers are cut.
//!
//! Kernels access the buffer alone, whether or not [`HeapDescriptor::whole`] permits more.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anymetal_hal::buffer::{Buffer, BufferDescriptor, StorageMode};
use anymetal_hal::error::DeviceError;
use anymetal_hal::heap::{Heap, HeapDescriptor, RangeAllocator};
use anymetal_hal::sync::{Mutex, lock};

use crate::arena::Range;
use crate::device::DeviceShared;
use crate::memory::IsolatedBuffer;

/// A block of memory from which buffers are cut.
pub(crate) struct IsolatedHeap {
    block: Arc<Block>,
}

struct Block {
    memory: Range,
    ranges: Mutex<RangeAllocator>,
    storage_mode: StorageMode,
    label: String,
    device: Arc<DeviceShared>,
}

/// A buffer's part of a heap, freed when dropped.
pub(crate) struct HeapRange {
    block: Arc<Block>,
    offset: u64,
    length: u64,
}

impl HeapRange {
    /// The memory of the heap.
    pub(crate) fn memory(&self) -> &Range {
        &self.block.memory
    }

    /// The first byte in the heap.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// How many bytes.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }
}

impl Drop for HeapRange {
    fn drop(&mut self) {
        lock(&self.block.ranges).release(self.offset, self.length);
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.device.allocated.fetch_sub(self.memory.length(), Ordering::Relaxed);
    }
}

impl IsolatedHeap {
    /// A heap; all its memory is taken at once.
    pub(crate) fn new(device: &Arc<DeviceShared>, descriptor: &HeapDescriptor) -> Result<Self, DeviceError> {
        let block = Block {
            memory: device.allocate(descriptor.length)?,
            ranges: Mutex::new(RangeAllocator::new(descriptor.length)),
            storage_mode: descriptor.storage_mode,
            label: descriptor.label.clone(),
            device: Arc::clone(device),
        };
        Ok(IsolatedHeap { block: Arc::new(block) })
    }
}

impl Heap for IsolatedHeap {
    fn buffer(&self, descriptor: &BufferDescriptor) -> Result<Arc<dyn Buffer>, DeviceError> {
        let block = &self.block;
        if descriptor.storage_mode != block.storage_mode {
            let (heap, buffer) = (block.storage_mode, descriptor.storage_mode);
            return Err(DeviceError::HeapStorageMode { heap, buffer });
        }
        let offset = lock(&block.ranges).allocate(descriptor.length)?;
        let range = HeapRange { block: Arc::clone(block), offset, length: descriptor.length };
        block.memory.zero(offset, descriptor.length);
        Ok(Arc::new(IsolatedBuffer::in_heap(&block.device, descriptor, range)))
    }

    fn length(&self) -> u64 {
        self.block.memory.length()
    }

    fn used_bytes(&self) -> u64 {
        lock(&self.block.ranges).used()
    }

    fn largest_free_bytes(&self) -> u64 {
        lock(&self.block.ranges).largest_free()
    }

    fn label(&self) -> &str {
        &self.block.label
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl fmt::Debug for IsolatedHeap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (label, length, used) = (self.label(), self.length(), self.used_bytes());
        formatter
            .debug_struct("IsolatedHeap")
            .field("label", &label)
            .field("length", &length)
            .field("used", &used)
            .finish()
    }
}
