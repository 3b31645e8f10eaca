//! What streams and submissions cost, each with its ratio to the plain alternative in the same run, and whether
//! memory stays flat over large counts. Kernels are C, compiled by gcc.
//!
//! `cargo bench -p anymetal-runtime --bench exec`. Without `--bench` (as under `cargo test`) it is a hundred times
//! shorter.
#![allow(clippy::print_stdout, reason = "it is a program that reports")]

use std::process::Command as Process;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use anymetal_device_cpu::{CpuDevice, CpuDeviceOptions};
use anymetal_hal::artifact::{Artifact, ArtifactCode, ArtifactTarget, KernelInfo};
use anymetal_hal::command::{Command, Dispatch, Grid, Submission};
use anymetal_hal::device::Device;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::queue::{Queue, QueueDescriptor};
use anymetal_runtime::stream::context::Context;
use anymetal_runtime::stream::{Stream, StreamOptions};

/// `empty` does nothing; `compute` keeps one core's multiply-add units busy.
const SOURCE: &str = r"
#include <stdint.h>
void empty(const void *launch, const void *worker, uint64_t first, uint64_t end) {}
void compute(const void *launch, const void *worker, uint64_t first, uint64_t end) {
    for (uint64_t group = first; group < end; group++) {
        float a[64];
        for (int i = 0; i < 64; i++) a[i] = i;
        for (int step = 0; step < 25000; step++)
            for (int i = 0; i < 64; i++) a[i] = a[i] * 0.999f + 0.5f;
        volatile float sink = 0;
        for (int i = 0; i < 64; i++) sink += a[i];
    }
}
";

type Failure = Box<dyn std::error::Error>;

struct Machine {
    device: Arc<dyn Device>,
    context: Context,
    empty: Arc<dyn Pipeline>,
    compute: Arc<dyn Pipeline>,
    /// Counts are divided by this.
    shorter: usize,
}

impl Machine {
    fn count(&self, full: usize) -> usize {
        (full / self.shorter).max(2)
    }
}

fn main() -> Result<(), Failure> {
    let artifact = Arc::new(compile()?);
    let device: Arc<dyn Device> = Arc::new(CpuDevice::new(&CpuDeviceOptions::default())?);
    let machine = Machine {
        context: Context::new(Arc::clone(&device)),
        empty: device.pipeline(&artifact, "empty")?,
        compute: device.pipeline(&artifact, "compute")?,
        device,
        shorter: if std::env::args().any(|argument| argument == "--bench") { 1 } else { 100 },
    };
    println!("default number of streams, measured: {}", machine.context.default_stream_count()?);
    latency(&machine)?;
    batched(&machine)?;
    events(&machine)?;
    overlap(&machine)?;
    dispatches(&machine)?;
    streams(&machine)?;
    uncommitted(&machine)?;
    Ok(())
}

/// Submit to done of one empty dispatch: by the stream, by the bare queue, and what handing a message to a parked
/// thread and back costs.
fn latency(machine: &Machine) -> Result<(), Failure> {
    let stream = machine.context.stream(StreamOptions::default())?;
    let queue = machine.device.queue(&QueueDescriptor::default())?;
    let (to, from) = echo();
    let (mut by_stream, mut by_queue, mut by_thread) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..machine.count(2000) {
        by_stream.push(timed(|| submit(&stream, &machine.empty, 1)));
        by_queue.push(timed(|| queue_submit(queue.as_ref(), &machine.empty)));
        by_thread.push(timed(|| to.send(()).is_ok() && from.recv().is_ok()));
    }
    let (by_stream, by_queue, by_thread) = (median(by_stream), median(by_queue), median(by_thread));
    println!("empty dispatch, submit to done: stream {by_stream:.3} us, bare queue {by_queue:.3} us");
    println!(
        "    hand-off to a thread and back {by_thread:.3} us; the stream takes {:.3} of it",
        by_stream / by_thread
    );
    Ok(())
}

fn batched(machine: &Machine) -> Result<(), Failure> {
    let stream = machine.context.stream(StreamOptions::default())?;
    let times = (0..machine.count(100)).map(|_| timed(|| submit(&stream, &machine.empty, 1000))).collect();
    println!("empty dispatches, 1000 in one command buffer: {:.3} us each", median(times) / 1000.0);
    Ok(())
}

/// From the host's signal to the end of work that waits for it, and a condition variable for comparison.
fn events(machine: &Machine) -> Result<(), Failure> {
    let stream = machine.context.stream(StreamOptions::default())?;
    let event = machine.context.event()?;
    let (to, from) = echo();
    let (mut by_event, mut by_thread) = (Vec::new(), Vec::new());
    for value in 1..=machine.count(500) as u64 {
        let mut command_buffer = stream.command_buffer()?;
        command_buffer.wait_event(&event, value)?;
        let waits = command_buffer.commit();
        std::thread::sleep(Duration::from_micros(200));
        by_event.push(timed(|| {
            event.signal(value);
            waits.wait().is_ok()
        }));
        by_thread.push(timed(|| to.send(()).is_ok() && from.recv().is_ok()));
    }
    let (by_event, by_thread) = (median(by_event), median(by_thread));
    println!("event signal to end of the waiting work: {by_event:.3} us");
    println!("    a thread's answer meanwhile {by_thread:.3} us, ratio {:.3}", by_event / by_thread);
    Ok(())
}

