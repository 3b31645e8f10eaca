//! `NSNumber`.

use std::ffi::c_char;

use objc2::Message;
use objc2::rc::{Allocated, Retained};
use objc2::runtime::{AnyObject, NSObject, NSZone};

use super::string::NSString;

/// A number as it was given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value {
    /// A truth value.
    Bool(bool),
    /// A signed integer.
    Signed(i64),
    /// An unsigned integer.
    Unsigned(u64),
    /// A `float`.
    Float(f32),
    /// A `double`.
    Double(f64),
}

impl Value {
    fn as_i128(self) -> i128 {
        match self {
            Value::Bool(value) => value.into(),
            Value::Signed(value) => value.into(),
            Value::Unsigned(value) => value.into(),
            Value::Float(value) => value as i128,
            Value::Double(value) => value as i128,
        }
    }

    fn as_f64(self) -> f64 {
        match self {
            Value::Float(value) => value.into(),
            Value::Double(value) => value,
            Value::Bool(_) | Value::Signed(_) | Value::Unsigned(_) => self.as_i128() as f64,
        }
    }

    fn is_integer(self) -> bool {
        !matches!(self, Value::Float(_) | Value::Double(_))
    }

    fn compare(self, other: Value) -> std::cmp::Ordering {
        if self.is_integer() && other.is_integer() {
            return self.as_i128().cmp(&other.as_i128());
        }
        self.as_f64().total_cmp(&other.as_f64())
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Bool(value) => write!(formatter, "{}", u8::from(*value)),
            Value::Signed(value) => write!(formatter, "{value}"),
            Value::Unsigned(value) => write!(formatter, "{value}"),
            Value::Float(value) => write!(formatter, "{value}"),
            Value::Double(value) => write!(formatter, "{value}"),
        }
    }
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "NSNumber"]
    #[ivars = Value]
    #[derive(Debug)]
    pub(crate) struct NSNumber;

    impl NSNumber {
        #[unsafe(method_id(numberWithBool:))]
        fn with_bool(value: bool) -> Retained<NSNumber> { NSNumber::of(Value::Bool(value)) }
        #[unsafe(method_id(numberWithChar:))]
        fn with_char(value: i8) -> Retained<NSNumber> { NSNumber::of(Value::Signed(value.into())) }
        #[unsafe(method_id(numberWithUnsignedChar:))]
        fn with_uchar(value: u8) -> Retained<NSNumber> { NSNumber::of(Value::Unsigned(value.into())) }
        #[unsafe(method_id(numberWithShort:))]
        fn with_short(value: i16) -> Retained<NSNumber> { NSNumber::of(Value::Signed(value.into())) }
        #[unsafe(method_id(numberWithUnsignedShort:))]
        fn with_ushort(value: u16) -> Retained<NSNumber> { NSNumber::of(Value::Unsigned(value.into())) }
        #[unsafe(method_id(numberWithInt:))]
        fn with_int(value: i32) -> Retained<NSNumber> { NSNumber::of(Value::Signed(value.into())) }
        #[unsafe(method_id(numberWithUnsignedInt:))]
        fn with_uint(value: u32) -> Retained<NSNumber> { NSNumber::of(Value::Unsigned(value.into())) }
        #[unsafe(method_id(numberWithLongLong:))]
        fn with_long_long(value: i64) -> Retained<NSNumber> { NSNumber::of(Value::Signed(value)) }
        #[unsafe(method_id(numberWithUnsignedLongLong:))]
        fn with_ulong_long(value: u64) -> Retained<NSNumber> { NSNumber::of(Value::Unsigned(value)) }
        #[unsafe(method_id(numberWithInteger:))]
        fn with_integer(value: isize) -> Retained<NSNumber> { NSNumber::of(Value::Signed(value as i64)) }
        #[unsafe(method_id(numberWithUnsignedInteger:))]
        fn with_uinteger(value: usize) -> Retained<NSNumber> { NSNumber::of(Value::Unsigned(value as u64)) }
        #[unsafe(method_id(numberWithFloat:))]
        fn with_float(value: f32) -> Retained<NSNumber> { NSNumber::of(Value::Float(value)) }
        #[unsafe(method_id(numberWithDouble:))]
        fn with_double(value: f64) -> Retained<NSNumber> { NSNumber::of(Value::Double(value)) }

        #[unsafe(method_id(initWithBool:))]
        fn init_bool(this: Allocated<Self>, value: bool) -> Retained<Self> { super::initialized(this, Value::Bool(value)) }
        #[unsafe(method_id(initWithInteger:))]
        fn init_integer(this: Allocated<Self>, value: isize) -> Retained<Self> { super::initialized(this, Value::Signed(value as i64)) }
        #[unsafe(method_id(initWithUnsignedInteger:))]
        fn init_uinteger(this: Allocated<Self>, value: usize) -> Retained<Self> { super::initialized(this, Value::Unsigned(value as u64)) }
        #[unsafe(method_id(initWithFloat:))]
        fn init_float(this: Allocated<Self>, value: f32) -> Retained<Self> { super::initialized(this, Value::Float(value)) }
        #[unsafe(method_id(initWithDouble:))]
        fn init_double(this: Allocated<Self>, value: f64) -> Retained<Self> { super::initialized(this, Value::Double(value)) }

        #[unsafe(method(boolValue))]
        fn bool_value(&self) -> bool { self.ivars().as_f64() != 0.0 }
        #[unsafe(method(charValue))]
        fn char_value(&self) -> i8 { self.ivars().as_i128() as i8 }
        #[unsafe(method(unsignedCharValue))]
        fn uchar_value(&self) -> u8 { self.ivars().as_i128() as u8 }
        #[unsafe(method(shortValue))]
        fn short_value(&self) -> i16 { self.ivars().as_i128() as i16 }
        #[unsafe(method(unsignedShortValue))]
        fn ushort_value(&self) -> u16 { self.ivars().as_i128() as u16 }
        #[unsafe(method(intValue))]
        fn int_value(&self) -> i32 { self.ivars().as_i128() as i32 }
        #[unsafe(method(unsignedIntValue))]
        fn uint_value(&self) -> u32 { self.ivars().as_i128() as u32 }
        #[unsafe(method(longLongValue))]
        fn long_long_value(&self) -> i64 { self.ivars().as_i128() as i64 }
        #[unsafe(method(unsignedLongLongValue))]
        fn ulong_long_value(&self) -> u64 { self.ivars().as_i128() as u64 }
        #[unsafe(method(integerValue))]
        fn integer_value(&self) -> isize { self.ivars().as_i128() as isize }
        #[unsafe(method(unsignedIntegerValue))]
        fn uinteger_value(&self) -> usize { self.ivars().as_i128() as usize }
        #[unsafe(method(floatValue))]
        fn float_value(&self) -> f32 { self.ivars().as_f64() as f32 }
        #[unsafe(method(doubleValue))]
        fn double_value(&self) -> f64 { self.ivars().as_f64() }

        #[unsafe(method(objCType))]
        fn objc_type(&self) -> *const c_char {
            let text = match self.ivars() {
                Value::Bool(_) => c"C",
                Value::Signed(_) => c"q",
                Value::Unsigned(_) => c"Q",
                Value::Float(_) => c"f",
                Value::Double(_) => c"d",
            };
            text.as_ptr()
        }

        #[unsafe(method_id(stringValue))]
        fn string_value(&self) -> Retained<NSString> { NSString::of(&self.ivars().to_string()) }
        #[unsafe(method_id(description))]
        fn description(&self) -> Retained<NSString> { NSString::of(&self.ivars().to_string()) }

        #[unsafe(method(compare:))]
        fn compare(&self, other: &NSNumber) -> isize { self.ivars().compare(*other.ivars()) as isize }
        #[unsafe(method(isEqualToNumber:))]
        fn is_equal_to_number(&self, other: Option<&NSNumber>) -> bool { other.is_some_and(|other| self.ivars().compare(*other.ivars()).is_eq()) }
        #[unsafe(method(isEqual:))]
        fn is_equal(&self, other: Option<&AnyObject>) -> bool {
            let other = other.and_then(|other| other.downcast_ref::<NSNumber>());
            other.is_some_and(|other| self.ivars().compare(*other.ivars()).is_eq())
        }
        #[unsafe(method(hash))]
        fn hash(&self) -> usize { self.ivars().as_f64().to_bits() as usize }
        #[unsafe(method_id(copyWithZone:))]
        fn copy_with_zone(&self, _zone: *mut NSZone) -> Retained<NSNumber> { self.retain() }
    }
);

impl NSNumber {
    /// A number of that value.
    pub(crate) fn of(value: Value) -> Retained<NSNumber> {
        super::object(value)
    }
}

impl NSNumber {
    /// Its digits.
    pub(crate) fn text(&self) -> String {
        self.ivars().to_string()
    }
}
