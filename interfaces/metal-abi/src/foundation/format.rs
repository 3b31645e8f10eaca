//! Formatting with arguments, as `stringWithFormat:` does it: C's conversions, and `%@` for objects.

use std::ffi::{CStr, CString, c_char};

use objc2::msg_send;
use objc2::runtime::AnyObject;

use super::variadic::Arguments;

/// The text of a format with its arguments.
///
/// # Safety
///
/// The arguments are those of the format's conversions.
pub(crate) unsafe fn formatted(format: &str, arguments: &mut Arguments) -> String {
    let mut text = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        let conversion = Conversion::parse(&rest[at + 1..]);
        rest = &rest[at + 1 + conversion.bytes..];
        // SAFETY: as promised.
        text.push_str(&unsafe { conversion.apply(arguments) });
    }
    text.push_str(rest);
    text
}

/// A conversion: flags, width, precision, length modifiers, and what it converts.
struct Conversion<'a> {
    /// Its bytes after the percent sign.
    bytes: usize,
    /// Flags, width and precision.
    style: &'a str,
    /// As `ll`.
    modifiers: &'a str,
    kind: char,
}

impl<'a> Conversion<'a> {
    fn parse(text: &'a str) -> Conversion<'a> {
        let until = |from: usize, set: &str| {
            let after = text[from..].find(|character| !set.contains(character));
            after.map_or(text.len(), |at| from + at)
        };
        let style = until(0, "-+ #0123456789.*");
        let modifiers = until(style, "hlqLjzt");
        let kind = text[modifiers..].chars().next().unwrap_or('%');
        let bytes = text.len().min(modifiers + kind.len_utf8());
        Conversion { bytes, style: &text[..style], modifiers: &text[style..modifiers], kind }
    }

    unsafe fn apply(&self, arguments: &mut Arguments) -> String {
        // SAFETY: the caller promises the arguments.
        unsafe {
            let style = self.with_stars(arguments);
            match self.kind {
                '%' => "%".to_owned(),
                'd' | 'i' | 'D' => printed(&style, "lld", self.signed(arguments.integer())),
                'u' | 'x' | 'X' | 'o' | 'U' => {
                    let kind = format!("ll{}", self.kind.to_ascii_lowercase());
                    let kind = if self.kind == 'X' { "llX".to_owned() } else { kind };
                    printed(&style, &kind, self.unsigned(arguments.integer()))
                }
                'c' => printed(&style, "c", arguments.integer()),
                'C' => {
                    char::from_u32(arguments.integer() as u32 & 0xffff).map(String::from).unwrap_or_default()
                }
                'p' => printed(&style, "p", arguments.integer()),
                's' => printed(&style, "s", text_or_null(arguments.integer())),
                'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' | 'A' => {
                    printed_double(&style, self.kind, arguments.double())
                }
                '@' => padded(&style, &described(arguments.integer())),
                other => format!("%{}{}{other}", self.style, self.modifiers),
            }
        }
    }

    /// The style with the numbers of arguments in place of stars.
    unsafe fn with_stars(&self, arguments: &mut Arguments) -> String {
        let mut style = String::new();
        for part in self.style.chars() {
            match part {
                // SAFETY: the caller promises the arguments.
                '*' => style.push_str(&(unsafe { arguments.integer() } as i32).to_string()),
                part => style.push(part),
            }
        }
        style
    }

    fn is_wide(&self) -> bool {
        self.modifiers.contains(['l', 'q', 'j', 'z', 't'])
    }

    fn signed(&self, value: i64) -> i64 {
        match self.modifiers {
            "hh" => i64::from(value as i8),
            "h" => i64::from(value as i16),
            _ if self.is_wide() => value,
            _ => i64::from(value as i32),
        }
    }

    fn unsigned(&self, value: i64) -> i64 {
        match self.modifiers {
            "hh" => i64::from(value as u8),
            "h" => i64::from(value as u16),
            _ if self.is_wide() => value,
            _ => i64::from(value as u32),
        }
    }
}

/// The address of a C string; of none, one that says so.
fn text_or_null(address: i64) -> i64 {
    if address == 0 { c"(null)".as_ptr().expose_provenance() as i64 } else { address }
}

/// What an object says of itself.
unsafe fn described(address: i64) -> String {
    let object: *mut AnyObject = std::ptr::with_exposed_provenance_mut(address as usize);
    // SAFETY: the caller promises null or a live object, which has a description.
    unsafe {
        let Some(object) = object.as_ref() else { return "(null)".to_owned() };
        let text: *mut AnyObject = msg_send![object, description];
        super::text_of(text)
    }
}

/// The text in a field of the style's width and precision.
fn padded(style: &str, text: &str) -> String {
    if style.is_empty() {
        return text.to_owned();
    }
    let text = CString::new(text.replace('\0', "")).unwrap_or_default();
    // SAFETY: the text is a C string.
    unsafe { printed(style, "s", text.as_ptr().expose_provenance() as i64) }
}

/// What `snprintf` makes of an integer or a pointer.
///
/// # Safety
///
/// The conversion takes an integer or a pointer of 64 bits, and a pointer is to what it says.
unsafe fn printed(style: &str, kind: &str, value: i64) -> String {
    // SAFETY: as promised.
    with_buffer(style, kind, |buffer, bytes, format| unsafe { libc::snprintf(buffer, bytes, format, value) })
}

fn printed_double(style: &str, kind: char, value: f64) -> String {
    let kind = kind.to_string();
    // SAFETY: the conversion takes a `double`.
    with_buffer(style, &kind, |buffer, bytes, format| unsafe { libc::snprintf(buffer, bytes, format, value) })
}

/// Has the text written, a second time if the buffer was too small.
fn with_buffer(style: &str, kind: &str, write: impl Fn(*mut c_char, usize, *const c_char) -> i32) -> String {
    let format = CString::new(format!("%{style}{kind}")).unwrap_or_default();
    let mut buffer = vec![0u8; 128];
    let needed = write(buffer.as_mut_ptr().cast(), buffer.len(), format.as_ptr());
    let needed = usize::try_from(needed).unwrap_or(0) + 1;
    if needed > buffer.len() {
        buffer.resize(needed, 0);
        write(buffer.as_mut_ptr().cast(), buffer.len(), format.as_ptr());
    }
    CStr::from_bytes_until_nul(&buffer).map(|text| text.to_string_lossy().into_owned()).unwrap_or_default()
}
