//! The layout of the launch tables, as byte offsets. The tables themselves are `anymetal_hal::launch`,
//! which this crate does not depend on; a test there pins the same numbers.

/// `CpuLaunch::buffers`.
pub(super) const LAUNCH_BUFFERS: i64 = 0;
/// `CpuLaunch::threadgroup_slots`.
pub(super) const LAUNCH_SLOTS: i64 = 16;
/// `CpuLaunch::stop`.
pub(super) const LAUNCH_STOP: i64 = 32;
/// `CpuLaunch::grid_threads`, three 32-bit numbers.
pub(super) const LAUNCH_GRID_THREADS: i64 = 48;
/// `CpuLaunch::groups`, three 32-bit numbers.
pub(super) const LAUNCH_GROUPS: i64 = 60;
/// `CpuLaunch::group_size`, three 32-bit numbers.
pub(super) const LAUNCH_GROUP_SIZE: i64 = 72;
/// `CpuWorker::threadgroup_memory`.
pub(super) const WORKER_THREADGROUP_MEMORY: i64 = 0;
/// `CpuWorker::scratch`.
pub(super) const WORKER_SCRATCH: i64 = 8;
/// Size of an entry of the buffer table and of the slot table: a base or offset, then a length.
pub(super) const TABLE_ENTRY: i64 = 16;
/// The function that generated code calls for an access out of bounds:
/// `(launch, site, byte_offset, bound_len, group_linear, thread_in_group)`.
pub(super) const FAULT_DECLARATION: &str = "declare void @anymetal_fault(ptr, i32, i64, i64, i64, i32)";
