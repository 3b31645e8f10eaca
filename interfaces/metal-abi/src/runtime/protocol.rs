//! Protocols: named lists of methods.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, CString, c_char, c_uint};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::lists::{copied_list, text};
use super::object::{Bool, Truth};
use super::property::{Property, PropertyAttribute};
use super::raise_invalid_argument;
use super::selector::Sel;

/// A protocol.
#[derive(Debug)]
pub(crate) struct Protocol {
    name: &'static CStr,
    body: Mutex<Body>,
}

#[derive(Debug, Default)]
struct Body {
    methods: Vec<Described>,
    adopted: Vec<&'static Protocol>,
    properties: Vec<(Kind, &'static Property)>,
}

/// Whether something is required, and whether it is of instances.
pub(crate) type Kind = (bool, bool);

#[derive(Debug)]
struct Described {
    selector: Sel,
    types: &'static CStr,
    kind: Kind,
}

impl Described {
    fn description(&self) -> MethodDescription {
        MethodDescription { selector: Some(self.selector), types: self.types.as_ptr() }
    }
}

/// A method of a protocol, in C's layout.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct MethodDescription {
    selector: Option<Sel>,
    types: *const c_char,
}

impl Protocol {
    pub(crate) fn leaked(name: &CStr) -> &'static Protocol {
        let name: &'static CStr = Box::leak(CString::from(name).into_boxed_c_str());
        let protocol: &'static Protocol = Box::leak(Box::new(Protocol { name, body: Mutex::default() }));
        known().insert(std::ptr::from_ref(protocol).expose_provenance());
        protocol
    }

    /// The protocol at an address; a failure if there is another object.
    pub(crate) fn at(address: *const Protocol) -> Option<&'static Protocol> {
        if address.is_null() {
            return None;
        }
        if !known().contains(&address.addr()) {
            raise_invalid_argument("-[NSObject conformsToProtocol:]: the argument is not a protocol");
        }
        // SAFETY: protocols are never freed.
        Some(unsafe { &*address })
    }

    /// Whether it is the other or adopts it.
    pub(crate) fn includes(&'static self, other: &'static Protocol) -> bool {
        if std::ptr::eq(self, other) || self.name == other.name {
            return true;
        }
        let adopted = self.body().adopted.clone();
        adopted.into_iter().any(|adopted| adopted.includes(other))
    }

    /// Adds a method.
    pub(crate) fn add_method(&self, selector: Sel, types: &'static CStr, kind: Kind) {
        self.body().methods.push(Described { selector, types, kind });
    }

    /// Adds a protocol that it includes.
    pub(crate) fn adopt(&self, adopted: &'static Protocol) {
        self.body().adopted.push(adopted);
    }

    /// Adds a required property of instances.
    pub(crate) fn add_property(&self, property: &'static Property) {
        self.body().properties.push(((true, true), property));
    }

    fn body(&self) -> MutexGuard<'_, Body> {
        self.body.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The methods that it lists, without those of protocols that it adopts.
    fn descriptions(&self, kind: Kind) -> Vec<MethodDescription> {
        let body = self.body();
        body.methods.iter().filter(|method| method.kind == kind).map(Described::description).collect()
    }

    /// A method of it or of a protocol that it adopts.
    fn description(&self, selector: Sel, kind: Kind) -> Option<MethodDescription> {
        let (own, adopted) = {
            let body = self.body();
            let own = body.methods.iter().find(|method| method.selector == selector && method.kind == kind);
            (own.map(Described::description), body.adopted.clone())
        };
        own.or_else(|| adopted.into_iter().find_map(|adopted| adopted.description(selector, kind)))
    }
}

/// The addresses of all protocols.
fn known() -> MutexGuard<'static, BTreeSet<usize>> {
    static KNOWN: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn registered() -> MutexGuard<'static, BTreeMap<&'static CStr, &'static Protocol>> {
    static PROTOCOLS: Mutex<BTreeMap<&'static CStr, &'static Protocol>> = Mutex::new(BTreeMap::new());
    PROTOCOLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a protocol known.
pub(crate) fn register(protocol: &'static Protocol) {
    registered().entry(protocol.name).or_insert(protocol);
}

/// The protocol of that name.
pub(crate) fn named(name: &CStr) -> Option<&'static Protocol> {
    registered().get(name).copied()
}

/// The protocol of that name, and whether it was made now.
pub(crate) fn named_or_new(name: &CStr) -> (&'static Protocol, bool) {
    let mut registered = registered();
    if let Some(known) = registered.get(name) {
        return (known, false);
    }
    let protocol = Protocol::leaked(name);
    registered.insert(protocol.name, protocol);
    (protocol, true)
}

/// # Safety
///
/// `name` is null or a C string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_getProtocol(name: *const c_char) -> Option<&'static Protocol> {
    // SAFETY: as promised.
    registered().get(unsafe { text(name) }).copied()
}

/// # Safety
///
/// `length` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_copyProtocolList(
    length: *mut c_uint,
) -> *mut Option<&'static Protocol> {
    let list: Vec<Option<&'static Protocol>> = registered().values().copied().map(Some).collect();
    // SAFETY: as promised, and a null pointer is `None`.
    unsafe { copied_list(&list, length) }
}

