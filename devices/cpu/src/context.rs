//! Leaving one stack for another.
//!
//! Owns [`switch`], the one place that does it, and [`on_stack`], which prepares a stack to be switched to.
//! Invariant: what a called function must preserve by the platform's calling convention is on the stack that
//! was left, below the address that was saved.

#[cfg_attr(target_arch = "x86_64", path = "context/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "context/aarch64.rs")]
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), path = "context/disabled.rs")]
mod machine;

pub(crate) use machine::{IS_SUPPORTED, on_stack, switch};

/// What runs on a stack of its own; it is left for good at the end, never returned from.
pub(crate) type Start = unsafe extern "C" fn(argument: *mut u8) -> !;
