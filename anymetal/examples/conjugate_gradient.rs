//! A conjugate-gradient solver in one cooperative launch: all threadgroups meet at barriers of the grid, in
//! each iteration for two dot products and for the direction.
//!
//! Solves Poisson's equation on a square by the five-point formula, in one launch and with three launches an
//! iteration that the host drives. Both are compared with a solver in plain Rust in double precision; prints
//! what the barriers save. Exits with 1 if anything is wrong.
//!
//! `cargo run --release -p anymetal --example conjugate_gradient`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its terminal")]

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anymetal::{Buffer, Device, Library, Pipeline, Queue};

const SIDE: usize = 64;
const CELLS: usize = SIDE * SIDE;
const TOLERANCE: f32 = 1e-5;
const MOST: u32 = 1000;
/// Threads of a threadgroup, and threadgroups.
const WIDTH: usize = 256;
const GROUPS: usize = 4;
const RUNS: usize = 15;

const SOURCE: &str = r"
#include <metal_stdlib>
#include <anymetal_groups>
using namespace metal;
using namespace anymetal;

// Four times a cell minus its neighbours; outside of the square everything is zero.
static float laplace(device const float* p, uint i, uint side) {
    uint x = i % side, y = i / side;
    float left = x > 0 ? p[i - 1] : 0.0f, right = x + 1 < side ? p[i + 1] : 0.0f;
    float up = y > 0 ? p[i - side] : 0.0f, down = y + 1 < side ? p[i + side] : 0.0f;
    return 4.0f * p[i] - left - right - up - down;
}

kernel void solve(device const float* b, device float* x, device float* r, device float* p, device float* q,
                  device float* parts, device uint* steps, constant uint& side, constant float& tolerance,
                  constant uint& most, uint t [[thread_position_in_grid]], uint threads [[threads_per_grid]]) {
    threadgroup float scratch[32];
    grid_group grid = this_grid();
    uint n = side * side;
    float sum = 0.0f;
    for (uint i = t; i < n; i += threads) {
        x[i] = 0.0f;
        r[i] = p[i] = b[i];
        sum += b[i] * b[i];
    }
    float rr = grid.reduce(sum, plus(), parts, scratch);
    float limit = rr * tolerance * tolerance;
    uint step = 0;
    for (; step < most && rr > limit; step++) {
        sum = 0.0f;
        for (uint i = t; i < n; i += threads) {
            q[i] = laplace(p, i, side);
            sum += p[i] * q[i];
        }
        float alpha = rr / grid.reduce(sum, plus(), parts, scratch);
        sum = 0.0f;
        for (uint i = t; i < n; i += threads) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
            sum += r[i] * r[i];
        }
        float next = grid.reduce(sum, plus(), parts, scratch);
        for (uint i = t; i < n; i += threads) p[i] = r[i] + next / rr * p[i];
        rr = next;
        // The neighbours' directions are complete.
        grid.sync();
    }
    if (t == 0) *steps = step;
}

