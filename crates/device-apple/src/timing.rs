//! The ends of command buffers: times and errors.
//!
//! Metal tells when the GPU started and ended a command buffer, in seconds of the system's clock. The end is
//! taken as the moment in which its handler is called, by the device's clock; the rest is reckoned from it.

use anymetal_hal::command::{Submission, Timestamps};
use anymetal_hal::completion::{CommandTiming, CompletionSource, Timing};
use anymetal_hal::error::DeviceError;
use objc2_metal::{MTLCommandBuffer, MTLCommandBufferStatus};

use crate::device::DeviceShared;
use crate::encode::CommandBuffer;
use crate::error;

/// When the GPU was at it, in seconds.
#[derive(Debug, Clone, Copy)]
struct Span {
    started: f64,
    ended: f64,
}

/// Ends the completion of a submission that was encoded into those command buffers, all of which have ended.
pub(crate) fn finish(
    device: &DeviceShared,
    submission: &Submission,
    buffers: &[CommandBuffer],
    submitted_ns: u64,
    source: CompletionSource,
) {
    if let Some(problem) = first_error(device, submission, buffers) {
        return source.finish(Err(problem));
    }
    let spans: Vec<Span> = buffers
        .iter()
        .map(|buffer| Span { started: buffer.GPUStartTime(), ended: buffer.GPUEndTime() })
        .collect();
    let (timing, commands) = reckoned(&spans, submitted_ns, device.now_ns());
    match submission.timestamps {
        Timestamps::CommandBuffer => source.finish(Ok(timing)),
        Timestamps::EachCommand => {
            let count = submission.commands.len();
            source.finish_with_commands(Ok(timing), commands.into_iter().take(count).collect());
        }
    }
}

fn first_error(
    device: &DeviceShared,
    submission: &Submission,
    buffers: &[CommandBuffer],
) -> Option<DeviceError> {
    let failed = buffers.iter().find(|buffer| buffer.status() == MTLCommandBufferStatus::Error)?;
    Some(error::of_command_buffer(&device.name, &submission.label, failed.error().as_deref()))
}

/// The times by the device's clock, of all and of each.
fn reckoned(spans: &[Span], submitted_ns: u64, ended_ns: u64) -> (Timing, Vec<CommandTiming>) {
    let end = spans.last().map_or(0.0, |span| span.ended);
    let at = |seconds: f64| {
        // No number of a clock is negative or no number; a conversion of such is zero.
        let before_end = ((end - seconds) * 1e9) as u64;
        ended_ns.saturating_sub(before_end).max(submitted_ns)
    };
    let started_ns = spans.first().map_or(ended_ns, |span| at(span.started));
    let command = |(command, span): (usize, &Span)| CommandTiming {
        command,
        started_ns: at(span.started),
        ended_ns: at(span.ended),
    };
    (Timing { submitted_ns, started_ns, ended_ns }, spans.iter().enumerate().map(command).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_reckoned_from_the_end_and_never_before_the_submission() {
        let spans = [Span { started: 10.0, ended: 10.25 }, Span { started: 10.5, ended: 11.0 }];
        let (timing, commands) = reckoned(&spans, 1_000_000_000, 3_000_000_000);
        assert_eq!((timing.started_ns, timing.ended_ns), (2_000_000_000, 3_000_000_000));
        let times: Vec<(u64, u64)> = commands.iter().map(|c| (c.started_ns, c.ended_ns)).collect();
        let [first, second] = [(2_000_000_000, 2_250_000_000), (2_500_000_000, 3_000_000_000)];
        assert_eq!(times, [first, second]);
        let (timing, _) = reckoned(&spans, 2_900_000_000, 3_000_000_000);
        assert_eq!(timing.started_ns, 2_900_000_000);
        assert_eq!(reckoned(&[], 5, 7).0, Timing { submitted_ns: 5, started_ns: 7, ended_ns: 7 });
    }
}
