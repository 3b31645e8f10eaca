//! This machine's processor.

use std::sync::Arc;

use anymetal_cpu::{CpuDevice, CpuDeviceOptions};
use anymetal_driver::{Compiler, CpuLevel};
use anymetal_hal::device::Device;

use crate::error::Error;

/// Whether this build has the device.
pub(crate) const AVAILABLE: bool = true;

/// Starts it.
pub(crate) fn open() -> Result<Arc<dyn Device>, Error> {
    let level = Compiler::cpu_level()?;
    let vector_extension = level.map(CpuLevel::vector_extension);
    let options = CpuDeviceOptions { vector_extension, ..CpuDeviceOptions::from_environment()? };
    Ok(Arc::new(CpuDevice::new(&options)?))
}
