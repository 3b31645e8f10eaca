//! Short work that its submitter waits for runs at once, by the rules of all other work.

use std::sync::Arc;
use std::time::Duration;

use anymetal_cpu::{CpuDevice, CpuDeviceOptions};
use anymetal_hal::buffer::Buffer;
use anymetal_hal::buffer_uses::MapMode;
use anymetal_hal::clock::ManualClock;
use anymetal_hal::command::{CommandList, Deadline};
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::queue::{Queue, QueueDescriptor};

use crate::kernels::{bind, device, dispatch, pipeline, read_words, submission, words, zeroed};

fn queue(device: &CpuDevice) -> Arc<dyn Queue> {
    device.queue(&QueueDescriptor::default()).unwrap()
}

fn run_while_set(kernel: &Arc<dyn Pipeline>, set: &Arc<dyn Buffer>) -> CommandList {
    submission(vec![dispatch(kernel, vec![bind(0, set)], 1, 1)])
}

/// Submits work until the queue takes it at once; a busy machine may make that late.
fn until_at_once(queue: &Arc<dyn Queue>, work: impl Fn() -> CommandList) {
    for _ in 0..10_000 {
        if let Some(outcome) = queue.run_inline(&work()) {
            outcome.unwrap();
            return;
        }
        queue.submit(work()).unwrap().wait().unwrap();
    }
    panic!("it was never run at once");
}

#[test]
fn only_what_is_known_to_be_short_runs_at_once() {
    let device = device(2);
    let (queue, tally, counter) = (queue(&device), pipeline(&device, "tally"), zeroed(&device, 8));
    let work = |groups| submission(vec![dispatch(&tally, vec![bind(0, &counter)], groups, 1)]);
    assert!(queue.run_inline(&work(4)).is_none(), "nothing is known of it");
    assert_eq!(read_words(counter.as_ref())[0], 0, "and nothing was done");
    until_at_once(&queue, || work(4));
    // A busy machine may make a run long, so that the next is not taken.
    let mut before = 0;
    let taken = (0..1000).find_map(|_| {
        until_at_once(&queue, || work(4));
        before = read_words(counter.as_ref())[0];
        queue.run_inline(&work(3))
    });
    let timing = taken.unwrap().unwrap();
    for deadline in [Deadline::After(Duration::from_secs(1)), Deadline::Never] {
        until_at_once(&queue, || work(3).deadline(deadline));
    }
    let before = read_words(counter.as_ref())[0];
    assert!(timing.submitted_ns > 0 && timing.started_ns <= timing.ended_ns);
    assert_eq!(queue.in_flight(), 0);
    let refused = [
        submission(vec![dispatch(&tally, vec![bind(0, &counter)], 1 << 30, 1)]),
        submission(vec![work(3).commands.remove(0), work(3).commands.remove(0)]),
    ];
    for submission in refused {
        assert!(queue.run_inline(&submission).is_none());
    }
    assert_eq!(read_words(counter.as_ref())[0], before);
}

#[test]
fn mistakes_are_left_to_be_submitted_and_faults_are_told() {
    let device = device(2);
    let (queue, store, out) = (queue(&device), pipeline(&device, "checked_store"), zeroed(&device, 16));
    let work = |threads| submission(vec![dispatch(&store, vec![bind(0, &out)], threads, 4)]);
    until_at_once(&queue, || work(4));
    let unbound = submission(vec![dispatch(&store, vec![], 4, 4)]);
    assert!(queue.run_inline(&unbound).is_none());
    assert!(matches!(queue.submit(unbound), Err(DeviceError::MissingArgument { .. })));
    // Four groups are more than it is known to be short for; one with the last thread outside is not.
    let beyond = submission(vec![dispatch(&store, vec![bind(0, &out)], 5, 5)]);
    let told = (0..1000).find_map(|_| {
        until_at_once(&queue, || work(4));
        queue.run_inline(&beyond)
    });
    let told = told.unwrap();
    let submitted = queue.submit(beyond).unwrap().wait();
    assert!(matches!(told, Err(DeviceError::OutOfBounds(_))), "{told:?}");
    assert_eq!(told, submitted, "as if it had been submitted");
    queue.run_inline(&work(4)).map(|outcome| outcome.unwrap());
}

