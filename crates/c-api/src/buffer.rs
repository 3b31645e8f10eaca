//! Buffers: memory of the device, or the caller's own.

use std::ffi::c_void;
use std::ptr::NonNull;

use anymetal::{Buffer, LentMemory};

use crate::device::DeviceHandle;
use crate::status::{Failure, Status, give, object, release, run};

/// `anymetal_buffer`.
#[derive(Debug)]
pub struct BufferHandle {
    pub(crate) buffer: Buffer<u8>,
}

/// `anymetal_buffer_make`.
///
/// # Safety
///
/// `device` is NULL or a device that was not given back, `buffer` a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anymetal_buffer_make(
    device: *const DeviceHandle,
    bytes: usize,
    buffer: *mut *mut BufferHandle,
) -> Status {
    run(|| {
        // SAFETY: the caller's promise.
        let device = unsafe { object(device, "device") }?;
        let made = BufferHandle { buffer: device.device.buffer_zeroed::<u8>(bytes)? };
        // SAFETY: the caller's promise.
        unsafe { give(buffer, made) }
    })
}

/// `anymetal_buffer_borrow`.
///
/// # Safety
///
/// `device` is NULL or a device that was not given back, `buffer` a place for the result. `memory`
/// has `bytes` bytes, which are used as the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anymetal_buffer_borrow(
    device: *const DeviceHandle,
    memory: *mut c_void,
    bytes: usize,
    buffer: *mut *mut BufferHandle,
) -> Status {
    run(|| {
        // SAFETY: the caller's promise.
        let device = unsafe { object(device, "device") }?;
        let start = NonNull::new(memory.cast::<u8>()).ok_or_else(|| Failure::caller("the memory is NULL"))?;
        // SAFETY: the header has the caller promise what a loan needs: valid until the buffer is
        // released and its work has ended, not used by the host meanwhile, no overlapping loans in
        // one launch.
        let lent = unsafe { LentMemory::new(start, bytes, Box::new(())) };
        let made = BufferHandle { buffer: device.device.borrow_host(lent, "")? };
        // SAFETY: the caller's promise.
        unsafe { give(buffer, made) }
    })
}

/// `anymetal_buffer_length`; 0 for NULL.
///
/// # Safety
///
/// `buffer` is NULL or a buffer that was not given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anymetal_buffer_length(buffer: *const BufferHandle) -> usize {
    // SAFETY: the caller's promise.
    unsafe { buffer.as_ref() }.map_or(0, |buffer| buffer.buffer.len())
}

/// `anymetal_buffer_read`.
///
/// # Safety
///
/// `buffer` is NULL or a buffer that was not given back; `count` bytes may be written at `bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anymetal_buffer_read(
    buffer: *const BufferHandle,
    offset: usize,
    bytes: *mut c_void,
    count: usize,
) -> Status {
    run(|| {
        // SAFETY: the caller's promise.
        let buffer = unsafe { object(buffer, "buffer") }?;
        if bytes.is_null() {
            return Err(Failure::caller("the place for the bytes is NULL"));
        }
        // The place may be uninitialised, so bytes are read into memory of ours first.
        let mut copy = vec![0u8; count];
        buffer.buffer.read_into(offset, &mut copy)?;
        // SAFETY: the caller's promise; the copy is not the caller's memory.
        unsafe { std::ptr::copy_nonoverlapping(copy.as_ptr(), bytes.cast::<u8>(), count) };
        Ok(())
    })
}

/// `anymetal_buffer_write`.
///
/// # Safety
///
/// `buffer` is NULL or a buffer that was not given back; there are `count` bytes at `bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anymetal_buffer_write(
    buffer: *const BufferHandle,
    offset: usize,
    bytes: *const c_void,
    count: usize,
) -> Status {
    run(|| {
        // SAFETY: the caller's promise.
        let buffer = unsafe { object(buffer, "buffer") }?;
        if bytes.is_null() {
            return Err(Failure::caller("the bytes are NULL"));
        }
        // SAFETY: the caller's promise.
        let bytes = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), count) };
        Ok(buffer.buffer.write_at(offset, bytes)?)
    })
}

/// `anymetal_buffer_release`.
///
/// # Safety
///
/// `buffer` is NULL or a buffer that was not given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anymetal_buffer_release(buffer: *mut BufferHandle) {
    // SAFETY: the caller's promise.
    unsafe { release(buffer) }
}
