//! Work so short that handing it over would cost more than doing it.
//!
//! Owns [`Brief`], a pipeline's record of how short its dispatches were, and [`Expected`], what is expected of a
//! submission by it. Waking a thread costs 2 µs on the same processor and 10 to 50 µs on one that sleeps, so a dispatch of
//! less than that is run by the thread that submits it, if the submission allows it. Invariant: a kernel counts
//! as brief only after [`STREAK`] dispatches of at least that size were. One that took a little longer (a busy
//! moment of the machine) outweighs several of them, one that took much longer all.
//! It is a guess: the two values are read and written one by one, and a wrong pair only decides wrongly once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use anymetal_hal::command::{Command, Submission};
use anymetal_hal::pipeline::Pipeline;

use crate::command_buffer::{LaunchTables, Step};
use crate::pipeline::{Code, CpuPipeline, cpu_pipeline};

/// What takes at most so many nanoseconds is brief.
const BRIEF_NS: u64 = 4_000;
/// What takes so many times longer is no accident.
const MUCH_LONGER: u64 = 16;
/// So many more dispatches must have been brief than not.
const STREAK: u32 = 8;
/// More than that are not counted.
const MOST: u32 = 2 * STREAK;
/// One that was not brief counts against so many that were.
const OUTWEIGHS: u32 = STREAK / 2;
/// So many submissions one at a time are a rhythm.
const ALONE: u32 = 4;
/// What takes at most so many nanoseconds is short.
const SHORT_NS: u64 = 100_000;
/// Copies and fills of at most so many bytes are brief: at 10 GB/s they take less than half of it.
const BRIEF_BYTES: u64 = 16 << 10;

/// How short the dispatches of a pipeline were.
#[derive(Debug, Default)]
pub(crate) struct Brief {
    /// Dispatches that were brief, less what the others outweigh.
    streak: AtomicU32,
    /// The most threadgroups that one of them had.
    groups: AtomicU64,
    /// Nanoseconds of the last dispatch, and 1; 0: there was none.
    last_ns: AtomicU64,
}

/// What is expected of a submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// It is best run on the thread that submits it, and may be.
    AtOnce,
    /// It will be done soon.
    Short,
    /// Nothing is known, or it takes longer.
    Unknown,
}

impl Brief {
    /// Notes a dispatch that had a command buffer of its own.
    fn note(&self, groups: u64, nanoseconds: u64) {
        self.last_ns.store(nanoseconds.saturating_add(1), Ordering::Relaxed);
        let streak = self.streak.load(Ordering::Relaxed);
        if nanoseconds > BRIEF_NS {
            if streak > 0 {
                let outweighs = if nanoseconds > MUCH_LONGER * BRIEF_NS { streak } else { OUTWEIGHS };
                self.streak.store(streak.saturating_sub(outweighs), Ordering::Relaxed);
            }
        } else if groups > self.groups.load(Ordering::Relaxed) {
            self.groups.store(groups, Ordering::Relaxed);
            self.streak.store(1, Ordering::Relaxed);
        } else if streak < MOST {
            self.streak.store(streak + 1, Ordering::Relaxed);
        }
    }

    /// Whether a dispatch of so many threadgroups is expected to be brief.
    fn expects(&self, groups: u64) -> bool {
        self.streak.load(Ordering::Relaxed) >= STREAK && groups <= self.groups.load(Ordering::Relaxed)
    }
}

/// Whether submissions come one at a time, each when the one before it is done: then whoever submits is waiting
/// for the end, most likely asleep, and nothing is gained by running the work beside it.
#[derive(Debug, Default)]
pub(crate) struct Rhythm {
    in_flight: AtomicUsize,
    /// Submissions in a row that found nothing in flight.
    alone: AtomicU32,
}

impl Rhythm {
    /// A submission comes; whether it and those before it came one at a time.
    pub(crate) fn begin(&self) -> bool {
        if self.in_flight.fetch_add(1, Ordering::Relaxed) > 0 {
            self.alone.store(0, Ordering::Relaxed);
            return false;
        }
        let alone = self.alone.load(Ordering::Relaxed);
        self.alone.store(alone.saturating_add(1), Ordering::Relaxed);
        alone >= ALONE
    }

