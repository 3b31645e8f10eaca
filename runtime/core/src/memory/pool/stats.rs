//! The figures of a pool.
//!
//! Owns the running [`Totals`] and [`PoolStats`], what a user reads. Invariant: current figures go down again
//! when blocks leave, peaks and counts never do.

/// A pool's figures at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[non_exhaustive]
pub struct PoolStats {
    /// Rents asked for, refused ones included.
    pub rents: u64,
    /// Rents that reused a block.
    pub hits: u64,
    /// Blocks that left the pool to make room or by age.
    pub evictions: u64,
    /// Bytes of all blocks of the pool, wherever they are.
    pub bytes: u64,
    /// Bytes of blocks that renters have.
    pub rented_bytes: u64,
    /// The bytes that those renters asked for.
    pub asked_bytes: u64,
    /// Bytes of blocks that came back and that submitted work, or another handle, still uses.
    pub busy_bytes: u64,
    /// Bytes of blocks that wait for a renter.
    pub idle_bytes: u64,
    /// All blocks of the pool.
    pub buffers: usize,
    /// Blocks that renters have.
    pub rented_buffers: usize,
    /// The most `bytes` there ever were.
    pub peak_bytes: u64,
    /// The most `rented_bytes` there ever were.
    pub peak_rented_bytes: u64,
    /// The most `buffers` there ever were.
    pub peak_buffers: usize,
}

impl PoolStats {
    /// The share of rents that reused a block, 0 to 1.
    pub fn hit_rate(&self) -> f64 {
        share(self.hits, self.rents)
    }

    /// The share of rented bytes that nobody asked for: what rounding up to classes costs.
    pub fn internal_fragmentation(&self) -> f64 {
        share(self.rented_bytes.saturating_sub(self.asked_bytes), self.rented_bytes)
    }

    /// The share of the pool's bytes that wait for a renter.
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
    pub(crate) rents: u64,
    pub(crate) hits: u64,
    pub(crate) evictions: u64,
    pub(crate) bytes: u64,
    pub(crate) buffers: usize,
    pub(crate) idle_bytes: u64,
    pub(crate) busy_bytes: u64,
    rented_bytes: u64,
    asked_bytes: u64,
    rented_buffers: usize,
    peak_bytes: u64,
    peak_rented_bytes: u64,
    peak_buffers: usize,
}

impl Totals {
    /// A block comes to a renter.
    pub(crate) fn add_rented(&mut self, capacity: u64, length: u64) {
        self.rented_bytes += capacity;
        self.asked_bytes += length;
        self.rented_buffers += 1;
        self.peak_rented_bytes = self.peak_rented_bytes.max(self.rented_bytes);
    }

    /// A block leaves its renter.
    pub(crate) fn remove_rented(&mut self, capacity: u64, length: u64) {
        self.rented_bytes -= capacity;
        self.asked_bytes -= length;
        self.rented_buffers -= 1;
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
            rents: self.rents,
            hits: self.hits,
            evictions: self.evictions,
            bytes: self.bytes,
            rented_bytes: self.rented_bytes,
            asked_bytes: self.asked_bytes,
            busy_bytes: self.busy_bytes,
            idle_bytes: self.idle_bytes,
            buffers: self.buffers,
            rented_buffers: self.rented_buffers,
            peak_bytes: self.peak_bytes,
            peak_rented_bytes: self.peak_rented_bytes,
            peak_buffers: self.peak_buffers,
        }
    }

    /// Fails unless the current figures are those.
    #[cfg(test)]
    pub(crate) fn assert_same_now(&self, counted: &Totals) {
        let now = |totals: &Totals| {
            let bytes = [totals.bytes, totals.idle_bytes, totals.busy_bytes, totals.rented_bytes];
            (bytes, totals.asked_bytes, totals.buffers, totals.rented_buffers)
        };
        assert_eq!(now(self), now(counted));
    }
}
