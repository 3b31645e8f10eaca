//! What goes wrong while a kernel runs: out of bounds, deadlines.

use std::time::{Duration, Instant};

use anymetal_hal::command::{Binding, BoundResource, Command, CommandList, Deadline};
use anymetal_hal::device::Device;
use anymetal_hal::error::{DeviceError, ErrorClass};
use anymetal_hal::queue::QueueDescriptor;

use crate::kernels::{bind, device, dispatch, pipeline, read_words, submission, words, zeroed};

#[test]
fn a_store_out_of_bounds_is_reported_and_dropped() {
    let device = device(2);
    let (store, tally) = (pipeline(&device, "checked_store"), pipeline(&device, "tally"));
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let (out, counter) = (words(&device, &[9; 100]), zeroed(&device, 8));
    let commands =
        vec![dispatch(&store, vec![bind(0, &out)], 101, 32), dispatch(&tally, vec![bind(0, &counter)], 1, 1)];
    let error = queue.submit(submission(commands)).unwrap().wait().unwrap_err();
    assert_eq!(
        error.to_string(),
        "kernel `checked_store`: store out of bounds of argument 0 `out` at index 100 (byte 400), but 100 elements \
         (400 bytes) are bound, in threadgroup (3, 0, 0), thread (4, 0, 0), at store.metal:12:5"
    );
    assert_eq!(error.class(), ErrorClass::Caller);
    assert_eq!(read_words(out.as_ref()), (0..100).collect::<Vec<u32>>());
    assert_eq!(read_words(counter.as_ref()), [0, 0], "what follows a fault must not run");
    let again = vec![dispatch(&tally, vec![bind(0, &counter)], 1, 1)];
    queue.submit(submission(again)).unwrap().wait().unwrap();
    assert_eq!(read_words(counter.as_ref()), [1, 0], "the queue goes on after a fault");
}

#[test]
fn an_unbound_argument_faults_on_access_only() {
    let device = device(2);
    let (store, queue) =
        (pipeline(&device, "checked_store"), device.queue(&QueueDescriptor::default()).unwrap());
    let unbound = || vec![Binding::new(0, BoundResource::Unbound)];
    queue.submit(submission(vec![dispatch(&store, unbound(), 0, 1)])).unwrap().wait().unwrap();
    let error = queue.submit(submission(vec![dispatch(&store, unbound(), 1, 1)])).unwrap().wait();
    assert!(matches!(error, Err(DeviceError::OutOfBounds(fault)) if fault.bound_len == 0));
}

#[test]
fn an_endless_loop_is_stopped_by_the_deadline() {
    for threads in [1, 2] {
        let device = device(threads);
        let (endless, queue) =
            (pipeline(&device, "endless"), device.queue(&QueueDescriptor::default()).unwrap());
        let after = Duration::from_millis(50);
        let start = Instant::now();
        let stuck =
            CommandList::new(vec![dispatch(&endless, vec![], 4096, 64)]).deadline(Deadline::After(after));
        let error = queue.submit(stuck).unwrap().wait().unwrap_err();
        assert_eq!(error, DeviceError::DeadlineExceeded { kernel: Some("endless".into()), after });
        assert!(
            start.elapsed() >= after && start.elapsed() < Duration::from_secs(20),
            "{:?}",
            start.elapsed()
        );
        let (tally, counter) = (pipeline(&device, "tally"), zeroed(&device, 8));
        let next = vec![dispatch(&tally, vec![bind(0, &counter)], 1, 1)];
        queue.submit(submission(next)).unwrap().wait().unwrap();
    }
}

#[test]
fn a_wait_for_an_event_ends_with_the_deadline() {
    let device = device(1);
    let (event, queue) = (device.event().unwrap(), device.queue(&QueueDescriptor::default()).unwrap());
    let after = Duration::from_millis(50);
    let commands = vec![Command::WaitEvent { event, value: 1 }];
    let waiting = CommandList::new(commands).deadline(Deadline::After(after));
    let error = queue.submit(waiting).unwrap().wait().unwrap_err();
    assert_eq!(error, DeviceError::DeadlineExceeded { kernel: None, after });
}
