//! The personality of functions of compiled Objective-C: which of their handlers and clean-ups an
//! exception meets (Itanium C++ ABI, exception handling, level II; the tables are those of GCC's
//! `except_tab`).

use std::ffi::{CStr, c_char, c_int, c_void};

use super::exception::{CONTINUE_UNWIND, Context, Exception, SEARCH_PHASE, thrown_object};
use super::object::Object;
use super::registry;

unsafe extern "C" {
    fn _Unwind_GetIPInfo(context: *mut Context, is_before: *mut c_int) -> usize;
    fn _Unwind_GetLanguageSpecificData(context: *mut Context) -> *const u8;
    fn _Unwind_GetRegionStart(context: *mut Context) -> usize;
    fn _Unwind_SetGR(context: *mut Context, register: c_int, value: usize);
    fn _Unwind_SetIP(context: *mut Context, address: usize);
}

const HANDLER_FRAME: c_int = 4;
const HANDLER_FOUND: c_int = 6;
const INSTALL_CONTEXT: c_int = 7;
const FATAL: c_int = 3;

/// The registers in which a landing pad finds exception and selector.
const REGISTERS: [c_int; 2] = [0, 1];

/// What a function does about an exception at one of its calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Action {
    Nothing,
    CleanUp { pad: usize },
    Catch { pad: usize, selector: usize },
}

/// # Safety
///
/// Called by the unwinder, with the frame of a function that has this personality.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn __gnustep_objc_personality_v0(
    version: c_int,
    phase: c_int,
    _class: u64,
    exception: *mut Exception,
    context: *mut Context,
) -> c_int {
    if version != 1 {
        return FATAL;
    }
    // SAFETY: the unwinder promises the exception and the frame.
    let action = unsafe { action(exception, context) };
    match action {
        Action::Catch { .. } if phase & SEARCH_PHASE != 0 => HANDLER_FOUND,
        _ if phase & SEARCH_PHASE != 0 => CONTINUE_UNWIND,
        // SAFETY: as above; the pad is the function's own.
        Action::Catch { pad, selector } if phase & HANDLER_FRAME != 0 => unsafe {
            install(context, exception, pad, selector)
        },
        // SAFETY: as above.
        Action::CleanUp { pad } => unsafe { install(context, exception, pad, 0) },
        _ => CONTINUE_UNWIND,
    }
}

/// # Safety
///
/// `pad` is a landing pad of the frame's function.
unsafe fn install(context: *mut Context, exception: *mut Exception, pad: usize, selector: usize) -> c_int {
    // SAFETY: as promised.
    unsafe {
        _Unwind_SetGR(context, REGISTERS[0], exception.expose_provenance());
        _Unwind_SetGR(context, REGISTERS[1], selector);
        _Unwind_SetIP(context, pad);
    }
    INSTALL_CONTEXT
}

/// # Safety
///
/// As for the personality.
unsafe fn action(exception: *mut Exception, context: *mut Context) -> Action {
    // SAFETY: as promised; the tables are those that the compiler wrote for the function.
    unsafe {
        let tables = _Unwind_GetLanguageSpecificData(context);
        if tables.is_null() {
            return Action::Nothing;
        }
        let mut is_before = 0;
        let address = _Unwind_GetIPInfo(context, &raw mut is_before);
        let start = _Unwind_GetRegionStart(context);
        let address = address - usize::from(is_before == 0);
        find(&mut Reader { at: tables }, start, address, |type_name| matches(exception, type_name))
    }
}

/// Whether a handler of that type takes the exception. `None` takes everything.
///
/// # Safety
///
/// The exception is one that is being unwound; the name is a C string.
unsafe fn matches(exception: *mut Exception, type_name: Option<&CStr>) -> bool {
    let Some(name) = type_name else { return true };
    // SAFETY: as promised.
    let Some(object) = (unsafe { thrown_object(exception) }) else { return false };
    if name == c"@id" {
        return true;
    }
    // SAFETY: a thrown object is held by its exception.
    let object: Option<&Object> = unsafe { object.as_ref() };
    let wanted = registry::class_named(name);
    object.zip(wanted).is_some_and(|(object, wanted)| object.class().is_kind_of(wanted))
}

/// Reads a function's tables for the call at an address.
///
/// # Safety
///
/// The reader is at the tables of the function that starts there.
unsafe fn find(
    reader: &mut Reader,
    start: usize,
    address: usize,
    takes: impl Fn(Option<&CStr>) -> bool,
) -> Action {
    // SAFETY: as promised, in all that follows.
    unsafe {
        let pads_encoding = reader.byte();
        let pads = if pads_encoding == OMITTED { start } else { reader.encoded(pads_encoding) };
        let types_encoding = reader.byte();
        let types = if types_encoding == OMITTED {
            std::ptr::null()
        } else {
            let offset = reader.unsigned();
            reader.at.add(offset)
        };
        let sites_encoding = reader.byte();
        let bytes = reader.unsigned();
        let actions = reader.at.add(bytes);
        while reader.at < actions {
            let from = start + reader.encoded(sites_encoding);
            let to = from + reader.encoded(sites_encoding);
            let pad = reader.encoded(sites_encoding);
            let first = reader.unsigned();
            if address < from {
                return Action::Nothing;
            }
            if address < to {
                let pad = if pad == 0 { return Action::Nothing } else { pads + pad };
                let chain = first.checked_sub(1).map(|offset| Reader { at: actions.add(offset) });
                return among(chain, pad, |filter| {
                    let size = size_of_encoded(types_encoding);
                    let mut entry = Reader { at: types.sub(filter * size) };
                    let name = std::ptr::with_exposed_provenance::<c_char>(entry.encoded(types_encoding));
                    takes((!name.is_null()).then(|| CStr::from_ptr(name)))
                });
            }
        }
    }
    Action::Nothing
}

