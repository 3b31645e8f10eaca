//! The function that generated code calls for an access out of bounds, and what becomes of the record.
//!
//! Invariant: a recorded fault becomes one [`DeviceError::OutOfBounds`] in the user's words.

use anymetal_hal::artifact::{AccessKind, Artifact};
use anymetal_hal::error::{DeviceError, OutOfBounds};
use anymetal_hal::launch::{CpuLaunch, RecordedFault};
use anymetal_hal::validate::DispatchShape;

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
) {
    // SAFETY: by contract this is the device's own table, alive during the entry call, and its record is
    // shared only through atomics.
    let record = unsafe { &*(*launch).fault };
    record.record(RecordedFault { site, byte_offset, bound_len, group_linear, thread_in_group });
}

/// The error for a recorded fault.
pub(crate) fn describe(
    artifact: &Artifact,
    kernel: &str,
    shape: &DispatchShape,
    fault: RecordedFault,
) -> DeviceError {
    let site = artifact.fault_sites.get(fault.site as usize);
    let element = site.map(|site| i64::from(site.element_bytes)).filter(|&bytes| bytes > 0);
    DeviceError::OutOfBounds(Box::new(OutOfBounds {
        kernel: kernel.to_owned(),
        argument: site.and_then(|site| site.argument),
        argument_name: site.map(|site| site.argument_name.clone()).unwrap_or_default(),
        kind: site.map_or(AccessKind::Load, |site| site.kind),
        byte_offset: fault.byte_offset,
        element_index: element.map(|bytes| fault.byte_offset.div_euclid(bytes)),
        bound_len: fault.bound_len,
        bound_elements: element.map(|bytes| fault.bound_len / bytes as u64),
        access_bytes: site.map_or(0, |site| site.access_bytes),
        file: site.map(|site| site.file.clone()).unwrap_or_default(),
        line: site.map_or(0, |site| site.line),
        column: site.map_or(0, |site| site.column),
        group: shape.group_position(fault.group_linear),
        thread: shape.thread_position(fault.thread_in_group),
    }))
}
