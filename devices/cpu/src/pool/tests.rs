//! The pool with real threads: jobs are whole, leaders wait, panics are contained.

use std::sync::Barrier;
use std::time::Instant;

use anymetal_hal::sync::{AtomicU32, SPIN};

use super::*;

fn pool(threads: usize) -> Pool {
    Pool::start(PoolOptions { threads, pinned: false }).unwrap()
}

#[test]
fn every_group_is_claimed_once() {
    let pool = pool(3);
    for total in [1u64, 2, 3, 95, 96, 97, 100_000] {
        let counts: Vec<AtomicU32> = (0..total).map(|_| AtomicU32::new(0)).collect();
        let body = |_worker: u32, first: u64, end: u64| {
            for count in &counts[first as usize..end as usize] {
                count.fetch_add(1, Ordering::Relaxed);
            }
        };
        pool.run_job(0..total, total, Priority::Normal, &body).unwrap();
        assert!(counts.iter().all(|count| count.load(Ordering::Relaxed) == 1), "{total} groups");
    }
}

#[test]
fn the_leader_waits_for_a_helper_that_takes_longer() {
    let pool = pool(2);
    let both = Barrier::new(2);
    let helped = AtomicBool::new(false);
    let body = |worker: u32, _first: u64, _end: u64| {
        both.wait();
        if worker != 0 {
            // Long enough for the leader to stop spinning and park.
            let start = Instant::now();
            while start.elapsed() < 20 * SPIN {
                std::hint::spin_loop();
            }
            helped.store(true, Ordering::Relaxed);
        }
    };
    for _ in 0..20 {
        helped.store(false, Ordering::Relaxed);
        pool.run_job(0..2, 2, Priority::Normal, &body).unwrap();
        assert!(helped.load(Ordering::Relaxed));
    }
}

#[test]
fn a_panic_of_a_helper_is_reported_and_the_pool_goes_on() {
    let pool = pool(2);
    let both = Barrier::new(2);
    let body = |worker: u32, _first: u64, _end: u64| {
        both.wait();
        assert_eq!(worker, 0, "this panic is part of the test");
    };
    assert_eq!(pool.run_job(0..2, 2, Priority::Normal, &body).unwrap_err(), HelperPanicked);
    let again = |_worker: u32, _first: u64, _end: u64| {
        both.wait();
    };
    pool.run_job(0..2, 2, Priority::Normal, &again).unwrap();
}
