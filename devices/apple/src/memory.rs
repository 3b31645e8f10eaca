//! Buffers.
//!
//! Owns [`AppleBuffer`]. Invariant: the host touches bytes through raw pointers or under a mapping only;
//! `uses` lists the work that uses the buffer. Managed buffers are shared ones where host and device share
//! memory; elsewhere both copies are made equal here and at the end of each command buffer.

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
use objc2::rc::{Retained, autoreleasepool};
use objc2::runtime::ProtocolObject;
use objc2_foundation::NSRange;
use objc2_metal::{MTLBuffer, MTLDevice, MTLResource, MTLResourceOptions};

use crate::device::DeviceShared;
use crate::object::{Shared, label_of};
use crate::residency;

/// A buffer of Metal's, alone or in a heap.
pub(crate) struct AppleBuffer {
    device: Arc<DeviceShared>,
    buffer: Shared<dyn MTLBuffer>,
    length: u64,
    storage_mode: StorageMode,
    label: String,
    /// Whether its memory is a heap's, which counts it.
    is_in_heap: bool,
    uses: BufferUses,
}

/// What Metal makes a buffer of that mode with.
pub(crate) fn options_of(mode: StorageMode, device: &DeviceShared) -> MTLResourceOptions {
    match mode {
        StorageMode::Private => MTLResourceOptions::StorageModePrivate,
        StorageMode::Managed if !device.capabilities.unified_memory => MTLResourceOptions::StorageModeManaged,
        StorageMode::Shared | StorageMode::Managed => MTLResourceOptions::StorageModeShared,
    }
}

/// The bytes to ask Metal for: it has no empty buffers.
pub(crate) fn length_of(descriptor: &BufferDescriptor, device: &DeviceShared) -> Result<usize, DeviceError> {
    let (requested, limit) = (descriptor.length, device.capabilities.max_buffer_bytes);
    match usize::try_from(requested) {
        Ok(length) if requested <= limit => Ok(length.max(1)),
        _ => Err(DeviceError::BufferTooLarge { requested, limit }),
    }
}

impl AppleBuffer {
    pub(crate) fn new(
        descriptor: &BufferDescriptor,
        device: &Arc<DeviceShared>,
    ) -> Result<Self, DeviceError> {
        let length = length_of(descriptor, device)?;
        let options = options_of(descriptor.storage_mode, device);
        let made = autoreleasepool(|_| device.device.newBufferWithLength_options(length, options));
        let buffer = made.ok_or(DeviceError::OutOfMemory { requested: descriptor.length })?;
        let buffer = Self::of(buffer, descriptor, device, false)?;
        device.allocated.fetch_add(buffer.length, Ordering::Relaxed);
        if let Some(residency) = buffer.residency() {
            autoreleasepool(|_| residency.add(ProtocolObject::from_ref(&*buffer.buffer.0)));
        }
        Ok(buffer)
    }

    /// The buffer around one of Metal's, all zero.
    pub(crate) fn of(
        buffer: Retained<ProtocolObject<dyn MTLBuffer>>,
        descriptor: &BufferDescriptor,
        device: &Arc<DeviceShared>,
        is_in_heap: bool,
    ) -> Result<Self, DeviceError> {
        let buffer = AppleBuffer {
            device: Arc::clone(device),
            buffer: Shared(buffer),
            length: descriptor.length,
            storage_mode: descriptor.storage_mode,
            label: descriptor.label.clone(),
            is_in_heap,
            uses: BufferUses::default(),
        };
        autoreleasepool(|_| {
            if let Some(label) = label_of(&descriptor.label) {
                buffer.buffer.setLabel(Some(&label));
            }
            buffer.zero()
        })?;
        Ok(buffer)
    }

    /// Metal does not promise what a new buffer holds.
    fn zero(&self) -> Result<(), DeviceError> {
        match self.host() {
            Some(host) => {
                // SAFETY: the buffer has that many bytes, and nobody else has it yet.
                unsafe { host.as_ptr().write_bytes(0, self.length as usize) };
                self.written(0, self.length);
                Ok(())
            }
            None => self.device.fill_now(&self.buffer, self.length),
        }
    }

    /// Metal's buffer.
    pub(crate) fn metal(&self) -> &ProtocolObject<dyn MTLBuffer> {
        &self.buffer
    }

    pub(crate) fn belongs_to(&self, device: &Arc<DeviceShared>) -> bool {
        Arc::ptr_eq(&self.device, device)
    }

    /// Whether host and device each have a copy.
    pub(crate) fn has_two_copies(&self) -> bool {
        self.storage_mode == StorageMode::Managed && !self.device.capabilities.unified_memory
    }

    /// The set that keeps it resident, if it is large enough for that.
    fn residency(&self) -> Option<&residency::Residency> {
        let is_large = self.length >= residency::MIN_BYTES && !self.is_in_heap;
        self.device.residency.as_ref().filter(|_| is_large)
    }

