//! The blit encoder: copies and fills of buffer ranges into a list of commands.
//!
//! Owns [`BlitEncoder`]. Invariant: a range that is not within its buffer is refused when it is encoded.

use std::ops::Range;
use std::sync::Arc;

use crate::buffer::Buffer;
use crate::command::{BufferCopy, BufferFill, Command};
use crate::error::DeviceError;
use crate::fence::Fence;

/// Encodes copies and fills. It borrows the command list, so nothing else can be encoded meanwhile; dropping
/// it ends the encoding.
#[derive(Debug)]
pub struct BlitEncoder<'a> {
    commands: &'a mut Vec<Command>,
}

impl<'a> BlitEncoder<'a> {
    /// Encodes after the commands that are there.
    pub fn new(commands: &'a mut Vec<Command>) -> Self {
        BlitEncoder { commands }
    }

    /// Copies a range of bytes to another buffer, or to another place of the same buffer without overlap.
    pub fn copy(
        &mut self,
        source: &Arc<dyn Buffer>,
        range: Range<u64>,
        destination: &Arc<dyn Buffer>,
        destination_offset: u64,
    ) -> Result<&mut Self, DeviceError> {
        let (source, destination) = (Arc::clone(source), Arc::clone(destination));
        let copy = BufferCopy::new(source, range, destination, destination_offset)?;
        self.commands.push(Command::Copy(copy));
        Ok(self)
    }

    /// Sets every byte of a range.
    pub fn fill(
        &mut self,
        buffer: &Arc<dyn Buffer>,
        range: Range<u64>,
        value: u8,
    ) -> Result<&mut Self, DeviceError> {
        self.commands.push(Command::Fill(BufferFill::new(Arc::clone(buffer), range, value)?));
        Ok(self)
    }

    /// Updates a fence once everything before is done.
    pub fn update_fence(&mut self, fence: &Arc<dyn Fence>) -> &mut Self {
        self.commands.push(Command::UpdateFence(Arc::clone(fence)));
        self
    }

    /// Goes on once the last update of the fence before here is done.
    pub fn wait_for_fence(&mut self, fence: &Arc<dyn Fence>) -> &mut Self {
        self.commands.push(Command::WaitFence(Arc::clone(fence)));
        self
    }

    /// Ends the encoding; so does dropping the encoder.
    pub fn end_encoding(self) {}
}
