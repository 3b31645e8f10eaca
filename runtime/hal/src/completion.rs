//! Completions: how a submission ends, for blocking callers and for futures.
//!
//! Owns [`Completion`] (the reader's side, cloneable, a future) and [`CompletionSource`] (the device's side).
//! Invariant: a completion ends exactly once; a source dropped without an answer ends it as lost, so no
//! waiter hangs. Concurrency: all state is behind one mutex; `done` only lets readers skip it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::clock::{Clock, wait_for};
use crate::error::DeviceError;
use anymetal_types::setters;

use crate::sync::{AtomicBool, Condvar, Mutex, MutexGuard, SPIN};

/// When a command buffer ran, by the device's clock, in nanoseconds since the device was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Timing {
    /// It was submitted.
    pub submitted_ns: u64,
    /// Its first command started.
    pub started_ns: u64,
    /// Its last command ended.
    pub ended_ns: u64,
}

impl Timing {
    /// Times in nanoseconds since the device was made.
    pub fn new(submitted_ns: u64, started_ns: u64, ended_ns: u64) -> Self {
        Timing { submitted_ns, started_ns, ended_ns }
    }

    /// How long the device was at it.
    pub fn device_time(&self) -> Duration {
        Duration::from_nanos(self.ended_ns.saturating_sub(self.started_ns))
    }
}

setters!(Timing { submitted_ns: u64, started_ns: u64, ended_ns: u64 });

/// When one command ran, on the same clock as [`Timing`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CommandTiming {
    /// Its position in [`crate::command::CommandList::commands`].
    pub command: usize,
    /// It started; for a wait, when it was first looked at.
    pub started_ns: u64,
    /// It ended.
    pub ended_ns: u64,
}

impl CommandTiming {
    /// The command at that position; times in nanoseconds since the device was made.
    pub fn new(command: usize, started_ns: u64, ended_ns: u64) -> Self {
        CommandTiming { command, started_ns, ended_ns }
    }
}

/// How a submission ended.
pub type Outcome = Result<Timing, DeviceError>;

/// Lends the waiting thread to the device: a CPU device runs the queue on it.
pub trait WaitAssist: Send + Sync {
    /// Does work that brings the completion nearer, if there is some that nobody does, and returns when it is
    /// done or when there is none. Must not block for long without working. Says whether what is left is done
    /// on another processor, so that looking for its end does not keep it from ending.
    fn assist(&self, completion: &Completion) -> bool;

    /// As [`WaitAssist::assist`], but only work that is expected to be short: the thread must come back soon.
    fn assist_briefly(&self, _completion: &Completion) -> bool {
        true
    }

    /// Why the completion cannot end by itself for now, such as a paused queue; `None`: nothing is known.
    fn obstacle(&self) -> Option<DeviceError> {
        None
    }
}

/// The end of a submission, to wait for or to await.
#[derive(Clone)]
pub struct Completion {
    shared: Arc<CompletionShared>,
}

/// The device's side of a [`Completion`].
#[derive(Debug)]
pub struct CompletionSource {
    completion: Completion,
}

struct CompletionShared {
    done: AtomicBool,
    state: Mutex<CompletionState>,
    changed: Condvar,
}

#[derive(Default)]
struct CompletionState {
    outcome: Option<Outcome>,
    commands: Option<Arc<[CommandTiming]>>,
    wakers: Vec<Waker>,
    waiting: usize,
    assist: Option<Arc<dyn WaitAssist>>,
}

impl CompletionSource {
    /// A completion that has not ended; `assist` is asked for help by blocking waiters.
    pub fn new(assist: Option<Arc<dyn WaitAssist>>) -> Self {
        let state = CompletionState { assist, ..CompletionState::default() };
        let shared = CompletionShared {
            done: AtomicBool::new(false),
            state: Mutex::new(state),
            changed: Condvar::new(),
        };
        CompletionSource { completion: Completion { shared: Arc::new(shared) } }
    }

    /// The reader's side.
    pub fn completion(&self) -> Completion {
        self.completion.clone()
    }

    /// Whether it ends that completion.
    pub fn is_for(&self, completion: &Completion) -> bool {
        self.completion.is_same(completion)
    }

    /// Ends it and wakes everyone.
    pub fn finish(self, outcome: Outcome) {
        self.completion.end(outcome, None);
    }

