//! The devices of the runtime's tests, but for the processor's.

#[path = "../../../../crates/runtime/tests/exec/machine.rs"]
mod original;

use std::sync::Arc;

use anymetal_hal::device::Device;

pub(crate) use original::{artifact, faulty, read, slow, zeroed};

/// Apple's device, under the name by which the tests ask for a real one.
pub(crate) fn cpu() -> Arc<dyn Device> {
    anymetal_apple_tests::device().unwrap()
}
