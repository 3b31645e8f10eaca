//! Captures: what the device is given, in a file for Xcode.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use anymetal_hal::error::DeviceError;
use objc2::rc::{Retained, autoreleasepool};
use objc2::runtime::AnyObject;
use objc2_foundation::{NSString, NSURL};
use objc2_metal::{MTLCaptureDescriptor, MTLCaptureDestination, MTLCaptureManager};

use crate::device::{AppleDevice, DeviceShared};

/// A capture in progress; dropping it ends the capture and writes the file.
#[must_use = "the capture ends when this is dropped"]
pub struct Capture {
    manager: Retained<MTLCaptureManager>,
}

/// The process's capture manager.
fn manager() -> Retained<MTLCaptureManager> {
    // SAFETY: the manager may be asked for at any time; Metal locks around its captures.
    unsafe { MTLCaptureManager::sharedCaptureManager() }
}

/// Whether a capture is in progress, whoever started it.
pub(crate) fn is_capturing() -> bool {
    autoreleasepool(|_| manager().isCapturing())
}

impl AppleDevice {
    /// Captures what the device is given from now on into a `.gputrace` file, which must not exist. Metal
    /// wants `MTL_CAPTURE_ENABLED=1` in the process's environment.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] with Metal's reason: captures are not enabled, another is in progress,
    /// the file cannot be written.
    pub fn capture(&self, file: &Path) -> Result<Capture, DeviceError> {
        autoreleasepool(|_| start(&self.shared, file))
    }
}

fn start(device: &Arc<DeviceShared>, file: &Path) -> Result<Capture, DeviceError> {
    let unsupported = |alternative: String| DeviceError::Unsupported {
        device: device.name.clone(),
        what: format!("a capture into {}", file.display()),
        alternative,
    };
    let manager = manager();
    if !manager.supportsDestination(MTLCaptureDestination::GPUTraceDocument) {
        let how = "set MTL_CAPTURE_ENABLED=1 where the system has captures, or record a trace of the queues";
        return Err(unsupported(how.to_owned()));
    }
    let descriptor = MTLCaptureDescriptor::new();
    let object: &AnyObject = device.device.as_ref();
    // SAFETY: a device is one of the objects that can be captured.
    unsafe { descriptor.setCaptureObject(Some(object)) };
    descriptor.setDestination(MTLCaptureDestination::GPUTraceDocument);
    descriptor.setOutputURL(Some(&NSURL::fileURLWithPath(&NSString::from_str(&file.to_string_lossy()))));
    let started = manager.startCaptureWithDescriptor_error(&descriptor);
    started.map_err(|error| unsupported(format!("Metal says: {}", error.localizedDescription())))?;
    Ok(Capture { manager })
}

impl Drop for Capture {
    fn drop(&mut self) {
        autoreleasepool(|_| self.manager.stopCapture());
    }
}

impl fmt::Debug for Capture {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Capture").finish_non_exhaustive()
    }
}
