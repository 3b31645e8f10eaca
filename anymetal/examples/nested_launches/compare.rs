//! Two forms of the same work, timed in turn, and what both need.

use std::error::Error;
use std::time::{Duration, Instant};

use anymetal::command::{IndirectCommandBuffer, IndirectCommandBufferDescriptor};
use anymetal::{Buffer, CompileOptions, Device, Library, LibraryDescriptor, MathMode};

/// How often each form runs.
const RUNS: usize = 21;

/// The most levels of nesting.
pub(crate) const MAX_DEPTH: u32 = 1000;

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// Compiles without liberties in arithmetic, so that plain Rust gives the same.
pub(crate) fn library(device: &Device, source: &str) -> Outcome<Library> {
    let options = CompileOptions::new().math_mode(MathMode::Safe);
    Ok(device.create_library(&LibraryDescriptor::from_source(source).options(&options))?)
}

/// Two indirect command buffers that encode each other, and the ranges of them that are executed: the first
/// command and the count, then a word for the program, one after the other.
pub(crate) struct PingPong {
    pub(crate) commands: [IndirectCommandBuffer; 2],
    pub(crate) ranges: Buffer<u32>,
}

impl PingPong {
    pub(crate) fn new(device: &Device, commands: u32, buffers: u32) -> Outcome<PingPong> {
        let descriptor = IndirectCommandBufferDescriptor::new(commands, buffers);
        let commands =
            [device.indirect_command_buffer(&descriptor)?, device.indirect_command_buffer(&descriptor)?];
        Ok(PingPong { commands, ranges: device.buffer_zeroed(8)? })
    }
}

/// What one run took.
#[derive(Clone, Copy)]
pub(crate) struct Took {
    time: Duration,
    /// Of all threads, where the system tells; other programs change it little.
    processor_time: Duration,
}

/// Runs both forms in turn and prints the medians and their ratios. Each run checks itself.
pub(crate) fn compare(
    what: &str,
    mut nested: impl FnMut() -> Outcome<Took>,
    mut host: impl FnMut() -> Outcome<Took>,
) -> Outcome<()> {
    let mut runs = Vec::new();
    for run in 0..=RUNS {
        // The first ones compile.
        let both = match run % 2 {
            0 => [nested()?, host()?],
            _ => {
                let host = host()?;
                [nested()?, host]
            }
        };
        if run > 0 {
            runs.push(both);
        }
    }
    print(what, "time", &runs, |took| took.time);
    print(what, "processor time", &runs, |took| took.processor_time);
    Ok(())
}

fn print(what: &str, measure: &str, runs: &[[Took; 2]], of: impl Fn(Took) -> Duration) {
    let [nested, host] = [0, 1].map(|form: usize| {
        let mut times: Vec<Duration> = runs.iter().map(|run| of(run[form])).collect();
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1e6
    });
    if host > 0.0 {
        let ratio = nested / host;
        println!("{what}: {measure} nested {nested:.0} us, host-driven {host:.0} us, ratio {ratio:.3}");
    }
}

/// How long it took.
pub(crate) fn timed(work: impl FnOnce() -> Result<(), anymetal::Error>) -> Outcome<Took> {
    let (start, before) = (Instant::now(), processor_time());
    work()?;
    let processor_time = processor_time().saturating_sub(before);
    Ok(Took { time: start.elapsed(), processor_time })
}

/// What all threads have run so far; zero where the system does not tell.
fn processor_time() -> Duration {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return Duration::ZERO };
    let nanoseconds = tasks.flatten().filter_map(|task| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}
