//! An architecture whose calling convention is not known here: nothing is switched to.

use super::Start;

pub(in super::super) const IS_SUPPORTED: bool = false;

/// Cooperative launches are refused before a stack is made.
pub(in super::super) fn on_stack(_end: *mut u8, _start: Start) -> *mut u8 {
    std::ptr::null_mut()
}

/// Never called.
///
/// # Safety
/// None; it ends the process.
pub(in super::super) unsafe extern "C" fn switch(_save: *mut *mut u8, _to: *mut u8, _argument: *mut u8) {
    std::process::abort()
}
