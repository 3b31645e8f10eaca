//! Indirect dispatches, heaps, fences, timestamps, priorities, cancellation, and a clock moved by hand.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use anymetal_cpu::{CpuDevice, CpuDeviceOptions};
use anymetal_hal::blit::BlitEncoder;
use anymetal_hal::buffer::{Buffer, BufferDescriptor, StorageMode};
use anymetal_hal::clock::{Clock, ManualClock};
use anymetal_hal::command::{Command, Deadline, Dispatch, Grid, IndirectDispatch, Timestamps};
use anymetal_hal::device::Device;
use anymetal_hal::error::DeviceError;
use anymetal_hal::event::{Event, HostEvent};
use anymetal_hal::heap::HeapDescriptor;
use anymetal_hal::queue::{Cancellation, Priority, QueueDescriptor, WhenFull};
use anymetal_hal::time_sample::TimeSample;

use crate::kernels::{bind, device, dispatch, pipeline, read_words, submission, words, zeroed};

fn indirect(device: &CpuDevice, counter: &Arc<dyn Buffer>, counts: &Arc<dyn Buffer>, offset: u64) -> Command {
    Command::DispatchIndirect(try_indirect(device, counter, counts, offset).unwrap())
}

fn try_indirect(
    device: &CpuDevice,
    counter: &Arc<dyn Buffer>,
    counts: &Arc<dyn Buffer>,
    offset: u64,
) -> Result<IndirectDispatch, DeviceError> {
    let dispatch = Dispatch::new(pipeline(device, "tally"), Grid::Threadgroups([1; 3]), [1; 3]);
    IndirectDispatch::new(dispatch.with_bindings(vec![bind(0, counter)]), Arc::clone(counts), offset)
}

#[test]
fn an_indirect_dispatch_reads_its_counts_when_its_turn_comes() {
    let device = device(2);
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let (counter, counts) = (zeroed(&device, 8), words(&device, &[0, 0, 0, 0]));
    let source = words(&device, &[5, 4, 3]);
    let mut commands = Vec::new();
    BlitEncoder::new(&mut commands).copy(&source, 0..12, &counts, 4).unwrap();
    commands.push(indirect(&device, &counter, &counts, 4));
    queue.submit(submission(commands)).unwrap().wait().unwrap();
    assert_eq!(read_words(counter.as_ref())[0], 60);
    // No threads at all is fine, more than 32 bits count is not.
    let none = vec![indirect(&device, &counter, &counts, 0)];
    queue.submit(submission(none)).unwrap().wait().unwrap();
    let many = words(&device, &[u32::MAX, u32::MAX, u32::MAX]);
    let error = queue.submit(submission(vec![indirect(&device, &counter, &many, 0)])).unwrap().wait();
    assert!(matches!(error, Err(DeviceError::GridTooLarge { .. })), "{error:?}");
    assert_eq!(read_words(counter.as_ref())[0], 60);
    for (offset, expected) in [
        (2, DeviceError::MisalignedCounts { kernel: "tally".into(), offset: 2 }),
        (8, DeviceError::RangeOutsideBuffer { offset: 8, len: 12, buffer_len: 16 }),
    ] {
        assert_eq!(try_indirect(&device, &counter, &counts, offset).unwrap_err(), expected);
    }
}

#[test]
fn the_blit_encoder_copies_and_fills_ranges_and_refuses_others() {
    let device = device(1);
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let (source, target) = (words(&device, &[1, 2, 3, 4]), zeroed(&device, 16));
    let fence = device.fence().unwrap();
    let mut commands = Vec::new();
    let mut encoder = BlitEncoder::new(&mut commands);
    encoder.fill(&target, 12..16, 0xff).unwrap().copy(&source, 4..12, &target, 0).unwrap();
    encoder.update_fence(&fence).wait_for_fence(&fence);
    let backwards = Range { start: 8, end: 4 };
    assert!(encoder.fill(&target, backwards, 0).is_err());
    assert!(encoder.fill(&target, 8..17, 0).is_err());
    assert!(encoder.copy(&source, 8..16, &target, 9).is_err());
    let overlap = DeviceError::OverlappingCopy { source_offset: 0, destination_offset: 4, len: 8 };
    assert_eq!(encoder.copy(&target, 0..8, &target, 4).unwrap_err(), overlap);
    encoder.end_encoding();
    assert_eq!(commands.len(), 4, "what was refused is not encoded");
    queue.submit(submission(commands)).unwrap().wait().unwrap();
    assert_eq!(read_words(target.as_ref()), [2, 3, 0, u32::MAX]);
    let other = device.queue(&QueueDescriptor::default()).unwrap();
    let across = other.submit(submission(vec![Command::WaitFence(fence)]));
    assert_eq!(across.unwrap_err(), DeviceError::FenceAcrossQueues);
}

