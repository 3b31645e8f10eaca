//! The C functions that write compressed files for `MTLIOCommandQueue`, which anymetal does not have.
//!
//! They exist so that programs link. No context is ever created, as when Metal cannot create the file.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use crate::runtime::raise_invalid_argument;

/// Metal's default size of the chunks that are compressed one by one.
const CHUNK_BYTES: usize = 1 << 16;

/// `MTLIOCompressionStatusError`.
const ERROR: isize = 1;

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn MTLIOCompressionContextDefaultChunkSize() -> usize {
    CHUNK_BYTES
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn MTLIOCreateCompressionContext(
    _path: *const c_char,
    _method: isize,
    _chunk_bytes: usize,
) -> *mut c_void {
    null_mut()
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn MTLIOCompressionContextAppendData(
    _context: *mut c_void,
    _data: *const c_void,
    _bytes: usize,
) {
    raise_invalid_argument(
        "MTLIOCompressionContextAppendData: the context was not created by MTLIOCreateCompressionContext",
    )
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn MTLIOFlushAndDestroyCompressionContext(_context: *mut c_void) -> isize {
    ERROR
}
