//! The policy for running work inline on the submitting thread.
//!
//! Owns [`DispatchDurations`], a pipeline's history of dispatch durations, and [`Expected`], the prediction
//! for a submission. Waking a thread costs 2 µs on the same processor and 10 to 50 µs on one that sleeps, so
//! a dispatch shorter than that runs on the submitting thread, if the submission allows it. Invariant: a
//! kernel is predicted to run inline only after [`STREAK`] short dispatches of at least that size. A longer
//! one (a busy moment of the machine) subtracts [`PENALTY`], an outlier resets the streak. The prediction is
//! a heuristic: the two values are read and written separately, and a torn pair costs one wrong decision.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use anymetal_hal::command::{Command, CommandList};
use anymetal_hal::pipeline::Pipeline;

use crate::command_buffer::{CommandStep, LaunchTables};
use crate::pipeline::{Code, CpuPipeline, cpu_pipeline};

/// The longest dispatch, in nanoseconds, that runs inline.
const MAX_INLINE_NS: u64 = 4_000;
/// A dispatch longer than the limit by this factor resets the streak.
const OUTLIER_FACTOR: u64 = 16;
/// The streak from which dispatches run inline.
const STREAK: u32 = 8;
/// The streak saturates here.
const MAX_STREAK: u32 = 2 * STREAK;
/// What a dispatch above the limit subtracts from the streak.
const PENALTY: u32 = STREAK / 2;
/// The submissions in a row with an idle device from which they count as serial.
const MIN_SERIAL: u32 = 4;
/// The longest dispatch, in nanoseconds, that counts as short.
const MAX_SHORT_NS: u64 = 100_000;
/// The largest copy or fill that runs inline: at 10 GB/s it takes less than half of [`MAX_INLINE_NS`].
const MAX_INLINE_BYTES: u64 = 16 << 10;

/// The history of a pipeline's dispatch durations.
#[derive(Debug, Default)]
pub(crate) struct DispatchDurations {
    /// Short dispatches, less the penalties.
    streak: AtomicU32,
    /// The largest number of threadgroups among them.
    groups: AtomicU64,
    /// Nanoseconds of the last dispatch, and 1; 0: there was none.
    last_ns: AtomicU64,
}

/// The prediction for a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Run it inline on the submitting thread.
    Inline,
    /// It will end soon.
    Short,
    /// Nothing is known, or it takes longer.
    Unknown,
}

impl DispatchDurations {
    /// Notes a dispatch that had a command buffer of its own.
    fn note(&self, groups: u64, nanoseconds: u64) {
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

    /// Whether a dispatch of that many threadgroups is expected to run within [`MAX_INLINE_NS`].
    fn expects(&self, groups: u64) -> bool {
        self.streak.load(Ordering::Relaxed) >= STREAK && groups <= self.groups.load(Ordering::Relaxed)
    }
}

/// Detects serial submissions, each made after the one before it has ended: then the submitting thread waits
/// for the end, most likely asleep, and running the work on another processor gains nothing.
#[derive(Debug, Default)]
pub(crate) struct SerialSubmissions {
    in_flight: AtomicUsize,
    /// Submissions in a row that found nothing in flight.
    serial: AtomicU32,
}

impl SerialSubmissions {
    /// Notes a submission; returns whether it and the last few were serial.
    pub(crate) fn begin(&self) -> bool {
        if self.in_flight.fetch_add(1, Ordering::Relaxed) > 0 {
            self.serial.store(0, Ordering::Relaxed);
            return false;
        }
        let serial = self.serial.load(Ordering::Relaxed);
        self.serial.store(serial.saturating_add(1), Ordering::Relaxed);
        serial >= MIN_SERIAL
    }

