//! Rounds of a cooperative launch: which thread runs which threadgroups, and when the next round begins.
//!
//! The threadgroups are cut into parts. In a round each part is claimed by one thread; a thread begins with
//! parts of its own, which it had in the round before, and takes over others' when those are done. The
//! release of [`Rounds::done`] after each part and its acquire before the next round order rounds.
//!
//! A thread may come late or not at all: whoever is there does all parts. A thread that finds nothing left
//! spins, then yields, then sleeps until the round ends.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anymetal_hal::sync::{AtomicU32, AtomicU64, Condvar, Mutex, SPIN, lock, thread};

/// How long a thread yields before it sleeps, after it has spun.
const YIELD: Duration = Duration::from_micros(200);

/// A counter on a cache line of its own.
#[repr(align(128))]
#[derive(Debug)]
struct Line<T>(T);

/// See the module's documentation.
#[derive(Debug)]
pub(super) struct Rounds {
    /// By part: the rounds in which it was claimed.
    claimed: Vec<Line<AtomicU64>>,
    /// Parts done, in all rounds together.
    done: Line<AtomicU64>,
    /// Threadgroups that have not ended. Changed before the part in which they ended is done.
    live: Line<AtomicU64>,
    /// Threads that sleep, or are about to.
    sleepers: AtomicU32,
    asleep: Mutex<()>,
    round_ended: Condvar,
}

impl Rounds {
    pub(super) fn new(parts: usize, groups: u64) -> Self {
        Rounds {
            claimed: (0..parts).map(|_| Line(AtomicU64::new(0))).collect(),
            done: Line(AtomicU64::new(0)),
            live: Line(AtomicU64::new(groups)),
            sleepers: AtomicU32::new(0),
            asleep: Mutex::new(()),
            round_ended: Condvar::new(),
        }
    }

    /// Takes part until all threadgroups have ended. `first` is the thread's first own part; `run` runs the
    /// threadgroups of a part and says how many of them ended by that.
    pub(super) fn take_part(&self, first: usize, mut run: impl FnMut(usize) -> u64) {
        let parts = self.claimed.len();
        let mut round = self.done.0.load(Ordering::Acquire) / parts as u64;
        while self.live.0.load(Ordering::Acquire) > 0 {
            for part in (first..parts).chain(0..first.min(parts)) {
                let claimed = &self.claimed[part].0;
                // Read first: who comes too late must not take the line from those who work.
                if claimed.load(Ordering::Relaxed) == round
                    && claimed
                        .compare_exchange(round, round + 1, Ordering::Relaxed, Ordering::Relaxed)
                        .is_ok()
                {
                    let ended = run(part);
                    self.finish_part(ended, round);
                }
            }
            round += 1;
            self.wait_for(round * parts as u64);
        }
    }

    fn finish_part(&self, ended: u64, round: u64) {
        if ended > 0 {
            self.live.0.fetch_sub(ended, Ordering::Release);
        }
        let end = (round + 1) * self.claimed.len() as u64;
        // Both change `sleepers`: whoever does so later sees what the other did before. So either the
        // sleeper is seen here, or it sees that the round is over.
        if self.done.0.fetch_add(1, Ordering::AcqRel) + 1 == end
            && self.sleepers.fetch_add(0, Ordering::AcqRel) > 0
        {
            // Under the lock, so that a sleeper is either before its check or in its wait.
            drop(lock(&self.asleep));
            self.round_ended.notify_all();
        }
    }

    /// Waits until that many parts are done.
    fn wait_for(&self, end: u64) {
        let is_over = || self.done.0.load(Ordering::Acquire) >= end;
        if is_over() || spin_until(&is_over) {
            return;
        }
        self.sleepers.fetch_add(1, Ordering::AcqRel);
        let mut asleep = lock(&self.asleep);
        while !is_over() {
            asleep = self.round_ended.wait(asleep).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        drop(asleep);
        self.sleepers.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Looks for a while; whether it came true.
fn spin_until(is_over: &impl Fn() -> bool) -> bool {
    if SPIN.is_zero() {
        return false;
    }
    let start = Instant::now();
    loop {
        for _ in 0..64 {
            if is_over() {
                return true;
            }
            std::hint::spin_loop();
        }
        match start.elapsed() {
            elapsed if elapsed < SPIN => {}
            elapsed if elapsed < SPIN + YIELD => thread::yield_now(),
            _ => return false,
        }
    }
}

#[cfg(all(test, loom))]
mod models;
