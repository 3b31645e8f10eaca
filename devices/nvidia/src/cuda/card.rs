//! What the driver knows of a card.

use std::ffi::{CStr, c_int};

use cudarc::driver::sys;

use super::check;
use crate::driver::{Card, DriverError};

/// Asks the driver, which has started.
pub(super) fn of(device: sys::CUdevice) -> Result<Card, DriverError> {
    use sys::CUdevice_attribute as A;
    let attribute = |attribute| {
        let mut value = 0;
        // SAFETY: a device of the driver's; `value` outlives the call.
        check(unsafe { sys::cuDeviceGetAttribute(&raw mut value, attribute, device) })
            .map(|()| value.max(0) as u32)
    };
    let mut name = [0; 256];
    // SAFETY: the driver writes at most that many bytes, ended by 0.
    check(unsafe { sys::cuDeviceGetName(name.as_mut_ptr(), name.len() as c_int, device) })?;
    // SAFETY: as above: a C string within the array.
    let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
    let mut memory_bytes = 0;
    // SAFETY: a device of the driver's; the result outlives the call.
    check(unsafe { sys::cuDeviceTotalMem_v2(&raw mut memory_bytes, device) })?;
    let mut driver_version = 0;
    // SAFETY: the result outlives the call.
    check(unsafe { sys::cuDriverGetVersion(&raw mut driver_version) })?;
    let major = attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    Ok(Card {
        name,
        sm: major * 10 + minor,
        memory_bytes: memory_bytes as u64,
        multiprocessors: attribute(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        max_threads_per_group: attribute(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
        max_group_size: [
            attribute(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)?,
            attribute(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)?,
            attribute(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)?,
        ],
        max_shared_bytes: attribute(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?.into(),
        driver_version: driver_version.max(0) as u32,
    })
}
