//! What this machine can do at most: multiply-add rate, memory bandwidth, and the cost of waking a
//! thread, measured in the same run as what is compared with them.

use multiversion::multiversion;
use rayon::prelude::*;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Measured limits of all cores together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Float operations per second, a multiply-add counting two.
    pub(crate) flops: f64,
    /// Bytes per second of a copy, reads and writes counted once each.
    pub(crate) copy: f64,
    /// Bytes per second of reading.
    pub(crate) read: f64,
}

/// Sixteen vectors' worth of sums: enough to hide the latency of multiply-add.
const SUMS: usize = 256;

#[multiversion(targets = "simd")]
fn multiply_add(rounds: usize, factor: f32) -> f32 {
    let mut sums = [1.0f32; SUMS];
    for _ in 0..rounds {
        for sum in &mut sums {
            *sum = sum.mul_add(factor, 1e-9);
        }
    }
    sums.iter().sum()
}

#[multiversion(targets = "simd")]
fn read(values: &[u64]) -> u64 {
    values.iter().fold(0, |sum, value| sum ^ value)
}

/// The shortest of several runs: a limit is what the machine can do, not what it does on average.
fn best(mut run: impl FnMut()) -> Duration {
    run();
    let time = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    (0..5).map(|_| time(&mut run)).min().unwrap_or_default()
}

/// Measures the limits; takes about a second.
pub(crate) fn measure() -> Limits {
    let threads = rayon::current_num_threads();
    // Every thread has its part, long enough that waking it takes no time beside.
    let rounds = 4_000_000;
    let compute = best(|| {
        black_box(rayon::broadcast(|_| multiply_add(rounds, black_box(0.999))));
    });
    let flops = (threads * rounds * SUMS * 2) as f64 / compute.as_secs_f64();
    let count = 1 << 24;
    let source = vec![1u64; count];
    let mut target = vec![0u64; count];
    let chunk = 1 << 17;
    let copy = best(|| {
        let parts = target.par_chunks_mut(chunk).zip(source.par_chunks(chunk));
        parts.for_each(|(target, source)| target.copy_from_slice(source));
        black_box(&target);
    });
    let reading = best(|| {
        black_box(source.par_chunks(chunk).map(read).reduce(|| 0, |a, b| a ^ b));
    });
    let bytes = (count * 8) as f64;
    Limits { flops, copy: 2.0 * bytes / copy.as_secs_f64(), read: bytes / reading.as_secs_f64() }
}
