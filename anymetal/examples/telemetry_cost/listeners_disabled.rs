//! No listeners, in builds without exporters.

use std::error::Error as StdError;

use anymetal::{Device, Layers};

/// Whether this build has all of them.
pub(crate) const AVAILABLE: bool = false;

/// The device.
pub(crate) fn device(mode: &str) -> Result<Device, Box<dyn StdError>> {
    if mode != "off" {
        return Err(format!("this build has no mode `{mode}`").into());
    }
    Ok(Device::with_settings(&Layers::default())?)
}
