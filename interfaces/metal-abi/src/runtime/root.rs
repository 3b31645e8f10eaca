//! `NSObject`, the root class.
//!
//! Its methods that give strings are added by [`crate::foundation`], which has strings.

use std::ffi::{CStr, c_void};
use std::sync::Once;
use std::sync::atomic::Ordering;

use super::arc::{is_counted, root_release, root_retain};
use super::class::Class;
use super::class_builder::{add_method, allocate_pair, register_pair};
use super::instance::{Head, create, dispose};
use super::introspection::{conforms, responds};
use super::message::{implementation, refuse, send};
use super::object::{Imp, Object, Truth};
use super::pool;
use super::protocol::{self, Protocol};
use super::selector::Sel;

/// Builds the class.
pub(crate) fn build() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let Some(class) = allocate_pair(None, c"NSObject") else { return };
        let protocol = protocol::named_or_new(c"NSObject").0;
        class.body().protocols.push(protocol);
        if let Some(metaclass) = class.metaclass() {
            add_class_methods(metaclass);
        }
        add_counting_methods(class);
        add_asking_methods(class);
        add_sending_methods(class);
        crate::foundation::description::add(class);
        register_pair(class);
    });
}

/// A type whose every value a sender may pass: null is one.
trait Passed {}

impl<T> Passed for *mut T {}
impl<T> Passed for *const T {}
impl Passed for Option<Sel> {}

const fn is_passed<T: Passed>() {}

/// Adds a method of a function of that type. Its arguments after receiver and selector may be null.
macro_rules! method {
    ($class:expr, $selector:literal, $function:ident: ($receiver:ty, $own:ty $(, $argument:ty)*) $(-> $result:ty)?, $types:literal) => {{
        const { $(is_passed::<$argument>();)* };
        let code: unsafe extern "C-unwind" fn($receiver, $own $(, $argument)*) $(-> $result)? = $function;
        // SAFETY: whoever calls a method's code casts it to the method's type first.
        let code = unsafe {
            std::mem::transmute::<unsafe extern "C-unwind" fn($receiver, $own $(, $argument)*) $(-> $result)?, Imp>(code)
        };
        let selector: &CStr = $selector;
        add_method($class, Sel::of(selector), code, $types);
    }};
}

/// A method without arguments that gives a string, in the words of `objc2`.
pub(crate) type StringMethod =
    extern "C-unwind" fn(&objc2::runtime::AnyObject, objc2::runtime::Sel) -> *mut crate::foundation::NSString;

/// Adds such a method to the class, which is being built.
pub(crate) fn add_string_method(class: &'static Class, selector: &CStr, code: StringMethod) {
    // SAFETY: whoever calls a method's code casts it to the method's type first.
    let code = unsafe { std::mem::transmute::<StringMethod, Imp>(code) };
    add_method(class, Sel::of(selector), code, c"@16@0:8");
}

type Id = *mut Object;

