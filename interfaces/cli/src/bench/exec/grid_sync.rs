//! A barrier of the grid, against a launch in its place.

use std::time::Instant;

use anymetal::{Device, Error};

use super::{Figure, Goal, median};

const SOURCE: &str = r"
#include <metal_stdlib>
#include <anymetal_groups>
using namespace metal;
kernel void meet(device uint* x, constant uint& rounds, uint i [[thread_position_in_grid]],
                 uint n [[threads_per_grid]]) {
    for (uint round = 0; round < rounds; round++) {
        x[i + n * ((round + 1) % 2)] = x[(i + 1) % n + n * (round % 2)] + 1;
        anymetal::grid_sync();
    }
}
kernel void once(device uint* x, constant uint& round, uint i [[thread_position_in_grid]],
                 uint n [[threads_per_grid]]) {
    x[i + n * ((round + 1) % 2)] = x[(i + 1) % n + n * (round % 2)] + 1;
}
";

/// Rounds of a launch; even, so that the last one ends where the first began.
const ROUNDS: u32 = 2000;
/// Threads of a threadgroup: one SIMD-group.
const WIDTH: u32 = 32;

/// The time of a round, for as many threadgroups as processors are common, and for many.
pub(super) fn figures(device: &Device, rounds: u32) -> Result<Vec<Figure>, Error> {
    let library = device.library_from_source(SOURCE)?;
    let (meet, once) = (library.pipeline("meet")?, library.pipeline("once")?);
    let queue = device.queue()?;
    let mut figures = Vec::new();
    for (name, groups, goal) in [
        ("barrier of a grid of 2 threadgroups", 2, Goal::AtMost(2.0)),
        ("barrier of a grid of 64 threadgroups", 64, Goal::None),
    ] {
        let x = device.buffer_zeroed::<u32>((2 * groups * WIDTH) as usize)?;
        let (mut barriers, mut launches) = (Vec::new(), Vec::new());
        for _ in 0..rounds.max(3) {
            let start = Instant::now();
            let launch = queue.launch(&meet).arg(&x).arg(ROUNDS).groups(groups).group_size(WIDTH);
            launch.cooperative().submit()?.wait()?;
            barriers.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS));
            let start = Instant::now();
            for round in 0..ROUNDS {
                queue.launch(&once).arg(&x).arg(round).groups(groups).group_size(WIDTH).submit()?;
            }
            queue.drain()?;
            launches.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(ROUNDS));
        }
        // Each round adds one to each element, whichever way it went.
        let expected = rounds.max(3) * 2 * ROUNDS;
        let found = x.read()?;
        assert!(
            found[..(groups * WIDTH) as usize].iter().all(|&value| value == expected),
            "a round was left out: {:?} instead of {expected}",
            found.first()
        );
        let plain = ("a launch in its place", median(launches));
        figures.push(Figure::new(name, "µs", median(barriers), plain, goal));
    }
    Ok(figures)
}
