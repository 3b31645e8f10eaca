//! This machine's processor, in builds without the feature `cpu`.

use std::sync::Arc;

use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;

use crate::error::Error;

/// Whether this build has the device.
pub(crate) const AVAILABLE: bool = false;

/// Refuses.
pub(crate) fn open() -> Result<Arc<dyn Device>, Error> {
    let reason = "this program was built without the feature `cpu`".to_owned();
    Err(DeviceError::Unavailable { device: "cpu".to_owned(), reason }.into())
}
