//! A scan over several threadgroups in one cooperative launch: sums of blocks, a barrier of the grid, and
//! each block's own scan from where the blocks before it end.
//!
//! Compared with plain Rust and with two launches that the host drives; prints what the barrier saves. Exits
//! with 1 if anything is wrong.
//!
//! `cargo run --release -p anymetal --example grid_scan`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its terminal")]

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anymetal::{Buffer, Device, Pipeline, Queue};

/// Threads of a threadgroup, and threadgroups.
const WIDTH: usize = 256;
const GROUPS: usize = 8;
/// Elements: not a multiple of anything.
const LENGTHS: [usize; 3] = [5_003, 50_021, 1_000_003];
const RUNS: usize = 31;

const SOURCE: &str = r"
#include <metal_stdlib>
#include <anymetal_groups>
using namespace metal;
using namespace anymetal;

struct Block {
    uint first, end;
    Block(uint n, uint group, uint groups) {
        uint length = (n + groups - 1) / groups;
        first = min(group * length, n);
        end = min(first + length, n);
    }
};

static uint block_sum(device const uint* x, Block block, threadgroup uint* scratch) {
    threadgroup_group own = this_threadgroup();
    uint sum = 0;
    for (uint i = block.first + own.rank(); i < block.end; i += own.size()) sum += x[i];
    return own.reduce(sum, plus(), scratch);
}

static void scan_block(device const uint* x, device uint* y, device const uint* sums, Block block, uint group,
                       threadgroup uint* scratch) {
    threadgroup_group own = this_threadgroup();
    uint before = 0;
    for (uint i = 0; i < group; i++) before += sums[i];
    for (uint start = block.first; start < block.end; start += own.size()) {
        uint i = start + own.rank();
        uint within = own.inclusive_scan(i < block.end ? x[i] : 0u, plus(), scratch);
        if (i < block.end) y[i] = before + within;
        before += own.broadcast(within, own.size() - 1, scratch);
    }
}

kernel void scan(device const uint* x, device uint* y, device uint* sums, constant uint& n,
                 uint group [[threadgroup_position_in_grid]], uint groups [[threadgroups_per_grid]]) {
    threadgroup uint scratch[32];
    Block block(n, group, groups);
    uint sum = block_sum(x, block, scratch);
    if (this_threadgroup().rank() == 0) sums[group] = sum;
    grid_sync();
    scan_block(x, y, sums, block, group, scratch);
}

kernel void sum_blocks(device const uint* x, device uint* sums, constant uint& n,
                       uint group [[threadgroup_position_in_grid]], uint groups [[threadgroups_per_grid]]) {
    threadgroup uint scratch[32];
    uint sum = block_sum(x, Block(n, group, groups), scratch);
    if (this_threadgroup().rank() == 0) sums[group] = sum;
}

kernel void scan_blocks(device const uint* x, device uint* y, device const uint* sums, constant uint& n,
                        uint group [[threadgroup_position_in_grid]], uint groups [[threadgroups_per_grid]]) {
    threadgroup uint scratch[32];
    scan_block(x, y, sums, Block(n, group, groups), group, scratch);
}
";

type Failure = Box<dyn Error>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("grid_scan: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let device = Device::system_default()?;
    let library = device.library_from_source(SOURCE)?;
    let queue = device.queue()?;
    let [scan, sum_blocks, scan_blocks] =
        ["scan", "sum_blocks", "scan_blocks"].map(|name| library.pipeline(name));
    let (scan, pieces) = (scan?, [sum_blocks?, scan_blocks?]);
    for length in LENGTHS {
        let values: Vec<u32> = (0..length as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 20).collect();
        let expected: Vec<u32> = values
            .iter()
            .scan(0u32, |sum, value| {
                *sum = sum.wrapping_add(*value);
                Some(*sum)
            })
            .collect();
        let x = device.buffer(&values)?;
        let (y, sums) = (device.buffer_zeroed::<u32>(length)?, device.buffer_zeroed::<u32>(GROUPS)?);
        let (mut once, mut driven) = (Vec::new(), Vec::new());
        for _ in 0..RUNS {
            let start = Instant::now();
            let launch = queue.launch(&scan).arg(&x).arg(&y).arg(&sums).arg(length as u32);
            launch.groups(GROUPS).group_size(WIDTH).cooperative().submit()?.wait()?;
            once.push(start.elapsed());
            check(&y, &expected, "one launch")?;
            let start = Instant::now();
            two_launches(&queue, &pieces, (&x, &y, &sums), length)?;
            driven.push(start.elapsed());
            check(&y, &expected, "two launches")?;
        }
        let (once, driven) = (median(once), median(driven));
        let ratio = driven.as_secs_f64() / once.as_secs_f64();
        println!("{length} elements: one launch {once:.1?}, two {driven:.1?}: {ratio:.2} times");
    }
    Ok(())
}

fn two_launches(
    queue: &Queue,
    [sum_blocks, scan_blocks]: &[Pipeline; 2],
    (x, y, sums): (&Buffer<u32>, &Buffer<u32>, &Buffer<u32>),
    length: usize,
) -> Result<(), Failure> {
    let launch = |pipeline| queue.launch(pipeline).groups(GROUPS).group_size(WIDTH);
    launch(sum_blocks).arg(x).arg(sums).arg(length as u32).submit()?.wait()?;
    launch(scan_blocks).arg(x).arg(y).arg(sums).arg(length as u32).submit()?.wait()?;
    Ok(())
}

/// Compares, and clears for the next.
fn check(y: &Buffer<u32>, expected: &[u32], how: &str) -> Result<(), Failure> {
    let got = y.read()?;
    let wrong = got.iter().zip(expected).position(|(got, expected)| got != expected);
    if let Some(at) = wrong {
        return Err(format!("{how}: element {at} is {} instead of {}", got[at], expected[at]).into());
    }
    y.write(&vec![0; expected.len()])?;
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
