//! Links: copies from one card to another.
//!
//! Owns [`NvidiaLink`]. Where the card reaches the other's memory, a copy is one call in a stream of its own;
//! otherwise it is staged. Invariant: both buffers stay where they are until the copy has ended, also after
//! an error. Concurrency: `totals` is locked while a copy runs, so that one at a time uses streams and
//! memory.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anymetal_hal::buffer::Buffer;
use anymetal_hal::buffer_uses::MapMode;
use anymetal_hal::error::DeviceError;
use anymetal_hal::peer::{CopyPath, PeerCopied, PeerCopy, PeerLink, PeerTotals};
use anymetal_hal::validate::check_range;

use crate::device_shared::DeviceShared;
use crate::driver::DriverError;
use crate::memory::NvidiaBuffer;
use crate::owned::OwnedStream;
use crate::staging::Staging;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct NvidiaLink {
    from: Arc<DeviceShared>,
    to: Arc<DeviceShared>,
    route: Route,
    totals: Mutex<PeerTotals>,
}

#[derive(Debug)]
enum Route {
    /// By the first card.
    Direct(OwnedStream),
    Staged(Staging),
}

/// Where a copy starts and ends.
struct Ends {
    from: u64,
    to: u64,
    /// Whether both are in the memory of cards.
    are_in_cards: bool,
}

impl NvidiaLink {
    pub(crate) fn unsupported(from: &DeviceShared, to: &str) -> DeviceError {
        DeviceError::Unsupported {
            device: from.name.clone(),
            what: format!("a link to `{to}`"),
            alternative: "link two NVIDIA GPUs; within one device, copy with a command".to_owned(),
        }
    }

    pub(crate) fn new(from: &Arc<DeviceShared>, to: &Arc<DeviceShared>) -> Result<Self, DeviceError> {
        if Arc::ptr_eq(from, to) {
            return Err(Self::unsupported(from, &to.name));
        }
        from.check_alive()?;
        to.check_alive()?;
        let make = || match from.driver.reach(to.driver.peer())? {
            true => Ok(Route::Direct(OwnedStream::new(from, 0)?)),
            false => Ok(Route::Staged(Staging::new(from, to)?)),
        };
        let route = make().map_err(|error: DriverError| error.of(&from.name, 0))?;
        Ok(NvidiaLink { from: Arc::clone(from), to: Arc::clone(to), route, totals: Mutex::default() })
    }

    fn totals_lock(&self) -> MutexGuard<'_, PeerTotals> {
        self.totals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks a copy and calls back while its buffers are held; returns how long that took.
    fn timed<R>(
        &self,
        copy: &PeerCopy,
        run: impl FnOnce(Ends) -> Result<R, DeviceError>,
    ) -> Result<(R, Duration), DeviceError> {
        self.from.check_alive()?;
        self.to.check_alive()?;
        let from = NvidiaBuffer::of(&copy.from, &self.from)?;
        let to = NvidiaBuffer::of(&copy.to, &self.to)?;
        check_range(copy.from_offset, copy.bytes, from.length())?;
        check_range(copy.to_offset, copy.bytes, to.length())?;
        let (source, target) = (from.hold(MapMode::Read)?, to.hold(MapMode::Write)?);
        let started_ns = self.from.now_ns();
        let result = run(Ends {
            from: source.address() + copy.from_offset,
            to: target.address() + copy.to_offset,
            are_in_cards: !source.is_in_host() && !target.is_in_host(),
        })?;
        Ok((result, Duration::from_nanos(self.from.now_ns().saturating_sub(started_ns))))
    }

    fn run(&self, ends: &Ends, bytes: u64) -> Result<CopyPath, DeviceError> {
        let (path, done) = match &self.route {
            Route::Staged(staging) => {
                let done = staging.copy((&self.from, ends.from), (&self.to, ends.to), bytes);
                return done.map(|()| CopyPath::Staged);
            }
            Route::Direct(stream) if ends.are_in_cards => {
                let (driver, peer) = (&self.from.driver, self.to.driver.peer());
                (CopyPath::Peer, driver.copy_to_peer(ends.to, peer, ends.from, bytes, stream.number))
            }
            // One end is page-locked memory already.
            Route::Direct(stream) => {
                (CopyPath::Staged, self.from.driver.copy(ends.to, ends.from, bytes, stream.number))
            }
        };
        let Route::Direct(stream) = &self.route else { return Ok(path) };
        let ended = self.from.driver.synchronise(stream.number);
        done.and(ended).map_err(|error| error.of(&self.from.name, 0))?;
        Ok(path)
    }
}

impl PeerLink for NvidiaLink {
    fn path(&self) -> CopyPath {
        match self.route {
            Route::Direct(_) => CopyPath::Peer,
            Route::Staged(_) => CopyPath::Staged,
        }
    }

    fn copy(&self, copy: &PeerCopy) -> Result<PeerCopied, DeviceError> {
        let mut totals = self.totals_lock();
        let (path, elapsed) = self.timed(copy, |ends| match copy.bytes {
            0 => Ok(self.path()),
            bytes => self.run(&ends, bytes),
        })?;
        totals.copies += 1;
        totals.bytes += copy.bytes;
        totals.elapsed += elapsed;
        Ok(PeerCopied::new(path, elapsed))
    }

    fn copy_by_driver(&self, copy: &PeerCopy) -> Result<Duration, DeviceError> {
        let _one_at_a_time = self.totals_lock();
        let ((), elapsed) = self.timed(copy, |ends| {
            if !ends.are_in_cards {
                return Err(DeviceError::Unsupported {
                    device: self.from.name.clone(),
                    what: "the driver's peer copy of a buffer that `contents` has moved to the host"
                        .to_owned(),
                    alternative: "measure with buffers whose address nobody asked for".to_owned(),
                });
            }
            let (driver, peer) = (&self.from.driver, self.to.driver.peer());
            let done = match copy.bytes {
                0 => Ok(()),
                bytes => driver.copy_to_peer_now(ends.to, peer, ends.from, bytes),
            };
            done.map_err(|error| error.of(&self.from.name, 0))
        })?;
        Ok(elapsed)
    }

    fn totals(&self) -> PeerTotals {
        *self.totals_lock()
    }
}
