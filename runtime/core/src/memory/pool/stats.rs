//! The figures of a pool.
//!
//! Owns the running [`Totals`] and [`PoolStats`], what a user reads. Invariant: current figures go down again
//! when blocks leave, peaks and counts never do.

/// A pool's figures at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct PoolStats {
    /// Acquisitions asked for, refused ones included.
    pub acquisitions: u64,
    /// Acquisitions that reused a block.
    pub hits: u64,
    /// Blocks that left the pool to make room or by age.
    pub evictions: u64,
    /// Bytes of all blocks of the pool, wherever they are.
    pub bytes: u64,
    /// Bytes of blocks that holders have.
    pub acquired_bytes: u64,
    /// The bytes that those holders asked for.
    pub asked_bytes: u64,
    /// Bytes of blocks that came back and that submitted work, or another handle, still uses.
    pub busy_bytes: u64,
    /// Bytes of blocks that wait for a holder.
    pub idle_bytes: u64,
    /// All blocks of the pool.
    pub buffers: usize,
    /// Blocks that holders have.
    pub acquired_buffers: usize,
    /// The most `bytes` there ever were.
    pub peak_bytes: u64,
    /// The most `acquired_bytes` there ever were.
    pub peak_acquired_bytes: u64,
    /// The most `buffers` there ever were.
    pub peak_buffers: usize,
}

impl PoolStats {
    /// The share of acquisitions that reused a block, 0 to 1.
    pub fn hit_rate(&self) -> f64 {
        share(self.hits, self.acquisitions)
    }

    /// The share of acquired bytes that nobody asked for: what rounding up to classes costs.
    pub fn internal_fragmentation(&self) -> f64 {
        share(self.acquired_bytes.saturating_sub(self.asked_bytes), self.acquired_bytes)
    }

    /// The share of the pool's bytes that wait for a holder.
    pub fn idle_share(&self) -> f64 {
        share(self.idle_bytes, self.bytes)
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The running figures.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) acquisitions: u64,
    pub(crate) hits: u64,
    pub(crate) evictions: u64,
    pub(crate) bytes: u64,
    pub(crate) buffers: usize,
    pub(crate) idle_bytes: u64,
    pub(crate) busy_bytes: u64,
    acquired_bytes: u64,
    asked_bytes: u64,
    acquired_buffers: usize,
    peak_bytes: u64,
    peak_acquired_bytes: u64,
    peak_buffers: usize,
}

impl Totals {
    /// A block comes to a holder.
    pub(crate) fn add_acquired(&mut self, capacity: u64, length: u64) {
        self.acquired_bytes += capacity;
        self.asked_bytes += length;
        self.acquired_buffers += 1;
        self.peak_acquired_bytes = self.peak_acquired_bytes.max(self.acquired_bytes);
    }

    /// A block leaves its holder.
    pub(crate) fn remove_acquired(&mut self, capacity: u64, length: u64) {
        self.acquired_bytes -= capacity;
        self.asked_bytes -= length;
        self.acquired_buffers -= 1;
    }

    /// A block comes into the pool.
    pub(crate) fn add_block(&mut self, capacity: u64) {
        self.bytes += capacity;
        self.buffers += 1;
        self.peak_bytes = self.peak_bytes.max(self.bytes);
        self.peak_buffers = self.peak_buffers.max(self.buffers);
    }

    /// A block leaves the pool.
    pub(crate) fn remove_block(&mut self, capacity: u64) {
        self.bytes -= capacity;
        self.buffers -= 1;
    }

    /// What a user reads.
    pub(crate) fn stats(&self) -> PoolStats {
        PoolStats {
            acquisitions: self.acquisitions,
            hits: self.hits,
            evictions: self.evictions,
            bytes: self.bytes,
            acquired_bytes: self.acquired_bytes,
            asked_bytes: self.asked_bytes,
            busy_bytes: self.busy_bytes,
            idle_bytes: self.idle_bytes,
            buffers: self.buffers,
            acquired_buffers: self.acquired_buffers,
            peak_bytes: self.peak_bytes,
            peak_acquired_bytes: self.peak_acquired_bytes,
            peak_buffers: self.peak_buffers,
        }
    }

    /// Fails unless the current figures are those.
    #[cfg(test)]
    pub(crate) fn assert_same_now(&self, counted: &Totals) {
        let now = |totals: &Totals| {
            let bytes = [totals.bytes, totals.idle_bytes, totals.busy_bytes, totals.acquired_bytes];
            (bytes, totals.asked_bytes, totals.buffers, totals.acquired_buffers)
        };
        assert_eq!(now(self), now(counted));
    }
}
