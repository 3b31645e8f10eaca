//! Interruption of waits: how a host language ends a wait of its thread, as Python does at Ctrl-C.
//!
//! Owns [`interruptible`], which installs a check for the calling thread, and [`wait`], by which the waits
//! for submissions, queues, events and buffers honour it. Invariant: an interruption ends a wait and nothing
//! else. The work goes on, and keeps its resources, until its end or its deadline. Waits that guard memory
//! (the end of a buffer, of a loan) are not interruptible: they do not go through [`wait`].

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::error::DeviceError;

/// How often a waiting thread calls the check.
pub const POLL: Duration = Duration::from_millis(20);

/// Whether the wait is to end. Called by the waiting thread; once it has returned true in the scope of
/// [`interruptible`], it is not called again.
pub type Check = fn() -> bool;

#[derive(Debug, Clone, Copy)]
enum Interruptibility {
    Uninterruptible,
    Checked(Check),
    Interrupted,
}

thread_local! {
    static STATE: Cell<Interruptibility> = const { Cell::new(Interruptibility::Uninterruptible) };
}

/// Restores the state of an outer scope.
struct Restore(Interruptibility);

impl Drop for Restore {
    fn drop(&mut self) {
        STATE.set(self.0);
    }
}

/// Runs `work`, whose waits end with [`DeviceError::WaitInterrupted`] once `check` returns true.
pub fn interruptible<T>(check: Check, work: impl FnOnce() -> T) -> T {
    let _restore = Restore(STATE.replace(Interruptibility::Checked(check)));
    work()
}

/// Whether this thread's waits are to end.
fn is_interrupted() -> bool {
    match STATE.get() {
        Interruptibility::Uninterruptible => false,
        Interruptibility::Interrupted => true,
        Interruptibility::Checked(check) => {
            let interrupted = check();
            if interrupted {
                STATE.set(Interruptibility::Interrupted);
            }
            interrupted
        }
    }
}

/// Whether this thread's waits can be interrupted.
pub fn is_interruptible() -> bool {
    !matches!(STATE.get(), Interruptibility::Uninterruptible)
}

/// Waits by `attempt`, which waits as long as it is given and returns `None` when the time is over; it is
/// given no limit on a thread whose waits cannot be interrupted.
///
/// # Errors
/// [`DeviceError::WaitInterrupted`].
pub fn wait<T>(mut attempt: impl FnMut(Option<Duration>) -> Option<T>) -> Result<T, DeviceError> {
    if !is_interruptible() {
        return Ok(attempt(None).expect("a wait without a limit ends with what is waited for"));
    }
    loop {
        // First, so that what has ended is reported in spite of an interruption.
        if let Some(result) = attempt(Some(POLL)) {
            return Ok(result);
        }
        if is_interrupted() {
            return Err(DeviceError::WaitInterrupted);
        }
    }
}

/// As [`wait`], at most for `timeout`; `None` if that is over. `attempt` waits as long as it is given.
///
/// # Errors
/// [`DeviceError::WaitInterrupted`].
pub fn wait_timeout<T>(
    timeout: Duration,
    mut attempt: impl FnMut(Duration) -> Option<T>,
) -> Result<Option<T>, DeviceError> {
    let begin = Instant::now();
    loop {
        let left = timeout.saturating_sub(begin.elapsed());
        let step = if is_interruptible() { left.min(POLL) } else { left };
        if let Some(result) = attempt(step) {
            return Ok(Some(result));
        }
        if step == left {
            return Ok(None);
        }
        if is_interrupted() {
            return Err(DeviceError::WaitInterrupted);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_check_ends_the_waits_of_its_scope_and_no_others() {
        let never_ends = |limit: Option<Duration>| limit.map_or(Some(7), |_limit| None);
        assert_eq!(wait(never_ends), Ok(7), "without a check there is no limit");
        interruptible(
            || true,
            || {
                assert_eq!(wait(|_limit| Some(5)), Ok(5), "what has ended is reported");
                assert_eq!(wait(never_ends), Err(DeviceError::WaitInterrupted));
                interruptible(|| false, || assert_eq!(wait(|_limit| Some(6)), Ok(6)));
                assert_eq!(wait(never_ends), Err(DeviceError::WaitInterrupted));
            },
        );
        assert!(!is_interruptible());
    }

    #[test]
    fn a_wait_with_a_time_limit_ends_with_it_or_with_the_check() {
        let mut steps = Vec::new();
        let mut attempt = |step| {
            steps.push(step);
            std::thread::sleep(step);
            None::<()>
        };
        assert_eq!(wait_timeout(3 * POLL, &mut attempt), Ok(None));
        assert_eq!(interruptible(|| false, || wait_timeout(3 * POLL, &mut attempt)), Ok(None));
        let interrupted = interruptible(|| true, || wait_timeout(100 * POLL, &mut attempt));
        assert_eq!(interrupted, Err(DeviceError::WaitInterrupted));
        assert!(steps[0] > 2 * POLL && steps[1..].iter().all(|step| *step <= POLL), "{steps:?}");
    }
}
