//! Samples of the device's clock: a command that writes the time to memory.
//!
//! Owns [`TimeSample`] and its rules, which all devices share. A device that takes the command says what
//! its clock shows ([`crate::device::Device::clock_ns`]). Invariant: a sample that passes
//! [`TimeSample::check`] is eight bytes within its buffer, at a multiple of eight.

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
    /// The buffer.
    pub buffer: Arc<dyn Buffer>,
    /// The first byte, a multiple of [`TIME_SAMPLE_BYTES`].
    pub offset: u64,
}

impl TimeSample {
    /// Checks place and alignment.
    ///
    /// # Errors
    /// [`DeviceError::RangeOutsideBuffer`] and [`DeviceError::MisalignedTimeSample`].
    pub fn check(&self) -> Result<(), DeviceError> {
        check_range(self.offset, TIME_SAMPLE_BYTES, self.buffer.length())?;
        if !self.offset.is_multiple_of(TIME_SAMPLE_BYTES) {
            return Err(DeviceError::MisalignedTimeSample { offset: self.offset });
        }
        Ok(())
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
