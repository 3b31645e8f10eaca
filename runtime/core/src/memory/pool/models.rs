//! Models of the pool's concurrency: every interleaving of a few threads, under loom.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p anymetal-core --lib --release models`.

use std::sync::atomic::Ordering;

use anymetal_hal::clock::ManualClock;

use super::*;
use crate::memory::budget::Budget;
use crate::memory::test_device::{TestDevice, test_buffer};

fn pool(max_buffers: usize, budget: Option<Budget>) -> (Arc<TestDevice>, Pool) {
    let device = TestDevice::new(1 << 20);
    let limits = PoolLimits { max_buffers, ..PoolLimits::default() };
    let options = PoolOptions { limits, budget, ..PoolOptions::default() };
    (device.clone(), Pool::new(device, ManualClock::new(), options))
}

/// Acquires, checks that nobody else has the block, and gives it back.
fn use_alone(pool: &Pool) -> bool {
    let Ok(buffer) = pool.acquire(&AcquireRequest::new(100)) else { return false };
    assert!(!test_buffer(buffer.whole()).owned.swap(true, Ordering::SeqCst), "two holders of one block");
    loom::thread::yield_now();
    test_buffer(buffer.whole()).owned.store(false, Ordering::SeqCst);
    true
}

#[test]
fn holders_never_share_and_limits_hold() {
    loom::model(|| {
        let (device, pool) = pool(1, None);
        let other = loom::thread::spawn({
            let pool = pool.clone();
            move || use_alone(&pool)
        });
        let first = use_alone(&pool);
        let second = other.join().unwrap();
        assert!(first || second, "one of them found the block");
        assert!(device.live_buffers() <= 1);
        let stats = pool.stats();
        assert_eq!((stats.acquired_buffers, stats.acquired_bytes, stats.busy_bytes), (0, 0, 0));
        pool.check();
    });
}

#[test]
fn trimming_never_takes_a_acquired_block() {
    loom::model(|| {
        let (device, pool) = pool(2, None);
        pool.reserve(100, StorageMode::Shared, 1).unwrap();
        let trimmer = loom::thread::spawn({
            let pool = pool.clone();
            move || pool.trim_all()
        });
        assert!(use_alone(&pool));
        trimmer.join().unwrap();
        assert_eq!(pool.stats().buffers, device.live_buffers());
        pool.trim_all();
        assert_eq!(device.allocated_bytes(), 0);
        pool.check();
    });
}

#[test]
fn pools_under_one_budget_trim_each_other_without_deadlock() {
    loom::model(|| {
        let budget = Budget::new(256);
        let ((device, one), (other_device, two)) =
            (pool(2, Some(budget.clone())), pool(2, Some(budget.clone())));
        let other = loom::thread::spawn({
            let two = two.clone();
            move || use_alone(&two)
        });
        let first = use_alone(&one);
        let second = other.join().unwrap();
        assert!(first || second);
        assert_eq!(budget.stats().reserved, device.allocated_bytes() + other_device.allocated_bytes());
        assert!(budget.stats().peak <= 256);
        one.check();
        two.check();
    });
}
