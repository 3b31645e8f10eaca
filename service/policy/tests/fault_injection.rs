//! Policies over the fault-injecting device, by a hand-driven clock (REL-8): what it injects is
//! what the policies see, and none of it is lost.
#![cfg(not(loom))]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anymetal_hal::clock::{Clock, ManualClock, Sleep};
use anymetal_hal::command::CommandList;
use anymetal_hal::device::Device;
use anymetal_hal::error::{DeviceError, ErrorClass};
use anymetal_hal::queue::{Queue, QueueDescriptor};
use anymetal_policy::breaker::{Breaker, BreakerOpen, BreakerPolicy, BreakerState, Breakers};
use anymetal_policy::deadline::TimeBudget;
use anymetal_policy::idempotence::Replay;
use anymetal_policy::ladder::{Failure, Ladder, LadderPolicy, NextStep, Outcome, Path, Request};
use anymetal_policy::retry::RetryPolicy;
use anymetal_policy::stack::{CallError, Ended, Stack};
use anymetal_policy::virtual_time::{Simulated, run, run_all};
use anymetal_testing::fault_injection::{FaultInjectingDevice, FaultPlan, Faults};
use anymetal_testing::null::NullDevice;

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn faulty(clock: &Arc<ManualClock>, plan: FaultPlan) -> (FaultInjectingDevice, Arc<dyn Queue>) {
    let null = Arc::new(NullDevice::with_clock(clock.clone()));
    let device = FaultInjectingDevice::new(null, plan, clock.clone());
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    (device, queue)
}

/// Runs an empty submission; says too whether a failure came before anything ran.
async fn submit(queue: &dyn Queue) -> Result<(), (DeviceError, Failure)> {
    let refused = |error: DeviceError| {
        let failure = Failure::refused(&error);
        (error, failure)
    };
    let ran = |error: DeviceError| {
        let failure = Failure::ran(&error);
        (error, failure)
    };
    queue.submit(CommandList::default()).map_err(refused)?.await.map(drop).map_err(ran)
}

fn twenty_percent() -> FaultPlan {
    let faults = Faults::by_chance(200_000, &[ErrorClass::Transient, ErrorClass::Exhausted]);
    let (commits, completions) = (faults.clone(), faults);
    FaultPlan::default().seed(5).commits(commits).completions(completions).latency(ms(1)..ms(5))
}

#[test]
fn every_injected_fault_is_one_retry_and_no_call_is_lost() {
    let clock = ManualClock::new();
    let (device, queue) = faulty(&clock, twenty_percent());
    let retry = RetryPolicy::builder().attempts(30).cap(ms(200)).build().unwrap();
    let stack = Stack::builder(clock.clone()).retry(retry).build();
    let attempts = AtomicU64::new(0);
    let call = |_| -> Simulated<'_, Result<(), CallError<DeviceError>>> {
        Box::pin(stack.call(|_| {
            attempts.fetch_add(1, Ordering::Relaxed);
            async { submit(&*queue).await.map_err(|(error, _)| error) }
        }))
    };
    let calls = 300;
    let ended = run_all(&clock, (0..calls).map(call).collect());
    assert!(ended.iter().all(|ended| *ended == Some(Ok(()))), "{ended:?}");
    let injected = device.injected();
    assert!(injected.commits > 50 && injected.completions > 50, "{injected:?}");
    assert_eq!(attempts.into_inner(), calls + injected.commits + injected.completions);
}

