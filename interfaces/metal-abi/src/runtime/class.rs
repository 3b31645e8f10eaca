//! Classes and metaclasses.
//!
//! Owns [`Class`]. Invariant: `isa` is null until the class is built and registered, and then never
//! null again; a class that was registered keeps superclass, size and instance variables.

use std::ffi::CStr;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::cache::Cache;
use super::method::{Ivar, Method};
use super::object::{Imp, OBJECT_BYTES, Object};
use super::property::Property;
use super::protocol::Protocol;
use super::registry;
use super::selector::Sel;

/// It is the class of a class.
pub(crate) const IS_META: u32 = 1;
/// It or a superclass below the root overrides `retain`, `release` or `autorelease`.
pub(crate) const COUNTS_ITSELF: u32 = 2;
/// Its objects are blocks.
pub(crate) const IS_BLOCK: u32 = 4;
/// It or a superclass has `.cxx_destruct`.
pub(crate) const DESTRUCTS: u32 = 8;
/// It stands for a class that this crate does not implement.
pub(crate) const IS_ABSENT: u32 = 16;
/// Its objects are compiled constants, which have no head and are not counted.
pub(crate) const IS_CONSTANT: u32 = 32;
/// `+initialize` is to be sent before its first message.
pub(crate) const NEEDS_INITIALIZE: u32 = 64;
/// It or a superclass has `.cxx_construct`.
pub(crate) const CONSTRUCTS: u32 = 128;
/// What a class does not take over from its superclass.
pub(crate) const OWN_FLAGS: u32 = IS_CONSTANT | IS_ABSENT | NEEDS_INITIALIZE;

/// A class or metaclass.
#[repr(C)]
#[derive(Debug)]
pub struct Class {
    isa: AtomicPtr<Class>,
    /// Directly after the class pointer: the trampolines of [`super::send`] read it there.
    cache: Cache,
    flags: AtomicU32,
    version: AtomicI32,
    superclass: AtomicPtr<Class>,
    /// The metaclass while `isa` is still null.
    metaclass: AtomicPtr<Class>,
    instance_bytes: AtomicUsize,
    /// The thread that builds it; 0: none.
    builder: AtomicUsize,
    name: &'static CStr,
    build: Option<fn()>,
    body: Mutex<Body>,
}

/// What can be added to a class.
#[derive(Debug, Default)]
pub(crate) struct Body {
    pub(crate) methods: Vec<&'static Method>,
    pub(crate) ivars: Vec<&'static Ivar>,
    pub(crate) protocols: Vec<&'static Protocol>,
    pub(crate) properties: Vec<&'static Property>,
}

impl Class {
    /// A class that is built by its first message: by `build`, which must register a class of that
    /// name, or as one that refuses every use by name.
    pub(crate) const fn unbuilt(name: &'static CStr, flags: u32, build: Option<fn()>) -> Class {
        let body =
            Body { methods: Vec::new(), ivars: Vec::new(), protocols: Vec::new(), properties: Vec::new() };
        Class {
            isa: AtomicPtr::new(std::ptr::null_mut()),
            cache: Cache::empty(),
            flags: AtomicU32::new(flags),
            version: AtomicI32::new(0),
            superclass: AtomicPtr::new(std::ptr::null_mut()),
            metaclass: AtomicPtr::new(std::ptr::null_mut()),
            instance_bytes: AtomicUsize::new(OBJECT_BYTES),
            builder: AtomicUsize::new(0),
            name,
            build,
            body: Mutex::new(body),
        }
    }

