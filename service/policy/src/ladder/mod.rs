//! The recovery ladder: what to try next after a failed attempt (REL-3).
//!
//! Owns [`Ladder`], a state machine of one call that runs nothing itself: it is told how each
//! attempt ended and answers with the next [`NextStep`]. Its rungs are in `policy`, what it is told in
//! `outcome`, what it tells of all attempts in `path`.
//!
//! Invariants: a ladder ends, after at most `rounds × devices × (attempts + 1 + levels)` attempts, where
//! `rounds` is 1, or `attempts` with the rung that waits; after its end it gives no attempt; an attempt
//! after one that may have written something says that a snapshot must be restored first, unless the work
//! is idempotent, and is not given at all if it may not run again.

mod outcome;
mod path;
mod policy;

use std::sync::Arc;
use std::time::Duration;

use anymetal_hal::error::ErrorClass;

use crate::classified::is_retried;
use crate::deadline::{Deadline, TimeBudget};
use crate::idempotence::{NotRetryable, Replay};
use crate::invalid::{InvalidPolicy, require};
use crate::retry::{RetryPolicy, Schedule};

pub use outcome::{Effects, Failure, GiveUp, Outcome, Resource};
pub use path::{AttemptRecord, Ending, Path};
pub use policy::{LadderPolicy, LadderPolicyBuilder, Rung};

/// What a call brings to its ladder.
#[derive(Debug, Clone)]
pub struct Request {
    /// The names of the devices that can run it, the preferred one first.
    pub devices: Vec<Arc<str>>,
    /// What must be done before it runs again.
    pub replay: Replay,
    /// The most degraded level that the work allows; 0: it cannot be split.
    pub most_degraded: u8,
    /// Its time.
    pub budget: TimeBudget,
    /// Its number, by which its delays are spread.
    pub call: u64,
}

/// The next attempt. Its parts are to be done in the order of the fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextAttempt {
    /// The rung that led to it; `None`: it is the first. [`Rung::ReleaseMemory`]: release idle
    /// memory.
    pub rung: Option<Rung>,
    /// Open the breaker of this device, which is left because it fails.
    pub open_breaker: Option<usize>,
    /// Wait that long.
    pub delay: Duration,
    /// Restore the snapshot: an earlier attempt may have written something.
    pub restore: bool,
    /// Run on this device, an index into [`Request::devices`].
    pub device: usize,
    /// In this mode; 0 is the full one, each further one uses less at once.
    pub level: u8,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextStep {
    /// Run the work: [`Ladder::started`], then [`Ladder::ended`].
    Run(NextAttempt),
    /// It succeeded.
    Done,
    /// It failed.
    GiveUp(GiveUp),
}

/// The recovery ladder of one call.
#[derive(Debug)]
pub struct Ladder {
    policy: LadderPolicy,
    retry: RetryPolicy,
    request: Request,
    climb: Climb,
    round: Round,
    /// The least delay before each further round.
    waits: Schedule,
    /// An attempt may have written something. Stays so: to restore twice is harmless.
    dirty: bool,
    phase: Phase,
    path: Path,
}

/// Where the ladder is on the present device.
#[derive(Debug)]
struct Climb {
    device: usize,
    /// The index of the rung to try next.
    rung: usize,
    level: u8,
    schedule: Schedule,
}

/// One turn around the devices.
#[derive(Debug)]
struct Round {
    /// How many devices were begun with.
    begun: usize,
    /// Those that refused, and when they may let a call through.
    refused: Vec<(usize, Duration)>,
}

impl Round {
    fn new() -> Self {
        Round { begun: 1, refused: Vec::new() }
    }
}

#[derive(Debug)]
enum Phase {
    Before(NextAttempt),
    Running { attempt: NextAttempt, since: Duration },
    Ended(NextStep),
}

