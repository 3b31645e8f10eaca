//! The sentences, classes and encoding of errors.

use super::*;
use crate::artifact::AccessKind;

#[test]
fn a_fault_names_kernel_argument_index_and_place() {
    let fault = OutOfBounds {
        kernel: "saxpy".into(),
        argument: Some(1),
        argument_name: "y".into(),
        through: None,
        kind: AccessKind::Store,
        byte_offset: 400,
        element_index: Some(100),
        bound_len: 400,
        bound_elements: Some(100),
        access_bytes: 4,
        file: "saxpy.metal".into(),
        line: 7,
        column: 5,
        group: [3, 0, 0],
        thread: [4, 0, 0],
    };
    assert_eq!(
        DeviceError::OutOfBounds(Box::new(fault)).to_string(),
        "kernel `saxpy`: store out of bounds of argument 1 `y` at index 100 (byte 400), but 100 elements \
         (400 bytes) are bound, in threadgroup (3, 0, 0), thread (4, 0, 0), at saxpy.metal:7:5"
    );
}

#[test]
fn only_transient_and_exhausted_errors_invite_a_retry() {
    assert_eq!(DeviceError::OutOfMemory { requested: 1 }.class(), ErrorClass::Exhausted);
    let unknown = DeviceError::UnknownKernel { name: "a".into(), existing: vec!["b".into()] };
    assert_eq!(unknown.class(), ErrorClass::Caller);
    assert_eq!(unknown.to_string(), "there is no kernel `a`; there are `b`");
}

#[test]
fn errors_are_read_as_they_were_written() {
    let errors = [
        DeviceError::WrongDevice { what: "buffer", device: "cpu".into() },
        DeviceError::DeadlineExceeded { kernel: None, after: Duration::from_millis(3) },
        DeviceError::FenceAcrossQueues,
    ];
    for error in errors {
        let text = serde_json::to_string(&error).unwrap();
        assert_eq!(serde_json::from_str::<DeviceError>(&text).unwrap(), error);
    }
    let forged = r#"{"WrongDevice":{"what":"secret","device":"cpu"}}"#;
    assert!(serde_json::from_str::<DeviceError>(forged).is_err());
}
