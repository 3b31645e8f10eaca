//! What the runtime tells telemetry: of submissions here, of a device's series in [`device`], of gauges where
//! they are counted (streams in [`crate::stream::context`], blocks in [`crate::memory::pool`]).
//!
//! Owns [`Observed`], what is noted of a submission at its commit and recorded at its end. Invariant: while
//! nothing listens a submission carries nothing, and costs two looks at atomics; while something does,
//! nothing is formatted and no series is looked up that was seen before. A submission is recorded once,
//! before its waiters see its end.

pub(crate) mod device;

use std::sync::{Arc, OnceLock};

use anymetal_hal::artifact::{Artifact, ArtifactTarget};
use anymetal_hal::command::{Command, Submission, Timestamps};
use anymetal_hal::completion::CommandTiming;
use anymetal_hal::pipeline::Pipeline;
use anymetal_telemetry::handle::metrics_on;
use anymetal_telemetry::kernel::KernelMetrics;
use anymetal_telemetry::span::{self, Span};

use crate::stream::StreamCore;
use crate::submission::Outcome;

/// Of submissions with several dispatches one in this number has each of its commands timed, which costs two
/// readings of the clock per command.
const TIMED_ONE_IN: u32 = 16;

/// What a pipeline keeps for telemetry, in its attachment.
#[derive(Debug)]
pub(crate) struct KernelSlot {
    backend: &'static str,
    metrics: OnceLock<Arc<KernelMetrics>>,
}

impl KernelSlot {
    /// Of a pipeline made of that artifact.
    pub(crate) fn of(artifact: &Artifact) -> Self {
        KernelSlot { backend: backend(artifact), metrics: OnceLock::new() }
    }

    fn unknown() -> Self {
        KernelSlot { backend: "unknown", metrics: OnceLock::new() }
    }
}

/// What runs an artifact's kernels.
pub(crate) fn backend(artifact: &Artifact) -> &'static str {
    match artifact.target {
        ArtifactTarget::Cpu { .. } => "cpu",
        ArtifactTarget::Nvidia { .. } => "nvidia",
        ArtifactTarget::Metal => "metal",
        ArtifactTarget::Interpreter => "interpreter",
    }
}

/// The series of a pipeline's kernel.
fn kernel_metrics<'a>(device: &str, pipeline: &'a dyn Pipeline) -> Option<&'a Arc<KernelMetrics>> {
    let slot = pipeline.attachment()?.get_or_init(KernelSlot::unknown)?;
    let make = || Arc::new(KernelMetrics::new(device, slot.backend, &pipeline.kernel().name));
    Some(slot.metrics.get_or_init(make))
}

/// The kernels of a submission.
#[derive(Debug)]
enum Kernels {
    None,
    /// One dispatch, whose time is the submission's.
    One(Arc<KernelMetrics>),
    /// How often each was dispatched.
    Counted(Vec<(Arc<KernelMetrics>, u64)>),
    /// By the position of the command, each of which is timed.
    Timed(Vec<(usize, Arc<KernelMetrics>)>),
}

/// What is recorded of a submission when it ends.
#[derive(Debug)]
pub(crate) struct Observed {
    metrics: bool,
    kernels: Kernels,
    copied_bytes: u64,
    span: Option<Span>,
}

impl Observed {
    /// Notes what a submission does; `None`: nothing listens. May have its commands timed.
    #[inline]
    pub(crate) fn begin(stream: &StreamCore, commands: &mut Submission) -> Option<Box<Observed>> {
        let metrics = metrics_on();
        if !metrics && !span::submissions_on() {
            return None;
        }
        Some(Box::new(Self::of(stream, commands, metrics)))
    }

    fn of(stream: &StreamCore, commands: &mut Submission, metrics: bool) -> Observed {
        let device = stream.context.device().name();
        let (kernels, copied_bytes) = match metrics {
            true => (kernels_of(stream, device, commands), copied_bytes(&commands.commands)),
            false => (Kernels::None, 0),
        };
        let first = || commands.commands.iter().flat_map(Command::expanded).find_map(pipeline_of);
        let span = match span::submissions_on() {
            false => None,
            true => {
                let kernel = first().map(|pipeline| pipeline.kernel().name.as_str());
                let count = commands.commands.len();
                span::submission(device, stream.label(), &commands.label, count, kernel)
            }
        };
        Observed { metrics, kernels, copied_bytes, span }
    }