#[test]
fn a_heap_gives_its_ranges_back_when_the_device_is_done_with_them() {
    let device = device(2);
    let heap = device.heap(&HeapDescriptor::new(1024)).unwrap();
    assert_eq!(device.allocated_bytes(), 1024);
    let (event, tally) = (device.event().unwrap(), pipeline(&device, "tally"));
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let first = heap.buffer(&BufferDescriptor::shared(512)).unwrap();
    first.write(0, &[0xaa; 512]).unwrap();
    let second = heap.buffer(&BufferDescriptor::shared(512)).unwrap();
    assert!(matches!(
        heap.buffer(&BufferDescriptor::shared(1)),
        Err(DeviceError::HeapFull { requested: 1, largest_free: 0, length: 1024 })
    ));
    let commands = vec![
        Command::WaitEvent { event: Arc::clone(&event), value: 1 },
        dispatch(&tally, vec![bind(0, &second)], 7, 1),
    ];
    let completion = queue.submit(submission(commands)).unwrap();
    drop((first, second));
    assert_eq!(heap.used_bytes(), 512, "work in flight keeps its range");
    let again = heap.buffer(&BufferDescriptor::shared(512)).unwrap();
    assert_eq!(read_words(again.as_ref()), [0; 128], "another tenant's bytes are gone");
    event.signal(1);
    completion.wait().unwrap();
    assert_eq!((heap.used_bytes(), heap.largest_free_bytes()), (512, 512));
    let private = BufferDescriptor::shared(8).storage_mode(StorageMode::Private);
    assert!(matches!(heap.buffer(&private), Err(DeviceError::HeapStorageMode { .. })));
    drop(heap);
    assert_eq!(device.allocated_bytes(), 1024, "a buffer keeps the heap's block");
    drop(again);
    assert_eq!(device.allocated_bytes(), 0);
}

#[test]
fn each_command_has_its_times_where_they_are_asked_for() {
    let device = device(2);
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let (tally, counter) = (pipeline(&device, "tally"), zeroed(&device, 8));
    let commands = || {
        let dispatches = [1, 100_000, 0].map(|groups| dispatch(&tally, vec![bind(0, &counter)], groups, 1));
        Vec::from(dispatches)
    };
    let plain = queue.submit(submission(commands())).unwrap();
    plain.wait().unwrap();
    assert!(plain.command_timings().is_none());
    let timed = submission(commands()).timestamps(Timestamps::EachCommand);
    let timed = queue.submit(timed).unwrap();
    let timing = timed.wait().unwrap();
    let commands = timed.command_timings().unwrap();
    assert_eq!(commands.iter().map(|command| command.command).collect::<Vec<_>>(), [0, 1, 2]);
    let mut before = timing.started_ns;
    for command in commands.iter() {
        assert!(before <= command.started_ns && command.started_ns <= command.ended_ns);
        before = command.ended_ns;
    }
    assert!(before <= timing.ended_ns);
    let length = |at: usize| commands[at].ended_ns - commands[at].started_ns;
    assert!(length(1) > length(2), "a large dispatch takes longer than an empty one");
}

#[test]
fn samples_of_the_clock_are_taken_in_the_order_of_the_commands() {
    let device = device(2);
    let queue = device.queue(&QueueDescriptor::default()).unwrap();
    let (tally, counter) = (pipeline(&device, "tally"), zeroed(&device, 8));
    let (times, later) = (zeroed(&device, 24), zeroed(&device, 24));
    let at = |offset| TimeSample::new(Arc::clone(&times), offset);
    let sample = |offset| Command::SampleTime(at(offset).unwrap());
    let mut commands = vec![sample(16), dispatch(&tally, vec![bind(0, &counter)], 100_000, 1), sample(0)];
    BlitEncoder::new(&mut commands).copy(&times, 0..24, &later, 0).unwrap();
    let before = device.clock_ns().unwrap();
    let timing = queue.submit(submission(commands)).unwrap().wait().unwrap();
    let mut bytes = [0; 24];
    later.read(0, &mut bytes).unwrap();
    let [end, none, start] = [0, 8, 16].map(|at| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap()));
    assert!(before <= start && timing.started_ns <= start && start < end && end <= timing.ended_ns);
    assert!(none == 0 && end <= device.clock_ns().unwrap());

    assert!(matches!(at(20), Err(DeviceError::RangeOutsideBuffer { .. })));
    assert_eq!(at(12).unwrap_err(), DeviceError::MisalignedTimeSample { offset: 12 });
    let foreign = CpuDevice::new(&CpuDeviceOptions::default()).unwrap();
    let queue = foreign.queue(&QueueDescriptor::default()).unwrap();
    assert!(matches!(queue.submit(submission(vec![sample(0)])), Err(DeviceError::WrongDevice { .. })));
}

