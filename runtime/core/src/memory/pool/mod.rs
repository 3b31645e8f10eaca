//! The buffer pool: device memory that is used again instead of made again.
//!
//! Owns [`Pool`] and [`PooledBuffer`]. A acquire takes an idle block of the length's size class, or of one a
//! little larger, or makes one; dropping the [`PooledBuffer`] gives the block back. The books are in
//! [`state`], the figures in [`stats`].
//!
//! Invariants: a block is handed out only when no other handle to it exists and no submitted work uses it, so
//! two holders never share bytes; a holder never sees what another tenant left, or what the program left and
//! a tenant did not; a buffer is never shorter than asked; bytes and buffers of the pool, wherever they are,
//! never exceed the limits.
//!
//! Concurrency: `state` is behind one lock, held for look-ups only: device memory is made and dropped
//! outside, so is the budget asked (which may trim this pool). A block that is being made is already in the
//! books.

#[cfg(all(test, loom))]
mod models;
mod options;
mod pooled;
mod series;
mod state;
mod stats;
#[cfg(all(test, not(loom)))]
mod tests;

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use anymetal_hal::buffer::{BufferDescriptor, StorageMode};
use anymetal_hal::caches::{self, CacheLimit, CacheOwner, CacheUsage};
use anymetal_hal::clock::Clock;
use anymetal_hal::device::Device;
use anymetal_hal::error::{DeviceError, ErrorClass};
use anymetal_telemetry::collect::{Collect, Sums, add_collector};
use anymetal_telemetry::handle::metrics_on;
use anymetal_telemetry::names::metrics as names;

use crate::memory::backtrace::Backtrace;
use crate::memory::budget::Trim;
use crate::memory::error::MemoryError;
use crate::memory::registry::{Inventory, LiveResource, ResourceKind};
use crate::memory::size_class::SizeClasses;
use crate::sync::{Condvar, Mutex, lock};
use crate::tenant::MemoryCharge;
use series::PoolSeries;
use state::{Block, Holder, Owner, PoolState, Shelf, Shortage, SlotId, Taken};

pub use options::{AcquireRequest, Contents, PoolLimits, PoolOptions};
pub use pooled::PooledBuffer;
pub use stats::PoolStats;

/// How long a throttled acquire waits before it looks again.
const THROTTLE_STEP: Duration = Duration::from_millis(5);

/// A pool of a device's buffers. Clones are handles to the same pool; pooled buffers keep it alive.
#[derive(Clone)]
pub struct Pool {
    shared: Arc<PoolShared>,
}

struct PoolShared {
    device: Arc<dyn Device>,
    clock: Arc<dyn Clock>,
    options: PoolOptions,
    classes: SizeClasses,
    state: Mutex<PoolState>,
    /// Signalled when a block comes back while someone waits.
    returned: Condvar,
    /// What acquisitions record in; empty while there is no recorder.
    series: OnceLock<PoolSeries>,
}

/// What trimming freed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Trimmed {
    /// Bytes.
    pub bytes: u64,
    /// Buffers.
    pub buffers: usize,
}

impl Pool {
    /// A pool without blocks.
    pub fn new(device: Arc<dyn Device>, clock: Arc<dyn Clock>, options: PoolOptions) -> Self {
        let classes = SizeClasses { largest: device.capabilities().max_buffer_bytes };
        let budget = options.budget.clone();
        let state = Mutex::new(PoolState::default());
        let (returned, series) = (Condvar::new(), OnceLock::new());
        let shared = Arc::new(PoolShared { device, clock, options, classes, state, returned, series });
        let collector: Arc<dyn Collect> = Arc::<PoolShared>::clone(&shared);
        add_collector(Arc::downgrade(&collector));
        let caches: Arc<dyn CacheOwner> = Arc::<PoolShared>::clone(&shared);
        caches::register(Arc::downgrade(&caches));
        if let Some(budget) = budget {
            let trimmer: Arc<dyn Trim> = Arc::<PoolShared>::clone(&shared);
            budget.add_trimmer(Arc::downgrade(&trimmer));
        }
        Pool { shared }
    }

