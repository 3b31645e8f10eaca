//! Buffers.
//!
//! Owns [`NvidiaBuffer`]. Kernels reach the card's memory sixty times as fast as the host's, so that is where
//! all buffers are; `read`, `write` and mappings copy. A program that asks a shared buffer for its address
//! ([`Buffer::contents`]) has it moved to locked memory of the host, for good: after the work that uses it.
//! One whose address for kernels was given away ([`Buffer::gpu_address`]) moves no more.
//! Invariant: the host touches bytes through raw pointers or under a mapping only; `uses` lists the work that
//! uses the buffer.

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use anymetal_hal::buffer::{Buffer, BufferDescriptor, BufferMapping, StorageMode};
use anymetal_hal::buffer_uses::{BufferUses, CopyGuard, MapMode};
use anymetal_hal::error::DeviceError;
use anymetal_hal::host_pages::{HostPages, ImportError};
use anymetal_hal::validate::{check_range, range_length};

use crate::device_shared::DeviceShared;
use crate::driver::{Allocation, MemoryPlacement};

/// Memory that is freed with its last handle.
pub(crate) struct Block {
    allocation: Allocation,
    length: u64,
    /// The memory of [`MemoryPlacement::Registered`]; nothing but the allocation's address leads to its
    /// bytes.
    imported: Option<HostPages>,
    device: Arc<DeviceShared>,
}

// SAFETY: the memory is the driver's until `free`, or `imported` owns it, which is `Send`; all access to it
// goes through raw pointers whose users answer for races.
unsafe impl Send for Block {}
// SAFETY: as above; no method reads or writes the bytes through `&self`.
unsafe impl Sync for Block {}

impl Block {
    pub(crate) fn new(
        length: u64,
        place: MemoryPlacement,
        device: &Arc<DeviceShared>,
    ) -> Result<Self, DeviceError> {
        let limit = device.capabilities.max_buffer_bytes;
        if length > limit {
            return Err(DeviceError::BufferTooLarge { requested: length, limit });
        }
        let driver = &device.driver;
        let allocation = driver.allocate(length, place).map_err(|error| error.of(&device.name, length))?;
        let block = Block { allocation, length, imported: None, device: Arc::clone(device) };
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

    /// Memory that the host had, locked where it is. It does not count as allocated.
    pub(crate) fn imported(
        mut pages: HostPages,
        device: &Arc<DeviceShared>,
    ) -> Result<Self, Box<ImportError>> {
        let length = pages.length();
        let limit = device.capabilities.max_buffer_bytes;
        // The driver locks at least a byte.
        let registered = match length {
            0 => Err(DeviceError::Unsupported {
                device: device.name.clone(),
                what: "import of no bytes".to_owned(),
                alternative: "make an empty buffer".to_owned(),
            }),
            _ if length > limit => Err(DeviceError::BufferTooLarge { requested: length, limit }),
            _ => {
                device.driver.register(pages.start(), length).map_err(|error| error.of(&device.name, length))
            }
        };
        match registered {
            Ok(allocation) => {
                Ok(Block { allocation, length, imported: Some(pages), device: Arc::clone(device) })
            }
            Err(error) => Err(Box::new(ImportError::new(pages, error))),
        }
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // A kernel that did not stop may still use it, and the driver would wait for that.
        if self.device.is_lost() {
            // And so must the host's memory stay.
            std::mem::forget(self.imported.take());
        } else {
            self.device.driver.free(self.allocation);
        }
        if self.allocation.place != MemoryPlacement::Registered {
            self.device.allocated.fetch_sub(self.length, Ordering::Relaxed);
        }
    }
}

/// Gives a range of a heap back.
pub(crate) trait Release: Send + Sync {
    fn release(&self, start: u64, bytes: u64);
}

/// A buffer, alone or in a heap.
pub(crate) struct NvidiaBuffer {
    device: Arc<DeviceShared>,
    home: RwLock<Home>,
    /// Set under the lock of `home`.
    is_addressed: AtomicBool,
    length: u64,
    storage_mode: StorageMode,
    label: String,
    heap: Option<HeapRange>,
    uses: BufferUses,
}

/// A buffer's range of a heap.
struct HeapRange {
    ranges: Arc<dyn Release>,
    start: u64,
}

/// Where a buffer's bytes are.
struct Home {
    block: Arc<Block>,
    start: u64,
}

impl Home {
    fn address(&self) -> u64 {
        self.block.allocation.address + self.start
    }

    /// The first byte for the host, if it is there.
    fn host(&self) -> Option<NonNull<u8>> {
        // SAFETY: the buffer's range lies in the block.
        self.block.allocation.host.map(|host| unsafe { host.add(self.start as usize) })
    }
}

/// A buffer that stays where it is; see [`NvidiaBuffer::hold`].
pub(crate) struct BufferGuard<'a> {
    home: RwLockReadGuard<'a, Home>,
    _copy: CopyGuard<'a>,
}

