//! The caches: in memory with one maker per entry (`shared.rs`), and on disk (`disk.rs`), which holds
//! compiled objects and, for each source, a `manifest.rs` that says what it depended on;
//! `device_code.rs` lends the latter to devices.

pub(crate) mod device_code;
pub(crate) mod disk;
pub(crate) mod manifest;
pub(crate) mod shared;
