//! Device traits, errors with classes, capabilities, and the launch ABI.
//!
//! The crate is the seam between the compiler, the devices and the runtime, and depends on none of them:
//! [`artifact`] is what a compiler hands to a device, [`launch`] is what compiled code and the CPU device
//! agree on.
#![forbid(unsafe_code)]

pub mod artifact;
pub mod encoding;
pub mod launch;
