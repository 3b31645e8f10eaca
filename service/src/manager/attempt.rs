//! One attempt of a job on one device.
//!
//! Owns [`Attempt`]. Invariants: an attempt that is refused before anything was committed has no
//! effects; a success is noted on all buffers or on none; work that still runs when its attempt is
//! abandoned keeps its buffers' turn until it has ended.

use std::sync::Arc;
use std::time::Duration;

use anymetal::command::{Cancellation, Deadline as CommandDeadline};
use anymetal::error::ErrorClass;
use anymetal::profile::Timing;
use anymetal::{Error, Outcome, Submission};
use anymetal_policy::deadline::Deadline;
use anymetal_policy::ladder::{Effects, NextAttempt, Path};
use anymetal_policy::timeout::within;
use anymetal_telemetry::span::Span;

use super::buffer::resolve;
use super::core::Core;
use super::error::{AttemptError, ManagerError};
use super::execution::Execution;
use super::gate::{BufferUses, Pass, StreamUse};
use super::generation::{Generation, StreamLease};
use super::graph::Placed;
use super::job::{Job, JobPiece};
use super::launch::Produced;
use super::memory::{CopyError, Durability, Memory};
use super::observe::ManagerEvent;
use super::run::Options;
use super::snapshot::Snapshot;

/// The turn of an execution on its buffers, which abandoned work keeps until its end.
#[derive(Clone)]
pub(super) struct Turn {
    pass: Arc<Pass<BufferUses>>,
}

impl Turn {
    pub(super) fn new(pass: Pass<BufferUses>) -> Self {
        Turn { pass: Arc::new(pass) }
    }

    /// Whether nobody else keeps it, as work does that was abandoned and still runs.
    pub(super) fn is_last(&self) -> bool {
        Arc::strong_count(&self.pass) == 1
    }
}

/// How an attempt ended.
pub(super) enum Ended {
    /// All but the path of it.
    Succeeded(Execution),
    /// The breaker did not let it through, or the device is lost and not rebuilt; until when that stays
    /// so at least, `None`: for ever.
    BreakerOpen(Option<Duration>),
    Failed(AttemptError, Effects),
    /// No attempt on any device can succeed.
    Stopped(ManagerError),
}

/// Why an attempt ends early.
enum Stop {
    Failed(AttemptError, Effects),
    Stopped(ManagerError),
}

/// Whatever fails before a commit has no effects.
impl<E: Into<AttemptError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Stop::Failed(error.into(), Effects::None)
    }
}

pub(super) struct Attempt<'a> {
    pub(super) core: &'a Arc<Core>,
    pub(super) job: &'a Job<'a>,
    pub(super) options: &'a Options<'a>,
    /// What its submissions are part of.
    pub(super) span: &'a Span,
    pub(super) snapshot: &'a Arc<Snapshot>,
    pub(super) turn: &'a Turn,
    pub(super) next: &'a NextAttempt,
    /// When it began.
    pub(super) since: Duration,
    pub(super) deadline: Deadline,
}

