//! Objects of Grand Central Dispatch: counted references behind one opaque type.
//!
//! Programs pass NULL, and objects of other types. Every object starts with a mark, which the exported
//! functions compare before they use anything else, and raise a failure that names the function.

use std::ops::Deref;
use std::sync::Arc;

use objc2::runtime::AnyObject;

use super::group::Group;
use super::queue::{Queue, main_queue};
use super::semaphore::Semaphore;
use crate::arguments::{Argument, Site};
use crate::foundation::data::NSData;
use crate::runtime::arc::{objc_release, objc_retain};
use crate::runtime::object::Object as RuntimeObject;
use crate::runtime::raise_invalid_argument;

/// The first word of every object. No object of Objective-C starts with it: those start with the
/// address of their class.
const MARK: usize = usize::from_ne_bytes(*b"dispatch");

/// What a program's pointer points to.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Object {
    mark: usize,
    kind: Kind,
}

/// The types of objects.
#[derive(Debug)]
pub(crate) enum Kind {
    Queue(Queue),
    Group(Group),
    Semaphore(Semaphore),
}

impl Object {
    pub(crate) fn new(kind: Kind) -> Arc<Object> {
        Arc::new(Object { mark: MARK, kind })
    }
}

impl Deref for Object {
    type Target = Kind;

    fn deref(&self) -> &Kind {
        &self.kind
    }
}

/// A reference of a program's, in C a pointer.
pub(crate) type Reference = *const Object;

/// A reference for a program.
pub(crate) fn reference(kind: Kind) -> Reference {
    Arc::into_raw(Object::new(kind))
}

/// Whether it is the address of an object of this module.
///
/// # Safety
///
/// `object` is the address of any live object.
unsafe fn is_object(object: Reference) -> bool {
    // SAFETY: every object has a first word, here and in Objective-C.
    !object.is_null() && object.is_aligned() && unsafe { object.cast::<usize>().read() } == MARK
}

/// The object as one of Objective-C, if it is data.
///
/// # Safety
///
/// `object` is the address of any live object.
unsafe fn data_of(object: Reference) -> Option<*mut RuntimeObject> {
    // SAFETY: as promised, what is not an object of this module is one of Objective-C.
    unsafe {
        if is_object(object) {
            return None;
        }
        let is_data = (*object.cast::<AnyObject>()).downcast_ref::<NSData>().is_some();
        is_data.then(|| object.cast_mut().cast())
    }
}

/// Another reference to what a program's points to; a failure if it is not an object of dispatch.
///
/// # Safety
///
/// `object` is null or the address of any live object.
#[track_caller]
pub(crate) unsafe fn held(function: &str, object: Reference) -> Arc<Object> {
    if let Some(main) = main_queue(object) {
        return Arc::clone(main);
    }
    // SAFETY: as promised.
    if !unsafe { is_object(object) } {
        refuse(
            function,
            if object.is_null() { "the object must not be NULL" } else { "the object is not of dispatch" },
        );
    }
    // SAFETY: the program has a reference to the object, and this makes another.
    unsafe {
        Arc::increment_strong_count(object);
        Arc::from_raw(object)
    }
}

/// Raises a failure of a function.
#[track_caller]
#[cold]
pub(crate) fn refuse(function: &str, rule: &str) -> ! {
    raise_invalid_argument(&format!("{function}: {rule}"))
}

/// Defines how one type is taken from a reference.
macro_rules! kinds {
    ($($get:ident: $kind:ident, $rule:literal;)*) => {
        impl Kind {
            $(
                #[track_caller]
                pub(crate) fn $get(&self, function: &str) -> &$kind {
                    match self {
                        Kind::$kind(object) => object,
                        _ => refuse(function, $rule),
                    }
                }
            )*
        }
    };
}

kinds! {
    queue: Queue, "the object is not a queue";
    group: Group, "the object is not a group";
    semaphore: Semaphore, "the object is not a semaphore";
}

/// A queue that a program passes to a method.
#[derive(Debug)]
pub(crate) struct QueueArgument(pub(crate) Arc<Object>);

impl Argument for QueueArgument {
    // A queue is not an object of Objective-C here, but declared as one.
    type Raw = *mut AnyObject;

    unsafe fn take(raw: *mut AnyObject, site: &Site) -> Self {
        if raw.is_null() {
            site.refuse_nil();
        }
        let method = site.method();
        // SAFETY: as the caller promises.
        let object = unsafe { held(&method, raw.cast_const().cast()) };
        object.queue(&method);
        QueueArgument(object)
    }
}

/// # Safety
///
/// `object` is null or a program's reference.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn dispatch_retain(object: Reference) {
    if object.is_null() || main_queue(object).is_some() {
        return;
    }
    // SAFETY: as promised.
    unsafe {
        match data_of(object) {
            Some(data) => drop(objc_retain(data)),
            None => drop(Arc::into_raw(held("dispatch_retain", object))),
        }
    }
}

/// # Safety
///
/// `object` is null or a program's reference, which ends.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn dispatch_release(object: Reference) {
    if object.is_null() || main_queue(object).is_some() {
        return;
    }
    // SAFETY: as promised; the reference of this function ends as well.
    unsafe {
        match data_of(object) {
            Some(data) => objc_release(data),
            None => {
                drop(held("dispatch_release", object));
                Arc::decrement_strong_count(object);
            }
        }
    }
}
