//! Memory of the null device: ordinary bytes, so that every buffer keeps what the host wrote.

use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use super::NullShared;
use crate::buffer::{Buffer, BufferDescriptor, PendingUses, StorageMode};
use crate::error::DeviceError;
use crate::heap::{Heap, HeapDescriptor, RangeAllocator};
use crate::validate;

/// A buffer that has memory only once the host looks.
pub(super) struct NullBuffer {
    pub(super) shared: Arc<NullShared>,
    descriptor: BufferDescriptor,
    bytes: OnceLock<Box<[AtomicU8]>>,
    pub(super) uses: PendingUses,
    in_heap: Option<(Arc<HeapBlock>, u64)>,
}

impl NullBuffer {
    pub(super) fn new(
        shared: &Arc<NullShared>,
        descriptor: &BufferDescriptor,
        in_heap: Option<(Arc<HeapBlock>, u64)>,
    ) -> Self {
        let (shared, descriptor) = (Arc::clone(shared), descriptor.clone());
        NullBuffer { shared, descriptor, bytes: OnceLock::new(), uses: PendingUses::default(), in_heap }
    }

    fn bytes(&self) -> &[AtomicU8] {
        self.bytes.get_or_init(|| (0..self.descriptor.length).map(|_| AtomicU8::new(0)).collect())
    }

    fn range(&self, offset: u64, length: usize) -> Result<&[AtomicU8], DeviceError> {
        if self.descriptor.storage_mode == StorageMode::Private {
            return Err(DeviceError::Unsupported {
                device: self.shared.name.clone(),
                what: "host access to a private buffer".to_owned(),
                alternative: "copy it to a shared buffer with a command".to_owned(),
            });
        }
        validate::check_range(offset, length as u64, self.descriptor.length)?;
        Ok(&self.bytes()[offset as usize..offset as usize + length])
    }
}

impl Buffer for NullBuffer {
    fn length(&self) -> u64 {
        self.descriptor.length
    }

    fn storage_mode(&self) -> StorageMode {
        self.descriptor.storage_mode
    }

    fn label(&self) -> &str {
        &self.descriptor.label
    }

    fn contents(&self) -> Option<NonNull<u8>> {
        let bytes = self.range(0, self.descriptor.length as usize).ok()?;
        NonNull::new(bytes.as_ptr().cast_mut().cast())
    }

    fn read(&self, offset: u64, destination: &mut [u8]) -> Result<(), DeviceError> {
        let source = self.range(offset, destination.len())?;
        for (to, from) in destination.iter_mut().zip(source) {
            *to = from.load(Ordering::Relaxed);
        }
        Ok(())
    }

    fn write(&self, offset: u64, source: &[u8]) -> Result<(), DeviceError> {
        let destination = self.range(offset, source.len())?;
        for (to, from) in destination.iter().zip(source) {
            to.store(*from, Ordering::Relaxed);
        }
        Ok(())
    }

    fn is_unused(&self) -> bool {
        self.uses.are_done()
    }

    fn wait_unused(&self, timeout: Option<Duration>) -> bool {
        self.uses.wait(timeout)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for NullBuffer {
    fn drop(&mut self) {
        let length = self.descriptor.length;
        match &self.in_heap {
            Some((block, offset)) => block.ranges().release(*offset, length),
            None => drop(self.shared.allocated.fetch_sub(length, Ordering::Relaxed)),
        }
    }
}

impl fmt::Debug for NullBuffer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("NullBuffer").field("length", &self.descriptor.length).finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub(super) struct NullHeap(Arc<HeapBlock>);

impl NullHeap {
    pub(super) fn new(shared: &Arc<NullShared>, descriptor: &HeapDescriptor) -> Self {
        shared.allocated.fetch_add(descriptor.length, Ordering::Relaxed);
        let ranges = Mutex::new(RangeAllocator::new(descriptor.length));
        NullHeap(Arc::new(HeapBlock { shared: Arc::clone(shared), descriptor: descriptor.clone(), ranges }))
    }
}

#[derive(Debug)]
pub(super) struct HeapBlock {
    shared: Arc<NullShared>,
    descriptor: HeapDescriptor,
    ranges: Mutex<RangeAllocator>,
}

impl HeapBlock {
    fn ranges(&self) -> MutexGuard<'_, RangeAllocator> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for HeapBlock {
    fn drop(&mut self) {
        self.shared.allocated.fetch_sub(self.descriptor.length, Ordering::Relaxed);
    }
}

impl Heap for NullHeap {
    fn buffer(&self, descriptor: &BufferDescriptor) -> Result<Arc<dyn Buffer>, DeviceError> {
        let heap = self.0.descriptor.storage_mode;
        if descriptor.storage_mode != heap {
            return Err(DeviceError::HeapStorageMode { heap, buffer: descriptor.storage_mode });
        }
        let offset = self.0.ranges().allocate(descriptor.length)?;
        Ok(Arc::new(NullBuffer::new(&self.0.shared, descriptor, Some((Arc::clone(&self.0), offset)))))
    }

    fn length(&self) -> u64 {
        self.0.descriptor.length
    }

    fn used_bytes(&self) -> u64 {
        self.0.ranges().used()
    }

    fn largest_free_bytes(&self) -> u64 {
        self.0.ranges().largest_free()
    }

    fn label(&self) -> &str {
        &self.0.descriptor.label
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
