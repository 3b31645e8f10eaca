//! Time per element with all arrays in the first-level cache, and of the C library for comparison.

use std::time::Instant;

use anymetal_ir::MathFn;

use crate::kernel::Kernels;
use crate::sample::{Random, usual_range};

const ELEMENTS: usize = 1024;
const REPEATS: usize = 100;
const ROUNDS: usize = 20;

fn operands(function: MathFn) -> [Vec<u32>; 2] {
    let mut random = Random::new(3);
    let (low, high) = match function {
        // Results that overflow or are denormal are rare in real programs and slow on some machines.
        MathFn::Exp | MathFn::Exp2 | MathFn::Exp10 | MathFn::Sinh | MathFn::Cosh => (-10.0, 10.0),
        _ => usual_range(function),
    };
    let low = if matches!(function, MathFn::Pow | MathFn::Powr) { 0.01 } else { low };
    let first = (0..ELEMENTS).map(|_| random.between(low, high).to_bits()).collect();
    let second = match function {
        MathFn::Ldexp => (0..ELEMENTS).map(|_| random.word() % 16).collect(),
        _ => (0..ELEMENTS).map(|_| random.between(0.5, 8.0).to_bits()).collect(),
    };
    [first, second]
}

/// Best of several rounds, in nanoseconds per element.
fn best(mut once: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..REPEATS {
            once();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / (REPEATS * ELEMENTS) as f64);
    }
    best
}

/// Nanoseconds per element of a kernel.
pub fn nanoseconds(kernels: &Kernels, index: usize, function: MathFn) -> f64 {
    let [first, second] = operands(function);
    let mut output = vec![0; ELEMENTS];
    best(|| kernels.run(index, [&first, &second, &second], std::hint::black_box(&mut output)))
}

/// The same of the C library's function for one float, where there is one.
pub fn library_nanoseconds(function: MathFn) -> Option<f64> {
    let call = library_function(function)?;
    let [first, second] = operands(function);
    let mut output = vec![0.0; ELEMENTS];
    Some(best(|| {
        for (result, (&x, &y)) in output.iter_mut().zip(first.iter().zip(&second)) {
            *result = call(f32::from_bits(x), f32::from_bits(y));
        }
        std::hint::black_box(&mut output);
    }))
}

fn library_function(function: MathFn) -> Option<fn(f32, f32) -> f32> {
    Some(match function {
        MathFn::Sin => |x, _| x.sin(),
        MathFn::Cos => |x, _| x.cos(),
        MathFn::Tan => |x, _| x.tan(),
        MathFn::Asin => |x, _| x.asin(),
        MathFn::Acos => |x, _| x.acos(),
        MathFn::Atan => |x, _| x.atan(),
        MathFn::Atan2 => f32::atan2,
        MathFn::Sinh => |x, _| x.sinh(),
        MathFn::Cosh => |x, _| x.cosh(),
        MathFn::Tanh => |x, _| x.tanh(),
        MathFn::Exp => |x, _| x.exp(),
        MathFn::Exp2 => |x, _| x.exp2(),
        MathFn::Log => |x, _| x.ln(),
        MathFn::Log2 => |x, _| x.log2(),
        MathFn::Log10 => |x, _| x.log10(),
        MathFn::Pow => f32::powf,
        MathFn::Fmod => |x, y| x % y,
        _ => return None,
    })
}
