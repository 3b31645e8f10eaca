//! Code that a device's driver compiled, kept between runs.
//!
//! Owns the [`CodeCache`] trait: devices ask it, whoever keeps the other results of compilation provides it.

use std::fmt;

/// Bytes by name. Nothing here is an error for a device: what cannot be kept is compiled again.
pub trait CodeCache: Send + Sync + fmt::Debug {
    /// The bytes last kept under that name, undamaged. The name is all that they depend on.
    fn read(&self, name: &[u8]) -> Option<Vec<u8>>;

    /// Keeps bytes.
    fn write(&self, name: &[u8], bytes: &[u8]);

    /// Forgets bytes that the driver refused.
    fn forget(&self, name: &[u8]);
}
