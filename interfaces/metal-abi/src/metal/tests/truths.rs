//! `BOOL` results as clients see them that declare a method's result as a whole register.

use super::*;
use objc2::runtime::{AnyClass, Method, Sel};
use objc2::sel;

/// A method without arguments, or with one that fits a register.
type Getter = unsafe extern "C-unwind" fn(*const AnyObject, Sel, usize) -> usize;

/// An argument that the method's type allows; `None`: more than one argument, or one of another type.
fn argument(object: &AnyObject, method: &Method) -> Option<usize> {
    let encoding = match method.arguments_count() {
        2 => return Some(0),
        3 => method.argument_type(2)?,
        _ => return None,
    };
    match encoding.to_bytes() {
        b"@" => Some(std::ptr::from_ref(object).addr()),
        b"#" => Some(std::ptr::from_ref(object.class()).addr()),
        // SAFETY: a selector is a pointer.
        b":" => Some(unsafe { std::mem::transmute::<Sel, *const ()>(sel!(isEqual:)) }.addr()),
        b"Q" | b"q" | b"I" | b"i" | b"C" => Some(1),
        _ => None,
    }
}

/// Calls the methods of a class that return `BOOL`, whose encoding is that of a byte; how many.
fn check(object: &AnyObject, class: &AnyClass) -> usize {
    let returns_bool = |method: &&&Method| method.return_type().to_bytes() == b"C";
    let methods = class.instance_methods();
    let called = methods.iter().filter(returns_bool).filter(|method| {
        let Some(argument) = argument(object, method) else { return false };
        // SAFETY: the method takes no more arguments than these, and returns a `BOOL` in a register.
        let code = unsafe { std::mem::transmute::<objc2::runtime::Imp, Getter>(method.implementation()) };
        // SAFETY: as above; the receiver is an instance of the class.
        let call = || unsafe { code(object, method.name(), argument) };
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)) {
            Ok(result) => {
                let name = method.name();
                assert!(result <= 1, "-[{} {name}] returns {result:#x}", class.name().to_string_lossy());
                true
            }
            Err(_) => false,
        }
    });
    called.count()
}

#[test]
fn results_of_type_bool_fill_the_register() {
    let setup = Setup::new();
    let (buffer, commands) = (buffer(&setup.device, 4), setup.command_buffer());
    let pipeline = pipeline(&setup.device, &setup.library, "fill");
    // SAFETY: the classes have these methods.
    let (encoder, array, number): (Id, Id, Id) = unsafe {
        let number: Id = msg_send![class!(NSNumber), numberWithBool: true];
        let array: Id = msg_send![class!(NSArray), arrayWithObject: &*number];
        (msg_send![&*commands, computeCommandEncoder], array, number)
    };
    let string: Id = NSString::of("text").into_super().into_super();
    let mut objects =
        vec![buffer, commands, pipeline, array, number, string, setup.device.clone(), setup.queue.clone()];
    objects.extend([setup.library.clone(), encoder.clone()]);
    for class in AnyClass::classes().iter().filter(|class| class.name().to_bytes().ends_with(b"Descriptor")) {
        // SAFETY: descriptors are made by `new`; others refuse it.
        let made = std::panic::catch_unwind(|| unsafe { msg_send![*class, new] });
        let made: Option<Id> = made.ok().flatten();
        objects.extend(made);
    }
    let mut calls = 0;
    for object in &objects {
        let mut class = Some(object.class());
        while let Some(current) = class {
            calls += check(object, current);
            class = current.superclass();
        }
    }
    // SAFETY: the class has the method.
    let () = unsafe { msg_send![&*encoder, endEncoding] };
    assert!(calls > 150, "only {calls} methods were called");
}
