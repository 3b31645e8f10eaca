//! Addresses: what pointers to buffers are in memory that outlives a launch.
//!
//! Owns [`Addresses`], the table of a run's resident buffers. Invariant: resident buffers have the regions
//! that follow those of the program, in the order of [`crate::Memory::resident`].

use anymetal_launch_abi::resident::{self, AddressRange, is_address};

use crate::InterpError;
use crate::dispatch::Memory;
use crate::program::{Arena, MAX_REGIONS, Region, limit};
use crate::report::Variable;

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
    /// Adds the regions of resident buffers.
    pub(crate) fn bind(memory: &Memory<'_>, regions: &mut Vec<Region>) -> Result<Self, InterpError> {
        let first = regions.len();
        limit("resident buffers of a launch", (first + memory.resident.len()) as u64, MAX_REGIONS as u64)?;
        let mut of_buffers = vec![0; if memory.resident.is_empty() { 0 } else { memory.buffers.len() }];
        let mut ranges = Vec::with_capacity(memory.resident.len());
        for (number, resident) in memory.resident.iter().enumerate() {
            let name = || format!("resident buffer {number}");
            let len = memory.buffers.get(resident.buffer).map(|bytes| bytes.len() as u64);
            let len = len.ok_or_else(|| InterpError::InvalidBinding { name: name() })?;
            let range = AddressRange { address: resident.address, len };
            if !is_address(range.address) || !is_address(range.address.saturating_add(len)) {
                return Err(InterpError::InvalidBinding { name: name() });
            }
            of_buffers[resident.buffer] = resident.address;
            ranges.push((range, (first + number) as u64));
            let (arena, variable) =
                (Arena::Buffer(resident.buffer as u32), Variable::Resident(number as u32));
            regions.push(Region { arena, variable, len, writable: true, is_null: false, ..Region::NOTHING });
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
