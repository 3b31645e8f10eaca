//! The ends of command buffers: times and errors.
//!
//! Metal tells when the GPU started and ended a command buffer, in seconds of the system's clock. What lies
//! between that clock and the device's own is measured once, when the device is made ([`Offset`]), so that
//! times of different command buffers can be compared.

use anymetal_hal::command::{CommandList, Timestamps};
use anymetal_hal::completion::{CommandTiming, CompletionSource, Timing};
use anymetal_hal::error::DeviceError;
use objc2::runtime::ProtocolObject;
use objc2_metal::{MTLCommandBuffer, MTLCommandBufferStatus, MTLCommandQueue};

use crate::device::DeviceShared;
use crate::encode::CommandBuffer;
use crate::error;

/// What is added to a time of Metal's, in nanoseconds, to have the device's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offset(i128);

/// How often the offset is measured; the least counts, which has the least delay in it.
const MEASUREMENTS: usize = 4;

impl Offset {
    /// Runs empty command buffers, and compares their ends with a clock that counts nanoseconds.
    pub(crate) fn measure(queue: &ProtocolObject<dyn MTLCommandQueue>, now_ns: impl Fn() -> u64) -> Offset {
        let one = || {
            let buffer = queue.commandBuffer()?;
            buffer.commit();
            buffer.waitUntilCompleted();
            Some(i128::from(now_ns()) - nanoseconds(buffer.GPUEndTime()))
        };
        Offset((0..MEASUREMENTS).filter_map(|_| one()).min().unwrap_or_default())
    }

    fn device_ns(self, seconds: f64) -> u64 {
        u64::try_from(nanoseconds(seconds) + self.0).unwrap_or_default()
    }
}

/// A time of Metal's in nanoseconds; no number is zero.
fn nanoseconds(seconds: f64) -> i128 {
    (seconds * 1e9) as i128
}

/// When the GPU was at it, in seconds.
#[derive(Debug, Clone, Copy)]
struct Span {
    started: f64,
    ended: f64,
}

/// Ends the completion of a submission that was encoded into those command buffers, all of which have ended.
pub(crate) fn finish(
    device: &DeviceShared,
    submission: &CommandList,
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
    let (timing, commands) = reckoned(&spans, submitted_ns, device.offset);
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
    submission: &CommandList,
    buffers: &[CommandBuffer],
) -> Option<DeviceError> {
    let failed = buffers.iter().find(|buffer| buffer.status() == MTLCommandBufferStatus::Error)?;
    Some(error::of_command_buffer(&device.name, &submission.label, failed.error().as_deref()))
}

/// The times by the device's clock, of all and of each.
fn reckoned(spans: &[Span], submitted_ns: u64, offset: Offset) -> (Timing, Vec<CommandTiming>) {
    // The offset is a little too large rather than too small; still nothing starts before it was submitted.
    let at = |seconds: f64| offset.device_ns(seconds).max(submitted_ns);
    let started_ns = spans.first().map_or(submitted_ns, |span| at(span.started));
    let ended_ns = spans.last().map_or(submitted_ns, |span| at(span.ended));
    let command =
        |(command, span): (usize, &Span)| CommandTiming::new(command, at(span.started), at(span.ended));
    (Timing::new(submitted_ns, started_ns, ended_ns), spans.iter().enumerate().map(command).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_the_devices_and_never_before_the_submission() {
        let spans = [Span { started: 10.0, ended: 10.25 }, Span { started: 10.5, ended: 11.0 }];
        let offset = Offset(-8_000_000_000);
        let (timing, commands) = reckoned(&spans, 1_000_000_000, offset);
        assert_eq!((timing.started_ns, timing.ended_ns), (2_000_000_000, 3_000_000_000));
        let times: Vec<(u64, u64)> = commands.iter().map(|c| (c.started_ns, c.ended_ns)).collect();
        let [first, second] = [(2_000_000_000, 2_250_000_000), (2_500_000_000, 3_000_000_000)];
        assert_eq!(times, [first, second]);
        assert_eq!(reckoned(&spans, 2_900_000_000, offset).0.started_ns, 2_900_000_000);
        assert_eq!(reckoned(&[], 5, offset).0, Timing::new(5, 5, 5));
    }
}
