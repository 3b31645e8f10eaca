//! Copies between two devices through the host.
//!
//! Owns [`HostLink`], for devices without a way of their own to each other. Invariant: its path is
//! [`CopyPath::Staged`], because the bytes pass through memory of the host.

use std::sync::Arc;
use std::time::Duration;

use anymetal_hal::buffer::same_buffer;
use anymetal_hal::clock::Clock;
use anymetal_hal::error::DeviceError;
use anymetal_hal::peer::{CopyPath, PeerCopied, PeerCopy, PeerLink, PeerTotals};

use crate::sync::{Mutex, lock};

/// Bytes that are copied at a time: enough to hide the cost of a call, and few enough to stay in a cache.
const CHUNK_BYTES: u64 = 256 << 10;

/// A link that reads one buffer and writes the other; both must be visible to the host.
#[derive(Debug)]
pub struct HostLink {
    clock: Arc<dyn Clock>,
    state: Mutex<LinkState>,
}

#[derive(Debug, Default)]
struct LinkState {
    totals: PeerTotals,
    chunk: Vec<u8>,
}

impl HostLink {
    /// A link whose copies are timed by that clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        HostLink { clock, state: Mutex::default() }
    }
}

impl PeerLink for HostLink {
    fn path(&self) -> CopyPath {
        CopyPath::Staged
    }

    fn copy(&self, copy: &PeerCopy) -> Result<PeerCopied, DeviceError> {
        let mut state = lock(&self.state);
        let started = self.clock.now();
        // Within one buffer, towards its end, the last bytes go first, so that none is overwritten unread.
        let backwards = same_buffer(&copy.from, &copy.to) && copy.from_offset < copy.to_offset;
        let mut done = 0;
        while done < copy.bytes {
            let bytes = CHUNK_BYTES.min(copy.bytes - done);
            let at = if backwards { copy.bytes - done - bytes } else { done };
            state.chunk.resize(bytes as usize, 0);
            copy.from.read(copy.from_offset + at, &mut state.chunk)?;
            copy.to.write(copy.to_offset + at, &state.chunk)?;
            done += bytes;
        }
        let elapsed = self.clock.now().saturating_sub(started);
        state.totals.copies += 1;
        state.totals.bytes += copy.bytes;
        state.totals.elapsed += elapsed;
        Ok(PeerCopied::new(CopyPath::Staged, elapsed))
    }

    fn copy_by_driver(&self, _copy: &PeerCopy) -> Result<Duration, DeviceError> {
        Err(DeviceError::Unsupported {
            device: "the link".to_owned(),
            what: "a copy by one call of a driver, which two devices without a link do not share".to_owned(),
            alternative: "copy with `copy`".to_owned(),
        })
    }

    fn totals(&self) -> PeerTotals {
        lock(&self.state).totals
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use anymetal_hal::buffer::{Buffer, BufferDescriptor};
    use anymetal_hal::clock::ManualClock;
    use anymetal_hal::device::Device;
    use anymetal_testing::null::NullDevice;

    use super::*;

    const LENGTH: u64 = 3 * CHUNK_BYTES + 7;

    fn counted(device: &NullDevice) -> Arc<dyn Buffer> {
        let buffer = device.buffer(&BufferDescriptor::shared(LENGTH)).unwrap();
        buffer.write(0, &numbers()).unwrap();
        buffer
    }

    fn numbers() -> Vec<u8> {
        (0..LENGTH).map(|n| (n % 251) as u8).collect()
    }

    fn bytes_of(buffer: &Arc<dyn Buffer>) -> Vec<u8> {
        let mut bytes = vec![0; buffer.length() as usize];
        buffer.read(0, &mut bytes).unwrap();
        bytes
    }

    #[test]
    fn bytes_go_from_one_device_to_another_and_are_counted() {
        let (one, other) = (NullDevice::new(), NullDevice::new());
        let (from, to) = (counted(&one), other.buffer(&BufferDescriptor::shared(LENGTH)).unwrap());
        let link = HostLink::new(ManualClock::new());
        let copy = PeerCopy { from, from_offset: 1, to: Arc::clone(&to), to_offset: 3, bytes: LENGTH - 3 };
        assert_eq!(link.copy(&copy).unwrap().path, CopyPath::Staged);
        assert_eq!(bytes_of(&to)[3..], numbers()[1..numbers().len() - 2]);
        assert_eq!(bytes_of(&to)[..3], [0; 3]);
        assert_eq!((link.totals().copies, link.totals().bytes), (1, LENGTH - 3));
        assert!(matches!(link.copy_by_driver(&copy), Err(DeviceError::Unsupported { .. })));
    }

    #[test]
    fn overlapping_ranges_of_one_buffer_are_moved() {
        let device = NullDevice::new();
        for (from_offset, to_offset) in [(0, 5), (5, 0), (CHUNK_BYTES, 0), (0, CHUNK_BYTES + 1)] {
            let buffer = counted(&device);
            let bytes = LENGTH - from_offset.max(to_offset);
            let (from, to) = (Arc::clone(&buffer), Arc::clone(&buffer));
            let copy = PeerCopy { from, from_offset, to, to_offset, bytes };
            HostLink::new(ManualClock::new()).copy(&copy).unwrap();
            let mut expected = numbers();
            expected.copy_within(from_offset as usize..(from_offset + bytes) as usize, to_offset as usize);
            assert!(bytes_of(&buffer) == expected, "{from_offset} to {to_offset}");
        }
    }

    #[test]
    fn nothing_is_counted_of_a_copy_that_is_refused() {
        let device = NullDevice::new();
        let (from, to) = (counted(&device), device.buffer(&BufferDescriptor::shared(4)).unwrap());
        let link = HostLink::new(ManualClock::new());
        let copy = PeerCopy { from, from_offset: 0, to, to_offset: 0, bytes: 5 };
        assert!(matches!(link.copy(&copy), Err(DeviceError::RangeOutsideBuffer { .. })));
        assert_eq!(link.totals(), PeerTotals::default());
    }
}
