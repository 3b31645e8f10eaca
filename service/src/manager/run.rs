//! One execution, from its turn to its result or its failure for good.
//!
//! Owns [`run`]: takes the execution's turn on its buffers, decides whether it may run again, and
//! does what its ladder says. Invariants: the turn is held for the whole ladder, so that what is
//! restored is what was copied; work that may have written something never runs again without what
//! the decision asks for.

use std::sync::Arc;
use std::time::Duration;

use anymetal_hal::clock::Sleep;
use anymetal_policy::deadline::Deadline;
use anymetal_policy::idempotence::{Declaration, RetryableWork, decide};
use anymetal_policy::ladder::{Ending, GiveUp, Ladder, NextAttempt, NextStep, Outcome, Path, Request, Rung};
use anymetal_policy::timeout::within;
use anymetal_telemetry::record;
use anymetal_telemetry::span::{self, Span};

use super::attempt::{Attempt, Ended, Turn};
use super::buffer::contents_lost;
use super::core::Core;
use super::error::{AttemptError, Failed, ManagerError};
use super::execution::Execution;
use super::job::Job;
use super::launch::Verify;
use super::observe::{EndedExecution, ManagerEvent, RungTaken};
use super::snapshot::Snapshot;

/// What the caller says of an execution.
#[derive(Default)]
pub(super) struct Options<'a> {
    pub(super) declaration: Declaration,
    /// From its call on.
    pub(super) deadline: Option<Duration>,
    pub(super) verify: Option<Verify<'a>>,
    /// Whether the calling thread may be blocked and lent to the device.
    pub(super) blocking: bool,
}

/// Runs a job by the manager's policies.
pub(super) async fn run(
    core: &Arc<Core>,
    job: &Job<'_>,
    options: &Options<'_>,
) -> Result<Execution, ManagerError> {
    let since = core.clock.now();
    let execution = core.next_call();
    if let Some(audit) = &core.audit {
        audit.begin(execution, job.name()).inspect_err(|error| {
            record::execution(error.class().word(), Duration::ZERO, 0);
        })?;
    }
    let span = span::execution(job.name());
    let result = recover(core, job, options, execution, &span).await;
    let took = core.clock.now().saturating_sub(since);
    let reason = result.as_ref().err().map(ToString::to_string);
    let failure = result.as_ref().err().zip(reason.as_deref()).map(|(error, why)| (error.class(), why));
    let path = match &result {
        Ok(done) => Some(&done.path),
        Err(error) => error.path(),
    };
    let (device, attempts) =
        (path.and_then(Path::device).unwrap_or_default(), path.map_or(0, |path| path.attempts().len()));
    let ended = EndedExecution { execution, work: job.name(), device, failure, took, attempts };
    span.executed(u32::try_from(attempts).unwrap_or(u32::MAX), ended.outcome());
    core.notify(&ManagerEvent::Ended(ended));
    result
}

async fn recover(
    core: &Arc<Core>,
    job: &Job<'_>,
    options: &Options<'_>,
    execution: u64,
    span: &Span,
) -> Result<Execution, ManagerError> {
    core.poll_strain();
    let now = core.clock.now();
    let callers = options.deadline.map_or(Deadline::NEVER, |length| Deadline::after(now, length));
    let budget = core.policies.deadline.start(now, callers);
    let Some(turn) = within(&core.clock, budget.total(), core.gate.enter(job.uses())).await else {
        return Err(failed(job, Path::default(), GiveUp::Deadline, None, Vec::new()));
    };
    let needed = || job.memories().iter().filter(|used| !used.overwritten);
    if let Some((memory, device)) = needed().find_map(|used| Some((&used.memory, used.memory.lost_with()?))) {
        return Err(contents_lost(memory, &device));
    }
    let work =
        RetryableWork { declaration: options.declaration, arguments: job.arguments(), other_effect: None };
    let replay = decide(&work, core.policies.snapshot_limit);
    let snapshot = Arc::new(Snapshot::take(core, job, &replay)?);
    let order = DeviceOrder::of(core, job);
    let request = Request {
        devices: order.slots.iter().map(|&slot| Arc::clone(core.slots[slot].name())).collect(),
        replay,
        most_degraded: job.most_degraded(),
        budget,
        call: execution,
    };
    let ladder = Ladder::new(&core.policies.ladder, &core.policies.retry, request)?;
    let turn = Turn::new(turn);
    Climb { core, job, options, execution, span, order, snapshot, turn, ladder, cause: None }.up().await
}

/// The slots in the order in which an execution tries their devices.
struct DeviceOrder {
    slots: Vec<usize>,
    /// The one that would be the first if every device were open to the work.
    preferred: usize,
}

impl DeviceOrder {
    /// First the devices that are open to the work, of these those with a free stream, of these those where
    /// the data is, of these the least loaded.
    fn of(core: &Core, job: &Job<'_>) -> Self {
        let now = core.clock.now();
        let mut slots: Vec<usize> = (0..core.slots.len()).collect();
        slots.sort_by_cached_key(|&slot| {
            let (running, waiting) = core.slots[slot].load();
            let is_busy = running + waiting >= core.slots[slot].stream_count();
            let needed = job.memories().iter().filter(|used| !used.overwritten);
            let missing: u64 = needed.map(|used| used.memory.missing_on(slot)).sum();
            (is_busy, missing, running + waiting, slot)
        });
        let preferred = slots[0];
        slots.sort_by_cached_key(|&slot| core.is_closed_to(slot, job.name(), now));
        Self { slots, preferred }
    }
}

