//! Copies between two devices, to be measured and checked.
//!
//! Owns [`PeerCopies`], which `devices --topology` and `bench --suite devices` measure with.

use std::time::Duration;

use anymetal::memory::{CopyPath, Link};
use anymetal::{Buffer, Device, Error};

/// Bytes of a copy whose bandwidth counts.
pub(crate) const LONG_BYTES: usize = 256 << 20;
/// Elements of a copy whose latency counts.
const SHORT: usize = 1;
const LONG: usize = LONG_BYTES / size_of::<u32>();

/// A link with a buffer on each side.
pub(crate) struct PeerCopies {
    link: Link,
    from: Buffer<u32>,
    to: Buffer<u32>,
}

impl PeerCopies {
    /// Between two devices that have a link.
    pub(crate) fn new(from: &Device, to: &Device) -> Result<Self, Error> {
        let link = from.link_to(to)?;
        let numbers: Vec<u32> = (0..LONG as u32).map(number).collect();
        Ok(PeerCopies { link, from: from.buffer(&numbers)?, to: to.buffer_zeroed(LONG)? })
    }

    /// The way of its copies.
    pub(crate) fn path(&self) -> CopyPath {
        self.link.path()
    }

    /// The time of one copy of [`LONG_BYTES`].
    pub(crate) fn long(&self) -> Result<Duration, Error> {
        Ok(self.link.copy(&self.from, &self.to)?.elapsed)
    }

    /// The same by the driver's own call.
    pub(crate) fn long_by_driver(&self) -> Result<Duration, Error> {
        self.link.copy_by_driver(&self.from, &self.to)
    }

    /// The time of one copy of four bytes.
    pub(crate) fn short(&self) -> Result<Duration, Error> {
        Ok(self.link.copy(&self.from.view(0..SHORT)?, &self.to.view(0..SHORT)?)?.elapsed)
    }

    /// The same by the driver's own call.
    pub(crate) fn short_by_driver(&self) -> Result<Duration, Error> {
        self.link.copy_by_driver(&self.from.view(0..SHORT)?, &self.to.view(0..SHORT)?)
    }

    /// Forgets what was copied.
    pub(crate) fn clear(&self) -> Result<(), Error> {
        self.to.write(&vec![0; LONG])
    }

    /// Whether all bytes of a long copy arrived.
    pub(crate) fn is_right(&self) -> Result<bool, Error> {
        Ok(self.to.read()?.into_iter().eq((0..LONG as u32).map(number)))
    }
}

/// What the element of that index is: no two neighbours, and no two halves of staging memory, are alike.
fn number(index: u32) -> u32 {
    index.wrapping_mul(0x9e37_79b9) | 1
}

/// Bytes per second, in GB/s.
pub(crate) fn gbps(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / time.max(Duration::from_nanos(1)).as_nanos() as f64
}

/// The shortest of so many.
pub(crate) fn best(rounds: u32, mut run: impl FnMut() -> Result<Duration, Error>) -> Result<Duration, Error> {
    let mut best = run()?;
    for _ in 1..rounds {
        best = best.min(run()?);
    }
    Ok(best)
}
