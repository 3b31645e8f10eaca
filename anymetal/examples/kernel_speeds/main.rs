//! Kernels written in Rust beside the same written in MSL by hand: results and speed.
//!
//! `cargo run --release -p anymetal --example kernel_speeds [ROUNDS]` runs the ten kernels of
//! `anymetal demo` in both forms in turn, and prints the medians of the device's times and their ratio: 1 is
//! equal, less is slower in Rust. The kernels' machine code is the same in every profile of this program.
//! Exits with 1 if results differ.
#![allow(clippy::print_stdout, reason = "an example reports to its terminal")]

mod kernels;

use std::time::Duration;

use anymetal::argument::Plain;
use anymetal::kernel::LaunchGrid;
use anymetal::{Buffer, Device, Error, Pipeline, Pod, Queue, Submission};
use kernels::Body;

const SIDE: u32 = 1024;
const N: u32 = SIDE * SIDE;

/// One kernel: the launches of both forms, and whether they gave the same.
struct Case<'a> {
    name: &'static str,
    rust: Box<dyn Fn() -> Result<Submission, Error> + 'a>,
    msl: Box<dyn Fn() -> Result<Submission, Error> + 'a>,
    is_same: Box<dyn Fn() -> Result<bool, Error> + 'a>,
}

/// The device, with what cases are made of.
struct Bench {
    device: Device,
    queue: Queue,
}

impl Bench {
    fn pipeline(&self, source: &str, kernel: &str) -> Result<Pipeline, Error> {
        self.device.library_from_source(source)?.pipeline(kernel)
    }

    fn noise(&self, n: u32) -> Result<Buffer<f32>, Error> {
        let values: Vec<f32> =
            (0..n).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / 16_777_216.0).collect();
        self.device.buffer(&values)
    }

    fn keys(&self, n: u32) -> Result<Buffer<u32>, Error> {
        let values: Vec<u32> = (0..n).map(|i| i.wrapping_mul(2_654_435_761) >> 4).collect();
        self.device.buffer(&values)
    }

    /// A buffer of zeros for each form.
    fn pair<T: Pod>(&self, n: u32) -> Result<[Buffer<T>; 2], Error> {
        Ok([self.device.buffer_zeroed(n as usize)?, self.device.buffer_zeroed(n as usize)?])
    }
}

macro_rules! source {
    ($file:literal) => {
        include_str!(concat!("../../../interfaces/cli/src/demo/kernels/", $file, ".metal"))
    };
}

fn close(both: &[Buffer<f32>; 2]) -> Result<bool, Error> {
    let (one, other) = (both[0].read()?, both[1].read()?);
    Ok(one.iter().zip(&other).all(|(a, b)| (a - b).abs() <= 1e-5 * (1.0 + b.abs())))
}

fn equal(both: &[Buffer<u32>; 2]) -> Result<bool, Error> {
    Ok(both[0].read()? == both[1].read()?)
}

