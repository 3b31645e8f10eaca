//! Views: ranges of a buffer, checked when they are made; and copies and fills of them.
//!
//! Owns [`BufferView`] with the commands that move its bytes. Invariant: a view lies within its buffer for
//! life, and holds the buffer alive.

use std::ops::Range;
use std::sync::Arc;

use anymetal_hal::buffer::{Buffer, same_buffer};
use anymetal_hal::command::{BoundResource, BufferCopy, BufferFill, Command};

use crate::memory::error::MemoryError;

/// A range of a buffer.
#[derive(Debug, Clone)]
pub struct BufferView {
    buffer: Arc<dyn Buffer>,
    offset: u64,
    length: u64,
}

impl BufferView {
    /// The whole buffer.
    pub fn of(buffer: Arc<dyn Buffer>) -> Self {
        let length = buffer.length();
        BufferView { buffer, offset: 0, length }
    }

    /// A range that the caller knows to be within the buffer.
    pub(crate) fn within(buffer: Arc<dyn Buffer>, offset: u64, length: u64) -> Self {
        debug_assert!(offset.checked_add(length).is_some_and(|end| end <= buffer.length()));
        BufferView { buffer, offset, length }
    }

    /// A range of this view, counted from its start.
    pub fn slice(&self, range: Range<u64>) -> Result<Self, MemoryError> {
        let len = range.end.saturating_sub(range.start);
        if range.start > range.end || range.end > self.length {
            return Err(MemoryError::ViewOutside {
                label: self.buffer.label().to_owned(),
                offset: range.start,
                len,
                length: self.length,
            });
        }
        Ok(BufferView { buffer: Arc::clone(&self.buffer), offset: self.offset + range.start, length: len })
    }

    /// The same view, if it holds whole elements of that size, aligned to it.
    pub fn of_elements(self, size: u64) -> Result<Self, MemoryError> {
        let size = size.max(1);
        if !(self.offset.is_multiple_of(size) && self.length.is_multiple_of(size)) {
            let label = self.buffer.label().to_owned();
            return Err(MemoryError::ViewMisaligned { label, offset: self.offset, len: self.length, size });
        }
        Ok(self)
    }

    /// The buffer.
    pub fn buffer(&self) -> &Arc<dyn Buffer> {
        &self.buffer
    }

    /// Its first byte in the buffer.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Its bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The address of its first byte in kernels; `None` of a device whose kernels follow none.
    pub fn gpu_address(&self) -> Option<u64> {
        Some(self.buffer.gpu_address()? + self.offset)
    }

    /// Whether both are the same bytes.
    pub fn is_same(&self, other: &BufferView) -> bool {
        let (range, other_range) = ((self.offset, self.length), (other.offset, other.length));
        same_buffer(&self.buffer, &other.buffer) && range == other_range
    }

    /// Whether both share a byte.
    pub fn overlaps(&self, other: &BufferView) -> bool {
        let (end, other_end) = (self.offset + self.length, other.offset + other.length);
        same_buffer(&self.buffer, &other.buffer)
            && self.offset < other_end
            && other.offset < end
            && self.length > 0
            && other.length > 0
    }

    /// For binding to a kernel argument.
    pub fn resource(&self) -> BoundResource {
        let buffer = Arc::clone(&self.buffer);
        BoundResource::Buffer { buffer, offset: self.offset, length: Some(self.length) }
    }

    /// Copies bytes out at once; [`anymetal_hal::error::DeviceError::Unsupported`] for private storage.
    pub fn read(&self, offset: u64, destination: &mut [u8]) -> Result<(), MemoryError> {
        let range = self.slice(offset..offset.saturating_add(destination.len() as u64))?;
        Ok(self.buffer.read(range.offset, destination)?)
    }

    /// Copies bytes in at once; [`anymetal_hal::error::DeviceError::Unsupported`] for private storage.
    pub fn write(&self, offset: u64, source: &[u8]) -> Result<(), MemoryError> {
        let range = self.slice(offset..offset.saturating_add(source.len() as u64))?;
        Ok(self.buffer.write(range.offset, source)?)
    }

    /// The command that copies this view to another of the same length. Within one buffer they must not
    /// overlap.
    pub fn copy_to(&self, destination: &BufferView) -> Result<Command, MemoryError> {
        if self.length != destination.length {
            return Err(MemoryError::CopyLengths {
                source_len: self.length,
                destination_len: destination.length,
            });
        }
        let (source, range) = (Arc::clone(&self.buffer), self.offset..self.offset + self.length);
        let copy = BufferCopy::new(source, range, Arc::clone(&destination.buffer), destination.offset)?;
        Ok(Command::Copy(copy))
    }

    /// The command that sets every byte.
    pub fn fill(&self, value: u8) -> Command {
        let range = self.offset..self.offset + self.length;
        let fill = BufferFill::new(Arc::clone(&self.buffer), range, value);
        Command::Fill(fill.expect("a view is within its buffer"))
    }
}
