//! A walk over all methods of all classes, and over the exported functions: each is called with nil, NULL
//! and 0, with absurd numbers, and with an object of another class.
//!
//! Classes, methods and types come from the runtime's tables, so new methods are called without a change.

use std::collections::BTreeMap;

use crate::call::{Arguments, call};
use crate::encoding::Kind;
use crate::functions::{FUNCTIONS, FUNCTIONS_OF_X86_64};
use crate::isolated::Child;
use crate::objects::{Basis, is_exempt};
use crate::runtime::{self, Method};

/// What a method is called with.
#[derive(Debug, Clone, Copy)]
enum Variant {
    /// Every argument is 0.
    Zero,
    /// Integers are this number, all else is 0.
    Number(u64),
    /// Objects are of the root class, pointers are to memory, and integers are this number.
    Other(u64),
}

const VARIANTS: [Variant; 6] = [
    Variant::Zero,
    Variant::Number(u64::MAX),
    Variant::Number(1 << 62),
    Variant::Number(1 << 40),
    Variant::Other(1),
    Variant::Other(1 << 62),
];

/// Classes whose objects take long to make, and are not changed by their methods.
const SHARED: [&str; 7] = [
    "AnymetalComputePipelineState",
    "AnymetalFunctionHandle",
    "AnymetalVisibleFunctionTable",
    "AnymetalArgumentEncoder",
    "AnymetalBinding",
    "MTLComputePipelineReflection",
    "MTLFunctionConstant",
];

/// Makes all calls from a number on, in a child; returns how many there are.
///
/// # Panics
///
/// If a class is not known to [`Basis::object`].
pub fn run(child: &Child, from: u64) -> u64 {
    let mut walk =
        Walk { child, basis: Basis::new(), from, next: 0, shared: BTreeMap::new(), memory: scratch() };
    for (name, code) in FUNCTIONS.iter().chain(FUNCTIONS_OF_X86_64) {
        walk.function(name, *code);
    }
    for class in runtime::classes() {
        for method in runtime::methods_of(runtime::class_of(class)) {
            walk.method(&method, |_, _| class);
        }
        let name = runtime::name_of(class);
        for method in runtime::methods_of(class) {
            walk.uninitialized(&method, class);
            walk.method(&method, |walk, _| walk.object(&name));
        }
    }
    walk.next
}

/// Words of the memory that arguments point to.
const MEMORY_WORDS: usize = 1 << 14;

struct Walk<'a> {
    child: &'a Child,
    basis: Basis,
    from: u64,
    next: u64,
    shared: BTreeMap<String, usize>,
    memory: usize,
}

/// Memory of zeros for arguments.
fn scratch() -> usize {
    Box::leak(vec![0u64; MEMORY_WORDS].into_boxed_slice()).as_ptr().expose_provenance()
}

impl Walk<'_> {
    /// Whether the next call is one that this child makes.
    fn is_due(&mut self) -> bool {
        self.next += 1;
        self.next > self.from
    }

    fn object(&mut self, class: &str) -> usize {
        if let Some(&object) = self.shared.get(class) {
            return object;
        }
        let object = self.basis.object(class);
        let object = object.unwrap_or_else(|| panic!("`Basis::object` makes no object of the class {class}"));
        if SHARED.contains(&class) {
            self.shared.insert(class.to_owned(), object);
        }
        object
    }

    fn function(&mut self, name: &str, code: unsafe extern "C-unwind" fn()) {
        if self.is_due() {
            let code = code as *const ();
            // SAFETY: the functions take null and 0 for all arguments.
            self.child
                .call(self.next - 1, name, || unsafe { call(code, &Kind::Integer, &Arguments::new(0, 0)) });
        }
    }

    fn uninitialized(&mut self, method: &Method, class: usize) {
        if is_exempt(&method.selector) || !self.is_due() {
            return;
        }
        let text = format!("{method} of an object that was not initialized");
        let receiver = runtime::allocated(class);
        // Instances of some classes are only made by compilers.
        if receiver == 0 {
            return;
        }
        let arguments = self.arguments(method, receiver, Variant::Zero);
        self.make(&text, method, receiver, &arguments);
    }

    fn method(&mut self, method: &Method, receiver: impl Fn(&mut Self, Variant) -> usize) {
        if is_exempt(&method.selector) {
            return;
        }
        for variant in VARIANTS {
            if self.is_due() {
                let receiver = receiver(self, variant);
                let arguments = self.arguments(method, receiver, variant);
                self.make(&format!("{method} {variant:x?}"), method, receiver, &arguments);
            }
        }
    }

    fn make(&self, text: &str, method: &Method, receiver: usize, arguments: &Arguments) {
        let memory = std::ptr::with_exposed_provenance_mut::<u64>(self.memory);
        // SAFETY: the memory is this module's; results of calls before were written to it.
        unsafe { std::ptr::write_bytes(memory, 0, MEMORY_WORDS) };
        let call = || {
            runtime::retain(receiver);
            // SAFETY: arguments are of the method's types: null, objects, or memory.
            unsafe { method.call(arguments) }
        };
        self.child.call(self.next - 1, text, || runtime::in_pool(call));
    }

    fn arguments(&self, method: &Method, receiver: usize, variant: Variant) -> Arguments {
        let mut arguments = method.arguments(receiver);
        let (number, other) = match variant {
            Variant::Zero => (0, None),
            Variant::Number(number) => (number, None),
            Variant::Other(number) => (number, Some(self.basis.object("NSObject").unwrap_or(0))),
        };
        for kind in method.kinds.iter().skip(3) {
            match kind {
                Kind::Integer => arguments.word(number),
                Kind::Float | Kind::Double => {
                    arguments.number(kind, if number == 0 { 0.0 } else { f64::NAN })
                }
                Kind::Structure(bytes) => arguments.structure(&vec![number; bytes.div_ceil(8)]),
                Kind::Object | Kind::Block | Kind::Class => arguments.word(other.unwrap_or(0) as u64),
                Kind::Selector => {
                    arguments.word(other.map_or(0, |_| runtime::selector("noSuchMethod")) as u64)
                }
                Kind::Text | Kind::Pointer | Kind::Void => {
                    arguments.word(other.map_or(0, |_| self.memory) as u64);
                }
            }
        }
        arguments
    }
}
