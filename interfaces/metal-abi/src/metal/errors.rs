//! Errors with Metal's domains and codes.

use anymetal::Error;
use anymetal::error::{DeviceError, ErrorClass};
use anymetal::reflection::FunctionConstantInfo;
use objc2::rc::Retained;

use crate::foundation::NSError;

const LIBRARY_DOMAIN: &str = "MTLLibraryErrorDomain";
const COMMAND_BUFFER_DOMAIN: &str = "MTLCommandBufferErrorDomain";
const ARCHIVE_DOMAIN: &str = "MTLBinaryArchiveDomain";
const COUNTER_DOMAIN: &str = "MTLCounterErrorDomain";
const CAPTURE_DOMAIN: &str = "MTLCaptureErrorDomain";

/// The domain of refusals for which Metal has no code, their codes, and the key of the kind
/// ([`anymetal::ErrorKind`]) in the `userInfo`.
const OWN_DOMAIN: &str = "AnymetalErrorDomain";
const OWN_UNSUPPORTED: isize = 1;
const KIND_KEY: &str = "AnymetalErrorKind";

/// `MTLLibraryError`.
const LIBRARY_UNSUPPORTED: isize = 1;
const LIBRARY_INTERNAL: isize = 2;
const LIBRARY_COMPILE_FAILURE: isize = 3;
const LIBRARY_FUNCTION_NOT_FOUND: isize = 5;
const LIBRARY_FILE_NOT_FOUND: isize = 6;

/// `MTLCommandBufferError`.
const BUFFER_INTERNAL: isize = 1;
const BUFFER_TIMEOUT: isize = 2;
const BUFFER_PAGE_FAULT: isize = 3;
const BUFFER_NOT_PERMITTED: isize = 7;
const BUFFER_OUT_OF_MEMORY: isize = 8;
const BUFFER_INVALID_RESOURCE: isize = 9;
const BUFFER_DEVICE_REMOVED: isize = 11;

/// `MTLBinaryArchiveErrorInvalidFile` and `MTLBinaryArchiveErrorCompilationFailure`.
const ARCHIVE_INVALID_FILE: isize = 1;
const ARCHIVE_COMPILATION_FAILURE: isize = 3;

/// `MTLCounterSampleBufferErrorOutOfMemory` and `MTLCounterSampleBufferErrorInvalid`.
const COUNTER_OUT_OF_MEMORY: isize = 0;
const COUNTER_INVALID: isize = 1;

/// `MTLCaptureErrorNotSupported`.
const CAPTURE_NOT_SUPPORTED: isize = 1;

/// A library or pipeline that could not be made.
pub(crate) fn of_library(error: &Error) -> Retained<NSError> {
    let code = match error {
        Error::Compile(failure) if !failure.is_user_error() => LIBRARY_INTERNAL,
        Error::UnreadableFile { .. } => LIBRARY_FILE_NOT_FOUND,
        Error::Device(DeviceError::UnknownKernel { .. }) => LIBRARY_FUNCTION_NOT_FOUND,
        Error::Device(DeviceError::Unsupported { .. }) | Error::NoMachineCode { .. } => LIBRARY_UNSUPPORTED,
        _ => LIBRARY_COMPILE_FAILURE,
    };
    let text = match error {
        Error::Compile(failure) => failure.render_text(false),
        other => other.to_string(),
    };
    NSError::of(LIBRARY_DOMAIN, code, &text)
}

/// A function that the library has not.
pub(crate) fn function_not_found(name: &str, existing: &[String]) -> Retained<NSError> {
    let text = format!("there is no function `{name}`; there are {}", existing.join(", "));
    NSError::of(LIBRARY_DOMAIN, LIBRARY_FUNCTION_NOT_FOUND, &text)
}

/// A kernel without a value for a constant that it needs.
pub(crate) fn constant_without_value(kernel: &str, constant: &FunctionConstantInfo) -> Retained<NSError> {
    let FunctionConstantInfo { name, index, .. } = constant;
    let text =
        format!("function `{kernel}` needs a value for the function constant `{name}` at index {index}");
    NSError::of(LIBRARY_DOMAIN, LIBRARY_COMPILE_FAILURE, &text)
}

/// Something about libraries that is not there.
pub(crate) fn library_unsupported(what: &str) -> Retained<NSError> {
    NSError::of(LIBRARY_DOMAIN, LIBRARY_UNSUPPORTED, what)
}

/// Work that ended without a result.
pub(crate) fn of_command_buffer(error: &Error) -> Retained<NSError> {
    let code = match error {
        Error::Device(DeviceError::OutOfBounds(_)) => BUFFER_PAGE_FAULT,
        Error::Device(DeviceError::DeadlineExceeded { .. }) => BUFFER_TIMEOUT,
        Error::Device(DeviceError::OutOfMemory { .. }) | Error::Memory(_) => BUFFER_OUT_OF_MEMORY,
        error if error.is_cancelled() => BUFFER_NOT_PERMITTED,
        error if error.is_bug() => BUFFER_INTERNAL,
        error => match error.class() {
            ErrorClass::Lost => BUFFER_DEVICE_REMOVED,
            ErrorClass::Exhausted => BUFFER_OUT_OF_MEMORY,
            ErrorClass::Caller => BUFFER_INVALID_RESOURCE,
            ErrorClass::Transient => BUFFER_INTERNAL,
        },
    };
    NSError::of(COMMAND_BUFFER_DOMAIN, code, &error.to_string())
}

/// A file that is no archive of ours.
pub(crate) fn archive_file(text: &str) -> Retained<NSError> {
    NSError::of(ARCHIVE_DOMAIN, ARCHIVE_INVALID_FILE, text)
}

/// A pipeline that could not be added to an archive.
pub(crate) fn archive_compilation(text: &str) -> Retained<NSError> {
    NSError::of(ARCHIVE_DOMAIN, ARCHIVE_COMPILATION_FAILURE, text)
}

/// A counter sample buffer that there is no memory for.
pub(crate) fn counter_memory(text: &str) -> Retained<NSError> {
    NSError::of(COUNTER_DOMAIN, COUNTER_OUT_OF_MEMORY, text)
}

/// A counter sample buffer that cannot be.
pub(crate) fn counter_invalid(text: &str) -> Retained<NSError> {
    NSError::of(COUNTER_DOMAIN, COUNTER_INVALID, text)
}

/// What a device does not support, with what to do instead.
pub(crate) fn of_unsupported(device: &str, what: &str, alternative: &str) -> Retained<NSError> {
    let (device, what, alternative) = (device.to_owned(), what.to_owned(), alternative.to_owned());
    let error = Error::Device(DeviceError::Unsupported { device, what, alternative });
    let kind = format!("{:?}", error.kind());
    NSError::with_entry(OWN_DOMAIN, OWN_UNSUPPORTED, &error.to_string(), (KIND_KEY, &kind))
}

/// Captures.
pub(crate) fn capture_unsupported() -> Retained<NSError> {
    let text = "captures are not supported; a trace of the work is made with `anymetal trace`";
    NSError::of(CAPTURE_DOMAIN, CAPTURE_NOT_SUPPORTED, text)
}
