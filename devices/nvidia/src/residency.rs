//! The resident buffers of a command buffer: what kernels that load pointers from memory can reach.
//!
//! Owns [`Residency`], which puts the tables of [`anymetal_hal::residents`] into the card, and
//! [`TableMemory`], where a slot has it. Invariant: every range of the table lies in a buffer that the
//! command buffer holds, or in the slot's room for inline bytes.

use std::sync::{Arc, Mutex, PoisonError};

use anymetal_hal::artifact::KernelInfo;
use anymetal_hal::buffer::Buffer;
use anymetal_hal::command::{Binding, BoundResource, Command, ResidentBuffer};
use anymetal_hal::error::DeviceError;
use anymetal_hal::launch::resident::AddressRange;
use anymetal_hal::residents::{Residents, each_used, stores_to};

use crate::device_shared::DeviceShared;
use crate::driver::{DriverError, MemoryPlacement};
use crate::launch;
use crate::memory::NvidiaBuffer;
use crate::owned::OwnedMemory;
use crate::queue_streams::{CommandSlot, QueueStreams};

/// Bytes of an entry: address and length.
const ENTRY_BYTES: u64 = 16;

/// Where a table is, and the buffers in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Table {
    pub(crate) address: u64,
    pub(crate) count: u64,
}

/// The memory of a slot's table, once one was needed; it only grows.
#[derive(Debug, Default)]
pub(crate) struct TableMemory(Mutex<Option<(OwnedMemory, u64)>>);

impl TableMemory {
    /// The address of room for that many bytes. What was there before must not be in use.
    fn room(&self, device: &Arc<DeviceShared>, bytes: u64) -> Result<u64, DriverError> {
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &*memory {
            Some((own, capacity)) if *capacity >= bytes => Ok(own.address()),
            _ => {
                let capacity = bytes.next_power_of_two();
                let own = OwnedMemory::new(device, capacity, MemoryPlacement::Device)?;
                Ok(memory.insert((own, capacity)).0.address())
            }
        }
    }
}

/// The buffers that a command buffer names beside those that its commands bind.
#[derive(Debug, Default)]
pub(crate) struct Residency {
    named: Vec<ResidentBuffer>,
    residents: Option<Residents>,
    /// The table that is in the card, and its bytes.
    uploaded: Option<(Table, Vec<u8>)>,
}

impl Residency {
    pub(crate) fn new(named: Vec<ResidentBuffer>) -> Self {
        Residency { named, residents: None, uploaded: None }
    }

    /// Checks that named buffers are the device's.
    pub(crate) fn check(device: &Arc<DeviceShared>, named: &[ResidentBuffer]) -> Result<(), DeviceError> {
        named.iter().try_for_each(|resident| NvidiaBuffer::of(&resident.buffer, device).map(drop))
    }

    /// The bytes of the table for a launch of a kernel with these bindings.
    pub(crate) fn entries(
        &mut self,
        commands: &[Command],
        streams: &QueueStreams,
        slot: &CommandSlot,
        (kernel, bindings): (&KernelInfo, &[Binding]),
    ) -> Result<Vec<u8>, DeviceError> {
        let device = &streams.device;
        let range = |buffer: &Arc<dyn Buffer>, writable| {
            launch::own(device, buffer).map(|own| AddressRange {
                address: own.address(),
                len: own.length(),
                writable,
            })
        };
        let residents = match &self.residents {
            Some(residents) => residents,
            None => {
                let (address, len) = slot.arena.inline_range();
                // A kernel may have stored the address of inline bytes.
                let mut used = vec![AddressRange { address, len, writable: false }];
                each_used(commands, &mut |buffer, writable| used.extend(range(buffer, writable)));
                let named = self.named.iter();
                let named: Vec<AddressRange> =
                    named.filter_map(|resident| range(&resident.buffer, resident.usage.writes())).collect();
                self.residents.insert(Residents::new(&named, &used)?)
            }
        };
        let own = bindings.iter().filter_map(|binding| match &binding.resource {
            BoundResource::Buffer { buffer, .. } => range(buffer, stores_to(kernel, binding.index)),
            BoundResource::Bytes(_) | BoundResource::Unbound => None,
        });
        let table = residents.for_launch(own);
        Ok(table
            .iter()
            .flat_map(|range| [range.address, range.entry_len()])
            .flat_map(u64::to_le_bytes)
            .collect())
    }

    /// Whether the card has another table, which must not be in use when it is replaced.
    pub(crate) fn replaces(&self, entries: &[u8]) -> bool {
        self.uploaded.as_ref().is_some_and(|(_, bytes)| bytes != entries)
    }

    /// The table of these entries in the card, behind what is in the stream.
    pub(crate) fn table(
        &mut self,
        streams: &QueueStreams,
        slot: &CommandSlot,
        entries: Vec<u8>,
    ) -> Result<Table, DeviceError> {
        if let Some((table, bytes)) = &self.uploaded
            && *bytes == entries
        {
            return Ok(*table);
        }
        let device = &streams.device;
        let upload = || {
            let address = slot.table.room(device, entries.len() as u64)?;
            device.driver.upload(address, &entries, streams.stream())?;
            Ok(Table { address, count: entries.len() as u64 / ENTRY_BYTES })
        };
        let table = upload().map_err(|error: DriverError| error.of(&device.name, entries.len() as u64))?;
        self.uploaded = Some((table, entries));
        Ok(table)
    }

    /// The label of the buffer that begins at the address, if one does.
    pub(crate) fn label_at(
        &self,
        commands: &[Command],
        device: &Arc<DeviceShared>,
        address: u64,
    ) -> Option<String> {
        let mut label = None;
        self.each_buffer(commands, device, &mut |buffer| {
            if label.is_none() && buffer.length() > 0 && buffer.address() == address {
                label = Some(buffer.label().to_owned());
            }
        });
        label
    }

    /// Calls `visit` for every buffer that the commands bind or that was named; some more than once.
    fn each_buffer(
        &self,
        commands: &[Command],
        device: &Arc<DeviceShared>,
        visit: &mut dyn FnMut(&NvidiaBuffer),
    ) {
        let mut own =
            |buffer: &Arc<dyn Buffer>| launch::own(device, buffer).into_iter().for_each(&mut *visit);
        commands.iter().for_each(|command| command.each_buffer(&mut own));
        self.named.iter().for_each(|resident| own(&resident.buffer));
    }
}
