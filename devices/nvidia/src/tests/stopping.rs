//! Kernels that do not end by themselves.

use std::time::Duration;

use anymetal_hal::clock::ManualClock;
use anymetal_hal::command::Deadline;
use anymetal_hal::event::{Event, HostEvent};
use anymetal_hal::queue::Cancellation;

use super::*;

fn within(commands: Vec<Command>, limit: Duration) -> CommandList {
    CommandList::new(commands).deadline(Deadline::After(limit))
}

#[test]
fn a_kernel_that_does_not_end_is_stopped_at_the_deadline() {
    let bench = Bench::new(multiply);
    let (pipeline, x) = (bench.pipeline(), bench.buffer(&[1]));
    bench.driver.hang();
    let submission = within(vec![dispatch(&pipeline, &x, 1, 1)], Duration::from_millis(1));
    let error = bench.queue.submit(submission).unwrap().wait().unwrap_err();
    assert!(matches!(&error, DeviceError::DeadlineExceeded { kernel: Some(name), .. } if name == "twice"));
    bench.run(vec![dispatch(&pipeline, &x, 3, 1)]).unwrap();
    assert_eq!(values(&x), [3]);
}

/// The driver may be held up by the very kernel that is to stop.
#[test]
fn a_kernel_is_asked_to_stop_without_the_driver_where_the_host_reaches_the_flag() {
    for (is_reached, uploads) in [(true, 0), (false, 2)] {
        let bench = Bench::new(multiply);
        let (pipeline, x) = (bench.pipeline(), bench.buffer(&[1]));
        if !is_reached {
            bench.driver.lack_managed_memory();
        }
        let queue = match is_reached {
            true => Arc::clone(&bench.queue),
            false => bench.device.queue(&QueueDescriptor::default()).unwrap(),
        };
        bench.driver.hang();
        let running = queue.submit(CommandList::new(vec![dispatch(&pipeline, &x, 1, 1)])).unwrap();
        while bench.driver.calls(&["launch"]).is_empty() {
            std::thread::yield_now();
        }
        let before = bench.driver.calls(&["upload"]).len();
        assert_eq!(queue.stop(&running), Cancellation::Stopping);
        assert_eq!(running.wait(), Err(DeviceError::Stopped { kernel: Some("twice".to_owned()) }));
        // To set the flag and to clear it.
        assert_eq!(bench.driver.calls(&["upload"]).len() - before, uploads);
    }
}

/// The one behind it in the stream is not at the front while its queue's thread does not come back.
#[test]
fn a_kernel_behind_another_is_stopped_while_the_driver_holds_up_the_thread_that_polls() {
    let clock = Arc::new(ManualClock::default());
    let bench = Bench::with(multiply, &NvidiaOptions::default(), Arc::<ManualClock>::clone(&clock));
    let (pipeline, x) = (bench.pipeline(), bench.buffer(&[1]));
    bench.driver.hang_calls();
    let submit = || {
        let submission = within(vec![dispatch(&pipeline, &x, 3, 1)], Duration::from_secs(5));
        bench.queue.submit(submission).unwrap()
    };
    let (first, second) = (submit(), submit());
    while bench.driver.calls(&["launch"]).len() < 2 {
        std::thread::yield_now();
    }
    // The stand-in's kernel looks at the flag of the first slot; that of the second one is set as well.
    while !second.is_done() {
        clock.advance(Duration::from_secs(1));
        std::thread::yield_now();
    }
    assert!(matches!(first.wait(), Err(DeviceError::DeadlineExceeded { .. })));
}

