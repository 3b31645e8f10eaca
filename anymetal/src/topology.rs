//! Links between devices, measured: which way their copies take, how fast and how soon.
//!
//! ```no_run
//! # fn main() -> Result<(), anymetal::Error> {
//! use anymetal::Device;
//! use anymetal::memory::topology;
//!
//! let devices = Device::all()?;
//! for from in &devices {
//!     for to in devices.iter().filter(|to| to.name() != from.name()) {
//!         let link = topology::measure(from, to)?;
//!         println!("{} to {}: {:.1} GB/s", from.name(), to.name(), link.gigabytes_per_second);
//!     }
//! }
//! # Ok(())
//! # }
//! ```

use std::time::Duration;

use crate::buffer::Buffer;
use crate::device::Device;
use crate::error::Error;
use crate::link::Link;
use crate::memory::CopyPath;

/// Long copies of which the best counts.
const ROUNDS: u32 = 5;

/// Bytes of a copy whose bandwidth counts.
pub const LONG_BYTES: usize = 256 << 20;
/// Elements of a copy whose latency counts.
const SHORT: usize = 1;
const LONG: usize = LONG_BYTES / size_of::<u32>();

/// What was measured of copies from one device to another.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct MeasuredLink {
    /// Which way they take.
    pub path: CopyPath,
    /// The bandwidth of a copy of [`LONG_BYTES`], in 10⁹ bytes a second: the best of several.
    pub gigabytes_per_second: f64,
    /// The time of a copy of four bytes: the best of many.
    pub latency: Duration,
    /// Whether all bytes arrived.
    pub is_right: bool,
}

/// Measures copies from one device to another; takes [`LONG_BYTES`] on each and some tenths of a second.
///
/// # Errors
/// Those of the memory, of the link and of copies.
pub fn measure(from: &Device, to: &Device) -> Result<MeasuredLink, Error> {
    let copies = PeerCopies::new(from, to)?;
    let long = best(ROUNDS, || copies.long())?;
    // Short ones vary more, and cost nothing.
    let latency = best(20 * ROUNDS, || copies.short())?;
    let (path, is_right) = (copies.path(), copies.is_right()?);
    Ok(MeasuredLink { path, gigabytes_per_second: gbps(LONG_BYTES, long), latency, is_right })
}

/// A link with a buffer on each side, for measuring copies in turn with others.
#[derive(Debug)]
pub struct PeerCopies {
    link: Link,
    from: Buffer<u32>,
    to: Buffer<u32>,
}

impl PeerCopies {
    /// Between two devices.
    pub fn new(from: &Device, to: &Device) -> Result<Self, Error> {
        Self::with_length(from, to, LONG)
    }

    fn with_length(from: &Device, to: &Device, length: usize) -> Result<Self, Error> {
        let link = from.link_to(to)?;
        let numbers: Vec<u32> = (0..length as u32).map(number).collect();
        Ok(PeerCopies { link, from: from.buffer(&numbers)?, to: to.buffer_zeroed(length)? })
    }

    /// The way of its copies.
    pub fn path(&self) -> CopyPath {
        self.link.path()
    }

    /// The time of one copy of [`LONG_BYTES`].
    pub fn long(&self) -> Result<Duration, Error> {
        Ok(self.link.copy(&self.from, &self.to)?.elapsed)
    }

    /// The same by the driver's own call.
    pub fn long_by_driver(&self) -> Result<Duration, Error> {
        self.link.copy_by_driver(&self.from, &self.to)
    }

    /// The time of one copy of four bytes.
    pub fn short(&self) -> Result<Duration, Error> {
        Ok(self.link.copy(&self.from.view(0..SHORT)?, &self.to.view(0..SHORT)?)?.elapsed)
    }

    /// The same by the driver's own call.
    pub fn short_by_driver(&self) -> Result<Duration, Error> {
        self.link.copy_by_driver(&self.from.view(0..SHORT)?, &self.to.view(0..SHORT)?)
    }

    /// Forgets what was copied.
    pub fn clear(&self) -> Result<(), Error> {
        self.to.write(&vec![0; self.to.len()])
    }

    /// Whether all bytes of a long copy arrived.
    pub fn is_right(&self) -> Result<bool, Error> {
        Ok(self.to.read()?.into_iter().eq((0..self.to.len() as u32).map(number)))
    }
}

/// What the element of that index is: no two neighbours, and no two halves of staging memory, are alike.
fn number(index: u32) -> u32 {
    index.wrapping_mul(0x9e37_79b9) | 1
}

/// Bytes per second, in GB/s.
pub fn gbps(bytes: usize, time: Duration) -> f64 {
    bytes as f64 / time.max(Duration::from_nanos(1)).as_nanos() as f64
}

/// The shortest of so many.
fn best(rounds: u32, mut run: impl FnMut() -> Result<Duration, Error>) -> Result<Duration, Error> {
    let mut best = run()?;
    for _ in 1..rounds {
        best = best.min(run()?);
    }
    Ok(best)
}

#[cfg(all(test, feature = "cpu"))]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_a_link_through_the_host_to_itself() {
        let cpu = Device::by_name("cpu").unwrap();
        let copies = PeerCopies::with_length(&cpu, &cpu, 3000).unwrap();
        assert!(copies.long().unwrap() > Duration::ZERO && copies.is_right().unwrap());
        copies.clear().unwrap();
        assert!(!copies.is_right().unwrap());
        copies.short().unwrap();
        assert_eq!((copies.path(), copies.link.totals().bytes), (CopyPath::Staged, 12_004));
        assert!(copies.long_by_driver().is_err());
    }
}
