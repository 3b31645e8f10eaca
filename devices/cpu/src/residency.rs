//! The resident buffers of a submission: what kernels that load pointers from memory can reach.
//!
//! Owns [`Residency`], whose table is [`anymetal_hal::launch::resident`]'s. Invariant: every range of the
//! table lies in a buffer or inline block that the submission, or the launch tables beside it, hold alive.

use std::borrow::Cow;

use anymetal_hal::artifact::{Access, ArgumentKind, KernelInfo};
use anymetal_hal::buffer::Buffer;
use anymetal_hal::command::{Command, CommandList};
use anymetal_hal::error::DeviceError;
use anymetal_hal::launch::BoundBuffer;
use anymetal_hal::launch::resident::AddressRange;
use anymetal_hal::residents::{Residents, each_used};

use crate::command_buffer::{cpu_buffer, each_buffer};
use crate::indirect::cpu_indirect;
use crate::memory::CpuBuffer;

/// What kernels reach; nothing if no kernel of the submission loads pointers.
#[derive(Debug, Default)]
pub(crate) struct Residency {
    residents: Residents,
    /// The table of [`Residents::table`], as generated code reads it.
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
        submission: &CommandList,
        bound: impl Iterator<Item = &'a BoundBuffer>,
    ) -> Result<Self, DeviceError> {
        let mut used: Vec<AddressRange> =
            bound.map(|entry| AddressRange { writable: false, ..range_of_entry(entry) }).collect();
        each_used(&submission.commands, &mut |buffer, writable| {
            used.extend(cpu_buffer(buffer).map(|buffer| AddressRange { writable, ..range_of(buffer) }));
        });
        for command in &submission.commands {
            if let Command::ExecuteIndirect(indirect) = command {
                used.extend(cpu_indirect(indirect).into_iter().flat_map(|own| own.buffers()).map(range_of));
            }
        }
        let named: Vec<AddressRange> = submission
            .resident
            .iter()
            .filter_map(|resident| {
                let writable = resident.usage.writes();
                cpu_buffer(&resident.buffer).map(|buffer| AddressRange { writable, ..range_of(buffer) })
            })
            .collect();
        let residents = Residents::new(&named, &used)?;
        let table = residents.table().iter().map(entry_of).collect();
        Ok(Residency { residents, table })
    }

    /// The table of a launch, as generated code reads it, by what its arguments are bound to.
    pub(crate) fn table(&self, kernel: &KernelInfo, buffers: &[BoundBuffer]) -> Cow<'_, [BoundBuffer]> {
        match self.ranges(kernel, buffers) {
            Cow::Borrowed(_) => Cow::Borrowed(&self.table),
            Cow::Owned(ranges) => Cow::Owned(ranges.iter().map(entry_of).collect()),
        }
    }

    /// The table of a launch.
    pub(crate) fn ranges(&self, kernel: &KernelInfo, buffers: &[BoundBuffer]) -> Cow<'_, [AddressRange]> {
        let arguments = kernel.arguments.iter().filter(|argument| argument.enabled);
        let own = arguments.filter(|argument| argument.kind == ArgumentKind::Buffer).map(|argument| {
            let writable = argument.access != Access::Read;
            AddressRange { writable, ..range_of_entry(&buffers[argument.slot as usize]) }
        });
        self.residents.for_launch(own)
    }
}

fn entry_of(range: &AddressRange) -> BoundBuffer {
    // Its provenance is exposed where the address was taken.
    let base = std::ptr::with_exposed_provenance_mut(range.address as usize);
    BoundBuffer { base, len: range.entry_len() }
}

fn range_of_entry(entry: &BoundBuffer) -> AddressRange {
    AddressRange { address: entry.base as u64, len: entry.len, writable: true }
}

/// Where the memory is that kernels may access through a buffer.
pub(crate) fn range_of(buffer: &CpuBuffer) -> AddressRange {
    let memory = buffer.reachable();
    let address = memory.start.as_ptr().expose_provenance() as u64;
    AddressRange { address, len: memory.length, writable: true }
}

/// The label of the resident buffer that begins at the address, if one does.
pub(crate) fn label_at(submission: &CommandList, address: u64) -> Option<String> {
    let mut label = None;
    each_buffer(submission, &mut |buffer| {
        let range = range_of(buffer);
        if range.address == address && range.len > 0 && label.is_none() {
            label = Some(buffer.label().to_owned());
        }
    });
    label
}
