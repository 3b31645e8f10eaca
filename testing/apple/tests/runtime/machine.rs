//! The devices of the runtime's tests, but for the processor's.

#[path = "../../../../runtime/core/tests/exec/machine.rs"]
#[allow(dead_code, reason = "its own device is not used here")]
mod original;

use std::sync::Arc;

use anymetal_hal::device::Device;

pub(crate) use original::{artifact, bytes, faulty, read, slow, zeroed};

/// Apple's device, under the name by which the tests ask for a real one.
pub(crate) fn cpu() -> Arc<dyn Device> {
    anymetal_apple_tests::device().unwrap()
}