#[test]
fn a_lost_device_gets_no_call_until_its_breaker_probes_it() {
    let clock = ManualClock::new();
    let completions = Faults::at(2, ErrorClass::Lost);
    let (device, queue) = faulty(&clock, FaultPlan::default().completions(completions));
    let breaker = Breaker::new(BreakerPolicy::default(), clock.clone());
    let builder = Stack::builder(clock.clone()).retry(RetryPolicy::default());
    let stack = builder.breaker(breaker.clone()).build();
    let call = || {
        let call = stack.call(|_| async { submit(&*queue).await.map_err(|(error, _)| error) });
        run(&clock, call).unwrap().map_err(Box::new)
    };
    assert_eq!((call(), call()), (Ok(()), Ok(())));
    let CallError::Failed { error, attempts: 1, ended: Ended::NotRetried } = *call().unwrap_err() else {
        panic!("a loss is not tried again");
    };
    assert_eq!(error.class(), ErrorClass::Lost);
    let refusal = BreakerOpen::Until(ms(10_000));
    assert_eq!(call(), Err(Box::new(CallError::Breaker { refusal, attempts: 0 })));
    clock.advance(ms(10_000));
    assert!(matches!(*call().unwrap_err(), CallError::Failed { .. }), "the probe finds it lost");
    device.revive();
    let refused = *call().unwrap_err();
    assert!(matches!(refused, CallError::Breaker { .. }), "open again, though it was revived");
    clock.advance(ms(10_000));
    assert_eq!((call(), breaker.snapshot().state), (Ok(()), BreakerState::Closed));
}

/// One call over two devices, as an execution manager makes it.
async fn climb(
    clock: &Arc<ManualClock>,
    queues: &[Arc<dyn Queue>],
    breakers: &Breakers<usize>,
    call: u64,
) -> (NextStep, Path) {
    let request = Request {
        devices: vec!["gpu".into(), "cpu".into()],
        replay: Replay::Idempotent,
        most_degraded: 0,
        budget: TimeBudget::UNLIMITED,
        call,
    };
    let retry = RetryPolicy::default();
    let mut ladder = Ladder::new(&LadderPolicy::default(), &retry, request).unwrap();
    while let NextStep::Run(next) = ladder.step() {
        if let Some(left) = next.open_breaker {
            breakers.get(&left).unwrap().trip();
        }
        Sleep::until(clock.clone(), clock.now() + next.delay).await;
        ladder.started(clock.now());
        let outcome = match breakers.get(&next.device).unwrap().permit() {
            Err(refusal) => Outcome::BreakerOpen { until: Some(refusal.until(clock.now())) },
            Ok(permit) => match submit(&*queues[next.device]).await {
                Ok(()) => {
                    permit.success();
                    Outcome::Success
                }
                Err((_, failure)) => {
                    permit.failure(failure.class);
                    Outcome::Failed(failure)
                }
            },
        };
        ladder.ended(clock.now(), outcome);
    }
    (ladder.step(), ladder.into_path())
}

#[test]
fn with_a_second_device_no_call_is_lost_though_the_first_one_is() {
    let clock = ManualClock::new();
    let exactly = vec![150];
    let completions = Faults::by_chance(50_000, &[]).exactly(exactly);
    let (gpu, gpu_queue) = faulty(&clock, twenty_percent().completions(completions));
    let (_cpu, cpu_queue) = faulty(&clock, FaultPlan::default());
    let (queues, breakers) =
        ([gpu_queue, cpu_queue], Breakers::new(BreakerPolicy::default(), clock.clone(), 2).unwrap());
    let mut on_cpu = 0;
    for call in 0..400 {
        if call == 200 {
            gpu.lose();
        }
        let (end, path) = run(&clock, climb(&clock, &queues, &breakers, call)).unwrap();
        assert_eq!(end, NextStep::Done, "{path}");
        assert_eq!(path.fell_back(), path.device() == Some("cpu"));
        assert!(call < 200 || path.fell_back(), "it was lost: {path}");
        on_cpu += u32::from(path.fell_back());
    }
    assert!((200..250).contains(&on_cpu), "{on_cpu}");
    let snapshot = breakers.get(&0).unwrap().snapshot();
    assert_eq!(snapshot.state, BreakerState::Open);
    assert!(snapshot.counts.refused > 190, "the lost device is left alone: {snapshot:?}");
}