#[test]
fn a_run_that_does_not_end_is_stopped_at_its_deadline_and_holds_nothing_up() {
    let clock = ManualClock::new();
    let options = CpuDeviceOptions { threads: Some(1), ..CpuDeviceOptions::default() };
    let deadline = options.default_deadline;
    let device = CpuDevice::with_clock(&options, Arc::<ManualClock>::clone(&clock)).unwrap();
    let (queue, kernel, set) = (queue(&device), pipeline(&device, "while_set"), words(&device, &[0]));
    // Time stands still, so each is short.
    until_at_once(&queue, || run_while_set(&kernel, &set));
    let watched = clock.next_alarm();
    assert!(watched.is_some());
    // A later run has the whole of its own deadline.
    clock.advance(deadline / 2);
    until_at_once(&queue, || run_while_set(&kernel, &set));
    assert_eq!(clock.next_alarm(), watched, "one alarm serves many");
    set.write(0, &1u32.to_le_bytes()).unwrap();
    let endless = run_while_set(&kernel, &set);
    std::thread::scope(|scope| {
        let runs = scope.spawn(|| queue.run_inline(&endless));
        while set.uses().are_done() {
            std::thread::yield_now();
        }
        // What is submitted meanwhile comes after it, and who maps its buffer is told that it is in use.
        let next = queue.submit(submission(vec![])).unwrap();
        let mapped = Arc::clone(&set).map(0..4, MapMode::Read);
        assert!(matches!(mapped, Err(DeviceError::BufferInUse { .. })));
        clock.advance(deadline / 2);
        std::thread::sleep(Duration::from_millis(5));
        assert!(!runs.is_finished() && !next.is_done(), "its deadline is later than the first one's");
        clock.advance(deadline);
        let outcome = runs.join().unwrap().expect("it was taken at once");
        assert!(matches!(outcome, Err(DeviceError::DeadlineExceeded { .. })), "{outcome:?}");
        next.wait().unwrap();
    });
    assert!(set.uses().are_done());
}

#[test]
fn each_run_has_its_own_deadline() {
    let clock = ManualClock::new();
    let options = CpuDeviceOptions { threads: Some(1), ..CpuDeviceOptions::default() };
    let device = CpuDevice::with_clock(&options, Arc::<ManualClock>::clone(&clock)).unwrap();
    let (queue, kernel, set) = (queue(&device), pipeline(&device, "while_set"), words(&device, &[0]));
    until_at_once(&queue, || run_while_set(&kernel, &set));
    assert_eq!(clock.next_alarm(), Some(options.default_deadline));
    set.write(0, &1u32.to_le_bytes()).unwrap();
    let second = Duration::from_secs(1);
    let outcome = |deadline, run: &mut dyn FnMut()| {
        let endless = run_while_set(&kernel, &set).deadline(deadline);
        std::thread::scope(|scope| {
            let runs = scope.spawn(|| queue.run_inline(&endless));
            while set.uses().are_done() {
                std::thread::yield_now();
            }
            // The run is counted as a use of the buffer before its deadline is watched.
            std::thread::sleep(Duration::from_millis(20));
            run();
            runs.join().unwrap().expect("it was taken at once")
        })
    };
    // Earlier than the alarm that is set.
    let stopped = outcome(Deadline::After(second), &mut || clock.advance(second));
    assert_eq!(
        stopped,
        Err(DeviceError::DeadlineExceeded { kernel: Some("while_set".into()), after: second })
    );
    // Without one, only the kernel's own end ends it.
    let ended = outcome(Deadline::Never, &mut || {
        clock.advance(100 * options.default_deadline);
        std::thread::sleep(Duration::from_millis(20));
        assert!(!set.uses().are_done());
        set.write(0, &0u32.to_le_bytes()).unwrap();
    });
    assert!(ended.is_ok(), "{ended:?}");
}

#[test]
fn runs_of_many_threads_and_submitted_work_lose_nothing() {
    let device = device(2);
    let (queue, tally, counter) = (queue(&device), pipeline(&device, "tally"), zeroed(&device, 8));
    let work = || submission(vec![dispatch(&tally, vec![bind(0, &counter)], 2, 1)]);
    until_at_once(&queue, work);
    let (before, rounds, threads) = (read_words(counter.as_ref())[0], 2000, 4);
    std::thread::scope(|scope| {
        for number in 0..threads {
            let (queue, work, counter) = (&queue, &work, &counter);
            scope.spawn(move || {
                for round in 0..rounds {
                    match queue.run_inline(&work()) {
                        Some(outcome) => drop(outcome.unwrap()),
                        None => drop(queue.submit(work()).unwrap().wait().unwrap()),
                    }
                    if round % 100 == number {
                        assert!(counter.uses().wait(None));
                    }
                }
            });
        }
    });
    assert_eq!(read_words(counter.as_ref())[0] - before, 2 * rounds as u32 * threads as u32);
    assert_eq!(queue.in_flight(), 0);
}
