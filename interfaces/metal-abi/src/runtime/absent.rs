//! Classes that are only names here: they link, and every use of them fails with the name.

use super::class::{Class, IS_ABSENT};
use super::class_builder::{add_method, allocate_pair, register_pair};
use super::object::{Imp, Object};
use super::raise;
use super::registry::class_named;
use super::selector::Sel;

/// Builds such a class: below `NSObject`, but nothing makes an instance of it.
pub(crate) fn build(class: &'static Class) {
    // The other threads wait here until the first one has built it, and then find it built.
    static BUILDING: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let root = class_named(c"NSObject");
    let _alone = BUILDING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if class.as_object().isa().is_some() || allocate_pair(root, class.name()).is_none() {
        return;
    }
    class.add_flags(IS_ABSENT);
    let code: extern "C-unwind" fn(&Object, Sel) -> *mut Object = refuse;
    // SAFETY: whoever calls a method's code casts it to the method's type first.
    let code = unsafe { std::mem::transmute::<extern "C-unwind" fn(&Object, Sel) -> *mut Object, Imp>(code) };
    if let Some(metaclass) = class.metaclass() {
        for selector in [c"alloc", c"new"] {
            add_method(metaclass, Sel::of(selector), code, c"@16@0:8");
        }
        add_method(metaclass, Sel::of(c"allocWithZone:"), code, c"@24@0:8^{_NSZone=}16");
    }
    register_pair(class);
}

extern "C-unwind" fn refuse(receiver: &Object, selector: Sel) -> *mut Object {
    let (class, selector) = (receiver.class().display_name(), selector.name().to_string_lossy());
    raise(&format!("+[{class} {selector}]: anymetal does not implement the class {class}"))
}

macro_rules! absent_functions {
    ($($name:ident)*) => {
        $(
            /// Fails by its name.
            #[unsafe(no_mangle)]
            pub(crate) extern "C-unwind" fn $name() {
                raise(concat!("anymetal does not implement the function ", stringify!($name)))
            }
        )*
    };
}

// These need code that is made at run time.
absent_functions! { imp_implementationWithBlock imp_getBlock imp_removeBlock }
