//! `NSString` and `NSMutableString`.

use std::ffi::{CStr, c_char};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use objc2::rc::{Allocated, Retained};
use objc2::runtime::{AnyObject, NSObject, NSZone};
use objc2::{AnyThread, Message, msg_send};

use super::array::NSArray;
use super::error::NSError;
use super::range::Range;
use crate::arguments::{Bytes, ErrorOut};
use crate::runtime::{literal, raise_range};

/// The encodings that are understood, all as UTF-8: ASCII (1), UTF-8 (4).
const ENCODINGS: [u64; 2] = [1, 4];
/// `NSNotFound`.
const NOT_FOUND: usize = isize::MAX as usize;

/// Text with a zero after it.
#[derive(Debug)]
pub(crate) struct Text(String);

impl Text {
    fn new(text: &str) -> Text {
        Text(format!("{text}\0"))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0[..self.0.len() - 1]
    }
}

/// The instance variables of a string.
#[derive(Debug)]
pub(crate) struct StringIvars {
    /// Changed only in mutable strings.
    text: RwLock<Text>,
}

impl StringIvars {
    fn new(text: &str) -> StringIvars {
        StringIvars { text: RwLock::new(Text::new(text)) }
    }
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "NSString"]
    #[ivars = StringIvars]
    #[derive(Debug)]
    pub(crate) struct NSString;

    impl NSString {
        #[unsafe(method_id(string))]
        fn empty() -> Retained<NSString> {
            NSString::of("")
        }

        #[unsafe(method_id(init))]
        fn init(this: Allocated<Self>) -> Retained<Self> {
            initialized_string(this, "")
        }

        // Off Apple's machines `objc2` gives the encoding as `int`.
        #[unsafe(method_id(initWithBytes:length:encoding:))]
        fn init_bytes(this: Allocated<Self>, bytes: Bytes, length: usize, encoding: i32) -> Option<Retained<Self>> {
            decoded(bytes.read(length), encoding.unsigned_abs().into()).map(|text| initialized_string(this, text))
        }

        #[unsafe(method_id(initWithUTF8String:))]
        fn init_utf8(this: Allocated<Self>, text: &CStr) -> Option<Retained<Self>> {
            text.to_str().ok().map(|text| initialized_string(this, text))
        }

        #[unsafe(method_id(initWithString:))]
        fn init_string(this: Allocated<Self>, string: &NSString) -> Retained<Self> {
            initialized_string(this, string.text().as_str())
        }

        #[unsafe(method_id(initWithData:encoding:))]
        fn init_data(this: Allocated<Self>, data: &super::data::NSData, encoding: u64) -> Option<Retained<Self>> {
            let text = data.with_bytes(|bytes| decoded(bytes, encoding).map(str::to_owned));
            text.map(|text| initialized_string(this, &text))
        }

        #[unsafe(method_id(stringWithUTF8String:))]
        fn with_utf8(text: &CStr) -> Option<Retained<NSString>> {
            text.to_str().ok().map(NSString::of)
        }

        #[unsafe(method_id(stringWithCString:encoding:))]
        fn with_c_string(text: &CStr, encoding: u64) -> Option<Retained<NSString>> {
            text.to_str().ok().filter(|_| ENCODINGS.contains(&encoding)).map(NSString::of)
        }

        #[unsafe(method_id(stringWithString:))]
        fn with_string(string: &NSString) -> Retained<NSString> {
            NSString::of(string.text().as_str())
        }

        #[unsafe(method_id(stringWithContentsOfFile:encoding:error:))]
        fn with_file(path: &NSString, encoding: u64, error: ErrorOut) -> Option<Retained<NSString>> {
            match text_of_file(&path.to_string(), encoding) {
                Ok(text) => Some(NSString::of(&text)),
                Err(problem) => error.fail(problem),
            }
        }

        #[unsafe(method(UTF8String))]
        fn utf8_string(&self) -> *const c_char {
            self.text().0.as_ptr().cast()
        }

        #[unsafe(method(fileSystemRepresentation))]
        fn file_system_representation(&self) -> *const c_char {
            self.text().0.as_ptr().cast()
        }

        #[unsafe(method(cStringUsingEncoding:))]
        fn c_string(&self, encoding: u64) -> *const c_char {
            if ENCODINGS.contains(&encoding) { self.text().0.as_ptr().cast() } else { std::ptr::null() }
        }

        #[unsafe(method(lengthOfBytesUsingEncoding:))]
        fn length_of_bytes(&self, _encoding: i32) -> usize {
            self.text().as_str().len()
        }

        #[unsafe(method(length))]
        fn length(&self) -> usize {
            self.text().as_str().encode_utf16().count()
        }

        #[unsafe(method(characterAtIndex:))]
        fn character_at(&self, index: usize) -> u16 {
            let unit = self.text().as_str().encode_utf16().nth(index);
            unit.unwrap_or_else(|| raise_range(&format!("-[NSString characterAtIndex:]: index {index} is beyond the string")))
        }

        #[unsafe(method(hash))]
        fn hash(&self) -> usize {
            // FNV-1a: equal for equal strings in every process.
            let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            self.text().as_str().as_bytes().iter().fold(0xcbf2_9ce4_8422_2325, step) as usize
        }

        #[unsafe(method(isEqual:))]
        fn is_equal(&self, other: Option<&AnyObject>) -> bool {
            other.and_then(|other| other.downcast_ref::<NSString>()).is_some_and(|other| self.is_equal_to(other))
        }

        #[unsafe(method(isEqualToString:))]
        fn is_equal_to_string(&self, other: Option<&NSString>) -> bool {
            other.is_some_and(|other| self.is_equal_to(other))
        }

        #[unsafe(method(compare:))]
        fn compare(&self, other: &NSString) -> isize {
            self.to_string().cmp(&other.to_string()) as isize
        }

        #[unsafe(method(hasPrefix:))]
        fn has_prefix(&self, prefix: &NSString) -> bool {
            self.text().as_str().starts_with(&prefix.to_string())
        }

        #[unsafe(method(hasSuffix:))]
        fn has_suffix(&self, suffix: &NSString) -> bool {
            self.text().as_str().ends_with(&suffix.to_string())
        }

        #[unsafe(method(containsString:))]
        fn contains(&self, part: &NSString) -> bool {
            self.text().as_str().contains(&part.to_string())
        }

        #[unsafe(method(rangeOfString:))]
        fn range_of(&self, part: &NSString) -> Range {
            let (text, part) = (self.to_string(), part.to_string());
            let units = |text: &str| text.encode_utf16().count();
            match text.find(&part) {
                Some(at) if !part.is_empty() => Range { location: units(&text[..at]), length: units(&part) },
                _ => Range { location: NOT_FOUND, length: 0 },
            }
        }

        #[unsafe(method_id(substringFromIndex:))]
        fn substring_from(&self, from: usize) -> Retained<NSString> {
            self.units(from, usize::MAX)
        }

        #[unsafe(method_id(substringToIndex:))]
        fn substring_to(&self, to: usize) -> Retained<NSString> {
            self.units(0, to)
        }

        #[unsafe(method_id(substringWithRange:))]
        fn substring_with(&self, range: Range) -> Retained<NSString> {
            self.units(range.location, range.location.saturating_add(range.length))
        }

        #[unsafe(method_id(stringByAppendingString:))]
        fn appending(&self, more: &NSString) -> Retained<NSString> {
            NSString::of(&format!("{self}{more}"))
        }

        #[unsafe(method_id(stringByAppendingPathComponent:))]
        fn appending_component(&self, component: &NSString) -> Retained<NSString> {
            NSString::of(&std::path::Path::new(&self.to_string()).join(component.to_string()).to_string_lossy())
        }

        #[unsafe(method_id(stringByDeletingLastPathComponent))]
        fn without_last_component(&self) -> Retained<NSString> {
            let text = self.to_string();
            NSString::of(&std::path::Path::new(&text).parent().unwrap_or(std::path::Path::new("")).to_string_lossy())
        }

        #[unsafe(method_id(lastPathComponent))]
        fn last_component(&self) -> Retained<NSString> {
            let text = self.to_string();
            NSString::of(&std::path::Path::new(&text).file_name().unwrap_or_default().to_string_lossy())
        }

        #[unsafe(method_id(pathExtension))]
        fn path_extension(&self) -> Retained<NSString> {
            let text = self.to_string();
            NSString::of(&std::path::Path::new(&text).extension().unwrap_or_default().to_string_lossy())
        }

        #[unsafe(method_id(componentsSeparatedByString:))]
        fn components(&self, separator: &NSString) -> Retained<NSArray> {
            let parts = self.to_string();
            NSArray::of(parts.split(&separator.to_string()).map(NSString::object_of).collect())
        }

        #[unsafe(method_id(lowercaseString))]
        fn lowercase(&self) -> Retained<NSString> {
            NSString::of(&self.to_string().to_lowercase())
        }

        #[unsafe(method_id(uppercaseString))]
        fn uppercase(&self) -> Retained<NSString> {
            NSString::of(&self.to_string().to_uppercase())
        }

        #[unsafe(method(integerValue))]
        fn integer_value(&self) -> isize {
            leading_integer(&self.to_string()) as isize
        }

        #[unsafe(method(longLongValue))]
        fn long_long_value(&self) -> i64 {
            leading_integer(&self.to_string())
        }

        #[unsafe(method(intValue))]
        fn int_value(&self) -> i32 {
            leading_integer(&self.to_string()).clamp(i32::MIN.into(), i32::MAX.into()) as i32
        }

        #[unsafe(method(doubleValue))]
        fn double_value(&self) -> f64 {
            leading_number(&self.to_string())
        }

        #[unsafe(method(floatValue))]
        fn float_value(&self) -> f32 {
            leading_number(&self.to_string()) as f32
        }

        #[unsafe(method(boolValue))]
        fn bool_value(&self) -> bool {
            let text = self.to_string();
            let first = text.trim_start().trim_start_matches(['+', '-']).trim_start_matches('0');
            first.starts_with(|first: char| "YyTt123456789".contains(first))
        }

        #[unsafe(method_id(dataUsingEncoding:))]
        fn data(&self, encoding: u64) -> Option<Retained<super::data::NSData>> {
            ENCODINGS.contains(&encoding).then(|| super::data::NSData::of(self.text().as_str().as_bytes()))
        }

        #[unsafe(method_id(description))]
        fn description(&self) -> Retained<NSString> {
            self.retain()
        }

        #[unsafe(method_id(debugDescription))]
        fn debug_description(&self) -> Retained<NSString> {
            self.retain()
        }

        #[unsafe(method_id(copyWithZone:))]
        fn copy_with_zone(&self, _zone: *mut NSZone) -> Retained<NSString> {
            self.retain()
        }

        #[unsafe(method_id(mutableCopyWithZone:))]
        fn mutable_copy_with_zone(&self, _zone: *mut NSZone) -> Retained<NSMutableString> {
            NSMutableString::of(self.text().as_str())
        }
    }
);