fn bandwidth(bench: &Bench) -> Result<Vec<Case<'_>>, Error> {
    let queue = &bench.queue;
    let flat = LaunchGrid::threads(N).group_size(256);
    let (x, y) = (bench.noise(N)?, bench.pair::<f32>(N)?);
    let pipeline = bench.pipeline(source!("saxpy"), "saxpy")?;
    let (to, from) = (y.clone(), x.clone());
    let saxpy = Case {
        name: "saxpy",
        rust: Box::new({
            let (x, y) = (x.clone(), y[0].clone());
            move || kernels::saxpy::launch(queue, flat, &x, &y, 0.5, N)
        }),
        msl: Box::new(move || {
            queue
                .launch(&pipeline)
                .threads(N)
                .group_size(256)
                .arg(&from)
                .arg(&to[1])
                .arg(0.5f32)
                .arg(N)
                .submit()
        }),
        is_same: Box::new(move || close(&y)),
    };
    let y = bench.pair::<f32>(N)?;
    let pipeline = bench.pipeline(source!("stencil"), "blur")?;
    let (to, from) = (y.clone(), x.clone());
    let grid = LaunchGrid::threads((SIDE, SIDE)).group_size((32, 8));
    let blur = Case {
        name: "stencil",
        rust: Box::new({
            let (x, y) = (x.clone(), y[0].clone());
            move || kernels::blur::launch(queue, grid, &x, &y, SIDE, SIDE)
        }),
        msl: Box::new(move || {
            let launch = queue.launch(&pipeline).threads((SIDE, SIDE)).group_size((32, 8));
            launch.arg(&from).arg(&to[1]).arg(Plain([SIDE, SIDE])).submit()
        }),
        is_same: Box::new(move || close(&y)),
    };
    let y = bench.pair::<f32>(N / 256)?;
    let pipeline = bench.pipeline(source!("reduce"), "reduce")?;
    let (to, from) = (y.clone(), x.clone());
    let reduce = Case {
        name: "reduce",
        rust: Box::new({
            let (x, y) = (x.clone(), y[0].clone());
            move || kernels::reduce::launch(queue, flat, &x, &y, N)
        }),
        msl: Box::new(move || {
            queue.launch(&pipeline).threads(N).group_size(256).arg(&from).arg(&to[1]).arg(N).submit()
        }),
        is_same: Box::new(move || close(&y)),
    };
    let y = bench.pair::<f32>(N)?;
    let pipeline = bench.pipeline(source!("softmax"), "softmax")?;
    let to = y.clone();
    let rows = LaunchGrid::groups(SIDE, 256);
    let softmax = Case {
        name: "softmax",
        rust: Box::new({
            let (x, y) = (x.clone(), y[0].clone());
            move || kernels::softmax::launch(queue, rows, &x, &y, SIDE)
        }),
        msl: Box::new(move || {
            queue.launch(&pipeline).threads(SIDE * 256).group_size(256).arg(&x).arg(&to[1]).arg(SIDE).submit()
        }),
        is_same: Box::new(move || close(&y)),
    };
    Ok(vec![saxpy, blur, reduce, softmax])
}

fn integers(bench: &Bench) -> Result<Vec<Case<'_>>, Error> {
    let queue = &bench.queue;
    let flat = LaunchGrid::threads(N).group_size(256);
    let (x, y, totals) = (bench.keys(N)?, bench.pair::<u32>(N)?, bench.pair::<u32>(N / 256)?);
    let pipeline = bench.pipeline(source!("scan"), "scan_groups")?;
    let (from, to, sums) = (x.clone(), y.clone(), totals.clone());
    let scan = Case {
        name: "scan",
        rust: Box::new({
            let (y, totals) = (y[0].clone(), totals[0].clone());
            move || kernels::scan_groups::launch(queue, flat, &x, &y, &totals, N)
        }),
        msl: Box::new(move || {
            let launch = queue.launch(&pipeline).threads(N).group_size(256);
            launch.arg(&from).arg(&to[1]).arg(&sums[1]).arg(N).submit()
        }),
        is_same: Box::new(move || Ok(equal(&y)? && equal(&totals)?)),
    };
    let bytes: Vec<u8> = (0..N).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let (x, y) = (bench.device.buffer(&bytes)?, bench.pair::<u32>(256)?);
    let pipeline = bench.pipeline(source!("histogram"), "histogram")?;
    let (from, to) = (x.clone(), y.clone());
    let few = LaunchGrid::threads(16384).group_size(256);
    let histogram = Case {
        name: "histogram",
        rust: Box::new({
            let y = y[0].clone();
            move || kernels::histogram::launch(queue, few, &x, &y, N)
        }),
        msl: Box::new(move || {
            queue.launch(&pipeline).threads(16384).group_size(256).arg(&from).arg(&to[1]).arg(N).submit()
        }),
        is_same: Box::new(move || equal(&y)),
    };
    let y = [bench.keys(N)?, bench.keys(N)?];
    let pipeline = bench.pipeline(source!("sort"), "bitonic_step")?;
    let to = y.clone();
    let half = LaunchGrid::threads(N / 2).group_size(256);
    let sort = Case {
        name: "sort",
        rust: Box::new({
            let y = y[0].clone();
            move || kernels::bitonic_step::launch(queue, half, &y, 4096, 512)
        }),
        msl: Box::new(move || {
            queue
                .launch(&pipeline)
                .threads(N / 2)
                .group_size(256)
                .arg(&to[1])
                .arg(4096u32)
                .arg(512u32)
                .submit()
        }),
        is_same: Box::new(move || equal(&y)),
    };
    Ok(vec![scan, histogram, sort])
}

