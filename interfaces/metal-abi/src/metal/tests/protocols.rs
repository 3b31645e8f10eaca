//! The protocols of Metal's objects.

use objc2::ffi;
use std::ffi::CStr;

use objc2::runtime::{AnyObject, AnyProtocol, Bool, Sel};
use objc2::{class, msg_send, sel};

use super::{buffer, device};

#[test]
fn objects_conform_to_the_protocols_of_metal() {
    let device = device();
    let x = buffer(&device, 4);
    let conforms = |object: &AnyObject, name: &CStr| -> bool {
        let protocol = AnyProtocol::get(name).expect("Metal declares it");
        // SAFETY: every object has the method.
        unsafe { msg_send![object, conformsToProtocol: protocol] }
    };
    assert!(conforms(&device, c"MTLDevice") && !conforms(&device, c"MTLBuffer"));
    for name in [c"MTLBuffer", c"MTLResource", c"MTLAllocation", c"NSObject"] {
        assert!(conforms(&x, name), "{name:?}");
    }
    assert!(!conforms(&x, c"MTLTexture") && AnyProtocol::get(c"MTL4Compiler").is_none());
    let descriptor = class!(MTLTextureDescriptor);
    assert!(!descriptor.conforms_to(AnyProtocol::get(c"MTLTexture").unwrap()));
}

/// The required methods that a protocol lists, with their types.
fn methods(protocol: &CStr) -> Vec<(Sel, String)> {
    let protocol = AnyProtocol::get(protocol).expect("Metal declares it");
    let mut count = 0;
    // SAFETY: the protocol and the place for the count are alive.
    let list = unsafe { ffi::protocol_copyMethodDescriptionList(protocol, Bool::YES, Bool::YES, &mut count) };
    let described = (0..count as usize).map(|at| {
        // SAFETY: the list has that many methods, whose types are C strings.
        unsafe {
            let method = *list.add(at);
            let types = CStr::from_ptr(method.types).to_str().expect("ASCII").to_owned();
            (method.name.expect("a selector"), types)
        }
    });
    let described = described.collect();
    // SAFETY: the caller owns the list.
    unsafe { ffi::free(list.cast()) };
    described
}

#[test]
fn protocols_list_the_methods_that_metal_declares() {
    let types = |protocol: &CStr, selector: Sel| {
        methods(protocol).into_iter().find(|(name, _)| *name == selector).map(|(_, types)| types)
    };
    assert_eq!(types(c"MTLBuffer", sel!(length)).as_deref(), Some("Q@:"));
    assert_eq!(types(c"MTLBuffer", sel!(contents)).as_deref(), Some("^v@:"));
    assert_eq!(
        types(c"MTLDevice", sel!(newComputePipelineStateWithFunction:error:)).as_deref(),
        Some("@@:@^@"),
        "a place for an error is an argument"
    );
    assert_eq!(
        types(c"MTLComputeCommandEncoder", sel!(dispatchThreads:threadsPerThreadgroup:)).as_deref(),
        Some("v@:{?=QQQ}{?=QQQ}")
    );
    assert_eq!(types(c"MTLBuffer", sel!(label)), None, "`MTLResource` declares it");
}

/// `objc2` compares the types of a class with those of each message.
#[test]
fn implemented_methods_have_the_types_of_their_protocols() {
    let device = device();
    let buffer = buffer(&device, 4);
    let objects: [(&CStr, &AnyObject); 2] = [(c"MTLDevice", &device), (c"MTLBuffer", &buffer)];
    for (protocol, object) in objects {
        let mut implemented = 0;
        for (selector, declared) in methods(protocol) {
            let Some(own) = object.class().instance_method(selector) else { continue };
            // SAFETY: a method has types, a C string.
            let own = unsafe { CStr::from_ptr(ffi::method_getTypeEncoding(own)) };
            assert_eq!(own.to_str(), Ok(&*declared), "{selector} of {protocol:?}");
            implemented += 1;
        }
        assert!(implemented > 5, "{protocol:?}");
    }
}

#[test]
fn a_method_of_an_adopted_protocol_is_found() {
    let buffer = AnyProtocol::get(c"MTLBuffer").expect("Metal declares it");
    // SAFETY: the protocol is alive.
    let found =
        |selector| unsafe { ffi::protocol_getMethodDescription(buffer, selector, Bool::YES, Bool::YES) };
    assert_eq!(found(sel!(label)).name, Some(sel!(label)));
    assert_eq!(found(sel!(setTexture:atIndex:)).name, None);
}