/// An execution on its ladder.
struct Climb<'a> {
    core: &'a Arc<Core>,
    job: &'a Job<'a>,
    options: &'a Options<'a>,
    /// Its number.
    execution: u64,
    span: &'a Span,
    /// Of the ladder's devices.
    order: DeviceOrder,
    snapshot: Arc<Snapshot>,
    turn: Turn,
    ladder: Ladder,
    /// How the last attempt failed that was let through.
    cause: Option<AttemptError>,
}

impl Climb<'_> {
    async fn up(mut self) -> Result<Execution, ManagerError> {
        let mut succeeded = None;
        loop {
            match (self.ladder.step(), succeeded.take()) {
                (NextStep::Run(next), _) => {
                    self.before(&next).await;
                    let outcome = match self.attempt(&next).await {
                        Ended::Succeeded(execution) => {
                            let slot = self.order.slots[next.device];
                            let used = self.job.memories().iter();
                            used.for_each(|used| used.memory.note_place(self.order.preferred, slot));
                            succeeded = Some(execution);
                            Outcome::Success
                        }
                        Ended::BreakerOpen(until) => Outcome::BreakerOpen { until },
                        Ended::Failed(error, effects) => {
                            let failure = error.failure(effects);
                            self.cause = Some(error);
                            Outcome::Failed(failure)
                        }
                        Ended::Stopped(error) => return Err(error),
                    };
                    self.ladder.ended(self.core.clock.now(), outcome);
                    self.report_attempt();
                }
                (NextStep::Done, Some(execution)) => {
                    return Ok(Execution { path: self.ladder.path().clone(), ..execution });
                }
                (NextStep::Done, None) => unreachable!("a ladder is done after a success only"),
                (NextStep::GiveUp(why), _) => {
                    self.core.notify(&ManagerEvent::GaveUp { work: self.job.name(), why: &why });
                    let unspecified = self.settle();
                    let (path, cause) = (self.ladder.path().clone(), self.cause.take());
                    return Err(failed(self.job, path, why, cause, unspecified));
                }
            }
        }
    }

    /// What the ladder wants done before an attempt.
    async fn before(&self, next: &NextAttempt) {
        let (core, work) = (self.core, self.job.name());
        let slot = &core.slots[self.order.slots[next.device]];
        if let Some(rung) = next.rung {
            let before = self.ladder.path().attempts().last();
            let reason = before.map_or("", |attempt| match attempt.ending {
                Ending::Failed(class) => class.word(),
                _ => "breaker-open",
            });
            let from = before.map_or("", |attempt| &*attempt.device);
            let (device, level, delay) = (slot.name(), next.level, next.delay);
            core.notify(&ManagerEvent::Rung(RungTaken { work, rung, from, reason, device, level, delay }));
        }
        if let Some(left) = next.open_breaker
            && let Some(breaker) = core.breaker(self.order.slots[left], work)
        {
            breaker.trip();
        }
        if next.rung == Some(Rung::ReleaseMemory)
            && let Some(generation) = slot.alive()
        {
            core.release_memory(&generation);
        }
        if !next.delay.is_zero() {
            let at = core.clock.now().saturating_add(next.delay);
            Sleep::until(Arc::clone(&core.clock), at).await;
        }
        if next.restore {
            core.notify(&ManagerEvent::Restored { work, buffers: self.snapshot.buffers() });
        }
    }

    async fn attempt(&mut self, next: &NextAttempt) -> Ended {
        let since = self.core.clock.now();
        let deadline = self.ladder.started(since);
        let (core, job, options) = (self.core, self.job, self.options);
        let (snapshot, turn) = (&self.snapshot, &self.turn);
        let _degraded = (next.level > 0).then(|| core.slots[self.order.slots[next.device]].degrade());
        let span = self.span;
        let attempt = Attempt { core, job, options, span, snapshot, turn, next, since, deadline };
        attempt.on(self.order.slots[next.device]).await
    }

    fn report_attempt(&self) {
        if let Some(record) = self.ladder.path().attempts().last() {
            let (execution, work, cause) = (self.execution, self.job.name(), self.cause.as_ref());
            self.core.notify(&ManagerEvent::Attempt { execution, work, record, cause });
        }
    }

    /// Puts the buffers in order after the last attempt failed; gives the labels of those whose
    /// contents are unspecified.
    fn settle(&self) -> Vec<String> {
        let left = self.job.written().filter(|memory| !memory.settle(self.snapshot.whole_patches(memory)));
        left.map(|memory| memory.label().to_owned()).collect()
    }
}

/// However an execution ends, its buffers are in order: also if its future is dropped, as between two
/// attempts, or if a check panics. Work that still runs does the same at its end.
impl Drop for Climb<'_> {
    fn drop(&mut self) {
        if self.turn.is_last() {
            let _unspecified = self.settle();
        }
    }
}

fn failed(
    job: &Job<'_>,
    path: Path,
    why: GiveUp,
    cause: Option<AttemptError>,
    unspecified: Vec<String>,
) -> ManagerError {
    let work = job.name().to_string();
    ManagerError::Failed(Box::new(Failed { work, path, why, cause, unspecified }))
}
