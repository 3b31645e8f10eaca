//! The fault matrix: faults × stacks of policies × kinds of work.
//!
//! Each cell runs one execution on two devices, `a`, which fails by plan, and `b`, which does not,
//! after one that succeeded on `a`. All kernels really run; a manual clock decides when they end.
//! Whatever the cell says, it is checked that a success has the result of exactly one run, and that
//! buffers after a failure are as before, or are told as unspecified or lost.

use std::fmt::Write;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use anymetal::Device;
use anymetal::config::RuntimeConfig;
use anymetal::error::ErrorClass;
use anymetal::profile::Clock;
use anymetal::testing::{FaultInjectingDevice, FaultPlan, Faults, ManualClock};
use anymetal_service::manager::{Execution, Failed};
use anymetal_service::policy::deadline::DeadlinePolicy;
use anymetal_service::policy::ladder::{LadderPolicy, Path, Rung};
use anymetal_service::policy::policies::Policies;
use anymetal_service::policy::retry::{Jitter, RetryPolicy};
use anymetal_service::policy::virtual_time;
use anymetal_service::{Durability, ManagedBuffer, ManagedKernel, Manager, ManagerError};

const SOURCE: &str = "
    kernel void increment(device uint* y, uint i [[thread_position_in_grid]]) { y[i] += 1; }
    kernel void add(device const uint* y, device uint* z, uint i [[thread_position_in_grid]]) {
        z[i] = y[i] + 1;
    }";

const COUNT: usize = 64;

/// Every attempt may take a second, and has a second of grace.
const ATTEMPT: Duration = Duration::from_secs(1);

/// A cell that breaks what must hold whatever the policies are.
#[derive(Debug)]
pub(crate) enum Broken {
    /// A call failed that no fault was planned for.
    Call(ManagerError),
    /// A success without the result of one run, or a failure that tells less than it did.
    Cell(String),
}

impl std::fmt::Display for Broken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Broken::Call(error) => error.fmt(formatter),
            Broken::Cell(what) => formatter.write_str(what),
        }
    }
}

impl<E: Into<ManagerError>> From<E> for Broken {
    fn from(error: E) -> Self {
        Broken::Call(error.into())
    }
}

/// What the execution does.
#[derive(Clone, Copy, PartialEq)]
enum Work {
    InPlace,
    InPlaceChecked,
    InPlaceOnce,
    Reads(Durability),
    Overwrites,
}

const WORK: [(Work, &str); 6] = [
    (Work::InPlace, "Work that changes a buffer in place; the only copy is on `a`"),
    (Work::InPlaceChecked, "The same with a check of the result"),
    (Work::InPlaceOnce, "The same, declared to run once"),
    (Work::Reads(Durability::Uploaded), "Work that reads a buffer whose only copy is on `a`, into another"),
    (Work::Reads(Durability::HostCopy), "The same with a copy on the host"),
    (Work::Overwrites, "Work that overwrites all of a buffer whose only copy is on `a`"),
];

fn stacks() -> Result<Vec<(&'static str, Policies)>, Broken> {
    let retry = || RetryPolicy::builder().jitter(Jitter::None).build().map_err(ManagerError::from);
    let deadline = DeadlinePolicy::builder().attempt(ATTEMPT).build().map_err(ManagerError::from)?;
    let stack = |rungs: &[Rung], retry| {
        let ladder =
            LadderPolicy::builder().rungs(rungs.iter().copied()).build().map_err(ManagerError::from)?;
        Ok::<_, Broken>(Policies { retry, deadline, ladder, ..Policies::default() })
    };
    Ok(vec![
        ("nothing", stack(&[], RetryPolicy::once())?),
        ("retry", stack(&[Rung::Retry], retry()?)?),
        ("release and degrade", stack(&[Rung::ReleaseMemory, Rung::Degrade], RetryPolicy::once())?),
        ("fallback", stack(&[Rung::Fallback], RetryPolicy::once())?),
        ("all", stack(&Rung::ALL, retry()?)?),
    ])
}

