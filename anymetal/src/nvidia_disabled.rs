//! NVIDIA's GPUs, in builds without the feature `nvidia`.

use std::sync::Arc;

use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;

const REASON: &str = "this program was built without the feature `nvidia`";

/// None.
pub(crate) fn count() -> u32 {
    0
}

/// Why there are none.
pub(crate) fn why_none() -> Option<String> {
    Some(REASON.to_owned())
}

/// Refuses.
pub(crate) fn open(number: u32) -> Result<Arc<dyn Device>, DeviceError> {
    Err(DeviceError::Unavailable { device: format!("nvidia:{number}"), reason: REASON.to_owned() })
}
