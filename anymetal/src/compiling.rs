//! Compiling in the background.
//!
//! Owns [`Compiling`], a handle that is a future for any executor and also blocks, and the threads that
//! compile: at most as many as the machine has processors, started when there is something to compile and
//! ended when there is nothing left. Invariant: every handle gets its result once, even if the compiler
//! panics. Concurrency: one lock guards the list of jobs and the count of threads, another each result.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use anymetal_driver::{CancellationToken, CompileError};
use anymetal_telemetry::event;

use crate::error::Error;

/// Something that is being compiled: wait for it or await it. Dropping the handle does not stop the
/// compilation, whose results stay in the caches; [`Compiling::cancel`] and [`Compiling::cancel_on_drop`] do.
///
/// ```
/// # fn main() -> Result<(), anymetal::Error> {
/// use anymetal::{Device, PipelineDescriptor};
///
/// let device = Device::system_default()?;
/// let library = device.library_from_source(
///     "kernel void one(device uint* y, uint i [[thread_position_in_grid]]) { y[i] = 1; }
///      kernel void two(device uint* y, uint i [[thread_position_in_grid]]) { y[i] = 2; }",
/// )?;
/// // Both are compiled beside this thread, `two` with its code for threadgroups of 64 threads.
/// let one = library.pipeline_async("one");
/// let two = library.pipeline_async(PipelineDescriptor::new("two").group_sizes([64]));
/// let (one, two) = (one.wait()?, two.wait()?); // or `one.await?` under any executor
/// # assert_eq!((one.name(), two.name()), ("one", "two"));
/// # Ok(())
/// # }
/// ```
#[must_use = "the result comes by `wait` or `await`"]
pub struct Compiling<T> {
    shared: Arc<Shared<T>>,
    cancels_on_drop: bool,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    ended: Condvar,
    token: CancellationToken,
}

struct State<T> {
    result: Option<Result<T, Error>>,
    waker: Option<Waker>,
}

impl<T: Send + 'static> Compiling<T> {
    /// Starts it. `compile` leaves soon after its token is cancelled.
    pub(crate) fn start(
        compile: impl FnOnce(&CancellationToken) -> Result<T, Error> + Send + 'static,
    ) -> Self {
        let state = Mutex::new(State { result: None, waker: None });
        let shared = Arc::new(Shared { state, ended: Condvar::new(), token: CancellationToken::default() });
        let handle = Compiling { shared: Arc::clone(&shared), cancels_on_drop: false };
        let job = move || {
            if shared.token.is_cancelled() {
                return;
            }
            let result = catch_unwind(AssertUnwindSafe(|| compile(&shared.token)));
            shared.end(result.unwrap_or_else(|_panic| Err(panicked())));
        };
        if let Err((job, message)) = hand_over(Box::new(job)) {
            // No thread to be had, so nothing compiles in the background: this thread is left, which can
            // compile.
            event::compiles_on_caller(&message);
            job();
        }
        handle
    }
}

impl<T> Compiling<T> {
    /// Whether the result is there; never blocks.
    pub fn is_done(&self) -> bool {
        self.shared.lock().result.is_some()
    }

    /// Ends the compilation: one that has not begun never does, one that runs ends with the stage that it is
    /// in, such as LLVM's work on one kernel. Where something else waits for the same code, that compiles it.
    /// False if the result is there already.
    pub fn cancel(self) -> bool {
        self.shared.token.cancel();
        !self.is_done()
    }

    /// Dropping the handle before the result is there cancels the compilation.
    pub fn cancel_on_drop(mut self) -> Self {
        self.cancels_on_drop = true;
        self
    }

