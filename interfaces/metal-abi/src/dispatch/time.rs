//! Points in time, as the functions of Grand Central Dispatch take them: nanoseconds of the machine's
//! clock; 0 is now, all ones never.

use std::sync::{Condvar, MutexGuard, PoisonError};
use std::time::Duration;

use anymetal::profile::{Clock, SystemClock};

/// A point in time.
pub(crate) type Time = u64;

const NOW: Time = 0;
const NEVER: Time = Time::MAX;

fn now() -> Time {
    SystemClock::shared().now().as_nanos() as Time
}

#[unsafe(no_mangle)]
pub(crate) extern "C-unwind" fn dispatch_time(from: Time, nanoseconds: i64) -> Time {
    match from {
        NEVER => NEVER,
        NOW => now().saturating_add_signed(nanoseconds).max(1),
        from => from.saturating_add_signed(nanoseconds).max(1),
    }
}

/// Waits until a condition holds; gives what the lock guards, or nothing if the time was over first.
pub(crate) fn wait_until<'a, T>(
    changed: &Condvar,
    mut guard: MutexGuard<'a, T>,
    until: Time,
    holds: impl Fn(&T) -> bool,
) -> Option<MutexGuard<'a, T>> {
    while !holds(&guard) {
        if until == NEVER {
            guard = changed.wait(guard).unwrap_or_else(PoisonError::into_inner);
            continue;
        }
        let left = until.checked_sub(now()).filter(|&left| left > 0)?;
        let (again, _) =
            changed.wait_timeout(guard, Duration::from_nanos(left)).unwrap_or_else(PoisonError::into_inner);
        guard = again;
    }
    Some(guard)
}
