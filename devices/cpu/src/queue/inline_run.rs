//! Runs of one short dispatch on the thread that waits for it, without a command buffer.
//!
//! Owns [`QueueCore::run_inline`] and [`RunWatch`], the deadline of such runs. Invariant: a run leads its
//! queue, so that what is submitted meanwhile comes after it; it is one that [`inline_policy`] expects to run
//! inline, and obeys the rules of a submitted one. Concurrency: the watch is guarded by the queue's state.
//! One alarm serves many runs: setting and clearing one for each would cost a third of a run.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};
use std::time::Duration;

use anymetal_hal::buffer::Buffer;
use anymetal_hal::clock::AlarmId;
use anymetal_hal::command::{Command, CommandList, Deadline, Timestamps};
use anymetal_hal::completion::{Outcome, Timing};
use anymetal_hal::error::DeviceError;

use super::execution::{deadline_exceeded, panicked};
use super::{QueueCore, Role};
use crate::command_buffer::{CommandStep, LaunchTables, each_buffer};
use crate::execute::{Ended, Executor, ResidentMemory};
use crate::inline_policy;
use crate::pipeline::cpu_pipeline;
use crate::pool::SchedulePlace;
use crate::stack;

/// The deadline of the run in progress, and the alarm that watches it.
#[derive(Debug, Default)]
pub(super) struct RunWatch {
    /// When the run in progress is to be stopped, by the device's clock.
    until: Option<Duration>,
    /// When the alarm that is set goes off; never later than `until`.
    armed_at: Option<Duration>,
    /// The latest alarm.
    alarm: Option<AlarmId>,
}

/// The lead of a queue for one run.
struct Lead<'a> {
    core: &'a Arc<QueueCore>,
    tables: LaunchTables,
}

/// The buffers of a submission that count as in use.
struct InUse<'a> {
    submission: &'a CommandList,
    begun: usize,
}

impl QueueCore {
    /// See [`anymetal_hal::queue::Queue::run_inline`].
    pub(super) fn run_inline(self: &Arc<Self>, submission: &CommandList) -> Option<Outcome> {
        let may_be_short = match submission.commands.as_slice() {
            [] => true,
            [Command::Dispatch(dispatch)] => inline_policy::has_streak(dispatch.pipeline()),
            _ => false,
        };
        let is_plain = submission.timestamps == Timestamps::CommandBuffer;
        if !may_be_short || !is_plain || !self.device.account.gate.is_free_to_share() {
            return None;
        }
        let mut lead = Lead::take(self)?;
        // A mistake is told by `submit`.
        self.preparer().prepare_again(submission, &mut lead.tables).ok()?;
        let is_short = inline_policy::is_short(submission, &lead.tables);
        if !is_short || lead.tables.stack_bytes > stack::left_here() {
            return None;
        }
        let _in_use = InUse::begin(submission)?;
        Some(lead.run(submission))
    }
}

impl<'a> Lead<'a> {
    /// Takes the lead of a queue that has nothing to do.
    fn take(core: &'a Arc<QueueCore>) -> Option<Self> {
        let mut state = core.lock();
        if state.role != Role::Idle {
            return None;
        }
        state.role = Role::Running;
        let tables = std::mem::take(&mut state.spare_tables);
        drop(state);
        core.device.serial_submissions.begin();
        Some(Lead { core, tables })
    }

    /// Runs what was prepared.
    fn run(&self, submission: &CommandList) -> Outcome {
        let core = self.core;
        let started_ns = core.begin_run(submission.deadline);
        let run = std::panic::AssertUnwindSafe(|| self.execute(submission));
        let ran = std::panic::catch_unwind(run).unwrap_or_else(|panic| {
            let kernel = match submission.commands.first() {
                Some(Command::Dispatch(dispatch)) => Some(dispatch.kernel().name.as_str()),
                _ => None,
            };
            Err(panicked(kernel, &panic))
        });
        let timing = Timing::new(started_ns, started_ns, core.device.now_ns());
        ran?;
        inline_policy::note(submission, &self.tables, timing.device_time());
        Ok(timing)
    }

