//! An executing command buffer: runs its commands in order until it ends or waits for an event.
//!
//! Invariant: `position` is the next command to run; a command buffer that waits for an event goes on there,
//! with the clock of its deadline running since a leader first looked at it.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};
use std::time::Duration;

use anymetal_hal::clock::AlarmId;
use anymetal_hal::command::{Command, CommandList, Dispatch, Timestamps};
use anymetal_hal::completion::{CommandTiming, CompletionSource, Timing};
use anymetal_hal::error::DeviceError;
use anymetal_hal::event::Event;
use anymetal_hal::matrix_product;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::queue::Priority;

use super::QueueCore;
use crate::command_buffer::{CommandStep, LaunchTables, PreparedDispatch};
use crate::device::DeviceShared;
use crate::execute::{Ended, Executor, ResidentMemory};
use crate::indirect::cpu_indirect;
use crate::inline_policy::{self, Expected};
use crate::pipeline::cpu_pipeline;
use crate::stack;

/// A command buffer with its execution state.
pub(super) struct CommandBuffer {
    pub(super) submission: CommandList,
    pub(super) tables: LaunchTables,
    pub(super) source: CompletionSource,
    pub(super) stop: Arc<StopSignal>,
    deadline: Option<Duration>,
    pub(super) expected: Expected,
    pub(super) timing: Timing,
    pub(super) armed: Option<AlarmId>,
    /// The next command.
    position: usize,
    /// When the command at `position` was first looked at, if that is asked for.
    command_started_ns: Option<u64>,
    pub(super) command_timings: Vec<CommandTiming>,
}

/// Tells a command buffer's kernels to leave, and wakes its queue if it is blocked.
pub(super) struct StopSignal {
    /// What kernels poll; one of the values below.
    pub(super) flag: AtomicU32,
    pub(super) queue: Weak<QueueCore>,
}

/// Kernels go on.
const GO_ON: u32 = 0;
/// They leave, because the deadline has passed.
const DEADLINE: u32 = 1;
/// They leave, because the submitter asked for it.
const STOPPED: u32 = 2;

impl StopSignal {
    /// At the request of the submitter.
    pub(super) fn stop(&self) {
        self.leave(STOPPED);
    }

    /// The first reason stays.
    fn leave(&self, reason: u32) {
        let _first = self.flag.compare_exchange(GO_ON, reason, Ordering::SeqCst, Ordering::SeqCst);
        if let Some(queue) = self.queue.upgrade() {
            queue.unblock();
        }
    }
}

/// The deadline has passed.
impl Wake for StopSignal {
    fn wake(self: Arc<Self>) {
        self.leave(DEADLINE);
    }
}

/// How far a command buffer got.
pub(super) enum Progress {
    Done,
    Blocked(Arc<dyn Event>, u64),
}

impl CommandBuffer {
    pub(super) fn new(
        submission: CommandList,
        tables: LaunchTables,
        source: CompletionSource,
        stop: StopSignal,
        deadline: Option<Duration>,
        expected: Expected,
        submitted_ns: u64,
    ) -> Self {
        CommandBuffer {
            submission,
            tables,
            source,
            stop: Arc::new(stop),
            deadline,
            expected,
            timing: Timing::default().submitted_ns(submitted_ns),
            armed: None,
            position: 0,
            command_started_ns: None,
            command_timings: Vec::new(),
        }
    }

    /// Whether a leader has looked at it.
    fn has_started(&self) -> bool {
        self.timing.started_ns > 0
    }

    /// Whether a command other than a wait has run.
    pub(super) fn has_run(&self) -> bool {
        let waits = |command: &Command| matches!(command, Command::WaitEvent { .. } | Command::WaitFence(_));
        !self.submission.commands[..self.position].iter().all(waits)
    }

    /// Whether the calling thread has stack enough to run it.
    pub(super) fn fits_stack(&self) -> bool {
        self.tables.stack_bytes <= stack::left_here()
    }

    /// Whether what follows the wait is short enough to run inline.
    pub(super) fn ends_inline(&self) -> bool {
        inline_policy::rest_runs_inline(&self.submission, &self.tables, self.position)
    }

    /// Runs commands from `position` on.
    pub(super) fn run(
        &mut self,
        device: &Arc<DeviceShared>,
        priority: Priority,
    ) -> Result<Progress, DeviceError> {
        if !self.has_started() {
            self.timing.started_ns = device.now_ns().max(1);
            let at = self.deadline.map(|deadline| device.clock.now().saturating_add(deadline));
            let stop = || Waker::from(Arc::<StopSignal>::clone(&self.stop));
            self.armed = at.map(|at| device.clock.set_alarm(at, stop()));
        }
        let stop = Arc::clone(&self.stop);
        let executor = Executor {
            pool: &device.pool,
            account: &device.account,
            device: &device.name,
            stop: &stop.flag,
            priority,
        };
        let timed = self.submission.timestamps == Timestamps::EachCommand;
        while self.position < self.submission.commands.len() {
            if stop.flag.load(Ordering::Relaxed) != 0 {
                return Err(self.stopped(self.current_kernel()));
            }
            if timed && self.command_started_ns.is_none() {
                self.command_started_ns = Some(device.now_ns());
            }
            let progress = self.run_command(device, &executor)?;
            if let Progress::Blocked(..) = progress {
                return Ok(progress);
            }
            if let Some(started_ns) = self.command_started_ns.take() {
                let (command, ended_ns) = (self.position, device.now_ns());
                self.command_timings.push(CommandTiming::new(command, started_ns, ended_ns));
            }
            self.position += 1;
        }
        Ok(Progress::Done)
    }

