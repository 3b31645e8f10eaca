//! This machine's processor, in this process or in a worker.

use std::sync::Arc;

use anymetal_cpu::{CpuDevice, CpuDeviceOptions};
use anymetal_driver::{COMPILER_IDENTITY, Compiler, CpuLevel, Isolate};
use anymetal_hal::device::Device;

use crate::error::Error;

/// Whether this build has the device.
pub(crate) const AVAILABLE: bool = true;

/// Starts it.
pub(crate) fn open() -> Result<Arc<dyn Device>, Error> {
    let level = Compiler::cpu_level()?;
    let vector_extension = level.map(CpuLevel::vector_extension);
    let options = CpuDeviceOptions { vector_extension, ..CpuDeviceOptions::from_environment()? };
    match Isolate::from_environment() {
        Isolate::Run(settings) => Ok(anymetal_isolated::open(&options, &settings, COMPILER_IDENTITY)?),
        // With settings that cannot be followed every compile is refused, so nothing runs.
        Isolate::Off | Isolate::Compile(_) | Isolate::Refused(_) => Ok(Arc::new(CpuDevice::new(&options)?)),
    }
}
