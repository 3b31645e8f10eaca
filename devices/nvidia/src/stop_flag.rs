//! The flag of a command buffer that asks its kernels to stop: a word that they poll.
//!
//! Owns [`StopFlag`]. The host writes the word itself wherever the card lets it while kernels run. An upload
//! would have to pass the driver, where loading a module and freeing memory wait for all kernels, and hold up
//! what other threads put into any stream, so that a kernel without an end would never be asked.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::device_shared::DeviceShared;
use crate::driver::{Driver, DriverError, MemoryPlacement};
use crate::owned::OwnedMemory;

/// Bytes around the word, which no other data shares a cache line with.
const BYTES: u64 = 64;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct StopFlag(OwnedMemory);

impl StopFlag {
    /// Not set, once the stream gets there.
    pub(crate) fn new(device: &Arc<DeviceShared>, stream: u64) -> Result<Self, DriverError> {
        let memory = OwnedMemory::new(device, BYTES, MemoryPlacement::Managed)?;
        // The card touches the word first, so that it is there that kernels find it.
        device.driver.fill(memory.address(), 0, BYTES, stream)?;
        Ok(StopFlag(memory))
    }

    /// For kernels.
    pub(crate) fn address(&self) -> u64 {
        self.0.address()
    }

    /// Asks kernels to stop. Where the host does not reach the word, this is put into a stream beside that of
    /// the kernels.
    pub(crate) fn set(&self, driver: &dyn Driver, side: u64) -> Result<(), DriverError> {
        if self.store(1) { Ok(()) } else { driver.upload(self.address(), &1u32.to_le_bytes(), side) }
    }

    /// Takes it back; kernels that start from here on do not see it.
    pub(crate) fn clear(&self, driver: &dyn Driver, side: u64) -> Result<(), DriverError> {
        if self.store(0) {
            return Ok(());
        }
        driver.upload(self.address(), &0u32.to_le_bytes(), side)?;
        driver.synchronise(side)
    }

    /// The word, if the host reaches it.
    pub(crate) fn host_word(&self) -> Option<HostWord> {
        self.0.allocation.host.map(|host| HostWord(host.cast()))
    }

    /// Whether the host reaches the word.
    fn store(&self, value: u32) -> bool {
        let word = self.host_word();
        if let Some(word) = &word {
            // SAFETY: the memory is this flag's.
            unsafe { word.store(value) };
        }
        word.is_some()
    }
}

/// The word of a [`StopFlag`], for the host.
#[derive(Debug)]
pub(crate) struct HostWord(NonNull<u32>);

// SAFETY: it is accessed as an atomic, by `store` alone.
unsafe impl Send for HostWord {}

impl HostWord {
    /// # Safety
    /// The flag lives.
    pub(crate) unsafe fn store(&self, value: u32) {
        // SAFETY: the flag's memory begins with the word and is aligned for it; the host accesses it here
        // only, and the card allows that while kernels read it.
        unsafe { AtomicU32::from_ptr(self.0.as_ptr()) }.store(value, Ordering::Release);
    }
}
