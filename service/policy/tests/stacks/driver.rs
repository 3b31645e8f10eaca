//! Drives calls through a stack as an execution manager does, in virtual time.
//!
//! Owns [`World`]. It also watches the rules that hold in every cell of the table: work that is
//! restored finds its memory as it was, work that runs once is not run after it may have written,
//! and nothing runs after the ladder gave up.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::Duration;

use anymetal_hal::clock::{Clock, ManualClock, Sleep};
use anymetal_hal::error::ErrorClass;
use anymetal_policy::breaker::Breakers;
use anymetal_policy::bulkhead::Bulkhead;
use anymetal_policy::deadline::Deadline;
use anymetal_policy::idempotence::{NotRetryable, Replay, SnapshotPlan};
use anymetal_policy::ladder::{
    Effects, Failure, GiveUp, Ladder, NextAttempt, NextStep, Outcome, Request, Resource, Rung,
};
use anymetal_policy::policies::Policies;
use anymetal_policy::virtual_time::{Simulated, run_all};

use crate::script::{Device, ReplayWord, Script, deadline_exceeded};

/// Devices, what is shared between calls, and time.
pub(crate) struct World<'a> {
    policies: &'a Policies,
    script: &'a Script,
    clock: Arc<ManualClock>,
    devices: Vec<RefCell<Device>>,
    breakers: Option<Breakers<usize>>,
    bulkheads: Vec<Option<Bulkhead>>,
    calls: Cell<u64>,
}

/// The memory that the work of one call changes.
#[derive(Default)]
struct Memory {
    written: Cell<bool>,
}

impl<'a> World<'a> {
    pub(crate) fn new(policies: &'a Policies, script: &'a Script) -> Self {
        let clock = ManualClock::new();
        let devices: Vec<_> = script.devices().into_iter().map(RefCell::new).collect();
        let breakers = policies.breaker.map(|policy| Breakers::new(policy, clock.clone(), 8).unwrap());
        let bulkhead = || policies.bulkhead.map(|policy| Bulkhead::new(policy, clock.clone()));
        let bulkheads = devices.iter().map(|_| bulkhead()).collect();
        World { policies, script, clock, devices, breakers, bulkheads, calls: Cell::new(0) }
    }

    /// Makes all calls of the script; gives a line for each, in the order in which they began.
    pub(crate) fn run(&self) -> Vec<String> {
        let rows: Vec<Simulated<'_, Vec<String>>> = (0..self.script.at_once)
            .map(|_| -> Simulated<'_, Vec<String>> { Box::pin(self.calls_in_a_row()) })
            .collect();
        run_all(&self.clock, rows).into_iter().flat_map(|row| row.expect("no call hangs")).collect()
    }

    async fn calls_in_a_row(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for number in 0..self.script.calls {
            if let Some(pause) = self.script.pause.filter(|_| number > 0) {
                self.sleep(pause.0).await;
            }
            lines.push(self.call().await);
        }
        lines
    }

    async fn call(&self) -> String {
        let (mut ladder, memory) = (self.ladder(), Memory::default());
        while let NextStep::Run(next) = ladder.step() {
            self.prepare(&next, &memory).await;
            let deadline = ladder.started(self.clock.now());
            let outcome = self.attempt(&next, deadline, &memory).await;
            ladder.ended(self.clock.now(), outcome);
        }
        let end = match ladder.step() {
            NextStep::GiveUp(GiveUp::NoRungLeft(_)) | NextStep::Done => String::new(),
            NextStep::GiveUp(why) => format!("; {}", why.word()),
            NextStep::Run(_) => unreachable!("the ladder has ended"),
        };
        format!("{}{end}", ladder.path())
    }

    fn ladder(&self) -> Ladder {
        let call = self.calls.replace(self.calls.get() + 1);
        let request = Request {
            devices: self.devices.iter().map(|device| Arc::from(device.borrow().name)).collect(),
            replay: match self.script.replay {
                ReplayWord::Idempotent => Replay::Idempotent,
                ReplayWord::Restore => Replay::Restore(SnapshotPlan::default()),
                ReplayWord::Once => Replay::NotRetryable(NotRetryable::Declared),
            },
            most_degraded: self.script.most_degraded,
            budget: self.policies.deadline.start(self.clock.now(), Deadline::NEVER),
            call,
        };
        Ladder::new(&self.policies.ladder, &self.policies.retry, request).unwrap()
    }

    /// Everything that an attempt wants before it, in the order in which it says so.
    async fn prepare(&self, next: &NextAttempt, memory: &Memory) {
        if next.rung == Some(Rung::ReleaseMemory) {
            self.devices[next.device].borrow_mut().release_idle_memory();
        }
        if let (Some(left), Some(breakers)) = (next.open_breaker, &self.breakers) {
            breakers.get(&left).unwrap().trip();
        }
        self.sleep(next.delay).await;
        if next.restore {
            memory.written.set(false);
        }
    }

    async fn attempt(&self, next: &NextAttempt, deadline: Deadline, memory: &Memory) -> Outcome {
        let full =
            Failure { class: ErrorClass::Exhausted, resource: Some(Resource::Queue), effects: Effects::None };
        let _place = match &self.bulkheads[next.device] {
            Some(bulkhead) => match bulkhead.enter_async(deadline).await {
                Ok(place) => Some(place),
                Err(_) => return Outcome::Failed(full),
            },
            None => None,
        };
        let breaker = self.breakers.as_ref().map(|breakers| breakers.get(&next.device).unwrap());
        let permit = match breaker.as_ref().map(|breaker| breaker.permit()).transpose() {
            Ok(permit) => permit,
            Err(refusal) => return Outcome::BreakerOpen { until: Some(refusal.until(self.clock.now())) },
        };
        let ended = self.run_on_device(next, deadline, memory).await;
        if let Some(permit) = permit {
            permit.result(&ended.map_err(|failure| failure.class));
        }
        match ended {
            Ok(()) => Outcome::Success,
            Err(failure) => Outcome::Failed(failure),
        }
    }

    async fn run_on_device(
        &self,
        next: &NextAttempt,
        deadline: Deadline,
        memory: &Memory,
    ) -> Result<(), Failure> {
        let run = self.devices[next.device].borrow_mut().attempt(next.level);
        if self.script.replay != ReplayWord::Idempotent {
            assert!(!memory.written.get(), "it ran on what an earlier attempt had written");
        }
        let left = deadline.remaining(self.clock.now());
        let stopped = left.filter(|left| *left < run.takes);
        self.sleep(stopped.unwrap_or(run.takes)).await;
        let ends = match stopped {
            Some(after) => Err(Failure::ran(&deadline_exceeded(after))),
            None => run.ends,
        };
        if ends.is_err_and(|failure| failure.effects == Effects::Possible) {
            memory.written.set(true);
        }
        ends
    }

    async fn sleep(&self, time: Duration) {
        let clock: Arc<dyn Clock> = self.clock.clone();
        Sleep::until(clock, self.clock.now() + time).await;
    }
}
