//! A task that at most one thread runs at a time; a request during a run makes the runner repeat it.
//!
//! Owns [`SingleRunner`]. Invariant: after each [`SingleRunner::try_start`] the task runs at least once from
//! its start, and two threads never run it at once. Concurrency: one mutex around two flags.

use crate::sync::{Mutex, lock};

/// Serialises a task that several threads request.
#[derive(Debug, Default)]
pub struct SingleRunner {
    state: Mutex<RunnerState>,
}

#[derive(Debug, Default)]
struct RunnerState {
    running: bool,
    requested_again: bool,
}

impl SingleRunner {
    /// Requests a run. `true`: the caller is the runner and must run the task, then call
    /// [`SingleRunner::finish`]; `false`: the current runner will run it once more.
    pub fn try_start(&self) -> bool {
        let mut state = lock(&self.state);
        state.requested_again |= state.running;
        !std::mem::replace(&mut state.running, true)
    }

    /// Ends a run. `true`: it was requested again meanwhile, and the caller must run it once more.
    pub fn finish(&self) -> bool {
        let mut state = lock(&self.state);
        state.running = state.requested_again;
        std::mem::take(&mut state.requested_again)
    }
}

/// Run with `RUSTFLAGS="--cfg loom" cargo test -p anymetal-hal --lib --release models`.
#[cfg(all(test, loom))]
mod models {
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicUsize, Ordering};
    use loom::thread;

    use super::*;

    /// Each thread adds work and requests a run: no work is left over, and runs never overlap.
    #[test]
    fn every_request_is_served_and_runs_never_overlap() {
        loom::model(|| {
            let runner = Arc::new(SingleRunner::default());
            let work = Arc::new(AtomicUsize::new(0));
            let busy = Arc::new(AtomicUsize::new(0));
            let ask = {
                let (runner, work) = (Arc::clone(&runner), Arc::clone(&work));
                move || {
                    work.fetch_add(1, Ordering::SeqCst);
                    if runner.try_start() {
                        loop {
                            assert_eq!(busy.fetch_add(1, Ordering::SeqCst), 0);
                            work.store(0, Ordering::SeqCst);
                            busy.fetch_sub(1, Ordering::SeqCst);
                            if !runner.finish() {
                                break;
                            }
                        }
                    }
                }
            };
            let other = thread::spawn(ask.clone());
            ask();
            ask();
            other.join().unwrap();
            assert_eq!(work.load(Ordering::SeqCst), 0);
        });
    }
}
