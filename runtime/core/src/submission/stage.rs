//! The life of a submission as a state machine without a device: held, forwarding, forwarded, ended.
//!
//! Owns [`Stages`]. Invariant: it ends exactly once, whoever of device, canceller and scheduler comes first;
//! the work is taken at most once; and every waker that was left before the end is woken by it. Concurrency:
//! one mutex; wakers and what ended are handed out to be woken and dropped outside it.

use std::task::Waker;

use crate::sync::{Mutex, MutexGuard, lock};

/// Where a submission is; `W` its work while held, `C` the device's completion, `O` how it ended.
#[derive(Debug)]
pub(crate) enum Stage<W, C, O> {
    /// Not handed to the device.
    Held(W),
    /// The scheduler is handing it over.
    Forwarding,
    /// The device has it.
    Forwarded(C),
    /// It has ended.
    Ended(O),
}

#[derive(Debug)]
pub(crate) struct Stages<W, C, O> {
    state: Mutex<State<W, C, O>>,
}

#[derive(Debug)]
struct State<W, C, O> {
    stage: Stage<W, C, O>,
    wakers: Vec<(u64, Waker)>,
    next_waker: u64,
}

/// What an end leaves to the caller: wakers to wake and the work to drop.
#[derive(Debug)]
pub(crate) struct Ending<W, C, O> {
    pub(crate) before: Stage<W, C, O>,
    pub(crate) wakers: Vec<Waker>,
}

/// What a look at a submission found.
#[derive(Debug)]
pub(crate) enum Look<C, O> {
    /// Not with the device yet.
    Waiting,
    /// With the device.
    Forwarded(C),
    /// Ended.
    Ended(O),
}

impl<W, C: Clone, O: Clone> Stages<W, C, O> {
    pub(crate) fn held(work: W) -> Self {
        Stages { state: Mutex::new(State { stage: Stage::Held(work), wakers: Vec::new(), next_waker: 0 }) }
    }

    /// The work, to be handed to the device; `None`: somebody ended it.
    pub(crate) fn take_work(&self) -> Option<W> {
        let mut state = self.lock();
        match std::mem::replace(&mut state.stage, Stage::Forwarding) {
            Stage::Held(work) => Some(work),
            other => {
                state.stage = other;
                None
            }
        }
    }

    /// Changes the work while it is held; `None`: it is not.
    pub(crate) fn with_held<R>(&self, change: impl FnOnce(&mut W) -> R) -> Option<R> {
        match &mut self.lock().stage {
            Stage::Held(work) => Some(change(work)),
            Stage::Forwarding | Stage::Forwarded(_) | Stage::Ended(_) => None,
        }
    }

    /// Whether the device has not been given it.
    pub(crate) fn is_held(&self) -> bool {
        matches!(self.lock().stage, Stage::Held(_))
    }

    /// The device has taken it. Gives the wakers that waited for that.
    pub(crate) fn set_forwarded(&self, completion: C) -> Vec<Waker> {
        let mut state = self.lock();
        match state.stage {
            Stage::Forwarding => {
                state.stage = Stage::Forwarded(completion);
                state.wakers.iter().map(|(_, waker)| waker.clone()).collect()
            }
            Stage::Held(_) | Stage::Forwarded(_) | Stage::Ended(_) => Vec::new(),
        }
    }

    /// Ends it; `None`: it had ended.
    pub(crate) fn end(&self, outcome: O) -> Option<Ending<W, C, O>> {
        let mut state = self.lock();
        Self::end_locked(&mut state, outcome)
    }

    /// Ends it if the device has not been given it; `None`: too late, or it had ended. `release` is called
    /// under the lock before the end is published, so it must be short and must not come back here.
    pub(crate) fn end_held(&self, outcome: O, release: impl FnOnce()) -> Option<Ending<W, C, O>> {
        let mut state = self.lock();
        match state.stage {
            Stage::Held(_) => {
                release();
                Self::end_locked(&mut state, outcome)
            }
            Stage::Forwarding | Stage::Forwarded(_) | Stage::Ended(_) => None,
        }
    }

