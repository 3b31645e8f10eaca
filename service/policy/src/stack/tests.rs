//! Stacks in virtual time.

use anymetal_hal::clock::ManualClock;
use proptest::prelude::*;

use super::*;
use crate::breaker::{BreakerPolicy, BreakerState};
use crate::bulkhead::BulkheadPolicy;
use crate::retry::Jitter;
use crate::virtual_time::{Simulated, run, run_all};

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn retry(attempts: u32) -> RetryPolicy {
    RetryPolicy::builder().attempts(attempts).jitter(Jitter::None).build().unwrap()
}

/// Ends attempts one after the other as the script says, each after 10 ms; notes when they began.
fn scripted(
    clock: &Arc<ManualClock>,
    begun: &Mutex<Vec<u128>>,
    script: &[Result<(), ErrorClass>],
) -> impl FnMut(Attempt) -> Simulated<'static, Result<(), ErrorClass>> {
    move |attempt| {
        begun.lock().unwrap().push(clock.now().as_millis());
        let (clock, result) = (Arc::clone(clock), script[attempt.number as usize - 1]);
        Box::pin(async move {
            Sleep::until(clock.clone(), clock.now() + ms(10)).await;
            result
        })
    }
}

#[test]
fn attempts_follow_the_schedule_until_one_succeeds() {
    let (clock, begun) = (ManualClock::new(), Mutex::default());
    let stack = Stack::builder(clock.clone()).retry(retry(3)).build();
    let script = [Err(ErrorClass::Transient), Err(ErrorClass::Exhausted), Ok(())];
    assert_eq!(run(&clock, stack.call(scripted(&clock, &begun, &script))), Some(Ok(())));
    assert_eq!(*begun.lock().unwrap(), [0, 110, 320]);
}

#[test]
fn what_is_not_retried_ends_at_once_and_attempts_end_with_their_number() {
    let clock = ManualClock::new();
    let stack = Stack::builder(clock.clone()).retry(retry(2)).build();
    for (class, attempts, ended) in [
        (ErrorClass::Caller, 1, Ended::NotRetried),
        (ErrorClass::Lost, 1, Ended::NotRetried),
        (ErrorClass::Transient, 2, Ended::NoAttemptLeft),
    ] {
        let begun = Mutex::default();
        let result = run(&clock, stack.call(scripted(&clock, &begun, &[Err(class); 3])));
        assert_eq!(result, Some(Err(CallError::Failed { error: class, attempts, ended })));
        assert_eq!(begun.lock().unwrap().len(), attempts as usize);
    }
}

#[test]
fn an_attempt_is_given_up_at_its_deadline_and_the_call_before_a_delay_in_vain() {
    let (clock, attempts) = (ManualClock::new(), AtomicU32::new(0));
    let deadline = DeadlinePolicy::builder().attempt(ms(50)).total(ms(360)).build().unwrap();
    let stack = Stack::builder(clock.clone()).retry(retry(9)).deadline(deadline).build();
    let hang = |attempt: Attempt| {
        attempts.store(attempt.number, Ordering::Relaxed);
        std::future::pending::<Result<(), ErrorClass>>()
    };
    let result = run(&clock, stack.call(hang));
    assert_eq!(result, Some(Err(CallError::TimedOut { attempts: 2, ended: Ended::NoTimeLeft })));
    assert_eq!(clock.now(), ms(200), "50, delay 100, 50; a delay of 200 would leave no time");
}

#[test]
fn a_breaker_that_opens_ends_the_call_before_its_next_attempt() {
    let (clock, begun) = (ManualClock::new(), Mutex::default());
    let policy = BreakerPolicy::builder().consecutive_failures(2).build().unwrap();
    let breaker = Breaker::new(policy, clock.clone());
    let stack = Stack::builder(clock.clone()).retry(retry(5)).breaker(breaker.clone()).build();
    let result = run(&clock, stack.call(scripted(&clock, &begun, &[Err(ErrorClass::Transient); 5])));
    let refusal = BreakerOpen::Until(ms(10_120));
    assert_eq!(result, Some(Err(CallError::Breaker { refusal, attempts: 2 })));
    assert_eq!(begun.lock().unwrap().len(), 2);
    assert_eq!(breaker.snapshot().state, BreakerState::Open);
}

#[test]
fn a_call_that_is_dropped_leaves_no_probe_and_no_place_behind() {
    let clock = ManualClock::new();
    let breaker = Breaker::new(BreakerPolicy::default(), clock.clone());
    let bulkhead = Bulkhead::new(BulkheadPolicy::default(), clock.clone());
    let builder = Stack::builder(clock.clone()).breaker(breaker.clone()).bulkhead(bulkhead.clone());
    let stack = builder.build();
    let hangs = stack.call(|_| std::future::pending::<Result<(), ErrorClass>>());
    assert_eq!(run(&clock, hangs), None);
    assert_eq!((bulkhead.running(), breaker.snapshot().counts.cancelled), (0, 1));
}

