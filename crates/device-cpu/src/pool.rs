//! The worker pool: threads that help with the running dispatches and run queues that have work.
//!
//! Two kinds of work are published. A [`Job`] is the threadgroups of one dispatch: it lives on the stack of the
//! thread that runs the dispatch (the *leader*), which takes part itself; workers join it and claim ranges. A
//! [`Runnable`] is a queue with command buffers; one worker takes it and becomes the leader of its dispatches.
//!
//! Concurrency, who may touch what when:
//! - `work` (a mutex) guards the lists and every worker's [`Mode`]. A worker that finds nothing changes its mode
//!   to idle under the same lock; whoever publishes calls enough idle workers under the lock, each by its own
//!   `called` flag, so nothing is missed and nobody wakes in vain. Those that sleep are woken after the lock is
//!   left: on the same processor they run at once, and would only find it taken.
//! - A worker may touch a job from joining it (under the lock, while it is listed) until it takes itself off
//!   `Job::state`. The leader unlists the job first and then waits for the state to reach zero, so nobody
//!   touches a job that is gone.
//! - Runnables wait in one line per priority. A worker takes the highest, but every [`LOW_TURN`]th time the
//!   lowest, so that nothing waits forever. `waiting` mirrors the lengths for leaders that ask, without the
//!   lock, whether to let others go first; it may be a moment behind.
//! - An idle worker looks at its flag for [`SPIN`] (a few of them at most), then parks; an idle pool uses no
//!   processor time. One that was called from its own processor parks at once: it would only keep the caller
//!   from going on.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use anymetal_hal::queue::Priority;
use anymetal_hal::sync::thread::{self, JoinHandle, Thread};
use anymetal_hal::sync::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Condvar, Mutex, MutexGuard, SPIN};

use crate::affinity;
use crate::stack;

/// A claim is this share of what is left per participant: coarse at first, fine at the end.
const CLAIM_DIVISOR: u64 = 4;
/// But not finer than this share of the whole per participant.
const FINEST_DIVISOR: u64 = 128;

/// Every so many times a worker takes the runnable of the lowest priority first.
const LOW_TURN: u32 = 16;
/// A leader lets others of its priority go first after so many command buffers.
const TURN: u32 = 8;

/// Set in [`Job::state`] while the leader is parked.
const LEADER_PARKED: u32 = 1 << 31;

/// Something that a worker runs to its end, such as a queue's command buffers.
pub(crate) trait Runnable: Send + Sync {
    /// Runs it on the calling worker.
    fn run(self: Arc<Self>);

    /// Whether it goes before others.
    fn priority(&self) -> Priority;
}

/// Where a runnable is to run, if there is a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the place of the thread that schedules it.
    Here,
    /// Beside it.
    Elsewhere,
}

/// What runs a range of threadgroups: worker number, first, end.
pub(crate) type Body<'a> = dyn Fn(u32, u64, u64) + Sync + 'a;

/// How to run the pool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PoolOptions {
    /// Threads that compute at once, the leader included.
    pub(crate) threads: usize,
    /// Whether each worker stays on a processor of its own.
    pub(crate) pinned: bool,
}

/// The pool; dropping it ends the workers.
#[derive(Debug)]
pub(crate) struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    work: Mutex<Work>,
    job_left: Condvar,
    /// By worker: there is something for it.
    called: Vec<Flag>,
    most_spinning: usize,
    /// Waiting runnables by priority.
    waiting: [AtomicUsize; PRIORITIES],
}

/// How many priorities there are.
const PRIORITIES: usize = Priority::High as usize + 1;

/// A flag on a cache line of its own, because a worker spins on it.
#[repr(align(128))]
#[derive(Debug, Default)]
struct Flag {
    called: AtomicBool,
    /// Whether that was from the worker's own processor, as far as can be told. Changed only under the lock.
    from_here: AtomicBool,
}

struct Work {
    jobs: Vec<ListedJob>,
    runnables: [VecDeque<Arc<dyn Runnable>>; PRIORITIES],
    /// Runnables taken so far.
    taken: u32,
    seats: Vec<Seat>,
    shutdown: bool,
}

/// What the others know of a worker.
struct Seat {
    mode: Mode,
    processor: Option<usize>,
    thread: Option<Thread>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// It works, or has been called and is about to look.
    Busy,
    /// It found nothing and looks at its flag.
    Spinning,
    /// It found nothing and sleeps.
    Parked,
}

/// A job in the list; alive as long as it is listed.
#[derive(Clone, Copy)]
struct ListedJob(*const Job<'static>);

// SAFETY: the pointer is dereferenced only under the rules in the module doc, and a `Job` is `Sync`.
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

/// What the leader of a job did itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Share {
    /// Threadgroups.
    pub(crate) groups: u64,
    /// The time they took.
    pub(crate) busy: Duration,
}

/// A helper's body panicked; the panic was contained.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct HelperPanicked;

