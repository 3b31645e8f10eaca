//! Libraries: compiled source.

use std::ffi::c_int;

use anymetal::{CompileOptions, Library, LibraryDescriptor, MathMode};

use crate::device::DeviceHandle;
use crate::given::{Bytes, MAX_SOURCE_BYTES, Place};
use crate::handles::{Handle, handled};
use crate::status::{Failure, Status, run};

/// `anymetal_library`.
#[derive(Debug)]
pub(crate) struct LibraryHandle {
    pub(crate) library: Library,
}

handled!(LibraryHandle, 3);

/// `anymetal_library_compile`.
///
/// # Safety
///
/// `source` has `length` bytes, `library` is NULL or a place for the result.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn anymetal_library_compile(
    device: Handle<DeviceHandle>,
    source: Bytes,
    length: usize,
    math_mode: c_int,
    library: Place<Handle<LibraryHandle>>,
) -> Status {
    run(|| {
        let device = device.object("device")?;
        let math_mode = match math_mode {
            0 => MathMode::Safe,
            1 => MathMode::Relaxed,
            2 => MathMode::Fast,
            other => return Err(Failure::caller(format!("{other} is not a math mode"))),
        };
        // SAFETY: the caller's promise.
        let (place, bytes) =
            unsafe { (library.required()?, source.slice(length, MAX_SOURCE_BYTES, "bytes of source")?) };
        let source = std::str::from_utf8(bytes).map_err(|_| Failure::caller("the source is not UTF-8"))?;
        let options = CompileOptions::new().math_mode(math_mode);
        let compiled =
            device.device.create_library(&LibraryDescriptor::from_source(source).options(&options))?;
        place.write(Handle::of(LibraryHandle { library: compiled })?);
        Ok(())
    })
}

/// `anymetal_library_release`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn anymetal_library_release(library: Handle<LibraryHandle>) {
    library.release();
}
