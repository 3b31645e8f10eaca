//! Events across streams, devices and the host.

use std::sync::Arc;
use std::time::Duration;

use anymetal_core::profile::{CountedWork, Profiler, TimeSource};
use anymetal_core::stream::StreamOptions;
use anymetal_core::stream::context::Context;
use anymetal_core::submission::ExecError;
use anymetal_hal::clock::{Clock, ManualClock};
use anymetal_hal::command::{Deadline, Timestamps};
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;
use anymetal_testing::null::NullDevice;

use crate::machine::{cpu, read, slow, zeroed};

#[test]
fn streams_of_different_devices_wait_for_each_other() {
    let (cpu, clock) = (cpu(), ManualClock::new());
    let null: Arc<dyn Device> = Arc::new(NullDevice::named("other", clock.clone()));
    let (here, there) = (Context::new(Arc::clone(&cpu)), Context::with(null, clock, None));
    let (stream, other) =
        (here.stream(StreamOptions::default()).unwrap(), there.stream(StreamOptions::default()).unwrap());
    let buffer = zeroed(cpu.as_ref(), 4);
    // cpu waits for 1, null signals 2 after cpu signalled 1 of its own, and so on: four hops.
    let (from_null, from_cpu) = (there.event().unwrap(), here.event().unwrap());
    let mut first = stream.command_buffer().unwrap();
    first.wait_event(&from_null, 1).unwrap();
    first.blit().fill(&buffer, 0..4, 7).unwrap();
    first.signal_event(&from_cpu, 1).unwrap();
    let first = first.commit();
    let mut second = other.command_buffer().unwrap();
    second.wait_event(&from_cpu, 1).unwrap();
    second.signal_event(&from_null, 2).unwrap();
    let second = second.commit();
    assert!(!first.is_done() && !second.is_done());
    let host = from_null.reached(2);
    from_null.signal(1);
    assert_eq!(smol::block_on(host), ());
    assert!(first.wait().is_ok() && second.wait().is_ok());
    assert_eq!((read(buffer.as_ref()), from_cpu.value()), (vec![7; 4], 1));
    let reason = "they are of different devices";
    assert_eq!(first.elapsed_since(&second), Err(ExecError::NoElapsedTime { reason }));
}

#[test]
fn events_are_used_again_once_nobody_has_them() {
    let machine = slow();
    let events = machine.context.events();
    let stream = machine.context.stream(StreamOptions::default()).unwrap();
    let event = machine.context.event().unwrap();
    let recorded = stream.record(&event, 5).unwrap();
    drop(event);
    assert_eq!(events.idle(), 0, "work in flight still signals it");
    while machine.clock.advance_to_next_alarm() {}
    recorded.wait().unwrap();
    let event = machine.context.event().unwrap();
    event.signal(9);
    let waits = event.reached(10);
    drop(event);
    assert_eq!(events.idle(), 0, "somebody still waits for it");
    drop(waits);
    for round in 0..1000 {
        let event = machine.context.event().unwrap();
        assert_eq!(event.value(), 0, "an event starts at 0, whatever it was before ({round})");
        event.signal(3);
        event.wait(3);
        drop(event);
        assert_eq!(events.idle(), 1);
    }
}

#[test]
fn a_wait_that_is_never_met_ends_with_its_time_or_its_deadline() {
    let machine = slow();
    let (clock, event) = (&machine.clock, machine.context.event().unwrap());
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| event.wait_timeout(1, Duration::from_secs(2), &**clock));
        while clock.next_alarm().is_none() {
            std::thread::yield_now();
        }
        clock.advance(Duration::from_secs(2));
        assert!(!waits.join().unwrap());
    });
    let stream = machine.context.stream(StreamOptions::default()).unwrap();
    let after = Duration::from_secs(4);
    let mut command_buffer = stream.command_buffer().unwrap().deadline(Deadline::After(after));
    command_buffer.wait_event(&event, 1).unwrap();
    let stuck = command_buffer.commit();
    while clock.advance_to_next_alarm() {}
    let expected = DeviceError::DeadlineExceeded { kernel: None, after };
    assert_eq!(stuck.wait(), Err(ExecError::Device(expected)));
    assert!(clock.now() >= Duration::from_secs(6));
}

#[test]
fn a_profile_runs_warm_up_and_rounds_and_counts_bytes() {
    let device = cpu();
    let stream = Context::new(Arc::clone(&device)).stream(StreamOptions::default()).unwrap();
    let (buffer, mut runs) = (zeroed(device.as_ref(), 1 << 20), 0);
    let work = CountedWork { bytes: 1 << 20, flop: 0 };
    let profiler = Profiler { warm_up: 2, iterations: 5, work };
    let profile = profiler.run(&stream, |command_buffer| {
        runs += 1;
        command_buffer.blit().fill(&buffer, 0..1 << 20, 1)?;
        Ok(())
    });
    let profile = profile.unwrap();
    assert_eq!((runs, profile.samples_ns().len(), profile.source()), (7, 5, TimeSource::Device));
    assert!(profile.gflops().is_none() && profile.gigabytes_per_second().is_some_and(|rate| rate > 0.01));
}

#[test]
fn times_between_submissions_come_from_the_device() {
    let device = cpu();
    let context = Context::new(Arc::clone(&device));
    let stream = context.stream(StreamOptions::default()).unwrap();
    let buffer = zeroed(device.as_ref(), 8 << 20);
    let start = stream.marker().unwrap();
    let mut command_buffer = stream.command_buffer().unwrap().timestamps(Timestamps::EachCommand);
    command_buffer.blit().fill(&buffer, 0..8 << 20, 3).unwrap();
    let end = command_buffer.commit();
    let (started, timing) = (start.wait().unwrap(), end.wait().unwrap());
    let elapsed = end.elapsed_since(&start).unwrap();
    assert_eq!(elapsed.as_nanos() as u64, timing.ended_ns - started.ended_ns);
    let commands = end.command_timings().unwrap();
    assert!(
        commands.len() == 1 && elapsed >= Duration::from_nanos(commands[0].ended_ns - commands[0].started_ns)
    );
    assert_eq!(start.command_timings(), None);
}
