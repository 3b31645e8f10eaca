//! Buffers of the CPU device: host memory that kernels use directly.
//!
//! Owns [`CpuBuffer`], with memory of its own or a range of a heap's. Invariant: its bytes are only ever
//! touched through raw pointers (host copies here, generated code elsewhere), or through slices under the
//! exclusive side of the device's [`MemoryGate`]. `uses` lists the work that uses the buffer, and keeps work
//! and host copies from mapped bytes.

use std::any::Any;
use std::fmt;
use std::ops::Range as ByteRange;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use anymetal_hal::buffer::{Buffer, BufferDescriptor, BufferMapping, StorageMode};
use anymetal_hal::buffer_uses::{BufferUses, CopyGuard, MapMode};
use anymetal_hal::capabilities::Capabilities;
use anymetal_hal::completion::Completion;
use anymetal_hal::device::LentMemory;
use anymetal_hal::error::DeviceError;
use anymetal_hal::host_pages::HostPages;
use anymetal_hal::validate::{check_range, range_length};

use crate::aligned::AlignedMemory;
use crate::guarded::Guard;
use crate::heap::Range;

/// Who may touch buffer contents how. Machine code and host copies use raw pointers and share the gate; the
/// interpreter works on Rust slices and takes it alone.
#[derive(Debug, Default)]
pub(crate) struct MemoryGate(RwLock<()>);

impl MemoryGate {
    /// For access through raw pointers.
    pub(crate) fn shared(&self) -> RwLockReadGuard<'_, ()> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether access through raw pointers could begin now without waiting for an interpreted dispatch.
    pub(crate) fn is_free_to_share(&self) -> bool {
        self.0.try_read().is_ok()
    }

    /// For access through slices.
    pub(crate) fn exclusive(&self) -> RwLockWriteGuard<'_, ()> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What all buffers of a device share.
#[derive(Debug, Default)]
pub(crate) struct MemoryAccount {
    /// Who may touch contents.
    pub(crate) gate: MemoryGate,
    /// Bytes of live buffers.
    pub(crate) allocated: AtomicU64,
    /// On which side of its memory an inaccessible page lies directly.
    pub(crate) guard: Option<Guard>,
}

impl MemoryAccount {
    /// Of a device with that guard.
    pub(crate) fn guarded(guard: Option<Guard>) -> Self {
        MemoryAccount { guard, ..MemoryAccount::default() }
    }

    /// Zeroed memory, counted as allocated; its owner takes it off the count when it goes.
    pub(crate) fn allocate(
        &self,
        requested: u64,
        limits: &Capabilities,
    ) -> Result<AlignedMemory, DeviceError> {
        if requested > limits.max_buffer_bytes {
            return Err(DeviceError::BufferTooLarge { requested, limit: limits.max_buffer_bytes });
        }
        let memory =
            usize::try_from(requested).ok().and_then(|bytes| AlignedMemory::zeroed_beside(bytes, self.guard));
        let memory = memory.ok_or(DeviceError::OutOfMemory { requested })?;
        self.allocated.fetch_add(requested, Ordering::Relaxed);
        Ok(memory)
    }
}

/// A buffer in host memory.
pub(crate) struct CpuBuffer {
    memory: Memory,
    storage_mode: StorageMode,
    label: String,
    account: Arc<MemoryAccount>,
    uses: BufferUses,
}

/// Where a buffer's bytes are.
enum Memory {
    Own(AlignedMemory),
    InHeap(Range),
    Imported(ImportedPages),
    Lent(LentMemory),
}

/// The memory that kernels may access through a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reachable {
    /// The first byte.
    pub(crate) start: NonNull<u8>,
    /// How many bytes.
    pub(crate) length: u64,
    /// Where the buffer begins in it.
    pub(crate) offset: u64,
}

/// The host's memory, taken over.
struct ImportedPages {
    /// Held for its memory alone: nothing but `start` leads to the bytes.
    _pages: HostPages,
    start: NonNull<u8>,
    length: u64,
}

// SAFETY: the pages are owned by this value alone, as `HostPages` says, which is `Send`; all access to their
// bytes goes through raw pointers whose users answer for races, as with `AlignedMemory`.
unsafe impl Send for ImportedPages {}
// SAFETY: as above; no method reads or writes the bytes through `&self`.
unsafe impl Sync for ImportedPages {}

