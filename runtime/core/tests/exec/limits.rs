//! Bounds, back-pressure, the brake, cancellation: policies, by a clock that the test moves.

use std::sync::Arc;
use std::time::Duration;

use anymetal_core::stream::group::StreamGroup;
use anymetal_core::stream::{Stream, StreamOptions};
use anymetal_core::submission::{CommittedCommands, ExecError};
use anymetal_core::tenant::{QuotaError, Tenant, TenantLimits};
use anymetal_hal::error::{DeviceError, ErrorClass};
use anymetal_hal::queue::{Cancellation, WhenFull};
use anymetal_testing::fault_injection::{FaultPlan, Faults};

use crate::machine::{faulty, slow};

fn submit(stream: &Stream, label: &str) -> CommittedCommands {
    stream.command_buffer().unwrap().label(label).commit()
}

#[test]
fn exhausted_command_buffers_are_refused_with_who_has_them() {
    let machine = slow();
    let options = StreamOptions::default()
        .label("small")
        .max_command_buffers(4)
        .max_in_flight(1)
        .when_exhausted(WhenFull::Refuse);
    let stream = machine.context.stream(options.clone()).unwrap();
    let leaked: Vec<_> = (0..2).map(|_| stream.command_buffer().unwrap()).collect();
    let submitted: Vec<_> = (0..2).map(|_| submit(&stream, "")).collect();
    let refused = |waited| ExecError::CommandBuffersExhausted {
        stream: "small".into(),
        limit: 4,
        uncommitted: 2,
        committed: 2,
        waited,
    };
    assert_eq!(stream.command_buffer().unwrap_err(), refused(Duration::ZERO));
    assert_eq!(stream.command_buffer().unwrap_err().class(), ErrorClass::Exhausted);
    drop(leaked);
    assert!(stream.command_buffer().is_ok(), "a dropped command buffer gives its place back");
    while machine.clock.advance_to_next_alarm() {}
    assert!(submitted.iter().all(CommittedCommands::is_done) && stream.load() == 0);
    // And with patience, by the clock: first in vain, then not.
    let when_exhausted = WhenFull::Wait(Duration::from_secs(3));
    let stream =
        machine.context.stream(options.when_exhausted(when_exhausted).max_command_buffers(1)).unwrap();
    let taken = stream.command_buffer().unwrap();
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| stream.command_buffer().map(drop));
        while machine.clock.next_alarm().is_none() {
            std::thread::yield_now();
        }
        machine.clock.advance(Duration::from_secs(3));
        let error = waits.join().unwrap().unwrap_err();
        assert!(matches!(error, ExecError::CommandBuffersExhausted { uncommitted: 1, committed: 0, .. }));
        let waits = scope.spawn(|| stream.command_buffer().map(drop));
        while machine.clock.next_alarm().is_none() {
            std::thread::yield_now();
        }
        drop(taken);
        assert_eq!(waits.join().unwrap(), Ok(()));
    });
}

#[test]
fn five_thousand_uncommitted_command_buffers_do_no_harm() {
    let machine = slow();
    let options = StreamOptions::default().max_command_buffers(5000);
    let stream = machine.context.stream(options).unwrap();
    let many: Vec<_> = (0..5000).map(|_| stream.command_buffer().unwrap()).collect();
    drop(many);
    let again: Vec<_> = (0..5000).map(|_| stream.command_buffer().unwrap()).collect();
    drop(again);
}

#[test]
fn stream_and_tenant_limits_hold_at_every_moment() {
    let machine = slow();
    let limits = TenantLimits::new().in_flight(3);
    let tenant = Tenant::new("guest", limits, machine.clock.clone());
    let at_work = || tenant.usage().in_flight as usize;
    let options = StreamOptions::default().max_in_flight(2).tenant(Some(tenant.clone()));
    let group = StreamGroup::new(&machine.context, Some(3), &options).unwrap();
    let free = machine.context.stream(StreamOptions::default()).unwrap();
    let guests: Vec<_> = (0..30).map(|_| submit(group.least_loaded(), "")).collect();
    assert!(group.streams().iter().all(|stream| stream.load() == 10), "spread evenly");
    let other = submit(&free, "");
    let mut most = 0;
    loop {
        let by_streams: usize = group.streams().iter().map(Stream::in_flight).sum();
        assert_eq!(at_work(), by_streams);
        assert!(at_work() <= 3 && group.streams().iter().all(|stream| stream.in_flight() <= 2));
        most = most.max(at_work());
        if !machine.clock.advance_to_next_alarm() {
            break;
        }
    }
    assert_eq!((most, at_work()), (3, 0));
    assert!(guests.iter().chain([&other]).all(|submission| submission.wait().is_ok()));
}

