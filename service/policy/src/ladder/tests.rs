//! Ladders without devices: every rung, every reason to give up. Whole stacks are in
//! `tests/stacks.rs`.

use proptest::prelude::*;

use super::*;
use crate::deadline::DeadlinePolicy;
use crate::idempotence::{RetryableWork, SnapshotPlan, decide};
use crate::retry::Jitter;

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn failed(class: ErrorClass) -> Outcome {
    let resource = (class == ErrorClass::Exhausted).then_some(Resource::Memory);
    Outcome::Failed(Failure { class, resource, effects: Effects::Possible })
}

fn request(devices: usize, replay: Replay) -> Request {
    let names = ["gpu", "igpu", "cpu"];
    Request {
        devices: names[..devices].iter().map(|name| Arc::from(*name)).collect(),
        replay,
        most_degraded: 9,
        budget: TimeBudget::UNLIMITED,
        call: 0,
    }
}

fn retry(attempts: u32) -> RetryPolicy {
    RetryPolicy::builder().attempts(attempts).jitter(Jitter::None).build().unwrap()
}

fn ladder(request: Request) -> Ladder {
    Ladder::new(&LadderPolicy::default(), &retry(3), request).unwrap()
}

/// Ends each attempt as the script says, in virtual time; returns the steps as text.
fn climb(ladder: &mut Ladder, mut outcome: impl FnMut(&NextAttempt) -> Outcome) -> Vec<String> {
    let (mut now, mut steps) = (Duration::ZERO, Vec::new());
    loop {
        match ladder.step() {
            NextStep::Run(next) => {
                let NextAttempt { rung, open_breaker, delay, restore, device, level } = &next;
                let rung = rung.map_or("first", Rung::word);
                let opens = open_breaker.map_or(String::new(), |device| format!(" open {device}"));
                let restores = if *restore { " restore" } else { "" };
                steps.push(format!("{rung}{opens} {delay:?}{restores} on {device}/{level}"));
                now += next.delay;
                ladder.started(now);
                ladder.ended(now, outcome(&next));
            }
            NextStep::Done => {
                steps.push("done".to_owned());
                return steps;
            }
            NextStep::GiveUp(why) => {
                steps.push(format!("give up: {why}"));
                return steps;
            }
        }
    }
}

#[test]
fn exhausted_memory_climbs_every_rung_on_every_device() {
    let mut ladder = ladder(request(2, Replay::Idempotent));
    let steps = climb(&mut ladder, |_| failed(ErrorClass::Exhausted));
    let expected = [
        "first 0ns on 0/0",
        "retry 100ms on 0/0",
        "retry 200ms on 0/0",
        "release-memory 0ns on 0/0",
        "degrade 0ns on 0/1",
        "degrade 0ns on 0/2",
        "fallback 0ns on 1/0",
        "retry 100ms on 1/0",
        "retry 200ms on 1/0",
        "release-memory 0ns on 1/0",
        "degrade 0ns on 1/1",
        "degrade 0ns on 1/2",
        "give up: nothing is left to try after an error of the class exhausted",
    ];
    assert_eq!(steps, expected);
    assert_eq!(ladder.path().attempts().len(), 2 * (3 + 1 + 2));
}

#[test]
fn transient_errors_skip_the_release_and_open_the_breaker_they_leave() {
    let mut ladder = ladder(Request { most_degraded: 1, ..request(2, Replay::Idempotent) });
    let steps = climb(&mut ladder, |next| match next.device {
        0 => failed(ErrorClass::Transient),
        _ => Outcome::Success,
    });
    let expected = [
        "first 0ns on 0/0",
        "retry 100ms on 0/0",
        "retry 200ms on 0/0",
        "degrade 0ns on 0/1",
        "fallback open 0 0ns on 1/0",
        "done",
    ];
    assert_eq!(steps, expected);
    let path = ladder.into_path();
    assert_eq!(
        (path.retries(), path.fell_back(), path.is_degraded(), path.device()),
        (4, true, false, Some("igpu"))
    );
}

#[test]
fn a_lost_device_or_an_open_breaker_is_left_at_once() {
    let steps = climb(&mut ladder(request(3, Replay::Idempotent)), |next| match next.device {
        0 => failed(ErrorClass::Lost),
        1 => Outcome::BreakerOpen { until: Some(ms(5)) },
        _ => Outcome::Success,
    });
    let expected = ["first 0ns on 0/0", "fallback open 0 0ns on 1/0", "fallback 0ns on 2/0", "done"];
    assert_eq!(steps, expected);
    let refuses = |_: &NextAttempt| Outcome::BreakerOpen { until: Some(ms(5)) };
    let steps = climb(&mut ladder(request(1, Replay::Idempotent)), refuses);
    assert!(steps[1].starts_with("give up: the circuit breaker of the last device is open"));
}

