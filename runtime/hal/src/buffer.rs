//! Buffers: memory that kernels read and write.
//!
//! Owns the [`Buffer`] trait and [`BufferMapping`], a host view of one. Invariant: a buffer has its length
//! and address for life, and its memory lives as long as any handle or any submitted work that uses it. Who
//! uses a buffer is in [`crate::buffer_uses`].

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use anymetal_types::setters;

use crate::buffer_uses::{BufferUses, MapMode};
use crate::error::{DeviceError, quoted};
use crate::interruption;

pub use crate::storage_mode::StorageMode;

/// What buffer to make.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct BufferDescriptor {
    /// Its length in bytes; 0 is fine.
    pub length: u64,
    /// Where its memory is.
    pub storage_mode: StorageMode,
    /// A name for messages and listings; may be empty.
    pub label: String,
}

impl BufferDescriptor {
    /// A shared buffer of that many bytes without a label.
    pub fn shared(length: u64) -> Self {
        BufferDescriptor { length, ..BufferDescriptor::default() }
    }
}

setters!(BufferDescriptor { length: u64, storage_mode: StorageMode } into { label: String });

/// A range of device memory.
///
/// *Validation*: ranges are checked here; whether the host may touch the memory too
/// ([`DeviceError::Unsupported`] for private storage). *Blocking*: only [`Buffer::wait_unused`] and
/// [`Buffer::wait_for_work`] wait for work; `read` and `write` copy at once. Bytes that running work writes
/// at the same time are unspecified, never unsafe.
pub trait Buffer: Send + Sync + fmt::Debug {
    /// Its length in bytes.
    fn length(&self) -> u64;

    /// Where its memory is.
    fn storage_mode(&self) -> StorageMode;

    /// Its name; may be empty.
    fn label(&self) -> &str;

    /// The memory as the host sees it, or `None` for private storage. Valid while the buffer lives. Whoever
    /// dereferences it must know that no running work writes there and that the buffer is not mapped.
    fn contents(&self) -> Option<NonNull<u8>>;

    /// The address of the first byte in kernels, Metal's `gpuAddress`: what a pointer to it is in memory.
    /// Constant while the buffer lives. `None` of a device whose kernels cannot follow pointers in memory.
    fn gpu_address(&self) -> Option<u64> {
        None
    }

    /// The device's own address of the first byte, by which encoded commands name buffers. Constant while the
    /// buffer lives. `None` of a device without encoded commands.
    fn device_address(&self) -> Option<u64> {
        self.gpu_address()
    }

    /// Copies bytes out. [`DeviceError::BufferMapped`] while it is mapped for writing.
    fn read(&self, offset: u64, destination: &mut [u8]) -> Result<(), DeviceError>;

    /// Copies bytes in. [`DeviceError::BufferMapped`] while it is mapped.
    fn write(&self, offset: u64, source: &[u8]) -> Result<(), DeviceError>;

    /// Maps a range of bytes for the host, without a copy where the device's memory is the host's. Never
    /// waits for work: [`DeviceError::BufferInUse`] if submitted or held work uses the buffer,
    /// [`DeviceError::BufferMapped`] if another mapping excludes this one. Until the mapping is dropped, work
    /// that uses the buffer is refused when the device is given it. Several mappings for reading may exist at
    /// once, one for writing excludes all others.
    fn map(self: Arc<Self>, range: Range<u64>, mode: MapMode) -> Result<Box<dyn BufferMapping>, DeviceError> {
        let _no_mapping = (range, mode);
        Err(DeviceError::Unsupported {
            device: "the device".to_owned(),
            what: format!("a mapping of the buffer{}", quoted(self.label())),
            alternative: "copy its bytes with `read` and `write`".to_owned(),
        })
    }

    /// The work and host accesses that use it.
    fn uses(&self) -> &BufferUses;

    /// Blocks until no work that was submitted, or held on the host, before this call uses the buffer, or the
    /// time is over; returns which (`true`: unused). `None` waits as long as it takes, so work that waits for
    /// something that only this thread would do blocks it for ever; [`Buffer::wait_for_work`] refuses instead
    /// where that is known.
    fn wait_unused(&self, timeout: Option<Duration>) -> bool {
        self.uses().wait(timeout)
    }

    /// As [`Buffer::wait_unused`], as an error: [`DeviceError::HeldByPause`] at once if work that uses the
    /// buffer is held by a paused queue, [`DeviceError::BufferInUse`] when the time is over. Work that waits
    /// for an event ends by its deadline at the latest. A wait without a timeout can be interrupted
    /// ([`crate::interruption`]).
    fn wait_for_work(&self, timeout: Option<Duration>) -> Result<(), DeviceError> {
        let uses = self.uses();
        let is_unused = match timeout {
            Some(_) => uses.wait_unless_blocked(timeout)?,
            None => interruption::wait(|limit| match uses.wait_unless_blocked(limit) {
                Ok(false) => None,
                ended => Some(ended),
            })??,
        };
        if is_unused { Ok(()) } else { Err(DeviceError::BufferInUse { label: self.label().to_owned() }) }
    }

    /// Whether no submitted and no held work uses the buffer; never blocks. Pools ask before they hand a
    /// buffer out again.
    fn is_unused(&self) -> bool {
        self.uses().are_done()
    }

    /// For the owning device to find its own type again.
    fn as_any(&self) -> &dyn Any;
}

/// A host view of a buffer's bytes, from [`Buffer::map`]; dropping it ends the mapping. It keeps the buffer
/// alive.
pub trait BufferMapping: Send + Sync + fmt::Debug {
    /// The mapped bytes.
    fn bytes(&self) -> &[u8];

    /// The mapped bytes to write; `None` if it was mapped for reading.
    fn bytes_mut(&mut self) -> Option<&mut [u8]>;
}

/// Whether two handles are of one buffer.
pub fn same_buffer(one: &Arc<dyn Buffer>, other: &Arc<dyn Buffer>) -> bool {
    // By address alone: the same object may be seen through two copies of its vtable.
    std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other))
}