#[test]
fn a_tenant_beyond_its_quota_is_refused_and_nothing_is_half_done() {
    let machine = slow();
    let limits = TenantLimits::new().submissions(2);
    let tenant = Tenant::new("guest", limits, machine.clock.clone());
    let options = StreamOptions::default()
        .max_command_buffers(3)
        .when_exhausted(WhenFull::Refuse)
        .tenant(Some(tenant.clone()));
    let stream = machine.context.stream(options).unwrap();
    let (held, committed) = (stream.command_buffer().unwrap(), submit(&stream, "one"));
    let refused = stream.command_buffer().map(drop).unwrap_err();
    let expected = QuotaError::Submissions { tenant: "guest".into(), used: 2, limit: 2 };
    assert_eq!(refused, ExecError::Quota(expected));
    drop(held);
    assert_eq!((stream.load(), tenant.usage().submissions), (1, 1), "the refusal took no place");
    while machine.clock.advance_to_next_alarm() {}
    let took = committed.wait().unwrap().device_time();
    assert_eq!(tenant.usage().device_time, took, "the stream's own work counts");
    assert_eq!((tenant.usage().submissions, tenant.usage().in_flight), (0, 0));
}

#[test]
fn a_paused_stream_hands_nothing_over_and_says_so() {
    let machine = slow();
    let stream = machine.context.stream(StreamOptions::default()).unwrap();
    let before = submit(&stream, "before");
    stream.pause();
    let (first, second) = (submit(&stream, "first"), submit(&stream, "second"));
    while machine.clock.advance_to_next_alarm() {}
    assert!(before.is_done() && !first.is_done() && stream.is_paused());
    assert!(matches!(stream.drain(), Err(ExecError::Paused { waiting: 2, .. })));
    assert_eq!(second.cancel(), Cancellation::Removed);
    stream.resume();
    while machine.clock.advance_to_next_alarm() {}
    assert_eq!(stream.drain(), Ok(()));
    assert!(first.wait().is_ok());
    assert_eq!(second.wait(), Err(ExecError::Cancelled { label: "second".into() }));
    // The last handle of a paused stream goes: its work is done all the same.
    stream.pause();
    let last = submit(&stream, "last");
    drop(stream);
    while machine.clock.advance_to_next_alarm() {}
    assert!(last.wait().is_ok());
}

#[test]
fn draining_with_a_time_limit_follows_the_clock() {
    let machine = slow();
    let stream = machine.context.stream(StreamOptions::default()).unwrap();
    let _running = submit(&stream, "");
    std::thread::scope(|scope| {
        let drains = scope.spawn(|| stream.drain_timeout(Duration::from_millis(1)));
        while machine.clock.next_alarm() != Some(Duration::from_millis(1)) {
            std::thread::yield_now();
        }
        machine.clock.advance(Duration::from_millis(1));
        assert_eq!(drains.join().unwrap(), Ok(false));
        let drains = scope.spawn(|| stream.drain_timeout(Duration::from_secs(1)));
        // The end of the work, before the end of the patience.
        machine.clock.advance(Duration::from_millis(9));
        assert_eq!(drains.join().unwrap(), Ok(true));
    });
}

#[test]
fn cancelling_stops_what_has_not_started_and_nothing_else() {
    let machine = slow();
    let options = StreamOptions::default().max_in_flight(1);
    let stream = machine.context.stream(options).unwrap();
    let running = submit(&stream, "running");
    let guarded = submit(&stream, "guarded");
    let dependent = machine.context.stream(StreamOptions::default()).unwrap();
    let dependent = dependent.command_buffer().unwrap().label("dependent").after(&guarded).commit();
    drop(guarded.clone().cancel_on_drop());
    assert!(guarded.outcome().is_some_and(|outcome| outcome.is_err_and(|error| error.is_cancelled())));
    let Some(Err(ExecError::DependencyFailed { dependency, error, .. })) = dependent.outcome() else {
        panic!("{dependent:?}");
    };
    assert!(dependency == "guarded" && error.is_cancelled());
    assert_eq!(running.cancel(), Cancellation::TooLate, "the null device has run it already");
    let waiting: Vec<_> = (0..5).map(|_| submit(&stream, "")).collect();
    assert_eq!(stream.cancel_waiting(), 5);
    while machine.clock.advance_to_next_alarm() {}
    assert!(running.wait().is_ok() && waiting.iter().all(|waiting| waiting.wait().is_err()));
    assert_eq!((running.cancel(), stream.load()), (Cancellation::Ended, 0));
}

