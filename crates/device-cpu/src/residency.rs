//! The resident buffers of a submission: what kernels that load pointers from memory can reach.
//!
//! Owns [`Residency`], whose table is [`anymetal_hal::launch::resident`]'s. Invariant: every range of the
//! table lies in a buffer or inline block that the submission, or the launch tables beside it, hold alive.

use anymetal_hal::buffer::Buffer;
use anymetal_hal::command::Submission;
use anymetal_hal::error::DeviceError;
use anymetal_hal::launch::BoundBuffer;
use anymetal_hal::launch::resident::{self, AddressRange};

use crate::command_buffer::each_buffer;
use crate::memory::CpuBuffer;

/// The table of a submission; empty if no kernel of it loads pointers.
#[derive(Debug, Default)]
pub(crate) struct Residency {
    table: Vec<BoundBuffer>,
}

// SAFETY: the pointers lead to memory that travels with the table (module invariant) and whose owners are
// `Send`.
unsafe impl Send for Residency {}
// SAFETY: a shared table is only read; what its pointers lead to is reached by kernels alone, under the rules
// of `anymetal_hal::launch`.
unsafe impl Sync for Residency {}

impl Residency {
    /// What the submission binds or names, and the inline bytes among `bound`.
    pub(crate) fn of<'a>(
        submission: &Submission,
        bound: impl Iterator<Item = &'a BoundBuffer>,
    ) -> Result<Self, DeviceError> {
        let range = |entry: &BoundBuffer| AddressRange { address: entry.base as u64, len: entry.len };
        let mut ranges: Vec<AddressRange> = bound.map(range).collect();
        each_buffer(submission, &mut |buffer| ranges.push(range_of(buffer)));
        let table = resident::merge_overlapping(ranges);
        if table.len() > resident::MAX_BUFFERS {
            return Err(DeviceError::TooManyResident { count: table.len(), limit: resident::MAX_BUFFERS });
        }
        let entry = |range: AddressRange| BoundBuffer {
            // Its provenance is exposed where the address was taken.
            base: std::ptr::with_exposed_provenance_mut(range.address as usize),
            len: range.len,
        };
        Ok(Residency { table: table.into_iter().map(entry).collect() })
    }

    /// As generated code reads it.
    pub(crate) fn table(&self) -> &[BoundBuffer] {
        &self.table
    }
}

/// Where the memory is that kernels may access through a buffer.
pub(crate) fn range_of(buffer: &CpuBuffer) -> AddressRange {
    let memory = buffer.reachable();
    AddressRange { address: memory.start.as_ptr().expose_provenance() as u64, len: memory.length }
}

/// The label of the resident buffer that begins at the address, if one does.
pub(crate) fn label_at(submission: &Submission, address: u64) -> Option<String> {
    let mut label = None;
    each_buffer(submission, &mut |buffer| {
        let range = range_of(buffer);
        if range.address == address && range.len > 0 && label.is_none() {
            label = Some(buffer.label().to_owned());
        }
    });
    label
}
