//! Queues, completions and events: order, concurrency, lifetimes.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use anymetal_cpu::{CpuDevice, CpuDeviceOptions};
use anymetal_hal::clock::ManualClock;
use anymetal_hal::command::{Binding, BoundResource, Command, Deadline};
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;
use anymetal_hal::event::Event;
use anymetal_hal::queue::{Cancellation, QueueDescriptor, WhenFull};

use crate::kernels::{bind, device, dispatch, pipeline, read_words, submission, words, zeroed};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The smallest executor.
fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        std::thread::park();
    }
}

#[test]
fn ten_thousand_dispatches_from_four_threads_on_three_queues() {
    let device = device(2);
    let tally = pipeline(&device, "tally");
    let queues: Vec<_> = (0..3).map(|_| device.queue(&QueueDescriptor::default()).unwrap()).collect();
    // One counter per queue: an atomic one tells lost work, whatever runs beside it.
    let counters: Vec<_> = (0..3).map(|_| zeroed(&device, 8)).collect();
    let per_thread = 2500;
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (queues, counters, tally) = (&queues, &counters, &tally);
            scope.spawn(move || {
                for round in 0..per_thread {
                    let at = (thread + round) % 3;
                    let groups = 1 + (round % 200) as u32;
                    let command = dispatch(tally, vec![bind(0, &counters[at])], groups, 1);
                    let completion = queues[at].submit(submission(vec![command])).unwrap();
                    if round % 7 == 0 {
                        completion.wait().unwrap();
                    }
                }
            });
        }
    });
    for queue in &queues {
        queue.submit(submission(vec![])).unwrap().wait().unwrap();
        assert_eq!(queue.in_flight(), 0);
    }
    let total: u64 = counters.iter().map(|counter| u64::from(read_words(counter.as_ref())[0])).sum();
    let expected: u64 = 4 * (0..per_thread as u64).map(|round| 1 + round % 200).sum::<u64>();
    assert_eq!(total, expected);
}

#[test]
fn command_buffers_of_one_queue_run_in_order() {
    let device = device(2);
    let (saxpy, queue) = (pipeline(&device, "saxpy"), device.queue(&QueueDescriptor::default()).unwrap());
    // y = y * 1 + x by turns in both directions: any other order gives other numbers.
    let (a, b) = (words(&device, &[1.0f32.to_bits(); 64]), words(&device, &[1.0f32.to_bits(); 64]));
    let one = Binding::new(2, BoundResource::Bytes(1.0f32.to_le_bytes().to_vec()));
    let (mut left, mut right) = (1.0f32, 1.0f32);
    for _ in 0..8 {
        for (from, to) in [(&a, &b), (&b, &a)] {
            let command = dispatch(&saxpy, vec![bind(0, from), bind(1, to), one.clone()], 64, 32);
            queue.submit(submission(vec![command])).unwrap();
        }
        right += left;
        left += right;
    }
    assert!(a.wait_unused(None));
    assert_eq!(read_words(a.as_ref()), [left.to_bits(); 64]);
}

#[test]
fn a_completion_is_a_future() {
    let device = device(2);
    let (tally, queue) = (pipeline(&device, "tally"), device.queue(&QueueDescriptor::default()).unwrap());
    let counter = zeroed(&device, 8);
    for _ in 0..200 {
        let command = dispatch(&tally, vec![bind(0, &counter)], 64, 1);
        let timing = block_on(queue.submit(submission(vec![command])).unwrap()).unwrap();
        assert!(timing.submitted_ns <= timing.started_ns && timing.started_ns <= timing.ended_ns);
    }
    assert_eq!(read_words(counter.as_ref())[0], 200 * 64);
}

#[test]
fn work_in_flight_keeps_its_buffers_and_gives_them_back() {
    let device = device(2);
    let (event, tally) = (device.event().unwrap(), pipeline(&device, "tally"));
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let counter = zeroed(&device, 8);
    let before = device.allocated_bytes();
    let large = zeroed(&device, 1 << 20);
    let commands = vec![
        Command::WaitEvent { event: Arc::clone(&event), value: 3 },
        dispatch(&tally, vec![bind(0, &large)], 1, 1),
        dispatch(&tally, vec![bind(0, &counter)], 1, 1),
    ];
    let completion = queue.submit(submission(commands)).unwrap();
    assert!(!large.wait_unused(Some(Duration::ZERO)));
    drop((large, queue, tally));
    assert_eq!(device.allocated_bytes(), before + (1 << 20));
    event.signal(2);
    assert!(completion.outcome().is_none());
    event.signal(3);
    completion.wait().unwrap();
    assert_eq!(device.allocated_bytes(), before);
    assert_eq!(read_words(counter.as_ref()), [1, 0]);
}

#[test]
fn queues_wait_for_each_other_through_events() {
    let device = device(1);
    let tally = pipeline(&device, "tally");
    let (first, second) = (
        device.queue(&QueueDescriptor::default()).unwrap(),
        device.queue(&QueueDescriptor::default()).unwrap(),
    );
    let (event, counter) = (device.event().unwrap(), zeroed(&device, 8));
    let waiting = second.submit(submission(vec![
        Command::WaitEvent { event: Arc::clone(&event), value: 1 },
        dispatch(&tally, vec![bind(0, &counter)], 1, 1),
        Command::SignalEvent { event: Arc::clone(&event), value: 2 },
    ]));
    let waiting = waiting.unwrap();
    let signalling = vec![
        dispatch(&tally, vec![bind(0, &counter)], 1, 1),
        Command::SignalEvent { event: Arc::clone(&event), value: 1 },
    ];
    first.submit(submission(signalling)).unwrap();
    assert!(event.wait(2, None));
    waiting.wait().unwrap();
    assert_eq!(read_words(counter.as_ref()), [2, 0]);
}