/// Dispatches of one threadgroup each cannot use two cores, unless they run beside each other.
fn overlap(machine: &Machine) -> Result<(), Failure> {
    let streams: Vec<_> =
        (0..3).map(|_| machine.context.stream(StreamOptions::default())).collect::<Result<_, _>>()?;
    let run = |count: usize| {
        timed(|| {
            let submitted: Vec<_> = (0..24)
                .filter_map(|turn| {
                    let stream: &Stream = &streams[turn % count];
                    let mut command_buffer = stream.command_buffer().ok()?;
                    let mut encoder = command_buffer.compute().pipeline(&machine.compute);
                    encoder.dispatch_threadgroups([1, 1, 1], [32, 1, 1]).ok()?;
                    encoder.end_encoding();
                    Some(command_buffer.commit())
                })
                .collect();
            submitted.len() == 24 && submitted.iter().all(|submission| submission.wait().is_ok())
        })
    };
    let (mut one, mut three) = (Vec::new(), Vec::new());
    for _ in 0..machine.count(15) {
        one.push(run(1));
        three.push(run(3));
    }
    let (one, three) = (median(one), median(three));
    println!("24 small dispatches: one stream {one:.0} us, three {three:.0} us, {:.2} times", one / three);
    Ok(())
}

fn dispatches(machine: &Machine) -> Result<(), Failure> {
    let stream = machine.context.stream(StreamOptions::default())?;
    submit(&stream, &machine.empty, 100);
    let (before, start) = (resident_kib(), Instant::now());
    let command_buffers = machine.count(100_000);
    for _ in 0..command_buffers {
        let mut command_buffer = stream.command_buffer()?;
        let mut encoder = command_buffer.compute().pipeline(&machine.empty);
        for _ in 0..10 {
            encoder.dispatch_threadgroups([1, 1, 1], [32, 1, 1])?;
        }
        encoder.end_encoding();
        drop(command_buffer.commit());
    }
    stream.drain()?;
    report(
        &format!("{} dispatches in {command_buffers} command buffers", 10 * command_buffers),
        before,
        start,
    );
    Ok(())
}

fn streams(machine: &Machine) -> Result<(), Failure> {
    let round = |count| -> Result<(), Failure> {
        let markers = (0..count).map(|_| machine.context.stream(StreamOptions::default())?.marker());
        // All exist at once, each in flight or done, and none is left afterwards.
        for marker in markers.collect::<Result<Vec<_>, _>>()? {
            marker.wait()?;
        }
        Ok(())
    };
    round(machine.count(10_000))?;
    let (before, start) = (resident_kib(), Instant::now());
    let count = machine.count(10_000);
    (0..10).try_for_each(|_| round(count))?;
    report(&format!("{count} streams made, used and dropped, ten times"), before, start);
    Ok(())
}

fn uncommitted(machine: &Machine) -> Result<(), Failure> {
    let options = StreamOptions { max_command_buffers: 5000, ..StreamOptions::default() };
    let stream = machine.context.stream(options)?;
    let round = || -> Result<(), Failure> {
        let mut held = Vec::new();
        for _ in 0..5000 {
            let mut command_buffer = stream.command_buffer()?;
            let mut encoder = command_buffer.compute().pipeline(&machine.empty);
            encoder.dispatch_threadgroups([1, 1, 1], [32, 1, 1])?;
            encoder.end_encoding();
            held.push(command_buffer);
        }
        drop(held);
        Ok(())
    };
    round()?;
    let (before, start) = (resident_kib(), Instant::now());
    for _ in 0..10 {
        round()?;
    }
    report("5,000 uncommitted command buffers, ten times", before, start);
    Ok(())
}

fn report(what: &str, before: u64, start: Instant) {
    let (after, seconds) = (resident_kib(), start.elapsed().as_secs_f64());
    println!("{what}: {seconds:.2} s, resident {before} KiB before, {after} KiB after");
}

fn submit(stream: &Stream, pipeline: &Arc<dyn Pipeline>, dispatches: usize) -> bool {
    let Ok(mut command_buffer) = stream.command_buffer() else { return false };
    let mut encoder = command_buffer.compute().pipeline(pipeline);
    for _ in 0..dispatches {
        if encoder.dispatch_threadgroups([1, 1, 1], [32, 1, 1]).is_err() {
            return false;
        }
    }
    encoder.end_encoding();
    command_buffer.commit().wait().is_ok()
}

fn queue_submit(queue: &dyn Queue, pipeline: &Arc<dyn Pipeline>) -> bool {
    let dispatch = Command::Dispatch(Dispatch {
        pipeline: Arc::clone(pipeline),
        bindings: Vec::new(),
        threadgroup_memory: Vec::new(),
        grid: Grid::Threadgroups([1, 1, 1]),
        group_size: [32, 1, 1],
    });
    let submission = Submission { commands: vec![dispatch], ..Submission::default() };
    queue.submit(submission).is_ok_and(|completion| completion.wait().is_ok())
}

/// A thread that sends back what it gets, and sleeps in between.
fn echo() -> (Sender<()>, Receiver<()>) {
    let (to, its) = channel();
    let (back, from) = channel();
    std::thread::spawn(move || {
        for message in its {
            if back.send(message).is_err() {
                return;
            }
        }
    });
    (to, from)
}

/// Microseconds; the work must succeed.
fn timed(work: impl FnOnce() -> bool) -> f64 {
    let start = Instant::now();
    assert!(work(), "the measured work failed");
    start.elapsed().as_secs_f64() * 1e6
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Memory of the process that is in RAM; 0 where the system does not tell.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok()).unwrap_or(0)
}

fn compile() -> Result<Artifact, Failure> {
    let folder = std::env::temp_dir().join(format!("anymetal-exec-bench-{}", std::process::id()));
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
    Ok(Artifact {
        target: ArtifactTarget::Cpu { triple: "host".into(), cpu: "host".into(), features: String::new() },
        code: ArtifactCode::Object(code?.into()),
        kernels: ["empty", "compute"].map(|name| KernelInfo::new(name, name)).to_vec(),
        fault_sites: Vec::new(),
        fingerprint: "exec bench".into(),
    })
}
