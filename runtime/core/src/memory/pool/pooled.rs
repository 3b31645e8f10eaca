//! Pooled buffers.
//!
//! Invariant: a block goes back to its pool exactly once, when its [`PooledBuffer`] is dropped, or leaves it.

use std::fmt;
use std::sync::Arc;

use anymetal_hal::buffer::{Buffer, StorageMode};
use anymetal_hal::command::BoundResource;
use anymetal_hal::error::DeviceError;

use super::PoolShared;
use super::state::{Block, SlotId};
use crate::memory::view::BufferView;
use crate::sync::lock;
use crate::tenant::MemoryCharge;

/// Zeros are written in pieces of this size.
const ZEROS: &[u8] = &[0; 64 * 1024];

/// A pooled buffer: at least as long as asked, and its holder's alone until it is dropped.
///
/// Handles to its memory ([`PooledBuffer::view`], submitted commands) may outlive it; the block is handed out
/// again only when they are gone and the device is done.
pub struct PooledBuffer {
    /// `None` only while it is dropped.
    pub(super) block: Option<Block>,
    pub(super) slot: SlotId,
    pub(super) length: u64,
    pub(super) shared: Arc<PoolShared>,
    // Given back after the block, so that a tenant is never below its true use.
    pub(super) _charge: Option<MemoryCharge>,
}

impl PooledBuffer {
    /// The bytes that were asked for.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The bytes of its block: those asked for, rounded up to a size class.
    pub fn capacity(&self) -> u64 {
        self.block().buffer.length()
    }

    /// Where its memory is.
    pub fn storage_mode(&self) -> StorageMode {
        self.block().buffer.storage_mode()
    }

    /// The whole block, which may be longer than what was asked for.
    pub fn whole(&self) -> &Arc<dyn Buffer> {
        &self.block().buffer
    }

    /// The bytes that were asked for.
    pub fn view(&self) -> BufferView {
        BufferView::within(Arc::clone(self.whole()), 0, self.length)
    }

    /// For binding to a kernel argument: exactly the bytes that were asked for, so that accesses beyond them
    /// are found.
    pub fn resource(&self) -> BoundResource {
        BoundResource::Buffer { buffer: Arc::clone(self.whole()), offset: 0, length: Some(self.length) }
    }

    fn block(&self) -> &Block {
        match &self.block {
            Some(block) => block,
            None => unreachable!("only drop takes the block"),
        }
    }

    /// Writes zeros to the first bytes of the block.
    pub(super) fn clear(&self, bytes: u64) -> Result<(), DeviceError> {
        let mut offset = 0;
        while offset < bytes {
            let piece = (bytes - offset).min(ZEROS.len() as u64);
            self.whole().write(offset, &ZEROS[..piece as usize])?;
            offset += piece;
        }
        Ok(())
    }

    /// Takes the block out of the pool instead of giving it back.
    pub(super) fn discard(mut self) {
        if let Some(block) = self.block.take() {
            lock(&self.shared.state).unbook(self.slot);
            drop(block);
        }
    }
}

impl Drop for PooledBuffer {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.shared.give_back(self.slot, block);
        }
    }
}

impl fmt::Debug for PooledBuffer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (length, buffer) = (self.length, self.whole());
        formatter.debug_struct("PooledBuffer").field("length", &length).field("buffer", buffer).finish()
    }
}
