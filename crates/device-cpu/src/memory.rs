//! Buffers of the CPU device: host memory that kernels use directly.
//!
//! Owns [`CpuBuffer`], with memory of its own or a range of a heap's. Invariant: its bytes are only ever touched through raw pointers (host copies here,
//! generated code elsewhere), or through slices under the exclusive side of the device's [`MemoryGate`].
//! `uses` lists the completions of submitted work that uses the buffer, for `wait_unused`.

use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use anymetal_hal::buffer::{Buffer, BufferDescriptor, PendingUses, StorageMode};
use anymetal_hal::capabilities::Capabilities;
use anymetal_hal::completion::Completion;
use anymetal_hal::error::DeviceError;
use anymetal_hal::host_pages::HostPages;
use anymetal_hal::validate::check_range;

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
    uses: PendingUses,
}

/// Where a buffer's bytes are.
enum Memory {
    Own(AlignedMemory),
    InHeap(Range),
    Imported(ImportedPages),
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
        }
    }

    fn length(&self) -> u64 {
        match self {
            Memory::Own(memory) => memory.len() as u64,
            Memory::InHeap(range) => range.length(),
            Memory::Imported(imported) => imported.length,
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
        let descriptor = BufferDescriptor { label: label.to_owned(), ..BufferDescriptor::shared(length) };
        let memory = Memory::Imported(ImportedPages { _pages: pages, start, length });
        Self::with_memory(&descriptor, memory, account)
    }

    fn with_memory(descriptor: &BufferDescriptor, memory: Memory, account: &Arc<MemoryAccount>) -> Self {
        CpuBuffer {
            memory,
            storage_mode: descriptor.storage_mode,
            label: descriptor.label.clone(),
            account: Arc::clone(account),
            uses: PendingUses::default(),
        }
    }

    /// The first byte, for the device's own use.
    pub(crate) fn start(&self) -> *mut u8 {
        self.memory.start().as_ptr()
    }

    /// Whether it belongs to the device with that account.
    pub(crate) fn belongs_to(&self, account: &Arc<MemoryAccount>) -> bool {
        Arc::ptr_eq(&self.account, account)
    }

    /// Notes submitted work that uses the buffer.
    pub(crate) fn note_use(&self, completion: &Completion) {
        self.uses.note(completion);
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

    fn read(&self, offset: u64, destination: &mut [u8]) -> Result<(), DeviceError> {
        self.host_access()?;
        check_range(offset, destination.len() as u64, self.length())?;
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
        let _gate = self.account.gate.shared();
        // SAFETY: the range is within the buffer (checked above); no slice into the buffer exists while the
        // gate is shared, so `source` does not overlap it.
        unsafe {
            let destination = self.start().add(offset as usize);
            std::ptr::copy_nonoverlapping(source.as_ptr(), destination, source.len());
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