    /// Ends it with the times of its commands, as far as it got.
    pub fn finish_with_commands(self, outcome: Outcome, commands: Arc<[CommandTiming]>) {
        self.completion.end(outcome, Some(commands));
    }
}

impl Drop for CompletionSource {
    fn drop(&mut self) {
        if !self.completion.is_done() {
            let reason = "the work was dropped before it ran".to_owned();
            self.completion
                .end(Err(DeviceError::DeviceLost { device: "the device".to_owned(), reason }), None);
        }
    }
}

impl Completion {
    /// Whether it has ended; never blocks.
    pub fn is_done(&self) -> bool {
        self.shared.done.load(Ordering::Acquire)
    }

    /// How it ended, if it has; never blocks.
    pub fn outcome(&self) -> Option<Outcome> {
        if !self.is_done() {
            return None;
        }
        self.lock().outcome.clone()
    }

    /// The times of its commands, if it has ended and they were asked for.
    pub fn command_timings(&self) -> Option<Arc<[CommandTiming]>> {
        self.lock().commands.clone()
    }

    /// Whether both are of one submission.
    pub fn is_same(&self, other: &Completion) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Why it cannot end by itself for now, if that is known; never blocks.
    pub fn obstacle(&self) -> Option<DeviceError> {
        let assist = self.lock().assist.clone();
        assist.and_then(|assist| assist.obstacle())
    }

    /// Has the waker woken, on the thread that ends it, when it ends. `false`: it has ended already, and the
    /// waker is dropped unused.
    pub fn subscribe(&self, waker: Waker) -> bool {
        let mut state = self.lock();
        if state.outcome.is_some() {
            return false;
        }
        state.wakers.push(waker);
        true
    }

    /// Blocks until it has ended, at most until the clock reaches that time; `None` if it did.
    pub fn wait_until(&self, clock: &dyn Clock, at: Duration) -> Option<Outcome> {
        if let Some(outcome) = self.outcome() {
            return Some(outcome);
        }
        match clock.real_time_until(at) {
            Some(left) => self.wait_timeout(left),
            None => wait_for(clock, Some(at), self.clone()),
        }
    }

    /// Blocks until it has ended.
    pub fn wait(&self) -> Outcome {
        loop {
            if let Some(outcome) = self.wait_within(None) {
                return outcome;
            }
        }
    }

    /// Blocks until it has ended, at most that long in real time; `None` if the time is over.
    pub fn wait_timeout(&self, timeout: Duration) -> Option<Outcome> {
        self.wait_within(Instant::now().checked_add(timeout))
    }

    /// As [`Completion::wait_timeout`], but lends the thread to work that is expected to be short.
    pub fn wait_lending_briefly(&self, timeout: Duration) -> Option<Outcome> {
        if !self.is_done() {
            let assist = self.lock().assist.clone();
            if let Some(assist) = assist {
                assist.assist_briefly(self);
            }
        }
        self.wait_timeout(timeout)
    }

    fn wait_within(&self, limit: Option<Instant>) -> Option<Outcome> {
        if !self.is_done() {
            // A limited wait does not lend its thread: it could not come back in time.
            let assist = if limit.is_none() { self.lock().assist.clone() } else { None };
            if assist.is_none_or(|assist| assist.assist(self)) {
                self.spin(limit);
            }
        }
        let mut state = self.lock();
        state.waiting += 1;
        while state.outcome.is_none() {
            state = match limit.map(|limit| limit.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => break,
                Some(left) => {
                    self.shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
        state.waiting -= 1;
        state.outcome.clone()
    }

    fn spin(&self, limit: Option<Instant>) {
        let start = Instant::now();
        while !self.is_done() && start.elapsed() < SPIN && limit.is_none_or(|limit| Instant::now() < limit) {
            for _ in 0..32 {
                std::hint::spin_loop();
            }
        }
    }

    fn end(&self, outcome: Outcome, commands: Option<Arc<[CommandTiming]>>) {
        let (wakers, assist) = {
            let mut state = self.lock();
            if state.outcome.is_some() {
                return;
            }
            state.outcome = Some(outcome);
            state.commands = commands;
            self.shared.done.store(true, Ordering::Release);
            if state.waiting > 0 {
                self.shared.changed.notify_all();
            }
            (std::mem::take(&mut state.wakers), state.assist.take())
        };
        // Outside the lock: a waker may poll at once, and the assist may be the queue's last handle.
        wakers.into_iter().for_each(Waker::wake);
        drop(assist);
    }

    fn lock(&self) -> MutexGuard<'_, CompletionState> {
        crate::sync::lock(&self.shared.state)
    }
}

impl Future for Completion {
    type Output = Outcome;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        let mut state = self.lock();
        if let Some(outcome) = &state.outcome {
            return Poll::Ready(outcome.clone());
        }
        if !state.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
            state.wakers.push(context.waker().clone());
        }
        Poll::Pending
    }
}