    fn end_locked(state: &mut State<W, C, O>, outcome: O) -> Option<Ending<W, C, O>> {
        if matches!(state.stage, Stage::Ended(_)) {
            return None;
        }
        let before = std::mem::replace(&mut state.stage, Stage::Ended(outcome));
        let wakers = std::mem::take(&mut state.wakers).into_iter().map(|(_, waker)| waker).collect();
        Some(Ending { before, wakers })
    }

    pub(crate) fn look(&self) -> Look<C, O> {
        match &self.lock().stage {
            Stage::Held(_) | Stage::Forwarding => Look::Waiting,
            Stage::Forwarded(completion) => Look::Forwarded(completion.clone()),
            Stage::Ended(outcome) => Look::Ended(outcome.clone()),
        }
    }

    /// Leaves a waker, in the place of an earlier one of the same waiter; what it finds if there is nothing
    /// to wait for. With `forwarded` being with the device counts too.
    pub(crate) fn leave_waker(
        &self,
        place: &mut Option<u64>,
        waker: &Waker,
        forwarded: bool,
    ) -> Option<Look<C, O>> {
        let mut state = self.lock();
        match &state.stage {
            Stage::Ended(outcome) => return Some(Look::Ended(outcome.clone())),
            Stage::Forwarded(completion) if forwarded => return Some(Look::Forwarded(completion.clone())),
            Stage::Held(_) | Stage::Forwarding | Stage::Forwarded(_) => {}
        }
        let known = place.and_then(|place| state.wakers.iter_mut().find(|(number, _)| *number == place));
        match known {
            Some((_, known)) => known.clone_from(waker),
            None => {
                let number = state.next_waker;
                state.next_waker += 1;
                state.wakers.push((number, waker.clone()));
                *place = Some(number);
            }
        }
        None
    }

    /// Takes a waker away.
    pub(crate) fn remove_waker(&self, place: u64) {
        self.lock().wakers.retain(|(number, _)| *number != place);
    }

    fn lock(&self) -> MutexGuard<'_, State<W, C, O>> {
        lock(&self.state)
    }
}

/// Run with `RUSTFLAGS="--cfg loom" cargo test -p anymetal-core --lib --release models`.
#[cfg(all(test, loom))]
mod models {
    use std::task::Wake;

    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicUsize, Ordering};
    use loom::thread;

    use super::*;

    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// A scheduler forwards, a device ends, a canceller cancels, a waiter waits.
    #[test]
    fn a_submission_ends_once_and_its_waiter_is_woken() {
        loom::model(|| {
            let stages: Arc<Stages<u8, u8, &'static str>> = Arc::new(Stages::held(1));
            let ends = Arc::new(AtomicUsize::new(0));
            let count = std::sync::Arc::new(Count(AtomicUsize::new(0)));
            let waker = Waker::from(std::sync::Arc::clone(&count));
            let scheduler = {
                let (stages, ends) = (Arc::clone(&stages), Arc::clone(&ends));
                thread::spawn(move || {
                    if stages.take_work().is_some() {
                        stages.set_forwarded(2).into_iter().for_each(Waker::wake);
                        if let Some(ending) = stages.end("done") {
                            ends.fetch_add(1, Ordering::SeqCst);
                            ending.wakers.into_iter().for_each(Waker::wake);
                        }
                    }
                })
            };
            let canceller = {
                let (stages, ends) = (Arc::clone(&stages), Arc::clone(&ends));
                thread::spawn(move || {
                    let mut released = false;
                    if let Some(ending) = stages.end_held("cancelled", || released = true) {
                        assert!(released);
                        ends.fetch_add(1, Ordering::SeqCst);
                        assert!(matches!(ending.before, Stage::Held(1)));
                        ending.wakers.into_iter().for_each(Waker::wake);
                    }
                })
            };
            let mut place = None;
            let ended = stages.leave_waker(&mut place, &waker, false);
            scheduler.join().unwrap();
            canceller.join().unwrap();
            assert_eq!(ends.load(Ordering::SeqCst), 1);
            assert!(matches!(stages.look(), Look::Ended(_)));
            if ended.is_none() {
                assert!(count.0.load(Ordering::SeqCst) >= 1, "the waiter was woken");
            }
        });
    }
}