impl Memory {
    fn start(&self) -> NonNull<u8> {
        match self {
            Memory::Own(memory) => memory.start(),
            Memory::InHeap(range) => range.start(),
            Memory::Imported(imported) => imported.start,
            Memory::Lent(lent) => lent.start(),
        }
    }

    fn length(&self) -> u64 {
        match self {
            Memory::Own(memory) => memory.len() as u64,
            Memory::InHeap(range) => range.length(),
            Memory::Imported(imported) => imported.length,
            Memory::Lent(lent) => lent.length(),
        }
    }
}

impl CpuBuffer {
    pub(crate) fn new(
        descriptor: &BufferDescriptor,
        account: &Arc<MemoryAccount>,
        limits: &Capabilities,
    ) -> Result<Self, DeviceError> {
        let memory = account.allocate(descriptor.length, limits)?;
        Ok(Self::with_memory(descriptor, Memory::Own(memory), account))
    }

    /// A buffer in a heap, which counts the bytes as allocated itself.
    pub(crate) fn in_heap(descriptor: &BufferDescriptor, range: Range, account: &Arc<MemoryAccount>) -> Self {
        Self::with_memory(descriptor, Memory::InHeap(range), account)
    }

    /// A buffer in memory that the host had.
    pub(crate) fn imported(mut pages: HostPages, label: &str, account: &Arc<MemoryAccount>) -> Self {
        let (start, length) = (pages.start(), pages.length());
        let descriptor = BufferDescriptor::shared(length).label(label.to_owned());
        let memory = Memory::Imported(ImportedPages { _pages: pages, start, length });
        Self::with_memory(&descriptor, memory, account)
    }

    /// A buffer in memory that the host keeps.
    pub(crate) fn lent(memory: LentMemory, label: &str, account: &Arc<MemoryAccount>) -> Self {
        let descriptor = BufferDescriptor::shared(0).label(label.to_owned());
        Self::with_memory(&descriptor, Memory::Lent(memory), account)
    }

    fn with_memory(descriptor: &BufferDescriptor, memory: Memory, account: &Arc<MemoryAccount>) -> Self {
        CpuBuffer {
            memory,
            storage_mode: descriptor.storage_mode,
            label: descriptor.label.clone(),
            account: Arc::clone(account),
            uses: BufferUses::default(),
        }
    }

    /// The first byte, for the device's own use.
    pub(crate) fn start(&self) -> *mut u8 {
        self.memory.start().as_ptr()
    }

    /// The memory that kernels may access through it: the buffer, or the heap that it is in.
    pub(crate) fn reachable(&self) -> Reachable {
        self.whole_heap().unwrap_or(Reachable {
            start: self.memory.start(),
            length: self.memory.length(),
            offset: 0,
        })
    }

    /// The heap that it is in, if kernels may access all of it.
    fn whole_heap(&self) -> Option<Reachable> {
        match &self.memory {
            Memory::InHeap(range) => range.whole(),
            Memory::Own(_) | Memory::Imported(_) | Memory::Lent(_) => None,
        }
    }

    /// Whether it belongs to the device with that account.
    pub(crate) fn belongs_to(&self, account: &Arc<MemoryAccount>) -> bool {
        Arc::ptr_eq(&self.account, account)
    }

    /// Notes submitted work that uses the buffer; refused while it is mapped.
    pub(crate) fn note_use(&self, completion: &Completion) -> Result<(), DeviceError> {
        self.uses.note_submitted(completion).map_err(|conflict| conflict.error(&self.label))
    }

    fn begin_copy(&self, mode: MapMode) -> Result<CopyGuard<'_>, DeviceError> {
        self.uses.begin_copy(mode).map_err(|conflict| conflict.error(&self.label))
    }

    fn host_access(&self) -> Result<(), DeviceError> {
        match self.storage_mode {
            StorageMode::Shared | StorageMode::Managed => Ok(()),
            StorageMode::Private => Err(DeviceError::Unsupported {
                device: "cpu".to_owned(),
                what: "host access to a private buffer".to_owned(),
                alternative: "copy it to a shared buffer with a command".to_owned(),
            }),
        }
    }
}

impl Buffer for CpuBuffer {
    fn length(&self) -> u64 {
        self.memory.length()
    }

