//! Declared properties: names with attributes, for introspection only.

use std::ffi::{CStr, CString, c_char, c_uint};

use super::class::Class;
use super::lists::{copied_list, copied_text, text};
use super::object::Truth;
use super::raise_invalid_argument;
use crate::arguments::may_read;

/// A declared property.
#[derive(Debug)]
pub(crate) struct Property {
    name: CString,
    attributes: Vec<(CString, CString)>,
    /// The attributes in one text, as `T@,R`.
    joined: CString,
}

/// An attribute in C's layout.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct PropertyAttribute {
    name: *const c_char,
    value: *const c_char,
}

impl Property {
    /// A property that lives for ever.
    ///
    /// # Safety
    ///
    /// `name` is null or a C string; `attributes` is null or so many attributes of C strings.
    pub(crate) unsafe fn leaked(
        name: *const c_char,
        attributes: *const PropertyAttribute,
        count: c_uint,
    ) -> &'static Property {
        let mut owned = Vec::new();
        let mut joined = Vec::new();
        if !may_read(attributes.cast(), count as usize * size_of::<PropertyAttribute>()) {
            raise_invalid_argument(&format!("class_addProperty: the attributes are not a list of {count}"));
        }
        for at in 0..count as usize {
            // SAFETY: as promised, there are `count` of them, of C strings.
            let (name, value) = unsafe {
                let attribute = *attributes.add(at);
                (text(attribute.name), text(attribute.value))
            };
            joined.push([name.to_bytes(), value.to_bytes()].concat());
            owned.push((name.to_owned(), value.to_owned()));
        }
        // SAFETY: as promised.
        let name = unsafe { text(name) }.to_owned();
        let joined = CString::new(joined.join(&b','))
            .unwrap_or_else(|_| unreachable!("C strings have no zeros inside"));
        Box::leak(Box::new(Property { name, attributes: owned, joined }))
    }

    /// A property that lives for ever, of attributes in one text, as `T@,R,Vvalue`.
    pub(crate) fn parsed(name: &CStr, joined: &CStr) -> &'static Property {
        let owned = |part: &[u8]| CString::new(part).unwrap_or_default();
        // A comma inside a type's name in quotes does not occur in what compilers write.
        let parts = joined.to_bytes().split(|&byte| byte == b',').filter(|part| !part.is_empty());
        let attributes = parts.map(|part| (owned(&part[..1]), owned(&part[1..]))).collect();
        Box::leak(Box::new(Property { name: name.to_owned(), attributes, joined: joined.to_owned() }))
    }

    pub(crate) fn name(&self) -> &CStr {
        &self.name
    }
}

/// # Safety
///
/// `name` is null or a C string; `attributes` is null or so many attributes of C strings.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn class_addProperty(
    class: Option<&'static Class>,
    name: *const c_char,
    attributes: *const PropertyAttribute,
    count: c_uint,
) -> Truth {
    // SAFETY: as promised.
    let property = unsafe { Property::leaked(name, attributes, count) };
    let Some(class) = class else { return Truth::NO };
    let mut body = class.body();
    let is_new = !body.properties.iter().any(|known| known.name == property.name);
    if is_new {
        body.properties.push(property);
    }
    Truth::from(is_new)
}

/// # Safety
///
/// `name` is null or a C string; `attributes` is null or so many attributes of C strings.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn class_replaceProperty(
    class: Option<&'static Class>,
    name: *const c_char,
    attributes: *const PropertyAttribute,
    count: c_uint,
) {
    // SAFETY: as promised.
    let property = unsafe { Property::leaked(name, attributes, count) };
    if let Some(class) = class {
        let mut body = class.body();
        body.properties.retain(|known| known.name != property.name);
        body.properties.push(property);
    }
}

/// # Safety
///
/// `name` is null or a C string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn class_getProperty(
    class: Option<&'static Class>,
    name: *const c_char,
) -> Option<&'static Property> {
    // SAFETY: as promised.
    let name = unsafe { text(name) };
    class?.ready().ancestry().find_map(|class| {
        let body = class.body();
        body.properties.iter().copied().find(|property| property.name() == name)
    })
}

/// # Safety
///
/// `length` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn class_copyPropertyList(
    class: Option<&'static Class>,
    length: *mut c_uint,
) -> *mut Option<&'static Property> {
    let of = |class: &'static Class| class.ready().body().properties.iter().copied().map(Some).collect();
    let list: Vec<Option<&'static Property>> = class.map(of).unwrap_or_default();
    // SAFETY: as promised, and a null pointer is `None`.
    unsafe { copied_list(&list, length) }
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn property_getName(property: Option<&'static Property>) -> *const c_char {
    property.map_or(std::ptr::null(), |property| property.name.as_ptr())
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn property_getAttributes(property: Option<&'static Property>) -> *const c_char {
    property.map_or(std::ptr::null(), |property| property.joined.as_ptr())
}

/// # Safety
///
/// `name` is null or a C string.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn property_copyAttributeValue(
    property: Option<&'static Property>,
    name: *const c_char,
) -> *mut c_char {
    // SAFETY: as promised.
    let name = unsafe { text(name) };
    let attributes = property.map(|property| property.attributes.as_slice()).unwrap_or_default();
    let found = attributes.iter().find(|(known, _)| known.as_c_str() == name);
    copied_text(found.map(|(_, value)| value.to_bytes()))
}

/// # Safety
///
/// `length` is null or may be written.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C-unwind" fn property_copyAttributeList(
    property: Option<&'static Property>,
    length: *mut c_uint,
) -> *mut PropertyAttribute {
    let attributes = property.map(|property| property.attributes.as_slice()).unwrap_or_default();
    let in_c =
        |(name, value): &(CString, CString)| PropertyAttribute { name: name.as_ptr(), value: value.as_ptr() };
    let list: Vec<PropertyAttribute> = attributes.iter().map(in_c).collect();
    // SAFETY: as promised, and all zeros are an attribute without a name.
    unsafe { copied_list(&list, length) }
}
