//! Buffers: private ones in the card, others in managed memory, or in the host's where a card lacks that.
//!
//! Owns [`NvidiaBuffer`]. Invariant: its bytes are touched by the host through raw pointers or under a
//! mapping only; `uses` lists the work that uses it.

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anymetal_hal::buffer::{Buffer, BufferDescriptor, BufferMapping, StorageMode};
use anymetal_hal::buffer_uses::{BufferUses, CopyGuard, MapMode};
use anymetal_hal::error::DeviceError;
use anymetal_hal::validate::{check_range, range_length};

use crate::device::DeviceShared;
use crate::driver::{Allocation, Place};

/// Memory that is freed with its last handle.
pub(crate) struct Block {
    allocation: Allocation,
    length: u64,
    device: Arc<DeviceShared>,
}

// SAFETY: the memory is the driver's until `free`, and all access to it goes through raw pointers whose users
// answer for races.
unsafe impl Send for Block {}
// SAFETY: as above; no method reads or writes the bytes through `&self`.
unsafe impl Sync for Block {}

impl Block {
    pub(crate) fn new(
        length: u64,
        mode: StorageMode,
        device: &Arc<DeviceShared>,
    ) -> Result<Self, DeviceError> {
        let limit = device.capabilities.max_buffer_bytes;
        if length > limit {
            return Err(DeviceError::BufferTooLarge { requested: length, limit });
        }
        let place = match mode {
            StorageMode::Private => Place::Device,
            _ if device.driver.card().concurrent_managed_access => Place::Managed,
            _ => Place::Host,
        };
        let driver = &device.driver;
        let allocation = driver.allocate(length, place).map_err(|error| error.of(&device.name, length))?;
        let block = Block { allocation, length, device: Arc::clone(device) };
        device.allocated.fetch_add(length, Ordering::Relaxed);
        match allocation.host {
            // SAFETY: `length` bytes were allocated there, and nobody else has them yet.
            Some(host) => unsafe { host.as_ptr().write_bytes(0, length as usize) },
            None => {
                let zeroed =
                    driver.fill(allocation.address, 0, length, 0).and_then(|()| driver.synchronise(0));
                zeroed.map_err(|error| error.of(&device.name, length))?;
            }
        }
        Ok(block)
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.device.driver.free(self.allocation);
        self.device.allocated.fetch_sub(self.length, Ordering::Relaxed);
    }
}

/// Gives a range of a heap back.
pub(crate) trait Release: Send + Sync {
    fn release(&self, start: u64, bytes: u64);
}

/// A buffer, alone or in a heap.
pub(crate) struct NvidiaBuffer {
    block: Arc<Block>,
    start: u64,
    length: u64,
    storage_mode: StorageMode,
    label: String,
    heap: Option<Arc<dyn Release>>,
    uses: BufferUses,
}

impl NvidiaBuffer {
    pub(crate) fn new(
        descriptor: &BufferDescriptor,
        device: &Arc<DeviceShared>,
    ) -> Result<Self, DeviceError> {
        let block = Block::new(descriptor.length, descriptor.storage_mode, device)?;
        Ok(Self::within(Arc::new(block), 0, descriptor, None))
    }

    pub(crate) fn within(
        block: Arc<Block>,
        start: u64,
        descriptor: &BufferDescriptor,
        heap: Option<Arc<dyn Release>>,
    ) -> Self {
        NvidiaBuffer {
            block,
            start,
            length: descriptor.length,
            storage_mode: descriptor.storage_mode,
            label: descriptor.label.clone(),
            heap,
            uses: BufferUses::default(),
        }
    }

    /// The first byte, for kernels.
    pub(crate) fn address(&self) -> u64 {
        self.block.allocation.address + self.start
    }

    pub(crate) fn belongs_to(&self, device: &Arc<DeviceShared>) -> bool {
        Arc::ptr_eq(&self.block.device, device)
    }

