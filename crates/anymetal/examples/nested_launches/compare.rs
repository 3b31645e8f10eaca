//! Two forms of the same work, timed in turn, and what both need.

use std::error::Error;
use std::time::{Duration, Instant};

use anymetal::{
    Buffer, CompileOptions, Device, IndirectCommandBuffer, IndirectCommandBufferDescriptor, Library, MathMode,
};

/// How often each form runs.
const RUNS: usize = 21;

/// The most levels of nesting.
pub(crate) const MAX_DEPTH: u32 = 1000;

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// Compiles without liberties in arithmetic, so that plain Rust gives the same.
pub(crate) fn library(device: &Device, source: &str) -> Outcome<Library> {
    let options = CompileOptions { math_mode: MathMode::Safe, ..CompileOptions::default() };
    Ok(device.library_from_source_with(source, &options)?)
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

/// Runs both forms in turn and prints the medians and their ratio, and the best times, which a busy machine
/// changes less. Each run checks itself.
pub(crate) fn compare(
    what: &str,
    mut nested: impl FnMut() -> Outcome<Duration>,
    mut host: impl FnMut() -> Outcome<Duration>,
) -> Outcome<()> {
    let mut times = [Vec::new(), Vec::new()];
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
            times.iter_mut().zip(both).for_each(|(times, took)| times.push(took));
        }
    }
    times.iter_mut().for_each(|times| times.sort_unstable());
    let at = |place: usize| times.each_ref().map(|times| times[place].as_secs_f64() * 1e6);
    for (word, [nested, host]) in [("median", at(RUNS / 2)), ("best", at(0))] {
        let ratio = nested / host;
        println!("{what}: {word} nested {nested:.0} us, host-driven {host:.0} us, ratio {ratio:.3}");
    }
    Ok(())
}

/// How long it took.
pub(crate) fn timed(work: impl FnOnce() -> Result<(), anymetal::Error>) -> Outcome<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}