#[test]
fn who_waits_for_a_retry_takes_no_place_of_the_bulkhead() {
    let clock = ManualClock::new();
    let policy = BulkheadPolicy::builder().concurrency(1).queue(0).build().unwrap();
    let builder = Stack::builder(clock.clone()).bulkhead(Bulkhead::new(policy, clock.clone()));
    let stack = builder.retry(retry(2)).build();
    let call =
        |first: Result<(), ErrorClass>, begin: u64| -> Simulated<'_, Result<(), CallError<ErrorClass>>> {
            let (clock, stack) = (clock.clone(), stack.clone());
            Box::pin(async move {
                Sleep::until(clock.clone(), ms(begin)).await;
                let begun = Mutex::default();
                stack.call(scripted(&clock, &begun, &[first, Ok(())])).await
            })
        };
    let failing = call(Err(ErrorClass::Transient), 0);
    let ended = run_all(&clock, vec![failing, call(Ok(()), 50), call(Ok(()), 55)]);
    let refusal = BulkheadFull::QueueFull { concurrency: 1, queue: 0 };
    let refused = Err(CallError::Bulkhead { refusal, attempts: 0 });
    assert_eq!(ended, [Some(Ok(())), Some(Ok(())), Some(refused)]);
}

#[test]
fn a_place_that_comes_at_the_deadline_comes_too_late() {
    let clock = ManualClock::new();
    let policy = BulkheadPolicy::builder().concurrency(1).build().unwrap();
    let bulkhead = Bulkhead::new(policy, clock.clone());
    let place = bulkhead.try_enter().unwrap();
    let leaves = async {
        Sleep::until(clock.clone(), ms(50)).await;
        drop(place);
        Ok(())
    };
    let deadline = DeadlinePolicy::builder().total(ms(50)).build().unwrap();
    let stack = Stack::builder(clock.clone()).bulkhead(bulkhead).deadline(deadline).build();
    let call = stack.call(|_| -> std::future::Ready<Result<(), ErrorClass>> { panic!("called too late") });
    let ended = run_all(&clock, vec![Box::pin(leaves), Box::pin(call)]);
    let late = CallError::TimedOut { attempts: 0, ended: Ended::NoAttemptLeft };
    assert_eq!(ended, [Some(Ok(())), Some(Err(late))]);
}

#[test]
fn an_attempt_that_runs_to_its_deadline_counts_against_the_device() {
    let clock = ManualClock::new();
    let policy = BreakerPolicy::builder().consecutive_failures(1).build().unwrap();
    let breaker = Breaker::new(policy, clock.clone());
    let deadline = DeadlinePolicy::builder().attempt(ms(50)).build().unwrap();
    let stack = Stack::builder(clock.clone()).breaker(breaker.clone()).deadline(deadline).build();
    let hangs = stack.call(|_| std::future::pending::<Result<(), ErrorClass>>());
    assert!(matches!(run(&clock, hangs), Some(Err(CallError::TimedOut { attempts: 1, .. }))));
    assert_eq!(breaker.snapshot().state, BreakerState::Open);
}

#[test]
fn a_blocking_call_waits_by_the_clock() {
    let clock = ManualClock::new();
    let stack = Stack::builder(clock.clone()).retry(retry(2)).build();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| {
            stack.call_blocking(|attempt| match attempt.number {
                1 => Err(ErrorClass::Transient),
                number => Ok(number),
            })
        });
        while clock.next_alarm().is_none() {
            std::thread::yield_now();
        }
        clock.advance(ms(100));
        assert_eq!(call.join().unwrap(), Ok(2));
    });
}

proptest! {
    /// No attempt begins at or after the deadline, and the call ends by it.
    #[test]
    fn retry_never_exceeds_the_deadline(
        total in 1_u64..3_000, attempts in 1_u32..20, base in 1_u64..300, took in 0_u64..400, seed: u64,
    ) {
        let clock = ManualClock::new();
        let policy = RetryPolicy::builder().attempts(attempts).base(ms(base)).seed(seed).build().unwrap();
        let deadline = DeadlinePolicy::builder().total(ms(total)).build().unwrap();
        let stack = Stack::builder(clock.clone()).retry(policy).deadline(deadline).build();
        let begun = Mutex::new(Vec::new());
        let result = run(&clock, stack.call(|_| {
            begun.lock().unwrap().push(clock.now());
            let clock = clock.clone();
            async move {
                Sleep::until(clock.clone(), clock.now() + ms(took)).await;
                Err::<(), _>(ErrorClass::Transient)
            }
        }));
        prop_assert!(matches!(result, Some(Err(_))));
        prop_assert!(clock.now() <= ms(total));
        let begun = begun.into_inner().unwrap();
        prop_assert!(!begun.is_empty() && begun.len() <= attempts as usize);
        prop_assert!(begun.iter().all(|begun| *begun < ms(total)));
    }
}
