//! How many calls of the driver work takes, and what queues give back.

use anymetal_hal::time_sample::TimeSample;

use super::*;

/// The calls of one command buffer.
fn calls_of(bench: &Bench, commands: Vec<Command>) -> Vec<String> {
    let before = bench.driver.all_calls().len();
    bench.run(commands).unwrap();
    bench.driver.all_calls().split_off(before)
}

const LAUNCH: &str = "launch [1, 1, 1] [32, 1, 1] 0";

#[test]
fn a_dispatch_takes_an_upload_a_launch_and_two_events() {
    let bench = Bench::new(multiply);
    let (pipeline, x) = (bench.pipeline(), bench.buffer(&[1]));
    let calls = calls_of(&bench, vec![dispatch(&pipeline, &x, 1, 1)]);
    assert_eq!(calls, ["record", "upload 16", LAUNCH, "record", "ended"]);
    let three = (0..3).map(|_| dispatch(&pipeline, &x, 1, 1)).collect();
    assert_eq!(calls_of(&bench, three), ["record", "upload 48", LAUNCH, LAUNCH, LAUNCH, "record", "ended"]);
}

#[test]
fn a_record_is_copied_to_the_host_after_a_fault_only() {
    let bench = Bench::new(multiply);
    let (pipeline, x) = (bench.pipeline(), bench.buffer(&[1]));
    let before = bench.driver.all_calls().len();
    let three = Vec::from([1, 2, 1].map(|threads| dispatch(&pipeline, &x, 1, threads)));
    bench.run(three).unwrap_err();
    let calls = bench.driver.all_calls().split_off(before);
    // Three records of 64 bytes are read, and cleared.
    let expected = ["ended", "copy 192", "synchronise", "upload 192"];
    let tail = calls.split_at(calls.len() - expected.len()).1;
    assert!(tail.iter().zip(expected).all(|(call, word)| call.starts_with(word)), "{tail:?}");
    assert_eq!(calls_of(&bench, vec![dispatch(&pipeline, &x, 1, 1)]).len(), 5);
}

#[test]
fn launches_are_put_into_the_stream_some_at_a_time() {
    let bench = Bench::new(multiply);
    let (pipeline, x) = (bench.pipeline(), bench.buffer(&[1]));
    let calls = calls_of(&bench, (0..40).map(|_| dispatch(&pipeline, &x, 1, 1)).collect());
    let uploads: Vec<_> = calls.iter().filter(|call| call.starts_with("upload")).collect();
    assert_eq!(uploads, ["upload 512", "upload 128"]);
    assert_eq!(calls[34], "upload 128", "behind the first 32 launches");
}

#[test]
fn more_dispatches_than_records_are_waited_for_in_between() {
    let bench = Bench::new(multiply);
    let (pipeline, x) = (bench.pipeline(), bench.buffer(&[1]));
    let calls = calls_of(&bench, (0..300).map(|_| dispatch(&pipeline, &x, 1, 1)).collect());
    let count = |word: &str| calls.iter().filter(|call| call.starts_with(word)).count();
    assert_eq!((count("launch"), count("idle"), count("ended")), (300, 1, 1));
}

#[test]
fn a_queue_that_cannot_be_made_gives_everything_back() {
    let bench = Bench::new(multiply);
    let before = (bench.driver.live_allocations(), bench.driver.live_handles());
    let mut failures = 0;
    loop {
        bench.driver.fail_after(Some(failures));
        let made = bench.device.queue(&QueueDescriptor::default());
        bench.driver.fail_after(None);
        let Err(error) = made else { break };
        assert!(matches!(error, DeviceError::OutOfMemory { .. }), "{error}");
        assert_eq!((bench.driver.live_allocations(), bench.driver.live_handles()), before, "{failures}");
        failures += 1;
    }
    assert_eq!(failures, 31, "each call was made to fail once");
}

#[test]
fn the_clock_is_sampled_where_nothing_is_in_the_stream_any_more() {
    let bench = Bench::new(multiply);
    let (pipeline, x) = (bench.pipeline(), bench.buffer(&[1]));
    let (times, later) = (bench.buffer(&[0; 6]), bench.buffer(&[0; 6]));
    let at = |offset| TimeSample::new(Arc::clone(&times), offset);
    let sample = |offset| Command::SampleTime(at(offset).unwrap());
    let mut commands = vec![sample(16), dispatch(&pipeline, &x, 1, 1), sample(0)];
    let copy = BufferCopy::new(Arc::clone(&times), 0..24, Arc::clone(&later), 0).unwrap();
    commands.push(Command::Copy(copy));
    let before = bench.device.clock_ns().unwrap();
    let calls = calls_of(&bench, commands);
    let position = |word: &str| calls.iter().position(|call| call.starts_with(word)).unwrap();
    assert!(position("launch") < calls.iter().rposition(|call| call == "idle").unwrap(), "{calls:?}");
    assert!(position("idle") < position("launch"), "{calls:?}");
    let mut bytes = [0; 24];
    later.read(0, &mut bytes).unwrap();
    let [end, none, start] = [0, 8, 16].map(|at| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap()));
    assert!(before <= start && start <= end && end <= bench.device.clock_ns().unwrap(), "{start} {end}");
    assert_eq!(none, 0);
    assert_eq!(at(12).unwrap_err(), DeviceError::MisalignedTimeSample { offset: 12 });
}