fn arithmetic(bench: &Bench) -> Result<Vec<Case<'_>>, Error> {
    let queue = &bench.queue;
    const ROW: u32 = 512;
    let (a, b, c) = (bench.noise(ROW * ROW)?, bench.noise(ROW * ROW)?, bench.pair::<f32>(ROW * ROW)?);
    let pipeline = bench.pipeline(source!("matmul"), "matmul")?;
    let (left, right, to) = (a.clone(), b.clone(), c.clone());
    let tiles = LaunchGrid::threads((ROW, ROW)).group_size((16, 16));
    let matmul = Case {
        name: "matmul",
        rust: Box::new({
            let c = c[0].clone();
            move || kernels::matmul::launch(queue, tiles, &a, &b, &c, ROW)
        }),
        msl: Box::new(move || {
            let launch = queue.launch(&pipeline).threads((ROW, ROW)).group_size((16, 16));
            launch.arg(&left).arg(&right).arg(&to[1]).arg(ROW).submit()
        }),
        is_same: Box::new(move || close(&c)),
    };
    const BODIES: u32 = 4096;
    let values = bench.noise(4 * BODIES)?.read()?;
    let bodies: Vec<Body> = bytemuck::cast_slice(&values).to_vec();
    let (x, y) = (bench.device.buffer(&bodies)?, bench.pair::<Body>(BODIES)?);
    let pipeline = bench.pipeline(source!("nbody"), "nbody")?;
    let (from, to) = (x.clone(), y.clone());
    let all = LaunchGrid::threads(BODIES).group_size(256);
    let nbody = Case {
        name: "nbody",
        rust: Box::new({
            let y = y[0].clone();
            move || kernels::nbody::launch(queue, all, &x, &y, BODIES)
        }),
        msl: Box::new(move || {
            queue
                .launch(&pipeline)
                .threads(BODIES)
                .group_size(256)
                .arg(&from)
                .arg(&to[1])
                .arg(BODIES)
                .submit()
        }),
        is_same: Box::new(move || {
            let (one, other) = (y[0].read()?, y[1].read()?);
            let (one, other): (&[f32], &[f32]) = (bytemuck::cast_slice(&one), bytemuck::cast_slice(&other));
            Ok(one.iter().zip(other).all(|(a, b)| (a - b).abs() <= 1e-3 * (1.0 + b.abs())))
        }),
    };
    let y = bench.pair::<u32>(N)?;
    let pipeline = bench.pipeline(source!("mandelbrot"), "mandelbrot")?;
    let to = y.clone();
    let picture = LaunchGrid::threads((SIDE, SIDE)).group_size((32, 8));
    let window = [-2.0f32, -1.0, 3.0 / 1024.0, 2.0 / 1024.0];
    let mandelbrot = Case {
        name: "mandelbrot",
        rust: Box::new({
            let y = y[0].clone();
            move || kernels::mandelbrot::launch(queue, picture, &y, SIDE, SIDE, 200)
        }),
        msl: Box::new(move || {
            let launch = queue.launch(&pipeline).threads((SIDE, SIDE)).group_size((32, 8));
            launch.arg(&to[1]).arg(Plain([SIDE, SIDE])).arg(Plain(window)).arg(200u32).submit()
        }),
        is_same: Box::new(move || equal(&y)),
    };
    Ok(vec![matmul, nbody, mandelbrot])
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e6
}

/// Both forms in turn; whether they gave the same.
fn measure(case: &Case<'_>, rounds: usize) -> Result<bool, Error> {
    let (mut rust, mut msl) = (Vec::new(), Vec::new());
    for round in 0..rounds + 2 {
        let times = [(case.rust)()?.wait()?.device_time(), (case.msl)()?.wait()?.device_time()];
        // The first ones compile.
        if round >= 2 {
            rust.push(times[0]);
            msl.push(times[1]);
        }
    }
    let is_same = (case.is_same)()?;
    let (rust, msl) = (median(rust), median(msl));
    let note = if is_same { "" } else { "  DIFFERENT" };
    println!("{:12} {rust:10.1} {msl:10.1} {:8.2}{note}", case.name, msl / rust);
    Ok(is_same)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rounds = std::env::args().nth(1).map_or(Ok(41), |text| text.parse())?;
    let device = Device::by_name("cpu")?;
    let bench = Bench { queue: device.queue()?, device };
    println!("{:12} {:>10} {:>10} {:>8}", "kernel", "Rust, us", "MSL, us", "ratio");
    let mut is_right = true;
    for case in bandwidth(&bench)?.iter().chain(&integers(&bench)?).chain(&arithmetic(&bench)?) {
        is_right &= measure(case, rounds)?;
    }
    if is_right { Ok(()) } else { Err("results differ".into()) }
}
