//! The twin of `sandbox` where there is none.

use crate::channel::Channel;

/// The parts of a sandbox that this system lacks.
pub fn missing() -> Vec<String> {
    vec!["Linux".to_owned()]
}

/// Whether a closed process can make code of its memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// No memory is executable.
    Denied,
    /// Memory becomes executable when it stops to be writable.
    Allowed,
}

/// Does nothing.
pub fn wait_for_threads() {}

/// Does nothing.
pub fn close(_channel: &Channel, _memory_bytes: u64, _code: Code) -> Vec<String> {
    missing()
}
