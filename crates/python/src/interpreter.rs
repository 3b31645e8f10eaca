//! The interpreter's lock, and the interpreter's end.
//!
//! Owns [`detach`] and [`call_back`], the two ways back into the interpreter. CPython up to 3.13 ends a
//! thread that comes back to an interpreter that ends by unwinding its stack, and that aborts the
//! process where frames of Rust are on it. Invariant: once [`at_exit`] has returned, a thread comes back
//! only after it has waited for that end in vain, and a thread that finds the end stays away; the process
//! ends without it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use pyo3::ffi;
use pyo3::marker::Ungil;
use pyo3::prelude::*;

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
