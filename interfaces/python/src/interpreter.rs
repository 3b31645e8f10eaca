//! The interpreter's lock, and the interpreter's end.
//!
//! Owns [`detach`], [`wait`] and [`call_back`], the ways back into the interpreter. CPython up to 3.13 ends a
//! thread that comes back to an interpreter that ends by unwinding its stack, and that aborts the
//! process where frames of Rust are on it. Invariant: once [`at_exit`] has returned, a thread comes back
//! only after it has waited for that end in vain, and a thread that finds the end stays away; the process
//! ends without it.

use std::cell::{Cell, RefCell};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use anymetal::command::interruption;
use pyo3::ffi;
use pyo3::marker::Ungil;
use pyo3::prelude::*;

use crate::errors::Raise;

/// Threads that are coming back.
static COMING: AtomicUsize = AtomicUsize::new(0);
/// Whether the interpreter is about to end.
static ENDS: AtomicBool = AtomicBool::new(false);
/// The thread that ends it.
static ENDED_BY: OnceLock<ThreadId> = OnceLock::new();

/// How long a thread waits for the end before it comes back all the same: another may wait to join it.
const MAX_WAIT: Duration = Duration::from_millis(100);
const POLL: Duration = Duration::from_millis(1);

/// A thread that is coming back.
struct Coming;

/// The interpreter has ended, or is about to.
struct Ended;

impl Coming {
    fn begin() -> Result<Coming, Ended> {
        COMING.fetch_add(1, Ordering::SeqCst);
        let coming = Coming;
        if !ENDS.load(Ordering::SeqCst) || ENDED_BY.get() == Some(&std::thread::current().id()) {
            return Ok(coming);
        }
        let since = Instant::now();
        while since.elapsed() < MAX_WAIT {
            // SAFETY: may be called at any time, by any thread.
            if unsafe { ffi::Py_IsInitialized() } == 0 {
                return Err(Ended);
            }
            std::thread::sleep(POLL);
        }
        Ok(coming)
    }
}

impl Drop for Coming {
    fn drop(&mut self) {
        COMING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Runs work without the interpreter's lock.
pub(crate) fn detach<T: Ungil + Send>(py: Python<'_>, work: impl Ungil + Send + FnOnce() -> T) -> T {
    let (result, _coming) = py.detach(|| {
        let result = work();
        match Coming::begin() {
            Ok(coming) => (result, coming),
            Err(Ended) => loop {
                std::thread::park();
            },
        }
    });
    result
}

thread_local! {
    /// Whether this is the interpreter's main thread, which alone receives signals; `None`: not known yet.
    static RECEIVES_SIGNALS: Cell<Option<bool>> = const { Cell::new(None) };
    /// What a signal handler has raised during a wait.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Runs work that may wait, without the interpreter's lock. Signal handlers run meanwhile; if one raises an
/// exception, as Ctrl-C does, the wait ends with it, and what was waited for goes on.
pub(crate) fn wait<T, E>(py: Python<'_>, work: impl Ungil + Send + FnOnce() -> Result<T, E>) -> PyResult<T>
where
    T: Ungil + Send,
    E: Ungil + Send,
    Result<T, E>: Raise<T>,
{
    if !receives_signals(py)? {
        return detach(py, work).or_raise();
    }
    let result = detach(py, || interruption::interruptible(handle_signals, work));
    match RAISED.take() {
        Some(raised) => Err(raised),
        None => result.or_raise(),
    }
}

fn receives_signals(py: Python<'_>) -> PyResult<bool> {
    if let Some(known) = RECEIVES_SIGNALS.get() {
        return Ok(known);
    }
    let threading = py.import("threading")?;
    let (current, main) = (threading.call_method0("current_thread")?, threading.call_method0("main_thread")?);
    let is_main = current.is(&main);
    RECEIVES_SIGNALS.set(Some(is_main));
    Ok(is_main)
}

/// Runs the handlers of signals that have arrived; says whether one raised an exception.
fn handle_signals() -> bool {
    let Ok(_coming) = Coming::begin() else { return true };
    Python::attach(|py| match py.check_signals() {
        Ok(()) => false,
        Err(raised) => {
            RAISED.set(Some(raised));
            true
        }
    })
}

/// Runs a callback in the interpreter, if there still is one; for threads without its lock.
pub(crate) fn call_back(callback: impl FnOnce(Python<'_>)) {
    if let Ok(_coming) = Coming::begin() {
        let _ended = Python::try_attach(callback);
    }
}

/// What `atexit` calls: from here on threads that come back look whether the interpreter has ended.
#[pyfunction]
pub(crate) fn at_exit(py: Python<'_>) {
    let _first = ENDED_BY.set(std::thread::current().id());
    ENDS.store(true, Ordering::SeqCst);
    py.detach(|| {
        let since = Instant::now();
        while COMING.load(Ordering::SeqCst) > 0 && since.elapsed() < MAX_WAIT {
            std::thread::sleep(POLL);
        }
    });
}
