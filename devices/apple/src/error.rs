//! Metal's errors as the hal's.

use anymetal_hal::command_failure::CommandFailure;
use anymetal_hal::error::DeviceError;
use objc2_foundation::NSError;

/// The domain of what ends a command buffer, by its documented name: reading the constant needs a static of
/// the framework.
const COMMAND_BUFFER_DOMAIN: &str = "MTLCommandBufferErrorDomain";

/// The end of a command buffer with that error.
pub(crate) fn of_command_buffer(device: &str, label: &str, error: Option<&NSError>) -> DeviceError {
    let (failure, reason) = match error {
        Some(error) => {
            let code = error.code() as i64;
            let is_known = error.domain().to_string() == COMMAND_BUFFER_DOMAIN;
            let failure = if is_known { CommandFailure::of_code(code) } else { CommandFailure::Other(code) };
            (failure, error.localizedDescription().to_string())
        }
        None => (CommandFailure::Internal, "Metal gives no reason".to_owned()),
    };
    DeviceError::CommandBufferFailed { device: device.to_owned(), label: label.to_owned(), failure, reason }
}

/// A kernel that Metal's compiler refuses.
pub(crate) fn of_kernel(kernel: &str, error: &NSError) -> DeviceError {
    unloadable(kernel, error.localizedDescription().to_string())
}

/// A kernel that cannot be made ready, and why.
pub(crate) fn unloadable(kernel: &str, reason: impl Into<String>) -> DeviceError {
    DeviceError::UnloadableCode { kernel: kernel.to_owned(), reason: reason.into() }
}

/// Metal gave no object where it should.
pub(crate) fn none(device: &str, what: &str) -> DeviceError {
    DeviceError::DeviceLost { device: device.to_owned(), reason: format!("Metal makes no {what}") }
}
