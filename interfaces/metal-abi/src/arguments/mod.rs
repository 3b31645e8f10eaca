//! Conversion of arguments from the values that senders pass to checked types.
//!
//! Senders are programs in C, Objective-C and Rust, which pass nil, NULL, objects of other classes and
//! objects that were allocated but not initialized. [`crate::define`] converts every argument by
//! [`Argument::take`], which raises a failure that names method and argument where the type of the
//! parameter excludes what was passed:
//!
//! | parameter | nil or NULL | other checks |
//! |---|---|---|
//! | `&T` of a class | refused | the object's class |
//! | `&Block<_>` | refused | it is a block |
//! | `&CStr`, `&mut EnumerationState` | refused | |
//! | `Option<&T>` | `None` | as for `&T` |
//! | [`Out`], [`Bytes`], [`List`] | allowed until they are used | the length or count, when used |
//!
//! Raw pointers are not parameters: [`memory`] has the types for addresses of memory.

mod memory;

use std::ffi::{CStr, c_char};
use std::fmt;

use block2::Block;
use objc2::rc::Allocated;
use objc2::runtime::{AnyClass, AnyObject, Bool, NSObject, NSZone};
use objc2::{DefinedClass, Message};

pub(crate) use memory::{Bytes, ErrorOut, List, Out, may_read, may_write};

use crate::foundation::Range;
use crate::foundation::fast_enumeration::EnumerationState;
use crate::foundation::process_info::Version;
use crate::metal::render_pass::ClearColor;
use crate::metal::size::{Origin, Size, TextureRegion};
use crate::metal::swizzle::Channels;
use crate::runtime::class::{Class, IS_BLOCK};
use crate::runtime::object::Object;
use crate::runtime::{raise, raise_invalid_argument};

/// A parameter of a method, for failures.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site {
    /// The name of the class.
    pub(crate) class: &'static str,
    /// The attributes of the method, which contain its selector.
    pub(crate) attributes: &'static str,
    /// The names of all parameters in brackets, of an instance method with its receiver.
    pub(crate) names: &'static str,
    /// The name of the parameter.
    pub(crate) name: &'static str,
}

impl Site {
    /// That of a method which is not defined by [`define_class!`]; the selector is in parentheses.
    pub(crate) const fn of_instance(
        class: &'static str,
        attributes: &'static str,
        name: &'static str,
    ) -> Site {
        Site { class, attributes, names: "[self]", name }
    }

    /// The same of a class's own method.
    pub(crate) const fn of_class(class: &'static str, attributes: &'static str, name: &'static str) -> Site {
        Site { class, attributes, names: "[]", name }
    }

    fn selector(&self) -> String {
        let start = ["method(", "method_id("].iter().filter_map(|kind| {
            let at = self.attributes.find(kind)?;
            Some(&self.attributes[at + kind.len()..])
        });
        let selector = start.min_by_key(|rest| rest.len()).unwrap_or(self.attributes);
        let selector = selector.split(')').next().unwrap_or_default();
        selector.chars().filter(|character| !character.is_whitespace()).collect()
    }

    /// The method as in Apple's messages: `-[MTLBuffer didModifyRange:]`.
    pub(crate) fn method(&self) -> String {
        let is_of_instance =
            ["self", "this"].iter().any(|receiver| self.names[1..].trim_start().starts_with(receiver));
        let kind = if is_of_instance { '-' } else { '+' };
        format!("{kind}[{} {}]", public_name(self.class), self.selector())
    }

    fn argument(&self) -> &'static str {
        self.name.trim_start_matches('_')
    }

    /// Raises a failure about the argument: Foundation's classes raise `NSInvalidArgumentException`,
    /// Metal's a failed assertion.
    #[cold]
    #[track_caller]
    pub(crate) fn refuse(&self, problem: impl fmt::Display) -> ! {
        let (method, argument) = (self.method(), self.argument());
        if self.class.starts_with("NS") {
            raise_invalid_argument(&format!("{method}: {argument} {problem}"))
        }
        raise(&format!("{method}: failed assertion: {argument} {problem}"))
    }

    #[cold]
    #[track_caller]
    pub(crate) fn refuse_nil(&self) -> ! {
        self.refuse(if self.class.starts_with("NS") { "cannot be nil" } else { "must not be nil" })
    }
}

/// The name of a class in messages: that of the protocol for classes that only this crate has.
pub(crate) fn public_name(class: &str) -> String {
    match class.strip_prefix("Anymetal") {
        Some(protocol) => format!("MTL{protocol}"),
        None => class.to_owned(),
    }
}