    /// Records the end.
    pub(crate) fn end(self, stream: &StreamCore, outcome: &Outcome, timings: Option<&[CommandTiming]>) {
        let series = self.metrics.then(|| stream.context.series());
        match outcome {
            Ok(timing) => {
                let device_ns = timing.ended_ns.saturating_sub(timing.started_ns);
                let wait_ns = timing.started_ns.saturating_sub(timing.submitted_ns);
                if let Some(span) = &self.span {
                    span.ran(device_ns, wait_ns);
                }
                if let Some(series) = series {
                    series.ended_well(device_ns, wait_ns, self.copied_bytes);
                    self.kernels.record(device_ns, timings.unwrap_or_default());
                }
            }
            Err(error) => {
                if let Some(span) = &self.span {
                    span.failed(error);
                }
                if let Some(series) = series {
                    series.failed(error);
                }
            }
        }
    }
}

impl Kernels {
    fn record(&self, device_ns: u64, timings: &[CommandTiming]) {
        match self {
            Kernels::None => {}
            Kernels::One(kernel) => {
                kernel.dispatched(1);
                kernel.took(device_ns);
            }
            Kernels::Counted(kernels) => kernels.iter().for_each(|(kernel, count)| kernel.dispatched(*count)),
            Kernels::Timed(kernels) => {
                let mut timings = timings.iter();
                for (command, kernel) in kernels {
                    kernel.dispatched(1);
                    // Both are in the order of the commands.
                    if let Some(timing) = timings.find(|timing| timing.command >= *command)
                        && timing.command == *command
                    {
                        kernel.took(timing.ended_ns.saturating_sub(timing.started_ns));
                    }
                }
            }
        }
    }
}

fn pipeline_of(command: &Command) -> Option<&dyn Pipeline> {
    match command {
        Command::Dispatch(dispatch) => Some(&*dispatch.pipeline),
        Command::DispatchIndirect(dispatch) => Some(&*dispatch.pipeline),
        Command::Copy(_)
        | Command::Fill(_)
        | Command::ExecuteIndirect(_)
        | Command::WaitEvent { .. }
        | Command::SignalEvent { .. }
        | Command::UpdateFence(_)
        | Command::WaitFence(_) => None,
    }
}

fn copied_bytes(commands: &[Command]) -> u64 {
    let length = |command: &Command| match command {
        Command::Copy(copy) => copy.length,
        _ => 0,
    };
    commands.iter().flat_map(Command::expanded).map(length).sum()
}

fn kernels_of(stream: &StreamCore, device: &str, submission: &mut Submission) -> Kernels {
    if let [command] = submission.commands.as_slice()
        && let Some(pipeline) = pipeline_of(command)
    {
        let kernel = kernel_metrics(device, pipeline);
        return kernel.map_or(Kernels::None, |kernel| Kernels::One(Arc::clone(kernel)));
    }
    let traced = stream.context.trace().is_some() || submission.timestamps == Timestamps::EachCommand;
    let has_dispatch = submission.commands.iter().any(|command| pipeline_of(command).is_some());
    if has_dispatch && (traced || stream.context.series().is_sampled(TIMED_ONE_IN)) {
        submission.timestamps = Timestamps::EachCommand;
        return timed(device, &submission.commands);
    }
    counted(device, &submission.commands)
}

fn timed(device: &str, commands: &[Command]) -> Kernels {
    let kernels = commands.iter().enumerate().filter_map(|(position, command)| {
        let kernel = kernel_metrics(device, pipeline_of(command)?)?;
        Some((position, Arc::clone(kernel)))
    });
    Kernels::Timed(kernels.collect())
}

fn counted(device: &str, commands: &[Command]) -> Kernels {
    let mut counts: Vec<(Arc<KernelMetrics>, u64)> = Vec::new();
    let mut last: Option<(*const (), usize)> = None;
    for pipeline in commands.iter().flat_map(Command::expanded).filter_map(pipeline_of) {
        // Most command buffers repeat one pipeline: its series are looked up once.
        let address = std::ptr::from_ref(pipeline).cast::<()>();
        if let Some((_, place)) = last.filter(|(known, _)| *known == address) {
            counts[place].1 += 1;
            continue;
        }
        let Some(kernel) = kernel_metrics(device, pipeline) else { continue };
        let known = counts.iter().rposition(|(known, _)| Arc::ptr_eq(known, kernel));
        let place = known.unwrap_or_else(|| {
            counts.push((Arc::clone(kernel), 0));
            counts.len() - 1
        });
        counts[place].1 += 1;
        last = Some((address, place));
    }
    if counts.is_empty() { Kernels::None } else { Kernels::Counted(counts) }
}
