//! Copies and fills of buffers.
//!
//! Owns [`BufferCopy`] and [`BufferFill`]. Invariant: their ranges are within their buffers, and those of a
//! copy within one buffer do not overlap. The constructors are the only check, since no field can change.

use std::ops::Range;
use std::sync::Arc;

use crate::buffer::{Buffer, same_buffer};
use crate::error::DeviceError;
use crate::validate::{check_range, range_length};

/// Copies bytes from buffer to buffer.
#[derive(Debug)]
pub struct BufferCopy {
    source: Arc<dyn Buffer>,
    source_offset: u64,
    destination: Arc<dyn Buffer>,
    destination_offset: u64,
    length: u64,
}

impl BufferCopy {
    /// Copies `range` of the source to the destination from `destination_offset` on.
    ///
    /// # Errors
    /// [`DeviceError::RangeOutsideBuffer`], and [`DeviceError::OverlappingCopy`] within one buffer.
    pub fn new(
        source: Arc<dyn Buffer>,
        range: Range<u64>,
        destination: Arc<dyn Buffer>,
        destination_offset: u64,
    ) -> Result<Self, DeviceError> {
        let (source_offset, length) = (range.start, range_length(&range, source.length())?);
        let copy = BufferCopy { source, source_offset, destination, destination_offset, length };
        copy.check_destination()?;
        Ok(copy)
    }

    /// Checks where it writes, and that it does not write what it reads.
    fn check_destination(&self) -> Result<(), DeviceError> {
        let &BufferCopy { source_offset, destination_offset, length: len, .. } = self;
        check_range(destination_offset, len, self.destination.length())?;
        let distance = source_offset.abs_diff(destination_offset);
        if same_buffer(&self.source, &self.destination) && distance < len {
            return Err(DeviceError::OverlappingCopy { source_offset, destination_offset, len });
        }
        Ok(())
    }

    /// The buffer to read.
    pub fn source(&self) -> &Arc<dyn Buffer> {
        &self.source
    }

    /// The first byte to read.
    pub fn source_offset(&self) -> u64 {
        self.source_offset
    }

    /// The buffer to write.
    pub fn destination(&self) -> &Arc<dyn Buffer> {
        &self.destination
    }

    /// The first byte to write.
    pub fn destination_offset(&self) -> u64 {
        self.destination_offset
    }

    /// The number of bytes.
    pub fn length(&self) -> u64 {
        self.length
    }
}

/// Sets bytes of a buffer to one value.
#[derive(Debug)]
pub struct BufferFill {
    buffer: Arc<dyn Buffer>,
    offset: u64,
    length: u64,
    value: u8,
}

impl BufferFill {
    /// Sets the bytes of `range` to `value`.
    ///
    /// # Errors
    /// [`DeviceError::RangeOutsideBuffer`].
    pub fn new(buffer: Arc<dyn Buffer>, range: Range<u64>, value: u8) -> Result<Self, DeviceError> {
        let (offset, length) = (range.start, range_length(&range, buffer.length())?);
        Ok(BufferFill { buffer, offset, length, value })
    }

    /// The buffer.
    pub fn buffer(&self) -> &Arc<dyn Buffer> {
        &self.buffer
    }

    /// The first byte.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The number of bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The value.
    pub fn value(&self) -> u8 {
        self.value
    }
}
