//! Copies between two cards through page-locked memory.
//!
//! Owns [`Staging`]: one card fills a half of the memory while the other empties the other half. Invariant: a
//! half is filled after it was emptied and emptied after it was filled, by events of both cards in their
//! streams; the host waits at the end only.

use std::sync::Arc;

use anymetal_hal::error::DeviceError;

use crate::device_shared::DeviceShared;
use crate::driver::{DriverError, MemoryPlacement};
use crate::owned::{OwnedEvent, OwnedMemory, OwnedStream};

/// Bytes of a half: long enough that a card's copy hides what starting it costs, and short enough that what
/// does not overlap at both ends of a copy is little.
pub(crate) const HALF_BYTES: u64 = 4 << 20;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Staging {
    halves: [Half; 2],
    fills: OwnedStream,
    empties: OwnedStream,
}

#[derive(Debug)]
struct Half {
    memory: OwnedMemory,
    /// Of the card that fills.
    filled: OwnedEvent,
    /// Of the card that empties.
    emptied: OwnedEvent,
}

impl Half {
    fn new(from: &Arc<DeviceShared>, to: &Arc<DeviceShared>) -> Result<Self, DriverError> {
        Ok(Half {
            memory: OwnedMemory::new(from, HALF_BYTES, MemoryPlacement::Host)?,
            filled: OwnedEvent::new(from)?,
            emptied: OwnedEvent::new(to)?,
        })
    }
}

impl Staging {
    pub(crate) fn new(from: &Arc<DeviceShared>, to: &Arc<DeviceShared>) -> Result<Self, DriverError> {
        Ok(Staging {
            halves: [Half::new(from, to)?, Half::new(from, to)?],
            fills: OwnedStream::new(from, 0)?,
            empties: OwnedStream::new(to, 0)?,
        })
    }

    /// Copies from an address of one device to one of the other, and waits for the end.
    pub(crate) fn copy(
        &self,
        from: (&DeviceShared, u64),
        to: (&DeviceShared, u64),
        bytes: u64,
    ) -> Result<(), DeviceError> {
        let put = self.put(from, to, bytes);
        // What was put runs on after an error, and its memory must stay until it has ended.
        let emptied = to.0.driver.synchronise(self.empties.number).map_err(|error| error.of(&to.0.name, 0));
        let filled = from.0.driver.synchronise(self.fills.number).map_err(|error| error.of(&from.0.name, 0));
        put.and(emptied).and(filled)
    }

    fn put(
        &self,
        (from, from_address): (&DeviceShared, u64),
        (to, to_address): (&DeviceShared, u64),
        bytes: u64,
    ) -> Result<(), DeviceError> {
        let mut start = 0;
        for half in self.halves.iter().cycle() {
            if start == bytes {
                break;
            }
            let length = (bytes - start).min(HALF_BYTES);
            self.fill(half, from, from_address + start, length).map_err(|error| error.of(&from.name, 0))?;
            self.empty(half, to, to_address + start, length).map_err(|error| error.of(&to.name, 0))?;
            start += length;
        }
        Ok(())
    }

    fn fill(&self, half: &Half, card: &DeviceShared, from: u64, bytes: u64) -> Result<(), DriverError> {
        let stream = self.fills.number;
        card.driver.wait_event(stream, half.emptied.number)?;
        card.driver.copy(half.memory.address(), from, bytes, stream)?;
        card.driver.record(half.filled.number, stream)
    }

    fn empty(&self, half: &Half, card: &DeviceShared, to: u64, bytes: u64) -> Result<(), DriverError> {
        let stream = self.empties.number;
        card.driver.wait_event(stream, half.filled.number)?;
        card.driver.copy(to, half.memory.address(), bytes, stream)?;
        card.driver.record(half.emptied.number, stream)
    }
}
