//! The functions of `MTLCompiler.framework` that programs call to compile source without a device: a private
//! interface of Apple's, as tinygrad uses it.
//!
//! A request is two lengths (64 bits each), source and flags, both padded with zeros. A reply is a header
//! of 16 bytes, whose last two words are the lengths of itself and of the warnings before the library.

use std::ffi::{CString, c_char, c_void};

use super::compile_options::default_options;
use super::devices::default_device;
use super::packed_source::PackedSource;
use crate::arguments::may_read;
use crate::runtime::block::code_of;
use crate::runtime::raise_invalid_argument;

/// The kind of request that compiles source.
const COMPILE: u32 = 13;

/// The bytes of a reply's header.
const HEADER: u32 = 16;

/// A compiler service: a program has its address and nothing else.
static SERVICE: u8 = 0;

/// A block that takes an error's number, the reply with its length, and an error's text.
type Reply = unsafe extern "C-unwind" fn(*const c_void, i32, *const c_void, usize, *const c_char);

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn MTLCodeGenServiceCreate(_name: *const c_char) -> *const c_void {
    (&raw const SERVICE).cast()
}

/// There is nothing to free.
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn MTLCodeGenServiceDestroy(_service: *const c_void) {}

/// Compiles, and calls the block before it returns.
///
/// # Safety
///
/// `request` is null or `length` bytes; `reply` is null or a block of the type [`Reply`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn MTLCodeGenServiceBuildRequest(
    _service: *const c_void,
    _process: *const c_void,
    kind: u32,
    request: *const c_void,
    length: usize,
    reply: *const c_void,
) {
    const CALLED: &str = "MTLCodeGenServiceBuildRequest";
    if reply.is_null() {
        raise_invalid_argument(&format!("{CALLED}: the block must not be NULL"));
    }
    if !may_read(request, length) {
        raise_invalid_argument(&format!("{CALLED}: the request is not `length` bytes of memory"));
    }
    // SAFETY: as promised.
    let request = unsafe { std::slice::from_raw_parts(request.cast::<u8>(), length) };
    // SAFETY: as promised.
    let call = unsafe { std::mem::transmute::<*const c_void, Reply>(code_of(reply)) };
    match library(kind, request) {
        Ok(library) => {
            let words = [0, 0, HEADER, 0].map(u32::to_le_bytes);
            let bytes = [words.as_flattened(), &library].concat();
            // SAFETY: as promised; the bytes live until the block has returned.
            unsafe { call(reply, 0, bytes.as_ptr().cast(), bytes.len(), std::ptr::null()) };
        }
        Err(text) => {
            let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
            // SAFETY: as above.
            unsafe { call(reply, 1, std::ptr::null(), 0, text.as_ptr()) };
        }
    }
}

/// The library of a request, or why there is none.
fn library(kind: u32, request: &[u8]) -> Result<Vec<u8>, String> {
    if kind != COMPILE {
        return Err(format!("requests of the kind {kind} are not supported"));
    }
    let packed = unpacked(request).ok_or("the request is not source and flags")?;
    // Ends with an error for source that does not compile, as the request does on a Mac.
    let options = packed.options(default_options());
    default_device().checked_library(&packed.source, &options).map_err(|error| error.text())?;
    Ok(packed.to_bytes())
}

fn unpacked(request: &[u8]) -> Option<PackedSource> {
    let (source, rest) = request.split_first_chunk()?;
    let (flags, rest) = rest.split_first_chunk()?;
    let (source, flags) = (u64::from_le_bytes(*source), u64::from_le_bytes(*flags));
    let (source, rest) = rest.split_at_checked(usize::try_from(source).ok()?)?;
    let flags = rest.get(..usize::try_from(flags).ok()?)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned();
    Some(PackedSource { source: text(source), flags: text(flags) })
}
