//! Loading compiled Objective-C: `__objc_load`, which each program and library calls with its
//! sections before `main`.
//!
//! Compiled classes are descriptions: for each of them a class of the runtime's own is built, and the
//! variables that compiled code reads classes, protocols and offsets from are made to point to it.
//! Names of selectors are replaced by the interned ones, and constant strings get their text.
//! Invariant: [`LOADED`] maps the address of every compiled class to its class.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::class::Class;
use super::class_builder::{allocate_pair, class_addProtocol, register_pair, replace_method};
use super::compiled::{
    Category, CompiledClass, CompiledMethod, CompiledProtocol, CompiledSelector, IvarList, MethodList,
    PropertyList, ProtocolList, Sections, constant,
};
use super::method::{Ivar, Method};
use super::object::{Imp, Object};
use super::property::Property;
use super::protocol::{self, Protocol};
use super::selector::{Sel, Selector};
use super::{initialize, literal, raise, registry};
use crate::classes;

fn loaded() -> MutexGuard<'static, BTreeMap<usize, &'static Class>> {
    static LOADED: Mutex<BTreeMap<usize, &'static Class>> = Mutex::new(BTreeMap::new());
    LOADED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What [`Sections::version`] is once they were loaded.
const DONE: u64 = u64::MAX;

/// # Safety
///
/// The sections are null or those that a compiler and a linker made of a program that stays loaded; nothing
/// else uses them meanwhile.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn __objc_load(sections: *mut Sections) {
    // SAFETY: as promised.
    let Some(sections) = (unsafe { sections.as_mut() }) else { return };
    if std::mem::replace(&mut sections.version, DONE) != 0 {
        return;
    }
    // SAFETY: as promised; each step needs what those before it made.
    unsafe {
        sections.selectors.entries().into_iter().for_each(|selector| intern(selector));
        sections.protocols.entries().into_iter().for_each(|protocol| {
            load_protocol(protocol);
        });
        let mut methods = Vec::new();
        let classes = sections.classes.entries().into_iter().map(|entry| *entry);
        let classes: Vec<*mut CompiledClass> = classes.filter(|class| !class.is_null()).collect();
        let mut here: BTreeSet<usize> = classes.iter().map(|class| class.addr()).collect();
        for class in classes {
            load_class(class, &mut here, &mut methods);
        }
        for reference in sections.class_references.entries() {
            if let Some(&class) = loaded().get(&(*reference).addr()) {
                *reference = std::ptr::from_ref(class).cast_mut().cast();
            }
        }
        for reference in sections.protocol_references.entries() {
            if !(*reference).is_null() {
                let protocol = load_protocol((*reference).cast());
                *reference = std::ptr::from_ref(protocol).cast_mut().cast();
            }
        }
        for category in sections.categories.entries() {
            load_category(&*category, &mut methods);
        }
        for alias in sections.aliases.entries().into_iter().filter(|alias| !(**alias).name.is_null()) {
            let class = class_at(*(*alias).class);
            registry::register_alias(constant((*alias).name), class);
        }
        sections.strings.entries().into_iter().for_each(|string| literal::load(string));
        methods.into_iter().for_each(LoadMethod::run);
    }
}

/// A `+load`, to be run when everything of its program is loaded.
struct LoadMethod {
    class: &'static Class,
    code: Imp,
}

impl LoadMethod {
    /// The method among those of a class or category.
    unsafe fn among(class: &'static Class, methods: *const MethodList) -> Option<LoadMethod> {
        // SAFETY: the list is a compiler's.
        let methods = unsafe { MethodList::all(methods) };
        let load = Sel::of(c"load");
        // SAFETY: selectors of methods were interned.
        let found = methods.into_iter().find(|method| unsafe { selector(method.selector) } == load)?;
        Some(LoadMethod { class, code: found.code? })
    }

    fn run(self) {
        // SAFETY: `+load` takes nothing and gives nothing.
        let code = unsafe { std::mem::transmute::<Imp, extern "C-unwind" fn(&Object, Sel)>(self.code) };
        code(self.class.as_object(), Sel::of(c"load"));
    }
}

/// Replaces a selector's name by the interned one.
unsafe fn intern(entry: *mut CompiledSelector) {
    // SAFETY: the entry is a compiler's, and nothing else uses it yet.
    let entry = unsafe { &mut *entry };
    if !entry.name.is_null() {
        // SAFETY: as above.
        entry.name = Sel::of(unsafe { constant(entry.name) }).name().as_ptr();
    }
}

/// A compiled selector whose name was interned.
unsafe fn selector(compiled: *const CompiledSelector) -> Sel {
    // SAFETY: selectors of this runtime have the layout of compiled ones, and programs stay.
    Sel::of_static(unsafe { &*compiled.cast::<Selector>() })
}

/// The class for a pointer of compiled code: one of the program's, or one that this crate exports.
fn class_at(address: *mut c_void) -> &'static Class {
    let own = || classes::ALL.iter().copied().find(|class| std::ptr::eq(*class, address.cast()));
    let found = loaded().get(&address.addr()).copied().or_else(own);
    found.unwrap_or_else(|| raise("a compiled class refers to one that is not there"))
}

