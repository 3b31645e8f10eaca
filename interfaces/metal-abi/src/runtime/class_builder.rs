//! Making classes: allocation, methods, instance variables, registration.

use std::ffi::{CStr, CString, c_char};

use super::class::{CONSTRUCTS, COUNTS_ITSELF, Class, DESTRUCTS, IS_META, OWN_FLAGS};
use super::instance::Head;
use super::lists::text;
use super::method::{Ivar, Method};
use super::object::{Imp, OBJECT_BYTES, Truth};
use super::protocol::{self, Protocol};
use super::registry;
use super::selector::Sel;
use crate::foundation::{extensions, variadic};

/// A class of that name and its metaclass, not registered yet; `None` if there is one. Classes that
/// this crate exports get their own place.
pub(crate) fn allocate_pair(superclass: Option<&'static Class>, name: &CStr) -> Option<&'static Class> {
    let superclass = superclass.map(Class::ready);
    if registry::is_registered(name) {
        return None;
    }
    let class = registry::place_of(name).unwrap_or_else(|| {
        let name: &'static CStr = Box::leak(CString::from(name).into_boxed_c_str());
        Box::leak(Box::new(Class::unbuilt(name, 0, None)))
    });
    let metaclass: &'static Class = Box::leak(Box::new(Class::unbuilt(class.name(), IS_META, None)));
    class.set_building(true);
    class.set_metaclass(metaclass);
    match superclass {
        Some(superclass) => {
            class.add_flags(superclass.flags() & !OWN_FLAGS);
            class.set_instance_bytes(superclass.instance_bytes());
            class.set_superclass(superclass);
            let above = superclass.as_object().class();
            metaclass.set_superclass(above);
            // The metaclass of a metaclass is that of the root.
            let root = above.ancestry().filter(|class| class.is_meta()).last();
            metaclass.as_object().set_isa(root.unwrap_or(metaclass));
        }
        None => {
            metaclass.set_superclass(class);
            metaclass.as_object().set_isa(metaclass);
        }
    }
    Some(class)
}

/// Has a class of this crate, named as `AnymetalBuffer`, conform to the protocol of its objects, `MTLBuffer`.
fn adopt_own_protocol(class: &'static Class) {
    let Some(suffix) = class.name().to_bytes().strip_prefix(b"Anymetal") else { return };
    let name = CString::new([b"MTL", suffix].concat()).expect("a name has no zeros");
    class.body().protocols.extend(protocol::named(&name));
}

/// Makes the class known.
pub(crate) fn register_pair(class: &'static Class) {
    variadic::add_to(class);
    extensions::add_to(class);
    adopt_own_protocol(class);
    registry::register(class);
    if let Some(metaclass) = class.metaclass() {
        class.as_object().set_isa(metaclass);
    }
    class.set_building(false);
}

/// Adds a method; says whether the class had none of its own for the selector.
pub(crate) fn add_method(class: &'static Class, selector: Sel, code: Imp, types: &CStr) -> bool {
    let change = registry::mutation();
    {
        let mut body = class.body();
        if body.methods.iter().any(|method| method.selector() == selector) {
            return false;
        }
        body.methods.push(Box::leak(Box::new(Method::new(selector, code, types))));
    }
    match selector.name().to_bytes() {
        b"retain" | b"release" | b"autorelease" if class.superclass().is_some() && !class.is_meta() => {
            class.add_flags(COUNTS_ITSELF);
        }
        b".cxx_destruct" => class.add_flags(DESTRUCTS),
        b".cxx_construct" => class.add_flags(CONSTRUCTS),
        _ => {}
    }
    class.cache().clear();
    if class.is_meta() || class.as_object().isa().is_some() {
        registry::clear_caches(&change);
    }
    true
}

/// Gives the class's own method for the selector other code, or adds one; gives the code before.
pub(crate) fn replace_method(class: &'static Class, selector: Sel, code: Imp, types: &CStr) -> Option<Imp> {
    if let Some(method) = class.own_method(selector) {
        return super::method::method_setImplementation(Some(method), Some(code));
    }
    add_method(class, selector, code, types);
    None
}

/// # Safety
///
/// `name` is null or a C string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_allocateClassPair(
    superclass: Option<&'static Class>,
    name: *const c_char,
    _extra_bytes: usize,
) -> Option<&'static Class> {
    // SAFETY: as promised.
    allocate_pair(superclass, unsafe { text(name) })
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn objc_registerClassPair(class: Option<&'static Class>) {
    if let Some(class) = class {
        register_pair(class);
    }
}

/// Classes stay, because nothing can tell whether one is still used.
#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn objc_disposeClassPair(_class: Option<&'static Class>) {}

/// # Safety
///
/// `types` is null or a C string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn class_addMethod(
    class: Option<&'static Class>,
    selector: Option<Sel>,
    code: Option<Imp>,
    types: *const c_char,
) -> Truth {
    // SAFETY: as promised.
    let types = unsafe { text(types) };
    let (Some(class), Some(selector), Some(code)) = (class, selector, code) else { return Truth::NO };
    Truth::from(add_method(class, selector, code, types))
}

/// # Safety
///
/// `types` is null or a C string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn class_replaceMethod(
    class: Option<&'static Class>,
    selector: Option<Sel>,
    code: Option<Imp>,
    types: *const c_char,
) -> Option<Imp> {
    // SAFETY: as promised.
    replace_method(class?, selector?, code?, unsafe { text(types) })
}

/// # Safety
///
/// `name` and `types` are null or C strings.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn class_addIvar(
    class: Option<&'static Class>,
    name: *const c_char,
    bytes: usize,
    alignment_log2: u8,
    types: *const c_char,
) -> Truth {
    // SAFETY: as promised.
    let (name, types) = unsafe { (text(name), text(types)) };
    let Some(class) = class.filter(|class| class.as_object().isa().is_none()) else { return Truth::NO };
    let mut body = class.body();
    if body.ivars.iter().any(|ivar| ivar.name.as_c_str() == name) {
        return Truth::NO;
    }
    // Instances are aligned as `Head` is, and their bytes are counted in 32 bits.
    let alignment =
        1usize.checked_shl(alignment_log2.into()).filter(|&alignment| alignment <= align_of::<Head>());
    let offset =
        alignment.map(|alignment| class.instance_bytes().max(OBJECT_BYTES).next_multiple_of(alignment));
    let end = offset.and_then(|offset| offset.checked_add(bytes)).filter(|&end| u32::try_from(end).is_ok());
    let Some((offset, end)) = offset.zip(end) else { return Truth::NO };
    class.set_instance_bytes(end);
    let ivar = Ivar { name: name.to_owned(), types: types.to_owned(), offset };
    body.ivars.push(Box::leak(Box::new(ivar)));
    Truth::YES
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn class_addProtocol(
    class: Option<&'static Class>,
    protocol: Option<&'static Protocol>,
) -> Truth {
    let (Some(class), Some(protocol)) = (class, protocol) else { return Truth::NO };
    let mut body = class.body();
    let is_new = !body.protocols.iter().any(|known| std::ptr::eq(*known, protocol));
    if is_new {
        body.protocols.push(protocol);
    }
    Truth::from(is_new)
}
