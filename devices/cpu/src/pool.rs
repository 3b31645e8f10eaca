//! The worker pool: threads that help with the running dispatches and run queues that have work.
//!
//! Two kinds of work are published. A `job::Job` is the threadgroups of one dispatch: it lives on the stack
//! of the thread that runs the dispatch (the *leader*), which takes part itself; workers (`worker`) join it
//! and claim ranges. A [`Runnable`] is a queue with command buffers; one worker takes it and becomes the
//! leader of its dispatches.
//!
//! Concurrency, who may touch what when:
//! - `work` (a mutex) guards the lists and every worker's [`Mode`]. A worker that finds nothing changes its
//!   mode to idle under the same lock; whoever publishes calls enough idle workers under the lock, each by
//!   its own `called` flag, so nothing is missed and nobody wakes in vain. Those that sleep are woken after
//!   the lock is left: on the same processor they run at once, and would only find it taken.
//! - Runnables wait in one line per priority. A worker takes the highest, but every [`LOW_TURN`]th time the
//!   lowest, so that nothing waits forever. `waiting` mirrors the lengths for leaders that ask, without the
//!   lock, whether to let others go first; it may be a moment behind.
//! - What holds for jobs stands in `job`, what an idle worker does in `worker`.

mod job;
#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;
mod worker;

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use anymetal_hal::queue::Priority;
use anymetal_hal::sync::thread::{self, JoinHandle, Thread};
use anymetal_hal::sync::{AtomicBool, AtomicUsize, Condvar, Mutex, MutexGuard};

use crate::{affinity, stack};
use job::ListedJob;
use worker::Worker;

/// Every so many times a worker takes the runnable of the lowest priority first.
const LOW_TURN: u32 = 16;

/// A leader lets others of its priority go first after so many command buffers.
const TURN: u32 = 8;

/// Something that a worker runs to its end, such as a queue's command buffers.
pub(crate) trait Runnable: Send + Sync {
    /// Runs it on the calling worker.
    fn run(self: Arc<Self>);

    /// Whether it goes before others.
    fn priority(&self) -> Priority;
}

/// Where a runnable is to run, if there is a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SchedulePlace {
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
    shared: Arc<PoolShared>,
    threads: Vec<JoinHandle<()>>,
}

struct PoolShared {
    work: Mutex<PoolWork>,
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

struct PoolWork {
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
        let work =
            PoolWork { jobs: Vec::new(), runnables: Default::default(), taken: 0, seats, shutdown: false };
        let shared = Arc::new(PoolShared {
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

    /// Has a worker run this, soon. Waking a worker on another processor may cost the caller 13 µs, and as
    /// much again until it runs; one on the caller's runs at once, in place of the caller (`at`).
    pub(crate) fn schedule(&self, runnable: Arc<dyn Runnable>, at: SchedulePlace) {
        let here = affinity::current_processor();
        let near = |seat: &Seat| seat.processor.is_some() && seat.processor == here;
        let preferred = |seat: &Seat| seat.mode == Mode::Parked && near(seat) == (at == SchedulePlace::Here);
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

impl PoolShared {
    fn lock(&self) -> MutexGuard<'_, PoolWork> {
        // Bodies and queues run outside the lock, so nothing panics inside.
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_runnable(&self, work: &mut PoolWork) -> Option<Arc<dyn Runnable>> {
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

    /// Calls up to `wanted` idle workers: of those that the first choice takes, then the second, and so on.
    /// Busy ones look for themselves when they are done.
    fn call(
        &self,
        work: &mut PoolWork,
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

impl std::fmt::Debug for PoolShared {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("PoolShared").field("called", &self.called).finish_non_exhaustive()
    }
}