#[test]
fn a_full_queue_refuses_or_waits() {
    let device = device(1);
    let event = device.event().unwrap();
    let wait = || submission(vec![Command::WaitEvent { event: Arc::clone(&event), value: 1 }]);
    let descriptor = |when_full| QueueDescriptor::default().max_in_flight(2).when_full(when_full);
    let refusing = device.queue(&descriptor(WhenFull::Refuse)).unwrap();
    let impatient = device.queue(&descriptor(WhenFull::Wait(Duration::from_millis(20)))).unwrap();
    // Longer than a machine under load takes to run what is in the queue.
    let patient = device.queue(&descriptor(WhenFull::Wait(Duration::from_secs(60)))).unwrap();
    for queue in [&refusing, &impatient, &patient] {
        queue.submit(wait()).unwrap();
        queue.submit(wait()).unwrap();
    }
    for queue in [&refusing, &impatient] {
        assert_eq!(queue.submit(wait()).unwrap_err(), DeviceError::QueueFull { limit: 2 });
    }
    event.signal(1);
    patient.submit(wait()).unwrap().wait().unwrap();
}

/// A queue wakes whoever waits for space rarely, but not so rarely that work that the waiter would bring on
/// never comes.
#[test]
fn whoever_waits_for_space_gets_in_though_the_queue_waits_too() {
    let clock = ManualClock::new();
    let options = CpuDeviceOptions { threads: Some(1), ..CpuDeviceOptions::default() };
    let device = CpuDevice::with_clock(&options, Arc::<ManualClock>::clone(&clock)).unwrap();
    for cancels in [false, true] {
        let queue = device.queue(&QueueDescriptor::default().max_in_flight(8)).unwrap();
        let (first, second) = (device.event().unwrap(), device.event().unwrap());
        let wait = |event: &Arc<dyn Event>| {
            let commands = vec![Command::WaitEvent { event: Arc::clone(event), value: 1 }];
            queue.submit(submission(commands).deadline(Deadline::Never)).unwrap()
        };
        let (_first, _second) = (wait(&first), wait(&second));
        let others: Vec<_> = (0..6).map(|_| queue.submit(submission(vec![])).unwrap()).collect();
        std::thread::scope(|scope| {
            let late = scope.spawn(|| queue.submit(submission(vec![])).unwrap());
            // It has found no space; its alarm would be the end of its patience.
            while clock.next_alarm().is_none() {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_millis(5));
            if cancels {
                assert_eq!(queue.cancel(&others[3]), Cancellation::Removed);
            } else {
                first.signal(1);
            }
            let limit = Instant::now() + Duration::from_secs(20);
            while !late.is_finished() && Instant::now() < limit {
                std::thread::yield_now();
            }
            let got_in = late.is_finished();
            [&first, &second].into_iter().for_each(|event| event.signal(1));
            late.join().unwrap().wait().unwrap();
            assert!(got_in, "there was space, cancelled: {cancels}");
        });
    }
}

#[test]
fn dropping_everything_with_work_in_flight_ends_the_work() {
    let device = device(2);
    let event = device.event().unwrap();
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let commands = vec![Command::WaitEvent { event: Arc::clone(&event), value: 1 }];
    let completion = queue.submit(submission(commands)).unwrap();
    drop((queue, device));
    event.signal(1);
    completion.wait().unwrap();
}

#[test]
fn a_chain_of_events_over_four_queues_keeps_the_order() {
    let device = device(2);
    let saxpy = pipeline(&device, "saxpy");
    let queues: Vec<_> = (0..4).map(|_| device.queue(&QueueDescriptor::default()).unwrap()).collect();
    let event = device.event().unwrap();
    let scale = |value: f32| Binding::new(2, BoundResource::Bytes(value.to_le_bytes().to_vec()));
    // Shears by turns turn (x, y) around the origin: it stays bounded, and any other order ends elsewhere.
    let (x, y) = (words(&device, &[1.0f32.to_bits(); 8]), words(&device, &[0.0f32.to_bits(); 8]));
    let (mut expected, mut random) = ([1.0f32, 0.0], 1u32);
    let completions: Vec<_> = (0..3000u64)
        .map(|step| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (from, to, a) = if step % 2 == 0 { (&x, &y, 0.25f32) } else { (&y, &x, -0.25f32) };
            let (source, target) = if step % 2 == 0 { (0, 1) } else { (1, 0) };
            expected[target] += a * expected[source];
            let commands = vec![
                Command::WaitEvent { event: Arc::clone(&event), value: step },
                dispatch(&saxpy, vec![bind(0, from), bind(1, to), scale(a)], 8, 8),
                Command::SignalEvent { event: Arc::clone(&event), value: step + 1 },
            ];
            queues[(random >> 20) as usize % 4].submit(submission(commands)).unwrap()
        })
        .collect();
    for completion in completions {
        completion.wait().unwrap();
    }
    assert!(expected.iter().all(|value| value.abs() < 10.0) && expected != [1.0, 0.0]);
    assert_eq!(read_words(x.as_ref()), [expected[0].to_bits(); 8]);
    assert_eq!(read_words(y.as_ref()), [expected[1].to_bits(); 8]);
}