    /// The class of a class that had none when it was looked at: built now. While a class is built,
    /// its own thread sees the metaclass to be.
    #[cold]
    pub(crate) fn class_of_class(object: &Object) -> &'static Class {
        // SAFETY: only classes have no `isa`, classes start with their object, and they are never
        // freed.
        let class: &'static Class = unsafe { &*std::ptr::from_ref(object).cast::<Class>() };
        if class.builder.load(Ordering::Acquire) != this_thread() {
            class.build_now();
        }
        class.metaclass().unwrap_or_else(|| panic!("the class {:?} was not registered", class.name))
    }

    fn build_now(&'static self) {
        match self.build {
            Some(build) => build(),
            None => super::absent::build(self),
        }
    }

    /// Builds it if it was not used before.
    pub(crate) fn ready(&'static self) -> &'static Class {
        self.as_object().class();
        self
    }

    /// The class as an object.
    pub(crate) fn as_object(&self) -> &Object {
        // SAFETY: a class starts with its class pointer, as every object does.
        unsafe { &*std::ptr::from_ref(self).cast::<Object>() }
    }

    pub(crate) fn name(&self) -> &'static CStr {
        self.name
    }

    /// Its name for messages.
    pub(crate) fn display_name(&self) -> &'static str {
        self.name.to_str().unwrap_or("?")
    }

    /// Whether its name was given to something that can build it.
    pub(crate) fn is_implemented(&self) -> bool {
        self.build.is_some()
    }

    pub(crate) fn flags(&self) -> u32 {
        self.flags.load(Ordering::Acquire)
    }

    pub(crate) fn add_flags(&self, flags: u32) {
        self.flags.fetch_or(flags, Ordering::AcqRel);
    }

    pub(crate) fn remove_flags(&self, flags: u32) {
        self.flags.fetch_and(!flags, Ordering::AcqRel);
    }

    pub(crate) fn is_meta(&self) -> bool {
        self.flags() & IS_META != 0
    }

    pub(crate) fn version(&self) -> &AtomicI32 {
        &self.version
    }

    pub(crate) fn cache(&self) -> &Cache {
        &self.cache
    }

    pub(crate) fn superclass(&self) -> Option<&'static Class> {
        // SAFETY: what is stored is null or was a `&'static Class`.
        unsafe { self.superclass.load(Ordering::Acquire).as_ref() }
    }

    pub(crate) fn set_superclass(&self, superclass: &'static Class) {
        self.superclass.store(std::ptr::from_ref(superclass).cast_mut(), Ordering::Release);
    }

    /// The byte of a class at which its cache is.
    pub(crate) const CACHE_OFFSET: usize = std::mem::offset_of!(Class, cache);

    /// The metaclass, built or being built.
    pub(crate) fn metaclass(&self) -> Option<&'static Class> {
        // SAFETY: what is stored is null or was a `&'static Class`.
        unsafe { self.metaclass.load(Ordering::Acquire).as_ref() }
    }

    pub(crate) fn set_metaclass(&self, metaclass: &'static Class) {
        self.metaclass.store(std::ptr::from_ref(metaclass).cast_mut(), Ordering::Release);
    }

    /// Bytes of an instance, its class pointer included.
    pub(crate) fn instance_bytes(&self) -> usize {
        self.instance_bytes.load(Ordering::Acquire)
    }

    pub(crate) fn set_instance_bytes(&self, bytes: usize) {
        self.instance_bytes.store(bytes, Ordering::Release);
    }

    /// Marks it as being built by this thread, or by none any more.
    pub(crate) fn set_building(&self, building: bool) {
        self.builder.store(if building { this_thread() } else { 0 }, Ordering::Release);
    }

    /// Its own methods and so on, to read or to change.
    pub(crate) fn body(&self) -> MutexGuard<'_, Body> {
        self.body.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It and its superclasses, upwards.
    pub(crate) fn ancestry(&'static self) -> impl Iterator<Item = &'static Class> {
        std::iter::successors(Some(self), |class| class.superclass())
    }

    /// Whether it is the other or below it.
    pub(crate) fn is_kind_of(&'static self, other: *const Class) -> bool {
        self.ancestry().any(|class| std::ptr::eq(class, other))
    }

    /// The method of its own, not of a superclass.
    pub(crate) fn own_method(&self, selector: Sel) -> Option<&'static Method> {
        self.body().methods.iter().copied().find(|method| method.selector() == selector)
    }

    /// The method that a message with the selector runs.
    pub(crate) fn method(&'static self, selector: Sel) -> Option<&'static Method> {
        self.ancestry().find_map(|class| class.own_method(selector))
    }

    /// The code that a message with the selector runs; `None`: it has no such method.
    #[inline]
    pub(crate) fn implementation(&'static self, selector: Sel) -> Option<Imp> {
        self.cache.find(selector.key()).or_else(|| self.implementation_uncached(selector))
    }

    #[cold]
    fn implementation_uncached(&'static self, selector: Sel) -> Option<Imp> {
        self.ready();
        if self.flags() & NEEDS_INITIALIZE != 0 {
            super::initialize::before_first_message(self);
        }
        let _no_change_meanwhile = registry::mutation();
        let found = self.method(selector)?.implementation();
        // While this thread is inside `+initialize`, the others must come here and wait.
        if self.flags() & NEEDS_INITIALIZE == 0 {
            self.cache.insert(selector.key(), found);
        }
        Some(found)
    }
}

/// A number of the calling thread, not 0.
fn this_thread() -> usize {
    thread_local!(static MARK: u8 = const { 0 });
    MARK.with(|mark| std::ptr::from_ref(mark) as usize)
}