    /// The first byte, for the host.
    fn host(&self) -> Result<NonNull<u8>, DeviceError> {
        let unsupported = || DeviceError::Unsupported {
            device: self.block.device.name.clone(),
            what: "host access to a private buffer".to_owned(),
            alternative: "copy it to a shared buffer with a command".to_owned(),
        };
        let host = self.block.allocation.host.filter(|_| self.storage_mode != StorageMode::Private);
        // SAFETY: the buffer's range lies in the block.
        host.map(|host| unsafe { host.add(self.start as usize) }).ok_or_else(unsupported)
    }

    fn begin_copy(&self, mode: MapMode) -> Result<CopyGuard<'_>, DeviceError> {
        self.uses.begin_copy(mode).map_err(|conflict| conflict.error(&self.label))
    }
}

impl Buffer for NvidiaBuffer {
    fn length(&self) -> u64 {
        self.length
    }

    fn storage_mode(&self) -> StorageMode {
        self.storage_mode
    }

    fn label(&self) -> &str {
        &self.label
    }

    fn contents(&self) -> Option<NonNull<u8>> {
        self.host().ok()
    }

    fn read(&self, offset: u64, destination: &mut [u8]) -> Result<(), DeviceError> {
        let host = self.host()?;
        check_range(offset, destination.len() as u64, self.length)?;
        let _copy = self.begin_copy(MapMode::Read)?;
        // SAFETY: the range was checked; the caller's slice is its own. Work that writes these bytes at the
        // same time is the program's race, as with `contents`.
        unsafe {
            host.add(offset as usize)
                .copy_to_nonoverlapping(NonNull::new_unchecked(destination.as_mut_ptr()), destination.len());
        }
        Ok(())
    }

    fn write(&self, offset: u64, source: &[u8]) -> Result<(), DeviceError> {
        let host = self.host()?;
        check_range(offset, source.len() as u64, self.length)?;
        let _copy = self.begin_copy(MapMode::Write)?;
        // SAFETY: as in `read`.
        unsafe {
            std::ptr::copy_nonoverlapping(source.as_ptr(), host.add(offset as usize).as_ptr(), source.len())
        };
        Ok(())
    }

    fn map(self: Arc<Self>, range: Range<u64>, mode: MapMode) -> Result<Box<dyn BufferMapping>, DeviceError> {
        let host = self.host()?;
        let length = range_length(&range, self.length)?;
        self.uses.begin_mapping(mode).map_err(|conflict| conflict.error(&self.label))?;
        // SAFETY: the range was checked.
        let start = unsafe { host.add(range.start as usize) };
        Ok(Box::new(NvidiaMapping { buffer: self, start, length: length as usize, mode }))
    }

    fn uses(&self) -> &BufferUses {
        &self.uses
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for NvidiaBuffer {
    fn drop(&mut self) {
        if let Some(heap) = &self.heap {
            heap.release(self.start, self.length);
        }
    }
}

impl fmt::Debug for NvidiaBuffer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (label, length) = (&self.label, self.length);
        formatter.debug_struct("NvidiaBuffer").field("label", label).field("length", &length).finish()
    }
}

/// A host view of a buffer that no work uses meanwhile.
struct NvidiaMapping {
    buffer: Arc<NvidiaBuffer>,
    start: NonNull<u8>,
    length: usize,
    mode: MapMode,
}

// SAFETY: the bytes are the buffer's, which the mapping holds; access is by the rules of `bytes`.
unsafe impl Send for NvidiaMapping {}
// SAFETY: as above.
unsafe impl Sync for NvidiaMapping {}

impl BufferMapping for NvidiaMapping {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the range is within the buffer; while a mapping exists no work and no other writer has
        // access, as `BufferUses` makes sure.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        if self.mode != MapMode::Write {
            return None;
        }
        // SAFETY: as in `bytes`; a mapping for writing is the only access, and it is borrowed exclusively.
        Some(unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) })
    }
}

impl Drop for NvidiaMapping {
    fn drop(&mut self) {
        self.buffer.uses.end_mapping(self.mode);
    }
}

impl fmt::Debug for NvidiaMapping {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("NvidiaMapping").field("buffer", &self.buffer).finish_non_exhaustive()
    }
}
