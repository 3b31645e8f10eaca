//! Jobs: the threadgroups of one dispatch, and the threads that claim ranges of them.
//!
//! A worker may touch a job from joining it (under the pool's lock, while it is listed) until it takes itself
//! off [`Job::state`]. The leader unlists the job first and then waits for the state to reach zero, so nobody
//! touches a job that is gone. [`Listing`] is the leader's side of this, [`Visit`] a helper's.

use std::ops::Range;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Instant;

use anymetal_hal::queue::Priority;
use anymetal_hal::sync::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, SPIN};

use super::{Body, HelperPanicked, Mode, Pool, PoolShared, PoolWork, Seat, Share};
use crate::affinity;

/// A claim is this share of what is left per participant: coarse at first, fine at the end.
const CLAIM_DIVISOR: u64 = 4;

/// But not finer than this share of the whole per participant.
const FINEST_DIVISOR: u64 = 128;

/// Set in [`Job::state`] while the leader is parked.
const LEADER_PARKED: u32 = 1 << 31;

/// A job in the list; alive as long as it is listed.
#[derive(Clone, Copy)]
pub(super) struct ListedJob(*const Job<'static>);

// SAFETY: the pointer is dereferenced only under the rules in the module's documentation, and a `Job` is
// `Sync`.
unsafe impl Send for ListedJob {}

struct Job<'a> {
    body: &'a Body<'a>,
    next: AtomicU64,
    end: u64,
    finest: u64,
    participants: u64,
    priority: Priority,
    /// Helpers that may still join; changed only under the lock.
    openings: AtomicUsize,
    /// A worker pinned to this processor would only take turns with the leader.
    leader_processor: Option<usize>,
    /// Helpers inside, and [`LEADER_PARKED`].
    state: AtomicU32,
    panicked: AtomicBool,
}

impl Pool {
    /// Runs a range of a dispatch's threadgroups on the calling thread and whoever helps. Returns when all of
    /// it is done, with what the calling thread did of it. `total` is the whole dispatch's size, by which
    /// claims are measured.
    pub(crate) fn run_job(
        &self,
        range: Range<u64>,
        total: u64,
        priority: Priority,
        body: &Body<'_>,
    ) -> Result<Share, HelperPanicked> {
        let participants = self.width() as u64;
        let finest = (total / (participants * FINEST_DIVISOR)).max(1);
        let claims = (range.end - range.start).div_ceil(finest);
        let helpers = (participants - 1).min(claims.saturating_sub(1)) as usize;
        let job = Job {
            body,
            next: AtomicU64::new(range.start),
            end: range.end,
            finest,
            participants,
            priority,
            openings: AtomicUsize::new(helpers),
            leader_processor: affinity::current_processor(),
            state: AtomicU32::new(0),
            panicked: AtomicBool::new(false),
        };
        let start = Instant::now();
        // Unlisted and left by everyone when this goes out of scope, even if the leader's body panics.
        let listing = (helpers > 0).then(|| Listing::new(&self.shared, &job, helpers));
        let groups = job.work(0);
        let share = Share { groups, busy: start.elapsed() };
        drop(listing);
        if job.panicked.load(Ordering::Relaxed) { Err(HelperPanicked) } else { Ok(share) }
    }
}

/// A job's time in the list.
struct Listing<'a> {
    shared: &'a PoolShared,
    job: &'a Job<'a>,
}

impl<'a> Listing<'a> {
    pub(super) fn new(shared: &'a PoolShared, job: &'a Job<'a>, helpers: usize) -> Self {
        let mut work = shared.lock();
        work.jobs.push(ListedJob::of(job));
        let avoid = job.leader_processor;
        let apart = |seat: &Seat| seat.processor.is_none() || seat.processor != avoid;
        let awake = |seat: &Seat| seat.mode == Mode::Spinning && apart(seat);
        let asleep = shared.call(&mut work, helpers, avoid, &[&awake, &apart]);
        drop(work);
        asleep.wake();
        Listing { shared, job }
    }
}

