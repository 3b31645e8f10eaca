//! Memory of the null device: ordinary bytes, so that every buffer keeps what the host wrote.

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::NullShared;
use anymetal_hal::buffer::{Buffer, BufferDescriptor, BufferMapping, StorageMode};
use anymetal_hal::buffer_uses::{BufferUses, CopyGuard, MapMode};
use anymetal_hal::error::DeviceError;
use anymetal_hal::heap::{Heap, HeapDescriptor, RangeAllocator};
use anymetal_hal::host_pages::HostPages;
use anymetal_hal::validate;

/// A buffer that has memory only once the host looks.
pub(super) struct NullBuffer {
    pub(super) shared: Arc<NullShared>,
    descriptor: BufferDescriptor,
    bytes: OnceLock<Box<[AtomicU8]>>,
    pub(super) uses: BufferUses,
    origin: NullOrigin,
}

/// Where a buffer's bytes are counted.
pub(super) enum NullOrigin {
    /// As the device's own memory.
    Own,
    /// In a heap, at an offset.
    InHeap(Arc<HeapBlock>, u64),
    /// Nowhere: they are a copy of the host's.
    Imported,
}

impl NullBuffer {
    pub(super) fn new(shared: &Arc<NullShared>, descriptor: &BufferDescriptor, origin: NullOrigin) -> Self {
        let (shared, descriptor) = (Arc::clone(shared), descriptor.clone());
        NullBuffer { shared, descriptor, bytes: OnceLock::new(), uses: BufferUses::default(), origin }
    }

    /// A shared buffer with a copy of the host's memory, which the null device does not map.
    pub(super) fn imported(
        shared: &Arc<NullShared>,
        pages: &HostPages,
        label: &str,
    ) -> Result<Self, DeviceError> {
        let mut bytes = vec![0; pages.length() as usize];
        pages.read(0, &mut bytes)?;
        let descriptor = BufferDescriptor::shared(0).label(label.to_owned());
        let descriptor = descriptor.length(pages.length());
        let imported = Self::new(shared, &descriptor, NullOrigin::Imported);
        let _first = imported.bytes.set(bytes.into_iter().map(AtomicU8::new).collect());
        Ok(imported)
    }

    fn bytes(&self) -> &[AtomicU8] {
        self.bytes.get_or_init(|| (0..self.descriptor.length).map(|_| AtomicU8::new(0)).collect())
    }

    fn begin_copy(&self, mode: MapMode) -> Result<CopyGuard<'_>, DeviceError> {
        self.uses.begin_copy(mode).map_err(|conflict| conflict.error(&self.descriptor.label))
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

    fn device_address(&self) -> Option<u64> {
        self.contents().map(|contents| contents.as_ptr() as u64)
    }

    fn read(&self, offset: u64, destination: &mut [u8]) -> Result<(), DeviceError> {
        let source = self.range(offset, destination.len())?;
        let _copy = self.begin_copy(MapMode::Read)?;
        for (to, from) in destination.iter_mut().zip(source) {
            *to = from.load(Ordering::Relaxed);
        }
        Ok(())
    }

    fn write(&self, offset: u64, source: &[u8]) -> Result<(), DeviceError> {
        let destination = self.range(offset, source.len())?;
        let _copy = self.begin_copy(MapMode::Write)?;
        for (to, from) in destination.iter().zip(source) {
            to.store(*from, Ordering::Relaxed);
        }
        Ok(())
    }

    fn map(self: Arc<Self>, range: Range<u64>, mode: MapMode) -> Result<Box<dyn BufferMapping>, DeviceError> {
        let length = validate::range_length(&range, self.descriptor.length)?;
        let bytes = self.range(range.start, length as usize)?;
        self.uses.begin_mapping(mode).map_err(|conflict| conflict.error(&self.descriptor.label))?;
        let mut words = vec![0u128; bytes.len().div_ceil(size_of::<u128>())];
        for (to, from) in bytemuck::cast_slice_mut(&mut words).iter_mut().zip(bytes) {
            *to = from.load(Ordering::Relaxed);
        }
        Ok(Box::new(NullMapping { buffer: self, range, mode, words }))
    }

    fn uses(&self) -> &BufferUses {
        &self.uses
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for NullBuffer {
    fn drop(&mut self) {
        let length = self.descriptor.length;
        match &self.origin {
            NullOrigin::InHeap(block, offset) => block.ranges().release(*offset, length),
            NullOrigin::Imported => {}
            NullOrigin::Own => drop(self.shared.allocated.fetch_sub(length, Ordering::Relaxed)),
        }
    }
}

impl fmt::Debug for NullBuffer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("NullBuffer").field("length", &self.descriptor.length).finish_non_exhaustive()
    }
}

/// A copy of the mapped bytes, written back when a mapping for writing ends; in words, so that it is aligned.
struct NullMapping {
    buffer: Arc<NullBuffer>,
    range: Range<u64>,
    mode: MapMode,
    words: Vec<u128>,
}

impl NullMapping {
    fn length(&self) -> usize {
        (self.range.end - self.range.start) as usize
    }
}

impl BufferMapping for NullMapping {
    fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.length()]
    }

    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        let length = self.length();
        (self.mode == MapMode::Write).then(|| &mut bytemuck::cast_slice_mut(&mut self.words)[..length])
    }
}

impl Drop for NullMapping {
    fn drop(&mut self) {
        if self.mode == MapMode::Write {
            let mapped = &self.buffer.bytes()[self.range.start as usize..self.range.end as usize];
            mapped.iter().zip(self.bytes()).for_each(|(to, from)| to.store(*from, Ordering::Relaxed));
        }
        self.buffer.uses.end_mapping(self.mode);
    }
}

impl fmt::Debug for NullMapping {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (range, mode) = (&self.range, self.mode);
        formatter
            .debug_struct("NullMapping")
            .field("range", range)
            .field("mode", &mode)
            .finish_non_exhaustive()
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
        Ok(Arc::new(NullBuffer::new(
            &self.0.shared,
            descriptor,
            NullOrigin::InHeap(Arc::clone(&self.0), offset),
        )))
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