impl NSString {
    /// A string of that text.
    pub(crate) fn of(text: &str) -> Retained<NSString> {
        initialized_string(NSString::alloc(), text)
    }

    /// The same as any object.
    pub(crate) fn object_of(text: &str) -> Retained<AnyObject> {
        Retained::into_super(Retained::into_super(NSString::of(text)))
    }

    pub(crate) fn text(&self) -> RwLockReadGuard<'_, Text> {
        literal::real(self).ivars().text.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut String)) {
        let mut text = self.ivars().text.write().unwrap_or_else(PoisonError::into_inner);
        let mut changed = text.as_str().to_owned();
        change(&mut changed);
        *text = Text::new(&changed);
    }

    fn is_equal_to(&self, other: &NSString) -> bool {
        std::ptr::eq(self, other) || self.to_string() == other.to_string()
    }

    /// The part of those UTF-16 units; `to` may be beyond the end.
    fn units(&self, from: usize, to: usize) -> Retained<NSString> {
        let units: Vec<u16> = self.text().as_str().encode_utf16().collect();
        let to = to.min(units.len());
        if from > to {
            raise_range(&format!(
                "-[NSString substring]: {from}..{to} is not within a string of {} units",
                units.len()
            ));
        }
        NSString::of(&String::from_utf16_lossy(&units[from..to]))
    }
}

