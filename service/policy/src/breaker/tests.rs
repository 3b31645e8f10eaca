//! Breakers and registries in virtual time.

use anymetal_hal::clock::ManualClock;
use anymetal_hal::error::ErrorClass;
use proptest::prelude::*;

use super::*;
use crate::ratio::Ratio;

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

fn fail(breaker: &Breaker, times: u32) {
    for _ in 0..times {
        breaker.permit().unwrap().failure(ErrorClass::Transient);
    }
}

fn state(breaker: &Breaker) -> BreakerState {
    breaker.snapshot().state
}

/// Notes all changes.
#[derive(Default)]
struct Notes(Mutex<Vec<(&'static str, Transition)>>);

impl KeyedListener<&'static str> for Notes {
    fn changed(&self, key: &&'static str, transition: &Transition) {
        lock(&self.0).push((key, *transition));
    }
}

#[test]
fn failures_in_a_row_open_it_and_a_success_between_them_does_not() {
    let clock = ManualClock::new();
    let breaker = Breaker::new(BreakerPolicy::default(), clock.clone());
    fail(&breaker, 4);
    breaker.permit().unwrap().success();
    fail(&breaker, 4);
    assert_eq!((state(&breaker), breaker.snapshot().consecutive_failures), (BreakerState::Closed, 4));
    fail(&breaker, 1);
    assert_eq!(state(&breaker), BreakerState::Open);
    assert_eq!(breaker.permit().unwrap_err(), BreakerOpen::Until(seconds(10)));
    clock.advance(seconds(10));
    let probe = breaker.permit().unwrap();
    assert_eq!(breaker.permit().unwrap_err(), BreakerOpen::Probing { probes: 1 });
    probe.success();
    let snapshot = breaker.snapshot();
    assert_eq!((snapshot.state, snapshot.consecutive_failures), (BreakerState::Closed, 0));
    let counts = BreakerCounts { successes: 2, failures: 9, not_counted: 0, cancelled: 0, refused: 2 };
    assert_eq!(snapshot.counts, counts);
}

#[test]
fn a_failure_rate_opens_it_only_with_enough_calls_in_the_window() {
    let clock = ManualClock::new();
    let builder = BreakerPolicy::builder().consecutive_failures(100).minimum_calls(4);
    let policy = builder.failure_rate(Ratio::percent(50)).window(seconds(10)).build().unwrap();
    let breaker = Breaker::new(policy, clock.clone());
    fail(&breaker, 3);
    assert_eq!(state(&breaker), BreakerState::Closed, "three calls say nothing");
    clock.advance(seconds(20));
    (0..3).for_each(|_| breaker.permit().unwrap().success());
    fail(&breaker, 2);
    assert_eq!(state(&breaker), BreakerState::Closed, "2 of 5: the old failures have left the window");
    fail(&breaker, 1);
    assert_eq!(state(&breaker), BreakerState::Open, "3 of 6");
}

#[test]
fn errors_of_the_caller_never_count() {
    let clock = ManualClock::new();
    let policy = BreakerPolicy::builder().consecutive_failures(2).minimum_calls(1).build().unwrap();
    let breaker = Breaker::new(policy, clock.clone());
    (0..50).for_each(|_| breaker.permit().unwrap().failure(ErrorClass::Caller));
    assert_eq!(breaker.snapshot().consecutive_failures, 0);
    fail(&breaker, 1);
    clock.advance(seconds(10));
    breaker.permit().unwrap().failure(ErrorClass::Caller);
    assert_eq!(breaker.permit().map(|_| ()), Ok(()), "the probe's place is free again");
    assert_eq!((breaker.snapshot().counts.not_counted, state(&breaker)), (51, BreakerState::HalfOpen));
}

#[test]
fn an_exhausted_resource_counts_only_if_told_so() {
    let opens = |counts| {
        let builder = BreakerPolicy::builder().consecutive_failures(2).counts_exhausted(counts);
        let breaker = Breaker::new(builder.build().unwrap(), ManualClock::new());
        (0..2).for_each(|_| breaker.permit().unwrap().failure(ErrorClass::Exhausted));
        (state(&breaker), breaker.snapshot().counts.not_counted)
    };
    assert_eq!((opens(false), opens(true)), ((BreakerState::Closed, 2), (BreakerState::Open, 0)));
}

#[test]
fn tripping_an_open_breaker_changes_nothing() {
    let clock = ManualClock::new();
    let breaker = Breaker::new(BreakerPolicy::default(), clock.clone());
    breaker.trip();
    clock.advance(seconds(9));
    breaker.trip();
    assert_eq!(breaker.snapshot().open_until, Some(seconds(10)));
    clock.advance(seconds(1));
    let probe = breaker.permit().unwrap();
    breaker.trip();
    probe.success();
    assert_eq!(breaker.snapshot().open_until, Some(seconds(20)), "a half-open one is opened");
}

#[test]
fn a_lost_device_opens_it_at_once_unless_told_otherwise() {
    let lose = |opens| {
        let policy = BreakerPolicy::builder().opens_on_loss(opens).build().unwrap();
        let breaker = Breaker::new(policy, ManualClock::new());
        breaker.permit().unwrap().failure(ErrorClass::Lost);
        state(&breaker)
    };
    assert_eq!((lose(true), lose(false)), (BreakerState::Open, BreakerState::Closed));
}

#[test]
fn all_probes_must_succeed_and_one_failure_opens_it_again() {
    let clock = ManualClock::new();
    let policy = BreakerPolicy::builder().probes(3).build().unwrap();
    let breaker = Breaker::new(policy, clock.clone());
    breaker.trip();
    clock.advance(seconds(10));
    let probes: Vec<_> = (0..3).map(|_| breaker.permit().unwrap()).collect();
    assert!(breaker.permit().is_err());
    let mut probes = probes.into_iter();
    probes.next().unwrap().success();
    assert!(breaker.permit().is_err(), "a probe that succeeded is not let through again");
    drop(probes.next());
    let again = breaker.permit().unwrap();
    probes.next().unwrap().failure(ErrorClass::Transient);
    assert_eq!(breaker.snapshot().open_until, Some(seconds(20)));
    again.success();
    assert_eq!(state(&breaker), BreakerState::Open, "a report from before does not count");
}

#[test]
fn reports_of_calls_from_before_a_reset_do_not_count() {
    let breaker = Breaker::new(BreakerPolicy::default(), ManualClock::new());
    let late: Vec<_> = (0..9).map(|_| breaker.permit().unwrap()).collect();
    breaker.reset();
    late.into_iter().for_each(|permit| permit.failure(ErrorClass::Lost));
    assert_eq!((state(&breaker), breaker.snapshot().consecutive_failures), (BreakerState::Closed, 0));
}

#[test]
fn a_registry_tells_changes_with_key_cause_and_time() {
    let (clock, notes) = (ManualClock::new(), Arc::new(Notes::default()));
    let policy = BreakerPolicy::builder().consecutive_failures(2).build().unwrap();
    let breakers = Breakers::new(policy, clock.clone(), 4).unwrap().with_listener(notes.clone());
    clock.advance(seconds(1));
    fail(&breakers.get(&"gpu saxpy").unwrap(), 2);
    clock.advance(seconds(10));
    breakers.get(&"gpu saxpy").unwrap().permit().unwrap().success();
    let notes = lock(&notes.0);
    let changes = notes.iter().map(|(key, change)| {
        let Transition { sequence, from, to, at, cause } = change;
        format!("{sequence} {key} {} -> {} at {} s: {cause}", from.word(), to.word(), at.as_secs())
    });
    let expected = [
        "1 gpu saxpy closed -> open at 1 s: 2 failures in a row",
        "2 gpu saxpy open -> half-open at 11 s: it was open for long enough",
        "3 gpu saxpy half-open -> closed at 11 s: all probes succeeded",
    ];
    assert_eq!(changes.collect::<Vec<_>>(), expected);
}

#[test]
fn a_full_registry_evicts_closed_breakers_that_nobody_uses() {
    let breakers = Breakers::new(BreakerPolicy::default(), ManualClock::new(), 3).unwrap();
    fail(&breakers.get(&"failing").unwrap(), 1);
    breakers.get(&"old").unwrap();
    breakers.get(&"open").unwrap().trip();
    let used = breakers.get(&"new").unwrap();
    let keys = || breakers.snapshots().into_iter().map(|(key, _)| key).collect::<Vec<_>>();
    assert_eq!(keys(), ["failing", "new", "open"], "the one without failures went");
    let permit = breakers.get(&"newer").unwrap().permit().unwrap();
    assert_eq!(keys(), ["new", "newer", "open"]);
    assert_eq!(breakers.get(&"newest").unwrap_err(), BreakersFull { capacity: 3 });
    drop(used);
    assert!(breakers.get(&"newest").is_ok());
    drop(permit);
    assert_eq!((breakers.len(), keys()), (3, vec!["newer", "newest", "open"]));
    assert_eq!(breakers.matching(|key| key.starts_with('o')).len(), 1);
    let refused = Breakers::<u32>::new(BreakerPolicy::default(), ManualClock::new(), 0).unwrap_err();
    assert_eq!(refused.field(), "breaker.capacity");
}

/// What happens to a breaker in a random history.
#[derive(Debug, Clone, Copy)]
enum Event {
    Call,
    End { which: usize, how: u8 },
    Wait(u64),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        3 => Just(Event::Call),
        3 => (any::<usize>(), 0_u8..4).prop_map(|(which, how)| Event::End { which, how }),
        1 => (0_u64..12).prop_map(Event::Wait),
    ];
    proptest::collection::vec(event, 0..200)
}

