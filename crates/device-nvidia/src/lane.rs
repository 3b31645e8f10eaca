//! What a queue has in the card: a stream, the stop flag, fault records and inline bytes.
//!
//! Owns [`Lane`].

use std::num::NonZero;
use std::sync::Arc;

use anymetal_hal::error::DeviceError;

use crate::arena::Arena;
use crate::device::DeviceShared;
use crate::driver::{DriverError, Place};
use crate::owned::{OwnedEvent, OwnedMemory, OwnedStream};

/// Dispatches between two looks at their records.
const MAX_RECORDS: usize = 256;
/// Room for inline bytes between two waits.
const INLINE_BYTES: u64 = 1 << 20;
/// Bytes around the stop flag, which no other data shares a cache line with.
const STOP_BYTES: u64 = 64;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) device: Arc<DeviceShared>,
    /// The queue's number.
    pub(crate) number: NonZero<usize>,
    stop: OwnedMemory,
    pub(crate) arena: Arena,
    /// The start and the end of a command buffer.
    timers: [OwnedEvent; 2],
    stream: OwnedStream,
    /// For the stop flag while the other is busy.
    side: OwnedStream,
}

impl Lane {
    pub(crate) fn new(
        device: &Arc<DeviceShared>,
        number: NonZero<usize>,
        priority: i32,
    ) -> Result<Self, DeviceError> {
        let make = || {
            let stop = OwnedMemory::new(device, STOP_BYTES, Place::Device)?;
            let stream = OwnedStream::new(device, priority)?;
            let side = OwnedStream::new(device, -1)?;
            device.driver.fill(stop.address(), 0, STOP_BYTES, stream.number)?;
            let arena = Arena::new(device, MAX_RECORDS, INLINE_BYTES, stream.number)?;
            device.driver.synchronise(stream.number)?;
            let timers = [OwnedEvent::new(device)?, OwnedEvent::new(device)?];
            Ok(Lane { device: Arc::clone(device), number, stop, arena, timers, stream, side })
        };
        make().map_err(|error: DriverError| error.of(&device.name, INLINE_BYTES))
    }

    /// The stream of the queue's commands.
    pub(crate) fn stream(&self) -> u64 {
        self.stream.number
    }

    /// A stream beside it.
    pub(crate) fn side(&self) -> u64 {
        self.side.number
    }

    /// The address of the stop flag.
    pub(crate) fn stop(&self) -> u64 {
        self.stop.address()
    }

    /// The events of a command buffer's start and end.
    pub(crate) fn timers(&self) -> [u64; 2] {
        [self.timers[0].number, self.timers[1].number]
    }
}
