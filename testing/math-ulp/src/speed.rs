//! Time per element with all arrays in the first-level cache.

use std::time::Instant;

use anymetal_ir::MathFn;

use crate::kernel::Kernels;
use crate::sample::{Random, usual_range};

const ELEMENTS: usize = 1024;
const REPEATS: usize = 200;

/// Best of several rounds, in nanoseconds per element.
pub fn nanoseconds(kernels: &Kernels, index: usize, function: MathFn) -> f64 {
    let mut random = Random::new(3);
    let (low, high) = usual_range(function);
    let positive = matches!(function, MathFn::Pow | MathFn::Powr);
    let low = if positive { 0.01 } else { low };
    let first: Vec<u32> = (0..ELEMENTS).map(|_| random.between(low, high).to_bits()).collect();
    let second: Vec<u32> = match function {
        MathFn::Ldexp => (0..ELEMENTS).map(|_| random.word() % 16).collect(),
        _ => (0..ELEMENTS).map(|_| random.between(0.5, 8.0).to_bits()).collect(),
    };
    let mut output = vec![0; ELEMENTS];
    let mut best = f64::INFINITY;
    for _ in 0..20 {
        let start = Instant::now();
        for _ in 0..REPEATS {
            kernels.run(index, [&first, &second, &second], std::hint::black_box(&mut output));
        }
        best = best.min(start.elapsed().as_nanos() as f64 / (REPEATS * ELEMENTS) as f64);
    }
    best
}
