//! An architecture whose calling convention is not known here: nothing is switched to.

use super::Start;

pub(crate) const IS_SUPPORTED: bool = false;

/// Code that needs a stack of its own is refused before one is made.
pub(crate) fn on_stack(_end: *mut u8, _start: Start) -> *mut u8 {
    std::ptr::null_mut()
}

/// Never called.
///
/// # Safety
/// None; it ends the process.
pub(crate) unsafe extern "C" fn switch(_save: *mut *mut u8, _to: *mut u8, _argument: *mut u8) {
    std::process::abort()
}