/// The first action of a chain that applies; without a chain the pad is a clean-up.
///
/// # Safety
///
/// The reader is at a chain of actions.
unsafe fn among(chain: Option<Reader>, pad: usize, takes: impl Fn(usize) -> bool) -> Action {
    let Some(mut reader) = chain else { return Action::CleanUp { pad } };
    let mut found = Action::Nothing;
    // SAFETY: as promised.
    unsafe {
        loop {
            let filter = reader.signed();
            let place = reader.at;
            let next = reader.signed();
            match usize::try_from(filter) {
                Ok(0) => found = Action::CleanUp { pad },
                Ok(selector) if takes(selector) => return Action::Catch { pad, selector },
                _ => {}
            }
            if next == 0 {
                return found;
            }
            reader = Reader { at: place.offset(next) };
        }
    }
}

const OMITTED: u8 = 0xff;

/// The bytes of an entry of the table of types.
fn size_of_encoded(encoding: u8) -> usize {
    match encoding & 0x0f {
        0x02 | 0x0a => 2,
        0x03 | 0x0b => 4,
        _ => 8,
    }
}

/// A place in the tables.
struct Reader {
    at: *const u8,
}

impl Reader {
    unsafe fn byte(&mut self) -> u8 {
        // SAFETY: the caller promises that the tables go on.
        unsafe {
            let byte = self.at.read();
            self.at = self.at.add(1);
            byte
        }
    }

    unsafe fn fixed<const BYTES: usize>(&mut self) -> [u8; BYTES] {
        // SAFETY: as above.
        unsafe {
            let bytes = self.at.cast::<[u8; BYTES]>().read_unaligned();
            self.at = self.at.add(BYTES);
            bytes
        }
    }

    /// Groups of seven bits, the lowest first; how many bits there were.
    unsafe fn groups(&mut self) -> (u64, u32, bool) {
        let (mut value, mut bits) = (0, 0);
        loop {
            // SAFETY: as above.
            let byte = unsafe { self.byte() };
            value |= u64::from(byte & 0x7f).checked_shl(bits).unwrap_or(0);
            bits += 7;
            if byte & 0x80 == 0 {
                return (value, bits, byte & 0x40 != 0);
            }
        }
    }

    unsafe fn unsigned(&mut self) -> usize {
        // SAFETY: as above.
        unsafe { self.groups().0 as usize }
    }

    unsafe fn signed(&mut self) -> isize {
        // SAFETY: as above.
        let (value, bits, is_negative) = unsafe { self.groups() };
        let extension = if is_negative && bits < 64 { u64::MAX << bits } else { 0 };
        (value | extension) as isize
    }

    /// A pointer in one of the encodings of `DW_EH_PE`; null stays null.
    unsafe fn encoded(&mut self, encoding: u8) -> usize {
        let place = self.at;
        // SAFETY: as above.
        let value = unsafe {
            match encoding & 0x0f {
                0x00 | 0x04 | 0x0c => u64::from_ne_bytes(self.fixed()) as usize,
                0x01 => self.unsigned(),
                0x02 => usize::from(u16::from_ne_bytes(self.fixed())),
                0x03 => u32::from_ne_bytes(self.fixed()) as usize,
                0x09 => self.signed() as usize,
                0x0a => i16::from_ne_bytes(self.fixed()) as usize,
                0x0b => i32::from_ne_bytes(self.fixed()) as usize,
                _ => std::process::abort(),
            }
        };
        if value == 0 {
            return 0;
        }
        let value = if encoding & 0x70 == 0x10 { place.addr().wrapping_add(value) } else { value };
        if encoding & 0x80 == 0 {
            return value;
        }
        // SAFETY: an indirect pointer points to a pointer.
        unsafe { std::ptr::with_exposed_provenance::<usize>(value).read() }
    }
}

/// The personality of Objective-C++: C++'s own, to which an Objective-C exception is a foreign one that
/// only `catch (...)` takes.
///
/// # Safety
///
/// As for [`__gnustep_objc_personality_v0`].
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __gnustep_objcxx_personality_v0(
    version: c_int,
    phase: c_int,
    class: u64,
    exception: *mut Exception,
    context: *mut Context,
) -> c_int {
    type Personality = unsafe extern "C" fn(c_int, c_int, u64, *mut Exception, *mut Context) -> c_int;
    // SAFETY: the name is a C string.
    let found: *mut c_void = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__gxx_personality_v0".as_ptr()) };
    if found.is_null() {
        return FATAL;
    }
    // SAFETY: that is the function's type in every C++ library.
    let personality = unsafe { std::mem::transmute::<*mut c_void, Personality>(found) };
    // SAFETY: as promised.
    unsafe { personality(version, phase, class, exception, context) }
}