impl BufferGuard<'_> {
    /// The first byte, for cards.
    pub(crate) fn address(&self) -> u64 {
        self.home.address()
    }

    /// Whether it is in the host's memory.
    pub(crate) fn is_in_host(&self) -> bool {
        self.home.host().is_some()
    }
}

impl NvidiaBuffer {
    pub(crate) fn new(
        descriptor: &BufferDescriptor,
        device: &Arc<DeviceShared>,
    ) -> Result<Self, DeviceError> {
        let block = Block::new(descriptor.length, MemoryPlacement::Device, device)?;
        Ok(Self::within(Arc::new(block), descriptor, None))
    }

    /// A buffer in memory that the host had.
    pub(crate) fn imported(
        pages: HostPages,
        label: &str,
        device: &Arc<DeviceShared>,
    ) -> Result<Self, Box<ImportError>> {
        let block = Block::imported(pages, device)?;
        let length = block.length();
        let descriptor = BufferDescriptor::shared(length).label(label.to_owned());
        Ok(Self::within(Arc::new(block), &descriptor, None))
    }

    /// A buffer of a block: all of it, or a range of a heap.
    pub(crate) fn within(
        block: Arc<Block>,
        descriptor: &BufferDescriptor,
        heap: Option<(Arc<dyn Release>, u64)>,
    ) -> Self {
        let start = heap.as_ref().map_or(0, |(_, start)| *start);
        NvidiaBuffer {
            device: Arc::clone(&block.device),
            home: RwLock::new(Home { block, start }),
            is_addressed: AtomicBool::new(false),
            length: descriptor.length,
            storage_mode: descriptor.storage_mode,
            label: descriptor.label.clone(),
            heap: heap.map(|(ranges, start)| HeapRange { ranges, start }),
            uses: BufferUses::default(),
        }
    }

