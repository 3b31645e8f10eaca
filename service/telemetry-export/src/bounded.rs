//! The queue before a target: bounded, and it counts what it drops.
//!
//! Owns [`Bounded`]. Invariant: putting something in never blocks for longer than another's put or take; when
//! it is full the new one is dropped, and told in `anymetal_telemetry_dropped_total`.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anymetal_telemetry::record;

/// Items that wait to be sent.
#[derive(Debug)]
pub struct Bounded<T> {
    exporter: &'static str,
    capacity: usize,
    items: Mutex<VecDeque<T>>,
    dropped: AtomicU64,
}

impl<T> Bounded<T> {
    /// Room for `capacity` items; drops are counted under that name.
    pub fn new(exporter: &'static str, capacity: usize) -> Self {
        Bounded { exporter, capacity, items: Mutex::default(), dropped: AtomicU64::new(0) }
    }

    /// Puts one in; `false`: there was no room, and it is gone.
    pub fn push(&self, item: T) -> bool {
        let mut items = self.lock();
        if items.len() < self.capacity {
            items.push_back(item);
            return true;
        }
        drop(items);
        self.drop_counted(1);
        false
    }

    /// Takes the oldest, at most that number.
    pub fn take(&self, most: usize) -> Vec<T> {
        let mut items = self.lock();
        let count = items.len().min(most);
        items.drain(..count).collect()
    }

    /// Counts items that were given up elsewhere.
    pub fn drop_counted(&self, items: u64) {
        self.dropped.fetch_add(items, Ordering::Relaxed);
        record::dropped(self.exporter, items);
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many were given up.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// The name that its drops are counted under.
    pub fn exporter(&self) -> &'static str {
        self.exporter
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<T>> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_drops_the_new_ones_and_counts_them() {
        let queue = Bounded::new("webhook", 2);
        assert_eq!([1, 2, 3, 4].map(|item| queue.push(item)), [true, true, false, false]);
        assert_eq!((queue.dropped(), queue.take(1), queue.len()), (2, vec![1], 1));
        assert!(queue.push(5));
        assert_eq!(queue.take(9), [2, 5]);
    }
}