    /// Runs the command at `position`.
    fn run_command(
        &self,
        device: &Arc<DeviceShared>,
        executor: &Executor<'_>,
    ) -> Result<Progress, DeviceError> {
        match &self.submission.commands[self.position] {
            Command::WaitEvent { event, value } if event.signaled_value() < *value => {
                return Ok(Progress::Blocked(Arc::clone(event), *value));
            }
            Command::ExecuteIndirect(indirect) => {
                let indirect = cpu_indirect(indirect);
                let indirect =
                    indirect.expect("an indirect command buffer that was prepared is of this device");
                for (command, step) in indirect.steps() {
                    if executor.stop.load(Ordering::Relaxed) != 0 {
                        return Err(self.stopped(kernel_of(command)));
                    }
                    self.run_step(device, executor, command, step, &indirect.tables)?;
                }
            }
            Command::ExecuteEncoded(execution) => self.run_encoded(device, executor, execution)?,
            command => {
                self.run_step(device, executor, command, &self.tables.steps[self.position], &self.tables)?;
            }
        }
        Ok(Progress::Done)
    }

    /// Runs a command that does not wait.
    pub(super) fn run_step(
        &self,
        device: &Arc<DeviceShared>,
        executor: &Executor<'_>,
        command: &Command,
        step: &CommandStep,
        tables: &LaunchTables,
    ) -> Result<(), DeviceError> {
        let reach = ResidentMemory { submission: &self.submission, residency: &self.tables.residency };
        let launch = |dispatch: &Dispatch, prepared: &PreparedDispatch| {
            let pipeline = cpu_pipeline(dispatch.pipeline());
            let pipeline = pipeline.expect("a prepared dispatch has a pipeline of this device");
            match executor.dispatch(pipeline, dispatch.bindings(), prepared, tables, reach)? {
                Ended::Completely => Ok(()),
                Ended::Stopped => Err(self.stopped(Some(&pipeline.kernel().name))),
            }
        };
        match (command, step) {
            (Command::Dispatch(dispatch), CommandStep::Dispatch(prepared)) => launch(dispatch, prepared),
            (Command::DispatchIndirect(indirect), CommandStep::Indirect(prepared)) => {
                match indirect.shape(executor.counts(indirect)?, &device.capabilities)? {
                    Some(shape) => launch(indirect.dispatch(), &prepared.with_shape(shape)),
                    None => Ok(()),
                }
            }
            (Command::Copy(copy), _) => executor.copy(copy),
            (Command::Fill(fill), _) => executor.fill(fill),
            (Command::SampleTime(sample), _) => executor.write_time(sample, device.now_ns()),
            (Command::SignalEvent { event, value }, _) => {
                event.signal(*value);
                Ok(())
            }
            // Refused at submission.
            (Command::MatrixProduct(_), _) => Err(matrix_product::unsupported(&device.name)),
            (Command::Dispatch(_) | Command::DispatchIndirect(_), CommandStep::EmptyDispatch) => Ok(()),
            (Command::Dispatch(_) | Command::DispatchIndirect(_), step) => {
                unreachable!("a dispatch was prepared as {step:?}")
            }
            // Waits are already satisfied, a queue orders its own commands, and indirect commands are
            // executed separately.
            (Command::WaitEvent { .. } | Command::UpdateFence(_) | Command::WaitFence(_), _)
            | (Command::ExecuteIndirect(_) | Command::ExecuteEncoded(_), _) => Ok(()),
        }
    }

    /// The kernel at `position`, if the command there is a dispatch.
    fn current_kernel(&self) -> Option<&str> {
        self.submission.commands.get(self.position).and_then(kernel_of)
    }

    /// Why its kernels left before their end.
    pub(super) fn stopped(&self, kernel: Option<&str>) -> DeviceError {
        match self.stop.flag.load(Ordering::SeqCst) {
            STOPPED => DeviceError::Stopped { kernel: kernel.map(str::to_owned) },
            _ => {
                let after = self.deadline.expect("only a command buffer with a deadline runs past it");
                deadline_exceeded(kernel, after)
            }
        }
    }

    pub(super) fn panicked(&self, panic: &Box<dyn std::any::Any + Send>) -> DeviceError {
        panicked(self.current_kernel(), panic)
    }
}

pub(super) fn deadline_exceeded(kernel: Option<&str>, after: Duration) -> DeviceError {
    DeviceError::DeadlineExceeded { kernel: kernel.map(str::to_owned), after }
}

pub(super) fn panicked(kernel: Option<&str>, panic: &Box<dyn std::any::Any + Send>) -> DeviceError {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    let message = text.unwrap_or_else(|| "no message".to_owned());
    DeviceError::WorkerPanicked { kernel: kernel.map(str::to_owned), message }
}

/// The kernel that a command runs.
fn kernel_of(command: &Command) -> Option<&str> {
    command.dispatch().map(|dispatch| dispatch.kernel().name.as_str())
}
