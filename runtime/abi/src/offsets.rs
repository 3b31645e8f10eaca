//! Byte offsets in the launch tables, as generated code uses them. Signed, as addresses are computed.
//!
//! Each follows from the declaration of its table. Generated code is 64-bit, and so must be the host that
//! compiles it, which the assertions below check with what else the code takes for granted.

use std::mem::{offset_of, size_of};

use crate::fault::FaultRecord;
use crate::tables::{BoundBuffer, CpuLaunch, CpuWorker, ThreadgroupSlot};

/// Of [`CpuLaunch::buffers`], a pointer.
pub const LAUNCH_BUFFERS: i64 = offset_of!(CpuLaunch, buffers) as i64;
/// Of [`CpuLaunch::before`], a pointer.
pub const LAUNCH_BEFORE: i64 = offset_of!(CpuLaunch, before) as i64;
/// Of [`CpuLaunch::threadgroup_slots`], a pointer.
pub const LAUNCH_THREADGROUP_SLOTS: i64 = offset_of!(CpuLaunch, threadgroup_slots) as i64;
/// Of [`CpuLaunch::stop`], a pointer.
pub const LAUNCH_STOP: i64 = offset_of!(CpuLaunch, stop) as i64;
/// Of [`CpuLaunch::grid_threads`], three 32-bit numbers.
pub const LAUNCH_GRID_THREADS: i64 = offset_of!(CpuLaunch, grid_threads) as i64;
/// Of [`CpuLaunch::groups`], three 32-bit numbers.
pub const LAUNCH_GROUPS: i64 = offset_of!(CpuLaunch, groups) as i64;
/// Of [`CpuLaunch::group_size`], three 32-bit numbers.
pub const LAUNCH_GROUP_SIZE: i64 = offset_of!(CpuLaunch, group_size) as i64;
/// Of [`CpuLaunch::resident`], a pointer.
pub const LAUNCH_RESIDENT: i64 = offset_of!(CpuLaunch, resident) as i64;
/// Of [`CpuLaunch::resident_count`], 64 bits.
pub const LAUNCH_RESIDENT_COUNT: i64 = offset_of!(CpuLaunch, resident_count) as i64;

/// Of [`CpuWorker::threadgroup_memory`], a pointer.
pub const WORKER_THREADGROUP_MEMORY: i64 = offset_of!(CpuWorker, threadgroup_memory) as i64;
/// Of [`CpuWorker::scratch`], a pointer.
pub const WORKER_SCRATCH: i64 = offset_of!(CpuWorker, scratch) as i64;
/// Of [`CpuWorker::simdgroup`], 32 bits.
pub const WORKER_SIMDGROUP: i64 = offset_of!(CpuWorker, simdgroup) as i64;

/// The size of an entry of the buffer table and of the slot table.
pub const TABLE_ENTRY: i64 = size_of::<BoundBuffer>() as i64;
/// Of [`BoundBuffer::len`] and [`ThreadgroupSlot::len`] in their entries. The base or the offset is at 0.
pub const ENTRY_LEN: i64 = offset_of!(BoundBuffer, len) as i64;

/// Of [`FaultRecord::site`], 32 bits. `claimed` is at 0.
pub const FAULT_SITE: i64 = offset_of!(FaultRecord, site) as i64;
/// Of [`FaultRecord::byte_offset`], 64 bits.
pub const FAULT_BYTE_OFFSET: i64 = offset_of!(FaultRecord, byte_offset) as i64;
/// Of [`FaultRecord::bound_len`], 64 bits.
pub const FAULT_BOUND_LEN: i64 = offset_of!(FaultRecord, bound_len) as i64;
/// Of [`FaultRecord::group_linear`], 64 bits.
pub const FAULT_GROUP_LINEAR: i64 = offset_of!(FaultRecord, group_linear) as i64;
/// Of [`FaultRecord::thread_in_group`], 32 bits.
pub const FAULT_THREAD_IN_GROUP: i64 = offset_of!(FaultRecord, thread_in_group) as i64;
/// Of [`FaultRecord::base`], 64 bits.
pub const FAULT_BASE: i64 = offset_of!(FaultRecord, base) as i64;

const _: () = {
    assert!(offset_of!(FaultRecord, claimed) == 0);
    assert!(size_of::<*const u8>() == 8, "generated code takes pointers of 8 bytes");
    assert!(offset_of!(BoundBuffer, base) == 0 && offset_of!(ThreadgroupSlot, offset) == 0);
    assert!(size_of::<ThreadgroupSlot>() == size_of::<BoundBuffer>());
    assert!(offset_of!(ThreadgroupSlot, len) == offset_of!(BoundBuffer, len));
};
