//! How long a pipeline's dispatches take, as far as it has been seen.
//!
//! Owns [`DispatchTimes`], which predicts whether the submitting thread runs a dispatch
//! ([`crate::inline_policy`]), and whether the thread that runs it needs helpers ([`crate::execute`]). Both
//! compare work with [`HAND_OVER_NS`], the cost of involving another thread.
//!
//! Invariant: a kernel is predicted to run inline only after [`STREAK`] short dispatches of at least that
//! size. A longer one (a busy moment of the machine) subtracts [`PENALTY`], an outlier resets the streak. The
//! predictions are heuristics: the values are read and written separately, and a torn pair costs one wrong
//! decision.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Cost of involving another thread, in nanoseconds. Waking a thread was measured at 2 µs on the same
/// processor and at 10 to 50 µs on a sleeping processor; shorter work ends sooner without it.
pub(crate) const HAND_OVER_NS: u64 = 10_000;
/// The longest dispatch, in nanoseconds, that the submitting thread runs. Less than half of the cost, because
/// that thread has other work to do.
pub(crate) const MAX_INLINE_NS: u64 = HAND_OVER_NS * 2 / 5;
/// A dispatch longer than the limit by this factor resets the streak.
const OUTLIER_FACTOR: u64 = 16;
/// The streak from which dispatches run inline.
const STREAK: u32 = 8;
/// The streak saturates here.
const MAX_STREAK: u32 = 2 * STREAK;
/// Amount that a dispatch above the limit subtracts from the streak.
const PENALTY: u32 = STREAK / 2;

/// The history of a pipeline's dispatches.
#[derive(Debug, Default)]
pub(crate) struct DispatchTimes {
    /// Time that one thread took for a threadgroup, in 1/16 ns; 0: not known.
    group_sixteenths: AtomicU64,
    /// Short dispatches, less the penalties.
    streak: AtomicU32,
    /// The largest number of threadgroups among them.
    groups: AtomicU64,
    /// Nanoseconds of the last dispatch, and 1; 0: there was none.
    last_ns: AtomicU64,
}

impl DispatchTimes {
    /// Records the time that one thread took for `groups` threadgroups.
    pub(crate) fn note_groups(&self, groups: u64, nanoseconds: u64) {
        if groups > 0 {
            let sixteenths =
                (u128::from(nanoseconds) * 16 / u128::from(groups)).clamp(1, u128::from(u64::MAX));
            self.group_sixteenths.store(sixteenths as u64, Ordering::Relaxed);
        }
    }

    /// Records a dispatch that was alone in its command buffer.
    pub(crate) fn note_dispatch(&self, groups: u64, nanoseconds: u64) {
        self.last_ns.store(nanoseconds.saturating_add(1), Ordering::Relaxed);
        let streak = self.streak.load(Ordering::Relaxed);
        if nanoseconds > MAX_INLINE_NS {
            if streak > 0 {
                let penalty = if nanoseconds > OUTLIER_FACTOR * MAX_INLINE_NS { streak } else { PENALTY };
                self.streak.store(streak.saturating_sub(penalty), Ordering::Relaxed);
            }
        } else if groups > self.groups.load(Ordering::Relaxed) {
            self.groups.store(groups, Ordering::Relaxed);
            self.streak.store(1, Ordering::Relaxed);
        } else if streak < MAX_STREAK {
            self.streak.store(streak + 1, Ordering::Relaxed);
        }
    }

    /// Whether a dispatch of `groups` threadgroups is expected to take at most [`MAX_INLINE_NS`].
    pub(crate) fn runs_inline(&self, groups: u64) -> bool {
        self.streak.load(Ordering::Relaxed) >= STREAK && groups <= self.groups.load(Ordering::Relaxed)
    }

    /// Whether one thread is expected to run `groups` threadgroups sooner than [`HAND_OVER_NS`].
    pub(crate) fn needs_no_helpers(&self, groups: u64) -> bool {
        let sixteenths = self.group_sixteenths.load(Ordering::Relaxed);
        sixteenths != 0 && u128::from(sixteenths) * u128::from(groups) / 16 < u128::from(HAND_OVER_NS)
    }

    /// Nanoseconds of the last dispatch that was alone in its command buffer.
    pub(crate) fn last_dispatch_ns(&self) -> Option<u64> {
        self.last_ns.load(Ordering::Relaxed).checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_streak_of_the_same_size_counts_and_longer_ones_outweigh_it() {
        let times = DispatchTimes::default();
        (0..STREAK - 1).for_each(|_| times.note_dispatch(4, MAX_INLINE_NS));
        assert!(!times.runs_inline(1), "one short of a streak");
        times.note_dispatch(2, 100);
        assert!(times.runs_inline(4) && times.runs_inline(1));
        assert!(!times.runs_inline(5), "larger than any that was seen");
        times.note_dispatch(5, 100);
        assert!(!times.runs_inline(4), "a new size needs a streak of its own");
        (0..STREAK).for_each(|_| times.note_dispatch(5, 100));
        assert!(times.runs_inline(5));
        times.note_dispatch(1, MAX_INLINE_NS + 1);
        assert!(!times.runs_inline(1), "half a streak more is needed");
        (0..PENALTY).for_each(|_| times.note_dispatch(1, 100));
        assert!(times.runs_inline(1));
        (0..MAX_STREAK).for_each(|_| times.note_dispatch(1, 100));
        times.note_dispatch(1, OUTLIER_FACTOR * MAX_INLINE_NS + 1);
        (0..STREAK - 1).for_each(|_| times.note_dispatch(1, 100));
        assert!(!times.runs_inline(1), "nothing of it is left");
        // By turns it never counts.
        for _ in 0..100 {
            times.note_dispatch(1, 100);
            times.note_dispatch(1, 2 * MAX_INLINE_NS);
            assert!(!times.runs_inline(1));
        }
    }

    #[test]
    fn helpers_are_needed_from_the_cost_of_calling_them() {
        let times = DispatchTimes::default();
        assert!(!times.needs_no_helpers(1), "nothing is known");
        times.note_groups(4, HAND_OVER_NS);
        assert!(times.needs_no_helpers(3) && !times.needs_no_helpers(4));
        times.note_groups(0, 1);
        assert!(times.needs_no_helpers(3), "no threadgroups say nothing");
        times.note_groups(u64::MAX, 0);
        assert!(times.needs_no_helpers(16), "less than can be counted is known all the same");
        assert!(!times.needs_no_helpers(u64::MAX));
    }
}