/// # Safety
///
/// `name` is null or a C string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn objc_allocateProtocol(
    name: *const c_char,
) -> Option<&'static Protocol> {
    // SAFETY: as promised.
    let name = unsafe { text(name) };
    let is_new = !registered().contains_key(name);
    is_new.then(|| Protocol::leaked(name))
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn objc_registerProtocol(protocol: Option<&'static Protocol>) {
    if let Some(protocol) = protocol {
        register(protocol);
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn protocol_getName(protocol: Option<&'static Protocol>) -> *const c_char {
    protocol.map_or(std::ptr::null(), |protocol| protocol.name.as_ptr())
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn protocol_isEqual(
    first: Option<&'static Protocol>,
    second: Option<&'static Protocol>,
) -> Truth {
    let same = match (first, second) {
        (Some(first), Some(second)) => first.name == second.name,
        (first, second) => first.is_none() && second.is_none(),
    };
    Truth::from(same)
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn protocol_conformsToProtocol(
    protocol: Option<&'static Protocol>,
    other: Option<&'static Protocol>,
) -> Truth {
    let (Some(protocol), Some(other)) = (protocol, other) else { return Truth::NO };
    Truth::from(protocol.includes(other))
}

/// # Safety
///
/// `types` is null or a C string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn protocol_addMethodDescription(
    protocol: Option<&'static Protocol>,
    selector: Option<Sel>,
    types: *const c_char,
    is_required: Bool,
    is_instance: Bool,
) {
    // SAFETY: as promised.
    let types: &'static CStr = Box::leak(CString::from(unsafe { text(types) }).into_boxed_c_str());
    if let (Some(protocol), Some(selector)) = (protocol, selector) {
        let kind = (is_required.is_yes(), is_instance.is_yes());
        protocol.add_method(selector, types, kind);
    }
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn protocol_addProtocol(
    protocol: Option<&'static Protocol>,
    adopted: Option<&'static Protocol>,
) {
    // A protocol that includes itself would have no end.
    if let (Some(protocol), Some(adopted)) = (protocol, adopted)
        && !adopted.includes(protocol)
    {
        protocol.adopt(adopted);
    }
}

/// # Safety
///
/// `name` is null or a C string; `attributes` is null or so many attributes of C strings.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn protocol_addProperty(
    protocol: Option<&'static Protocol>,
    name: *const c_char,
    attributes: *const PropertyAttribute,
    count: c_uint,
    is_required: Bool,
    is_instance: Bool,
) {
    // SAFETY: as promised.
    let property = unsafe { Property::leaked(name, attributes, count) };
    if let Some(protocol) = protocol {
        protocol.body().properties.push(((is_required.is_yes(), is_instance.is_yes()), property));
    }
}

/// # Safety
///
/// `length` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn protocol_copyMethodDescriptionList(
    protocol: Option<&'static Protocol>,
    is_required: Bool,
    is_instance: Bool,
    length: *mut c_uint,
) -> *mut MethodDescription {
    let kind = (is_required.is_yes(), is_instance.is_yes());
    let list = protocol.map(|protocol| protocol.descriptions(kind)).unwrap_or_default();
    // SAFETY: as promised, and all zeros are a description without a selector.
    unsafe { copied_list(&list, length) }
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn protocol_getMethodDescription(
    protocol: Option<&'static Protocol>,
    selector: Option<Sel>,
    is_required: Bool,
    is_instance: Bool,
) -> MethodDescription {
    let kind = (is_required.is_yes(), is_instance.is_yes());
    let found = protocol.zip(selector).and_then(|(protocol, selector)| protocol.description(selector, kind));
    found.unwrap_or(MethodDescription { selector: None, types: std::ptr::null() })
}

/// # Safety
///
/// `length` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn protocol_copyPropertyList(
    protocol: Option<&'static Protocol>,
    length: *mut c_uint,
) -> *mut Option<&'static Property> {
    let of = |protocol: &'static Protocol| {
        let body = protocol.body();
        body.properties.iter().filter(|(kind, _)| *kind == (true, true)).map(|found| Some(found.1)).collect()
    };
    let list: Vec<Option<&'static Property>> = protocol.map(of).unwrap_or_default();
    // SAFETY: as promised, and a null pointer is `None`.
    unsafe { copied_list(&list, length) }
}

/// # Safety
///
/// `name` is null or a C string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn protocol_getProperty(
    protocol: Option<&'static Protocol>,
    name: *const c_char,
    is_required: Bool,
    is_instance: Bool,
) -> Option<&'static Property> {
    // SAFETY: as promised.
    let (name, kind) = (unsafe { text(name) }, (is_required.is_yes(), is_instance.is_yes()));
    let body = protocol?.body();
    body.properties.iter().find(|known| known.0 == kind && known.1.name() == name).map(|found| found.1)
}

/// # Safety
///
/// `length` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn protocol_copyProtocolList(
    protocol: Option<&'static Protocol>,
    length: *mut c_uint,
) -> *mut Option<&'static Protocol> {
    let of = |protocol: &'static Protocol| protocol.body().adopted.iter().copied().map(Some).collect();
    let list: Vec<Option<&'static Protocol>> = protocol.map(of).unwrap_or_default();
    // SAFETY: as promised, and a null pointer is `None`.
    unsafe { copied_list(&list, length) }
}