#[test]
fn urgent_queues_go_first_and_low_ones_are_not_forgotten() {
    // One worker, busy with a blocked start, so that everything below waits in line.
    let device = CpuDevice::new(&CpuDeviceOptions {
        threads: Some(1),
        lend_waiting_threads: false,
        ..CpuDeviceOptions::default()
    })
    .unwrap();
    let gate: Arc<dyn Event> = Arc::new(HostEvent::default());
    let queue = |priority| device.queue(&QueueDescriptor::default().priority(priority)).unwrap();
    let (low, normal, high) = (queue(Priority::Low), queue(Priority::Normal), queue(Priority::High));
    let endless = submission(vec![dispatch(&pipeline(&device, "endless"), vec![], 1, 1)])
        .deadline(Deadline::After(Duration::from_millis(30)));
    let busy = normal.submit(endless).unwrap();
    let work = || {
        let signal = Command::SignalEvent { event: Arc::clone(&gate), value: 1 };
        submission(vec![signal])
    };
    let lows: Vec<_> = (0..40).map(|_| low.submit(work()).unwrap()).collect();
    let highs: Vec<_> = (0..40).map(|_| high.submit(work()).unwrap()).collect();
    busy.wait().unwrap_err();
    let started = |completion: &anymetal_hal::completion::Completion| completion.wait().unwrap().started_ns;
    let last_high = highs.iter().map(started).max().unwrap();
    let first_low = lows.iter().map(started).min().unwrap();
    assert!(last_high < first_low, "40 urgent command buffers ran before the first other");
}

#[test]
fn work_that_has_not_started_can_be_taken_back() {
    let device = device(2);
    let queue = device.queue(&QueueDescriptor::default().max_in_flight(3)).unwrap();
    let (event, counter) = (device.event().unwrap(), zeroed(&device, 8));
    let tally = pipeline(&device, "tally");
    let wait = || Command::WaitEvent { event: Arc::clone(&event), value: 1 };
    let count = || dispatch(&tally, vec![bind(0, &counter)], 1, 1);
    let submit = |commands, label: &str| queue.submit(submission(commands).label(label)).unwrap();
    let first = submit(vec![wait(), count()], "first");
    let second = submit(vec![count()], "second");
    let third = submit(vec![count()], "third");
    assert_eq!(queue.cancel(&second), Cancellation::Removed);
    assert_eq!(second.outcome(), Some(Err(DeviceError::Cancelled { label: "second".into() })));
    assert_eq!(queue.cancel(&second), Cancellation::Ended);
    assert_eq!(queue.in_flight(), 2);
    // The first only waits so far: without it the third can run.
    while queue.cancel(&first) == Cancellation::TooLate {
        std::thread::yield_now();
    }
    third.wait().unwrap();
    assert_eq!(queue.cancel(&third), Cancellation::Ended);
    assert_eq!(read_words(counter.as_ref())[0], 1);
    event.signal(1);
    submit(vec![count()], "fourth").wait().unwrap();
    assert_eq!(read_words(counter.as_ref())[0], 2);
}

#[test]
fn deadlines_timeouts_and_times_follow_the_clock_that_is_given() {
    let clock = ManualClock::new();
    let options = CpuDeviceOptions { threads: Some(1), ..CpuDeviceOptions::default() };
    let shared: Arc<dyn Clock> = clock.clone();
    let device = CpuDevice::with_clock(&options, shared).unwrap();
    let event = device.event().unwrap();
    let wait = || vec![Command::WaitEvent { event: Arc::clone(&event), value: 1 }];
    let when_full = WhenFull::Wait(Duration::from_secs(5));
    let queue = device.queue(&QueueDescriptor::default().max_in_flight(1).when_full(when_full)).unwrap();
    let until_alarm = |seconds| {
        while clock.next_alarm() != Some(Duration::from_secs(seconds)) {
            std::thread::yield_now();
        }
    };
    let stuck = queue.submit(submission(wait())).unwrap();
    // The deadline of the first counts from when it begins: that must be before the clock moves.
    until_alarm(60);
    std::thread::scope(|scope| {
        let refused = scope.spawn(|| queue.submit(submission(wait())));
        // The patience of the second ends at 5 s.
        until_alarm(5);
        clock.advance(Duration::from_secs(5));
        assert_eq!(refused.join().unwrap().unwrap_err(), DeviceError::QueueFull { limit: 1 });
    });
    until_alarm(60);
    assert_eq!(stuck.wait_until(&*clock, Duration::from_secs(5)), None);
    clock.advance(Duration::from_secs(55));
    let expected = DeviceError::DeadlineExceeded { kernel: None, after: Duration::from_secs(60) };
    assert_eq!(stuck.wait(), Err(expected));
}
