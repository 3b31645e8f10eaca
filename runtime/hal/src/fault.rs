//! What becomes of a recorded fault.
//!
//! Invariant: a recorded fault becomes one [`DeviceError::OutOfBounds`] in the user's words, on every device.

use crate::artifact::{AccessKind, Artifact};
use crate::error::{DeviceError, LoadedPointer, OutOfBounds};
use crate::launch::RecordedFault;
use crate::validate::DispatchShape;

/// The error for a recorded fault; `label` gives the label of the resident buffer that begins at an address.
pub fn describe(
    artifact: &Artifact,
    kernel: &str,
    shape: &DispatchShape,
    mut fault: RecordedFault,
    label: impl Fn(u64) -> Option<String>,
) -> DeviceError {
    if fault.base == 0 && fault.bound_len == 0 && fault.byte_offset < i64::MIN >> 17 {
        // The offset of a tagged null pointer.
        fault.byte_offset += 1 << 47;
    }
    let site = artifact.fault_sites.get(fault.site as usize);
    let kind = site.map_or(AccessKind::Load, |site| site.kind);
    let element = site.map(|site| i64::from(site.element_bytes)).filter(|&bytes| bytes > 0);
    DeviceError::OutOfBounds(Box::new(OutOfBounds {
        kernel: kernel.to_owned(),
        argument: site.and_then(|site| site.argument),
        argument_name: site.map(|site| site.argument_name.clone()).unwrap_or_default(),
        through: site
            .filter(|site| site.argument.is_none() && site.argument_name.is_empty())
            .and_then(|_| through(fault, kind, label)),
        kind,
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

/// What the pointer of an access that belongs to no argument leads to: it was loaded from memory, or is null.
fn through(
    fault: RecordedFault,
    kind: AccessKind,
    label: impl Fn(u64) -> Option<String>,
) -> Option<LoadedPointer> {
    match fault.base {
        0 if fault.bound_len == 0 && fault.byte_offset > MAX_NULL_OFFSET => {
            Some(LoadedPointer::Address(fault.byte_offset as u64))
        }
        // Resident buffers have bytes, but memory that is read-only has none for stores.
        base if fault.bound_len == 0 && kind != AccessKind::Load => {
            label(base).map(|label| LoadedPointer::ReadOnly { label })
        }
        base => label(base).map(|label| LoadedPointer::Buffer { label }),
    }
}

/// Offsets from the null pointer up to this one are taken for members of what it was to point to.
const MAX_NULL_OFFSET: i64 = 4096;