#[test]
fn one_failure_reaches_all_dependents_with_its_cause_and_no_one_else() {
    let completions = Faults::at(0, ErrorClass::Exhausted);
    let machine = faulty(FaultPlan::default().completions(completions));
    let stream = |_| machine.context.stream(StreamOptions::default()).unwrap();
    let streams: Vec<_> = (0..3).map(stream).collect();
    let bad = submit(&streams[0], "bad");
    let bystander = submit(&streams[0], "bystander");
    let child = streams[1].command_buffer().unwrap().label("child").after(&bad).commit();
    let grandchild = streams[2].command_buffer().unwrap().after(&child).after(&bystander).commit();
    assert_eq!(bad.wait(), Err(ExecError::Device(DeviceError::OutOfMemory { requested: 0 })));
    assert!(bystander.wait().is_ok());
    for dependent in [child, grandchild] {
        let error = dependent.wait().unwrap_err();
        assert_eq!(error.class(), ErrorClass::Exhausted);
        let ExecError::DependencyFailed { dependency, error, .. } = error else { panic!("{error}") };
        assert_eq!((dependency.as_str(), &*error), ("bad", &bad.wait().unwrap_err()));
    }
    assert_eq!(machine.device.injected().completions, 1);
}

#[test]
fn a_lost_device_ends_everything_and_a_revived_one_goes_on() {
    let machine = slow();
    let options = StreamOptions::default().max_in_flight(2);
    let stream = machine.context.stream(options).unwrap();
    let submissions: Vec<_> = (0..10).map(|_| submit(&stream, "")).collect();
    machine.clock.advance(Duration::from_millis(10));
    machine.device.lose();
    while machine.clock.advance_to_next_alarm() {}
    assert_eq!(stream.drain(), Ok(()));
    let good = submissions.iter().filter(|submission| submission.wait().is_ok()).count();
    assert_eq!(good, 1);
    for submission in &submissions[good..] {
        assert_eq!(submission.wait().unwrap_err().class(), ErrorClass::Lost);
    }
    machine.device.revive();
    let again = submit(&stream, "");
    while machine.clock.advance_to_next_alarm() {}
    assert!(again.wait().is_ok());
}

#[test]
fn more_streams_are_chosen_only_where_they_are_faster() {
    let context = anymetal_core::stream::context::Context::new(crate::machine::cpu());
    let count = context.default_stream_count().unwrap();
    assert!([1, 2, 4, 8].contains(&count));
    assert_eq!(context.default_stream_count().unwrap(), count, "measured once");
    // Nothing takes time on the null device, so none is faster than one.
    let machine = faulty(FaultPlan::default());
    let group = StreamGroup::new(&machine.context, None, &StreamOptions::default()).unwrap();
    assert_eq!(group.streams().len(), 1);
}

#[test]
fn a_callback_that_panics_stops_nothing() {
    let machine = slow();
    let stream = machine.context.stream(StreamOptions::default()).unwrap();
    let panics =
        stream.command_buffer().unwrap().on_done(|_| panic!("this panic is part of the test")).commit();
    let after = submit(&stream, "after");
    while machine.clock.advance_to_next_alarm() {}
    assert!(panics.wait().is_ok() && after.wait().is_ok());
}

#[test]
fn a_long_chain_over_many_streams_needs_no_stack() {
    let machine = faulty(FaultPlan::default());
    let count = 5000;
    let first = machine.context.stream(StreamOptions::default()).unwrap();
    first.pause();
    let mut chain = vec![submit(&first, "first")];
    for _ in 1..count {
        let stream = machine.context.stream(StreamOptions::default()).unwrap();
        let before = &chain[chain.len() - 1];
        let next = stream.command_buffer().unwrap().after(before).commit();
        chain.push(next);
    }
    first.resume();
    assert!(chain.iter().all(|submission| submission.wait().is_ok()));
    let context: Arc<_> = Arc::clone(machine.context.device());
    assert_eq!(context.allocated_bytes(), 0);
}
