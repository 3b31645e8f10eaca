//! The protocols of Metal's objects.

use objc2::runtime::AnyProtocol;
use objc2::{class, msg_send};

use super::{buffer, device};

#[test]
fn objects_conform_to_the_protocols_of_metal() {
    let device = device();
    let x = buffer(&device, 4);
    let conforms = |object: &objc2::runtime::AnyObject, name: &std::ffi::CStr| -> bool {
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