fn faults() -> Vec<(&'static str, FaultPlan)> {
    let plan = || FaultPlan::default().in_step(true);
    let second = |class| Faults::at(1, class);
    let late = |time: Range<Duration>| plan().latency(time);
    let always = Faults::default().exactly((1..64).collect()).classes(vec![ErrorClass::Transient]);
    let ms = Duration::from_millis;
    vec![
        ("none", plan()),
        ("refused once (transient)", plan().commits(second(ErrorClass::Transient))),
        ("fails once (transient)", plan().completions(second(ErrorClass::Transient))),
        ("fails always (transient)", plan().completions(always)),
        ("no place in the queue once", plan().commits(second(ErrorClass::Exhausted))),
        ("no memory for one buffer", plan().allocations(second(ErrorClass::Exhausted))),
        ("memory runs out while it runs", plan().completions(second(ErrorClass::Exhausted))),
        ("lost at the commit", plan().commits(second(ErrorClass::Lost))),
        ("lost while it runs", plan().completions(second(ErrorClass::Lost))),
        ("hangs", plan().hangs(second(ErrorClass::Lost))),
        ("wrong result once", plan().wrong_results(second(ErrorClass::Transient))),
        ("slow, in time", late(ms(500)..ms(500))),
        ("writes a part once", plan().partial_writes(second(ErrorClass::Transient))),
    ]
}

/// The whole document, or the first cell that breaks what must hold.
pub(crate) fn document() -> Result<String, Broken> {
    let mut document = String::from(INTRODUCTION);
    let stacks = stacks()?;
    for (work, title) in WORK {
        let names: Vec<&str> = stacks.iter().map(|(name, _)| *name).collect();
        let rule = vec!["---"; names.len() + 1].join("|");
        let _infallible = write!(document, "\n## {title}\n\n| fault | {} |\n|{rule}|\n", names.join(" | "));
        for (fault, plan) in faults() {
            let cells = stacks.iter().map(|(stack, policies)| {
                cell(work, &plan, policies)
                    .map_err(|broken| Broken::Cell(format!("{title}, {fault}, {stack}: {broken}")))
            });
            let cells = cells.collect::<Result<Vec<_>, _>>()?;
            let _infallible = writeln!(document, "| {fault} | {} |", cells.join(" | "));
        }
    }
    Ok(document)
}

/// A manager with its buffers after the first execution.
struct Machine {
    clock: Arc<ManualClock>,
    faulty: FaultInjectingDevice,
    manager: Manager,
    increment: ManagedKernel,
    add: ManagedKernel,
    y: ManagedBuffer<u32>,
    z: ManagedBuffer<u32>,
}

fn machine(work: Work, plan: &FaultPlan, policies: &Policies) -> Result<Machine, Broken> {
    let clock = ManualClock::new();
    let cpu = Device::system_default()?.as_hal().clone();
    let device = |plan: FaultPlan| {
        let faulty = FaultInjectingDevice::new(cpu.clone(), plan, clock.clone());
        let (handle, time) = (faulty.clone(), clock.clone());
        let make = move || {
            let clock: Arc<dyn Clock> = time.clone();
            Ok(Device::from_hal_with(Arc::new(handle.clone()), RuntimeConfig::default(), clock))
        };
        (faulty, make)
    };
    let (faulty, a) = device(plan.clone());
    let (_never_fails, b) = device(FaultPlan::default().in_step(true));
    let builder = Manager::builder().policies(policies.clone()).clock(clock.clone());
    let manager = builder.device_from("a", a)?.device_from("b", b)?.build()?;
    let (increment, add) = (manager.kernel(SOURCE, "increment")?, manager.kernel(SOURCE, "add")?);
    let durability = match work {
        Work::Reads(durability) => durability,
        Work::InPlace | Work::InPlaceChecked | Work::InPlaceOnce | Work::Overwrites => Durability::Uploaded,
    };
    let is_overwritten = work == Work::Overwrites;
    let [of_y, of_z] = if is_overwritten { [2u32, 1] } else { [1, 0] };
    let y = manager.buffer_with(&[of_y; COUNT], "y", durability)?;
    let z = manager.buffer_with(&[of_z; COUNT], "z", Durability::Uploaded)?;
    let machine = Machine { clock, faulty, manager, increment, add, y, z };
    let first = if is_overwritten { &machine.z } else { &machine.y };
    machine.run(machine.manager.launch(&machine.increment).arg(first).threads(COUNT).execute_async())??;
    Ok(machine)
}

impl Machine {
    fn run<T>(&self, future: impl Future<Output = T>) -> Result<T, Broken> {
        virtual_time::run(&self.clock, future).ok_or_else(|| Broken::Cell("it does not end".to_owned()))
    }