    /// Blocks until the result is there.
    pub fn wait(self) -> Result<T, Error> {
        let mut state = self.shared.lock();
        loop {
            match state.result.take() {
                Some(result) => return result,
                None => state = self.shared.ended.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

impl<T> Future for Compiling<T> {
    type Output = Result<T, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.shared.lock();
        if let Some(result) = state.result.take() {
            return Poll::Ready(result);
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl<T> Drop for Compiling<T> {
    fn drop(&mut self) {
        if self.cancels_on_drop {
            self.shared.token.cancel();
        }
    }
}

impl<T> fmt::Debug for Compiling<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Compiling").field("is_done", &self.is_done()).finish()
    }
}

impl<T> Shared<T> {
    fn end(&self, result: Result<T, Error>) {
        let waker = {
            let mut state = self.lock();
            state.result = Some(result);
            state.waker.take()
        };
        self.ended.notify_all();
        waker.into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn panicked() -> Error {
    let message = "it panicked in the background".to_owned();
    CompileError::internal("compiler", message).into()
}

type Job = Box<dyn FnOnce() + Send>;

struct Jobs {
    waiting: VecDeque<Job>,
    threads: usize,
}

static JOBS: Mutex<Jobs> = Mutex::new(Jobs { waiting: VecDeque::new(), threads: 0 });

fn jobs() -> MutexGuard<'static, Jobs> {
    JOBS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has a thread do the job; gives it back if there is no thread, and why.
fn hand_over(job: Job) -> Result<(), (Job, String)> {
    let limit = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut jobs = jobs();
    jobs.waiting.push_back(job);
    if jobs.threads == limit {
        return Ok(());
    }
    jobs.threads += 1;
    let started = std::thread::Builder::new().name("anymetal-compile".to_owned()).spawn(work);
    let Err(error) = started else { return Ok(()) };
    jobs.threads -= 1;
    if jobs.threads > 0 {
        return Ok(());
    }
    // Nothing else is in the list: it is empty whenever there are no threads.
    jobs.waiting.pop_back().map_or(Ok(()), |job| Err((job, error.to_string())))
}

/// Does jobs until there are none.
fn work() {
    loop {
        let job = {
            let mut jobs = jobs();
            match jobs.waiting.pop_front() {
                Some(job) => job,
                None => {
                    jobs.threads -= 1;
                    return;
                }
            }
        };
        // A waker that panics must not end the thread, which others count on.
        let _contained = catch_unwind(AssertUnwindSafe(job));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_by_waiting_and_by_awaiting_and_panics_are_errors() {
        let many: Vec<_> = (0..100).map(|number| Compiling::start(move |_| Ok(number))).collect();
        let sum: i32 = many.into_iter().map(|job| job.wait().unwrap()).sum();
        assert_eq!(sum, 4950);
        let (go, gate) = std::sync::mpsc::channel::<()>();
        let mut held = Compiling::start(move |_| Ok(gate.recv().map(|()| 7).unwrap_or_default()));
        assert!(!held.is_done());
        let mut context = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut held).poll(&mut context).is_pending());
        go.send(()).unwrap();
        assert_eq!(held.wait(), Ok(7));
        let failed = Compiling::<()>::start(|_| panic!("on purpose")).wait().unwrap_err();
        assert!(failed.to_string().contains("panicked in the background"), "{failed}");
    }

    #[test]
    fn what_has_not_begun_is_taken_back() {
        let limit = std::thread::available_parallelism().map_or(1, NonZero::get);
        let (begun, has_begun) = std::sync::mpsc::channel();
        let held: Vec<_> = (0..limit)
            .map(|_| {
                let ((go, gate), begun) = (std::sync::mpsc::channel::<()>(), begun.clone());
                let job = Compiling::start(move |_| {
                    begun.send(()).unwrap();
                    Ok(gate.recv().is_ok())
                });
                (go, job)
            })
            .collect();
        // Those of other tests may come first.
        (0..limit).for_each(|_| has_begun.recv().unwrap());
        let (ran, has_run) = std::sync::mpsc::channel();
        let waiting = Compiling::start(move |_| {
            ran.send(()).unwrap();
            Ok(())
        });
        assert!(waiting.cancel());
        for (go, job) in held {
            go.send(()).unwrap();
            assert_eq!(job.wait(), Ok(true));
        }
        assert!(has_run.recv().is_err(), "it is dropped without having run");
    }

    #[test]
    fn what_runs_is_told_when_its_handle_cancels_or_is_dropped() {
        for drops in [false, true] {
            let (begun, has_begun) = std::sync::mpsc::channel();
            let (left, has_left) = std::sync::mpsc::channel();
            let job = Compiling::<()>::start(move |token| {
                begun.send(()).unwrap();
                while !token.is_cancelled() {
                    std::thread::yield_now();
                }
                left.send(()).unwrap();
                Err(CompileError::Cancelled.into())
            });
            has_begun.recv().unwrap();
            match drops {
                true => drop(job.cancel_on_drop()),
                false => assert!(job.cancel()),
            }
            has_left.recv().unwrap();
        }
    }

    #[test]
    fn no_more_threads_than_processors_and_none_when_idle() {
        let limit = std::thread::available_parallelism().map_or(1, NonZero::get);
        let (sender, most) = std::sync::mpsc::channel();
        let job = |sender: std::sync::mpsc::Sender<usize>| {
            Compiling::start(move |_| {
                sender.send(jobs().threads).unwrap_or_default();
                Ok(())
            })
        };
        let all: Vec<_> = (0..200).map(|_| job(sender.clone())).collect();
        all.into_iter().for_each(|job| job.wait().unwrap());
        drop(sender);
        assert!(most.iter().all(|threads| (1..=limit).contains(&threads)));
    }
}