    /// A submission has ended.
    pub(crate) fn end(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Predicts a submission. What runs inline is at most one short command and neither waits nor signals.
pub(crate) fn expect(submission: &CommandList, tables: &LaunchTables) -> Expected {
    if is_short(submission, tables) {
        return if submission.may_run_at_once { Expected::Inline } else { Expected::Short };
    }
    match submission.commands.as_slice() {
        [Command::Dispatch(dispatch)] => match durations(dispatch.pipeline()) {
            Some(durations) if (1..=MAX_SHORT_NS).contains(&durations.last_ns.load(Ordering::Relaxed)) => {
                Expected::Short
            }
            _ => Expected::Unknown,
        },
        _ => Expected::Unknown,
    }
}

/// Whether a submission is expected to take less than handing it over.
pub(crate) fn is_short(submission: &CommandList, tables: &LaunchTables) -> bool {
    fits_inline(&submission.commands, &tables.steps)
}

/// Whether a pipeline's short dispatches are expected to run inline, those of some sizes at least.
pub(crate) fn has_streak(pipeline: &Arc<dyn Pipeline>) -> bool {
    durations(pipeline).is_some_and(|durations| durations.expects(0))
}

/// Whether the commands after a position are at most one short command.
pub(crate) fn rest_runs_inline(submission: &CommandList, tables: &LaunchTables, position: usize) -> bool {
    let rest = (submission.commands.get(position + 1..), tables.steps.get(position + 1..));
    matches!(rest, (Some(commands), Some(steps)) if fits_inline(commands, steps))
}

/// Whether it is at most one short command, and none that waits or signals.
fn fits_inline(commands: &[Command], steps: &[CommandStep]) -> bool {
    match (commands, steps) {
        ([], _) | ([Command::Dispatch(_)], [CommandStep::EmptyDispatch]) => true,
        ([Command::Copy(copy)], _) => copy.length() <= MAX_INLINE_BYTES,
        ([Command::Fill(fill)], _) => fill.length() <= MAX_INLINE_BYTES,
        ([Command::Dispatch(dispatch)], [CommandStep::Dispatch(prepared)]) => durations(dispatch.pipeline())
            .is_some_and(|durations| durations.expects(prepared.shape.group_count)),
        _ => false,
    }
}

/// Learns from a command buffer that ended well.
pub(crate) fn note(submission: &CommandList, tables: &LaunchTables, took: Duration) {
    if let ([Command::Dispatch(dispatch)], [CommandStep::Dispatch(prepared)]) =
        (submission.commands.as_slice(), tables.steps.as_slice())
        && let Some(durations) = durations(dispatch.pipeline())
    {
        durations.note(prepared.shape.group_count, took.as_nanos() as u64);
    }
}

/// The history of a pipeline of machine code; an interpreted one waits for all other access to memory.
fn durations(pipeline: &Arc<dyn Pipeline>) -> Option<&DispatchDurations> {
    cpu_pipeline(pipeline)
        .filter(|pipeline| matches!(pipeline.code(), Code::Native { .. }))
        .map(CpuPipeline::durations)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_streak_of_the_same_size_counts_and_longer_ones_outweigh_it() {
        let durations = DispatchDurations::default();
        (0..STREAK - 1).for_each(|_| durations.note(4, MAX_INLINE_NS));
        assert!(!durations.expects(1), "one short of a streak");
        durations.note(2, 100);
        assert!(durations.expects(4) && durations.expects(1));
        assert!(!durations.expects(5), "larger than any that was seen");
        durations.note(5, 100);
        assert!(!durations.expects(4), "a new size needs a streak of its own");
        (0..STREAK).for_each(|_| durations.note(5, 100));
        assert!(durations.expects(5));
        durations.note(1, MAX_INLINE_NS + 1);
        assert!(!durations.expects(1), "half a streak more is needed");
        (0..PENALTY).for_each(|_| durations.note(1, 100));
        assert!(durations.expects(1));
        (0..MAX_STREAK).for_each(|_| durations.note(1, 100));
        durations.note(1, OUTLIER_FACTOR * MAX_INLINE_NS + 1);
        (0..STREAK - 1).for_each(|_| durations.note(1, 100));
        assert!(!durations.expects(1), "nothing of it is left");
        // By turns it never counts.
        for _ in 0..100 {
            durations.note(1, 100);
            durations.note(1, 2 * MAX_INLINE_NS);
            assert!(!durations.expects(1));
        }
    }
}
