//! How close launches that name no threadgroup size come to the best size.
//!
//! `cargo run --release -p anymetal --example default_sizes [DEVICE]` searches the best size of each kernel
//! and grid as [`anymetal::Queue::tune`] does, and prints by how many times the default takes longer: 1 is as
//! fast. `ANYMETAL_CACHE=off` keeps what is found from later runs.
#![allow(clippy::print_stdout, reason = "an example reports to its terminal")]

use anymetal::tuning::{SearchOptions, Trial};
use anymetal::{Buffer, Device, Error, Extent, Launch, Library, Queue};

/// Elements of the largest buffers.
const N: u32 = 1 << 20;

struct Cases {
    library: Library,
    queue: Queue,
    x: Buffer<f32>,
    y: Buffer<f32>,
    words: Buffer<u32>,
    /// Of each case, the default's time over the best one's.
    ratios: Vec<f64>,
}

impl Cases {
    fn new(device: &Device) -> Result<Self, Error> {
        let noise = |i: u32| i.wrapping_mul(2_654_435_761);
        let floats: Vec<f32> = (0..N).map(|i| (noise(i) >> 8) as f32 / 16_777_216.0).collect();
        let words: Vec<u32> = (0..N).map(noise).collect();
        Ok(Self {
            library: device.library_from_source(include_str!("kernels.metal"))?,
            queue: device.queue()?,
            x: device.buffer(&floats)?,
            y: device.buffer_zeroed(N as usize)?,
            words: device.buffer(&words)?,
            ratios: Vec::new(),
        })
    }

    /// Measures one kernel over one grid.
    fn case(
        &mut self,
        kernel: &str,
        grid: impl Into<Extent>,
        launch: impl for<'l> Fn(Launch<'l>) -> Launch<'l>,
    ) -> Result<(), Error> {
        let grid = grid.into();
        // A pipeline of its own: grids of one class share what tuning found.
        let pipeline = self.library.pipeline(kernel)?;
        let options = SearchOptions::default().gain(0.0);
        let tuned = self.queue.tune(&pipeline).options(options).run(|l| launch(l).threads(grid))?;
        let (default, best, ratio) = (tuned.default(), tuned.best(), tuned.speedup());
        let micros = |trial: &Trial| trial.samples.median().as_secs_f64() * 1e6;
        println!(
            "{kernel:<20} {:<18} {:<14} {:>9.0} us   {:<14} {:>9.0} us   {ratio:.2}",
            format!("{:?}", grid.to_array()?),
            format!("{:?}", default.size),
            micros(default),
            format!("{:?}", best.size),
            micros(best),
        );
        self.ratios.push(ratio);
        Ok(())
    }

    fn elements(&mut self) -> Result<(), Error> {
        let (x, y) = (self.x.clone(), self.y.clone());
        self.case("add", N, |l| l.arg(&x).arg(&y))?;
        self.case("add", (1, N), |l| l.arg(&x).arg(&y))?;
        self.case("add", (1, 1, N), |l| l.arg(&x).arg(&y))?;
        self.case("add", (3, N / 4), |l| l.arg(&x).arg(&y))?;
        self.case("add", (N / 4, 3), |l| l.arg(&x).arg(&y))?;
        self.case("add", (7, 5, N / 64), |l| l.arg(&x).arg(&y))?;
        self.case("add", (100, 100, 100), |l| l.arg(&x).arg(&y))?;
        self.case("add_by_columns", (1024, 1024), |l| l.arg(&x).arg(&y))?;
        self.case("transpose", (1024, 1024), |l| l.arg(&x).arg(&y))?;
        self.case("transpose", (1000, 1000), |l| l.arg(&x).arg(&y))?;
        self.case("add_in_threadgroups", (1024, 1024), |l| l.arg(&x).arg(&y))?;
        self.case("add_in_threadgroups", (5, N / 8), |l| l.arg(&x).arg(&y))
    }

    fn neighbours(&mut self) -> Result<(), Error> {
        let (x, y) = (self.x.clone(), self.y.clone());
        self.case("blur", (1000, 1000), |l| l.arg(&x).arg(&y))?;
        self.case("blur", (16, N / 16), |l| l.arg(&x).arg(&y))?;
        self.case("laplace", (100, 100, 100), |l| l.arg(&x).arg(&y))?;
        self.case("laplace", (16, 16, 4096), |l| l.arg(&x).arg(&y))
    }

    fn loops(&mut self) -> Result<(), Error> {
        let (x, y, words) = (self.x.clone(), self.y.clone(), self.words.clone());
        self.case("sum_rows", 1024, |l| l.arg(&x).arg(&y).arg(1024u32))?;
        self.case("sum_columns", 1024, |l| l.arg(&x).arg(&y).arg(1024u32))?;
        self.case("matmul", (256, 256), |l| l.arg(&x).arg(&x).arg(&y).arg(256u32))?;
        self.case("iterate", 64, |l| l.arg(&y).arg(2000u32))?;
        self.case("iterate", 256, |l| l.arg(&y).arg(2000u32))?;
        self.case("iterate", (10, 10, 10), |l| l.arg(&y).arg(1000u32))?;
        self.case("mandelbrot", (512, 512), |l| l.arg(&words))?;
        self.case("gather", N, |l| l.arg(&words).arg(&x).arg(&y))?;
        self.case("histogram", N / 4, |l| l.arg(&words).arg(&words))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let device = match std::env::args().nth(1) {
        Some(name) => Device::by_name(&name)?,
        None => Device::system_default()?,
    };
    println!(
        "device: {}\nkernel, grid, default size and its time, best size and its time, default / best",
        device.name()
    );
    let mut cases = Cases::new(&device)?;
    cases.elements()?;
    cases.neighbours()?;
    cases.loops()?;
    let ratios = &mut cases.ratios;
    ratios.sort_unstable_by(f64::total_cmp);
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    let worst = ratios.last().copied().unwrap_or(1.0);
    println!("geometric mean of {}: {mean:.3}, worst {worst:.2}", ratios.len());
    Ok(())
}