impl fmt::Debug for Completion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Completion").field("outcome", &self.outcome()).finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    use super::*;

    struct CountingWaker(AtomicUsize);

    impl Wake for CountingWaker {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_future_is_woken_once_and_then_ready() {
        let source = CompletionSource::new(None);
        let mut completion = source.completion();
        let counter = Arc::new(CountingWaker(AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&counter));
        let mut context = Context::from_waker(&waker);
        assert!(Pin::new(&mut completion).poll(&mut context).is_pending());
        assert!(Pin::new(&mut completion).poll(&mut context).is_pending());
        let timing = Timing { submitted_ns: 1, started_ns: 2, ended_ns: 5 };
        source.finish(Ok(timing));
        assert_eq!(counter.0.load(Ordering::SeqCst), 1);
        assert_eq!(Pin::new(&mut completion).poll(&mut context), Poll::Ready(Ok(timing)));
        assert_eq!(completion.wait(), Ok(timing));
    }

    #[test]
    fn a_dropped_source_ends_as_lost() {
        let source = CompletionSource::new(None);
        let completion = source.completion();
        assert_eq!(completion.wait_timeout(Duration::ZERO), None);
        let waiter = std::thread::spawn({
            let completion = completion.clone();
            move || completion.wait()
        });
        drop(source);
        assert!(matches!(waiter.join().unwrap(), Err(DeviceError::DeviceLost { .. })));
    }
}

/// Run with `RUSTFLAGS="--cfg loom" cargo test -p anymetal-hal --lib --release models`.
#[cfg(all(test, loom))]
mod models {
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    use loom::thread;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    const DONE: Outcome = Ok(Timing { submitted_ns: 1, started_ns: 2, ended_ns: 3 });

    /// One waits, one polls, one subscribes, while the device ends it: each is told, and of the same end.
    #[test]
    fn everyone_is_told_of_the_end_whatever_the_interleaving() {
        loom::model(|| {
            let source = CompletionSource::new(None);
            let mut completion = source.completion();
            let ends = thread::spawn(move || source.finish(DONE));
            let waits = {
                let completion = completion.clone();
                thread::spawn(move || completion.wait())
            };
            let (polled, subscribed) = (Arc::new(Count::default()), Arc::new(Count::default()));
            let waker = Waker::from(Arc::clone(&polled));
            let poll = Pin::new(&mut completion).poll(&mut Context::from_waker(&waker));
            let left = completion.subscribe(Waker::from(Arc::clone(&subscribed)));
            ends.join().unwrap();
            assert_eq!(waits.join().unwrap(), DONE);
            assert_eq!(polled.0.load(Ordering::SeqCst), usize::from(poll.is_pending()));
            assert_eq!(subscribed.0.load(Ordering::SeqCst), usize::from(left), "once, or not at all");
            assert_eq!(completion.outcome(), Some(DONE));
        });
    }

    /// Whoever sees that it has ended finds how: the flag is not ahead of what it stands for.
    #[test]
    fn what_has_ended_has_an_outcome() {
        loom::model(|| {
            let source = CompletionSource::new(None);
            let completion = source.completion();
            let ends = thread::spawn(move || {
                source.finish_with_commands(DONE, Arc::new([]));
            });
            if completion.is_done() {
                assert_eq!(completion.outcome(), Some(DONE));
                assert!(completion.command_timings().is_some());
            }
            ends.join().unwrap();
            assert!(completion.is_done());
        });
    }

    /// A source that goes without an answer wakes its waiter too.
    #[test]
    fn a_waiter_of_a_lost_source_does_not_hang() {
        loom::model(|| {
            let source = CompletionSource::new(None);
            let completion = source.completion();
            let loses = thread::spawn(move || drop(source));
            assert!(completion.wait().is_err());
            loses.join().unwrap();
        });
    }
}