/// A type of parameters.
pub(crate) trait Argument: Sized {
    /// What the sender passes.
    type Raw;

    /// Checks the argument; raises a failure for one that the type excludes.
    ///
    /// # Safety
    ///
    /// `raw` is what a sender of the method passed: null, or the address of what the type refers to or
    /// of another live object, for as long as the result is used.
    #[track_caller]
    unsafe fn take(raw: Self::Raw, site: &Site) -> Self;
}

/// Takes the arguments of a method.
macro_rules! take {
    ($class:ident $attributes:tt $names:tt $($parameter:ident: $type:ty,)*) => {
        $(
            // SAFETY: a sender passed it, and the method's own arguments live until it returns.
            let $parameter = unsafe {
                <$type as $crate::arguments::Argument>::take($parameter, &$crate::arguments::Site {
                    class: <$class as $crate::arguments::Instance>::CLASS,
                    attributes: stringify!($attributes),
                    names: stringify!($names),
                    name: stringify!($parameter),
                })
            };
        )*
    };
}

pub(crate) use take;

macro_rules! values {
    ($($type:ty)*) => {
        $(
            impl Argument for $type {
                type Raw = $type;

                #[inline(always)]
                unsafe fn take(raw: $type, _: &Site) -> $type {
                    raw
                }
            }
        )*
    };
}

// Zones are ignored, so nothing reads one. All bits are valid values of the structures.
values! {
    bool Bool u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64
    Range Size Origin TextureRegion Channels ClearColor Version
    *mut NSZone
}

/// What a parameter may refer to.
///
/// # Safety
///
/// A reference that [`Referent::at`] returns is valid.
pub(crate) unsafe trait Referent {
    /// What the sender passes the address of.
    type Pointee;

    /// The referent at an address.
    ///
    /// # Safety
    ///
    /// `address` is as in [`Argument::take`], and not null.
    unsafe fn at<'a>(address: *const Self::Pointee, site: &Site) -> &'a Self;
}

impl<T: Referent + ?Sized> Argument for &T {
    type Raw = *const T::Pointee;

    #[inline]
    unsafe fn take(raw: Self::Raw, site: &Site) -> Self {
        if raw.is_null() {
            site.refuse_nil();
        }
        // SAFETY: as promised.
        unsafe { T::at(raw, site) }
    }
}

impl<T: Referent + ?Sized> Argument for Option<&T> {
    type Raw = *const T::Pointee;

    #[inline]
    unsafe fn take(raw: Self::Raw, site: &Site) -> Self {
        // SAFETY: as promised.
        (!raw.is_null()).then(|| unsafe { T::at(raw, site) })
    }
}

impl Argument for &mut EnumerationState {
    type Raw = *mut EnumerationState;

    #[inline]
    unsafe fn take(raw: Self::Raw, site: &Site) -> Self {
        if !raw.is_aligned() {
            site.refuse("is not aligned");
        }
        // SAFETY: as promised, and the sender lends it to the method.
        unsafe { raw.as_mut() }.unwrap_or_else(|| site.refuse_nil())
    }
}

/// A class of this crate.
///
/// # Safety
///
/// `is_class_of` answers for the class whose instances the type stands for.
pub(crate) unsafe trait Instance: Message {
    /// Its name.
    const CLASS: &'static str;

    /// Whether the object is an instance of the class or of one below it.
    fn is_class_of(object: &AnyObject) -> bool;
}

// SAFETY: the class is checked; instance variables are checked by `ivars_of`.
unsafe impl<T: Instance> Referent for T {
    type Pointee = T;

    #[inline]
    unsafe fn at<'a>(address: *const T, site: &Site) -> &'a T {
        // SAFETY: as promised, it is an object.
        let object = unsafe { &*address.cast::<AnyObject>() };
        if !T::is_class_of(object) {
            site.refuse(format_args!(
                "is an instance of {}, not of {}",
                class_name(object),
                public_name(T::CLASS)
            ));
        }
        // SAFETY: as promised, and the object is of the class.
        unsafe { &*address }
    }
}

fn runtime_object(object: &AnyObject) -> &Object {
    // SAFETY: both stand for an object, of which only the class is read.
    unsafe { &*std::ptr::from_ref(object).cast::<Object>() }
}

/// The name of an object's class in messages.
pub(crate) fn class_name(object: &AnyObject) -> String {
    public_name(runtime_object(object).class().display_name())
}

