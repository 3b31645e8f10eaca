//! Measures what a dispatch costs on this machine: empty ones batched and one by one, and whether two workers
//! are faster than one. Kernels are C, compiled by gcc.
//!
//! `cargo run --release -p anymetal-cpu --example dispatch_latency`
#![allow(clippy::print_stdout, reason = "it is a program that reports")]

use std::process::Command as Process;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anymetal_cpu::{CpuDevice, CpuDeviceOptions};
use anymetal_hal::artifact::{Artifact, ArtifactCode, ArtifactTarget, KernelInfo};
use anymetal_hal::command::{Command, CommandList, Dispatch, Grid};
use anymetal_hal::device::Device;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::queue::{Queue, QueueDescriptor};

/// `empty` does nothing; `compute` keeps a core's multiply-add units busy for about 1 µs per threadgroup.
const SOURCE: &str = r"
#include <stdint.h>
void empty(const void *launch, const void *worker, uint64_t first, uint64_t end) {}
void compute(const void *launch, const void *worker, uint64_t first, uint64_t end) {
    for (uint64_t group = first; group < end; group++) {
        float a[64];
        for (int i = 0; i < 64; i++) a[i] = i;
        for (int step = 0; step < 250; step++)
            for (int i = 0; i < 64; i++) a[i] = a[i] * 0.999f + 0.5f;
        volatile float sink = 0;
        for (int i = 0; i < 64; i++) sink += a[i];
    }
}
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let artifact = Arc::new(compile()?);
    for threads in [1, std::thread::available_parallelism()?.get()] {
        for (pin_workers, lend_waiting_threads) in
            [(false, false), (false, true), (true, false), (true, true)]
        {
            let options = CpuDeviceOptions {
                threads: Some(threads),
                pin_workers: Some(pin_workers),
                lend_waiting_threads,
                ..CpuDeviceOptions::default()
            };
            println!("threads {threads}, pinned {pin_workers}, waiting threads lent {lend_waiting_threads}");
            report(&CpuDevice::new(&options)?, &artifact)?;
        }
    }
    Ok(())
}

fn report(device: &CpuDevice, artifact: &Arc<Artifact>) -> Result<(), Box<dyn std::error::Error>> {
    let queue = device.queue(&QueueDescriptor::default())?;
    let empty = device.pipeline(artifact, "empty")?;
    let compute = device.pipeline(artifact, "compute")?;
    let batch = 500;
    let batched = median(50, || time(queue.as_ref(), &empty, 256, batch, Duration::ZERO));
    println!("  empty, {batch} in one command buffer    {:8.3} us each", micros(batched) / batch as f64);
    let single = median(2000, || time(queue.as_ref(), &empty, 256, 1, Duration::ZERO));
    println!("  empty, submit and wait, back to back   {:8.3} us", micros(single));
    let idle = median(200, || time(queue.as_ref(), &empty, 256, 1, Duration::from_millis(1)));
    println!("  empty, submit and wait, after 1 ms     {:8.3} us", micros(idle));
    for groups in [16, 64, 256, 1024, 4096, 65536] {
        let rounds = if groups > 4096 { 15 } else { 200 };
        let busy = median(rounds, || time(queue.as_ref(), &compute, groups, 1, Duration::ZERO));
        let rested =
            median(rounds / 4, || time(queue.as_ref(), &compute, groups, 1, Duration::from_millis(1)));
        println!(
            "  compute, {groups:6} groups {:16.1} us, after 1 ms {:8.1} us",
            micros(busy),
            micros(rested)
        );
    }
    Ok(())
}

fn time(
    queue: &dyn Queue,
    pipeline: &Arc<dyn Pipeline>,
    groups: u32,
    count: usize,
    pause: Duration,
) -> Duration {
    std::thread::sleep(pause);
    let dispatch = || {
        let grid = Grid::Threadgroups([groups, 1, 1]);
        Command::Dispatch(Dispatch::new(Arc::clone(pipeline), grid, [256, 1, 1]))
    };
    let start = Instant::now();
    let commands = (0..count).map(|_| dispatch()).collect();
    let completion = queue.submit(CommandList::new(commands));
    completion.expect("the submission is valid").wait().expect("the kernels do not fail");
    start.elapsed()
}

fn median(rounds: usize, mut measure: impl FnMut() -> Duration) -> Duration {
    for _ in 0..3 {
        measure();
    }
    let mut times: Vec<Duration> = (0..rounds).map(|_| measure()).collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

fn compile() -> Result<Artifact, Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("anymetal-dispatch-latency-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let (source, object) = (folder.join("kernels.c"), folder.join("kernels.o"));
    std::fs::write(&source, SOURCE)?;
    let flags = ["-c", "-O3", "-march=native", "-ffreestanding", "-fno-unroll-loops", "-o"];
    let status = Process::new("gcc").args(flags).arg(&object).arg(&source).status()?;
    let code = std::fs::read(&object);
    std::fs::remove_dir_all(&folder)?;
    if !status.success() {
        return Err("gcc refused the kernels".into());
    }
    Ok(Artifact::new(
        ArtifactTarget::Cpu { triple: "host".into(), cpu: "host".into(), features: String::new() },
        ArtifactCode::Object(code?.into()),
        ["empty", "compute"].map(|name| KernelInfo::new(name, name)).to_vec(),
    )
    .fingerprint("dispatch latency"))
}