/// As when a module is loaded while a kernel runs: the thread that polls does not come back from the driver.
#[test]
fn a_kernel_is_stopped_while_the_driver_holds_up_the_thread_that_polls() {
    for stops in [false, true] {
        let bench = Bench::new(multiply);
        let (pipeline, x) = (bench.pipeline(), bench.buffer(&[1]));
        bench.driver.hang_calls();
        let limit = if stops { Duration::from_secs(60) } else { Duration::from_millis(1) };
        let running = bench.queue.submit(within(vec![dispatch(&pipeline, &x, 1, 1)], limit)).unwrap();
        while bench.driver.calls(&["launch"]).is_empty() {
            std::thread::yield_now();
        }
        if stops {
            assert_eq!(bench.queue.stop(&running), Cancellation::Stopping);
        }
        let kernel = Some("twice".to_owned());
        let expected = match stops {
            true => DeviceError::Stopped { kernel },
            false => DeviceError::DeadlineExceeded { kernel, after: limit },
        };
        assert_eq!(running.wait(), Err(expected));
        bench.run(vec![dispatch(&pipeline, &x, 3, 1)]).unwrap();
        assert_eq!(values(&x), [3]);
    }
}

#[test]
fn a_kernel_is_stopped_by_its_submitter() {
    let bench = Bench::new(multiply);
    let (pipeline, x) = (bench.pipeline(), bench.buffer(&[1]));
    bench.driver.hang();
    let submit = |by| bench.queue.submit(CommandList::new(vec![dispatch(&pipeline, &x, by, 1)])).unwrap();
    let running = submit(1);
    while bench.driver.calls(&["launch"]).is_empty() {
        std::thread::yield_now();
    }
    assert_eq!(bench.queue.cancel(&running), Cancellation::TooLate);
    assert_eq!(bench.queue.stop(&running), Cancellation::Stopping);
    assert_eq!(running.wait(), Err(DeviceError::Stopped { kernel: Some("twice".to_owned()) }));
    assert_eq!(bench.queue.stop(&running), Cancellation::Ended);
    bench.run(vec![dispatch(&pipeline, &x, 3, 1)]).unwrap();
    assert_eq!(values(&x), [3]);
}

#[test]
fn a_wait_for_an_event_is_stopped_by_its_submitter() {
    let bench = Bench::new(multiply);
    let (pipeline, x) = (bench.pipeline(), bench.buffer(&[1]));
    let never: Arc<dyn Event> = Arc::new(HostEvent::default());
    let wait = Command::WaitEvent { event: never, value: 1 };
    let commands = vec![dispatch(&pipeline, &x, 3, 1), wait];
    let waiting = bench.queue.submit(CommandList::new(commands).deadline(Deadline::Never)).unwrap();
    while bench.driver.calls(&["launch"]).is_empty() {
        std::thread::yield_now();
    }
    assert_eq!(bench.queue.stop(&waiting), Cancellation::Stopping);
    assert_eq!(waiting.wait(), Err(DeviceError::Stopped { kernel: None }));
}

#[test]
fn the_fault_of_a_stopped_command_buffer_is_not_told_to_the_next_one() {
    let bench = Bench::new(multiply);
    let (pipeline, x) = (bench.pipeline(), bench.buffer(&[1; 40]));
    bench.driver.hang();
    let submission = within(vec![dispatch(&pipeline, &x, 1, 50)], Duration::from_millis(1));
    let stopped = bench.queue.submit(submission).unwrap().wait().unwrap_err();
    assert!(matches!(stopped, DeviceError::DeadlineExceeded { .. }), "{stopped}");
    bench.run(vec![dispatch(&pipeline, &x, 1, 40)]).unwrap();
}