    /// A buffer as the device's own.
    pub(crate) fn of<'a>(
        buffer: &'a Arc<dyn Buffer>,
        device: &Arc<DeviceShared>,
    ) -> Result<&'a Self, DeviceError> {
        let found = buffer.as_any().downcast_ref::<NvidiaBuffer>();
        found.filter(|buffer| buffer.belongs_to(device)).ok_or_else(|| device.wrong_device("buffer"))
    }

    fn home(&self) -> RwLockReadGuard<'_, Home> {
        self.home.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first byte, for kernels.
    pub(crate) fn address(&self) -> u64 {
        self.home().address()
    }

    pub(crate) fn belongs_to(&self, device: &Arc<DeviceShared>) -> bool {
        Arc::ptr_eq(&self.device, device)
    }

    /// Waits for submitted work that uses the buffer, then keeps the bytes where they are and excludes
    /// mappings, for a copy that a card makes.
    pub(crate) fn hold(&self, mode: MapMode) -> Result<BufferGuard<'_>, DeviceError> {
        self.uses.wait_submitted();
        let copy = self.begin_copy(mode)?;
        Ok(BufferGuard { home: self.home(), _copy: copy })
    }

    fn host_access(&self) -> Result<(), DeviceError> {
        match self.storage_mode {
            StorageMode::Shared | StorageMode::Managed => Ok(()),
            StorageMode::Private => Err(DeviceError::Unsupported {
                device: self.device.name.clone(),
                what: "host access to a private buffer".to_owned(),
                alternative: "copy it to a shared buffer with a command".to_owned(),
            }),
        }
    }

    fn begin_copy(&self, mode: MapMode) -> Result<CopyGuard<'_>, DeviceError> {
        self.uses.begin_copy(mode).map_err(|conflict| conflict.error(&self.label))
    }

    /// Moves the bytes to the host's memory, if they are not there, and gives the address.
    fn move_to_host(&self) -> Result<NonNull<u8>, DeviceError> {
        if let Some(host) = self.home().host() {
            return Ok(host);
        }
        let stays = || DeviceError::Unsupported {
            device: self.device.name.clone(),
            what: format!("an address for the host of buffer `{}`, whose gpuAddress is in use", self.label),
            alternative: "ask for the contents before the gpuAddress, or copy with `read` and `write`"
                .to_owned(),
        };
        if self.is_addressed.load(Ordering::Acquire) {
            return Err(stays());
        }
        let block = Block::new(self.length, MemoryPlacement::Host, &self.device)?;
        // Work that was encoded with the old address must have ended. It is not waited for under the lock,
        // which a queue needs to encode it.
        let mut home = loop {
            self.uses.wait_submitted();
            let home = self.home.write().unwrap_or_else(PoisonError::into_inner);
            if home.host().is_some() || self.uses.are_done() {
                break home;
            }
        };
        if let Some(host) = home.host() {
            return Ok(host);
        }
        if self.is_addressed.load(Ordering::Acquire) {
            return Err(stays());
        }
        let driver = &self.device.driver;
        let moved = driver
            .copy(block.allocation.address, home.address(), self.length, 0)
            .and_then(|()| driver.synchronise(0));
        moved.map_err(|error| error.of(&self.device.name, self.length))?;
        *home = Home { block: Arc::new(block), start: 0 };
        home.host().ok_or_else(|| self.device.wrong_device("buffer"))
    }

    /// Copies bytes of a checked range to the host.
    fn download(&self, offset: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        let home = self.home();
        match home.host() {
            // SAFETY: the range was checked; the slice is the caller's own. Work that writes these bytes at
            // the same time is the program's race, as with `contents`.
            Some(host) => unsafe {
                std::ptr::copy_nonoverlapping(
                    host.add(offset as usize).as_ptr(),
                    bytes.as_mut_ptr(),
                    bytes.len(),
                );
            },
            None if bytes.is_empty() => {}
            None => {
                let driver = &self.device.driver;
                let copied = driver.download(bytes, home.address() + offset, 0);
                copied.map_err(|error| error.of(&self.device.name, 0))?;
            }
        }
        Ok(())
    }

    /// Writes a time while nothing is in the stream that uses the buffer.
    pub(crate) fn write_time(&self, offset: u64, now_ns: u64) -> Result<(), DeviceError> {
        self.upload(offset, &now_ns.to_ne_bytes())
    }

    /// Copies bytes of the host into a checked range.
    fn upload(&self, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        let home = self.home();
        match home.host() {
            // SAFETY: as in `download`.
            Some(host) => unsafe {
                std::ptr::copy_nonoverlapping(
                    bytes.as_ptr(),
                    host.add(offset as usize).as_ptr(),
                    bytes.len(),
                );
            },
            None if bytes.is_empty() => {}
            None => {
                let driver = &self.device.driver;
                let copied =
                    driver.upload(home.address() + offset, bytes, 0).and_then(|()| driver.synchronise(0));
                copied.map_err(|error| error.of(&self.device.name, 0))?;
            }
        }
        Ok(())
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

    fn gpu_address(&self) -> Option<u64> {
        // Under the lock, which moving the bytes needs alone.
        let home = self.home();
        self.is_addressed.store(true, Ordering::Release);
        Some(home.address())
    }

    fn device_address(&self) -> Option<u64> {
        Some(self.address())
    }

    fn contents(&self) -> Option<NonNull<u8>> {
        self.host_access().and_then(|()| self.move_to_host()).ok()
    }

    fn read(&self, offset: u64, destination: &mut [u8]) -> Result<(), DeviceError> {
        self.host_access()?;
        check_range(offset, destination.len() as u64, self.length)?;
        let _copy = self.begin_copy(MapMode::Read)?;
        self.download(offset, destination)
    }

    fn write(&self, offset: u64, source: &[u8]) -> Result<(), DeviceError> {
        self.host_access()?;
        check_range(offset, source.len() as u64, self.length)?;
        let _copy = self.begin_copy(MapMode::Write)?;
        self.upload(offset, source)
    }

    fn map(self: Arc<Self>, range: Range<u64>, mode: MapMode) -> Result<Box<dyn BufferMapping>, DeviceError> {
        self.host_access()?;
        let length = range_length(&range, self.length)?;
        self.uses.begin_mapping(mode).map_err(|conflict| conflict.error(&self.label))?;
        let mut mapping =
            NvidiaMapping { buffer: self, offset: range.start, bytes: vec![0; length as usize], mode };
        let NvidiaMapping { buffer, offset, bytes, .. } = &mut mapping;
        buffer.download(*offset, bytes)?;
        Ok(Box::new(mapping))
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
        if let Some(HeapRange { ranges, start }) = &self.heap {
            ranges.release(*start, self.length);
        }
    }
}

impl fmt::Debug for NvidiaBuffer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (label, length) = (&self.label, self.length);
        formatter.debug_struct("NvidiaBuffer").field("label", label).field("length", &length).finish()
    }
}

/// A copy for the host of a part of a buffer that no work uses meanwhile; written back when it goes.
struct NvidiaMapping {
    buffer: Arc<NvidiaBuffer>,
    offset: u64,
    bytes: Vec<u8>,
    mode: MapMode,
}

impl BufferMapping for NvidiaMapping {
    fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        (self.mode == MapMode::Write).then_some(&mut *self.bytes)
    }
}

impl Drop for NvidiaMapping {
    fn drop(&mut self) {
        if self.mode == MapMode::Write {
            // A device that is lost tells whoever uses the buffer next.
            let _ = self.buffer.upload(self.offset, &self.bytes);
        }
        self.buffer.uses.end_mapping(self.mode);
    }
}

impl fmt::Debug for NvidiaMapping {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("NvidiaMapping").field("buffer", &self.buffer).finish_non_exhaustive()
    }
}