impl Ladder {
    /// A ladder before its first attempt. A request without a device is refused.
    pub fn new(policy: &LadderPolicy, retry: &RetryPolicy, request: Request) -> Result<Self, InvalidPolicy> {
        let devices = &request.devices;
        require(!devices.is_empty(), "ladder.devices", devices, "without a device nothing runs")?;
        let first = NextAttempt {
            rung: None,
            open_breaker: None,
            delay: Duration::ZERO,
            restore: false,
            device: 0,
            level: 0,
        };
        Ok(Ladder {
            climb: Climb::new(0, retry.schedule(request.call)),
            round: Round::new(),
            waits: retry.schedule(request.call),
            policy: policy.clone(),
            retry: retry.clone(),
            request,
            dirty: false,
            phase: Phase::Before(first),
            path: Path::default(),
        })
    }

    /// The step to take now.
    pub fn step(&self) -> NextStep {
        match &self.phase {
            Phase::Before(attempt) | Phase::Running { attempt, .. } => NextStep::Run(attempt.clone()),
            Phase::Ended(step) => step.clone(),
        }
    }

    /// The attempt of the step begins now; gives its deadline. Has no effect unless one is to
    /// begin.
    pub fn started(&mut self, now: Duration) -> Deadline {
        if let Phase::Before(attempt) = &self.phase {
            self.phase = Phase::Running { attempt: attempt.clone(), since: now };
        }
        self.request.budget.attempt(now)
    }

    /// The attempt ended; gives the step to take now. One that was not told to begin began now. Has
    /// no effect after the end of the ladder.
    pub fn ended(&mut self, now: Duration, outcome: Outcome) -> NextStep {
        let (attempt, since) = match &self.phase {
            Phase::Before(attempt) => (attempt, now),
            Phase::Running { attempt, since } => (attempt, *since),
            Phase::Ended(step) => return step.clone(),
        };
        let record = self.record(attempt, since, now, outcome);
        self.path.push(record);
        self.phase = match self.next(now, outcome) {
            NextStep::Run(attempt) => Phase::Before(attempt),
            end => Phase::Ended(end),
        };
        self.step()
    }

    /// All attempts that ended.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All attempts, for the result to tell.
    pub fn into_path(self) -> Path {
        self.path
    }

    fn record(
        &self,
        attempt: &NextAttempt,
        since: Duration,
        now: Duration,
        outcome: Outcome,
    ) -> AttemptRecord {
        AttemptRecord {
            device: Arc::clone(&self.request.devices[attempt.device]),
            level: attempt.level,
            rung: attempt.rung,
            restored: attempt.restore,
            started: since,
            ended: now,
            ending: match outcome {
                Outcome::Success => Ending::Success,
                Outcome::Failed(failure) => Ending::Failed(failure.class),
                Outcome::BreakerOpen { .. } => Ending::BreakerOpen,
            },
        }
    }

    fn next(&mut self, now: Duration, outcome: Outcome) -> NextStep {
        let failure = match outcome {
            Outcome::Success => return NextStep::Done,
            Outcome::BreakerOpen { until } => {
                self.round.refused.extend(until.map(|until| (self.climb.device, until)));
                None
            }
            Outcome::Failed(failure) => Some(failure),
        };
        self.dirty |= failure.is_some_and(|failure| failure.effects == Effects::Possible);
        if failure.is_some_and(|failure| failure.class == ErrorClass::Caller) {
            return NextStep::GiveUp(GiveUp::Caller);
        }
        if let Some(why) = self.forbids_replay() {
            return NextStep::GiveUp(GiveUp::NotRetryable(why));
        }
        if self.request.budget.total().has_passed(now) {
            return NextStep::GiveUp(GiveUp::Deadline);
        }
        let on_same_device = failure.filter(|failure| is_retried(failure.class));
        let climbed = on_same_device.and_then(|failure| self.climb(now, failure));
        let class = failure.map(|failure| failure.class);
        let elsewhere = climbed.or_else(|| self.fall_back(class)).or_else(|| self.wait(now, class));
        elsewhere.unwrap_or(NextStep::GiveUp(match class {
            Some(class) => GiveUp::NoRungLeft(class),
            None => GiveUp::BreakerOpen,
        }))
    }

