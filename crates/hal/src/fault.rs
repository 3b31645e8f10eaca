//! What becomes of a recorded fault.
//!
//! Invariant: a recorded fault becomes one [`DeviceError::OutOfBounds`] in the user's words, on every device.

use crate::artifact::{AccessKind, Artifact};
use crate::error::{DeviceError, OutOfBounds};
use crate::launch::RecordedFault;
use crate::validate::DispatchShape;

/// The error for a recorded fault.
pub fn describe(
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
