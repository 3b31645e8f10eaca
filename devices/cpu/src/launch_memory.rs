//! Launch tables for tests of code written by hand, with a single buffer.

use std::sync::atomic::AtomicU32;

use anymetal_hal::launch::{BoundBuffer, CpuLaunch, FaultRecord};

/// The memory that a table leads to; it has to outlive the table.
pub(crate) struct LaunchMemory<'a> {
    pub(crate) buffer: &'a BoundBuffer,
    pub(crate) before: &'a u64,
    pub(crate) stop: &'a AtomicU32,
    pub(crate) fault: &'a FaultRecord,
}

impl LaunchMemory<'_> {
    /// The table of a launch of that many threads, in threadgroups of that size.
    pub(crate) fn table(&self, grid_threads: [u32; 3], group_size: [u32; 3]) -> CpuLaunch {
        CpuLaunch {
            buffers: self.buffer,
            buffer_count: 1,
            before: self.before,
            threadgroup_slots: std::ptr::null(),
            threadgroup_slot_count: 0,
            stop: self.stop,
            fault: self.fault,
            grid_threads,
            groups: std::array::from_fn(|axis| grid_threads[axis].div_ceil(group_size[axis])),
            group_size,
            reserved: 0,
            resident: std::ptr::null(),
            resident_count: 0,
        }
    }
}