    fn forbids_replay(&self) -> Option<NotRetryable> {
        match &self.request.replay {
            Replay::NotRetryable(why) if self.dirty => Some(why.clone()),
            Replay::NotRetryable(_) | Replay::Idempotent | Replay::Restore(_) => None,
        }
    }

    /// The next attempt on the same device, if a rung is left.
    fn climb(&mut self, now: Duration, failure: Failure) -> Option<NextStep> {
        while let Some(rung) = self.policy.rungs().get(self.climb.rung).copied() {
            match rung {
                Rung::Retry => {
                    let total = self.request.budget.total();
                    let delay = self.climb.schedule.next().filter(|delay| total.allows_delay(now, *delay));
                    if let Some(delay) = delay {
                        return Some(self.attempt(rung, delay, None));
                    }
                    self.climb.rung += 1;
                }
                Rung::ReleaseMemory => {
                    self.climb.rung += 1;
                    if failure.resource == Some(Resource::Memory) {
                        return Some(self.attempt(rung, Duration::ZERO, None));
                    }
                }
                Rung::Degrade => {
                    if self.climb.level < self.policy.levels().min(self.request.most_degraded) {
                        self.climb.level += 1;
                        return Some(self.attempt(rung, Duration::ZERO, None));
                    }
                    self.climb.rung += 1;
                }
                Rung::Fallback | Rung::Wait => return None,
            }
        }
        None
    }

    /// The first attempt on the next device, if there is one in this round.
    fn fall_back(&mut self, class: Option<ErrorClass>) -> Option<NextStep> {
        let devices = self.request.devices.len();
        if !self.policy.rungs().contains(&Rung::Fallback) || self.round.begun >= devices {
            return None;
        }
        self.round.begun += 1;
        let next = (self.climb.device + 1) % devices;
        Some(self.go_to(next, class, Rung::Fallback, Duration::ZERO))
    }

    /// The first attempt of another round, on the device that refused and first lets a call through, if
    /// the time allows to wait for it.
    fn wait(&mut self, now: Duration, class: Option<ErrorClass>) -> Option<NextStep> {
        if !self.policy.rungs().contains(&Rung::Wait) {
            return None;
        }
        let (next, until) = self.round.refused.iter().copied().min_by_key(|(_, until)| *until)?;
        let delay = self.waits.next()?.max(until.saturating_sub(now));
        if !self.request.budget.total().allows_delay(now, delay) {
            return None;
        }
        self.round = Round::new();
        Some(self.go_to(next, class, Rung::Wait, delay))
    }

    /// The first attempt on another device; the breaker of a device that fails is opened. One that ran
    /// out of something is not broken.
    fn go_to(&mut self, next: usize, class: Option<ErrorClass>, rung: Rung, delay: Duration) -> NextStep {
        let fails = matches!(class, Some(ErrorClass::Transient | ErrorClass::Lost));
        let open_breaker = (fails && next != self.climb.device).then_some(self.climb.device);
        // Another number than that of the call, so that two devices do not have the same jitter.
        let spread = self.request.call.wrapping_add((next as u64) << 48);
        self.climb = Climb::new(next, self.retry.schedule(spread));
        self.attempt(rung, delay, open_breaker)
    }

    fn attempt(&self, rung: Rung, delay: Duration, open_breaker: Option<usize>) -> NextStep {
        let restore = self.dirty && matches!(self.request.replay, Replay::Restore(_));
        let Climb { device, level, .. } = self.climb;
        NextStep::Run(NextAttempt { rung: Some(rung), open_breaker, delay, restore, device, level })
    }
}

impl Climb {
    fn new(device: usize, schedule: Schedule) -> Self {
        Climb { device, rung: 0, level: 0, schedule }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