/// Whether the object is an instance of the class or of one below it.
#[inline]
pub(crate) fn is_kind_of(object: &AnyObject, class: &'static AnyClass) -> bool {
    // SAFETY: `objc2` treats classes as opaque; they are this runtime's.
    let class: &'static Class = unsafe { &*std::ptr::from_ref(class).cast::<Class>() };
    runtime_object(object).class().is_kind_of(class)
}

// SAFETY: there is nothing to check.
unsafe impl Referent for AnyObject {
    type Pointee = AnyObject;

    #[inline]
    unsafe fn at<'a>(address: *const AnyObject, _: &Site) -> &'a AnyObject {
        // SAFETY: as promised, it is an object.
        unsafe { &*address }
    }
}

// SAFETY: as for objects; it stands for any.
unsafe impl Referent for NSObject {
    type Pointee = NSObject;

    #[inline]
    unsafe fn at<'a>(address: *const NSObject, _: &Site) -> &'a NSObject {
        // SAFETY: as promised, it is an object.
        unsafe { &*address }
    }
}

// SAFETY: that it is a block is checked; of which type is what the method documents.
unsafe impl<F: ?Sized> Referent for Block<F> {
    type Pointee = Block<F>;

    #[inline]
    unsafe fn at<'a>(address: *const Block<F>, site: &Site) -> &'a Block<F> {
        // SAFETY: as promised, it is an object.
        let object = unsafe { &*address.cast::<AnyObject>() };
        if runtime_object(object).class().flags() & IS_BLOCK == 0 {
            site.refuse(format_args!("is an instance of {}, not a block", class_name(object)));
        }
        // SAFETY: as promised, and it is a block.
        unsafe { &*address }
    }
}

// SAFETY: it is made as the standard library prescribes.
unsafe impl Referent for CStr {
    type Pointee = c_char;

    #[inline]
    unsafe fn at<'a>(address: *const c_char, _: &Site) -> &'a CStr {
        // SAFETY: the sender passes a C string.
        unsafe { CStr::from_ptr(address) }
    }
}

impl<T: DefinedClass> Argument for Allocated<T> {
    type Raw = Allocated<T>;

    #[inline]
    unsafe fn take(raw: Self::Raw, site: &Site) -> Self {
        // SAFETY: a receiver is a live object of the class.
        if unsafe { Allocated::as_ptr(&raw).as_ref() }
            .is_some_and(|object| has_flag::<T>() && is_initialized(object))
        {
            site.refuse("is initialized already");
        }
        raw
    }
}

/// Whether instances note that their variables were written: where those need to be dropped.
const fn has_flag<T: DefinedClass>() -> bool {
    std::mem::needs_drop::<T::Ivars>()
}

/// Whether `init` wrote the instance variables. Those without a flag are valid as zeros.
#[inline]
fn is_initialized<T: DefinedClass>(object: &T) -> bool {
    if !has_flag::<T>() {
        return true;
    }
    let flag = std::ptr::from_ref(object).cast::<u8>().wrapping_offset(T::__drop_flag_offset());
    // SAFETY: the class is registered, because it has an instance, which contains the flag: `objc2`
    // adds it to classes whose instance variables need to be dropped, and writes it in `set_ivars`.
    unsafe { flag.read() != 0 }
}

/// The instance variables of an object; a failure if the object was allocated and not initialized.
#[inline]
#[track_caller]
pub(crate) fn ivars_of<T: DefinedClass + Instance>(object: &T) -> &T::Ivars {
    if !is_initialized(object) {
        refuse_uninitialized(T::CLASS);
    }
    object.ivars()
}

#[cold]
#[track_caller]
fn refuse_uninitialized(class: &str) -> ! {
    raise_invalid_argument(&format!(
        "+[{} alloc]: the object is used without having been initialized",
        public_name(class)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_names_class_selector_and_argument() {
        let mut site = Site {
            class: "AnymetalBuffer",
            attributes: "[unsafe(method(newTextureWithDescriptor:offset: bytesPerRow:))]",
            names: "[self descriptor offset row_bytes]",
            name: "_descriptor",
        };
        assert_eq!(site.method(), "-[MTLBuffer newTextureWithDescriptor:offset:bytesPerRow:]");
        assert_eq!(site.argument(), "descriptor");
        site = Site { class: "NSArray", attributes: "[unsafe(method_id(array))]", names: "[]", name: "" };
        assert_eq!(site.method(), "+[NSArray array]");
    }
}
