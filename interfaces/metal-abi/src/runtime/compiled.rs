//! What compilers write into programs for `-fobjc-runtime=gnustep-2.1`, in C's layout
//! (<https://github.com/gnustep/libobjc2>, the description of its second ABI; Clang's
//! `CGObjCGNU.cpp` writes it).
//!
//! All pointers may be null. Lists give their entries' size, because later versions may append
//! fields. Nothing here is interpreted: [`super::load`] does.

use std::ffi::{CStr, c_char, c_int, c_long, c_void};

use super::object::Imp;

/// The sections of one program or library: begin and end of each.
#[repr(C)]
pub(crate) struct Sections {
    pub(crate) version: u64,
    pub(crate) selectors: Section<CompiledSelector>,
    pub(crate) classes: Section<*mut CompiledClass>,
    pub(crate) class_references: Section<*mut c_void>,
    pub(crate) categories: Section<Category>,
    pub(crate) protocols: Section<CompiledProtocol>,
    pub(crate) protocol_references: Section<*mut c_void>,
    pub(crate) aliases: Section<Alias>,
    pub(crate) strings: Section<super::literal::CompiledString>,
}

/// The entries of a section. The linker may leave zeros between them.
#[repr(C)]
pub(crate) struct Section<T> {
    begin: *mut T,
    end: *mut T,
}

impl<T> Section<T> {
    /// The entries' addresses.
    pub(crate) fn entries(&self) -> Vec<*mut T> {
        let bytes = self.end.addr().saturating_sub(self.begin.addr());
        (0..bytes / size_of::<T>()).map(|at| self.begin.wrapping_add(at)).collect()
    }
}

#[repr(C)]
pub(crate) struct CompiledSelector {
    pub(crate) name: *const c_char,
    pub(crate) types: *const c_char,
}

#[repr(C)]
pub(crate) struct CompiledClass {
    /// Of a class, its metaclass.
    pub(crate) metaclass: *mut CompiledClass,
    pub(crate) superclass: *mut c_void,
    pub(crate) name: *const c_char,
    version: c_long,
    information: u64,
    /// Negative: the bytes without those of the superclass.
    pub(crate) instance_bytes: c_long,
    pub(crate) ivars: *const IvarList,
    pub(crate) methods: *const MethodList,
    dispatch_table: *mut c_void,
    constructor: *mut c_void,
    destructor: *mut c_void,
    subclasses: *mut c_void,
    siblings: *mut c_void,
    pub(crate) protocols: *const ProtocolList,
    extra: *mut c_void,
    abi_version: c_long,
    pub(crate) properties: *const PropertyList,
}

#[repr(C)]
pub(crate) struct IvarList {
    count: c_int,
    entry_bytes: usize,
    entries: [CompiledIvar; 0],
}

#[repr(C)]
pub(crate) struct CompiledIvar {
    pub(crate) name: *const c_char,
    pub(crate) types: *const c_char,
    /// Where compiled code reads the offset; at first counted from the end of the superclass.
    pub(crate) offset: *mut i32,
    bytes: u32,
    flags: u32,
}

impl CompiledIvar {
    /// The alignment in bytes, a power of two.
    pub(crate) fn alignment(&self) -> usize {
        1 << ((self.flags >> 3) & 15)
    }
}

#[repr(C)]
pub(crate) struct MethodList {
    next: *const MethodList,
    count: c_int,
    entry_bytes: usize,
    entries: [CompiledMethod; 0],
}

#[repr(C)]
pub(crate) struct CompiledMethod {
    pub(crate) code: Option<Imp>,
    pub(crate) selector: *const CompiledSelector,
    pub(crate) types: *const c_char,
}

#[repr(C)]
pub(crate) struct ProtocolList {
    next: *const ProtocolList,
    count: usize,
    entries: [*const CompiledProtocol; 0],
}

#[repr(C)]
pub(crate) struct CompiledProtocol {
    isa: *mut c_void,
    pub(crate) name: *const c_char,
    pub(crate) protocols: *const ProtocolList,
    /// Required of instances, required of classes, optional of instances, optional of classes.
    pub(crate) methods: [*const DescriptionList; 4],
    pub(crate) properties: *const PropertyList,
    optional_properties: *const PropertyList,
    class_properties: *const PropertyList,
    optional_class_properties: *const PropertyList,
}

#[repr(C)]
pub(crate) struct DescriptionList {
    count: c_int,
    entry_bytes: c_int,
    entries: [Description; 0],
}

#[repr(C)]
pub(crate) struct Description {
    pub(crate) selector: *const CompiledSelector,
    pub(crate) types: *const c_char,
}

#[repr(C)]
pub(crate) struct PropertyList {
    count: c_int,
    entry_bytes: c_int,
    next: *const PropertyList,
    entries: [CompiledProperty; 0],
}

#[repr(C)]
pub(crate) struct CompiledProperty {
    pub(crate) name: *const c_char,
    /// As `Ti,R`.
    pub(crate) attributes: *const c_char,
    types: *const c_char,
    getter: *const CompiledSelector,
    setter: *const CompiledSelector,
}

#[repr(C)]
pub(crate) struct Category {
    pub(crate) name: *const c_char,
    pub(crate) class: *const c_char,
    pub(crate) instance_methods: *const MethodList,
    pub(crate) class_methods: *const MethodList,
    pub(crate) protocols: *const ProtocolList,
    pub(crate) properties: *const PropertyList,
    class_properties: *const PropertyList,
}

#[repr(C)]
pub(crate) struct Alias {
    pub(crate) name: *const c_char,
    pub(crate) class: *mut *mut c_void,
}

macro_rules! entries {
    ($($list:ident: $entry:ty, $next:expr, $bytes:expr;)*) => {
        $(
            impl $list {
                /// The entries of this list and of those that it is linked to.
                ///
                /// # Safety
                ///
                /// `list` is null or a list as a compiler writes it, which nothing changes.
                pub(crate) unsafe fn all(mut list: *const $list) -> Vec<&'static $entry> {
                    let mut all = Vec::new();
                    // SAFETY: as promised, a list has so many entries of so many bytes.
                    unsafe {
                        while let Some(head) = list.as_ref() {
                            let first = (&raw const (*list).entries).cast::<u8>();
                            let bytes: usize = ($bytes)(head);
                            let entries = (0..head.count as usize).map(|at| first.add(at * bytes));
                            all.extend(entries.map(|entry| &*entry.cast::<$entry>()));
                            list = ($next)(head);
                        }
                    }
                    all
                }
            }
        )*
    };
}

entries! {
    IvarList: CompiledIvar, |_| std::ptr::null(), |list: &IvarList| list.entry_bytes;
    MethodList: CompiledMethod, |list: &MethodList| list.next, |list: &MethodList| list.entry_bytes;
    ProtocolList: *const CompiledProtocol, |list: &ProtocolList| list.next, |_| size_of::<usize>();
    DescriptionList: Description, |_| std::ptr::null(), |list: &DescriptionList| list.entry_bytes as usize;
    PropertyList: CompiledProperty, |list: &PropertyList| list.next, |list: &PropertyList| list.entry_bytes as usize;
}

/// A C string of a program's, which lives as long as the program.
///
/// # Safety
///
/// `text` is null or a C string of a loaded program.
pub(crate) unsafe fn constant(text: *const c_char) -> &'static CStr {
    // SAFETY: as promised.
    unsafe { super::lists::text(text) }
}
