//! The policy for running work inline on the submitting thread.
//!
//! Owns [`Expected`], the prediction for a submission from the [`DispatchTimes`] of its pipeline. A dispatch
//! shorter than waking another thread runs on the submitting thread, if the submission allows it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use anymetal_hal::command::{Command, CommandList};
use anymetal_hal::pipeline::Pipeline;

use crate::command_buffer::{CommandStep, LaunchTables};
use crate::dispatch_times::{DispatchTimes, MAX_INLINE_NS};
use crate::pipeline::{Code, CpuPipeline, cpu_pipeline};

/// The submissions in a row with an idle device from which they count as serial.
const MIN_SERIAL: u32 = 4;
/// The longest dispatch, in nanoseconds, that counts as short.
const MAX_SHORT_NS: u64 = 100_000;
/// The largest copy or fill that runs inline: at 10 GB/s it takes less than half of [`MAX_INLINE_NS`].
const MAX_INLINE_BYTES: u64 = 16 << 10;
const _: () = assert!(MAX_INLINE_BYTES / 10 < MAX_INLINE_NS / 2, "10 bytes take a nanosecond at 10 GB/s");

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
        return if submission.may_run_inline { Expected::Inline } else { Expected::Short };
    }
    match submission.commands.as_slice() {
        [Command::Dispatch(dispatch)] => {
            let last = times(dispatch.pipeline()).and_then(DispatchTimes::last_dispatch_ns);
            if last.is_some_and(|last| last < MAX_SHORT_NS) { Expected::Short } else { Expected::Unknown }
        }
        _ => Expected::Unknown,
    }
}

/// Whether a submission is expected to take less than handing it over.
pub(crate) fn is_short(submission: &CommandList, tables: &LaunchTables) -> bool {
    fits_inline(&submission.commands, &tables.steps)
}

/// Whether a pipeline's short dispatches are expected to run inline, those of some sizes at least.
pub(crate) fn has_streak(pipeline: &Arc<dyn Pipeline>) -> bool {
    times(pipeline).is_some_and(|times| times.runs_inline(0))
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
        ([Command::Dispatch(dispatch)], [CommandStep::Dispatch(prepared)]) => {
            times(dispatch.pipeline()).is_some_and(|times| times.runs_inline(prepared.shape.group_count))
        }
        _ => false,
    }
}

/// Learns from a command buffer that ended well.
pub(crate) fn note(submission: &CommandList, tables: &LaunchTables, took: Duration) {
    if let ([Command::Dispatch(dispatch)], [CommandStep::Dispatch(prepared)]) =
        (submission.commands.as_slice(), tables.steps.as_slice())
        && let Some(times) = times(dispatch.pipeline())
    {
        times.note_dispatch(prepared.shape.group_count, took.as_nanos() as u64);
    }
}

/// The history of a pipeline of machine code; an interpreted one waits for all other access to memory.
fn times(pipeline: &Arc<dyn Pipeline>) -> Option<&DispatchTimes> {
    cpu_pipeline(pipeline)
        .filter(|pipeline| matches!(pipeline.code(), Code::Native { .. }))
        .map(CpuPipeline::times)
}
