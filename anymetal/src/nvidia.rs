//! NVIDIA's GPUs.

use std::sync::Arc;

use anymetal_driver::Compiler;
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;
use anymetal_nvidia::{NvidiaDevice, NvidiaOptions};

/// How many there are.
pub(crate) fn count() -> u32 {
    NvidiaDevice::count()
}

/// Why there are none, if there are none.
pub(crate) fn why_none() -> Option<String> {
    NvidiaDevice::why_none()
}

/// The GPU of that number.
pub(crate) fn open(number: u32) -> Result<Arc<dyn Device>, DeviceError> {
    let options = NvidiaOptions::default().with_code_cache(Compiler::global().code_cache());
    Ok(Arc::new(NvidiaDevice::open(number, &options)?))
}
