//! Samples of the device's clock: a command that writes the time to memory.
//!
//! Owns [`TimeSample`] and its rules, which all devices share. A device that takes the command says what
//! its clock shows ([`crate::device::Device::clock_ns`]). Invariant: a sample is
//! eight bytes within its buffer, at a multiple of eight.

use std::sync::Arc;

use crate::buffer::Buffer;
use crate::error::DeviceError;
use crate::validate::check_range;

/// Bytes of a sample: nanoseconds in 64 bits, in the byte order of the host, by the clock that
/// [`crate::completion::Timing`] is in too.
pub const TIME_SAMPLE_BYTES: u64 = 8;

/// Where a device writes what its clock shows.
#[derive(Debug, Clone)]
pub struct TimeSample {
    buffer: Arc<dyn Buffer>,
    offset: u64,
}

impl TimeSample {
    /// A sample at `offset`, a multiple of [`TIME_SAMPLE_BYTES`].
    ///
    /// # Errors
    /// [`DeviceError::RangeOutsideBuffer`] and [`DeviceError::MisalignedTimeSample`].
    pub fn new(buffer: Arc<dyn Buffer>, offset: u64) -> Result<Self, DeviceError> {
        check_range(offset, TIME_SAMPLE_BYTES, buffer.length())?;
        if !offset.is_multiple_of(TIME_SAMPLE_BYTES) {
            return Err(DeviceError::MisalignedTimeSample { offset });
        }
        Ok(TimeSample { buffer, offset })
    }

    /// The buffer.
    pub fn buffer(&self) -> &Arc<dyn Buffer> {
        &self.buffer
    }

    /// The first byte.
    pub fn offset(&self) -> u64 {
        self.offset
    }
}

/// What a device says that does not take the command.
pub fn unsupported(device: &str) -> DeviceError {
    DeviceError::Unsupported {
        device: device.to_owned(),
        what: "samples of its clock as commands".to_owned(),
        alternative: "take the times of command buffers or of their commands".to_owned(),
    }
}
