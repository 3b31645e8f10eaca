//! Devices and queues.

use std::ffi::{CString, c_char};

use anymetal::{Device, Queue};

use crate::status::{Status, give, object, release, run, text};

/// `anymetal_device`.
#[derive(Debug)]
pub struct DeviceHandle {
    pub(crate) device: Device,
    name: CString,
}

/// `anymetal_queue`.
#[derive(Debug)]
pub struct QueueHandle {
    pub(crate) queue: Queue,
}

/// `anymetal_device_open`.
///
/// # Safety
///
/// `name` is NULL or a string of C, `device` a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anymetal_device_open(name: *const c_char, device: *mut *mut DeviceHandle) -> Status {
    run(|| {
        let opened = match name.is_null() {
            true => Device::system_default()?,
            // SAFETY: the caller's promise.
            false => Device::by_name(unsafe { text(name, "device's name") }?)?,
        };
        let name = CString::new(opened.name()).unwrap_or_default();
        // SAFETY: the caller's promise.
        unsafe { give(device, DeviceHandle { device: opened, name }) }
    })
}

/// `anymetal_device_name`; "" for NULL.
///
/// # Safety
///
/// `device` is NULL or a device that was not given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anymetal_device_name(device: *const DeviceHandle) -> *const c_char {
    // SAFETY: the caller's promise.
    unsafe { device.as_ref() }.map_or(c"".as_ptr(), |device| device.name.as_ptr())
}

/// `anymetal_device_release`.
///
/// # Safety
///
/// `device` is NULL or a device that was not given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anymetal_device_release(device: *mut DeviceHandle) {
    // SAFETY: the caller's promise.
    unsafe { release(device) }
}

/// `anymetal_queue_make`.
///
/// # Safety
///
/// `device` is NULL or a device that was not given back, `queue` a place for the result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anymetal_queue_make(
    device: *const DeviceHandle,
    queue: *mut *mut QueueHandle,
) -> Status {
    run(|| {
        // SAFETY: the caller's promise.
        let device = unsafe { object(device, "device") }?;
        let made = QueueHandle { queue: device.device.queue()? };
        // SAFETY: the caller's promise.
        unsafe { give(queue, made) }
    })
}

/// `anymetal_queue_release`.
///
/// # Safety
///
/// `queue` is NULL or a queue that was not given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn anymetal_queue_release(queue: *mut QueueHandle) {
    // SAFETY: the caller's promise.
    unsafe { release(queue) }
}
