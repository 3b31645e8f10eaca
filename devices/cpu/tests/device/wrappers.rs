//! The wrapping devices around a real one: faults that leave no trace, recordings that run again.

use std::sync::Arc;
use std::time::Duration;

use anymetal_core::record::Recording;
use anymetal_core::record::recorder::RecorderOptions;
use anymetal_core::record::replay::ReplayError;
use anymetal_hal::clock::SystemClock;
use anymetal_hal::command::{Binding, BoundResource, Command, Dispatch, Grid, IndirectDispatch};
use anymetal_hal::device::Device;
use anymetal_hal::error::{DeviceError, ErrorClass};
use anymetal_hal::queue::QueueDescriptor;
use anymetal_testing::fault_injection::{FaultInjectingDevice, FaultPlan, Faults};
use anymetal_testing::null::NullDevice;
use anymetal_testing::recording::RecordingDevice;

use crate::kernels::{artifact, bind, device, read_words, submission, words, zeroed};

#[test]
fn under_faults_every_submission_ends_once_and_what_ran_really_ran() {
    let cpu = device(2);
    let plan = FaultPlan::default()
        .seed(7)
        .commits(Faults::by_chance(100_000, &[ErrorClass::Transient, ErrorClass::Exhausted]))
        .completions(Faults::by_chance(100_000, &[ErrorClass::Transient]))
        .latency(Duration::ZERO..Duration::from_micros(50));
    let faulty = FaultInjectingDevice::new(Arc::new(cpu.clone()), plan, SystemClock::shared());
    let tally = faulty.pipeline(&artifact(), "tally").unwrap();
    let counter = zeroed(&cpu, 8);
    let (mut committed, mut good) = (0, 0);
    std::thread::scope(|scope| {
        let work = || {
            let queue = faulty.queue(&QueueDescriptor::default()).unwrap();
            let commands = || vec![crate::kernels::dispatch(&tally, vec![bind(0, &counter)], 1, 1)];
            let ends: Vec<_> = (0..500).filter_map(|_| queue.submit(submission(commands())).ok()).collect();
            (ends.len(), ends.iter().filter(|end| end.wait().is_ok()).count())
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            let (of_thread, good_of_thread) = thread.join().unwrap();
            committed += of_thread;
            good += good_of_thread;
        }
    });
    let injected = faulty.injected();
    assert_eq!(committed as u64, 2000 - injected.commits);
    assert_eq!(good as u64, committed as u64 - injected.completions);
    assert!(injected.commits > 100 && injected.completions > 100);
    assert_eq!(read_words(counter.as_ref())[0], committed as u32);
}

/// Two submissions that depend on each other, the second indirect, the third faulty.
fn record() -> (Recording, Vec<u32>) {
    let cpu = device(2);
    let recording = RecordingDevice::new(Arc::new(cpu.clone()), RecorderOptions::replayable(8));
    let queue = recording.queue(&QueueDescriptor::default().label("q")).unwrap();
    let saxpy = recording.pipeline(&artifact(), "saxpy").unwrap();
    let store = recording.pipeline(&artifact(), "checked_store").unwrap();
    let (x, y) = (words(&cpu, &[1.5f32.to_bits(); 100]), words(&cpu, &[1.0f32.to_bits(); 100]));
    let counts = words(&cpu, &[4, 1, 1]);
    let bindings = || {
        let factor = BoundResource::Bytes(2.0f32.to_le_bytes().to_vec());
        vec![bind(0, &x), bind(1, &y), Binding::new(2, factor)]
    };
    let first = crate::kernels::dispatch(&saxpy, bindings(), 100, 32);
    let dispatch = Dispatch::new(Arc::clone(&saxpy), Grid::Threadgroups([1; 3]), [25, 1, 1]);
    let second = IndirectDispatch::new(dispatch.with_bindings(bindings()), counts, 0).unwrap();
    let second = Command::DispatchIndirect(second);
    let event = recording.event().unwrap();
    let wait = Command::WaitEvent { event: Arc::clone(&event), value: 1 };
    event.signal(1);
    queue.submit(submission(vec![wait, first])).unwrap().wait().unwrap();
    queue.submit(submission(vec![second])).unwrap().wait().unwrap();
    // One threadgroup: of several, any may report its fault first.
    let outside = crate::kernels::dispatch(&store, vec![bind(0, &zeroed(&cpu, 4))], 64, 64);
    queue.submit(submission(vec![outside])).unwrap().wait().unwrap_err();
    (recording.recorder().recording(), read_words(y.as_ref()))
}

#[test]
fn a_recording_gives_the_same_results_again() {
    let (recording, result) = record();
    assert_eq!(result, [7.0f32.to_bits(); 100]);
    let bytes = recording.to_bytes().unwrap();
    drop(recording);
    let recording = Recording::from_bytes(&bytes).unwrap();
    let replayed = recording.replay(&device(1), &|_, _| None).unwrap();
    assert_eq!(replayed.iter().map(|entry| entry.is_same()).collect::<Vec<_>>(), [true; 3]);
    assert!(matches!(replayed[2].outcome, Err(DeviceError::OutOfBounds(_))));
    let (_, y) = &replayed[1].buffers[1];
    assert_eq!(read_words(y.as_ref()), result);
    let text = recording.text();
    assert!(text.contains("dispatch saxpy over 100x1x1 threads in groups of 32x1x1"), "{text}");
    assert!(text.contains("store out of bounds of argument 0"), "{text}");
}

#[test]
fn without_code_a_replay_says_which_kernel_it_lacks() {
    let (mut recording, _) = record();
    recording.pipelines[0].artifact = None;
    let error = recording.replay(&NullDevice::new(), &|_, _| None).unwrap_err();
    assert!(matches!(&error, ReplayError::NoCode { entry: 0, kernel } if kernel == "saxpy"), "{error}");
    let source = |_: &str, fingerprint: &str| (fingerprint == "tests").then(artifact);
    assert_eq!(recording.replay(&NullDevice::new(), &source).unwrap().len(), 3);
}
