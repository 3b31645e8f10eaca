//! Apple's GPUs, where there are none.

use std::sync::Arc;

use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;

const REASON: &str = match cfg!(target_vendor = "apple") {
    true => "this program was built without the feature `apple`",
    false => "it needs one of Apple's machines",
};

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
    Err(DeviceError::Unavailable { device: format!("apple:{number}"), reason: REASON.to_owned() })
}
