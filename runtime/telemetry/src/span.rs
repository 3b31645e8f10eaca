//! The spans, made with the fields that [`crate::names::spans`] lists.
//!
//! Owns [`Span`] and the sampling of submissions. Invariant: where no subscriber is interested a span costs
//! one look at an atomic, and its arguments are not formatted.

use std::fmt::Display;
use std::sync::atomic::{AtomicU32, Ordering};

use tracing::field::Empty;
use tracing::level_filters::LevelFilter;

use crate::names::spans::{
    EXECUTION, GENERATE, GRAPH, LOWER, MACHINE_CODE, PARSE, PIPELINE, PREPARE, SUBMISSION, TARGET, TRANSFER,
};
use crate::record::Stage;

/// A span, ended when it is dropped. May be dropped on another thread.
#[derive(Debug)]
pub struct Span(tracing::Span);

/// While it lives the thread is inside the span.
#[derive(Debug)]
pub struct Entered<'a>(
    #[allow(dead_code, reason = "leaves the span when dropped")] tracing::span::Entered<'a>,
);

impl Span {
    /// The span that this thread is in, to be entered on another.
    pub fn current() -> Self {
        Span(tracing::Span::current())
    }

    /// Has what this thread does be inside it.
    pub fn enter(&self) -> Entered<'_> {
        Entered(self.0.enter())
    }

    /// Records how long a submission ran on the device, and how long it waited for that.
    pub fn ran(&self, device_ns: u64, wait_ns: u64) {
        self.0.record("device_ns", device_ns).record("wait_ns", wait_ns);
    }

    /// Records why it failed.
    pub fn failed(&self, error: &dyn Display) {
        self.0.record("error", error.to_string());
    }

    /// Records the end of an execution.
    pub fn executed(&self, attempts: u32, outcome: &str) {
        self.0.record("attempts", attempts).record("outcome", outcome);
    }

    /// Whether a subscriber is interested in it.
    pub fn is_on(&self) -> bool {
        !self.0.is_disabled()
    }
}

/// The span of a stage of compiling; the subject is a source's or a kernel's name.
pub fn compile(stage: Stage, subject: &str) -> Span {
    Span(match stage {
        Stage::Parse => tracing::debug_span!(target: TARGET, PARSE.name, source = subject),
        Stage::Lower => tracing::debug_span!(target: TARGET, LOWER.name, kernel = subject),
        Stage::Prepare => tracing::debug_span!(target: TARGET, PREPARE.name, kernel = subject),
        Stage::Generate => tracing::debug_span!(target: TARGET, GENERATE.name, kernel = subject),
        Stage::MachineCode => tracing::debug_span!(target: TARGET, MACHINE_CODE.name, kernel = subject),
    })
}

/// The span of a pipeline's creation.
pub fn pipeline(device: &str, kernel: &str) -> Span {
    Span(tracing::info_span!(target: TARGET, PIPELINE.name, device, kernel))
}

/// The span of a graph's run.
pub fn graph(device: &str, graph: &str, mode: &str) -> Span {
    Span(tracing::debug_span!(target: TARGET, GRAPH.name, device, graph, mode))
}

/// The span of a transfer.
pub fn transfer(device: &str, direction: &str, bytes: u64) -> Span {
    Span(tracing::debug_span!(target: TARGET, TRANSFER.name, device, direction, bytes))
}

/// The span of an execution by the manager.
pub fn execution(label: &str) -> Span {
    Span(tracing::info_span!(target: TARGET, EXECUTION.name, label, attempts = Empty, outcome = Empty))
}

/// One submission in this number has a span.
static ONE_IN: AtomicU32 = AtomicU32::new(1);
static SUBMISSIONS: AtomicU32 = AtomicU32::new(0);

/// Gives one submission in `one_in` a span, for subscribers that cost more than the work; at first all
/// have. 0 is taken as 1.
pub fn sample_submissions(one_in: u32) {
    ONE_IN.store(one_in.max(1), Ordering::Relaxed);
}

/// Whether the next submission is to have a span: it is sampled, and a subscriber is interested. To be called
/// once for each. Subscribers take their time to answer, so only those of sampled ones are asked.
#[inline]
pub fn submission_sampled() -> bool {
    if LevelFilter::current() < LevelFilter::DEBUG {
        return false;
    }
    let one_in = ONE_IN.load(Ordering::Relaxed);
    let is_sampled = one_in <= 1 || SUBMISSIONS.fetch_add(1, Ordering::Relaxed).is_multiple_of(one_in);
    is_sampled && tracing::enabled!(target: TARGET, tracing::Level::DEBUG)
}

/// The span of a submission that is sampled, with the number of its commands and its first kernel.
pub fn submission(device: &str, stream: &str, label: &str, commands: usize, kernel: Option<&str>) -> Span {
    Span(tracing::debug_span!(
        target: TARGET,
        SUBMISSION.name,
        device,
        stream,
        label,
        commands,
        kernel,
        device_ns = Empty,
        wait_ns = Empty,
        error = Empty
    ))
}