// The same in pieces. The sums of the threadgroups' parts are the scalars between them.
static float total(device const float* parts, uint groups) {
    float sum = parts[0];
    for (uint i = 1; i < groups; i++) sum += parts[i];
    return sum;
}
kernel void begin(device const float* b, device float* x, device float* r, device float* p, device float* rr,
                  constant uint& n, uint t [[thread_position_in_grid]], uint threads [[threads_per_grid]],
                  uint group [[threadgroup_position_in_grid]]) {
    threadgroup float scratch[32];
    float sum = 0.0f;
    for (uint i = t; i < n; i += threads) {
        x[i] = 0.0f;
        r[i] = p[i] = b[i];
        sum += b[i] * b[i];
    }
    sum = this_threadgroup().reduce(sum, plus(), scratch);
    if (this_threadgroup().rank() == 0) rr[group] = sum;
}
kernel void apply(device const float* p, device float* q, device float* pq, constant uint& side,
                  uint t [[thread_position_in_grid]], uint threads [[threads_per_grid]],
                  uint group [[threadgroup_position_in_grid]]) {
    threadgroup float scratch[32];
    float sum = 0.0f;
    for (uint i = t; i < side * side; i += threads) {
        q[i] = laplace(p, i, side);
        sum += p[i] * q[i];
    }
    sum = this_threadgroup().reduce(sum, plus(), scratch);
    if (this_threadgroup().rank() == 0) pq[group] = sum;
}
kernel void advance(device float* x, device float* r, device const float* p, device const float* q,
                    device const float* pq, device const float* rr, device float* next, constant uint& n,
                    uint t [[thread_position_in_grid]], uint threads [[threads_per_grid]],
                    uint group [[threadgroup_position_in_grid]], uint groups [[threadgroups_per_grid]]) {
    threadgroup float scratch[32];
    float alpha = total(rr, groups) / total(pq, groups), sum = 0.0f;
    for (uint i = t; i < n; i += threads) {
        x[i] += alpha * p[i];
        r[i] -= alpha * q[i];
        sum += r[i] * r[i];
    }
    sum = this_threadgroup().reduce(sum, plus(), scratch);
    if (this_threadgroup().rank() == 0) next[group] = sum;
}
kernel void turn(device float* p, device const float* r, device const float* rr, device const float* next,
                 constant uint& n, uint t [[thread_position_in_grid]], uint threads [[threads_per_grid]],
                 uint groups [[threadgroups_per_grid]]) {
    float beta = total(next, groups) / total(rr, groups);
    for (uint i = t; i < n; i += threads) p[i] = r[i] + beta * p[i];
}
";

type Failure = Box<dyn Error>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("conjugate_gradient: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let device = Device::system_default()?;
    let solver = Solver::new(&device)?;
    let (expected, _) = reference(&right_side());
    let (mut once, mut driven) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let start = Instant::now();
        let steps = solver.in_one_launch()?;
        once.push(start.elapsed());
        check(&solver.x.read()?, &expected, "one launch", steps)?;
        let start = Instant::now();
        let steps = solver.driven_by_host()?;
        driven.push(start.elapsed());
        check(&solver.x.read()?, &expected, "driven by the host", steps)?;
    }
    let (once, driven) = (median(once), median(driven));
    let ratio = driven.as_secs_f64() / once.as_secs_f64();
    println!("{CELLS} unknowns, every one right, {RUNS} times each");
    println!("one cooperative launch {once:.1?}, driven by the host {driven:.1?}: {ratio:.1} times");
    Ok(())
}

/// Kernels and buffers.
struct Solver {
    queue: Queue,
    solve: Pipeline,
    begin: Pipeline,
    apply: Pipeline,
    advance: Pipeline,
    turn: Pipeline,
    b: Buffer<f32>,
    x: Buffer<f32>,
    r: Buffer<f32>,
    p: Buffer<f32>,
    q: Buffer<f32>,
    parts: [Buffer<f32>; 3],
    steps: Buffer<u32>,
}

impl Solver {
    fn new(device: &Device) -> Result<Self, Failure> {
        let library: Library = device.library_from_source(SOURCE)?;
        let cells = || device.buffer_zeroed::<f32>(CELLS);
        let parts = || device.buffer_zeroed::<f32>(GROUPS);
        Ok(Solver {
            queue: device.queue()?,
            solve: library.pipeline("solve")?,
            begin: library.pipeline("begin")?,
            apply: library.pipeline("apply")?,
            advance: library.pipeline("advance")?,
            turn: library.pipeline("turn")?,
            b: device.buffer(&right_side())?,
            x: cells()?,
            r: cells()?,
            p: cells()?,
            q: cells()?,
            parts: [parts()?, parts()?, parts()?],
            steps: device.buffer_zeroed(1)?,
        })
    }

