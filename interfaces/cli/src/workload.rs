//! The workloads of `demo` and `bench`: kernels, inputs, independent references, counted work.
//!
//! Each workload lives in a file of its own and knows how to prepare itself at a size, run once,
//! check its results against a reference in plain Rust that shares nothing with the kernel, and run
//! the plain Rust alternatives it is compared with. Invariant: flop and byte counts are those the
//! algorithm needs, not those an implementation happens to spend.
//! Start with [`all`].

mod attention;
mod black_scholes;
mod copy;
mod histogram;
mod layer_norm;
mod mandelbrot;
mod matmul;
mod nbody;
mod q4_0;
mod reduce;
mod saxpy;
mod scan;
mod softmax;
mod sort;
mod stencil;
mod transpose;

use anymetal::testing::SplitMix64;
use anymetal::{Device, Error, Library, Queue};
use anymetal_bench_peers::job::Job;

/// What a run of the workload needs at least.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    /// Float operations; a multiply-add counts two.
    pub(crate) flops: f64,
    /// Bytes that must cross the memory bus when nothing is cached.
    pub(crate) bytes: f64,
}

/// Which of the machine's limits bounds a workload, and how its rate is named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bound {
    /// Memory bandwidth; rates are GB/s.
    Memory,
    /// Multiply-add throughput; rates are GFLOP/s.
    Compute,
}

/// How large.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scale {
    /// Small enough for interpreters that check every access.
    Sanitizer,
    /// A moment each: for the tour.
    Demo,
    /// For measuring.
    Bench,
}

impl Scale {
    /// The size of this scale.
    fn of<T>(self, sanitizer: T, demo: T, bench: T) -> T {
        match self {
            Self::Sanitizer => sanitizer,
            Self::Demo => demo,
            Self::Bench => bench,
        }
    }
}

/// The outcome of a comparison with the reference.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    /// Whether the results are right.
    pub(crate) correct: bool,
    /// How it was compared, and what came out.
    pub(crate) detail: String,
}

/// A grey or coloured picture to put into the report.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    /// File name without extension.
    pub(crate) name: &'static str,
    /// Columns.
    pub(crate) width: u32,
    /// Rows.
    pub(crate) height: u32,
    /// Three bytes a pixel.
    pub(crate) rgb: Vec<u8>,
}

/// A workload of a fixed size on a device.
pub(crate) trait Prepared {
    /// Dispatches once and waits.
    fn run(&self, queue: &Queue) -> Result<(), Error>;
    /// Checks the results of the last [`Prepared::run`] since [`Prepared::reset`].
    fn verify(&self) -> Result<Verdict, Error> {
        Ok(self.check(&self.results()?))
    }
    /// The bytes of the results.
    fn results(&self) -> Result<Vec<u8>, Error>;
    /// Compares the bytes of results, ours or a peer's, with the reference. They are those of a single run
    /// on fresh inputs.
    fn check(&self, results: &[u8]) -> Verdict;
    /// The same algorithm in OpenCL C and CUDA C on the same inputs, where it can be written.
    fn job(&self) -> Option<Job<'_>> {
        None
    }
    /// Puts inputs that a run changes back to their start.
    fn reset(&self) -> Result<(), Error> {
        Ok(())
    }
    /// The counted work of one run.
    fn work(&self) -> Work;
    /// The size, for display.
    fn size(&self) -> String;
    /// The plain alternative: one thread, vectorised by rustc for this CPU.
    fn plain(&mut self);
    /// The plain alternative on all cores, with rayon.
    fn parallel(&mut self);
    /// A picture of the result, if it is one.
    fn picture(&self) -> Result<Option<Picture>, Error> {
        Ok(None)
    }
}

/// A workload.
pub(crate) struct Workload {
    /// Its name.
    pub(crate) name: &'static str,
    /// What bounds it.
    pub(crate) bound: Bound,
    /// The MSL source.
    pub(crate) source: &'static str,
    /// The kernels, for compile times.
    pub(crate) kernels: &'static [&'static str],
    /// Makes inputs and pipelines.
    pub(crate) prepare: fn(&Device, &Library, Scale) -> Result<Box<dyn Prepared>, Error>,
}

/// The ten workloads of the tour, in the order of its report.
pub(crate) fn tour() -> Vec<Workload> {
    vec![
        saxpy::WORKLOAD,
        stencil::WORKLOAD,
        reduce::WORKLOAD,
        softmax::WORKLOAD,
        scan::WORKLOAD,
        histogram::WORKLOAD,
        sort::WORKLOAD,
        matmul::TILES_16,
        nbody::WORKLOAD,
        mandelbrot::WORKLOAD,
    ]
}

/// All workloads, in the order of the benchmark.
pub(crate) fn all() -> Vec<Workload> {
    vec![
        saxpy::WORKLOAD,
        copy::GRID,
        copy::FLAT,
        transpose::WORKLOAD,
        stencil::WORKLOAD,
        reduce::WORKLOAD,
        scan::WORKLOAD,
        softmax::WORKLOAD,
        layer_norm::WORKLOAD,
        matmul::TILES_16,
        matmul::TILES_64,
        matmul::FRAGMENTS,
        matmul::HALF_FRAGMENTS,
        nbody::WORKLOAD,
        mandelbrot::WORKLOAD,
        black_scholes::WORKLOAD,
        histogram::WORKLOAD,
        sort::WORKLOAD,
        q4_0::WORKLOAD,
        attention::WORKLOAD,
    ]
}

/// Those that only GPUs do in a moment, after all others of a comparison there.
pub(crate) fn large() -> Vec<Workload> {
    vec![matmul::LARGE_FRAGMENTS, matmul::LARGE_HALF_FRAGMENTS]
}

/// The bytes of results, as [`Prepared::check`] takes them.
fn bytes<T: bytemuck::NoUninit>(results: &[T]) -> Vec<u8> {
    bytemuck::cast_slice(results).to_vec()
}

/// The values in the bytes of results.
fn values<T: bytemuck::AnyBitPattern>(results: &[u8]) -> Vec<T> {
    results.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
}

/// A small generator of reproducible inputs, independent of the kernels' own.
#[derive(Clone, Debug)]
pub(crate) struct Rng(SplitMix64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next_number()
    }

    /// In [0, 1).
    pub(crate) fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as f32 / (1u64 << 24) as f32
    }

    pub(crate) fn floats(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.unit()).collect()
    }
}

/// The greatest relative deviation of `got` from `expected`, with an absolute floor.
pub(crate) fn compare(
    got: &[f32],
    expected: impl Iterator<Item = f64>,
    floor: f64,
    tolerance: f64,
) -> Verdict {
    let worst = got
        .iter()
        .zip(expected)
        .map(|(&got, expected)| {
            let error = (f64::from(got) - expected).abs() / expected.abs().max(floor);
            if error.is_nan() { f64::INFINITY } else { error }
        })
        .fold(0.0, f64::max);
    Verdict {
        correct: worst <= tolerance,
        detail: format!("greatest relative error {worst:.1e}, allowed {tolerance:.0e}"),
    }
}

/// All of `got` equal to `expected`.
pub(crate) fn exact<T: PartialEq>(got: &[T], expected: &[T]) -> Verdict {
    let wrong = got.iter().zip(expected).filter(|(a, b)| a != b).count() + got.len().abs_diff(expected.len());
    Verdict { correct: wrong == 0, detail: format!("{wrong} of {} differ", expected.len()) }
}
