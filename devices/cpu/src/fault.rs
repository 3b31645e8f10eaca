//! The function that generated code calls for an access out of bounds. What becomes of the record is
//! [`anymetal_hal::fault`]'s.

use anymetal_hal::launch::{CpuLaunch, RecordedFault};

/// See [`anymetal_hal::launch::FaultFunction`].
///
/// # Safety
/// `launch` is the pointer that the running entry was called with.
pub(crate) unsafe extern "C" fn anymetal_fault(
    launch: *const CpuLaunch,
    site: u32,
    byte_offset: i64,
    bound_len: u64,
    group_linear: u64,
    thread_in_group: u32,
    base: u64,
) {
    // SAFETY: by contract this is the device's own table, alive during the entry call, and its record is
    // shared only through atomics.
    let record = unsafe { &*(*launch).fault };
    record.record(RecordedFault { site, byte_offset, bound_len, group_linear, thread_in_group, base });
}
