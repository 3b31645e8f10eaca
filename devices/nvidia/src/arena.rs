//! The device's memory beside the program's buffers: fault records and inline bytes of dispatches.
//!
//! Owns [`Arena`], [`ArenaUse`], which hands out parts of one, and [`Inline`], which gathers what goes to
//! one. A kernel that writes a record sets a flag in locked host memory, so that records are copied to the
//! host after a fault only.

use std::ptr::NonNull;
use std::sync::Arc;

use anymetal_hal::launch::RecordedFault;
use anymetal_hal::launch::nvidia::{RECORD_BYTES, RECORD_FLAG};

use crate::device_shared::DeviceShared;
use crate::driver::{DriverError, MemoryPlacement};
use crate::owned::OwnedMemory;

/// Bytes of the flag and of what pads it.
const FLAG_BYTES: u64 = 64;
/// The alignment of inline bytes: the largest of a type in MSL.
const INLINE_ALIGNMENT: u64 = 16;

/// Records and inline bytes.
#[derive(Debug)]
pub(crate) struct Arena {
    memory: OwnedMemory,
    /// The records, as the host sees them, and the flag behind them.
    mirror: OwnedMemory,
    records: usize,
    inline_bytes: u64,
}

impl Arena {
    /// Space for that many records, which are cleared in the stream, and inline bytes.
    pub(crate) fn new(
        device: &Arc<DeviceShared>,
        records: usize,
        inline_bytes: u64,
        stream: u64,
    ) -> Result<Self, DriverError> {
        let of_records = records as u64 * RECORD_BYTES;
        let memory = OwnedMemory::new(device, of_records + inline_bytes, MemoryPlacement::Device)?;
        let mirror = OwnedMemory::new(device, of_records + FLAG_BYTES, MemoryPlacement::Host)?;
        let arena = Arena { memory, mirror, records, inline_bytes };
        arena.clear(device, records, stream)?;
        Ok(arena)
    }

    /// Where the flag is, for the host.
    fn flag(&self) -> Option<NonNull<u32>> {
        let host = self.mirror.allocation.host?;
        // SAFETY: the flag lies behind the records within the mirror, whose start is aligned for any type.
        Some(unsafe { host.add(self.records * RECORD_BYTES as usize) }.cast())
    }

    /// Where all inline bytes are: their start and how many there is room for.
    pub(crate) fn inline_range(&self) -> (u64, u64) {
        (self.memory.address() + self.records as u64 * RECORD_BYTES, self.inline_bytes)
    }

    /// Whether a kernel has written a record since they were cleared. The stream must have ended.
    pub(crate) fn has_fault(&self) -> bool {
        // SAFETY: the mirror lives as long as `self`; no kernel writes it once the stream has ended.
        self.flag().is_some_and(|flag| unsafe { flag.read_volatile() } != 0)
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

    /// Clears the first records, in the stream, and the flag. No kernel may run that could write them.
    pub(crate) fn clear(
        &self,
        device: &DeviceShared,
        records: usize,
        stream: u64,
    ) -> Result<(), DriverError> {
        if let Some(flag) = self.flag() {
            // SAFETY: as in `has_fault`.
            unsafe { flag.write_volatile(0) };
        }
        let flag = self.mirror.address() + self.records as u64 * RECORD_BYTES;
        let mut record = [0; RECORD_BYTES as usize];
        record[RECORD_FLAG as usize..][..8].copy_from_slice(&flag.to_le_bytes());
        let records = record.repeat(records.min(self.records));
        if records.is_empty() {
            Ok(())
        } else {
            device.driver.upload(self.memory.address(), &records, stream)
        }
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
pub(crate) struct ArenaUse {
    records: usize,
    inline_bytes: u64,
}

impl ArenaUse {
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
        arena.inline_range().0 + at
    }
}

/// Inline bytes that lie one after the other in an arena, on their way there.
#[derive(Debug, Default)]
pub(crate) struct Inline {
    start: u64,
    bytes: Vec<u8>,
}

impl Inline {
    /// Adds bytes whose address follows those before, as [`ArenaUse::inline`] hands them out.
    pub(crate) fn add(&mut self, address: u64, bytes: &[u8]) {
        if self.bytes.is_empty() {
            self.start = address;
        }
        debug_assert!(bytes.is_empty() || address == self.start + self.bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// Puts them into the stream at once.
    pub(crate) fn upload(&mut self, device: &DeviceShared, stream: u64) -> Result<(), DriverError> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let uploaded = device.driver.upload(self.start, &self.bytes, stream);
        self.bytes.clear();
        uploaded
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
        base: long(40),
    })
}