    /// Acquires a buffer; never waits. Refused with a typed error when the limits, the budget or the tenant's
    /// quota do not allow it; then nothing has changed but that idle blocks may have gone.
    pub fn acquire(&self, request: &AcquireRequest<'_>) -> Result<PooledBuffer, MemoryError> {
        let acquired = self.acquire_unrecorded(request);
        if let (Err(error), Some(series)) = (&acquired, self.shared.series()) {
            series.refused(error);
        }
        acquired
    }

    fn acquire_unrecorded(&self, request: &AcquireRequest<'_>) -> Result<PooledBuffer, MemoryError> {
        let shelf = self.shared.shelf(request)?;
        let charge = match request.tenant {
            None => None,
            Some(tenant) => Some(tenant.charge_memory(self.shared.class_bytes(request.length))?),
        };
        let holder = Holder {
            owner: request.tenant.map_or(Owner::Program, |tenant| Owner::Tenant(tenant.id())),
            length: request.length,
            label: request.label.clone(),
            backtrace: Backtrace::capture(self.shared.options.backtraces),
            now: self.shared.clock.recent(),
        };
        let anew = request.contents == Contents::Zeroed && request.mode == StorageMode::Private;
        let taken = match anew {
            true => Err(holder),
            false => lock(&self.shared.state).take(shelf, self.shared.options.larger_classes, holder),
        };
        let Taken { slot, block, is_foreign } = match taken {
            Ok(taken) => taken,
            Err(holder) => return self.shared.make(shelf, request, holder, charge),
        };
        let buffer = self.shared.acquired(slot, block, request.length, charge);
        if let Some(series) = self.shared.series() {
            series.hit();
        }
        // All of a foreign block, since `PooledBuffer::whole` gives it away.
        let to_clear = match request.contents {
            _ if is_foreign => buffer.capacity(),
            Contents::Zeroed => buffer.length(),
            Contents::Unspecified => 0,
        };
        match buffer.clear(to_clear) {
            Ok(()) => Ok(buffer),
            Err(error) => {
                // The books say that it is the holder's by now, but it may still hold another's data.
                buffer.discard();
                Err(error.into())
            }
        }
    }

    /// Acquires a buffer, and if the pool or the budget is used up waits for buffers to come back and for
    /// submitted work to end, at most that long by the pool's clock. A tenant's quota does not wait.
    pub fn acquire_within(
        &self,
        request: &AcquireRequest<'_>,
        timeout: Duration,
    ) -> Result<PooledBuffer, MemoryError> {
        let clock = &self.shared.clock;
        let until = clock.now().saturating_add(timeout);
        loop {
            let refused = match self.acquire(request) {
                Ok(buffer) => return Ok(buffer),
                Err(refused) => refused,
            };
            let may_pass =
                refused.class() == ErrorClass::Exhausted && !matches!(refused, MemoryError::Quota(_));
            if !may_pass || clock.now() >= until {
                return Err(refused);
            }
            let left = clock.real_time_until(until).unwrap_or(THROTTLE_STEP);
            self.shared.throttle(left.min(THROTTLE_STEP));
        }
    }

