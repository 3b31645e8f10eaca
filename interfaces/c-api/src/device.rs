//! Devices and queues.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use anymetal::{Buffer, Device, Queue};

use crate::buffer::BufferHandle;
use crate::given::{Place, Text};
use crate::handles::{Handle, handled};
use crate::status::{Status, run};

/// `anymetal_device`.
#[derive(Debug)]
pub(crate) struct DeviceHandle {
    pub(crate) device: Device,
    name: CString,
}

handled!(DeviceHandle, 1);

/// `anymetal_queue`.
#[derive(Debug)]
pub(crate) struct QueueHandle {
    pub(crate) queue: Queue,
    /// Buffers that kernels of the queue reach by address, by the addresses of their objects. A weak
    /// reference, so that a released buffer is no longer reachable; it also keeps the object's address
    /// from being reused.
    resident: Mutex<BTreeMap<usize, Weak<BufferHandle>>>,
}

handled!(QueueHandle, 2);

impl QueueHandle {
    fn add_resident(&self, buffer: &Arc<BufferHandle>) {
        let mut resident = self.resident.lock().unwrap_or_else(PoisonError::into_inner);
        resident.insert(Arc::as_ptr(buffer).addr(), Arc::downgrade(buffer));
    }

    fn remove_resident(&self, buffer: &Arc<BufferHandle>) {
        let mut resident = self.resident.lock().unwrap_or_else(PoisonError::into_inner);
        resident.remove(&Arc::as_ptr(buffer).addr());
    }

    /// The buffers that kernels launched now reach by address.
    pub(crate) fn resident(&self) -> Vec<Buffer<u8>> {
        let mut resident = self.resident.lock().unwrap_or_else(PoisonError::into_inner);
        let mut live = Vec::with_capacity(resident.len());
        resident.retain(|_, buffer| {
            let buffer = buffer.upgrade();
            live.extend(buffer.as_ref().map(|buffer| buffer.buffer.clone()));
            buffer.is_some()
        });
        live
    }
}

/// `anymetal_device_open`.
///
/// # Safety
///
/// `name` is NULL or a string of C, `device` NULL or a place for the result.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn anymetal_device_open(
    name: Text,
    device: Place<Handle<DeviceHandle>>,
) -> Status {
    run(|| {
        // SAFETY: the caller's promise.
        let (place, name) = unsafe { (device.required()?, name.optional("device's name")?) };
        anymetal_service::start().map_err(anymetal::Error::from)?;
        let opened = name.map_or_else(Device::system_default, Device::by_name)?;
        let name = CString::new(opened.name()).unwrap_or_default();
        place.write(Handle::of(DeviceHandle { device: opened, name })?);
        Ok(())
    })
}

/// `anymetal_device_name`; "" for whatever is not a live device.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn anymetal_device_name(device: Handle<DeviceHandle>) -> *const c_char {
    // The table of handles keeps the object, and the object its name, until the device is released.
    device.if_live().map_or(c"".as_ptr(), |device| device.name.as_ptr())
}

/// `anymetal_device_release`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn anymetal_device_release(device: Handle<DeviceHandle>) {
    device.release();
}

/// `anymetal_queue_make`.
///
/// # Safety
///
/// `queue` is NULL or a place for the result.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn anymetal_queue_make(
    device: Handle<DeviceHandle>,
    queue: Place<Handle<QueueHandle>>,
) -> Status {
    run(|| {
        let device = device.object("device")?;
        // SAFETY: the caller's promise.
        let place = unsafe { queue.required() }?;
        place.write(Handle::of(QueueHandle { queue: device.device.queue()?, resident: Mutex::default() })?);
        Ok(())
    })
}

/// `anymetal_queue_add_resident`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn anymetal_queue_add_resident(
    queue: Handle<QueueHandle>,
    buffer: Handle<BufferHandle>,
) -> Status {
    run(|| {
        queue.object("queue")?.add_resident(&buffer.object("buffer")?);
        Ok(())
    })
}

/// `anymetal_queue_remove_resident`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn anymetal_queue_remove_resident(
    queue: Handle<QueueHandle>,
    buffer: Handle<BufferHandle>,
) -> Status {
    run(|| {
        queue.object("queue")?.remove_resident(&buffer.object("buffer")?);
        Ok(())
    })
}

/// `anymetal_queue_release`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn anymetal_queue_release(queue: Handle<QueueHandle>) {
    queue.release();
}
