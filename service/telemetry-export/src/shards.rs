//! Cells that each thread adds to by itself.
//!
//! Owns [`Sharded`] and a thread's place in all of them. Invariants: a place belongs to one living thread at
//! a time, so what it adds needs no atomic read and write together; the threads that got none share the last
//! cells, and add to those atomically. A sum read while threads add misses at most what is being added.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// How many threads have places of their own.
const PLACES: usize = 16;

/// A bit for each place that is taken.
static TAKEN: AtomicU32 = AtomicU32::new(0);

/// A thread's place; given back when the thread ends.
struct ShardIndex(Option<usize>);

thread_local! {
    static SHARD: ShardIndex = ShardIndex::take();
}

impl ShardIndex {
    fn take() -> Self {
        let free = |taken: u32| (taken.trailing_ones() < PLACES as u32).then(|| taken | (taken + 1));
        // Sees all that the owner before has added.
        let before = TAKEN.try_update(Ordering::Acquire, Ordering::Relaxed, free);
        ShardIndex(before.ok().map(|taken| taken.trailing_ones() as usize))
    }
}

impl Drop for ShardIndex {
    fn drop(&mut self) {
        if let Some(place) = self.0 {
            TAKEN.fetch_and(!(1 << place), Ordering::Release);
        }
    }
}

/// This thread's place; `None`: it shares, as it also does while it ends.
#[inline]
fn place() -> Option<usize> {
    SHARD.try_with(|place| place.0).unwrap_or_default()
}

/// Something to add to, apart from that of other threads.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Apart<T>(T);

/// Cells for each place, made when a thread first adds to them, and cells for those that share.
#[derive(Debug)]
pub(crate) struct Sharded<T> {
    own: [OnceLock<Box<Apart<T>>>; PLACES],
    shared: Apart<T>,
}

impl<T> Sharded<T> {
    pub(crate) fn new(make: impl Fn() -> T) -> Self {
        Sharded { own: [const { OnceLock::new() }; PLACES], shared: Apart(make()) }
    }

    /// This thread's cells, and how to add to them.
    #[inline]
    pub(crate) fn mine(&self, make: impl Fn() -> T) -> (&T, Adding) {
        match place() {
            Some(place) => (&self.own[place].get_or_init(|| Box::new(Apart(make()))).0, Adding::Alone),
            None => (&self.shared.0, Adding::Shared),
        }
    }

    /// The cells of those that share, to be added to as [`Adding::Shared`].
    pub(crate) fn shared(&self) -> &T {
        &self.shared.0
    }

    /// The cells of all threads.
    pub(crate) fn all(&self) -> impl Iterator<Item = &T> {
        let own = self.own.iter().filter_map(OnceLock::get).map(|apart| &apart.0);
        own.chain(std::iter::once(&self.shared.0))
    }
}

/// Whether other threads add to the same cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Adding {
    Alone,
    Shared,
}

impl Adding {
    /// Adds to a count.
    #[inline]
    pub(crate) fn count(self, cell: &AtomicU64, more: u64) {
        match self {
            Adding::Alone => cell.store(cell.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed),
            Adding::Shared => {
                cell.fetch_add(more, Ordering::Relaxed);
            }
        }
    }

    /// Adds to a sum, kept as the bits of a number.
    #[inline]
    pub(crate) fn sum(self, cell: &AtomicU64, more: f64) {
        let add = |bits| (f64::from_bits(bits) + more).to_bits();
        match self {
            Adding::Alone => cell.store(add(cell.load(Ordering::Relaxed)), Ordering::Relaxed),
            Adding::Shared => {
                cell.update(Ordering::Relaxed, Ordering::Relaxed, add);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(cells: &Sharded<AtomicU64>) -> u64 {
        cells.all().map(|cell| cell.load(Ordering::Relaxed)).sum()
    }

    fn add(cells: &Sharded<AtomicU64>) {
        let (cell, adding) = cells.mine(AtomicU64::default);
        adding.count(cell, 1);
    }

    #[test]
    fn nothing_is_missed_by_more_threads_than_places_and_by_threads_that_follow_each_other() {
        let cells = Sharded::new(AtomicU64::default);
        std::thread::scope(|scope| {
            for _ in 0..3 * PLACES {
                scope.spawn(|| (0..10_000).for_each(|_| add(&cells)));
            }
        });
        for _ in 0..3 * PLACES {
            std::thread::scope(|scope| {
                scope.spawn(|| add(&cells));
            });
        }
        assert_eq!(total(&cells), 30_000 * PLACES as u64 + 3 * PLACES as u64);
        assert!(cells.all().count() <= PLACES + 1);
    }

    #[test]
    fn sums_are_added_either_way() {
        let cell = AtomicU64::new(1.5f64.to_bits());
        Adding::Alone.sum(&cell, 0.25);
        Adding::Shared.sum(&cell, 0.25);
        assert_eq!(f64::from_bits(cell.into_inner()), 2.0);
    }
}