impl Pool {
    /// Starts the workers: as many as compute threads, because a queue may run without any waiting thread
    /// that leads. With one thread there is one worker, which leads and never has help.
    pub(crate) fn start(options: PoolOptions) -> std::io::Result<Self> {
        let processors = if options.pinned { affinity::allowed_processors() } else { Vec::new() };
        // Worker 0 on the last processor: programs' own threads tend to start on the first.
        let mut processors = processors.iter().rev().cycle().copied();
        let seats: Vec<Seat> = (0..options.threads)
            .map(|_| Seat { mode: Mode::Busy, processor: processors.next(), thread: None })
            .collect();
        let seat_processors: Vec<Option<usize>> = seats.iter().map(|seat| seat.processor).collect();
        let work = Work { jobs: Vec::new(), runnables: Default::default(), taken: 0, seats, shutdown: false };
        let shared = Arc::new(Shared {
            work: Mutex::new(work),
            job_left: Condvar::new(),
            called: (0..options.threads).map(|_| Flag::default()).collect(),
            most_spinning: options.threads.saturating_sub(1).max(1),
            waiting: Default::default(),
        });
        let mut pool = Pool { shared, threads: Vec::with_capacity(options.threads) };
        for (index, processor) in seat_processors.into_iter().enumerate() {
            let shared = Arc::clone(&pool.shared);
            let builder = thread::Builder::new().name(format!("anymetal-cpu-{index}"));
            let worker = Worker { index, processor };
            pool.threads.push(builder.stack_size(stack::WORKER_BYTES).spawn(move || worker.run(&shared))?);
        }
        Ok(pool)
    }

    /// Threads that compute at once, the leader included.
    pub(crate) fn width(&self) -> usize {
        self.threads.len()
    }

    /// Has a worker run this, soon. Waking a worker on another processor may cost the caller 13 µs, and as much
    /// again until it runs; one on the caller's runs at once, in place of the caller (`at`).
    pub(crate) fn schedule(&self, runnable: Arc<dyn Runnable>, at: Place) {
        let here = affinity::current_processor();
        let near = |seat: &Seat| seat.processor.is_some() && seat.processor == here;
        let preferred = |seat: &Seat| seat.mode == Mode::Parked && near(seat) == (at == Place::Here);
        let line = runnable.priority() as usize;
        let mut work = self.shared.lock();
        work.runnables[line].push_back(runnable);
        self.shared.waiting[line].fetch_add(1, Ordering::Relaxed);
        // One that spins on this processor does not run before the caller sleeps.
        let awake = |seat: &Seat| seat.mode == Mode::Spinning && !near(seat);
        let asleep = self.shared.call(&mut work, 1, here, &[&awake, &preferred, &|_| true]);
        drop(work);
        asleep.wake();
    }

    /// Whether a leader of that priority that has run so many command buffers lets others go first.
    pub(crate) fn others_first(&self, priority: Priority, ran: u32) -> bool {
        let waiting = |line: &AtomicUsize| line.load(Ordering::Relaxed) > 0;
        let (lower, higher) = self.shared.waiting.split_at(priority as usize + 1);
        higher.iter().any(waiting) || (ran >= TURN && lower.iter().any(waiting))
    }

    /// Runs a range of a dispatch's threadgroups on the calling thread and whoever helps. Returns when all of
    /// it is done, with what the calling thread did of it. `total` is the whole dispatch's size, by which claims
    /// are measured.
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

impl Drop for Pool {
    fn drop(&mut self) {
        {
            let mut work = self.shared.lock();
            work.shutdown = true;
            let everyone = work.seats.len();
            let asleep = self.shared.call(&mut work, everyone, None, &[&|_| true]);
            drop(work);
            asleep.wake();
        }
        let current = thread::current().id();
        for worker in self.threads.drain(..) {
            // The last handle of a device may go away on a worker, which cannot wait for itself.
            if worker.thread().id() != current {
                let _ended = worker.join();
            }
        }
    }
}

/// A job's time in the list.
struct Listing<'a> {
    shared: &'a Shared,
    job: &'a Job<'a>,
}

