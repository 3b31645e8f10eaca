//! How buffers come to their memory.
//!
//! Metal's GPUs check accesses by the page, so programs that stray a little behind a buffer run there.
//! Buffers therefore have whole pages, and end where their last page does, unless the settings want
//! exact bounds (`docs/decisions/0025-page-bounds.md`).

use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};

use anymetal::config::CheckSetting;
use anymetal::memory::{self, HOST_PAGE_BYTES, HostMemory, HostPages, LentMemory, MIN_MEMORY_ALIGNMENT};
use anymetal::{Buffer as Memory, BufferDescriptor};
use block2::{Block, RcBlock};
use objc2::Message;
use objc2::rc::Retained;

use super::buffer::{Buffer, BufferIvars};
use super::device::Device;
use super::label::Label;
use super::resource_options::ResourceOptions;
use super::violation;
use crate::arguments::Bytes;

/// What a program gives to be called when its memory is no longer used: with address and length.
type Deallocator = RcBlock<dyn Fn(*mut c_void, usize)>;

/// Whether buffers and threadgroup memory are checked to the byte. Not by default.
pub(crate) fn is_exact(device: &anymetal::Device) -> bool {
    match device.config().kernels.check {
        CheckSetting::Bounds | CheckSetting::Sanitize => true,
        CheckSetting::Library | CheckSetting::Off => false,
    }
}

/// A buffer of zeros; nothing if there is no memory for it.
pub(crate) fn zeroed(device: &Device, length: usize, options: ResourceOptions) -> Option<Retained<Buffer>> {
    let placed = placement("MTLDevice newBufferWithLength:options:", options);
    let memory = device
        .inner()
        .create_buffer(&BufferDescriptor::zeroed(padded(length, device)).options(placed))
        .ok()?;
    Some(buffer(device, memory, length, options))
}

/// A buffer with a copy of those bytes; nothing if there is no memory for it.
pub(crate) fn filled(
    device: &Device,
    bytes: &Bytes,
    length: usize,
    options: ResourceOptions,
) -> Option<Retained<Buffer>> {
    const METHOD: &str = "MTLDevice newBufferWithBytes:length:options:";
    bytes.require();
    let bytes = bytes.read(length);
    let (placed, padded) = (placement(METHOD, options), padded(length, device));
    let memory = if padded == length {
        device.inner().create_buffer(&BufferDescriptor::new(bytes).options(placed)).ok()?
    } else {
        let memory = device.inner().create_buffer(&BufferDescriptor::zeroed(padded).options(placed)).ok()?;
        memory.write_at(0, bytes).ok()?;
        memory
    };
    Some(buffer(device, memory, length, options))
}

/// A buffer over memory of the program; nothing if the device cannot use it: programs then copy. Apple's
/// Metal wants whole pages; a device in the host's memory takes any range. The deallocator of a buffer is
/// called when it and the work that uses it are gone.
///
/// # Safety
///
/// `bytes` is null or so many bytes that stay until the deallocator is called.
pub(crate) unsafe fn around(
    device: &Device,
    bytes: &Bytes,
    length: usize,
    options: ResourceOptions,
    deallocator: Option<&Block<dyn Fn(*mut c_void, usize)>>,
) -> Option<Retained<Buffer>> {
    const METHOD: &str = "MTLDevice newBufferWithBytesNoCopy:length:options:deallocator:";
    bytes.require();
    if options.storage_mode() > 1 {
        violation(METHOD, "a buffer over a program's memory has shared or managed storage");
    }
    let start = NonNull::new(bytes.at_least(length))?;
    if length == 0 {
        return None;
    }
    // Set once there is a buffer: a device that refuses drops the memory, which is still the program's then.
    let release = Arc::new(Release(OnceLock::new()));
    let program = ProgramMemory { start, length, deallocator: Arc::clone(&release) };
    let memory = if start.addr().get().is_multiple_of(MIN_MEMORY_ALIGNMENT) {
        device.inner().import::<u8>(HostPages::over(Box::new(program))?, "").ok()?
    } else {
        // SAFETY: as promised, the memory remains until the deallocator is called, which its owner does.
        let lent = unsafe { LentMemory::new(start, length, Box::new(program)) };
        device.inner().borrow_host(lent, "").ok()?
    };
    if let Some(deallocator) = deallocator {
        let is_first = release.0.set(deallocator.copy()).is_ok();
        assert!(is_first, "a buffer has one deallocator");
    }
    Some(buffer(device, memory, length, options))
}

fn buffer(device: &Device, memory: Memory<u8>, length: usize, options: ResourceOptions) -> Retained<Buffer> {
    let (device, heap, label) = (device.retain(), None, Label::default());
    let memory = Arc::new(memory);
    crate::foundation::object(BufferIvars { memory, start: 0, length, device, heap, options, label })
}

fn placement(method: &str, options: ResourceOptions) -> memory::ResourceOptions {
    options.placement().unwrap_or_else(|| violation(method, "a buffer cannot be memoryless"))
}

/// The bytes to allocate for a buffer.
fn padded(length: usize, device: &Device) -> usize {
    match is_exact(device.inner()) {
        true => length,
        false => length.checked_next_multiple_of(HOST_PAGE_BYTES).unwrap_or(length),
    }
}

/// The deallocator of a program's memory, once a buffer uses the memory.
struct Release(OnceLock<Deallocator>);

// SAFETY: Metal calls deallocators on any thread, so programs give it blocks that may be called there.
unsafe impl Send for Release {}
// SAFETY: as above; the block is called once, when the memory is dropped.
unsafe impl Sync for Release {}

/// Memory that a program allocated.
struct ProgramMemory {
    start: NonNull<u8>,
    length: usize,
    deallocator: Arc<Release>,
}

// SAFETY: the memory is the buffer's until the deallocator is called.
unsafe impl Send for ProgramMemory {}
// SAFETY: as above; through a shared reference bytes are only read.
unsafe impl Sync for ProgramMemory {}

impl HostMemory for ProgramMemory {
    fn bytes(&self) -> &[u8] {
        // SAFETY: as promised when it was made; the result borrows the only value with the address.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl Drop for ProgramMemory {
    fn drop(&mut self) {
        if let Some(deallocator) = self.deallocator.0.get() {
            deallocator.call((self.start.as_ptr().cast(), self.length));
        }
    }
}
