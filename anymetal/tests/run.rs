//! `Launch::run`: a launch and the wait for its end in one, which the calling thread may run itself. What
//! is told and what comes first is as with `submit()?.wait()`.

use std::time::Duration;

use anymetal::error::DeviceError;
use anymetal::{Buffer, CompileOptions, Device, Error, Launch, LibraryDescriptor, Pipeline, Queue};

const SOURCE: &str = "
#include <metal_stdlib>
#include <metal_logging>
using namespace metal;
kernel void add(device uint* y, constant uint& n, uint i [[thread_position_in_grid]]) { y[i] += n; }
kernel void slow(device uint* y, constant uint& n, uint i [[thread_position_in_grid]]) {
    uint sum = i;
    for (uint k = 0; k < n; ++k) { sum = sum * 1664525u + 1013904223u; }
    y[i] = sum;
}
kernel void fails(device uint* y, uint i [[thread_position_in_grid]]) {
    if (y[i] == 7) os_log_default.log_fault(\"value %u\", y[i]);
}
";

/// More than a kernel needs to be known as short.
const MANY: u32 = 40;

struct Bench {
    device: Device,
    queue: Queue,
    add: Pipeline,
    slow: Pipeline,
    y: Buffer<u32>,
}

impl Bench {
    fn new() -> Result<Self, Error> {
        let device = Device::system_default()?;
        let library = device.library_from_source(SOURCE)?;
        let (add, slow) = (library.pipeline("add")?, library.pipeline("slow")?);
        let (queue, y) = (device.queue()?, device.buffer(&[0u32; 8])?);
        Ok(Bench { device, queue, add, slow, y })
    }

    fn add(&self, n: u32) -> Launch<'_> {
        self.queue.launch(&self.add).arg(&self.y).arg(n).threads(8)
    }

    /// Runs it until it is known as short.
    fn warm(&self) -> Result<(), Error> {
        (0..MANY).try_for_each(|_| self.add(0).run().map(drop))
    }
}

#[test]
fn runs_and_submissions_of_a_queue_are_in_order() -> Result<(), Error> {
    let bench = Bench::new()?;
    bench.warm()?;
    for round in 0..20u32 {
        // What was submitted before runs before, however long it takes.
        bench.queue.launch(&bench.slow).arg(&bench.y).arg(100_000u32).threads(8).submit()?;
        let expected: Vec<u32> = bench.y.read()?.iter().map(|value| value + round + 1).collect();
        bench.queue.launch(&bench.slow).arg(&bench.y).arg(100_000u32).threads(8).submit()?;
        bench.add(round).run()?;
        bench.add(1).submit()?;
        assert_eq!(bench.y.read()?, expected);
    }
    let timing = bench.add(0).run()?;
    assert!(timing.submitted_ns <= timing.started_ns && timing.started_ns <= timing.ended_ns);
    Ok(())
}

#[test]
fn a_run_waits_for_what_it_comes_after_and_for_the_end_of_a_pause() -> Result<(), Error> {
    let bench = Bench::new()?;
    bench.warm()?;
    let other = bench.device.queue()?;
    let before = other.launch(&bench.slow).arg(&bench.y).arg(100_000u32).threads(8).submit()?;
    bench.add(0).after(&before).run()?;
    assert!(before.is_done());
    bench.queue.pause();
    std::thread::scope(|scope| {
        let runs = scope.spawn(|| bench.add(1).run());
        std::thread::sleep(Duration::from_millis(20));
        assert!(!runs.is_finished());
        bench.queue.resume();
        runs.join().unwrap()
    })?;
    Ok(())
}

#[test]
fn mistakes_faults_and_messages_are_told_alike() -> Result<(), Error> {
    let bench = Bench::new()?;
    bench.warm()?;
    for _ in 0..3 {
        let beyond = || bench.add(1).threads(9).group_size(9);
        assert!(matches!(beyond().run(), Err(Error::Device(DeviceError::OutOfBounds(_)))));
        assert_eq!(beyond().run().map(drop), beyond().submit()?.wait().map(drop));
        let too_many = || bench.queue.launch(&bench.add).arg(&bench.y).threads(8);
        assert_eq!(too_many().run().map(drop), too_many().submit().map(drop));
        let too_large = || bench.add(1).group_size(4096);
        assert_eq!(too_large().run().map(drop), too_large().submit().map(drop));
        let stopped = bench.queue.launch(&bench.slow).arg(&bench.y).arg(u32::MAX).threads(1 << 20);
        let stopped = stopped.deadline(Duration::from_millis(1)).run();
        assert!(stopped.is_err(), "out of bounds or too late");
    }
    let mapping = bench.y.map()?;
    assert!(matches!(bench.add(1).run(), Err(Error::Device(DeviceError::BufferMapped { .. }))));
    drop(mapping);
    bench.add(1).run()?;
    let logging = CompileOptions::new().logging(true);
    let fails = bench
        .device
        .create_library(&LibraryDescriptor::from_source(SOURCE).options(&logging))?
        .pipeline("fails")?;
    let run = || bench.queue.launch(&fails).arg(&bench.y).threads(8).run();
    bench.y.write(&[1; 8])?;
    (0..MANY).try_for_each(|_| run().map(drop))?;
    bench.y.write(&[7; 8])?;
    assert!(run().is_err(), "a message of a fault is an error");
    Ok(())
}
