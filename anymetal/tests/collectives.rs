//! Collectives where there is no GPU: refusals with their reason.
#![cfg(feature = "nccl")]

use anymetal::collectives::{Collectives, GroupId};
use anymetal::error::DeviceError;
use anymetal::{Device, Error};

fn refusal(result: Result<Collectives, Error>) -> String {
    match result {
        Err(Error::Device(error @ DeviceError::Unsupported { .. })) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn devices_without_collectives_are_refused_by_name() {
    let cpu = Device::by_name("cpu").unwrap();
    let text = refusal(Collectives::new(std::slice::from_ref(&cpu)));
    assert!(text.contains("cpu") && text.contains("collectives"), "{text}");
    let group = GroupId::from_bytes([1; GroupId::BYTES]);
    refusal(Collectives::join(&[cpu], &group, 0, 2));
    refusal(Collectives::new(&[]));
}

/// With NCCL it is an id, without it an error that says what is missing.
#[test]
fn a_group_needs_the_library() {
    match GroupId::new() {
        Ok(group) => assert_eq!(GroupId::from_bytes(group.to_bytes()), group),
        Err(error) => assert!(error.to_string().contains("NCCL"), "{error}"),
    }
}