proptest! {
    /// In each half-open phase, probes in flight and probes that succeeded are never more than the
    /// policy's.
    #[test]
    fn never_more_probes_than_allowed(probes in 1_u32..4, failures in 1_u32..4, events in events()) {
        let clock = ManualClock::new();
        let builder = BreakerPolicy::builder().probes(probes).consecutive_failures(failures);
        let breaker = Breaker::new(builder.build().unwrap(), clock.clone());
        // Permits with the phase they belong to, and the successes of the current phase.
        let (mut permits, mut phase, mut succeeded) = (Vec::<(Permit, u64)>::new(), 0, 0_u32);
        for event in events {
            let before = state(&breaker);
            match event {
                Event::Call => {
                    let permit = breaker.permit();
                    prop_assert_eq!(permit.is_ok() && state(&breaker) == BreakerState::Open, false);
                    if before == BreakerState::Open && state(&breaker) == BreakerState::HalfOpen {
                        (phase, succeeded) = (phase + 1, 0);
                    }
                    permits.extend(permit.map(|permit| (permit, phase)));
                }
                Event::End { which, how } if !permits.is_empty() => {
                    let (permit, of) = permits.swap_remove(which % permits.len());
                    match how {
                        0 => permit.success(),
                        1 => permit.failure(ErrorClass::Transient),
                        2 => permit.failure(ErrorClass::Caller),
                        _ => drop(permit),
                    }
                    succeeded += u32::from(how == 0 && of == phase && before == BreakerState::HalfOpen);
                    if state(&breaker) != before {
                        phase += 1;
                    }
                }
                Event::End { .. } => {}
                Event::Wait(time) => clock.advance(seconds(time)),
            }
            if state(&breaker) == BreakerState::HalfOpen {
                let in_flight = permits.iter().filter(|(_, of)| *of == phase).count() as u32;
                prop_assert!(in_flight + succeeded <= probes, "{in_flight} + {succeeded} of {probes}");
            }
        }
    }
}
