//! The manager on devices that fail by plan, in virtual time: kernels really run.

mod audit;
mod buffers;
mod exclusion;
mod ladder;
mod loss;
mod notices;
mod replay;
mod session;
mod streams;
mod textures;

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anymetal::config::RuntimeConfig;
use anymetal::error::ErrorClass;
use anymetal::profile::Clock;
use anymetal::{Device, Error};
use anymetal_hal::sync::lock;
use anymetal_policy::deadline::DeadlinePolicy;
use anymetal_policy::policies::Policies;
use anymetal_policy::retry::{Jitter, RetryPolicy};
use anymetal_policy::virtual_time;

use super::observe::{ManagerEvent, Observe, RungTaken};
use super::{Execution, Failed, ManagedKernel, Manager, ManagerBuilder, ManagerError};
use anymetal::testing::{FaultInjectingDevice, FaultPlan, Faults, ManualClock};

const SOURCE: &str = "
    kernel void add(device const uint* x, device uint* y, uint i [[thread_position_in_grid]]) { y[i] = x[i] + 1; }
    kernel void increment(device uint* y, uint i [[thread_position_in_grid]]) { y[i] += 1; }";

/// Writes down what happens.
#[derive(Default)]
struct Recorder(Mutex<Vec<String>>);

impl Observe for Recorder {
    fn observe(&self, event: &ManagerEvent<'_>) {
        let line = match event {
            ManagerEvent::Restored { buffers, .. } => format!("restored {buffers}"),
            ManagerEvent::GaveUp { why, .. } => format!("gave up: {}", why.word()),
            ManagerEvent::Breaker { key, transition } => {
                format!("breaker {} {} {}", key.device, key.work, transition.to.word())
            }
            ManagerEvent::DeviceLost { device, generation, .. } => format!("lost {device} {generation}"),
            ManagerEvent::DeviceRebuilt { device, generation } => format!("rebuilt {device} {generation}"),
            ManagerEvent::RebuildFailed { device, .. } => format!("not rebuilt {device}"),
            ManagerEvent::ContentsLost { label, .. } => format!("contents of {label}"),
            ManagerEvent::Strain { state } => format!("strain {}", state.word()),
            ManagerEvent::SourceUnavailable { .. } => "source unavailable".to_owned(),
            ManagerEvent::Ended(_)
            | ManagerEvent::Allocated { .. }
            | ManagerEvent::Compiled { .. }
            | ManagerEvent::Temperature { .. }
            | ManagerEvent::Power { .. } => return,
            ManagerEvent::Rung(RungTaken { rung, device, level, .. }) => {
                format!("{} {device}/{level}", rung.word())
            }
            ManagerEvent::Attempt { .. } => return,
        };
        lock(&self.0).push(line);
    }
}

/// A manager over devices that fail by plan, all of them the CPU below.
struct Bench {
    clock: Arc<ManualClock>,
    faults: Vec<FaultInjectingDevice>,
    /// The first generation of each.
    devices: Vec<Device>,
    manager: Manager,
    recorder: Arc<Recorder>,
}

/// Predictable delays: 100 ms, 200 ms.
fn policies() -> Policies {
    Policies { retry: RetryPolicy::builder().jitter(Jitter::None).build().unwrap(), ..Policies::default() }
}

/// Nothing is tried again on the same device.
fn one_attempt() -> Policies {
    Policies { retry: RetryPolicy::once(), ..policies() }
}

fn with_attempt_limit(limit: Duration) -> Policies {
    Policies { deadline: DeadlinePolicy::builder().attempt(limit).build().unwrap(), ..policies() }
}

fn no_faults() -> FaultPlan {
    FaultPlan::default().in_step(true)
}

/// Every one of the first so many commits is refused with that class.
fn refusals(count: u64, class: ErrorClass) -> FaultPlan {
    let commits = Faults::default().exactly((0..count).collect()).classes(vec![class]);
    no_faults().commits(commits)
}

impl Bench {
    fn new(plans: &[(&str, FaultPlan)], policies: Policies) -> Bench {
        Bench::with(plans, policies, |builder| builder)
    }

    fn with(
        plans: &[(&str, FaultPlan)],
        policies: Policies,
        more: impl FnOnce(ManagerBuilder) -> ManagerBuilder,
    ) -> Bench {
        let clock = ManualClock::new();
        let cpu = Device::system_default().unwrap().as_hal().clone();
        let recorder = Arc::new(Recorder::default());
        let builder = Manager::builder().policies(policies).clock(clock.clone()).observer(recorder.clone());
        let (mut builder, mut faults, mut devices) = (more(builder), Vec::new(), Vec::new());
        for (name, plan) in plans {
            let faulty = FaultInjectingDevice::new(cpu.clone(), plan.clone(), clock.clone());
            let (made, handle, time) = (Arc::new(Mutex::new(None)), faulty.clone(), clock.clone());
            let first = Arc::clone(&made);
            let make = move || {
                if handle.is_lost() {
                    let reason = "still lost".to_owned();
                    let device = "faulty".to_owned();
                    return Err(Error::Device(anymetal::error::DeviceError::DeviceLost { device, reason }));
                }
                let clock: Arc<dyn Clock> = time.clone();
                let device = Device::from_hal_with(Arc::new(handle.clone()), RuntimeConfig::default(), clock);
                lock(&first).get_or_insert_with(|| device.clone());
                Ok(device)
            };
            builder = builder.device_from(*name, make).unwrap();
            faults.push(faulty);
            devices.push(lock(&made).clone().unwrap());
        }
        Bench { clock, faults, devices, manager: builder.build().unwrap(), recorder }
    }

    fn kernel(&self, name: &str) -> ManagedKernel {
        self.manager.kernel(SOURCE, name).unwrap()
    }

    fn run<T>(&self, future: impl Future<Output = T>) -> T {
        virtual_time::run(&self.clock, future).expect("it ends")
    }

    fn events(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.recorder.0))
    }

    /// Drops the manager; nothing of it may be left.
    fn assert_no_leaks(self) {
        drop(self.manager);
        self.faults.iter().for_each(FaultInjectingDevice::end_hangs);
        self.devices.iter().for_each(Device::assert_no_leaks);
    }
}

fn path(execution: Result<Execution, ManagerError>) -> String {
    execution.unwrap().path.to_string()
}

fn failed(execution: Result<Execution, ManagerError>) -> Failed {
    match execution {
        Err(ManagerError::Failed(failed)) => *failed,
        other => panic!("{other:?}"),
    }
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}
