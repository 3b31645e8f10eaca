//! What the runtime tells telemetry: of submissions here, of a device's series in [`device`], of gauges where
//! they are counted (streams in [`crate::stream::context`], blocks in [`crate::memory::pool`]).
//!
//! Owns [`Observation`], what is noted of a submission at its commit and recorded at its end. Invariant:
//! while nothing listens a submission carries nothing, and costs two looks at atomics; while something does,
//! nothing is formatted, no series is looked up that was seen before, and a single dispatch without a span
//! allocates nothing. A submission is recorded once, before its waiters see its end.

pub(crate) mod device;

use std::sync::{Arc, OnceLock};

use anymetal_hal::artifact::{Artifact, ArtifactTarget};
use anymetal_hal::command::{Command, CommandList, Timestamps};
use anymetal_hal::completion::{CommandTiming, Timing};
use anymetal_hal::encoded_commands::ExecutionCounts;
use anymetal_hal::pipeline::Pipeline;
use anymetal_telemetry::event;
use anymetal_telemetry::handle::metrics_on;
use anymetal_telemetry::kernel::KernelMetrics;
use anymetal_telemetry::record;
use anymetal_telemetry::span::{self, Span};

use crate::stream::StreamCore;
use crate::submission::Outcome;

/// Of submissions with several dispatches one in this number has each of its commands timed, which costs two
/// readings of the clock per command.
const TIMED_ONE_IN: u32 = 64;

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
#[derive(Debug, Default)]
pub(crate) enum Observation {
    /// Nothing listens.
    #[default]
    None,
    /// One dispatch without a span, by far the most common.
    Dispatch(Arc<KernelMetrics>),
    /// Anything else.
    Other(Box<Observed>),
}

/// What is recorded of a submission of several commands, or with a span.
#[derive(Debug)]
pub(crate) struct Observed {
    metrics: bool,
    kernels: Kernels,
    copied_bytes: u64,
    /// Of executions of encoded commands.
    encoded: Vec<Arc<ExecutionCounts>>,
    span: Option<Span>,
}

impl Observation {
    /// Notes what a submission does. May have its commands timed.
    #[inline]
    pub(crate) fn begin(stream: &StreamCore, commands: &mut CommandList) -> Observation {
        let (metrics, spanned) = (metrics_on(), span::submission_sampled());
        if !metrics && !spanned { Observation::None } else { Self::of(stream, commands, metrics, spanned) }
    }

    fn of(stream: &StreamCore, commands: &mut CommandList, metrics: bool, spanned: bool) -> Observation {
        let device = stream.context.device().name();
        let (kernels, copied_bytes) = match metrics {
            true => noted(stream, device, commands),
            false => (Kernels::None, 0),
        };
        let kernels = match kernels {
            Kernels::One(kernel) if !spanned => return Observation::Dispatch(kernel),
            kernels => kernels,
        };
        let first = || commands.commands.iter().flat_map(Command::expanded).find_map(pipeline_of);
        let span = spanned.then(|| {
            let kernel = first().map(|pipeline| pipeline.kernel().name.as_str());
            span::submission(device, stream.label(), &commands.label, commands.commands.len(), kernel)
        });
        let encoded = if metrics { encoded(commands) } else { Vec::new() };
        Observation::Other(Box::new(Observed { metrics, kernels, copied_bytes, encoded, span }))
    }

    /// Records the end. A failure is told whether or not metrics are on.
    pub(crate) fn end(self, stream: &StreamCore, outcome: &Outcome, timings: Option<&[CommandTiming]>) {
        if let Err(error) = outcome
            && !error.is_cancelled()
        {
            event::submission_failed(stream.context.device().name(), error.class().word(), error);
        }
        match (self, outcome) {
            (Observation::None, _) => {}
            (Observation::Dispatch(kernel), Ok(timing)) => {
                let (device_ns, wait_ns) = times(timing);
                stream.context.series().ended_well(device_ns, wait_ns, 0);
                kernel.dispatched(1);
                kernel.took(device_ns);
            }
            (Observation::Dispatch(_), Err(error)) => stream.context.series().failed(error),
            (Observation::Other(observed), outcome) => observed.end(stream, outcome, timings),
        }
    }
}

/// How long the device was at it, and how long it waited for that.
fn times(timing: &Timing) -> (u64, u64) {
    let device_ns = timing.ended_ns.saturating_sub(timing.started_ns);
    (device_ns, timing.started_ns.saturating_sub(timing.submitted_ns))
}

