//! Instances: their memory, from allocation to disposal.
//!
//! Layout: a [`Head`], then the object with its class and its instance variables, all zero at
//! first.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::{c_char, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use super::class::{CONSTRUCTS, Class, DESTRUCTS, IS_BLOCK};
use super::introspection::instance_variable;
use super::lists::text;
use super::method::Ivar;
use super::object::{Imp, Object};
use super::selector::Sel;
use super::{associated, weak};
use crate::classes;

/// A weak reference to the object was made.
pub(crate) const HAS_WEAK: u32 = 1;
/// Another object was associated with it.
pub(crate) const HAS_ASSOCIATED: u32 = 2;

/// What stands before every instance; a multiple of the largest alignment of a C type.
#[repr(C, align(16))]
#[derive(Debug)]
pub(crate) struct Head {
    /// The object's bytes without the head. 32 bits: instances are small.
    bytes: u32,
    flags: AtomicU32,
    /// How many references there are; 0 once the object is being deallocated.
    count: AtomicUsize,
}

impl Head {
    /// The head of an instance.
    ///
    /// # Safety
    ///
    /// `object` is a live instance, no class and no block, for as long as `'a`.
    #[inline]
    pub(crate) unsafe fn of<'a>(object: *mut Object) -> &'a Head {
        // SAFETY: as promised, and every instance has a head before it.
        unsafe { &*object.cast::<Head>().sub(1) }
    }

    #[inline]
    pub(crate) fn count(&self) -> &AtomicUsize {
        &self.count
    }

    pub(crate) fn flags(&self) -> u32 {
        self.flags.load(Ordering::Acquire)
    }

    pub(crate) fn add_flags(&self, flags: u32) {
        self.flags.fetch_or(flags, Ordering::AcqRel);
    }
}

/// A new instance with one reference, all instance variables zero; null where there is no memory for it.
pub(crate) fn create(class: &'static Class, extra_bytes: usize) -> *mut Object {
    // Only compilers make blocks and constant strings, whose layouts are theirs.
    if class.flags() & IS_BLOCK != 0 || class.is_kind_of(classes::constant_string()) {
        return std::ptr::null_mut();
    }
    let bytes = class.ready().instance_bytes().checked_add(extra_bytes);
    let Some((bytes, small)) = bytes.and_then(|bytes| Some((bytes, u32::try_from(bytes).ok()?))) else {
        return std::ptr::null_mut();
    };
    let layout = layout(bytes);
    // SAFETY: the layout has a size.
    let memory = unsafe { alloc_zeroed(layout) };
    let Some(head) = NonNull::new(memory.cast::<Head>()) else { return std::ptr::null_mut() };
    let filled = Head { bytes: small, flags: AtomicU32::new(0), count: AtomicUsize::new(1) };
    // SAFETY: the memory is new, aligned, and has room for the head and the object.
    let object = unsafe {
        head.write(filled);
        head.add(1).cast::<Object>().as_ptr()
    };
    // SAFETY: an object's start is valid when zero.
    unsafe { &*object }.set_isa(class);
    if class.flags() & CONSTRUCTS != 0 {
        // SAFETY: the instance is new.
        unsafe { construct(class, object) };
    }
    object
}

fn layout(bytes: usize) -> Layout {
    let bytes = size_of::<Head>() + bytes;
    Layout::from_size_align(bytes, align_of::<Head>()).expect("32 bits of bytes fit")
}

/// Ends an instance: its destructors run, what refers to it weakly is cleared, its memory is freed.
///
/// # Safety
///
/// `object` is an instance that nothing refers to any more.
pub(crate) unsafe fn dispose(object: *mut Object) {
    // SAFETY: as promised.
    let (head, class) = unsafe { (Head::of(object), (*object).class()) };
    if class.flags() & DESTRUCTS != 0 {
        // SAFETY: as promised.
        unsafe { destruct(class, object) };
    }
    let flags = head.flags();
    if flags & HAS_ASSOCIATED != 0 {
        associated::remove_all(object);
    }
    if flags & HAS_WEAK != 0 {
        weak::clear(object);
    }
    let layout = layout(head.bytes as usize);
    // SAFETY: the instance was allocated by `create` with this layout, and nothing refers to it any
    // more.
    unsafe { dealloc(object.cast::<Head>().sub(1).cast(), layout) };
}