    fn storage_mode(&self) -> StorageMode {
        self.storage_mode
    }

    fn label(&self) -> &str {
        &self.label
    }

    fn contents(&self) -> Option<NonNull<u8>> {
        self.host_access().is_ok().then(|| self.memory.start())
    }

    fn gpu_address(&self) -> Option<u64> {
        Some(self.start() as u64)
    }

    fn read(&self, offset: u64, destination: &mut [u8]) -> Result<(), DeviceError> {
        self.host_access()?;
        check_range(offset, destination.len() as u64, self.length())?;
        let _copy = self.begin_copy(MapMode::Read)?;
        let _gate = self.account.gate.shared();
        // SAFETY: the range is within the buffer (checked above), `destination` is exclusively ours, and no
        // slice into the buffer exists while the gate is shared.
        unsafe {
            let source = self.start().add(offset as usize);
            std::ptr::copy_nonoverlapping(source, destination.as_mut_ptr(), destination.len());
        }
        Ok(())
    }

    fn write(&self, offset: u64, source: &[u8]) -> Result<(), DeviceError> {
        self.host_access()?;
        check_range(offset, source.len() as u64, self.length())?;
        let _copy = self.begin_copy(MapMode::Write)?;
        let _gate = self.account.gate.shared();
        // SAFETY: the range is within the buffer (checked above); no slice into the buffer exists while the
        // gate is shared, so `source` does not overlap it.
        unsafe {
            let destination = self.start().add(offset as usize);
            std::ptr::copy_nonoverlapping(source.as_ptr(), destination, source.len());
        }
        Ok(())
    }

    fn map(
        self: Arc<Self>,
        range: ByteRange<u64>,
        mode: MapMode,
    ) -> Result<Box<dyn BufferMapping>, DeviceError> {
        self.host_access()?;
        // Work with other buffers of the heap may access its bytes, and notes no use of it.
        if self.whole_heap().is_some() {
            return Err(DeviceError::Unsupported {
                device: "cpu".to_owned(),
                what: "a mapping of a buffer in a heap all of which kernels may access".to_owned(),
                alternative: "read and write it, or make the heap without that".to_owned(),
            });
        }
        let length = range_length(&range, self.length())? as usize;
        self.uses.begin_mapping(mode).map_err(|conflict| conflict.error(&self.label))?;
        Ok(Box::new(CpuMapping { buffer: self, offset: range.start as usize, length, mode }))
    }

    fn uses(&self) -> &BufferUses {
        &self.uses
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The bytes of a buffer as slices. Invariant: while it exists the buffer is mapped in `mode`, so the device
/// is given no work that uses the buffer, none that it was given is running, and host copies that conflict
/// are refused.
struct CpuMapping {
    buffer: Arc<CpuBuffer>,
    offset: usize,
    length: usize,
    mode: MapMode,
}

impl BufferMapping for CpuMapping {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the range is within the buffer, which lives as long as `self` and whose bytes are
        // initialised. By the invariant of the mapping nothing writes them meanwhile: mapped for reading
        // nobody does, mapped for writing only `bytes_mut` does, which borrows `self` exclusively.
        unsafe { std::slice::from_raw_parts(self.buffer.start().add(self.offset), self.length) }
    }

    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        if self.mode == MapMode::Read {
            return None;
        }
        // SAFETY: as in `bytes`; a mapping for writing is the only access to the buffer, and it is borrowed
        // exclusively for as long as the slice lives.
        Some(unsafe { std::slice::from_raw_parts_mut(self.buffer.start().add(self.offset), self.length) })
    }
}

impl Drop for CpuMapping {
    fn drop(&mut self) {
        self.buffer.uses.end_mapping(self.mode);
    }
}

impl fmt::Debug for CpuMapping {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (buffer, mode) = (&self.buffer, self.mode);
        formatter
            .debug_struct("CpuMapping")
            .field("buffer", buffer)
            .field("mode", &mode)
            .finish_non_exhaustive()
    }
}

impl Drop for CpuBuffer {
    fn drop(&mut self) {
        if let Memory::Own(memory) = &self.memory {
            self.account.allocated.fetch_sub(memory.len() as u64, Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for CpuBuffer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (label, length) = (&self.label, self.memory.length());
        formatter.debug_struct("CpuBuffer").field("label", label).field("length", &length).finish()
    }
}
