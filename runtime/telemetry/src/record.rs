//! One function for each thing that happens seldom: it counts, and tells the subscriber where that matters.
//!
//! Invariant: no other crate spells a name. While there is no recorder these cost what
//! [`metrics_on`] costs; with one, a look-up of the series each, so nothing here is for what happens in every
//! launch: that keeps handles ([`crate::kernel`]).

use std::time::Duration;

use crate::event;
use crate::handle::{Counter, Gauge, Histogram, metrics_on};
use crate::kernel::bounded_kernel;
use crate::names::Metric;
use crate::names::metrics as names;
use crate::span;

fn count(metric: &Metric, labels: &[(&'static str, &str)], count: u64) {
    if metrics_on() {
        Counter::new(metric, labels).add(count);
    }
}

fn set(metric: &Metric, labels: &[(&'static str, &str)], value: f64) {
    if metrics_on() {
        Gauge::new(metric, labels).set(value);
    }
}

fn observe(metric: &Metric, labels: &[(&'static str, &str)], value: f64) {
    if metrics_on() {
        Histogram::new(metric, labels).record(value);
    }
}

/// Commands that kernels encoded were executed: so many ranges, with so many launches, in that time.
pub fn encoded_commands(device: &str, depth: u32, launches: u64, time: Duration) {
    let labels = [("device", device)];
    count(&names::ENCODED_EXECUTIONS, &labels, depth.into());
    count(&names::ENCODED_LAUNCHES, &labels, launches);
    observe(&names::ENCODED_DEPTH, &labels, depth.into());
    observe(&names::ENCODED_DURATION, &labels, time.as_secs_f64());
}

/// A stage of compiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Preprocessing and parsing.
    Parse,
    /// Semantic analysis and lowering.
    Lower,
    /// Passes.
    Prepare,
    /// Code generation.
    Generate,
    /// LLVM.
    MachineCode,
}

impl Stage {
    /// Its label.
    pub fn word(self) -> &'static str {
        match self {
            Stage::Parse => "parse",
            Stage::Lower => "lower",
            Stage::Prepare => "prepare",
            Stage::Generate => "generate",
            Stage::MachineCode => "machine-code",
        }
    }
}

/// Does a stage of compiling in its span, and records how long it took and whether it failed. `now` is read
/// only where there is a recorder.
pub fn stage<T, E>(
    stage: Stage,
    subject: &str,
    now: impl Fn() -> Duration,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let span = span::compile(stage, subject);
    let _entered = span.enter();
    if !metrics_on() {
        return work();
    }
    let start = now();
    let done = work();
    let labels = [("stage", stage.word())];
    observe(&names::COMPILE_DURATION, &labels, now().saturating_sub(start).as_secs_f64());
    if done.is_err() {
        count(&names::COMPILE_ERRORS, &labels, 1);
    }
    done
}

/// A cache of compiled kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// In memory.
    Memory,
    /// On disk.
    Disk,
}

/// A compiled kernel was looked for in a cache.
pub fn cache(cache: Cache, found: bool) {
    let metric = if found { &names::CACHE_HITS } else { &names::CACHE_MISSES };
    let cache = match cache {
        Cache::Memory => "memory",
        Cache::Disk => "disk",
    };
    count(metric, &[("cache", cache)], 1);
}

/// The sanitizer found something at a new place; the kind as it names it.
pub fn finding(kind: &str) {
    count(&names::SANITIZER_FINDINGS, &[("kind", kind)], 1);
}

/// A pipeline was made ready to run.
pub fn pipeline_created(device: &str, backend: &str) {
    count(&names::PIPELINES_CREATED, &[("device", device), ("backend", backend)], 1);
}

/// Making a pipeline took that long, what was compiled for it included.
pub fn pipeline_duration(device: &str, took: Duration) {
    observe(&names::PIPELINE_DURATION, &[("device", device)], took.as_secs_f64());
}

/// A graph is run.
pub fn graph_replay(device: &str, mode: &str) {
    count(&names::GRAPH_REPLAYS, &[("device", device), ("mode", mode)], 1);
}

/// Bytes were copied: `upload`, `download`, `device`.
pub fn copied(device: &str, direction: &str, bytes: u64) {
    count(&names::COPIED_BYTES, &[("device", device), ("direction", direction)], bytes);
}

/// A buffer or heap was made: `own`, `pool`, `import`, `heap`.
pub fn allocated(device: &str, origin: &str) {
    count(&names::ALLOCATIONS, &[("device", device), ("origin", origin)], 1);
}

/// An allocation was refused; the reason is the error's class.
pub fn allocation_failed(device: &str, reason: &str) {
    count(&names::ALLOCATION_FAILURES, &[("device", device), ("reason", reason)], 1);
}

/// Work is tried again after an error of that class.
pub fn retry(reason: &str) {
    event::retry(reason);
    count(&names::RETRIES, &[("reason", reason)], 1);
}

/// Another device takes work over.
pub fn fallback(from: &str, to: &str, reason: &str) {
    event::fallback(from, to, reason);
    count(&names::FALLBACKS, &[("from", from), ("to", to), ("reason", reason)], 1);
}

/// The state of a circuit breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerState {
    /// Work passes.
    Closed,
    /// Trial work passes.
    HalfOpen,
    /// Work is refused.
    Open,
}

/// A circuit breaker entered a state; of a breaker of a whole device the kernel is empty.
pub fn breaker(device: &str, kernel: &str, state: BreakerState) {
    let (to, value) = match state {
        BreakerState::Closed => ("closed", 0.0),
        BreakerState::HalfOpen => ("half-open", 1.0),
        BreakerState::Open => ("open", 2.0),
    };
    event::breaker(device, to);
    if metrics_on() {
        let kernel = bounded_kernel(kernel);
        set(&names::BREAKER_STATE, &[("device", device), ("kernel", kernel)], value);
        count(&names::BREAKER_TRANSITIONS, &[("device", device), ("to", to)], 1);
    }
}

/// An open circuit breaker refused work.
pub fn breaker_rejection(device: &str) {
    count(&names::BREAKER_REJECTIONS, &[("device", device)], 1);
}

/// A full bulkhead refused work.
pub fn bulkhead_rejection(bulkhead: &str) {
    count(&names::BULKHEAD_REJECTIONS, &[("bulkhead", bulkhead)], 1);
}

/// Work ran into its deadline.
pub fn deadline_exceeded(device: &str) {
    count(&names::DEADLINES, &[("device", device)], 1);
}

/// A step of the recovery ladder was taken: `trim`, `ok`.
pub fn recovery_step(step: &str, outcome: &str) {
    count(&names::RECOVERY_STEPS, &[("step", step), ("outcome", outcome)], 1);
}

/// A device was lost.
pub fn device_lost(device: &str) {
    event::device_lost(device);
    count(&names::DEVICE_LOSSES, &[("device", device)], 1);
}

/// A request to the execution manager ended.
pub fn execution(outcome: &str, took: Duration, attempts: u32) {
    let labels = [("outcome", outcome)];
    count(&names::EXECUTIONS, &labels, 1);
    observe(&names::EXECUTION_DURATION, &labels, took.as_secs_f64());
    observe(&names::EXECUTION_ATTEMPTS, &labels, f64::from(attempts));
}

/// Records for the audit log: `ok` or `lost`.
pub fn audit_records(outcome: &str, records: u64) {
    count(&names::AUDIT_RECORDS, &[("outcome", outcome)], records);
}

/// The temperature of a thermal zone.
pub fn temperature(zone: &str, celsius: f64) {
    set(&names::TEMPERATURE, &[("zone", zone)], celsius);
}

/// The power of a package.
pub fn power(zone: &str, watts: f64) {
    set(&names::POWER, &[("zone", zone)], watts);
}

/// A thermal state: 0 nominal, 1 fair, 2 serious, 3 critical.
pub fn thermal_state(zone: &str, state: u8) {
    set(&names::THERMAL_STATE, &[("zone", zone)], f64::from(state));
}

/// The health of a component entered a state: 0 healthy, 1 degraded, 2 unhealthy, with its name.
pub fn health(component: &str, state: u8, to: &str, reason: &str, recovered: bool) {
    event::health(component, to, reason, recovered);
    set(&names::HEALTH_STATE, &[("component", component)], f64::from(state));
    count(&names::HEALTH_TRANSITIONS, &[("component", component), ("to", to)], 1);
}

/// A value of a component's series was found anomalous.
pub fn anomaly(component: &str) {
    count(&names::ANOMALIES, &[("component", component)], 1);
}

/// An alert was raised.
pub fn alert(severity: &str, component: &str, message: &str) {
    event::alert(severity, component, message);
    count(&names::ALERTS, &[("severity", severity)], 1);
}

/// Items were given up by an exporter, because its queue was full or its target refused them.
pub fn dropped(exporter: &str, items: u64) {
    count(&names::DROPPED, &[("exporter", exporter)], items);
}

/// An exporter's request to its target ended: `ok` or `failed`.
pub fn exported(exporter: &str, outcome: &str) {
    count(&names::EXPORTS, &[("exporter", exporter), ("outcome", outcome)], 1);
}
