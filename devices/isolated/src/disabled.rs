//! The twin of this crate where there are no workers.

use std::io;
use std::sync::Arc;

use anymetal_cpu::CpuDeviceOptions;
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;
use anymetal_isolate::Settings;

use crate::DecodeInterpreter;

/// Returns an error.
///
/// # Errors
/// [`DeviceError::Unavailable`].
pub fn open(
    _options: &CpuDeviceOptions,
    _settings: &Settings,
    _identity: &str,
) -> Result<Arc<dyn Device>, DeviceError> {
    let reason = "ANYMETAL_ISOLATE=run is supported on Linux only".to_owned();
    Err(DeviceError::Unavailable { device: "cpu".to_owned(), reason })
}

/// Returns an error.
///
/// # Errors
/// Always.
pub fn serve(_memory_bytes: u64, _identity: &str, _decode: DecodeInterpreter) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