fn add_class_methods(class: &'static Class) {
    method!(class, c"alloc", alloc: (&'static Class, Sel) -> Id, c"@16@0:8");
    method!(class, c"allocWithZone:", alloc_in: (&'static Class, Sel, *mut c_void) -> Id, c"@24@0:8^{_NSZone=}16");
    method!(class, c"new", new: (Id, Sel) -> Id, c"@16@0:8");
    method!(class, c"class", itself: (Id, Sel) -> Id, c"#16@0:8");
    method!(class, c"superclass", superclass_of: (&'static Class, Sel) -> Option<&'static Class>, c"#16@0:8");
    method!(class, c"initialize", nothing: (Id, Sel), c"v16@0:8");
    method!(class, c"load", nothing: (Id, Sel), c"v16@0:8");
    method!(class, c"instancesRespondToSelector:", instances_respond: (&'static Class, Sel, Option<Sel>) -> Truth, c"C24@0:8:16");
    method!(class, c"isSubclassOfClass:", is_subclass: (&'static Class, Sel, *const Class) -> Truth, c"C24@0:8#16");
    method!(class, c"conformsToProtocol:", class_conforms: (&'static Class, Sel, *const Protocol) -> Truth, c"C24@0:8@16");
    method!(class, c"instanceMethodForSelector:", instance_method: (&'static Class, Sel, Option<Sel>) -> Imp, c"^?24@0:8:16");
}

fn add_counting_methods(class: &'static Class) {
    method!(class, c"retain", retain: (Id, Sel) -> Id, c"@16@0:8");
    method!(class, c"release", release: (Id, Sel), c"v16@0:8");
    method!(class, c"autorelease", autorelease: (Id, Sel) -> Id, c"@16@0:8");
    method!(class, c"retainCount", retain_count: (Id, Sel) -> usize, c"Q16@0:8");
    method!(class, c"dealloc", dealloc: (Id, Sel), c"v16@0:8");
    method!(class, c"init", itself: (Id, Sel) -> Id, c"@16@0:8");
    method!(class, c"self", itself: (Id, Sel) -> Id, c"@16@0:8");
    method!(class, c"copy", copy: (Id, Sel) -> Id, c"@16@0:8");
    method!(class, c"mutableCopy", mutable_copy: (Id, Sel) -> Id, c"@16@0:8");
}

fn add_asking_methods(class: &'static Class) {
    method!(class, c"class", class_of: (&Object, Sel) -> &'static Class, c"#16@0:8");
    method!(class, c"superclass", superclass: (&Object, Sel) -> Option<&'static Class>, c"#16@0:8");
    method!(class, c"isEqual:", is_equal: (Id, Sel, Id) -> Truth, c"C24@0:8@16");
    method!(class, c"hash", hash: (Id, Sel) -> usize, c"Q16@0:8");
    method!(class, c"isProxy", no: (Id, Sel) -> Truth, c"C16@0:8");
    method!(class, c"isKindOfClass:", is_kind: (&Object, Sel, *const Class) -> Truth, c"C24@0:8#16");
    method!(class, c"isMemberOfClass:", is_member: (&Object, Sel, *const Class) -> Truth, c"C24@0:8#16");
    method!(class, c"respondsToSelector:", responds_to: (&Object, Sel, Option<Sel>) -> Truth, c"C24@0:8:16");
    method!(class, c"conformsToProtocol:", conforms_to: (&Object, Sel, *const Protocol) -> Truth, c"C24@0:8@16");
}

fn add_sending_methods(class: &'static Class) {
    method!(class, c"methodForSelector:", method_for: (&Object, Sel, Option<Sel>) -> Imp, c"^?24@0:8:16");
    method!(class, c"doesNotRecognizeSelector:", does_not_recognize: (&Object, Sel, Option<Sel>), c"v24@0:8:16");
    method!(class, c"performSelector:", perform: (Id, Sel, Option<Sel>) -> Id, c"@24@0:8:16");
    method!(class, c"performSelector:withObject:", perform_with: (Id, Sel, Option<Sel>, Id) -> Id, c"@32@0:8:16@24");
}

extern "C-unwind" fn alloc(class: &'static Class, _: Sel) -> Id {
    let selector = Sel::of(c"allocWithZone:");
    let code = implementation(class.as_object().class(), Some(selector));
    // SAFETY: a method of that name takes a zone and gives an object.
    let code = unsafe {
        std::mem::transmute::<Imp, unsafe extern "C-unwind" fn(&'static Class, Sel, *mut c_void) -> Id>(code)
    };
    // SAFETY: a zone may be null.
    unsafe { code(class, selector, std::ptr::null_mut()) }
}

extern "C-unwind" fn alloc_in(class: &'static Class, _: Sel, _zone: *mut c_void) -> Id {
    create(class, 0)
}

unsafe extern "C-unwind" fn new(class: Id, _: Sel) -> Id {
    // SAFETY: the receiver is a class, and what it allocates has the method.
    unsafe {
        let object = send(class, Sel::of(c"alloc"));
        if object.is_null() { object } else { send(object, Sel::of(c"init")) }
    }
}

extern "C-unwind" fn itself(object: Id, _: Sel) -> Id {
    object
}

extern "C-unwind" fn nothing(_: Id, _: Sel) {}

extern "C-unwind" fn no(_: Id, _: Sel) -> Truth {
    Truth::NO
}

extern "C-unwind" fn class_of(object: &Object, _: Sel) -> &'static Class {
    object.class()
}

extern "C-unwind" fn superclass(object: &Object, _: Sel) -> Option<&'static Class> {
    object.class().superclass()
}

extern "C-unwind" fn superclass_of(class: &'static Class, _: Sel) -> Option<&'static Class> {
    class.ready().superclass()
}

unsafe extern "C-unwind" fn retain(object: Id, _: Sel) -> Id {
    // SAFETY: the receiver of a message is alive.
    unsafe { root_retain(object) }
}

unsafe extern "C-unwind" fn release(object: Id, _: Sel) {
    // SAFETY: the receiver of a message is alive, and the sender gives up a reference.
    unsafe { root_release(object) }
}

extern "C-unwind" fn autorelease(object: Id, _: Sel) -> Id {
    pool::add(object);
    object
}

unsafe extern "C-unwind" fn retain_count(object: Id, _: Sel) -> usize {
    // SAFETY: the receiver of a message is alive.
    if !unsafe { is_counted(object) } {
        return usize::MAX;
    }
    // SAFETY: it is counted.
    unsafe { Head::of(object) }.count().load(Ordering::Relaxed)
}

unsafe extern "C-unwind" fn dealloc(object: Id, _: Sel) {
    // SAFETY: this message is sent when the last reference is gone.
    unsafe { dispose(object) }
}

unsafe extern "C-unwind" fn copy(object: Id, _: Sel) -> Id {
    // SAFETY: the receiver of a message is alive.
    unsafe { copy_by(object, c"copyWithZone:") }
}

unsafe extern "C-unwind" fn mutable_copy(object: Id, _: Sel) -> Id {
    // SAFETY: the receiver of a message is alive.
    unsafe { copy_by(object, c"mutableCopyWithZone:") }
}

/// # Safety
///
/// `object` is alive.
unsafe fn copy_by(object: Id, selector: &CStr) -> Id {
    let selector = Sel::of(selector);
    // SAFETY: as promised.
    let code = implementation(unsafe { &*object }.class(), Some(selector));
    // SAFETY: a method of that name takes a zone and gives an object.
    let code =
        unsafe { std::mem::transmute::<Imp, unsafe extern "C-unwind" fn(Id, Sel, *mut c_void) -> Id>(code) };
    // SAFETY: a zone may be null.
    unsafe { code(object, selector, std::ptr::null_mut()) }
}

extern "C-unwind" fn is_equal(object: Id, _: Sel, other: Id) -> Truth {
    Truth::from(object == other)
}

extern "C-unwind" fn hash(object: Id, _: Sel) -> usize {
    object.addr()
}

extern "C-unwind" fn is_kind(object: &Object, _: Sel, class: *const Class) -> Truth {
    Truth::from(object.class().is_kind_of(class))
}

extern "C-unwind" fn is_member(object: &Object, _: Sel, class: *const Class) -> Truth {
    Truth::from(std::ptr::eq(object.class(), class))
}

extern "C-unwind" fn is_subclass(class: &'static Class, _: Sel, other: *const Class) -> Truth {
    Truth::from(class.ready().is_kind_of(other))
}

extern "C-unwind" fn responds_to(object: &Object, _: Sel, selector: Option<Sel>) -> Truth {
    Truth::from(selector.is_some_and(|selector| responds(object.class(), selector)))
}

extern "C-unwind" fn instances_respond(class: &'static Class, _: Sel, selector: Option<Sel>) -> Truth {
    Truth::from(selector.is_some_and(|selector| responds(class, selector)))
}

extern "C-unwind" fn conforms_to(object: &Object, _: Sel, protocol: *const Protocol) -> Truth {
    Truth::from(Protocol::at(protocol).is_some_and(|protocol| conforms(object.class(), protocol)))
}

extern "C-unwind" fn class_conforms(class: &'static Class, _: Sel, protocol: *const Protocol) -> Truth {
    Truth::from(Protocol::at(protocol).is_some_and(|protocol| conforms(class, protocol)))
}

extern "C-unwind" fn method_for(object: &Object, _: Sel, selector: Option<Sel>) -> Imp {
    implementation(object.class(), selector)
}

extern "C-unwind" fn instance_method(class: &'static Class, _: Sel, selector: Option<Sel>) -> Imp {
    implementation(class.ready(), selector)
}

extern "C-unwind" fn does_not_recognize(object: &Object, _: Sel, selector: Option<Sel>) {
    refuse(object, selector);
}

unsafe extern "C-unwind" fn perform(object: Id, _: Sel, selector: Option<Sel>) -> Id {
    // SAFETY: the receiver of a message is alive.
    let code = implementation(unsafe { &*object }.class(), selector);
    // SAFETY: the sender promises a method without arguments, which gives an object or nothing.
    let code =
        unsafe { std::mem::transmute::<Imp, unsafe extern "C-unwind" fn(Id, Option<Sel>) -> Id>(code) };
    // SAFETY: as above.
    unsafe { code(object, selector) }
}

unsafe extern "C-unwind" fn perform_with(object: Id, _: Sel, selector: Option<Sel>, argument: Id) -> Id {
    // SAFETY: the receiver of a message is alive.
    let code = implementation(unsafe { &*object }.class(), selector);
    // SAFETY: the sender promises a method with one object as its argument.
    let code =
        unsafe { std::mem::transmute::<Imp, unsafe extern "C-unwind" fn(Id, Option<Sel>, Id) -> Id>(code) };
    // SAFETY: as above.
    unsafe { code(object, selector, argument) }
}
