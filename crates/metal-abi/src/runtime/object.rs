//! Objects and classes of objects, as the C functions take and give them.

use std::ffi::c_char;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::class::Class;
use super::lists::terminated_name;

/// C's `BOOL`: `unsigned char` off Apple's machines.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bool(u8);

impl Bool {
    /// C's `YES`.
    pub(crate) const YES: Bool = Bool(1);
    /// C's `NO`.
    pub(crate) const NO: Bool = Bool(0);

    /// Whether it is not `NO`.
    pub(crate) fn is_yes(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Bool {
    fn from(value: bool) -> Bool {
        Bool(u8::from(value))
    }
}

/// The address of a method's code; called after a cast to the method's own type.
pub type Imp = unsafe extern "C-unwind" fn();

/// The start of every object: its class. Null in a class that was not built yet.
#[repr(C)]
#[derive(Debug)]
pub struct Object {
    isa: AtomicPtr<Class>,
}

impl Object {
    /// The head of a class that was not built yet.
    pub(crate) const fn without_class() -> Object {
        Object { isa: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Its class, as it is written; `None` in a class that was not built yet.
    #[inline]
    pub(crate) fn isa(&self) -> Option<&'static Class> {
        // SAFETY: what is stored is null or was a `&'static Class`.
        unsafe { self.isa.load(Ordering::Acquire).as_ref() }
    }

    /// Its class. Builds the class if this is one that was not used before.
    #[inline]
    pub(crate) fn class(&self) -> &'static Class {
        match self.isa() {
            Some(class) => class,
            None => Class::class_of_class(self),
        }
    }

    /// Writes its class; gives the one before.
    pub(crate) fn set_isa(&self, class: &'static Class) -> Option<&'static Class> {
        let before = self.isa.swap(std::ptr::from_ref(class).cast_mut(), Ordering::AcqRel);
        // SAFETY: what is stored is null or was a `&'static Class`.
        unsafe { before.as_ref() }
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn object_getClass(object: Option<&Object>) -> Option<&'static Class> {
    object.map(Object::class)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn object_getClassName(object: Option<&Object>) -> *const c_char {
    terminated_name(object.map(|object| object.class().name()))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn object_setClass(
    object: Option<&Object>,
    class: Option<&'static Class>,
) -> Option<&'static Class> {
    object?.set_isa(class?)
}
