//! The functions that give devices, as C symbols.

use std::ffi::c_void;
use std::sync::OnceLock;

use objc2::rc::Retained;
use objc2::runtime::{AnyObject, NSObject};

use super::device::Device;
use crate::foundation::NSArray;
use crate::runtime::raise;

/// A device that is never released.
struct Shared(Retained<Device>);

// SAFETY: a device may be used from every thread, and reference counts are atomic.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

/// The default device; the same object each time. Settings that name none are a failure with the
/// reason.
pub(super) fn default_device() -> Retained<Device> {
    static DEFAULT: OnceLock<Shared> = OnceLock::new();
    // Programs over Metal's API have no other way to start the exporters that their settings request.
    let opened = || {
        anymetal_service::start().map_err(anymetal::Error::from)?;
        anymetal::Device::system_default()
    };
    let made = DEFAULT.get_or_init(|| match opened() {
        Ok(device) => Shared(crate::foundation::object(device)),
        Err(error) => raise(&format!("MTLCreateSystemDefaultDevice: {error}")),
    });
    made.0.clone()
}

/// Gives a reference, as functions with `Create` in their names do.
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn MTLCreateSystemDefaultDevice() -> *mut AnyObject {
    Retained::into_raw(default_device()).cast()
}

/// Gives a reference, as functions with `Copy` in their names do.
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn MTLCopyAllDevices() -> *mut AnyObject {
    let device = Retained::into_super(Retained::into_super(default_device()));
    Retained::into_raw(NSArray::of(vec![device])).cast()
}

/// As `MTLCopyAllDevices`: devices neither come nor go, so an observer has nothing to be told.
///
/// # Safety
///
/// `observer` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn MTLCopyAllDevicesWithObserver(
    observer: *mut *mut AnyObject,
    _handler: *const c_void,
) -> *mut AnyObject {
    if !observer.is_null() {
        let token: Retained<AnyObject> = Retained::into_super(NSObject::new());
        // SAFETY: as promised; the place takes an autoreleased object.
        unsafe { observer.write(Retained::autorelease_ptr(token)) };
    }
    MTLCopyAllDevices()
}

/// There is nothing to remove.
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn MTLRemoveDeviceObserver(_observer: *mut AnyObject) {}