fn waiting(request: Request) -> Ladder {
    let policy = LadderPolicy::builder().rungs(Rung::ALL).build().unwrap();
    Ladder::new(&policy, &retry(3), request).unwrap()
}

#[test]
fn where_every_device_refuses_the_first_breaker_to_open_is_waited_for() {
    let mut attempts = 0;
    let steps = climb(&mut waiting(request(3, Replay::Idempotent)), |next| {
        attempts += 1;
        match (attempts, next.device) {
            (1, _) => failed(ErrorClass::Lost),
            (2, _) => Outcome::BreakerOpen { until: Some(ms(900)) },
            (3, _) => Outcome::BreakerOpen { until: Some(ms(700)) },
            (4, _) => failed(ErrorClass::Lost),
            _ => Outcome::Success,
        }
    });
    let expected = [
        "first 0ns on 0/0",
        "fallback open 0 0ns on 1/0",
        "fallback 0ns on 2/0",
        "wait 700ms on 2/0",
        "fallback open 2 0ns on 0/0",
        "done",
    ];
    assert_eq!(steps, expected);
}

#[test]
fn a_wait_is_no_shorter_than_a_retry_and_as_often() {
    let steps = climb(&mut waiting(request(1, Replay::Idempotent)), |_| Outcome::BreakerOpen {
        until: Some(Duration::ZERO),
    });
    let give_up =
        "give up: the circuit breaker of the last device is open (with the rung `wait` it is waited for)";
    assert_eq!(steps, ["first 0ns on 0/0", "wait 100ms on 0/0", "wait 200ms on 0/0", give_up]);
}

#[test]
fn nothing_is_waited_for_that_never_comes_or_comes_too_late() {
    let steps = climb(&mut waiting(request(2, Replay::Idempotent)), |_| Outcome::BreakerOpen { until: None });
    assert_eq!(steps.len(), 3);
    let budget =
        DeadlinePolicy::builder().total(ms(500)).build().unwrap().start(Duration::ZERO, Deadline::NEVER);
    let late = |_: &NextAttempt| Outcome::BreakerOpen { until: Some(ms(500)) };
    let steps = climb(&mut waiting(Request { budget, ..request(1, Replay::Idempotent) }), late);
    assert_eq!(steps.len(), 2);
}

#[test]
fn errors_of_the_caller_end_it_at_once() {
    let steps = climb(&mut ladder(request(3, Replay::Idempotent)), |_| failed(ErrorClass::Caller));
    assert_eq!(steps.len(), 2);
    assert!(steps[1].contains("the error is the caller's"));
}

#[test]
fn what_may_have_been_written_is_restored_or_not_run_again() {
    let restore = Replay::Restore(SnapshotPlan::default());
    let refused = |class| Outcome::Failed(Failure { class, resource: None, effects: Effects::None });
    let mut outcomes =
        [refused(ErrorClass::Transient), failed(ErrorClass::Transient), Outcome::Success].into_iter();
    let steps = climb(&mut ladder(request(1, restore)), |_| outcomes.next().unwrap());
    assert_eq!(steps, ["first 0ns on 0/0", "retry 100ms on 0/0", "retry 200ms restore on 0/0", "done"]);

    let work = RetryableWork { other_effect: Some("a callback"), ..RetryableWork::default() };
    let mut outcomes = [refused(ErrorClass::Transient), failed(ErrorClass::Transient)].into_iter();
    let steps = climb(&mut ladder(request(3, decide(&work, 0))), |_| outcomes.next().unwrap());
    let expected = "give up: it may not run again: it has an effect beyond its arguments: a callback";
    assert_eq!(steps, ["first 0ns on 0/0", "retry 100ms on 0/0", expected]);
}

#[test]
fn delays_that_leave_no_time_are_skipped_and_the_deadline_ends_it() {
    let policy = DeadlinePolicy::builder().total(ms(150)).attempt(ms(40)).build().unwrap();
    let budget = policy.start(Duration::ZERO, Deadline::NEVER);
    let mut ladder = ladder(Request { budget, ..request(2, Replay::Idempotent) });
    assert_eq!(ladder.started(ms(0)), Deadline::at(ms(40)));
    let NextStep::Run(next) = ladder.ended(ms(40), failed(ErrorClass::Transient)) else { panic!() };
    assert_eq!((next.rung, next.delay), (Some(Rung::Retry), ms(100)));
    assert_eq!(ladder.started(ms(140)), Deadline::at(ms(150)));
    let NextStep::Run(next) = ladder.ended(ms(145), failed(ErrorClass::Transient)) else { panic!() };
    assert_eq!(next.rung, Some(Rung::Degrade), "a delay of 200 ms would leave no time");
    ladder.started(ms(145));
    assert_eq!(ladder.ended(ms(150), failed(ErrorClass::Transient)), NextStep::GiveUp(GiveUp::Deadline));
}

