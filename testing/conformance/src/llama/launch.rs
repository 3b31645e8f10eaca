//! Launches as ggml's host code makes them: parameters first, then tensors, then the output.

use super::kargs::Kargs;
use crate::candle::{guarded, untouched};
use crate::case::{Case, Expected, Grid, Launch};
use crate::compare::Tolerance;
use crate::data::Data;

/// Threads of a threadgroup at most, as on Apple's GPUs.
pub const MAX_THREADS: usize = 1024;

/// A launch of that many threadgroups and threads, with the parameters bound.
pub fn dispatch(kernel: &str, groups: [usize; 3], threads: [usize; 3], kargs: &Kargs) -> Launch {
    let grid = Grid::Groups(groups.map(|n| n as u32));
    Launch::new(kernel, grid, threads.map(|n| n as u32)).scalar(kargs.bytes())
}

/// A threadgroup of that many threads for each row of a tensor.
pub fn per_row(kernel: &str, ne: [usize; 4], threads: usize, kargs: &Kargs) -> Launch {
    dispatch(kernel, [ne[1], ne[2], ne[3]], [threads, 1, 1], kargs)
}

/// One thread per element.
pub fn per_element(kernel: &str, count: usize, kargs: &Kargs) -> Launch {
    let threads = count.min(MAX_THREADS);
    dispatch(kernel, [count.div_ceil(threads), 1, 1], [threads, 1, 1], kargs)
}

/// SIMD-groups that are doubled until there is a thread for each element.
pub fn doubled(work: usize) -> usize {
    work.next_power_of_two().clamp(32, MAX_THREADS)
}

/// Binds an output at the next index; the case that it ends with the expected elements, and no other writes
/// after them.
pub fn ends_with(name: impl Into<String>, launch: Launch, expected: Data, tolerance: Tolerance) -> Case {
    let index = launch.args.len() as u32;
    let launch = launch.data(&untouched(&expected));
    Case::near(name, launch, index, guarded(expected), tolerance, tolerance)
}

/// An output of a launch that has several, with the guard after it.
pub fn output(index: u32, expected: Data, tolerance: Tolerance) -> Expected {
    Expected { index, data: guarded(expected), tolerance, agreement: tolerance }
}