impl Drop for Listing<'_> {
    fn drop(&mut self) {
        let address = ListedJob::of(self.job).0;
        self.shared.lock().jobs.retain(|listed| !std::ptr::eq(listed.0, address));
        self.job.wait_until_left(self.shared);
    }
}

impl ListedJob {
    fn of(job: &Job<'_>) -> Self {
        // Only the lifetime is forgotten; `Listing` keeps the rules that stand in for it.
        ListedJob(std::ptr::from_ref(job).cast())
    }
}

impl Job<'_> {
    /// Claims ranges and runs them until none is left; says how many threadgroups that were.
    pub(super) fn work(&self, worker: u32) -> u64 {
        let mut groups = 0;
        while let Some((first, end)) = self.take_range() {
            (self.body)(worker, first, end);
            groups += end - first;
        }
        groups
    }

    fn take_range(&self) -> Option<(u64, u64)> {
        let mut first = self.next.load(Ordering::Relaxed);
        loop {
            let left = self.end.checked_sub(first).filter(|&left| left > 0)?;
            let size = (left / (self.participants * CLAIM_DIVISOR)).max(self.finest).min(left);
            match self.next.compare_exchange_weak(first, first + size, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some((first, first + size)),
                Err(now) => first = now,
            }
        }
    }

    /// The leader's end: spins a little, then parks until the last helper has left. The acquire loads here
    /// pair with the helpers' release in `Visit::drop`: what they wrote is visible afterwards.
    fn wait_until_left(&self, shared: &PoolShared) {
        let start = Instant::now();
        while start.elapsed() < SPIN {
            for _ in 0..64 {
                if self.state.load(Ordering::Acquire) == 0 {
                    return;
                }
                std::hint::spin_loop();
            }
        }
        let mut work = shared.lock();
        if self.state.fetch_or(LEADER_PARKED, Ordering::AcqRel) != 0 {
            while self.state.load(Ordering::Acquire) != LEADER_PARKED {
                work = shared.job_left.wait(work).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

/// A helper's time in a job.
pub(super) struct Visit<'a> {
    pub(super) shared: &'a PoolShared,
    pub(super) job: ListedJob,
}

impl<'a> Visit<'a> {
    /// Joins the most urgent job that a worker on this processor is of use to.
    pub(super) fn of_an_open_job(
        shared: &'a PoolShared,
        work: &PoolWork,
        processor: Option<usize>,
    ) -> Option<Self> {
        let mut best: Option<(ListedJob, &Job<'_>)> = None;
        for &listed in &work.jobs {
            // SAFETY: the job is listed and the lock is held, so the leader has not passed its unlisting.
            let job = unsafe { &*listed.0 };
            let taking_turns = processor.is_some() && processor == job.leader_processor;
            let open = job.openings.load(Ordering::Relaxed) > 0
                && !taking_turns
                && job.next.load(Ordering::Relaxed) < job.end;
            if open && best.is_none_or(|(_, best)| job.priority > best.priority) {
                best = Some((listed, job));
            }
        }
        let (listed, job) = best?;
        job.openings.fetch_sub(1, Ordering::Relaxed);
        job.state.fetch_add(1, Ordering::Relaxed);
        Some(Visit { shared, job: listed })
    }

    pub(super) fn work(&self, worker: u32) {
        // SAFETY: this helper joined while the job was listed and counts in its state until `drop`.
        let job = unsafe { &*self.job.0 };
        job.work(worker);
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        // SAFETY: as in `work`; the reference ends with the subtraction, after which the job may be gone.
        let job = unsafe { &*self.job.0 };
        if std::thread::panicking() {
            job.panicked.store(true, Ordering::Relaxed);
        }
        let before = job.state.fetch_sub(1, Ordering::AcqRel);
        if before == LEADER_PARKED | 1 {
            // Under the lock, so that the leader is either before its check or in its wait.
            let _work = self.shared.lock();
            self.shared.job_left.notify_all();
        }
    }
}