#[test]
fn a_path_tells_devices_levels_rungs_and_times() {
    let mut ladder =
        ladder(Request { most_degraded: 1, ..request(2, Replay::Restore(SnapshotPlan::default())) });
    climb(&mut ladder, |next| match (next.device, next.level) {
        (0, _) => failed(ErrorClass::Transient),
        _ => Outcome::Success,
    });
    let path = ladder.into_path();
    assert_eq!(
        path.to_string(),
        "gpu transient @0ns+0ns, retry restored gpu transient @100ms+0ns, retry restored gpu transient \
         @300ms+0ns, degrade restored gpu/1 transient @300ms+0ns, fallback restored igpu ok @300ms+0ns"
    );
    let json = serde_json::to_value(&path.attempts()[1]).unwrap();
    let expected = serde_json::json!({
        "device": "gpu", "level": 0, "rung": "retry", "restored": true,
        "started_ns": 100_000_000, "ended_ns": 100_000_000, "ending": { "failed": "transient" },
    });
    assert_eq!(json, expected);
    let refused =
        Ladder::new(&LadderPolicy::default(), &retry(1), request(0, Replay::Idempotent)).unwrap_err();
    assert_eq!(refused.field(), "ladder.devices");
}

fn outcomes() -> impl Strategy<Value = Vec<(u8, bool, bool)>> {
    proptest::collection::vec((0_u8..6, any::<bool>(), any::<bool>()), 1..80)
}

fn outcome((kind, ran, memory): (u8, bool, bool)) -> Outcome {
    let class = match kind {
        0 => return Outcome::Success,
        1 => return Outcome::BreakerOpen { until: memory.then_some(ms(5)) },
        2 => ErrorClass::Caller,
        3 => ErrorClass::Lost,
        4 => ErrorClass::Exhausted,
        _ => ErrorClass::Transient,
    };
    let resource = memory.then_some(Resource::Memory);
    let effects = if ran { Effects::Possible } else { Effects::None };
    Outcome::Failed(Failure { class, resource, effects })
}

proptest! {
    /// A ladder ends within its bound, and nothing runs after its end, whatever is reported then.
    #[test]
    fn nothing_runs_after_the_end(
        outcomes in outcomes(), devices in 1_usize..4, attempts in 1_u32..5, levels in 1_u8..4, replay in 0..3,
        waits: bool,
    ) {
        let replay = match replay {
            0 => Replay::Idempotent,
            1 => Replay::Restore(SnapshotPlan::default()),
            _ => Replay::NotRetryable(NotRetryable::Declared),
        };
        let rungs = Rung::ALL.into_iter().filter(|rung| waits || *rung != Rung::Wait);
        let policy = LadderPolicy::builder().levels(levels).rungs(rungs).build().unwrap();
        let mut ladder = Ladder::new(&policy, &retry(attempts), request(devices, replay.clone())).unwrap();
        let rounds = if waits { attempts as usize } else { 1 };
        let bound = rounds * devices * (attempts as usize + 1 + levels as usize);
        let (mut end, mut wrote) = (None, false);
        for ending in outcomes.iter().cycle().take(outcomes.len().max(bound + 5)) {
            let outcome = outcome(*ending);
            ladder.started(ms(0));
            if let NextStep::Run(next) = ladder.step() {
                prop_assert!(end.is_none(), "an attempt after the end");
                prop_assert_eq!(next.restore, wrote && matches!(replay, Replay::Restore(_)));
                prop_assert!(!wrote || !matches!(replay, Replay::NotRetryable(_)), "run twice");
            }
            wrote |= matches!(outcome, Outcome::Failed(failure) if failure.effects == Effects::Possible);
            let step = ladder.ended(ms(0), outcome);
            if let Some(end) = &end {
                prop_assert_eq!(&step, end);
            } else if !matches!(step, NextStep::Run(_)) {
                end = Some(step);
            }
            prop_assert!(ladder.path().attempts().len() <= bound);
        }
        prop_assert!(end.is_some());
    }
}
