//! Methods of `NSString` and `NSBundle` that programs in Objective-C use beyond those of the classes'
//! own files: trimming and paths.

use std::ffi::CStr;
use std::path::{Component, Path, PathBuf};

use objc2::msg_send;
use objc2::rc::Retained;
use objc2::runtime::{AnyClass, AnyObject, Sel};

use super::array::NSArray;
use super::scanner::NSCharacterSet;
use super::string::NSString;
use crate::arguments::{Argument, Site};
use crate::runtime::Sel as Selector;
use crate::runtime::class::Class;
use crate::runtime::class_builder::add_method;
use crate::runtime::object::Imp;

/// A method with one object as its argument.
type OneArgument<T, A> = extern "C-unwind" fn(&T, Sel, *const A) -> *mut AnyObject;

const TRIMMED: Site = Site::of_instance("NSString", "method(stringByTrimmingCharactersInSet:)", "set");
const WITH_EXTENSION: Site =
    Site::of_instance("NSString", "method(stringByAppendingPathExtension:)", "extension");
const JOINED: Site = Site::of_class("NSString", "method(pathWithComponents:)", "components");

fn given(text: &str) -> *mut AnyObject {
    Retained::autorelease_ptr(NSString::of(text)).cast()
}

extern "C-unwind" fn trimmed(string: &NSString, _: Sel, set: *const NSCharacterSet) -> *mut AnyObject {
    // SAFETY: the sender passed it.
    let set = unsafe { <&NSCharacterSet as Argument>::take(set, &TRIMMED) };
    given(string.to_string().trim_matches(|character| set.contains(character)))
}

extern "C-unwind" fn with_extension(string: &NSString, _: Sel, extension: *const NSString) -> *mut AnyObject {
    // SAFETY: the sender passed it.
    let extension = unsafe { <&NSString as Argument>::take(extension, &WITH_EXTENSION) };
    given(&format!("{string}.{extension}"))
}

extern "C-unwind" fn joined(_class: &AnyClass, _: Sel, components: *const NSArray) -> *mut AnyObject {
    // SAFETY: the sender passed it.
    let components = unsafe { <&NSArray as Argument>::take(components, &JOINED) };
    let text = |component: &Retained<AnyObject>| {
        // SAFETY: the array holds it.
        unsafe { <&NSString as Argument>::take(Retained::as_ptr(component).cast(), &JOINED) }.to_string()
    };
    let path: PathBuf = components.elements().iter().map(text).collect();
    given(&path.to_string_lossy())
}

/// Without `.`, `..` and doubled slashes.
extern "C-unwind" fn standardized(string: &NSString, _: Sel) -> *mut AnyObject {
    let text = string.to_string();
    let mut path = PathBuf::new();
    for component in Path::new(&text).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if path.file_name().is_some() => {
                path.pop();
            }
            other => path.push(other),
        }
    }
    given(&path.to_string_lossy())
}

/// All classes are in the main bundle.
extern "C-unwind" fn bundle_for_class(bundle: &AnyClass, _: Sel, _class: *const AnyClass) -> *mut AnyObject {
    // SAFETY: the class has the method, which gives an object.
    unsafe { msg_send![bundle, mainBundle] }
}

/// A method: its class, whether it is the class's own, its selector, code and types.
type Method = (&'static CStr, bool, &'static CStr, Imp, &'static CStr);

/// Adds the methods of a class to it, which is being built.
pub(crate) fn add_to(class: &'static Class) {
    for (name, is_of_class, selector, code, types) in methods() {
        let target = if is_of_class { class.metaclass() } else { Some(class) };
        if let Some(target) = target.filter(|_| class.name() == name) {
            add_method(target, Selector::of(selector), code, types);
        }
    }
}

fn methods() -> [Method; 5] {
    // SAFETY: whoever calls a method's code casts it to the method's type first.
    unsafe {
        let trimmed = std::mem::transmute::<OneArgument<NSString, NSCharacterSet>, Imp>(trimmed);
        let with_extension = std::mem::transmute::<OneArgument<NSString, NSString>, Imp>(with_extension);
        let joined = std::mem::transmute::<OneArgument<AnyClass, NSArray>, Imp>(joined);
        let standardized =
            std::mem::transmute::<extern "C-unwind" fn(&NSString, Sel) -> *mut AnyObject, Imp>(standardized);
        let bundle_for_class = std::mem::transmute::<
            extern "C-unwind" fn(&AnyClass, Sel, *const AnyClass) -> *mut AnyObject,
            Imp,
        >(bundle_for_class);
        [
            (c"NSString", false, c"stringByTrimmingCharactersInSet:", trimmed, c"@24@0:8@16"),
            (c"NSString", false, c"stringByAppendingPathExtension:", with_extension, c"@24@0:8@16"),
            (c"NSString", true, c"pathWithComponents:", joined, c"@24@0:8@16"),
            (c"NSString", false, c"stringByStandardizingPath", standardized, c"@16@0:8"),
            (c"NSBundle", true, c"bundleForClass:", bundle_for_class, c"@24@0:8#16"),
        ]
    }
}