/// Runs the constructors of C++ members, those of superclasses first.
///
/// # Safety
///
/// `object` is a new instance of the class.
unsafe fn construct(class: &'static Class, object: *mut Object) {
    let selector = Sel::of(c".cxx_construct");
    let methods: Vec<_> = class.ancestry().filter_map(|class| class.own_method(selector)).collect();
    for method in methods.into_iter().rev() {
        // SAFETY: as promised, and a method of that name takes nothing.
        unsafe { run(method.implementation(), object, selector) };
    }
}

/// Runs the destructors of its class and of all above.
///
/// # Safety
///
/// `object` is an instance of the class that nothing else refers to.
unsafe fn destruct(class: &'static Class, object: *mut Object) {
    let selector = Sel::of(c".cxx_destruct");
    for method in class.ancestry().filter_map(|class| class.own_method(selector)) {
        // SAFETY: as promised, and a method of that name takes nothing.
        unsafe { run(method.implementation(), object, selector) };
    }
}

/// # Safety
///
/// `code` is of a method of the object's that takes nothing; what it gives is not looked at.
unsafe fn run(code: Imp, object: *mut Object, selector: Sel) {
    // SAFETY: as promised, this is the method's type.
    let code = unsafe { std::mem::transmute::<Imp, unsafe extern "C-unwind" fn(*mut Object, Sel)>(code) };
    // SAFETY: as promised.
    unsafe { code(object, selector) };
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn class_createInstance(
    class: Option<&'static Class>,
    extra_bytes: usize,
) -> *mut Object {
    class.map_or(std::ptr::null_mut(), |class| create(class, extra_bytes))
}

/// # Safety
///
/// `object` is null or an instance that nothing refers to any more.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn object_dispose(object: *mut Object) -> *mut Object {
    if !object.is_null() {
        // SAFETY: as promised.
        unsafe { dispose(object) };
    }
    std::ptr::null_mut()
}

/// # Safety
///
/// `object` is a live instance of a class with that variable, which is a pointer.
unsafe fn variable(object: *mut Object, ivar: &Ivar) -> *mut *mut c_void {
    // SAFETY: as promised, the variable lies within the object.
    unsafe { object.cast::<u8>().add(ivar.offset).cast() }
}

/// # Safety
///
/// `object` is null or a live instance of a class with that variable, which is a pointer.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn object_getIvar(
    object: *mut Object,
    ivar: Option<&'static Ivar>,
) -> *mut c_void {
    match ivar {
        // SAFETY: as promised.
        Some(ivar) if !object.is_null() => unsafe { *variable(object, ivar) },
        _ => std::ptr::null_mut(),
    }
}

/// # Safety
///
/// `object` is null or a live instance of a class with that variable, which is a pointer.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn object_setIvar(
    object: *mut Object,
    ivar: Option<&'static Ivar>,
    value: *mut c_void,
) {
    if let Some(ivar) = ivar.filter(|_| !object.is_null()) {
        // SAFETY: as promised.
        unsafe { *variable(object, ivar) = value };
    }
}

/// # Safety
///
/// `object` is null or a live instance, `name` null or a C string, and a variable of that name a
/// pointer; `value` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn object_getInstanceVariable(
    object: *mut Object,
    name: *const c_char,
    value: *mut *mut c_void,
) -> Option<&'static Ivar> {
    // SAFETY: as promised.
    let ivar = unsafe { instance_variable(object.as_ref()?.class(), text(name)) }?;
    if !value.is_null() {
        // SAFETY: as promised.
        unsafe { *value = *variable(object, ivar) };
    }
    Some(ivar)
}

/// # Safety
///
/// `object` is null or a live instance, `name` null or a C string, and a variable of that name a
/// pointer.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn object_setInstanceVariable(
    object: *mut Object,
    name: *const c_char,
    value: *mut c_void,
) -> Option<&'static Ivar> {
    // SAFETY: as promised.
    let ivar = unsafe { instance_variable(object.as_ref()?.class(), text(name)) }?;
    // SAFETY: as promised.
    unsafe { *variable(object, ivar) = value };
    Some(ivar)
}

/// # Safety
///
/// `object` is null or a live instance.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn object_getIndexedIvars(object: *mut Object) -> *mut c_void {
    // SAFETY: as promised; the extra bytes come after the instance's own.
    unsafe {
        match object.as_ref() {
            Some(head) => object.cast::<u8>().add(head.class().instance_bytes()).cast(),
            None => std::ptr::null_mut(),
        }
    }
}
