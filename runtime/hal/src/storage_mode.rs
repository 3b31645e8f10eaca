//! Where the memory of buffers is.

use serde::{Deserialize, Serialize};

/// Where a buffer's memory is and who may touch it, in Metal's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum StorageMode {
    /// Host and device see the same memory.
    #[default]
    Shared,
    /// Only the device touches it; the host copies through commands.
    Private,
    /// Host and device each have a copy, made equal by explicit synchronisation. A device without memory of
    /// its own keeps one copy, and there is nothing to synchronise.
    Managed,
}