    /// The first byte for the host; none for private storage.
    fn host(&self) -> Option<NonNull<u8>> {
        (self.storage_mode != StorageMode::Private).then(|| self.buffer.contents().cast())
    }

    /// Tells Metal what the host wrote.
    fn written(&self, offset: u64, length: u64) {
        if self.has_two_copies() && length > 0 {
            self.buffer.didModifyRange(NSRange::new(offset as usize, length as usize));
        }
    }

    fn host_access(&self) -> Result<NonNull<u8>, DeviceError> {
        self.host().ok_or_else(|| DeviceError::Unsupported {
            device: self.device.name.clone(),
            what: "host access to a private buffer".to_owned(),
            alternative: "copy it to a shared buffer with a command".to_owned(),
        })
    }

    fn begin_copy(&self, mode: MapMode) -> Result<CopyGuard<'_>, DeviceError> {
        self.uses.begin_copy(mode).map_err(|conflict| conflict.error(&self.label))
    }
}

impl Buffer for AppleBuffer {
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
        // A copy of the host's own would not be what the device sees.
        self.host().filter(|_| !self.has_two_copies())
    }

    fn read(&self, offset: u64, destination: &mut [u8]) -> Result<(), DeviceError> {
        let host = self.host_access()?;
        check_range(offset, destination.len() as u64, self.length)?;
        let _copy = self.begin_copy(MapMode::Read)?;
        // SAFETY: the range was checked; the slice is the caller's own. Work that writes these bytes at the
        // same time is the program's race, as with `contents`.
        unsafe {
            let source = host.add(offset as usize).as_ptr();
            std::ptr::copy_nonoverlapping(source, destination.as_mut_ptr(), destination.len());
        }
        Ok(())
    }

    fn write(&self, offset: u64, source: &[u8]) -> Result<(), DeviceError> {
        let host = self.host_access()?;
        check_range(offset, source.len() as u64, self.length)?;
        let _copy = self.begin_copy(MapMode::Write)?;
        // SAFETY: as in `read`.
        unsafe {
            let destination = host.add(offset as usize).as_ptr();
            std::ptr::copy_nonoverlapping(source.as_ptr(), destination, source.len());
        }
        self.written(offset, source.len() as u64);
        Ok(())
    }

    fn map(self: Arc<Self>, range: Range<u64>, mode: MapMode) -> Result<Box<dyn BufferMapping>, DeviceError> {
        let host = self.host_access()?;
        let length = range_length(&range, self.length)? as usize;
        self.uses.begin_mapping(mode).map_err(|conflict| conflict.error(&self.label))?;
        // SAFETY: the range is within the buffer.
        let start = unsafe { host.add(range.start as usize) };
        Ok(Box::new(AppleMapping { buffer: self, start, offset: range.start, length, mode }))
    }

    fn uses(&self) -> &BufferUses {
        &self.uses
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for AppleBuffer {
    fn drop(&mut self) {
        if self.is_in_heap {
            return;
        }
        self.device.allocated.fetch_sub(self.length, Ordering::Relaxed);
        if let Some(residency) = self.residency() {
            autoreleasepool(|_| residency.remove(ProtocolObject::from_ref(&*self.buffer.0)));
        }
    }
}

impl fmt::Debug for AppleBuffer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (label, length) = (&self.label, self.length);
        formatter.debug_struct("AppleBuffer").field("label", label).field("length", &length).finish()
    }
}

/// The bytes of a buffer as slices. Invariant: while it exists the buffer is mapped in `mode`, so the device
/// is given no work that uses the buffer, none that it was given is running, and host copies that conflict
/// are refused.
struct AppleMapping {
    buffer: Arc<AppleBuffer>,
    start: NonNull<u8>,
    offset: u64,
    length: usize,
    mode: MapMode,
}

// SAFETY: the address is that of the buffer's memory, which lives as long as `buffer`; bytes are changed
// through `&mut self` only.
unsafe impl Send for AppleMapping {}
// SAFETY: as above.
unsafe impl Sync for AppleMapping {}

impl BufferMapping for AppleMapping {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the range is within the buffer, which lives as long as `self` and whose bytes are
        // initialised. By the invariant of the mapping nothing writes them meanwhile but `bytes_mut`, which
        // borrows `self` exclusively.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        if self.mode == MapMode::Read {
            return None;
        }
        // SAFETY: as in `bytes`; a mapping for writing is the only access to the buffer, and it is borrowed
        // exclusively for as long as the slice lives.
        Some(unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) })
    }
}

impl Drop for AppleMapping {
    fn drop(&mut self) {
        if self.mode == MapMode::Write {
            self.buffer.written(self.offset, self.length as u64);
        }
        self.buffer.uses.end_mapping(self.mode);
    }
}

impl fmt::Debug for AppleMapping {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AppleMapping").field("buffer", &self.buffer).finish_non_exhaustive()
    }
}
