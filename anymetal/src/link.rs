//! Links: copies from the buffers of one device to those of another.
//!
//! Owns [`Link`]. Invariant: both sides of a copy are of one length.

use std::sync::Arc;
use std::time::Duration;

use anymetal_core::memory::MemoryError;
use anymetal_core::memory::host_link::HostLink;
use anymetal_hal::buffer::Buffer as HalBuffer;
use anymetal_hal::error::DeviceError;
use anymetal_hal::peer::{CopyPath, PeerCopied, PeerCopy, PeerLink, PeerTotals};

use crate::buffer::BufferSlice;
use crate::device::Device;
use crate::error::Error;

/// A way for copies from one device to another, from [`Device::link_to`]. It keeps what copies need, so one
/// link is for many. Copies of one link run one after the other.
#[derive(Debug, Clone)]
pub struct Link {
    hal: Arc<dyn PeerLink>,
}

impl Device {
    /// Makes a way for copies from this device's buffers to those of another, or of its own. NVIDIA GPUs have
    /// a direct one between each other; all others copy through the host, if it sees both buffers, and say so
    /// ([`CopyPath::Staged`]).
    ///
    /// ```
    /// # fn main() -> Result<(), anymetal::Error> {
    /// use anymetal::Device;
    ///
    /// let (from, to) = (Device::by_name("cpu")?, Device::system_default()?);
    /// let (x, y) = (from.buffer(&[1u32, 2, 3])?, to.buffer_zeroed::<u32>(3)?);
    /// let link = from.link_to(&to)?;
    /// let copied = link.copy(&x, &y)?;
    /// println!("{} in {:?}", copied.path.word(), copied.elapsed);
    /// assert_eq!((y.read()?, link.totals().bytes), (vec![1, 2, 3], 12));
    /// # Ok(())
    /// # }
    /// ```
    pub fn link_to(&self, peer: &Device) -> Result<Link, Error> {
        let hal = match self.hal().link_to(peer.hal().as_ref()) {
            Err(DeviceError::Unsupported { .. }) => Arc::new(HostLink::new(Arc::clone(self.clock()))),
            link => link?,
        };
        Ok(Link { hal })
    }
}

impl Link {
    /// The way that bytes take between the memories of the two devices.
    pub fn path(&self) -> CopyPath {
        self.hal.path()
    }

    /// Copies a buffer or a view of the first device to one of the second that is as long, and waits for the
    /// end; work that uses either comes first. Work that a paused queue holds refuses it.
    pub fn copy(
        &self,
        from: impl Into<BufferSlice>,
        to: impl Into<BufferSlice>,
    ) -> Result<PeerCopied, Error> {
        Ok(self.hal.copy(&prepared(&from.into(), &to.into())?)?)
    }

    /// The same by the one blocking call that the maker's driver has for it: what [`Link::copy`] is measured
    /// against. Returns its time; [`DeviceError::Unsupported`] of a link through the host.
    pub fn copy_by_driver(
        &self,
        from: impl Into<BufferSlice>,
        to: impl Into<BufferSlice>,
    ) -> Result<Duration, Error> {
        Ok(self.hal.copy_by_driver(&prepared(&from.into(), &to.into())?)?)
    }

    /// What [`Link::copy`] copied so far.
    pub fn totals(&self) -> PeerTotals {
        self.hal.totals()
    }
}

/// The copy, once work uses neither side.
fn prepared(from: &BufferSlice, to: &BufferSlice) -> Result<PeerCopy, Error> {
    let (source_len, destination_len) = (from.length(), to.length());
    if source_len != destination_len {
        return Err(MemoryError::CopyLengths { source_len, destination_len }.into());
    }
    from.buffer().wait_for_work(None)?;
    to.buffer().wait_for_work(None)?;
    let handle = |region: &BufferSlice| -> Arc<dyn HalBuffer> { Arc::clone(region.buffer()) };
    Ok(PeerCopy {
        from: handle(from),
        from_offset: from.offset(),
        to: handle(to),
        to_offset: to.offset(),
        bytes: source_len,
    })
}