impl std::fmt::Display for NSString {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.text().as_str())
    }
}

define_class!(
    // SAFETY: `NSString`'s text may change.
    #[unsafe(super(NSString))]
    #[name = "NSMutableString"]
    #[ivars = ()]
    #[derive(Debug)]
    pub(crate) struct NSMutableString;

    impl NSMutableString {
        #[unsafe(method_id(string))]
        fn empty() -> Retained<NSMutableString> {
            NSMutableString::of("")
        }

        #[unsafe(method_id(init))]
        fn init(this: Allocated<Self>) -> Retained<Self> {
            let partial = this.set_ivars(());
            // SAFETY: `init` takes nothing and gives its receiver.
            unsafe { msg_send![super(partial), init] }
        }

        #[unsafe(method_id(initWithBytes:length:encoding:))]
        fn init_bytes(this: Allocated<Self>, bytes: Bytes, length: usize, encoding: i32) -> Option<Retained<Self>> {
            decoded(bytes.read(length), encoding.unsigned_abs().into()).map(|text| NSMutableString::initialized(this, text))
        }

        #[unsafe(method_id(initWithUTF8String:))]
        fn init_utf8(this: Allocated<Self>, text: &CStr) -> Option<Retained<Self>> {
            text.to_str().ok().map(|text| NSMutableString::initialized(this, text))
        }

        #[unsafe(method_id(initWithString:))]
        fn init_string(this: Allocated<Self>, string: &NSString) -> Retained<Self> {
            let partial = this.set_ivars(());
            // SAFETY: the sender promises what the method asks for.
            unsafe { msg_send![super(partial), initWithString: string] }
        }

        #[unsafe(method_id(stringWithCapacity:))]
        fn with_capacity(_capacity: usize) -> Retained<NSMutableString> {
            NSMutableString::of("")
        }

        #[unsafe(method_id(initWithCapacity:))]
        fn init_capacity(this: Allocated<Self>, _capacity: usize) -> Retained<Self> {
            let partial = this.set_ivars(());
            // SAFETY: `init` takes nothing and gives its receiver.
            unsafe { msg_send![super(partial), init] }
        }

        #[unsafe(method(appendString:))]
        fn append(&self, more: &NSString) {
            let more = more.to_string();
            self.change(|text| text.push_str(&more));
        }

        #[unsafe(method(setString:))]
        fn set(&self, new: &NSString) {
            let new = new.to_string();
            self.change(|text| *text = new);
        }

        #[unsafe(method_id(copyWithZone:))]
        fn copy_with_zone(&self, _zone: *mut NSZone) -> Retained<NSString> {
            NSString::of(&self.to_string())
        }
    }
);