    fn execute(&self, work: Work) -> Result<Result<Execution, ManagerError>, Broken> {
        let in_place = self.manager.launch(&self.increment).arg(&self.y).threads(COUNT);
        let reads = || self.manager.launch(&self.add).arg(&self.y).arg(&self.z).threads(COUNT);
        let y = &self.y;
        let launch = match work {
            Work::InPlace => in_place,
            Work::InPlaceChecked => in_place.verify(|made| Ok(made.read(y)? == [3; COUNT])),
            Work::InPlaceOnce => in_place.once(),
            Work::Reads(_) | Work::Overwrites => reads(),
        };
        self.run(launch.execute_async())
    }

    /// What is in the buffer that the work writes, its contents before and after one run.
    fn written(&self, work: Work) -> (Result<Vec<u32>, ManagerError>, [u32; 2]) {
        match work {
            Work::InPlace | Work::InPlaceChecked | Work::InPlaceOnce => (self.y.read(), [2, 3]),
            Work::Reads(_) => (self.z.read(), [0, 3]),
            Work::Overwrites => (self.z.read(), [2, 3]),
        }
    }
}

fn cell(work: Work, plan: &FaultPlan, policies: &Policies) -> Result<String, Broken> {
    let machine = machine(work, plan, policies)?;
    let ended = machine.execute(work)?;
    let (contents, [before, after]) = machine.written(work);
    let is_all = |value: u32| contents.as_ref().is_ok_and(|contents| *contents == [value; COUNT]);
    let cell = match ended {
        Ok(execution) if is_all(after) => format!("{}ok{}", rungs(&execution.path), time(&execution.path)),
        Ok(_) if machine.faulty.injected().wrong_results == 1 && work != Work::InPlaceChecked => {
            "ok, and wrong: nothing checks it".to_owned()
        }
        Ok(_) => return Err(Broken::Cell(format!("a success with {contents:?} instead of {after}"))),
        Err(ManagerError::ContentsLost { label, .. }) => {
            let listed = machine.manager.lost().iter().any(|lost| lost.label == label);
            if !listed {
                return Err(Broken::Cell(format!("`{label}` is lost and not listed")));
            }
            format!("refused: `{label}` is lost")
        }
        Err(ManagerError::Failed(failed)) => {
            after_failure(&machine, &failed, is_all(before), contents.is_err())?
        }
        Err(other) => return Err(other.into()),
    };
    machine.faulty.end_hangs();
    Ok(cell)
}

fn after_failure(
    machine: &Machine,
    failed: &Failed,
    is_as_before: bool,
    is_refused: bool,
) -> Result<String, Broken> {
    let buffers = match (is_as_before, is_refused, failed.unspecified.as_slice()) {
        (true, ..) => "as before".to_owned(),
        (false, true, _) if !machine.manager.lost().is_empty() => "lost".to_owned(),
        (false, false, [label]) => format!("`{label}` unspecified"),
        _ => return Err(Broken::Cell(format!("a failure that tells too little: {failed}"))),
    };
    let (rungs, why) = (rungs(&failed.path), failed.why.word());
    Ok(format!("{rungs}failed ({why}), {buffers}"))
}

/// The rungs that were taken, each with `restored` where it was.
fn rungs(path: &Path) -> String {
    let attempts = path.attempts().iter();
    attempts.filter_map(|attempt| Some((attempt.rung?, attempt.restored))).fold(
        String::new(),
        |text, rung| {
            let restored = if rung.1 { " (restored)" } else { "" };
            format!("{text}{}{restored} → ", rung.0.word())
        },
    )
}

/// How long it took, if it took any time.
fn time(path: &Path) -> String {
    let (first, last) = (path.attempts().first(), path.attempts().last());
    match first.zip(last).map(|(first, last)| last.ended.saturating_sub(first.started)) {
        None | Some(Duration::ZERO) => String::new(),
        Some(time) => format!(", {time:?}"),
    }
}

const INTRODUCTION: &str = "\
# Fault matrix

What becomes of an execution under every fault of the fault-injecting device and every stack of policies. This page is
printed by `cargo run -p anymetal-service --example fault_matrix`, and a test compares it. Kernels really run, in virtual time.

There are two devices: `a` has the fault, `b` has none. The buffer was written on `a` before. Each attempt may take 1 s and
has 1 s of grace. A cell names the rungs that were taken, how it ended, and the time where it took some. Every cell is checked:
a success has the result of exactly one run, unless nothing checks results; after a failure buffers are as before, or the
error names them as unspecified, or `Manager::lost` lists them. Words are in [resilience.md](resilience.md).
";
