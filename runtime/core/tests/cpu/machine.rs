//! The device for the tests.

use std::sync::Arc;

use anymetal_cpu::{CpuDevice, CpuDeviceOptions};
use anymetal_hal::device::Device;

/// The processor.
pub(crate) fn cpu() -> Arc<dyn Device> {
    let options = CpuDeviceOptions { threads: Some(2), ..CpuDeviceOptions::default() };
    Arc::new(CpuDevice::new(&options).unwrap())
}
