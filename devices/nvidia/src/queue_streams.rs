//! What a queue has in the card: a stream, and for each command buffer that is in it a stop flag, fault
//! records, room for inline bytes and for a table of resident buffers, and events.
//!
//! Owns [`QueueStreams`] and [`CommandSlot`].

use std::num::NonZero;
use std::sync::Arc;

use anymetal_hal::error::DeviceError;

use crate::arena::Arena;
use crate::device_shared::DeviceShared;
use crate::driver::DriverError;
use crate::owned::{OwnedEvent, OwnedStream};
use crate::residency::TableMemory;
use crate::watchdog::Watch;

/// Dispatches between two looks at their records.
pub(crate) const MAX_RECORDS: usize = 256;
/// Space for inline bytes between two waits.
const INLINE_BYTES: u64 = 1 << 18;
/// Command buffers that are in the stream at once: the host prepares the next ones while one runs.
pub(crate) const IN_FLIGHT: usize = 4;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct QueueStreams {
    pub(crate) device: Arc<DeviceShared>,
    /// The queue's number.
    pub(crate) number: NonZero<usize>,
    slots: Vec<CommandSlot>,
    stream: OwnedStream,
    /// For the stop flags while the other is busy.
    side: OwnedStream,
}

/// What a command buffer has while it is in the stream.
#[derive(Debug)]
pub(crate) struct CommandSlot {
    /// Its stop flag, and who sets it.
    pub(crate) watch: Watch,
    pub(crate) arena: Arena,
    /// What pointers in memory may lead to.
    pub(crate) table: TableMemory,
    /// Its start and its end.
    timers: [OwnedEvent; 2],
}

impl QueueStreams {
    pub(crate) fn new(
        device: &Arc<DeviceShared>,
        number: NonZero<usize>,
        priority: i32,
    ) -> Result<Self, DeviceError> {
        let make = || {
            let stream = OwnedStream::new(device, priority)?;
            let side = OwnedStream::new(device, -1)?;
            let slots = (0..IN_FLIGHT).map(|_| CommandSlot::new(device, stream.number));
            let slots = slots.collect::<Result<Vec<_>, DriverError>>()?;
            device.driver.synchronise(stream.number)?;
            Ok(QueueStreams { device: Arc::clone(device), number, slots, stream, side })
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

    /// The slot of that number, below [`IN_FLIGHT`].
    pub(crate) fn slot(&self, number: usize) -> &CommandSlot {
        &self.slots[number]
    }
}

impl CommandSlot {
    fn new(device: &Arc<DeviceShared>, stream: u64) -> Result<Self, DriverError> {
        let watch = Watch::new(device, stream)?;
        let arena = Arena::new(device, MAX_RECORDS, INLINE_BYTES, stream)?;
        let timers = [OwnedEvent::new(device)?, OwnedEvent::new(device)?];
        Ok(CommandSlot { watch, arena, table: TableMemory::default(), timers })
    }

    /// The events of a command buffer's start and end.
    pub(crate) fn timers(&self) -> [u64; 2] {
        [self.timers[0].number, self.timers[1].number]
    }

    /// Whether that many dispatches with that many inline bytes fit in without a wait.
    pub(crate) fn has_room(dispatches: usize, inline_bytes: u64) -> bool {
        dispatches <= MAX_RECORDS && inline_bytes <= INLINE_BYTES
    }
}
