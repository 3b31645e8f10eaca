//! Peak rates of a device, this machine's processor or another: multiply-add rate and memory bandwidth,
//! measured in the same run as what is compared with them.

mod device;

use anymetal::DeviceKind;
use anymetal::{Device, Error, Queue};
use device::DeviceProbe;
use multiversion::multiversion;
use rayon::prelude::*;
use std::hint::black_box;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Measured limits of all cores together, or of a GPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Float operations per second, a multiply-add counting two.
    pub(crate) flops: f64,
    /// Bytes per second of a copy, reads and writes counted once each.
    pub(crate) copy: f64,
    /// Bytes per second of reading; for processors only.
    pub(crate) read: Option<f64>,
}

/// Sums that hide the latency of multiply-add: sixteen vectors of those that have 32 registers for them.
const MANY_SUMS: usize = 256;
/// Twelve vectors of 256 bits: more do not fit into 16 registers.
const FEW_SUMS: usize = 96;
/// Of a thread, in one run.
const MULTIPLY_ADDS: usize = 1 << 30;
/// Of the memory that is copied and read.
const WORDS: usize = 1 << 24;
/// What a thread takes of it at a time.
const CHUNK: usize = 1 << 17;

#[multiversion(targets = "simd")]
fn many_multiply_adds(rounds: usize, factor: f32) -> f32 {
    multiply_add::<MANY_SUMS>(rounds, factor)
}

#[multiversion(targets = "simd")]
fn few_multiply_adds(rounds: usize, factor: f32) -> f32 {
    multiply_add::<FEW_SUMS>(rounds, factor)
}

#[inline(always)]
fn multiply_add<const SUMS: usize>(rounds: usize, factor: f32) -> f32 {
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

/// Work that a limit is the rate of, to be timed next to what is compared with it: processors run faster in
/// bursts, and other guests of a host take bandwidth.
pub(crate) enum Probe {
    /// Multiply-adds of all threads, to that many sums each.
    MultiplyAdd(usize),
    /// A copy by all threads.
    Copy(Vec<u64>, Vec<u64>),
    /// Reading by all threads.
    Read(Vec<u64>),
    /// On another device.
    Device(DeviceProbe),
}

/// Whether the device's limits are those of this machine's processor.
fn is_processor(device: &Device) -> bool {
    !matches!(device.capabilities().kind, DeviceKind::Nvidia | DeviceKind::Apple)
}

impl Probe {
    /// Multiply-adds of the device.
    pub(crate) fn multiply_add(device: &Device, queue: &Queue) -> Result<Self, Error> {
        match is_processor(device) {
            true => Ok(Self::multiply_add_of_processor()),
            false => DeviceProbe::multiply_add(device, queue).map(Self::Device),
        }
    }

    /// A copy in the device's memory.
    pub(crate) fn copy(device: &Device, queue: &Queue) -> Result<Self, Error> {
        match is_processor(device) {
            true => Ok(Self::copy_of_processor()),
            false => DeviceProbe::copy(device, queue).map(Self::Device),
        }
    }

    /// The faster number of sums on this processor.
    fn multiply_add_of_processor() -> Self {
        static FASTER: OnceLock<usize> = OnceLock::new();
        let rate = |sums| Self::MultiplyAdd(sums).best_rate().unwrap_or_default();
        let faster = || if rate(FEW_SUMS) > rate(MANY_SUMS) { FEW_SUMS } else { MANY_SUMS };
        Self::MultiplyAdd(*FASTER.get_or_init(faster))
    }

    /// More bytes than caches hold.
    fn copy_of_processor() -> Self {
        Self::Copy(vec![1; WORDS], vec![0; WORDS])
    }

    fn read() -> Self {
        Self::Read(vec![1; WORDS])
    }

    /// Float operations, or bytes read and written.
    pub(crate) fn amount(&self) -> f64 {
        match self {
            Self::MultiplyAdd(sums) => (rayon::current_num_threads() * rounds_of(*sums) * sums * 2) as f64,
            Self::Copy(source, _) => 2.0 * size_of_val(source.as_slice()) as f64,
            Self::Read(source) => size_of_val(source.as_slice()) as f64,
            Self::Device(probe) => probe.amount(),
        }
    }

    pub(crate) fn run(&mut self) -> Result<(), Error> {
        match self {
            Self::Device(probe) => probe.run()?,
            Self::MultiplyAdd(sums) => {
                let chosen = if *sums == FEW_SUMS { few_multiply_adds } else { many_multiply_adds };
                black_box(rayon::broadcast(|_| chosen(rounds_of(*sums), black_box(0.999))));
            }
            Self::Copy(source, target) => {
                let parts = target.par_chunks_mut(CHUNK).zip(source.par_chunks(CHUNK));
                parts.for_each(|(target, source)| target.copy_from_slice(source));
                black_box(target);
            }
            Self::Read(source) => {
                black_box(source.par_chunks(CHUNK).map(read).reduce(|| 0, |a, b| a ^ b));
            }
        }
        Ok(())
    }

    /// The best rate of several runs: a limit is what the machine can do, not what it does on average.
    fn best_rate(mut self) -> Result<f64, Error> {
        self.run()?;
        let mut best = Duration::MAX;
        for _ in 0..5 {
            let start = Instant::now();
            self.run()?;
            best = best.min(start.elapsed());
        }
        Ok(self.amount() / best.as_secs_f64())
    }
}

/// Each thread has its part, long enough that waking it takes no time beside.
fn rounds_of(sums: usize) -> usize {
    MULTIPLY_ADDS / sums
}

/// Measures the limits of a device; takes about a second.
///
/// # Errors
/// A GPU that does not do its work.
pub(crate) fn measure(device: &Device, queue: &Queue) -> Result<Limits, Error> {
    let read = is_processor(device).then(|| Probe::read().best_rate()).transpose()?;
    Ok(Limits {
        flops: Probe::multiply_add(device, queue)?.best_rate()?,
        copy: Probe::copy(device, queue)?.best_rate()?,
        read,
    })
}

/// The rates, for a line of text.
impl std::fmt::Display for Limits {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (flops, copy) = (self.flops / 1e9, self.copy / 1e9);
        write!(formatter, "multiply-add {flops:.0} GFLOP/s, copy {copy:.1} GB/s")?;
        self.read.map_or(Ok(()), |read| write!(formatter, ", read {:.1} GB/s", read / 1e9))
    }
}