    fn execute(&self, submission: &CommandList) -> Result<(), DeviceError> {
        let (core, tables) = (self.core, &self.tables);
        let device = &core.device;
        let (pool, account, priority) = (&device.pool, &device.account, core.descriptor.priority);
        let executor = Executor { pool, account, device: &device.name, stop: &core.run_stop, priority };
        let (Some(Command::Dispatch(dispatch)), Some(CommandStep::Dispatch(prepared))) =
            (submission.commands.first(), tables.steps.first())
        else {
            // Nothing, or a dispatch of nothing.
            return Ok(());
        };
        let pipeline =
            cpu_pipeline(dispatch.pipeline()).expect("a prepared dispatch has a pipeline of this device");
        let reach = ResidentMemory { submission, residency: &tables.residency };
        match executor.dispatch(pipeline, dispatch.bindings(), prepared, tables, reach)? {
            Ended::Completely => Ok(()),
            Ended::Stopped => {
                let after = submission.deadline.after(device.default_deadline);
                let after = after.expect("only a run with a deadline is watched, and so stopped");
                Err(deadline_exceeded(Some(&dispatch.kernel().name), after))
            }
        }
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let core = self.core;
        let mut state = core.lock();
        state.watch.until = None;
        state.spare_tables = std::mem::take(&mut self.tables);
        let more = !state.pending.is_empty();
        state.role = if more { Role::Scheduled } else { Role::Idle };
        drop(state);
        core.device.serial_submissions.end();
        if more {
            core.schedule(SchedulePlace::Elsewhere);
        }
    }
}

impl<'a> InUse<'a> {
    /// Begins a run on each buffer; `None`, and none is begun, if one of them refuses it.
    fn begin(submission: &'a CommandList) -> Option<Self> {
        let mut in_use = InUse { submission, begun: 0 };
        let mut refused = false;
        each_buffer(submission, &mut |buffer| {
            refused = refused || !buffer.uses().begin_run();
            in_use.begun += usize::from(!refused);
        });
        if refused { None } else { Some(in_use) }
    }
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        let mut left = self.begun;
        each_buffer(self.submission, &mut |buffer| {
            if left > 0 {
                left -= 1;
                buffer.uses().end_run();
            }
        });
    }
}

impl QueueCore {
    /// A run begins: its deadline, if it has one, is watched from here on. Gives the time by the device's
    /// clock.
    fn begin_run(self: &Arc<Self>, deadline: Deadline) -> u64 {
        let now = self.device.clock.now();
        self.run_stop.store(0, Ordering::Relaxed);
        if let Some(after) = deadline.after(self.device.default_deadline) {
            let until = now.saturating_add(after);
            let mut state = self.lock();
            state.watch.until = Some(until);
            if state.watch.armed_at.is_none_or(|at| at > until) {
                state.watch.armed_at = Some(until);
                drop(state);
                self.set_alarm(until);
            }
        }
        self.device.ns_at(now).max(1)
    }

    /// Sets the alarm that [`RunWatch::armed_at`] announces, in place of a later one.
    fn set_alarm(self: &Arc<Self>, at: Duration) {
        let waker = Waker::from(Arc::new(Watch { core: Arc::downgrade(self), at }));
        // Outside the lock: a waker of a time that has passed is woken at once.
        let alarm = self.device.clock.set_alarm(at, waker);
        let mut state = self.lock();
        // Meanwhile it may have gone off, or a run with an earlier deadline may have begun.
        let is_current = state.watch.armed_at == Some(at);
        let unused = if is_current { state.watch.alarm.replace(alarm) } else { Some(alarm) };
        drop(state);
        if let Some(unused) = unused {
            self.device.clock.clear_alarm(unused);
        }
    }

    /// The deadline of the run that set the alarm has passed; another may be in progress.
    fn check_run(self: &Arc<Self>, alarm_at: Duration) {
        let mut state = self.lock();
        if state.watch.armed_at != Some(alarm_at) {
            // An alarm that was replaced while it went off.
            return;
        }
        state.watch.armed_at = None;
        // Without a run, or without a deadline for it, nothing is to be watched.
        let Some(until) = state.watch.until else { return };
        if until <= self.device.clock.now() {
            self.run_stop.store(1, Ordering::Relaxed);
            return;
        }
        state.watch.armed_at = Some(until);
        drop(state);
        self.set_alarm(until);
    }
}

impl Drop for QueueCore {
    fn drop(&mut self) {
        let watch = std::mem::take(&mut self.lock().watch);
        if let Some(alarm) = watch.alarm {
            self.device.clock.clear_alarm(alarm);
        }
    }
}

/// The alarm of runs.
struct Watch {
    core: Weak<QueueCore>,
    at: Duration,
}

impl Wake for Watch {
    fn wake(self: Arc<Self>) {
        if let Some(core) = self.core.upgrade() {
            core.check_run(self.at);
        }
    }
}
