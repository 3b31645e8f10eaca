//! Every interleaving; run with `RUSTFLAGS="--cfg loom" cargo test -p anymetal-policy --lib
//! models`.

use anymetal_hal::clock::ManualClock;
use anymetal_hal::error::ErrorClass;
use loom::sync::Arc as LoomArc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use super::*;

fn half_open() -> Breaker {
    let clock = ManualClock::new();
    let policy = BreakerPolicy::builder().consecutive_failures(1).build().unwrap();
    let breaker = Breaker::new(policy, clock.clone());
    breaker.permit().unwrap().failure(ErrorClass::Transient);
    clock.advance(policy.open_for());
    breaker
}

/// Of two calls at once at most one is the probe, and a dropped one gives its place to the other or
/// the next.
#[test]
fn one_probe_at_a_time_whatever_the_interleaving() {
    loom::model(|| {
        let (breaker, probes) = (half_open(), LoomArc::new(AtomicU32::new(0)));
        let call = |breaker: Breaker, probes: LoomArc<AtomicU32>| {
            if let Ok(permit) = breaker.permit() {
                assert_eq!(probes.fetch_add(1, Ordering::AcqRel), 0, "two probes at once");
                probes.fetch_sub(1, Ordering::AcqRel);
                drop(permit);
            }
        };
        let other = {
            let (breaker, probes) = (breaker.clone(), probes.clone());
            thread::spawn(move || call(breaker, probes))
        };
        call(breaker.clone(), probes);
        other.join().unwrap();
        assert!(breaker.permit().is_ok(), "no probe was lost");
    });
}

/// The success of a call from before the breaker opened does not close it, whether it is told while
/// the breaker is still open, or half-open with its probe in flight.
#[test]
fn late_reports_do_not_count_whatever_the_interleaving() {
    loom::model(|| {
        let clock = ManualClock::new();
        let policy = BreakerPolicy::builder().consecutive_failures(1).build().unwrap();
        let breaker = Breaker::new(policy, clock.clone());
        let (late, fails) = (breaker.permit().unwrap(), breaker.permit().unwrap());
        fails.failure(ErrorClass::Transient);
        clock.advance(policy.open_for());
        let other = thread::spawn(move || late.success());
        let probe = breaker.permit().unwrap();
        other.join().unwrap();
        assert_eq!(breaker.snapshot().state, BreakerState::HalfOpen);
        probe.success();
        assert_eq!(breaker.snapshot().state, BreakerState::Closed);
    });
}
