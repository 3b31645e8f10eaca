//! The C functions of the runtime, and messages.

use std::ffi::{CStr, CString, c_char, c_uint};

use crate::call::{Arguments, call};
use crate::encoding::{Kind, kinds};

// Links the library that defines the functions.
use anymetal_metal_abi as _;

unsafe extern "C-unwind" {
    fn objc_copyClassList(count: *mut c_uint) -> *mut usize;
    fn class_copyMethodList(class: usize, count: *mut c_uint) -> *mut usize;
    fn class_getName(class: usize) -> *const c_char;
    fn class_getSuperclass(class: usize) -> usize;
    fn class_isMetaClass(class: usize) -> u8;
    fn object_getClass(object: usize) -> usize;
    fn method_getName(method: usize) -> usize;
    fn method_getTypeEncoding(method: usize) -> *const c_char;
    fn method_getImplementation(method: usize) -> *const ();
    fn sel_registerName(name: *const c_char) -> usize;
    fn sel_getName(selector: usize) -> *const c_char;
    fn objc_getClass(name: *const c_char) -> usize;
    fn objc_msg_lookup(receiver: usize, selector: usize) -> *const ();
    fn objc_retain(object: usize) -> usize;
    fn objc_release(object: usize);
    fn objc_autoreleasePoolPush() -> usize;
    fn objc_autoreleasePoolPop(pool: usize);
    fn class_createInstance(class: usize, bytes: usize) -> usize;
    /// The device, with a reference.
    pub safe fn MTLCreateSystemDefaultDevice() -> usize;
}

/// A method of a class.
#[derive(Debug, Clone)]
pub struct Method {
    /// The class's name.
    pub class: String,
    /// The class's own, not one of its instances.
    pub is_of_class: bool,
    /// The selector's name.
    pub selector: String,
    /// The result's type, then those of the arguments, receiver and selector first.
    pub kinds: Vec<Kind>,
    code: usize,
    key: usize,
}

impl std::fmt::Display for Method {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = if self.is_of_class { '+' } else { '-' };
        write!(formatter, "{kind}[{} {}]", self.class, self.selector)
    }
}

impl Method {
    /// Arguments with the receiver and the selector.
    pub fn arguments(&self, receiver: usize) -> Arguments {
        Arguments::new(receiver, self.key)
    }

    /// Calls the method.
    ///
    /// # Safety
    ///
    /// The receiver has the method, and the arguments are of its types; pointers are null, objects, or
    /// memory.
    pub unsafe fn call(&self, arguments: &Arguments) -> u64 {
        // SAFETY: as promised.
        unsafe { call(std::ptr::with_exposed_provenance(self.code), &self.kinds[0], arguments) }
    }
}

fn text(address: *const c_char) -> String {
    // SAFETY: the runtime's functions return C strings that live for ever.
    unsafe { CStr::from_ptr(address) }.to_string_lossy().into_owned()
}

/// The entries of a list in memory of `malloc`, which is freed.
unsafe fn taken(list: *mut usize, count: c_uint) -> Vec<usize> {
    if list.is_null() {
        return Vec::new();
    }
    // SAFETY: the runtime's functions return that many entries.
    unsafe {
        let entries = std::slice::from_raw_parts(list, count as usize).to_vec();
        libc::free(list.cast());
        entries
    }
}

/// All classes, sorted by name.
pub fn classes() -> Vec<usize> {
    let mut count = 0;
    // SAFETY: the function returns a list of that many classes.
    let mut classes = unsafe { taken(objc_copyClassList(&raw mut count), count) };
    classes.sort_by_key(|&class| name_of(class));
    classes
}

/// The name of a class.
pub fn name_of(class: usize) -> String {
    // SAFETY: the function takes any class.
    text(unsafe { class_getName(class) })
}

/// The class of that name.
pub fn class_named(name: &str) -> usize {
    let name = CString::new(name).expect("names have no zeros");
    // SAFETY: the name is a C string.
    unsafe { objc_getClass(name.as_ptr()) }
}

/// The class of an object.
pub fn class_of(object: usize) -> usize {
    // SAFETY: the object is alive.
    unsafe { object_getClass(object) }
}

/// The class above.
pub fn superclass(class: usize) -> usize {
    // SAFETY: the function takes any class.
    unsafe { class_getSuperclass(class) }
}

/// The methods of a class or metaclass, without those of its superclass.
pub fn methods_of(class: usize) -> Vec<Method> {
    let mut count = 0;
    // SAFETY: the functions take any class and its methods.
    unsafe {
        let is_of_class = class_isMetaClass(class) != 0;
        let methods = taken(class_copyMethodList(class, &raw mut count), count).into_iter();
        let mut methods: Vec<Method> = methods
            .map(|method| Method {
                class: name_of(class),
                is_of_class,
                selector: text(sel_getName(method_getName(method))),
                kinds: kinds(&text(method_getTypeEncoding(method))),
                code: method_getImplementation(method).expose_provenance(),
                key: method_getName(method),
            })
            .collect();
        methods.sort_by(|one, other| one.selector.cmp(&other.selector));
        methods
    }
}

/// The selector of that name.
pub fn selector(name: &str) -> usize {
    let name = CString::new(name).expect("names have no zeros");
    // SAFETY: the name is a C string.
    unsafe { sel_registerName(name.as_ptr()) }
}

/// Sends a message whose arguments and result are integers or addresses.
///
/// # Safety
///
/// The receiver is null or has a method of those types, which may be called with the arguments.
pub unsafe fn send(receiver: usize, name: &str, words: &[usize]) -> usize {
    let selector = selector(name);
    let mut arguments = Arguments::new(receiver, selector);
    words.iter().for_each(|&word| arguments.word(word as u64));
    // SAFETY: as promised.
    unsafe { call(objc_msg_lookup(receiver, selector), &Kind::Integer, &arguments) as usize }
}

/// Another reference to an object.
pub fn retain(object: usize) -> usize {
    // SAFETY: the object is null or alive.
    unsafe { objc_retain(object) }
}

/// Gives a reference back.
///
/// # Safety
///
/// The caller has a reference to the object.
pub unsafe fn release(object: usize) {
    // SAFETY: as promised.
    unsafe { objc_release(object) }
}

/// A new instance without `init`.
pub fn allocated(class: usize) -> usize {
    // SAFETY: the function takes any class.
    unsafe { class_createInstance(class, 0) }
}

/// Calls something inside an autorelease pool.
pub fn in_pool<R>(call: impl FnOnce() -> R) -> R {
    struct Pool(usize);
    impl Drop for Pool {
        fn drop(&mut self) {
            // SAFETY: the pool was begun on this thread.
            unsafe { objc_autoreleasePoolPop(self.0) }
        }
    }
    // SAFETY: the function may be called at any time.
    let _pool = Pool(unsafe { objc_autoreleasePoolPush() });
    call()
}

/// A string.
pub fn string(text: &str) -> usize {
    let text = CString::new(text).expect("texts have no zeros");
    // SAFETY: the class has the methods; the text is copied.
    unsafe {
        send(send(class_named("NSString"), "alloc", &[]), "initWithUTF8String:", &[text.as_ptr().addr()])
    }
}
