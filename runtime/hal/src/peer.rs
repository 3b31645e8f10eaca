//! Copies from the buffers of one device to those of another.
//!
//! Owns [`PeerLink`], which [`Device::link_to`] makes, and what a copy says of itself. Invariant: a copy runs
//! after all work that its buffers' devices were given before it and that uses them, and has ended when the
//! call returns; while it runs, neither buffer can be mapped for an access that it excludes.
//!
//! [`Device::link_to`]: crate::device::Device::link_to

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::buffer::Buffer;
use crate::error::DeviceError;

/// What a device of the same maker needs of this one to copy to it, for its own eyes.
pub type PeerHandle = Arc<dyn Any + Send + Sync>;

/// Which way the bytes of a copy take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CopyPath {
    /// From the memory of one device to that of the other.
    Peer,
    /// Through page-locked memory of the host.
    Staged,
}

impl CopyPath {
    /// The word for tables: `peer`, `staged`.
    pub const fn word(self) -> &'static str {
        match self {
            CopyPath::Peer => "peer",
            CopyPath::Staged => "staged",
        }
    }
}

/// A copy between two devices.
#[derive(Debug, Clone)]
pub struct PeerCopy {
    /// A buffer of the device that the link starts from.
    pub from: Arc<dyn Buffer>,
    /// The first byte that is read.
    pub from_offset: u64,
    /// A buffer of the device that the link leads to.
    pub to: Arc<dyn Buffer>,
    /// The first byte that is written.
    pub to_offset: u64,
    /// How many bytes; 0 is fine.
    pub bytes: u64,
}

/// What a copy that has ended says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerCopied {
    /// The way that its bytes took, which is the link's unless a buffer is in the host's memory.
    pub path: CopyPath,
    /// From when its buffers were free to its end, by the clock of the device that the link starts from.
    pub elapsed: Duration,
}

impl PeerCopied {
    /// A copy over that path, which took that long.
    pub fn new(path: CopyPath, elapsed: Duration) -> Self {
        PeerCopied { path, elapsed }
    }
}

/// All copies of a link that succeeded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PeerTotals {
    /// How many.
    pub copies: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their times, added up.
    pub elapsed: Duration,
}

/// A way from one device to another, with what copies need: streams, and memory to stage in. Copies of one
/// link run one after the other, those of several at the same time.
///
/// *Errors*: [`DeviceError::WrongDevice`] for a buffer of another device,
/// [`DeviceError::RangeOutsideBuffer`], [`DeviceError::BufferMapped`]. *Blocking*: copies wait for work that
/// uses their buffers and for their own end.
pub trait PeerLink: Send + Sync + fmt::Debug {
    /// The way that bytes between the two devices' memories take.
    fn path(&self) -> CopyPath;

    /// Copies.
    fn copy(&self, copy: &PeerCopy) -> Result<PeerCopied, DeviceError>;

    /// The same by the one blocking call that the maker's driver has for it, and which chooses the way: what
    /// [`PeerLink::copy`] is measured against. It is not counted.
    fn copy_by_driver(&self, copy: &PeerCopy) -> Result<Duration, DeviceError>;

    /// What was copied so far.
    fn totals(&self) -> PeerTotals;
}