#[test]
fn a_kernel_that_does_not_stop_loses_the_device_and_is_waited_for_once() {
    let clock = Arc::new(ManualClock::default());
    let bench = Bench::with(multiply, &NvidiaOptions::default(), Arc::<ManualClock>::clone(&clock));
    let (pipeline, x) = (bench.pipeline(), bench.buffer(&[1]));
    let before = bench.driver.live_allocations();
    bench.driver.hang_for_ever();
    let submission = within(vec![dispatch(&pipeline, &x, 1, 1)], Duration::from_secs(1));
    let completion = bench.queue.submit(submission).unwrap();
    while !completion.is_done() {
        clock.advance(Duration::from_secs(1));
        std::thread::yield_now();
    }
    let lost = completion.wait().unwrap_err();
    assert!(
        matches!(&lost, DeviceError::DeviceLost { reason, .. } if reason.contains("asked to stop")),
        "{lost}"
    );
    let calls = bench.driver.all_calls().len();
    assert!(matches!(bench.run(vec![dispatch(&pipeline, &x, 1, 1)]), Err(DeviceError::DeviceLost { .. })));
    assert_eq!(bench.driver.all_calls().len(), calls, "nothing is put after it, and nothing waits again");
    drop((pipeline, x));
    assert_eq!(bench.driver.live_allocations(), before, "the kernel may still use the buffer");
}

#[test]
fn command_buffers_are_in_the_stream_together_and_stopped_apart() {
    let clock = Arc::new(ManualClock::default());
    let bench = Bench::with(multiply, &NvidiaOptions::default(), Arc::<ManualClock>::clone(&clock));
    let (pipeline, x) = (bench.pipeline(), bench.buffer(&[1]));
    bench.driver.hang();
    let submit = |by, seconds| {
        let submission = within(vec![dispatch(&pipeline, &x, by, 1)], Duration::from_secs(seconds));
        bench.queue.submit(submission).unwrap()
    };
    let (first, second) = (submit(3, 5), submit(7, 5));
    while bench.driver.calls(&["launch"]).len() < 2 {
        std::thread::yield_now();
    }
    assert!(!first.is_done() && !second.is_done());
    while !first.is_done() {
        clock.advance(Duration::from_secs(1));
        std::thread::yield_now();
    }
    assert!(matches!(first.wait(), Err(DeviceError::DeadlineExceeded { .. })));
    // Its own deadline counts from the end of the first.
    second.wait().unwrap();
    assert_eq!(values(&x), [21]);
}

#[test]
fn a_command_buffer_that_waits_for_an_event_is_alone_in_the_stream() {
    let bench = Bench::new(multiply);
    let (pipeline, x) = (bench.pipeline(), bench.buffer(&[1]));
    let event = bench.device.event().unwrap();
    let wait = Command::WaitEvent { event: Arc::clone(&event), value: 1 };
    let submit = |commands| bench.queue.submit(CommandList::new(commands)).unwrap();
    let first = submit(vec![dispatch(&pipeline, &x, 3, 1), wait, dispatch(&pipeline, &x, 5, 1)]);
    let second = submit(vec![dispatch(&pipeline, &x, 7, 1)]);
    while bench.driver.calls(&["launch"]).is_empty() {
        std::thread::yield_now();
    }
    assert!(!first.is_done() && !second.is_done());
    assert_eq!(bench.driver.calls(&["launch"]).len(), 1);
    event.signal(1);
    first.wait().unwrap();
    second.wait().unwrap();
    assert_eq!(values(&x), [105]);
}

#[test]
fn command_buffers_behind_a_kernel_that_does_not_stop_end_at_once() {
    let clock = Arc::new(ManualClock::default());
    let bench = Bench::with(multiply, &NvidiaOptions::default(), Arc::<ManualClock>::clone(&clock));
    let (pipeline, x) = (bench.pipeline(), bench.buffer(&[1]));
    bench.driver.hang_for_ever();
    let submit = || {
        let submission = within(vec![dispatch(&pipeline, &x, 3, 1)], Duration::from_secs(5));
        bench.queue.submit(submission).unwrap()
    };
    let (first, second) = (submit(), submit());
    while bench.driver.calls(&["launch"]).len() < 2 {
        std::thread::yield_now();
    }
    while !first.is_done() {
        clock.advance(Duration::from_secs(1));
        std::thread::yield_now();
    }
    // The clock stands still from here on.
    assert!(matches!(second.wait(), Err(DeviceError::DeviceLost { .. })));
}