impl<'a> Listing<'a> {
    fn new(shared: &'a Shared, job: &'a Job<'a>, helpers: usize) -> Self {
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
    fn work(&self, worker: u32) -> u64 {
        let mut groups = 0;
        while let Some((first, end)) = self.claim() {
            (self.body)(worker, first, end);
            groups += end - first;
        }
        groups
    }

    fn claim(&self) -> Option<(u64, u64)> {
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
    fn wait_until_left(&self, shared: &Shared) {
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
struct Visit<'a> {
    shared: &'a Shared,
    job: ListedJob,
}

impl Visit<'_> {
    fn work(&self, worker: u32) {
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

/// One worker thread.
struct Worker {
    index: usize,
    processor: Option<usize>,
}

/// What a worker found to do.
enum Found<'a> {
    Visit(Visit<'a>),
    Runnable(Arc<dyn Runnable>),
    Nothing(Mode),
    Shutdown,
}

impl Worker {
    fn run(&self, shared: &Shared) {
        if let Some(processor) = self.processor {
            affinity::pin_to(processor);
        }
        shared.lock().seats[self.index].thread = Some(thread::current());
        loop {
            match self.find(shared) {
                Found::Shutdown => return,
                Found::Nothing(mode) => self.idle(shared, mode),
                found @ (Found::Visit(_) | Found::Runnable(_)) => self.contain(found),
            }
        }
    }

    /// Runs what was found; a panic ends there. The visit's drop or the queue's completions report it.
    fn contain(&self, found: Found<'_>) {
        let run = std::panic::AssertUnwindSafe(|| match found {
            Found::Visit(visit) => visit.work(self.index as u32 + 1),
            Found::Runnable(runnable) => runnable.run(),
            Found::Nothing(_) | Found::Shutdown => {}
        });
        let _contained = std::panic::catch_unwind(run);
    }

    /// Looks for something to do; if there is nothing, the worker counts as idle from here on.
    fn find<'a>(&self, shared: &'a Shared) -> Found<'a> {
        let mut work = shared.lock();
        if work.shutdown {
            return Found::Shutdown;
        }
        if let Some(visit) = self.join(shared, &work) {
            return Found::Visit(visit);
        }
        if let Some(runnable) = shared.take_runnable(&mut work) {
            return Found::Runnable(runnable);
        }
        let spinning = work.seats.iter().filter(|seat| seat.mode == Mode::Spinning).count();
        let flag = &shared.called[self.index];
        let spins = spinning < shared.most_spinning && !flag.from_here.load(Ordering::Relaxed);
        let mode = if spins { Mode::Spinning } else { Mode::Parked };
        work.seats[self.index].mode = mode;
        flag.called.store(false, Ordering::Relaxed);
        Found::Nothing(mode)
    }

    fn join<'a>(&self, shared: &'a Shared, work: &Work) -> Option<Visit<'a>> {
        let mut best: Option<(ListedJob, &Job<'_>)> = None;
        for &listed in &work.jobs {
            // SAFETY: the job is listed and the lock is held, so the leader has not passed its unlisting.
            let job = unsafe { &*listed.0 };
            let taking_turns = self.processor.is_some() && self.processor == job.leader_processor;
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

    /// Waits until called: at first by looking, then asleep.
    fn idle(&self, shared: &Shared, mode: Mode) {
        let called = &shared.called[self.index].called;
        if mode == Mode::Spinning {
            let start = Instant::now();
            while start.elapsed() < SPIN {
                for _ in 0..16 {
                    std::hint::spin_loop();
                }
                if called.load(Ordering::Acquire) {
                    return;
                }
            }
            let mut work = shared.lock();
            if called.load(Ordering::Relaxed) {
                return;
            }
            work.seats[self.index].mode = Mode::Parked;
        }
        while !called.load(Ordering::Acquire) {
            thread::park();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Work> {
        // Bodies and queues run outside the lock, so nothing panics inside.
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_runnable(&self, work: &mut Work) -> Option<Arc<dyn Runnable>> {
        let lowest_first = work.taken % LOW_TURN == LOW_TURN - 1;
        let line = if lowest_first {
            work.runnables.iter().position(|line| !line.is_empty())?
        } else {
            work.runnables.iter().rposition(|line| !line.is_empty())?
        };
        work.taken = work.taken.wrapping_add(1);
        self.waiting[line].fetch_sub(1, Ordering::Relaxed);
        work.runnables[line].pop_front()
    }

    /// Calls up to `wanted` idle workers: of those that the first choice takes, then the second, and so on. Busy
    /// ones look for themselves when they are done.
    fn call(
        &self,
        work: &mut Work,
        mut wanted: usize,
        here: Option<usize>,
        choices: &[&dyn Fn(&Seat) -> bool],
    ) -> Asleep {
        let mut asleep = Asleep::default();
        for takes in choices {
            for (seat, flag) in work.seats.iter_mut().zip(&self.called) {
                if wanted == 0 {
                    return asleep;
                }
                if seat.mode == Mode::Busy || !takes(seat) {
                    continue;
                }
                wanted -= 1;
                if let (Mode::Parked, Some(thread)) = (seat.mode, &seat.thread) {
                    asleep.push(thread.clone());
                }
                seat.mode = Mode::Busy;
                let from_here = seat.processor.is_some() && seat.processor == here;
                flag.from_here.store(from_here, Ordering::Relaxed);
                flag.called.store(true, Ordering::Release);
            }
        }
        asleep
    }
}

/// Workers that were called and sleep: to be woken outside the lock.
#[derive(Default)]
#[must_use]
struct Asleep {
    first: Option<Thread>,
    more: Vec<Thread>,
}

impl Asleep {
    fn push(&mut self, thread: Thread) {
        match self.first {
            None => self.first = Some(thread),
            Some(_) => self.more.push(thread),
        }
    }

    fn wake(self) {
        self.first.into_iter().chain(self.more).for_each(|thread| thread.unpark());
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Shared").field("called", &self.called).finish_non_exhaustive()
    }
}

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;
