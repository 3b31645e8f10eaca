//! The twin of `sandbox` where there is none.

use crate::channel::Channel;

/// The parts of a sandbox that this system lacks.
pub fn missing() -> Vec<String> {
    vec!["Linux".to_owned()]
}

/// Does nothing.
pub fn close(_channel: &Channel, _memory_bytes: u64) -> Vec<String> {
    missing()
}

/// Number of threads of this process, which is not known here.
pub fn threads() -> usize {
    0
}
