//! Spans without effect, for builds without the feature `emit`.

use std::fmt::Display;

use crate::record::Stage;

/// A span.
#[derive(Debug)]
pub struct Span;

/// While it lives the thread is inside the span.
#[derive(Debug)]
pub struct Entered<'a>(std::marker::PhantomData<&'a Span>);

impl Span {
    /// The span that this thread is in.
    #[inline(always)]
    pub fn current() -> Self {
        Span
    }

    /// Has what this thread does be inside it.
    #[inline(always)]
    pub fn enter(&self) -> Entered<'_> {
        Entered(std::marker::PhantomData)
    }

    /// Does nothing.
    #[inline(always)]
    pub fn ran(&self, _device_ns: u64, _wait_ns: u64) {}

    /// Does nothing.
    #[inline(always)]
    pub fn failed(&self, _error: &dyn Display) {}

    /// Does nothing.
    #[inline(always)]
    pub fn executed(&self, _attempts: u32, _outcome: &str) {}

    /// Whether a subscriber is interested in it: never here.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        false
    }
}

/// The span of a stage of compiling.
#[inline(always)]
pub fn compile(_stage: Stage, _subject: &str) -> Span {
    Span
}

/// The span of a pipeline's creation.
#[inline(always)]
pub fn pipeline(_device: &str, _kernel: &str) -> Span {
    Span
}

/// The span of a graph's run.
#[inline(always)]
pub fn graph(_device: &str, _graph: &str, _mode: &str) -> Span {
    Span
}

/// The span of a transfer.
#[inline(always)]
pub fn transfer(_device: &str, _direction: &str, _bytes: u64) -> Span {
    Span
}

/// The span of an execution by the manager.
#[inline(always)]
pub fn execution(_label: &str) -> Span {
    Span
}

/// Does nothing.
#[inline(always)]
pub fn sample_submissions(_one_in: u32) {}

/// Whether the next submission is to have a span: never here.
#[inline(always)]
pub fn submission_sampled() -> bool {
    false
}

/// The span of a submission that is sampled.
#[inline(always)]
pub fn submission(
    _device: &str,
    _stream: &str,
    _label: &str,
    _commands: usize,
    _kernel: Option<&str>,
) -> Span {
    Span
}
