//! How many calls of the driver work takes, and what queues give back.

use super::*;

/// The calls of one command buffer.
fn calls_of(bench: &Bench, commands: Vec<Command>) -> Vec<String> {
    let before = bench.driver.all_calls().len();
    bench.run(commands).unwrap();
    bench.driver.all_calls().split_off(before)
}

#[test]
fn a_dispatch_takes_two_events_a_launch_and_one_copy_of_its_record() {
    let bench = Bench::new(multiply);
    let (pipeline, x) = (bench.pipeline(), bench.buffer(&[1]));
    let calls = calls_of(&bench, vec![dispatch(&pipeline, &x, 1, 1)]);
    let launch = "launch [1, 1, 1] [32, 1, 1] 0";
    assert_eq!(calls, ["record", "upload 16", launch, "record", "copy 64", "idle"]);
    let three = || (0..3).map(|_| dispatch(&pipeline, &x, 1, 1)).collect::<Vec<_>>();
    let calls = calls_of(&bench, three());
    let one = ["upload 16", launch];
    let expected = [&["record"][..], &one, &one, &one, &["record", "copy 192", "idle"]].concat();
    assert_eq!(calls, expected);
}

#[test]
fn a_kernel_that_cannot_fault_has_no_record_copied() {
    let bench = Bench::new(multiply);
    let mut artifact = (*artifact("fine")).clone();
    artifact.fault_sites.clear();
    let pipeline = bench.device.pipeline(&Arc::new(artifact), "twice").unwrap();
    let calls = calls_of(&bench, vec![dispatch(&pipeline, &bench.buffer(&[1]), 1, 1)]);
    let expected = ["record", "upload 16", "launch [1, 1, 1] [32, 1, 1] 0", "record", "idle"];
    assert_eq!(calls.iter().filter(|call| !call.starts_with("allocate")).collect::<Vec<_>>(), expected);
}

#[test]
fn more_dispatches_than_records_are_looked_at_in_between() {
    let bench = Bench::new(multiply);
    let (pipeline, x) = (bench.pipeline(), bench.buffer(&[1]));
    let calls = calls_of(&bench, (0..300).map(|_| dispatch(&pipeline, &x, 1, 1)).collect());
    let count = |word: &str| calls.iter().filter(|call| call.starts_with(word)).count();
    assert_eq!((count("launch"), count("copy 16384"), count("copy 2816"), count("idle")), (300, 1, 1, 2));
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
    assert_eq!(failures, 10, "each call was made to fail once");
}
