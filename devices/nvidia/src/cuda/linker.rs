//! The driver's compiler: PTX to code for the current card.

use std::ffi::{c_uint, c_void};

use cudarc::driver::sys;

use super::check;
use crate::driver::DriverError;

/// Bytes of the compiler's messages that are kept.
const LOG_BYTES: usize = 8192;

/// A link of one text. The driver writes to the log until it is destroyed.
struct Link {
    state: sys::CUlinkState,
    log: Box<[u8; LOG_BYTES]>,
}

impl Drop for Link {
    fn drop(&mut self) {
        // SAFETY: made by `cuLinkCreate`, and destroyed once.
        let _ = check(unsafe { sys::cuLinkDestroy(self.state) });
    }
}

impl Link {
    fn new() -> Result<Self, DriverError> {
        let mut log = Box::new([0u8; LOG_BYTES]);
        let mut options = [
            sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), LOG_BYTES as *mut c_void];
        let mut state = std::ptr::null_mut();
        let (number, options, values) = (options.len() as c_uint, options.as_mut_ptr(), values.as_mut_ptr());
        // SAFETY: options and values are of one length; the log is on the heap and outlives the link.
        check(unsafe { sys::cuLinkCreate_v2(number, options, values, &raw mut state) })?;
        Ok(Link { state, log })
    }

    /// What went wrong, with the log.
    fn failed(&self, error: DriverError) -> DriverError {
        let DriverError::Other(error) = error else { return error };
        let end = self.log.iter().position(|&byte| byte == 0).unwrap_or(LOG_BYTES);
        let log = String::from_utf8_lossy(&self.log[..end]);
        DriverError::BadCode(format!("{error}: {}", log.trim()))
    }
}

/// Compiles for the card whose context is current.
pub(super) fn compile(ptx: &str) -> Result<Vec<u8>, DriverError> {
    // The driver takes the text with the zero byte at its end.
    let mut text = Vec::with_capacity(ptx.len() + 1);
    text.extend_from_slice(ptx.as_bytes());
    text.push(0);
    let link = Link::new()?;
    let none = std::ptr::null_mut();
    // SAFETY: the text outlives the call; there is no name and there are no options.
    let added = unsafe {
        sys::cuLinkAddData_v2(
            link.state,
            sys::CUjitInputType_enum::CU_JIT_INPUT_PTX,
            text.as_mut_ptr().cast(),
            text.len(),
            std::ptr::null(),
            0,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        )
    };
    check(added).map_err(|error| link.failed(error))?;
    let (mut code, mut bytes) = (none, 0usize);
    // SAFETY: the results outlive the call.
    let completed = unsafe { sys::cuLinkComplete(link.state, &raw mut code, &raw mut bytes) };
    check(completed).map_err(|error| link.failed(error))?;
    // SAFETY: the driver gives that many bytes, which are the link's until it is destroyed.
    Ok(unsafe { std::slice::from_raw_parts(code.cast::<u8>(), bytes) }.to_vec())
}
