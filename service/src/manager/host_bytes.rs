//! Contents on the host, and how they get to a device.

use std::sync::Arc;

use anymetal::error::{DeviceError, ErrorClass};
use anymetal::memory::HostPages;
use anymetal::{Buffer, BufferDescriptor, Device, Error};

/// From this length on a new copy is made by importing host pages, where the device can: a shorter
/// one would waste more by whole pages than the copy costs.
const IMPORT_BYTES: u64 = 256 * 1024;

/// Bytes on the host; clones share them.
#[derive(Clone)]
pub(super) enum HostBytes {
    /// So many zeros as are needed.
    Zeros,
    Bytes(Arc<Vec<u8>>),
}

impl HostBytes {
    /// Overwrites a buffer of that length.
    pub(super) fn write_to(&self, buffer: &Buffer<u8>, length: u64) -> Result<(), Error> {
        let written = match self {
            HostBytes::Zeros => buffer.as_hal().write(0, &vec![0; length as usize]),
            HostBytes::Bytes(bytes) => buffer.as_hal().write(0, bytes),
        };
        Ok(written?)
    }

    /// A new buffer of that length with them.
    pub(super) fn in_new(&self, device: &Device, length: u64, label: &str) -> Result<Buffer<u8>, Error> {
        match self {
            HostBytes::Zeros => device.create_buffer(&BufferDescriptor::zeroed(length as usize).label(label)),
            HostBytes::Bytes(bytes) => match imported(device, bytes, label)? {
                Some(buffer) => Ok(buffer),
                None => device.create_buffer(&BufferDescriptor::new(bytes).label(label)),
            },
        }
    }
}

/// A buffer of host pages with those bytes; `None`: they are few, or the device takes no pages.
fn imported(device: &Device, bytes: &[u8], label: &str) -> Result<Option<Buffer<u8>>, Error> {
    if (bytes.len() as u64) < IMPORT_BYTES || !device.capabilities().unified_memory {
        return Ok(None);
    }
    let Ok(pages) = HostPages::from_reader(bytes, bytes.len() as u64) else {
        return Err(DeviceError::OutOfMemory { requested: bytes.len() as u64 }.into());
    };
    match device.import(pages, label) {
        Ok(buffer) => Ok(Some(buffer)),
        Err(refused) if refused.error.class() == ErrorClass::Caller => Ok(None),
        Err(refused) => Err(refused.error),
    }
}
