//! Objects and classes of objects, as the C functions take and give them.

use std::cell::UnsafeCell;
use std::ffi::c_char;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::class::Class;
use super::lists::terminated_name;

/// C's `BOOL` as a parameter: `unsigned char` off Apple's machines.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bool(u8);

impl Bool {
    /// Whether it is not `NO`.
    pub(crate) fn is_yes(self) -> bool {
        self.0 != 0
    }
}

/// C's `BOOL` as a result, in a whole register. Of a register with a byte in it, C leaves the other bits
/// open, and clients that declare the result as `int`, as those in Python do, read them.
#[repr(transparent)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truth(usize);

impl Truth {
    /// C's `YES`.
    pub(crate) const YES: Truth = Truth(1);
    /// C's `NO`.
    pub(crate) const NO: Truth = Truth(0);
}

impl From<bool> for Truth {
    fn from(value: bool) -> Truth {
        Truth(usize::from(value))
    }
}

/// The address of a method's code; called after a cast to the method's own type.
pub type Imp = unsafe extern "C-unwind" fn();

/// What a pointer to an object points to: memory that starts with its class (null in a class that was
/// not built yet), or, where the low bits of the pointer are set, no memory at all: the pointer itself
/// is a short string, which compilers make ([`super::literal`]).
#[repr(C)]
#[derive(Debug)]
pub struct Object {
    _opaque: UnsafeCell<[u8; 0]>,
}

// SAFETY: only the class pointer is accessed through it, atomically.
unsafe impl Sync for Object {}

/// The bytes of an object without instance variables: its class pointer.
pub(crate) const OBJECT_BYTES: usize = size_of::<AtomicPtr<Class>>();

/// The bits that are clear in the address of an object in memory.
const TAG: usize = align_of::<AtomicPtr<Class>>() - 1;

impl Object {
    /// Whether it is a short string in the pointer itself.
    #[inline]
    pub(crate) fn is_tagged(&self) -> bool {
        std::ptr::from_ref(self).addr() & TAG != 0
    }

    /// The class pointer of an object that is not tagged.
    #[inline]
    fn place(&self) -> &AtomicPtr<Class> {
        debug_assert!(!self.is_tagged(), "a tagged pointer has no memory");
        // SAFETY: an object that is not tagged starts with its class pointer.
        unsafe { &*std::ptr::from_ref(self).cast::<AtomicPtr<Class>>() }
    }

    /// Its class, as it is written; `None` in a class that was not built yet.
    #[inline]
    pub(crate) fn isa(&self) -> Option<&'static Class> {
        if self.is_tagged() {
            return Some(super::literal::class_of_tagged());
        }
        // SAFETY: what is stored is null or was a `&'static Class`.
        unsafe { self.place().load(Ordering::Acquire).as_ref() }
    }

    /// Its class. Builds the class if this is one that was not used before.
    #[inline]
    pub(crate) fn class(&self) -> &'static Class {
        match self.isa() {
            Some(class) => class,
            None => Class::class_of_class(self),
        }
    }

    /// Writes its class; gives the one before. A tagged pointer keeps its class.
    pub(crate) fn set_isa(&self, class: &'static Class) -> Option<&'static Class> {
        if self.is_tagged() {
            return self.isa();
        }
        let before = self.place().swap(std::ptr::from_ref(class).cast_mut(), Ordering::AcqRel);
        // SAFETY: what is stored is null or was a `&'static Class`.
        unsafe { before.as_ref() }
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn object_getClass(object: Option<&Object>) -> Option<&'static Class> {
    object.map(Object::class)
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn object_getClassName(object: Option<&Object>) -> *const c_char {
    terminated_name(object.map(|object| object.class().name()))
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn object_setClass(
    object: Option<&Object>,
    class: Option<&'static Class>,
) -> Option<&'static Class> {
    object?.set_isa(class?)
}
