//! What tuning threadgroup sizes gains: kernels of `anymetal bench` that any size suits, each tuned, then
//! launched in turn with the default size and without a size, which is then the tuned one.
//!
//! `cargo run --release -p anymetal --example tuned_sizes [ROUNDS]` prints the medians of the device's times,
//! their ratios and the geometric mean: 1 is equal, more is faster with the tuned size. Sizes are kept for
//! later processes where compiled kernels are kept (`ANYMETAL_CACHE`).
#![allow(clippy::print_stdout, reason = "an example reports to its terminal")]

use std::time::Duration;

use anymetal::argument::Plain;
use anymetal::{Buffer, Device, Error, Launch, Queue, Submission};

const SIDE: u32 = 1024;
const N: u32 = SIDE * SIDE;

macro_rules! source {
    ($file:literal) => {
        include_str!(concat!("../../interfaces/cli/src/demo/kernels/", $file, ".metal"))
    };
}

struct Bench {
    device: Device,
    queue: Queue,
    rounds: usize,
    /// The logarithms of the ratios.
    ratios: Vec<f64>,
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn took(submission: Submission) -> Result<Duration, Error> {
    Ok(submission.wait()?.device_time())
}

impl Bench {
    fn noise(&self, n: u32) -> Result<Buffer<f32>, Error> {
        let value = |i: u32| 0.1 + (i.wrapping_mul(2_654_435_761) >> 8) as f32 / 16_777_216.0;
        self.device.buffer(&(0..n).map(value).collect::<Vec<f32>>())
    }

    fn compare(
        &mut self,
        source: &str,
        kernel: &str,
        launch: impl for<'l> Fn(Launch<'l>) -> Launch<'l>,
    ) -> Result<(), Error> {
        let pipeline = self.device.library_from_source(source)?.pipeline(kernel)?;
        let tuned = self.queue.tune(&pipeline).run(&launch)?;
        let (default, best) = (tuned.default().size, tuned.best().size);
        let with_default = || took(launch(self.queue.launch(&pipeline)).group_size(default).submit()?);
        let with_tuned = || took(launch(self.queue.launch(&pipeline)).submit()?);
        let (mut old, mut new) = (Vec::new(), Vec::new());
        // Code for each size is made before it is measured.
        with_default().and(with_tuned())?;
        for _ in 0..self.rounds {
            old.push(with_default()?);
            new.push(with_tuned()?);
        }
        let (old, new) = (median(&mut old), median(&mut new));
        let ratio = old.as_secs_f64() / new.as_secs_f64();
        self.ratios.push(ratio.ln());
        println!(
            "{kernel:<14} {default:?} {:.1} us, {best:?} {:.1} us: {ratio:.2}",
            old.as_secs_f64() * 1e6,
            new.as_secs_f64() * 1e6
        );
        Ok(())
    }

    fn along_memory(&mut self) -> Result<(), Error> {
        let (x, y) = (self.noise(N)?, self.device.buffer_zeroed::<f32>(N as usize)?);
        self.compare(source!("saxpy"), "saxpy", |l| l.threads(N).arg(&x).arg(&y).arg(0.5f32).arg(N))?;
        let (shape, strides) = (Plain([8u32, 8, 128, 128]), Plain([131_072u32, 128, 1024, 1]));
        self.compare(source!("copy"), "copy_grid", |l| {
            l.threads((128, 128, 64)).arg(&x).arg(&y).arg(shape).arg(strides)
        })?;
        let shape = self.device.buffer(&[8u32, 8, 128, 128])?;
        let strides = self.device.buffer(&[131_072u32, 128, 1024, 1])?;
        self.compare(source!("copy"), "copy_flat", |l| {
            l.threads(N).arg(&x).arg(&y).arg(N).arg(&shape).arg(&strides).arg(4u32)
        })?;
        let size = Plain([SIDE, SIDE]);
        self.compare(source!("stencil"), "blur", |l| l.threads((SIDE, SIDE)).arg(&x).arg(&y).arg(size))?;
        let keys: Vec<u32> = (0..N).map(|i| i.wrapping_mul(2_654_435_761)).collect();
        let keys = self.device.buffer(&keys)?;
        self.compare(source!("sort"), "bitonic_step", |l| l.threads(N / 2).arg(&keys).arg(4096u32).arg(64u32))
    }

    fn arithmetic(&mut self) -> Result<(), Error> {
        let [prices, strikes, years] = [self.noise(N)?, self.noise(N)?, self.noise(N)?];
        let zeroed = || self.device.buffer_zeroed::<f32>(N as usize);
        let (calls, puts) = (zeroed()?, zeroed()?);
        self.compare(source!("black_scholes"), "black_scholes", |l| {
            let options = l.threads(N).arg(&prices).arg(&strikes).arg(&years);
            options.arg(&calls).arg(&puts).arg(0.02f32).arg(0.3f32).arg(N)
        })?;
        let (bodies, out) = (self.noise(4 * 4096)?, self.device.buffer_zeroed::<f32>(4 * 4096)?);
        self.compare(source!("nbody"), "nbody", |l| l.threads(4096).arg(&bodies).arg(&out).arg(4096u32))?;
        let counts = self.device.buffer_zeroed::<u32>(N as usize)?;
        let (size, window) = (Plain([SIDE, SIDE]), Plain([-2.0f32, -1.25, 2.5 / 1024.0, 2.5 / 1024.0]));
        self.compare(source!("mandelbrot"), "mandelbrot", |l| {
            l.threads((SIDE, SIDE)).arg(&counts).arg(size).arg(window).arg(200u32)
        })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rounds = std::env::args().nth(1).map_or(Ok(31), |text| text.parse::<usize>())?.max(1);
    let device = Device::system_default()?;
    let queue = device.queue()?;
    println!("device: {}, {rounds} rounds", device.name());
    let mut bench = Bench { device, queue, rounds, ratios: Vec::new() };
    bench.along_memory()?;
    bench.arithmetic()?;
    let mean = (bench.ratios.iter().sum::<f64>() / bench.ratios.len() as f64).exp();
    println!("geometric mean of {}: {mean:.3}", bench.ratios.len());
    Ok(())
}
