//! Schedules: exact, bounded, repeated by their seed.

use proptest::prelude::*;

use super::*;

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn plain() -> RetryPolicyBuilder {
    RetryPolicy::builder().jitter(Jitter::None)
}

fn delays(policy: &RetryPolicy, call: u64) -> Vec<Duration> {
    policy.schedule(call).collect()
}

#[test]
fn the_default_is_three_attempts_with_doubled_delays() {
    assert_eq!(delays(&plain().build().unwrap(), 0), [ms(100), ms(200)]);
    assert_eq!(RetryPolicy::builder().build(), Ok(RetryPolicy::default()));
    assert_eq!(delays(&RetryPolicy::once(), 0), []);
    let spread = delays(&RetryPolicy::default(), 0);
    assert!(spread[0] >= ms(50) && spread[0] <= ms(100) && spread[1] >= ms(100) && spread[1] <= ms(200));
}

#[test]
fn delays_grow_to_the_cap_and_their_sum_to_its_limit() {
    let policy = plain().attempts(6).factor("1.5".parse().unwrap()).cap(ms(200)).build().unwrap();
    assert_eq!(delays(&policy, 0), [ms(100), ms(150), ms(200), ms(200), ms(200)]);
    let bounded = plain().attempts(6).total_delay(ms(700)).build().unwrap();
    assert_eq!(delays(&bounded, 0), [ms(100), ms(200), ms(400)], "exactly the limit fits");
    let mut schedule = plain().attempts(6).total_delay(ms(699)).build().unwrap().schedule(0);
    assert_eq!(schedule.by_ref().count(), 2);
    assert_eq!((schedule.next(), schedule.retries_left()), (None, 0), "an ended schedule stays ended");
}

#[test]
fn only_transient_and_exhausted_errors_are_tried_again() {
    let policy = RetryPolicy::default();
    assert!(policy.retries(ErrorClass::Transient) && policy.retries(ErrorClass::Exhausted));
    assert!(!policy.retries(ErrorClass::Lost) && !policy.retries(ErrorClass::Caller));
}

#[test]
fn jitter_is_repeated_by_seed_and_call_and_differs_between_them() {
    let policy = |seed| RetryPolicy::builder().attempts(9).jitter(Jitter::Full).seed(seed).build().unwrap();
    assert_eq!(delays(&policy(7), 3), delays(&policy(7), 3));
    assert_ne!(delays(&policy(7), 3), delays(&policy(8), 3));
    assert_ne!(delays(&policy(7), 3), delays(&policy(7), 4));
}

#[test]
fn impossible_values_are_refused_with_field_value_and_rule() {
    let refused = |builder: RetryPolicyBuilder| builder.build().unwrap_err().to_string();
    assert_eq!(refused(plain().attempts(0)), "retry.attempts = 0: work that is never attempted never ends");
    assert!(refused(plain().factor("0.5".parse().unwrap())).starts_with("retry.factor = 0.5: "));
    assert!(refused(plain().base(ms(0))).starts_with("retry.base = 0ns: "));
    assert_eq!(refused(plain().base(ms(9)).cap(ms(5))), "retry.cap = 5ms: shorter than retry.base");
    assert!(refused(plain().total_delay(ms(0))).starts_with("retry.total-delay = 0ns: "));
    let small = plain().cap(ms(5)).build().unwrap();
    assert_eq!(delays(&small, 0), [ms(5), ms(5)], "the default of the base gives way");
    assert_eq!(delays(&plain().base(ms(20_000)).build().unwrap(), 0)[0], ms(20_000), "so does the cap's");
}

proptest! {
    #[test]
    fn delays_are_within_cap_count_and_total(
        attempts in 1_u32..50, base in 1_u64..2_000, factor in 100_u32..500, cap in 1_u64..10_000,
        jitter in prop_oneof![Just(Jitter::None), Just(Jitter::Full), Just(Jitter::Equal)],
        total in proptest::option::of(1_u64..20_000), seed: u64, call: u64,
    ) {
        let cap = cap.max(base);
        let mut builder = RetryPolicy::builder().attempts(attempts).base(ms(base)).cap(ms(cap));
        builder = builder.factor(Ratio::percent(factor)).jitter(jitter).seed(seed);
        if let Some(total) = total {
            builder = builder.total_delay(ms(total));
        }
        let delays = delays(&builder.build().unwrap(), call);
        prop_assert!(delays.len() < attempts as usize);
        prop_assert!(delays.iter().all(|delay| *delay <= ms(cap)));
        prop_assert!(delays.iter().sum::<Duration>() <= ms(total.unwrap_or(u64::MAX / 2)));
        prop_assert!(total.is_some() || delays.len() + 1 == attempts as usize);
    }
}
