//! Buffers: memory of the device, or the caller's own.

use anymetal::{Buffer, Error};

use crate::device::DeviceHandle;
use crate::given::{Bytes, Memory, Place};
use crate::handles::{Handle, handled};
use crate::status::{Failure, Status, run};

/// `anymetal_buffer`.
#[derive(Debug)]
pub(crate) struct BufferHandle {
    pub(crate) buffer: Buffer<u8>,
}

handled!(BufferHandle, 5);

impl BufferHandle {
    /// A range outside of the buffer is refused here, before memory of C is read or memory is reserved.
    fn check_range(&self, offset: usize, count: usize) -> Result<(), Failure> {
        let (len, end) = (self.buffer.len(), offset.checked_add(count));
        if end.is_some_and(|end| end <= len) {
            return Ok(());
        }
        Err(Error::RangeOutsideBuffer { start: offset, end: end.unwrap_or(usize::MAX), len }.into())
    }

    fn read(&self, offset: usize, count: usize) -> Result<Vec<u8>, Failure> {
        // The caller's memory may be uninitialised, or the buffer's own, so bytes are read into
        // memory of this library first.
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(count).map_err(|error| Failure::exhausted(error.to_string()))?;
        bytes.resize(count, 0);
        self.buffer.read_into(offset, &mut bytes)?;
        Ok(bytes)
    }
}

/// `anymetal_buffer_make`.
///
/// # Safety
///
/// `buffer` is NULL or a place for the result.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn anymetal_buffer_make(
    device: Handle<DeviceHandle>,
    bytes: usize,
    buffer: Place<Handle<BufferHandle>>,
) -> Status {
    run(|| {
        let device = device.object("device")?;
        // SAFETY: the caller's promise.
        let place = unsafe { buffer.required() }?;
        place.write(Handle::of(BufferHandle { buffer: device.device.buffer_zeroed::<u8>(bytes)? })?);
        Ok(())
    })
}

/// `anymetal_buffer_borrow`.
///
/// # Safety
///
/// `buffer` is NULL or a place for the result. `memory` has `bytes` bytes, which are used as the header
/// says.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn anymetal_buffer_borrow(
    device: Handle<DeviceHandle>,
    memory: Memory,
    bytes: usize,
    buffer: Place<Handle<BufferHandle>>,
) -> Status {
    run(|| {
        let device = device.object("device")?;
        // SAFETY: the caller's promise.
        let place = unsafe { buffer.required() }?;
        // SAFETY: the header has the caller promise what a loan needs: valid until the buffer is
        // released and its work has ended, not used by the host meanwhile, no overlapping loans in
        // one launch.
        let lent = unsafe { memory.lent(bytes, "bytes of memory") }?;
        place.write(Handle::of(BufferHandle { buffer: device.device.borrow_host(lent, "")? })?);
        Ok(())
    })
}

/// `anymetal_buffer_length`; 0 for whatever is not a live buffer.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn anymetal_buffer_length(buffer: Handle<BufferHandle>) -> usize {
    buffer.if_live().map_or(0, |buffer| buffer.buffer.len())
}

/// `anymetal_buffer_address`.
///
/// # Safety
///
/// `address` is NULL or a place for the result.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn anymetal_buffer_address(
    buffer: Handle<BufferHandle>,
    address: Place<u64>,
) -> Status {
    run(|| {
        let buffer = buffer.object("buffer")?;
        // SAFETY: the caller's promise.
        let place = unsafe { address.required() }?;
        place.write(buffer.buffer.gpu_address()?);
        Ok(())
    })
}

/// `anymetal_buffer_read`.
///
/// # Safety
///
/// `count` bytes may be written at `bytes`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn anymetal_buffer_read(
    buffer: Handle<BufferHandle>,
    offset: usize,
    bytes: Memory,
    count: usize,
) -> Status {
    run(|| {
        let buffer = buffer.object("buffer")?;
        buffer.check_range(offset, count)?;
        // SAFETY: the caller's promise.
        unsafe { bytes.fill(count, "bytes", || buffer.read(offset, count)) }
    })
}

/// `anymetal_buffer_write`.
///
/// # Safety
///
/// There are `count` bytes at `bytes`.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn anymetal_buffer_write(
    buffer: Handle<BufferHandle>,
    offset: usize,
    bytes: Bytes,
    count: usize,
) -> Status {
    run(|| {
        let buffer = buffer.object("buffer")?;
        buffer.check_range(offset, count)?;
        // SAFETY: the caller's promise.
        let bytes = unsafe { bytes.slice(count, usize::MAX, "bytes") }?;
        Ok(buffer.buffer.write_at(offset, bytes)?)
    })
}

/// `anymetal_buffer_release`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn anymetal_buffer_release(buffer: Handle<BufferHandle>) {
    buffer.release();
}