    /// The iterations that it took.
    fn in_one_launch(&self) -> Result<u32, Failure> {
        let launch = self.queue.launch(&self.solve).groups(GROUPS).group_size(WIDTH).cooperative();
        let launch = launch.arg(&self.b).arg(&self.x).arg(&self.r).arg(&self.p).arg(&self.q);
        let launch = launch.arg(&self.parts[0]).arg(&self.steps).arg(SIDE as u32).arg(TOLERANCE).arg(MOST);
        launch.submit()?.wait()?;
        Ok(self.steps.read()?[0])
    }

    /// The host looks at the residual after each iteration.
    fn driven_by_host(&self) -> Result<u32, Failure> {
        let [rr, pq, next] = &self.parts;
        let launch = |pipeline| self.queue.launch(pipeline).groups(GROUPS).group_size(WIDTH);
        let n = CELLS as u32;
        launch(&self.begin).arg(&self.b).arg(&self.x).arg(&self.r).arg(&self.p).arg(rr).arg(n).submit()?;
        let sum = |parts: &Buffer<f32>| parts.read().map(|parts| parts.iter().sum::<f32>());
        let mut sums = [rr, next];
        let limit = sum(rr)? * TOLERANCE * TOLERANCE;
        let mut steps = 0;
        while steps < MOST && sum(sums[0])? > limit {
            let [rr, next] = sums;
            launch(&self.apply).arg(&self.p).arg(&self.q).arg(pq).arg(SIDE as u32).submit()?;
            let advance = launch(&self.advance).arg(&self.x).arg(&self.r).arg(&self.p).arg(&self.q);
            advance.arg(pq).arg(rr).arg(next).arg(n).submit()?;
            launch(&self.turn).arg(&self.p).arg(&self.r).arg(rr).arg(next).arg(n).submit()?;
            sums = [next, rr];
            steps += 1;
        }
        self.queue.drain()?;
        Ok(steps)
    }
}

fn right_side() -> Vec<f32> {
    (0..CELLS).map(|cell| ((cell * 7919) % 1000) as f32 / 1000.0 - 0.5).collect()
}

/// The solution by the same method in double precision, to a hundredth of the tolerance, and the iterations.
fn reference(b: &[f32]) -> (Vec<f64>, u32) {
    let at = |p: &[f64], x: usize, y: usize| {
        let inside = (1..=SIDE).contains(&x) && (1..=SIDE).contains(&y);
        if inside { p[(y - 1) * SIDE + x - 1] } else { 0.0 }
    };
    let apply = |p: &[f64]| -> Vec<f64> {
        let cell = |i: usize| {
            let (x, y) = (i % SIDE + 1, i / SIDE + 1);
            4.0 * at(p, x, y) - at(p, x - 1, y) - at(p, x + 1, y) - at(p, x, y - 1) - at(p, x, y + 1)
        };
        (0..CELLS).map(cell).collect()
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut x = vec![0.0; CELLS];
    let mut r: Vec<f64> = b.iter().map(|&b| b.into()).collect();
    let mut p = r.clone();
    let mut rr = dot(&r, &r);
    let limit = rr * f64::from(TOLERANCE).powi(2) * 1e-4;
    let mut steps = 0;
    while rr > limit {
        let q = apply(&p);
        let alpha = rr / dot(&p, &q);
        for i in 0..CELLS {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        let next = dot(&r, &r);
        for i in 0..CELLS {
            p[i] = r[i] + next / rr * p[i];
        }
        rr = next;
        steps += 1;
    }
    (x, steps)
}

/// A residual below the tolerance leaves an error of that share of the solution, times some ten here.
fn check(x: &[f32], expected: &[f64], how: &str, steps: u32) -> Result<(), Failure> {
    let largest = expected.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    let error = x.iter().zip(expected).fold(0.0f64, |most, (x, y)| most.max((f64::from(*x) - y).abs()));
    if steps == 0 || steps == MOST || error > largest * 1e-3 {
        return Err(format!("{how}: off by {error:e} of {largest:e} after {steps} iterations").into());
    }
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