impl Observed {
    fn end(self, stream: &StreamCore, outcome: &Outcome, timings: Option<&[CommandTiming]>) {
        let series = self.metrics.then(|| stream.context.series());
        for counts in &self.encoded {
            let device = stream.context.device().name();
            record::encoded_commands(device, counts.depth(), counts.launches(), counts.time());
        }
        match outcome {
            Ok(timing) => {
                let (device_ns, wait_ns) = times(timing);
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
    command.dispatch().map(|dispatch| &**dispatch.pipeline())
}

/// What executions of encoded commands will have done.
fn encoded(submission: &CommandList) -> Vec<Arc<ExecutionCounts>> {
    let counts = submission.commands.iter().filter_map(|command| match command {
        Command::ExecuteEncoded(execution) => Some(Arc::clone(execution.counts())),
        _ => None,
    });
    counts.collect()
}

/// The kernels of a submission, and the bytes that it copies.
fn noted(stream: &StreamCore, device: &str, submission: &mut CommandList) -> (Kernels, u64) {
    if let [command] = submission.commands.as_slice()
        && let Some(pipeline) = pipeline_of(command)
    {
        let kernel = kernel_metrics(device, pipeline);
        return (kernel.map_or(Kernels::None, |kernel| Kernels::One(Arc::clone(kernel))), 0);
    }
    let mut counts = Counts { device, kernels: Vec::new(), last: None, copied_bytes: 0 };
    submission.commands.iter().for_each(|command| counts.note(command));
    let traced = stream.context.trace().is_some() || submission.timestamps == Timestamps::EachCommand;
    let has_dispatch = || submission.commands.iter().any(|command| pipeline_of(command).is_some());
    if has_dispatch() && (traced || stream.context.series().is_sampled(TIMED_ONE_IN)) {
        submission.timestamps = Timestamps::EachCommand;
        return (timed(device, &submission.commands), counts.copied_bytes);
    }
    let kernels = if counts.kernels.is_empty() { Kernels::None } else { Kernels::Counted(counts.kernels) };
    (kernels, counts.copied_bytes)
}

fn timed(device: &str, commands: &[Command]) -> Kernels {
    let kernels = commands.iter().enumerate().filter_map(|(position, command)| {
        let kernel = kernel_metrics(device, pipeline_of(command)?)?;
        Some((position, Arc::clone(kernel)))
    });
    Kernels::Timed(kernels.collect())
}

/// How often each kernel is dispatched, and how much is copied.
struct Counts<'a> {
    device: &'a str,
    kernels: Vec<(Arc<KernelMetrics>, u64)>,
    /// The last pipeline's address, and its kernel's place.
    last: Option<(*const (), usize)>,
    copied_bytes: u64,
}

impl Counts<'_> {
    fn note(&mut self, command: &Command) {
        match command {
            Command::Dispatch(dispatch) => self.dispatched(&**dispatch.pipeline()),
            Command::DispatchIndirect(indirect) => self.dispatched(&**indirect.dispatch().pipeline()),
            Command::Copy(copy) => self.copied_bytes = self.copied_bytes.saturating_add(copy.length()),
            Command::ExecuteIndirect(_) => command.expanded().iter().for_each(|command| self.note(command)),
            Command::Fill(_)
            | Command::MatrixProduct(_)
            | Command::ExecuteEncoded(_)
            | Command::SampleTime(_)
            | Command::WaitEvent { .. }
            | Command::SignalEvent { .. }
            | Command::UpdateFence(_)
            | Command::WaitFence(_) => {}
        }
    }

    fn dispatched(&mut self, pipeline: &dyn Pipeline) {
        // Most command buffers repeat one pipeline: its series are looked up once.
        let address = std::ptr::from_ref(pipeline).cast::<()>();
        if let Some((known, place)) = self.last
            && known == address
        {
            self.kernels[place].1 += 1;
            return;
        }
        let Some(kernel) = kernel_metrics(self.device, pipeline) else { return };
        let known = self.kernels.iter().rposition(|(known, _)| Arc::ptr_eq(known, kernel));
        let place = known.unwrap_or_else(|| {
            self.kernels.push((Arc::clone(kernel), 0));
            self.kernels.len() - 1
        });
        self.kernels[place].1 += 1;
        self.last = Some((address, place));
    }
}