impl NSMutableString {
    /// A mutable string of that text.
    pub(crate) fn of(text: &str) -> Retained<NSMutableString> {
        NSMutableString::initialized(NSMutableString::alloc(), text)
    }

    fn initialized(allocated: Allocated<NSMutableString>, text: &str) -> Retained<NSMutableString> {
        let (string, partial) = (NSString::of(text), allocated.set_ivars(()));
        // SAFETY: the method takes a string and gives its receiver.
        unsafe { msg_send![super(partial), initWithString: &*string] }
    }
}

fn initialized_string(allocated: Allocated<NSString>, text: &str) -> Retained<NSString> {
    super::initialized(allocated, StringIvars::new(text))
}

fn decoded(bytes: &[u8], encoding: u64) -> Option<&str> {
    if ENCODINGS.contains(&encoding) { std::str::from_utf8(bytes).ok() } else { None }
}

fn text_of_file(path: &str, encoding: u64) -> Result<String, Retained<NSError>> {
    let bytes = anymetal_files::read(path.as_ref(), super::data::MAX_FILE_BYTES);
    let bytes = bytes.map_err(|problem| NSError::of_file(path, &problem.into()))?;
    decoded(&bytes, encoding).map(str::to_owned).ok_or_else(|| NSError::of_encoding(path))
}

/// The integer that a text starts with, or 0.
fn leading_integer(text: &str) -> i64 {
    let text = text.trim_start();
    let end = text
        .char_indices()
        .take_while(|(at, c)| c.is_ascii_digit() || (*at == 0 && "+-".contains(*c)))
        .count();
    let clamped = |negative: bool| if negative { i64::MIN } else { i64::MAX };
    match text[..end].parse::<i64>() {
        Ok(value) => value,
        Err(_) if end > 1 => clamped(text.starts_with('-')),
        Err(_) => 0,
    }
}

/// The number that a text starts with, or 0.
fn leading_number(text: &str) -> f64 {
    let text = text.trim_start();
    let is_part = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    let mut end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    while end > 0 {
        if let Ok(value) = text[..end].parse() {
            return value;
        }
        end -= 1;
    }
    0.0
}
