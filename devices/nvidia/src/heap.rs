//! Heaps: one block from which buffers are cut.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anymetal_hal::buffer::{Buffer, BufferDescriptor, StorageMode};
use anymetal_hal::error::DeviceError;
use anymetal_hal::heap::{Heap, HeapDescriptor, RangeAllocator};

use crate::device_shared::DeviceShared;
use crate::driver::MemoryPlacement;
use crate::memory::{Block, NvidiaBuffer, Release};

/// A heap's handle.
pub(crate) struct NvidiaHeap {
    block: Arc<Block>,
    ranges: Arc<Ranges>,
    storage_mode: StorageMode,
    label: String,
    device: Arc<DeviceShared>,
}

struct Ranges(Mutex<RangeAllocator>);

impl Ranges {
    fn lock(&self) -> MutexGuard<'_, RangeAllocator> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Release for Ranges {
    fn release(&self, start: u64, bytes: u64) {
        self.lock().release(start, bytes);
    }
}

impl NvidiaHeap {
    pub(crate) fn new(descriptor: &HeapDescriptor, device: &Arc<DeviceShared>) -> Result<Self, DeviceError> {
        let block = Block::new(descriptor.length, MemoryPlacement::Device, device)?;
        Ok(NvidiaHeap {
            ranges: Arc::new(Ranges(Mutex::new(RangeAllocator::new(block.length())))),
            block: Arc::new(block),
            storage_mode: descriptor.storage_mode,
            label: descriptor.label.clone(),
            device: Arc::clone(device),
        })
    }
}

impl Heap for NvidiaHeap {
    fn buffer(&self, descriptor: &BufferDescriptor) -> Result<Arc<dyn Buffer>, DeviceError> {
        if descriptor.storage_mode != self.storage_mode {
            let (heap, buffer) = (self.storage_mode, descriptor.storage_mode);
            return Err(DeviceError::Unsupported {
                device: self.device.name.clone(),
                what: format!("a {buffer:?} buffer in a {heap:?} heap"),
                alternative: "give both the same storage mode".to_owned(),
            });
        }
        let start = self.ranges.lock().allocate(descriptor.length)?;
        let release: Arc<dyn Release> = Arc::<Ranges>::clone(&self.ranges);
        let buffer = NvidiaBuffer::within(Arc::clone(&self.block), descriptor, Some((release, start)));
        // What was there before is not to be seen; nobody else has the range.
        let driver = &self.device.driver;
        let zeroed =
            driver.fill(buffer.address(), 0, descriptor.length, 0).and_then(|()| driver.synchronise(0));
        zeroed.map_err(|error| error.of(&self.device.name, descriptor.length))?;
        Ok(Arc::new(buffer))
    }

    fn length(&self) -> u64 {
        self.block.length()
    }

    fn used_bytes(&self) -> u64 {
        self.ranges.lock().used()
    }

    fn largest_free_bytes(&self) -> u64 {
        self.ranges.lock().largest_free()
    }

    fn label(&self) -> &str {
        &self.label
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl fmt::Debug for NvidiaHeap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("NvidiaHeap").field("label", &self.label).finish_non_exhaustive()
    }
}
