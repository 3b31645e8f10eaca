//! No program outlives its deadline by much, and the device works afterwards.
#![allow(missing_docs, reason = "a test program")]

use std::path::Path;
use std::time::Duration;

use anymetal::error::DeviceError;
use anymetal::{Device, Error};
use anymetal_conformance::hostile_programs::{Kept, check_seed, ends_in_time};

const DEADLINE: Duration = Duration::from_millis(400);
/// A development build on a loaded machine.
const COMPILE_LIMIT: Duration = Duration::from_secs(120);

/// Runs each kernel of a file of `tests/deadline`; whether each was ended by its deadline.
fn ends_by_deadline(file: &str) -> Vec<(String, bool)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/deadline").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let device = Device::by_name("cpu").expect("every machine has a CPU");
    let library = device.library_from_source(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
    let queue = device.queue().expect("a queue");
    let kernels: Vec<String> = library.kernel_names();
    assert!(!kernels.is_empty(), "{file} has kernels");
    let run = |kernel: &String| {
        let pipeline = library.pipeline(kernel).unwrap_or_else(|error| panic!("{kernel}: {error}"));
        let (y, x) = (device.buffer(&[0i32; 256]).unwrap(), device.buffer(&[0i32; 256]).unwrap());
        let launch = || {
            let launch = queue.launch(&pipeline).arg(&y).threads(64).group_size(64).deadline(DEADLINE);
            let takes_more = pipeline.kernel().arguments.len() > 1;
            let launch = if takes_more { launch.arg(&x).arg(0u32) } else { launch };
            launch.submit()?.wait().map(drop)
        };
        let outcome = ends_in_time(launch, DEADLINE).unwrap_or_else(|why| panic!("{kernel} {why}"));
        let is_late = match outcome {
            Err(Error::Device(DeviceError::DeadlineExceeded { .. })) => true,
            Err(Error::Device(DeviceError::OutOfBounds(_))) => false,
            other => panic!("{kernel}: {other:?}"),
        };
        (kernel.clone(), is_late)
    };
    kernels.iter().map(run).collect()
}

#[test]
fn loops_that_miss_their_limit_end() {
    for (kernel, is_late) in ends_by_deadline("steps.metal") {
        assert!(is_late, "{kernel} was not ended by its deadline");
    }
}

#[test]
fn trees_of_calls_end() {
    for (kernel, is_late) in ends_by_deadline("calls.metal") {
        assert!(is_late, "{kernel} was not ended by its deadline");
    }
}

/// Copies also run out of bounds, which is the error that they report.
#[test]
fn copies_end() {
    assert_eq!(ends_by_deadline("copies.metal").len(), 2);
}

#[test]
fn random_hostile_programs_end() {
    let device = Device::by_name("cpu").expect("every machine has a CPU");
    // The last one once ran 87,332 iterations without a poll.
    for seed in (1..=12).chain([253]) {
        match check_seed(seed, &device, DEADLINE, COMPILE_LIMIT) {
            Ok(kept) => assert_eq!(kept, Kept::Ran, "seed {seed}"),
            Err(why) => panic!("{why}"),
        }
    }
}
