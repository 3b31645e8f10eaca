//! Apple's GPUs.

use std::sync::Arc;

use anymetal_apple::{AppleDevice, AppleOptions};
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;

/// How many there are.
pub(crate) fn count() -> u32 {
    AppleDevice::count()
}

/// Why there are none, if there are none.
pub(crate) fn why_none() -> Option<String> {
    (count() == 0).then(|| "Metal has no GPU on this machine".to_owned())
}

/// The GPU of that number.
pub(crate) fn open(number: u32) -> Result<Arc<dyn Device>, DeviceError> {
    Ok(Arc::new(AppleDevice::open(number, &AppleOptions::default())?))
}