unsafe fn load_class(
    compiled: *mut CompiledClass,
    here: &mut BTreeSet<usize>,
    load_methods: &mut Vec<LoadMethod>,
) {
    if !here.remove(&compiled.addr()) {
        return;
    }
    // SAFETY: the class is a compiler's.
    unsafe {
        let (name, metaclass) = (constant((*compiled).name), &*(*compiled).metaclass);
        let above = (*compiled).superclass;
        let superclass = (!above.is_null()).then(|| {
            load_class(above.cast(), here, load_methods);
            class_at(above)
        });
        let Some(class) = allocate_pair(superclass, name) else {
            let known = registry::class_named(name);
            loaded().insert(
                compiled.addr(),
                known.unwrap_or_else(|| raise(&format!("the class {name:?} is there twice"))),
            );
            return;
        };
        add_ivars(class, (*compiled).ivars, (*compiled).instance_bytes.unsigned_abs() as usize);
        add_methods(class, (*compiled).methods);
        if let Some(own) = class.metaclass() {
            add_methods(own, metaclass.methods);
        }
        adopt(class, (*compiled).protocols);
        add_properties(class, (*compiled).properties);
        register_pair(class);
        loaded().insert(compiled.addr(), class);
        note_initialize(class);
        load_methods.extend(LoadMethod::among(class, metaclass.methods));
    }
}

/// Has `+initialize` sent before the first message, if the class has one that does something.
fn note_initialize(class: &'static Class) {
    let selector = Sel::of(c"initialize");
    let of_metaclass = class.metaclass().map(Class::ancestry).into_iter().flatten();
    let below_root = of_metaclass.filter(|metaclass| metaclass.superclass().is_some_and(Class::is_meta));
    if below_root.into_iter().any(|metaclass| metaclass.own_method(selector).is_some()) {
        initialize::note(class);
    }
}

/// Places the instance variables after those of the superclass.
unsafe fn add_ivars(class: &'static Class, list: *const IvarList, bytes: usize) {
    // SAFETY: the list is a compiler's, and its offsets are the compiler's own variables.
    unsafe {
        let ivars = IvarList::all(list);
        let alignment = ivars.iter().map(|ivar| ivar.alignment()).max().unwrap_or(1);
        let start = class.instance_bytes().next_multiple_of(alignment);
        for ivar in ivars {
            *ivar.offset += start as i32;
            let (name, types) = (constant(ivar.name).to_owned(), constant(ivar.types).to_owned());
            let added = Ivar { name, types, offset: *ivar.offset as usize };
            class.body().ivars.push(Box::leak(Box::new(added)));
        }
        class.set_instance_bytes(start + bytes);
    }
}

unsafe fn add_methods(class: &'static Class, list: *const MethodList) {
    // SAFETY: the list is a compiler's, and its selectors were interned.
    unsafe {
        for CompiledMethod { code, selector: name, types } in MethodList::all(list) {
            if let Some(code) = *code {
                replace_method(class, selector(*name), code, constant(*types));
            }
        }
    }
}

unsafe fn adopt(class: &'static Class, list: *const ProtocolList) {
    // SAFETY: the list is a compiler's.
    unsafe {
        for &compiled in ProtocolList::all(list) {
            class_addProtocol(Some(class), Some(load_protocol(compiled)));
        }
    }
}

unsafe fn add_properties(class: &'static Class, list: *const PropertyList) {
    // SAFETY: the list is a compiler's.
    unsafe {
        for property in PropertyList::all(list) {
            class
                .body()
                .properties
                .push(Property::parsed(constant(property.name), constant(property.attributes)));
        }
    }
}

unsafe fn load_category(category: &Category, load_methods: &mut Vec<LoadMethod>) {
    if category.class.is_null() {
        return;
    }
    // SAFETY: the category is a compiler's.
    unsafe {
        let name = constant(category.class);
        let Some(class) = registry::class_named(name) else {
            raise(&format!("the category {:?} is of {name:?}, which is not there", constant(category.name)))
        };
        add_methods(class, category.instance_methods);
        if let Some(metaclass) = class.metaclass() {
            add_methods(metaclass, category.class_methods);
        }
        adopt(class, category.protocols);
        add_properties(class, category.properties);
        note_initialize_of_category(class, category);
        load_methods.extend(LoadMethod::among(class, category.class_methods));
    }
}

/// A category may bring `+initialize` to a class that was not used yet.
unsafe fn note_initialize_of_category(class: &'static Class, category: &Category) {
    // SAFETY: the list is a compiler's, and its selectors were interned.
    let methods = unsafe { MethodList::all(category.class_methods) };
    // SAFETY: as above.
    if methods.iter().any(|method| unsafe { selector(method.selector) } == Sel::of(c"initialize")) {
        initialize::note(class);
    }
}

/// The protocol that a compiled one describes; made when its name is new or was only mentioned.
unsafe fn load_protocol(compiled: *const CompiledProtocol) -> &'static Protocol {
    // SAFETY: the protocol is a compiler's; a gap between entries is all zeros.
    unsafe {
        let name = constant((*compiled).name);
        let (protocol, is_new) = protocol::named_or_new(name);
        if !is_new || name.is_empty() {
            return protocol;
        }
        for (at, list) in (*compiled).methods.into_iter().enumerate() {
            for description in super::compiled::DescriptionList::all(list) {
                let kind = (at < 2, at % 2 == 0);
                protocol.add_method(selector(description.selector), constant(description.types), kind);
            }
        }
        for &adopted in ProtocolList::all((*compiled).protocols) {
            protocol.adopt(load_protocol(adopted));
        }
        for property in PropertyList::all((*compiled).properties) {
            protocol.add_property(Property::parsed(constant(property.name), constant(property.attributes)));
        }
        protocol
    }
}

/// The code that compiled code asks for when it sends `+initialize` itself.
///
/// # Safety
///
/// `object` is null or a class.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_send_initialize(object: Option<&'static Object>) {
    if let Some(object) = object {
        initialize::before_first_message(object.class());
    }
}

/// Only for the shape of [`Method`]: compiled selectors are read as [`Selector`]s.
const _: () = assert!(size_of::<CompiledSelector>() == size_of::<Selector>() && size_of::<Method>() > 0);
