//! A graph that is built once and replayed with other arguments: heat spreading over a plate, 100 steps a
//! replay.
//!
//! Compares every replay with plain Rust, and its time with the same 100 steps submitted one by one. Exits
//! with 1 if anything is wrong.
//!
//! `cargo run --release -p anymetal --example graph_replay`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its terminal")]

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anymetal::graph::{Executable, GraphBuilder, PlanOptions, ResourceId, ValueId};
use anymetal::{Buffer, Device, Pipeline, Queue};

const SIDE: usize = 16;
const CELLS: usize = SIDE * SIDE;
const STEPS: usize = 100;
const REPLAYS: u32 = 40;

const SOURCE: &str = r"
#include <metal_stdlib>
using namespace metal;

// Integers, so that the host gets exactly the same: each cell goes a part of the way to its neighbours' mean.
kernel void spread(device const int* now, device int* next, constant int& rate, constant uint& side,
                   uint2 at [[thread_position_in_grid]]) {
    uint i = at.y * side + at.x;
    uint left = at.x > 0 ? i - 1 : i, right = at.x + 1 < side ? i + 1 : i;
    uint up = at.y > 0 ? i - side : i, down = at.y + 1 < side ? i + side : i;
    next[i] = now[i] + (now[left] + now[right] + now[up] + now[down] - 4 * now[i]) * rate / 64;
}
";

type Failure = Box<dyn Error>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("graph_replay: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let device = Device::system_default()?;
    let spread = device.library_from_source(SOURCE)?.pipeline("spread")?;
    let queue = device.queue()?;
    let mut heat = Heat::new(&spread)?;
    let plan = heat.graph.plan();
    println!("{STEPS} steps: {} encoders, {} barriers", plan.encoders(), plan.barriers());

    let plates = [device.acquire::<i32>(CELLS)?, device.acquire(CELLS)?];
    let mut expected: Vec<i32> = (0..CELLS as i32).map(|cell| (cell * 7919) % 100_000).collect();
    plates[0].write(&expected)?;
    let (mut replays, mut singles) = (Vec::new(), Vec::new());
    for replay in 0..REPLAYS {
        // Another rate each time. An even number of steps ends where it began, so the plates stay in place.
        let rate = 4 + (replay % 12) as i32;
        heat.set(&plates, rate)?;
        let start = Instant::now();
        queue.submit_graph(&heat.graph)?.wait()?;
        replays.push(start.elapsed());
        check(&plates[0], &mut expected, rate)?;

        let start = Instant::now();
        one_by_one(&queue, &spread, &plates, rate)?;
        singles.push(start.elapsed());
        check(&plates[0], &mut expected, rate)?;
    }
    let (replay, single) = (median(replays), median(singles));
    let ratio = single.as_secs_f64() / replay.as_secs_f64();
    println!("{REPLAYS} replays, every cell right");
    println!("replay {replay:.1?}, {STEPS} submissions {single:.1?}: {ratio:.1} times");
    Ok(())
}

/// The graph and what changes from run to run.
struct Heat {
    graph: Executable,
    plates: [ResourceId; 2],
    rate: ValueId,
}

impl Heat {
    fn new(spread: &Pipeline) -> Result<Self, Failure> {
        let bytes = (CELLS * size_of::<i32>()) as u64;
        let mut builder = GraphBuilder::new("heat");
        let plates = [builder.parameter("one plate", bytes)?, builder.parameter("other plate", bytes)?];
        let rate = builder.value("rate", 1i32)?;
        for step in 0..STEPS {
            let (now, next) = (plates[step % 2], plates[(step + 1) % 2]);
            let node = spread.node().arg(now).arg(next).arg(rate).arg(SIDE).threads((SIDE, SIDE));
            builder.kernel(format!("step {step}"), node.build()?)?;
        }
        builder.order_as_added();
        let graph = Executable::new(&builder.build()?, PlanOptions::default())?;
        Ok(Heat { graph, plates, rate })
    }

    fn set(&mut self, plates: &[Buffer<i32>; 2], rate: i32) -> Result<(), Failure> {
        let [one, other] = plates;
        self.graph.set_buffers([(self.plates[0], one.region()), (self.plates[1], other.region())])?;
        self.graph.set_value(self.rate, rate)?;
        Ok(())
    }
}

/// The same steps without a graph.
fn one_by_one(queue: &Queue, spread: &Pipeline, plates: &[Buffer<i32>; 2], rate: i32) -> Result<(), Failure> {
    for step in 0..STEPS {
        let (now, next) = (&plates[step % 2], &plates[(step + 1) % 2]);
        let launch = queue.launch(spread).arg(now).arg(next).arg(rate).arg(SIDE);
        launch.threads((SIDE, SIDE)).submit()?.wait()?;
    }
    Ok(())
}

/// Takes the same steps on the host and compares.
fn check(plate: &Buffer<i32>, expected: &mut Vec<i32>, rate: i32) -> Result<(), Failure> {
    for _ in 0..STEPS {
        let now = expected.clone();
        for (i, next) in expected.iter_mut().enumerate() {
            let (x, y) = (i % SIDE, i / SIDE);
            let left = now[if x > 0 { i - 1 } else { i }];
            let right = now[if x + 1 < SIDE { i + 1 } else { i }];
            let up = now[if y > 0 { i - SIDE } else { i }];
            let down = now[if y + 1 < SIDE { i + SIDE } else { i }];
            *next = now[i] + (left + right + up + down - 4 * now[i]) * rate / 64;
        }
    }
    if plate.read()? == *expected { Ok(()) } else { Err("a cell is wrong".into()) }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
