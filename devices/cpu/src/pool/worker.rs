//! Workers: what they find to do, and waiting for more.
//!
//! An idle worker looks at its flag for [`SPIN`] (a few of them at most), then parks; an idle pool uses no
//! processor time. One that was called from its own processor parks at once: it would only keep the caller
//! from going on.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use anymetal_hal::sync::{SPIN, thread};

use super::job::Visit;
use super::{Mode, PoolShared, Runnable};
use crate::affinity;

/// One worker thread.
pub(super) struct Worker {
    pub(super) index: usize,
    pub(super) processor: Option<usize>,
}

/// What a worker found to do.
enum Found<'a> {
    Visit(Visit<'a>),
    Runnable(Arc<dyn Runnable>),
    Nothing(Mode),
    Shutdown,
}

impl Worker {
    pub(super) fn run(&self, shared: &PoolShared) {
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
    fn find<'a>(&self, shared: &'a PoolShared) -> Found<'a> {
        let mut work = shared.lock();
        if work.shutdown {
            return Found::Shutdown;
        }
        if let Some(visit) = Visit::of_an_open_job(shared, &work, self.processor) {
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

    /// Waits until called: at first by looking, then asleep.
    fn idle(&self, shared: &PoolShared, mode: Mode) {
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
