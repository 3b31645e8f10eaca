//! Apple's device for tests: over Metal on a Mac, elsewhere over anymetal's own form of Metal's API, which
//! runs on the CPU device.
#![forbid(unsafe_code)]

use std::sync::Arc;

use anymetal::error::DeviceError;
use anymetal_apple::{AppleDevice, AppleOptions};
use anymetal_hal::device::Device;

/// A device of its own.
///
/// # Errors
/// There is none.
pub fn device() -> Result<Arc<dyn Device>, DeviceError> {
    Ok(Arc::new(AppleDevice::open(0, &AppleOptions::default())?))
}
