//! Buffers: ranges of the memory that host and worker share.
//!
//! Owns [`IsolatedBuffer`]. Invariant: no reference to its bytes exists. A mapping is a copy, because a
//! worker that a kernel has taken over may write at any time.

use std::any::Any;
use std::fmt;
use std::ops::Range as ByteRange;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use anymetal_hal::buffer::{Buffer, BufferDescriptor, BufferMapping, StorageMode};
use anymetal_hal::buffer_uses::{BufferUses, CopyGuard, MapMode};
use anymetal_hal::error::DeviceError;
use anymetal_hal::validate::{check_range, range_length};

use crate::arena::Range;
use crate::device::{DEVICE, DeviceShared};
use crate::heap::HeapRange;
use crate::link::Remote;
use crate::wire::Body;

/// A buffer in shared memory.
pub(crate) struct IsolatedBuffer {
    id: u64,
    memory: Memory,
    storage_mode: StorageMode,
    label: String,
    uses: BufferUses,
    pub(crate) device: Arc<DeviceShared>,
}

enum Memory {
    Own(Range),
    InHeap(HeapRange),
}

impl IsolatedBuffer {
    /// A buffer in a range of the arena.
    pub(crate) fn new(
        device: &Arc<DeviceShared>,
        descriptor: &BufferDescriptor,
    ) -> Result<Self, DeviceError> {
        let memory = Memory::Own(device.allocate(descriptor.length)?);
        Ok(Self::with_memory(device, descriptor, memory))
    }

    /// A buffer in a heap.
    pub(crate) fn in_heap(
        device: &Arc<DeviceShared>,
        descriptor: &BufferDescriptor,
        range: HeapRange,
    ) -> Self {
        Self::with_memory(device, descriptor, Memory::InHeap(range))
    }

    fn with_memory(device: &Arc<DeviceShared>, descriptor: &BufferDescriptor, memory: Memory) -> Self {
        IsolatedBuffer {
            id: device.next_id(),
            memory,
            storage_mode: descriptor.storage_mode,
            label: descriptor.label.clone(),
            uses: BufferUses::default(),
            device: Arc::clone(device),
        }
    }

    /// The memory that it is in, its first byte there, and its length.
    fn place(&self) -> (&Range, u64, u64) {
        match &self.memory {
            Memory::Own(range) => (range, 0, range.length()),
            Memory::InHeap(part) => (part.memory(), part.offset(), part.length()),
        }
    }

    fn begin_copy(&self, mode: MapMode) -> Result<CopyGuard<'_>, DeviceError> {
        self.uses.begin_copy(mode).map_err(|conflict| conflict.error(&self.label))
    }

    fn host_access(&self) -> Result<(), DeviceError> {
        match self.storage_mode {
            StorageMode::Shared | StorageMode::Managed => Ok(()),
            StorageMode::Private => Err(DeviceError::Unsupported {
                device: DEVICE.to_owned(),
                what: "host access to a private buffer".to_owned(),
                alternative: "copy it to a shared buffer with a command".to_owned(),
            }),
        }
    }

    fn copy_out(&self, offset: u64, destination: &mut [u8]) {
        let (memory, start, _) = self.place();
        memory.read(start + offset, destination);
    }

    fn copy_in(&self, offset: u64, source: &[u8]) {
        let (memory, start, _) = self.place();
        memory.write(start + offset, source);
    }
}

impl Remote for IsolatedBuffer {
    fn id(&self) -> u64 {
        self.id
    }

    fn creation(&self, _blob: &mut Vec<u8>) -> Result<Body, DeviceError> {
        let (memory, start, length) = self.place();
        let offset = memory.offset() + start;
        Ok(Body::Buffer { id: self.id, offset, length, label: self.label.clone() })
    }
}

impl Buffer for IsolatedBuffer {
    fn length(&self) -> u64 {
        self.place().2
    }

    fn storage_mode(&self) -> StorageMode {
        self.storage_mode
    }

    fn label(&self) -> &str {
        &self.label
    }

    fn contents(&self) -> Option<NonNull<u8>> {
        let (memory, start, length) = self.place();
        self.host_access().is_ok().then(|| memory.at(start, length))
    }

    fn gpu_address(&self) -> Option<u64> {
        let (memory, start, _) = self.place();
        Some(self.device.worker_base() + memory.offset() + start)
    }

    fn read(&self, offset: u64, destination: &mut [u8]) -> Result<(), DeviceError> {
        self.host_access()?;
        check_range(offset, destination.len() as u64, self.length())?;
        let _copy = self.begin_copy(MapMode::Read)?;
        self.copy_out(offset, destination);
        Ok(())
    }

    fn write(&self, offset: u64, source: &[u8]) -> Result<(), DeviceError> {
        self.host_access()?;
        check_range(offset, source.len() as u64, self.length())?;
        let _copy = self.begin_copy(MapMode::Write)?;
        self.copy_in(offset, source);
        Ok(())
    }

    fn map(
        self: Arc<Self>,
        range: ByteRange<u64>,
        mode: MapMode,
    ) -> Result<Box<dyn BufferMapping>, DeviceError> {
        self.host_access()?;
        let length = range_length(&range, self.length())?;
        self.uses.begin_mapping(mode).map_err(|conflict| conflict.error(&self.label))?;
        let mut bytes = vec![0; length as usize];
        self.copy_out(range.start, &mut bytes);
        Ok(Box::new(MappedCopy { buffer: self, offset: range.start, bytes, mode }))
    }

    fn uses(&self) -> &BufferUses {
        &self.uses
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for IsolatedBuffer {
    fn drop(&mut self) {
        // Before the memory is another buffer's.
        self.device.forget(self.id);
        if let Memory::Own(range) = &self.memory {
            self.device.allocated.fetch_sub(range.length(), Ordering::Relaxed);
        }
    }
}

impl fmt::Debug for IsolatedBuffer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (label, length) = (&self.label, self.length());
        formatter.debug_struct("IsolatedBuffer").field("label", label).field("length", &length).finish()
    }
}

/// A copy of a range of a buffer. If it was made for writing, dropping it copies the bytes back.
struct MappedCopy {
    buffer: Arc<IsolatedBuffer>,
    offset: u64,
    bytes: Vec<u8>,
    mode: MapMode,
}

impl BufferMapping for MappedCopy {
    fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        (self.mode == MapMode::Write).then_some(&mut self.bytes)
    }
}

impl Drop for MappedCopy {
    fn drop(&mut self) {
        if self.mode == MapMode::Write {
            self.buffer.copy_in(self.offset, &self.bytes);
        }
        self.buffer.uses.end_mapping(self.mode);
    }
}

impl fmt::Debug for MappedCopy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (buffer, mode) = (&self.buffer, self.mode);
        formatter
            .debug_struct("MappedCopy")
            .field("buffer", buffer)
            .field("mode", &mode)
            .finish_non_exhaustive()
    }
}
