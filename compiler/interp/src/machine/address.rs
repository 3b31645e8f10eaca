//! Addresses: what pointers to buffers are in memory.
//!
//! Owns [`Addresses`], the table of a run's resident buffers. Invariants: resident buffers have the regions
//! that follow those of the program, in the order of [`crate::Memory::resident`]. What is bound and not
//! resident has an address of the run's own, beyond those of any host, and what its argument allows.

use anymetal_abi::resident::{self, AddressRange, is_address};
use anymetal_ir::Access;

use crate::InterpError;
use crate::dispatch::Memory;
use crate::program::{Arena, MAX_REGIONS, ProgramArgument, Region, limit};
use crate::report::Variable;

/// No process of a 64-bit host has memory from here on.
const FIRST_OWN_ADDRESS: u64 = 1 << 47;
/// Between buffers, so that an address beyond the end of one is not in another.
const OWN_ADDRESS_GAP: u64 = 1 << 20;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    /// By address.
    ranges: Vec<AddressRange>,
    /// The region of each range.
    regions: Vec<u64>,
    /// By buffer: the address of its first byte; 0 if it has none.
    of_buffers: Vec<u64>,
}

impl Addresses {
    /// Adds the regions of resident buffers, and read-only ones of buffers that arguments may only read.
    pub(crate) fn bind(
        memory: &Memory<'_>,
        arguments: &[ProgramArgument],
        regions: &mut Vec<Region>,
    ) -> Result<Self, InterpError> {
        let first = regions.len();
        limit("resident buffers of a launch", (first + memory.resident.len()) as u64, MAX_REGIONS as u64)?;
        let mut of_buffers = vec![0; memory.buffers.len()];
        let mut ranges = Vec::with_capacity(memory.resident.len());
        for (number, resident) in memory.resident.iter().enumerate() {
            let name = || format!("resident buffer {number}");
            let len = memory.buffers.get(resident.buffer).map(|bytes| bytes.len() as u64);
            let len = len.ok_or_else(|| InterpError::InvalidBinding { name: name() })?;
            let range = AddressRange { address: resident.address, len, writable: resident.writable };
            if !is_address(range.address) || !is_address(range.address.saturating_add(len)) {
                return Err(InterpError::InvalidBinding { name: name() });
            }
            of_buffers[resident.buffer] = resident.address;
            ranges.push((range, (first + number) as u64));
            let (arena, variable) =
                (Arena::Buffer(resident.buffer as u32), Variable::Resident(number as u32));
            let writable = resident.writable;
            regions.push(Region { arena, variable, len, writable, is_null: false, ..Region::NOTHING });
        }
        // A buffer that is bound at several arguments is found as an argument that may be stored to.
        let numbered = (1..).zip(arguments);
        let (writable, others): (Vec<_>, Vec<_>) =
            numbered.partition(|(_, argument)| argument.access != Access::Read);
        let mut next = FIRST_OWN_ADDRESS;
        for (number, argument) in writable.into_iter().chain(others) {
            let region: Region = regions[number];
            let Arena::Buffer(buffer) = region.arena else { continue };
            let (base, bytes) = (&mut of_buffers[buffer as usize], memory.buffers[buffer as usize].len());
            if *base != 0 {
                // Resident, or bound at an argument before this one.
                continue;
            }
            let end = next.saturating_add(bytes as u64);
            if !is_address(end) {
                // Without an address it is reached through its argument alone.
                continue;
            }
            *base = next;
            let writable = region.writable && argument.access != Access::Read;
            let range = AddressRange { address: next + region.start, len: region.len, writable };
            ranges.push((range, if writable { number } else { regions.len() } as u64));
            if !writable {
                regions.push(Region { writable, ..region });
            }
            next = end.saturating_add(OWN_ADDRESS_GAP).next_multiple_of(OWN_ADDRESS_GAP);
        }
        ranges.retain(|(range, _)| range.len > 0);
        ranges.sort_unstable_by_key(|(range, _)| range.address);
        let (ranges, regions) = ranges.into_iter().unzip();
        Ok(Self { ranges, regions, of_buffers })
    }

    /// The region and the offset that an address leads to.
    pub(super) fn find(&self, address: u64) -> (u64, u64) {
        match resident::find(&self.ranges, address) {
            Some(number) => (self.regions[number], address - self.ranges[number].address),
            None => (resident::DANGLING, address),
        }
    }

    /// The address of a byte of a region; none if it has none, or if it is so far out that its bits would
    /// mean something else.
    pub(super) fn of(&self, regions: &[Region], region: u64, offset: u64) -> Option<u64> {
        if region == resident::DANGLING {
            return Some(offset).filter(|&address| is_address(address));
        }
        let region = Region::numbered(regions, region);
        let Arena::Buffer(buffer) = region.arena else { return None };
        let base = *self.of_buffers.get(buffer as usize).filter(|&&base| base != 0)?;
        Some(base.wrapping_add(region.start).wrapping_add(offset)).filter(|&address| is_address(address))
    }
}