    /// Makes blocks in advance, so that as many acquisitions of that length find one. All or none.
    pub fn reserve(&self, length: u64, mode: StorageMode, count: usize) -> Result<(), MemoryError> {
        let request = AcquireRequest::new(length).mode(mode).label("reserved");
        let shelf = self.shared.shelf(&request)?;
        let mut made = Vec::new();
        for _ in 0..count {
            let now = self.shared.clock.now();
            let label = request.label.clone();
            let holder = Holder { owner: Owner::Nobody, length, label, backtrace: None, now };
            match self.shared.make(shelf, &request, holder, None) {
                Ok(buffer) => made.push(buffer),
                Err(error) => {
                    // These blocks were never used: none of them stays.
                    made.into_iter().for_each(PooledBuffer::discard);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Drops blocks that have been idle for longer than that.
    pub fn trim_older_than(&self, age: Duration) -> Trimmed {
        self.shared.trim_older_than(age)
    }

    /// Drops all idle blocks.
    pub fn trim_all(&self) -> Trimmed {
        self.shared.trim(None, u64::MAX)
    }

    /// The figures, after a look at which blocks have become free.
    pub fn stats(&self) -> PoolStats {
        self.shared.swept_stats()
    }

    /// For a registry to list what is acquired.
    pub fn inventory(&self) -> Weak<dyn Inventory> {
        let inventory: Arc<dyn Inventory> = Arc::<PoolShared>::clone(&self.shared);
        Arc::downgrade(&inventory)
    }

    /// Fails the test if the books do not add up.
    #[cfg(test)]
    pub(super) fn check(&self) {
        lock(&self.shared.state).check();
    }
}

impl PoolShared {
    fn shelf(&self, request: &AcquireRequest<'_>) -> Result<Shelf, MemoryError> {
        if request.length > self.classes.largest {
            return Err(MemoryError::AboveLargestBuffer {
                device: self.device.name().to_owned(),
                requested: request.length,
                limit: self.classes.largest,
            });
        }
        Ok(Shelf::new(request.mode, self.classes.class_of(request.length)))
    }

    /// The figures, after a look at which blocks have become free.
    fn swept_stats(&self) -> PoolStats {
        let mut state = lock(&self.state);
        state.sweep();
        state.stats()
    }

    /// What to record in, if there is a recorder.
    fn series(&self) -> Option<&PoolSeries> {
        metrics_on().then(|| self.series.get_or_init(|| PoolSeries::new(self.device.name())))
    }

    fn class_bytes(&self, length: u64) -> u64 {
        self.classes.bytes_of(self.classes.class_of(length))
    }

    /// Makes a block: books it, reserves its bytes, asks the device.
    fn make(
        self: &Arc<Self>,
        shelf: Shelf,
        request: &AcquireRequest<'_>,
        holder: Holder,
        charge: Option<MemoryCharge>,
    ) -> Result<PooledBuffer, MemoryError> {
        if let Some(age) = self.options.idle_age {
            self.trim_older_than(age);
        }
        let capacity = self.class_bytes(request.length);
        let mut evicted = Vec::new();
        let booked = {
            let mut state = lock(&self.state);
            let limits = &self.options.limits;
            state.book(shelf, capacity, holder, limits, &mut evicted).map_err(|shortage| match shortage {
                Shortage::Buffers => MemoryError::PoolBuffers { limit: limits.max_buffers },
                Shortage::Bytes => MemoryError::PoolBytes {
                    requested: capacity,
                    in_use: state.in_use_bytes(),
                    limit: limits.max_bytes,
                },
            })
        };
        drop(evicted);
        let slot = booked?;
        match self.allocate(request, capacity) {
            Ok(block) => {
                if let Some(series) = self.series() {
                    series.miss();
                }
                Ok(self.acquired(slot, block, request.length, charge))
            }
            Err(error) => {
                lock(&self.state).unbook(slot);
                Err(error)
            }
        }
    }

    fn allocate(&self, request: &AcquireRequest<'_>, capacity: u64) -> Result<Block, MemoryError> {
        let reservation = match &self.options.budget {
            None => None,
            Some(budget) => Some(budget.reserve(capacity)?),
        };
        let descriptor = BufferDescriptor::shared(capacity)
            .storage_mode(request.mode)
            .label(request.label.clone().into_owned());
        let buffer = match self.device.buffer(&descriptor) {
            // The budget was wrong about what is free: give up what is idle, and try once more.
            Err(DeviceError::OutOfMemory { .. }) if self.relieve(capacity) => {
                self.device.buffer(&descriptor)?
            }
            made => made?,
        };
        Ok(Block { buffer, _reservation: reservation })
    }

    /// Gives up idle memory; says whether there was any.
    fn relieve(&self, bytes: u64) -> bool {
        match &self.options.budget {
            Some(budget) => budget.trim(bytes) > 0,
            None => self.trim_bytes(bytes) > 0,
        }
    }

    fn acquired(
        self: &Arc<Self>,
        slot: SlotId,
        block: Block,
        length: u64,
        charge: Option<MemoryCharge>,
    ) -> PooledBuffer {
        PooledBuffer { block: Some(block), slot, length, shared: Arc::clone(self), _charge: charge }
    }

    fn give_back(&self, slot: SlotId, block: Block) {
        let free = block.is_free();
        let now = self.clock.recent();
        let mut evicted = Vec::new();
        let mut state = lock(&self.state);
        state.give_back(slot, block, free, now, &self.options.limits, &mut evicted);
        let waiting = state.waiting > 0;
        drop(state);
        if waiting {
            self.returned.notify_one();
        }
        drop(evicted);
    }

    /// Waits for a block to come free, at most that long.
    fn throttle(&self, longest: Duration) {
        let mut state = lock(&self.state);
        let at_work = state.oldest_at_work();
        if let Some(buffer) = at_work {
            drop(state);
            buffer.wait_unused(Some(longest));
            return;
        }
        state.waiting += 1;
        let waited = self.returned.wait_timeout(state, longest);
        let (mut state, _) = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
        state.waiting -= 1;
    }

    fn trim_older_than(&self, age: Duration) -> Trimmed {
        let before = self.clock.now().checked_sub(age);
        before.map_or_else(Trimmed::default, |before| self.trim(Some(before), 0))
    }

    fn trim(&self, before: Option<Duration>, bytes: u64) -> Trimmed {
        let mut evicted = Vec::new();
        let bytes = lock(&self.state).trim(before, bytes, &mut evicted);
        Trimmed { bytes, buffers: evicted.len() }
    }
}

impl Collect for PoolShared {
    fn collect(&self, sums: &mut Sums) {
        let stats = self.swept_stats();
        let device = self.device.name();
        let used = stats.bytes.saturating_sub(stats.idle_bytes);
        sums.add(&names::POOL_BYTES, &[device, "used"], used as f64);
        sums.add(&names::POOL_BYTES, &[device, "free"], stats.idle_bytes as f64);
        sums.add(&names::POOL_BUFFERS, &[device], stats.buffers as f64);
        sums.add(&names::BUFFERS, &[device], stats.buffers as f64);
    }
}

impl CacheOwner for PoolShared {
    fn usage(&self, into: &mut Vec<CacheUsage>) {
        let mut state = lock(&self.state);
        state.sweep();
        let limit = CacheLimit::Bytes(self.options.limits.max_idle_bytes);
        let usage = CacheUsage::new("idle buffers", self.device.name(), limit);
        into.push(usage.entries(state.idle_buffers() as u64).bytes(state.stats().idle_bytes));
    }

    fn trim(&self) {
        self.trim(None, u64::MAX);
    }
}

impl Trim for PoolShared {
    fn trim_bytes(&self, bytes: u64) -> u64 {
        self.trim(None, bytes).bytes
    }
}

impl Inventory for PoolShared {
    fn list(&self, now: Duration, into: &mut Vec<LiveResource>) {
        let state = lock(&self.state);
        into.extend(state.used().map(|block| LiveResource {
            kind: ResourceKind::PooledBuffer,
            label: block.label.into_owned(),
            bytes: block.length,
            held_bytes: block.capacity,
            age: now.saturating_sub(block.since),
            backtrace: block.backtrace,
        }));
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (device, stats) = (self.shared.device.name(), self.stats());
        formatter.debug_struct("Pool").field("device", &device).field("stats", &stats).finish()
    }
}
