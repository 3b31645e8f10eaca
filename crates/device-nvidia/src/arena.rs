//! The device's memory beside the program's buffers: fault records and inline bytes of dispatches.
//!
//! Owns [`Arena`], and [`Room`], which hands out parts of one. Records are copied to locked host memory
//! behind the dispatches, in the same stream, so that the host reads them without another call.

use std::sync::Arc;

use anymetal_hal::launch::RecordedFault;

use crate::device::DeviceShared;
use crate::driver::{DriverError, Place};
use crate::owned::OwnedMemory;

/// Bytes of a fault record with what pads it.
const RECORD_BYTES: u64 = 64;
/// The alignment of inline bytes: the largest of a type in MSL.
const INLINE_ALIGNMENT: u64 = 16;

/// Records and inline bytes.
#[derive(Debug)]
pub(crate) struct Arena {
    memory: OwnedMemory,
    /// The records, as the host sees them.
    mirror: OwnedMemory,
    records: usize,
    inline_bytes: u64,
}

impl Arena {
    /// Room for that many records, which are cleared in the stream, and inline bytes.
    pub(crate) fn new(
        device: &Arc<DeviceShared>,
        records: usize,
        inline_bytes: u64,
        stream: u64,
    ) -> Result<Self, DriverError> {
        let of_records = records as u64 * RECORD_BYTES;
        let memory = OwnedMemory::new(device, of_records + inline_bytes, Place::Device)?;
        let mirror = OwnedMemory::new(device, of_records, Place::Host)?;
        if records > 0 {
            device.driver.fill(memory.address(), 0, of_records, stream)?;
        }
        Ok(Arena { memory, mirror, records, inline_bytes })
    }

    /// Copies the first records to the host, in the stream.
    pub(crate) fn fetch(
        &self,
        device: &DeviceShared,
        records: usize,
        stream: u64,
    ) -> Result<(), DriverError> {
        let bytes = records.min(self.records) as u64 * RECORD_BYTES;
        device.driver.copy(self.mirror.address(), self.memory.address(), bytes, stream)
    }

    /// Clears the first records, in the stream.
    pub(crate) fn clear(
        &self,
        device: &DeviceShared,
        records: usize,
        stream: u64,
    ) -> Result<(), DriverError> {
        let bytes = records.min(self.records) as u64 * RECORD_BYTES;
        device.driver.fill(self.memory.address(), 0, bytes, stream)
    }

    /// The fault in a record that was fetched, if there is one. The stream must have ended.
    pub(crate) fn fault(&self, record: usize) -> Option<RecordedFault> {
        let host = self.mirror.allocation.host.filter(|_| record < self.records)?;
        let mut bytes = [0u8; RECORD_BYTES as usize];
        // SAFETY: the record lies in the mirror, which the driver wrote before the stream ended.
        unsafe {
            let from = host.add(record * RECORD_BYTES as usize);
            std::ptr::copy_nonoverlapping(from.as_ptr(), bytes.as_mut_ptr(), bytes.len());
        }
        recorded(&bytes)
    }
}

/// The bytes that inline bytes of that length take.
pub(crate) fn inline_room(bytes: usize) -> u64 {
    (bytes as u64).next_multiple_of(INLINE_ALIGNMENT)
}

/// What of an arena has been handed out.
#[derive(Debug, Default)]
pub(crate) struct Room {
    records: usize,
    inline_bytes: u64,
}

impl Room {
    /// Whether there is a record left and room for inline bytes.
    pub(crate) fn has(&self, arena: &Arena, inline_bytes: u64) -> bool {
        self.records < arena.records && inline_bytes <= arena.inline_bytes - self.inline_bytes
    }

    /// The next record: its number and address. There must be one left.
    pub(crate) fn record(&mut self, arena: &Arena) -> (usize, u64) {
        let number = self.records;
        self.records += 1;
        (number, arena.memory.address() + number as u64 * RECORD_BYTES)
    }

    /// The address of the next inline bytes, for which there must be room.
    pub(crate) fn inline(&mut self, arena: &Arena, bytes: u64) -> u64 {
        let at = self.inline_bytes;
        self.inline_bytes += bytes;
        arena.memory.address() + arena.records as u64 * RECORD_BYTES + at
    }
}

/// The fault in a record of the layout of [`anymetal_hal::launch::FaultRecord`], if one was recorded.
fn recorded(record: &[u8]) -> Option<RecordedFault> {
    let word = |at: usize| u32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]]);
    let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
    (word(0) != 0).then(|| RecordedFault {
        site: word(4),
        byte_offset: long(8) as i64,
        bound_len: long(16),
        group_linear: long(24),
        thread_in_group: word(32),
    })
}