    /// A submission has ended.
    pub(crate) fn end(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What to expect. What may run at once never waits for anything, tells nobody before its end, and is at most one
/// brief command.
pub(crate) fn expect(submission: &Submission, tables: &LaunchTables) -> Expected {
    let (commands, steps) = (submission.commands.as_slice(), tables.steps.as_slice());
    if is_brief(commands, steps) {
        return if submission.may_run_at_once { Expected::AtOnce } else { Expected::Short };
    }
    match commands {
        [Command::Dispatch(dispatch)] => match brief(&dispatch.pipeline) {
            Some(brief) if (1..=SHORT_NS).contains(&brief.last_ns.load(Ordering::Relaxed)) => Expected::Short,
            _ => Expected::Unknown,
        },
        _ => Expected::Unknown,
    }
}

/// Whether what follows the command at a position is at most one brief command.
pub(crate) fn rest_is_brief(submission: &Submission, tables: &LaunchTables, position: usize) -> bool {
    let rest = (submission.commands.get(position + 1..), tables.steps.get(position + 1..));
    matches!(rest, (Some(commands), Some(steps)) if is_brief(commands, steps))
}

/// Whether it is at most one brief command, and none that waits or tells.
fn is_brief(commands: &[Command], steps: &[Step]) -> bool {
    match (commands, steps) {
        ([], _) | ([Command::Dispatch(_)], [Step::EmptyDispatch]) => true,
        ([Command::Copy(copy)], _) => copy.length <= BRIEF_BYTES,
        ([Command::Fill(fill)], _) => fill.length <= BRIEF_BYTES,
        ([Command::Dispatch(dispatch)], [Step::Dispatch(prepared)]) => {
            brief(&dispatch.pipeline).is_some_and(|brief| brief.expects(prepared.shape.group_count))
        }
        _ => false,
    }
}

/// Learns from a command buffer that ended well.
pub(crate) fn note(submission: &Submission, tables: &LaunchTables, took: Duration) {
    if let ([Command::Dispatch(dispatch)], [Step::Dispatch(prepared)]) =
        (submission.commands.as_slice(), tables.steps.as_slice())
        && let Some(brief) = brief(&dispatch.pipeline)
    {
        brief.note(prepared.shape.group_count, took.as_nanos() as u64);
    }
}

/// The record of a pipeline of machine code; an interpreted one waits for all other access to memory.
fn brief(pipeline: &Arc<dyn Pipeline>) -> Option<&Brief> {
    cpu_pipeline(pipeline)
        .filter(|pipeline| matches!(pipeline.code(), Code::Native { .. }))
        .map(CpuPipeline::brief)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_streak_of_the_same_size_counts_and_longer_ones_outweigh_it() {
        let brief = Brief::default();
        (0..STREAK - 1).for_each(|_| brief.note(4, BRIEF_NS));
        assert!(!brief.expects(1), "one short of a streak");
        brief.note(2, 100);
        assert!(brief.expects(4) && brief.expects(1));
        assert!(!brief.expects(5), "larger than any that was seen");
        brief.note(5, 100);
        assert!(!brief.expects(4), "a new size needs a streak of its own");
        (0..STREAK).for_each(|_| brief.note(5, 100));
        assert!(brief.expects(5));
        brief.note(1, BRIEF_NS + 1);
        assert!(!brief.expects(1), "half a streak more is needed");
        (0..OUTWEIGHS).for_each(|_| brief.note(1, 100));
        assert!(brief.expects(1));
        (0..MOST).for_each(|_| brief.note(1, 100));
        brief.note(1, MUCH_LONGER * BRIEF_NS + 1);
        (0..STREAK - 1).for_each(|_| brief.note(1, 100));
        assert!(!brief.expects(1), "nothing of it is left");
        // By turns it never counts.
        for _ in 0..100 {
            brief.note(1, 100);
            brief.note(1, 2 * BRIEF_NS);
            assert!(!brief.expects(1));
        }
    }
}