impl Attempt<'_> {
    /// Runs it on the device of that slot.
    pub(super) async fn on(&self, slot: usize) -> Ended {
        let core = self.core;
        let Some(site) = core.acquire(slot) else {
            return Ended::BreakerOpen(core.slots[slot].available_from(core.clock.now()));
        };
        let permit = match core.breaker(slot, self.job.name()).map(|breaker| breaker.permit()) {
            None => None,
            Some(Ok(permit)) => Some(permit),
            Some(Err(refusal)) => return Ended::BreakerOpen(Some(refusal.until(core.clock.now()))),
        };
        let ended = self.at(&site).await;
        match (&ended, permit) {
            (Ok(_), Some(permit)) => permit.success(),
            (Err(Stop::Failed(error, _)), Some(permit)) => permit.failure(error.class()),
            (Err(Stop::Stopped(_)), _) | (_, None) => {}
        }
        match ended {
            Ok(execution) => Ended::Succeeded(execution),
            Err(Stop::Stopped(error)) => Ended::Stopped(error),
            Err(Stop::Failed(error, effects)) => {
                if error.loses_device() {
                    core.lose(slot, site.number(), &error.to_string());
                }
                Ended::Failed(error, effects)
            }
        }
    }

    async fn at(&self, site: &Arc<Generation>) -> Result<Execution, Stop> {
        let (core, slot) = (self.core, &self.core.slots[site.slot()]);
        let _place = match slot.bulkhead() {
            Some(bulkhead) => Some(bulkhead.enter_async(self.deadline).await.map_err(AttemptError::from)?),
            None => None,
        };
        let stream_use = if self.next.level > 0 { StreamUse::Alone } else { StreamUse::One };
        let entered = within(&core.clock, self.deadline, site.streams().enter(stream_use)).await;
        let lease = site.stream(entered.ok_or(AttemptError::NotStarted)?)?;
        let started = core.clock.now();
        let ended = self.with(site, lease).await;
        let now = core.clock.now();
        let latency = ended.is_ok().then(|| now.saturating_sub(started));
        let exhausted =
            |stop: &Stop| matches!(stop, Stop::Failed(error, _) if error.class() == ErrorClass::Exhausted);
        slot.note_end(now, latency, ended.as_ref().err().is_some_and(exhausted));
        ended
    }

    async fn with(&self, site: &Arc<Generation>, lease: StreamLease) -> Result<Execution, Stop> {
        let pieces = self.job.pieces(self.next.level)?;
        pieces.iter().try_for_each(|piece| piece.prepare(site))?;
        let placed = self.place(site)?;
        let (mut device_time, mut timing, mut effects) = (Duration::ZERO, Timing::default(), Effects::None);
        let mut lease = Some(lease);
        for piece in &pieces {
            let Some(stream_lease) = lease.take() else { break };
            let running =
                self.commit(piece, site, stream_lease, &placed).map_err(|stop| stop.after(effects))?;
            let (outcome, back) = self.wait(running).await;
            match outcome {
                Ok(ended) => (timing, device_time) = (ended, device_time + ended.device_time()),
                Err((error, of_piece)) => {
                    let any = effects == Effects::Possible || of_piece == Effects::Possible;
                    return Err(Stop::Failed(error, if any { Effects::Possible } else { Effects::None }));
                }
            }
            (lease, effects) = (Some(back), Effects::Possible);
        }
        self.finish(site, &placed).map_err(|error| Stop::Failed(error, Effects::Possible))?;
        let (device, pieces) = (Arc::clone(site.name()), pieces.len());
        let is_reduced = self.job.is_reduced(self.next.level);
        Ok(Execution { device, timing, device_time, pieces, is_reduced, path: Path::default() })
    }

    /// Brings the present contents of all buffers to the device.
    fn place(&self, site: &Generation) -> Result<Placed, Stop> {
        let mut placed = Placed::new();
        for used in self.job.memories() {
            let memory = &used.memory;
            let patches = if self.next.restore { self.snapshot.patches(memory) } else { &[] };
            let was_there = memory.is_on(site.slot());
            let note = |failure: Option<&Error>| {
                let (device, label, bytes) = (&**site.name(), memory.label(), memory.length());
                if !was_there {
                    self.core.notify(&ManagerEvent::Allocated { device, label, bytes, failure });
                }
            };
            let buffer = loop {
                let placing = match used.overwritten {
                    true => memory.place_to_overwrite(site),
                    false => memory.place(site, patches),
                };
                match placing {
                    Ok(buffer) => {
                        note(None);
                        break buffer;
                    }
                    Err(CopyError::Target(error)) => {
                        note(Some(&error));
                        return Err((*error).into());
                    }
                    Err(error) => match resolve(self.core, memory, error) {
                        Ok(()) => {}
                        Err(ManagerError::Call(error)) => return Err(error.into()),
                        Err(lost) => return Err(Stop::Stopped(lost)),
                    },
                }
            };
            placed.insert(memory.id(), buffer);
        }
        Ok(placed)
    }

    fn commit(
        &self,
        piece: &JobPiece<'_>,
        site: &Arc<Generation>,
        lease: StreamLease,
        placed: &Placed,
    ) -> Result<Running, Stop> {
        let left = self.deadline.remaining(self.core.clock.now());
        let deadline = left.map_or(CommandDeadline::Default, CommandDeadline::After);
        let _inside = self.span.enter();
        let submission = self.job.submit(piece, site, lease.queue(), placed, deadline)?;
        let written: Vec<Arc<Memory>> = self.job.written().cloned().collect();
        written.iter().for_each(|memory| memory.begin_write(site));
        let (turn, snapshot) = (self.turn.clone(), Arc::clone(self.snapshot));
        Ok(Running {
            submission,
            resources: Some(AttemptResources { _turn: turn, lease, written, snapshot }),
        })
    }

    /// Waits for a piece; gives its stream back if it has ended.
    async fn wait(&self, mut running: Running) -> (Result<Timing, (AttemptError, Effects)>, StreamLease) {
        let outcome = self.outcome(&running.submission).await;
        let outcome = outcome.unwrap_or_else(|| match running.submission.cancel() {
            Cancellation::Removed => Err((AttemptError::NotStarted, Effects::None)),
            Cancellation::Stopping | Cancellation::TooLate | Cancellation::Ended => {
                match running.submission.outcome() {
                    Some(outcome) => result_of(outcome),
                    None => Err((self.hang(), Effects::Possible)),
                }
            }
        });
        (outcome, running.take_lease())
    }

    /// How it ended; `None`: it has not, and its time is over.
    async fn outcome(&self, submission: &Submission) -> Option<Result<Timing, (AttemptError, Effects)>> {
        let Some(at) = self.deadline.time() else {
            return Some(result_of(match self.options.blocking {
                true => submission.wait(),
                false => submission.clone().await,
            }));
        };
        let until = Deadline::after(at, self.core.hang_grace);
        within(&self.core.clock, until, submission.clone()).await.map(result_of)
    }

    fn hang(&self) -> AttemptError {
        AttemptError::Hang { after: self.core.clock.now().saturating_sub(self.since) }
    }

    /// Checks the result, copies it to the host where that is wanted, and notes it.
    fn finish(&self, site: &Generation, placed: &Placed) -> Result<(), AttemptError> {
        if let Some(verify) = &self.options.verify {
            let produced = Produced::new(self.job.name(), placed);
            if !verify(&produced)? {
                return Err(AttemptError::WrongResult);
            }
        }
        let mut results = Vec::new();
        for memory in self.job.written() {
            let host = match (memory.durability(), placed.get(&memory.id())) {
                (Durability::HostCopy, Some(buffer)) => {
                    let mut bytes = vec![0; memory.length() as usize];
                    buffer.as_hal().read(0, &mut bytes).map_err(Error::from)?;
                    Some(bytes)
                }
                (Durability::HostCopy | Durability::Uploaded, _) => None,
            };
            results.push((memory, host));
        }
        let note = || results.into_iter().for_each(|(memory, host)| memory.finish_write(site, host));
        let noted = site.while_alive(note);
        noted.ok_or_else(|| AttemptError::from(Error::from(site.lost_error())))
    }
}

impl Stop {
    /// The same after an earlier piece had effects.
    fn after(self, earlier: Effects) -> Self {
        match self {
            Stop::Failed(error, Effects::None) => Stop::Failed(error, earlier),
            other => other,
        }
    }
}

fn result_of(outcome: Outcome) -> Result<Timing, (AttemptError, Effects)> {
    outcome.map_err(|error| (AttemptError::from(error), Effects::Possible))
}

/// Committed work of an attempt. Dropped before its end, as when the future of an execution is
/// dropped, it is taken back, or keeps what it uses until it has ended.
struct Running {
    submission: Submission,
    resources: Option<AttemptResources>,
}

struct AttemptResources {
    _turn: Turn,
    lease: StreamLease,
    written: Vec<Arc<Memory>>,
    snapshot: Arc<Snapshot>,
}

impl Running {
    fn take_lease(&mut self) -> StreamLease {
        self.resources.take().expect("taken once, at the end").lease
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(resources) = self.resources.take() else { return };
        let _answer = self.submission.cancel();
        self.submission.on_done(move |_outcome| {
            for memory in &resources.written {
                let _is_restored = memory.settle(resources.snapshot.whole_patches(memory));
            }
            drop(resources);
        });
    }
}
