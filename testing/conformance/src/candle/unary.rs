//! `unary.metal`: functions of one argument, copies, constants.

use super::input::Inputs;
use super::layout::{Layout, contiguous, layouts, shape_of};
use super::{UNTOUCHED, guarded, launch, tiles, untouched};
use crate::case::{Case, Grid, Launch};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::suite::Level;

/// The cases of a kernel.
pub fn cases(kernel: &str, level: Level) -> Option<Vec<Case>> {
    let (name, strided) = kernel.strip_suffix("_strided").map_or((kernel, false), |name| (name, true));
    let (operation, dtype) = name.rsplit_once('_')?;
    let dtype = Dtype::named(dtype)?;
    if operation == "copy2d" {
        return Some(copies(kernel, dtype));
    }
    let mut cases = Vec::new();
    for &count in level.sizes() {
        let shape = shape_of(count);
        let views = if strided { layouts(&shape) } else { vec![contiguous(&shape)] };
        for layout in &views {
            match operation {
                "const_set" if layout.overlaps() => {}
                "const_set" => cases.push(constant(kernel, dtype, strided, layout)),
                _ => cases.push(function(kernel, Operation::named(operation)?, dtype, strided, layout)),
            }
        }
    }
    Some(cases)
}

/// A function of one argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operation {
    Abs,
    Ceil,
    Copy,
    Cos,
    Erf,
    Exp,
    Floor,
    Gelu,
    GeluErf,
    Log,
    Neg,
    Recip,
    Relu,
    Round,
    Sigmoid,
    Sign,
    Silu,
    Sin,
    Sqr,
    Sqrt,
    Tanh,
}

impl Operation {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "abs" => Self::Abs,
            "ceil" => Self::Ceil,
            "copy" => Self::Copy,
            "cos" => Self::Cos,
            "erf" => Self::Erf,
            "exp" => Self::Exp,
            "floor" => Self::Floor,
            "gelu" => Self::Gelu,
            "gelu_erf" => Self::GeluErf,
            "log" => Self::Log,
            "neg" => Self::Neg,
            "recip" => Self::Recip,
            "relu" => Self::Relu,
            "round" => Self::Round,
            "sigmoid" => Self::Sigmoid,
            "sign" => Self::Sign,
            "silu" => Self::Silu,
            "sin" => Self::Sin,
            "sqr" => Self::Sqr,
            "sqrt" => Self::Sqrt,
            "tanh" => Self::Tanh,
            _ => return None,
        })
    }

    /// Whether it calls library functions that are not exact in safe math mode.
    fn calls_library(self) -> bool {
        match self {
            Self::Abs | Self::Ceil | Self::Copy | Self::Floor | Self::Neg | Self::Recip => false,
            Self::Relu | Self::Round | Self::Sign | Self::Sqr | Self::Sqrt => false,
            Self::Cos | Self::Erf | Self::Exp | Self::Gelu | Self::GeluErf | Self::Log => true,
            Self::Sigmoid | Self::Silu | Self::Sin | Self::Tanh => true,
        }
    }

    /// The bounds of its arguments here.
    fn domain(self) -> (f64, f64) {
        match self {
            Self::Log | Self::Sqrt | Self::Recip => (0.01, 50.0),
            Self::Sqr => (-100.0, 100.0),
            _ => (-6.0, 6.0),
        }
    }

    /// How close a result must come: libraries may be off by what docs/math-accuracy.md says, sums and
    /// products of several terms by a few roundings.
    fn tolerance(self, dtype: Dtype) -> Tolerance {
        let library = |ulps| Tolerance::Ulps(if dtype == Dtype::F32 { ulps } else { 1.5 });
        match self {
            Self::Abs | Self::Ceil | Self::Copy | Self::Floor | Self::Neg => Tolerance::Exact,
            Self::Relu | Self::Round | Self::Sign | Self::Sqr => Tolerance::Exact,
            Self::Recip => library(2.5),
            Self::Sqrt => library(1.0),
            Self::Sin | Self::Cos => library(4.5),
            Self::Exp | Self::Log => library(4.0),
            Self::Tanh => library(7.5),
            Self::Silu | Self::Sigmoid => Tolerance::rounding(dtype, 8.0, 0.0),
            Self::Gelu => Tolerance::rounding(dtype, 8.0, 8.0),
            Self::Erf | Self::GeluErf => {
                let single = Dtype::F32.epsilon();
                Tolerance::Near { relative: 1.01 * dtype.epsilon() + 8.0 * single, absolute: 32.0 * single }
            }
        }
    }
}

/// The arguments that every launch has first.
fn head(kernel: &str, dtype: Dtype, strided: bool, layout: &Layout) -> Launch {
    let count = layout.count();
    if !strided {
        return launch(kernel, tiles(count, dtype.size())).size(count);
    }
    let launch = launch(kernel, count).size(count).size(layout.shape.len());
    launch.sizes(&layout.shape).sizes(&layout.strides)
}

fn function(kernel: &str, operation: Operation, dtype: Dtype, strided: bool, layout: &Layout) -> Case {
    let count = layout.count();
    let input = input(operation, dtype, layout.storage);
    let places = (0..count).map(|i| layout.absolute(i));
    let expected = match operation {
        Operation::Copy => input.pick(places),
        _ => Data::from_numbers(dtype, places.map(|at| reference(operation, dtype, input.number(at)))),
    };
    let launch = head(kernel, dtype, strided, layout);
    let launch = launch.data_from(&input, layout.offset).data(&untouched(&expected));
    let index = launch.args.len() as u32 - 1;
    let tolerance = operation.tolerance(dtype);
    let name = format!("{count} elements, {}", layout.name);
    Case::near(name, launch, index, guarded(expected), tolerance, tolerance)
        .through_library(operation.calls_library())
}

fn input(operation: Operation, dtype: Dtype, count: usize) -> Data {
    let mut inputs = Inputs::new(count as u64);
    if !dtype.is_float() {
        return inputs.integers(dtype, count);
    }
    let (low, high) = operation.domain();
    let special = [0.5, -0.5, 2.5, -2.5, 1.0, -1.0, 0.0, 3.0, 5.0, -4.75];
    let number = |i: usize| match special.get(i % 50) {
        Some(&number) if number > low && number < high => number,
        _ => inputs.between(low, high),
    };
    Data::from_numbers(dtype, (0..count).map(number).collect::<Vec<_>>())
}

/// The function, rounding where the kernel does.
fn reference(operation: Operation, dtype: Dtype, x: f64) -> f64 {
    let round = |value: f64| dtype.round(value);
    let single = |value: f64| Dtype::F32.round(value);
    let constant = |value: f32| round(f64::from(value));
    let sigmoid_divisor = || round(1.0 + round((-x).exp()));
    match operation {
        Operation::Abs => x.abs(),
        Operation::Ceil => x.ceil(),
        Operation::Copy => x,
        Operation::Cos => x.cos(),
        Operation::Erf => erf(x),
        Operation::Exp => x.exp(),
        Operation::Floor => x.floor(),
        Operation::Gelu => {
            if x > 5.0 {
                return x;
            }
            let cube = round(round(x * x) * x);
            let alpha = round(x + round(constant(0.044_715) * cube));
            let factor = std::f32::consts::FRAC_2_SQRT_PI * std::f32::consts::FRAC_1_SQRT_2;
            let beta = round(constant(factor) * alpha);
            round(round(0.5 * x) * round(1.0 + round(beta.tanh())))
        }
        Operation::GeluErf => x * (1.0 + erf(x * f64::from(std::f32::consts::FRAC_1_SQRT_2))) / 2.0,
        Operation::Log => x.ln(),
        Operation::Neg => -x,
        Operation::Recip => single(1.0 / x),
        Operation::Relu => x.max(0.0),
        Operation::Round => x.round(),
        Operation::Sigmoid => single(1.0 / sigmoid_divisor()),
        Operation::Sign if x == 0.0 => 0.0,
        Operation::Sign => x.signum(),
        Operation::Silu => x / sigmoid_divisor(),
        Operation::Sin => x.sin(),
        Operation::Sqr => x * x,
        Operation::Sqrt => x.sqrt(),
        Operation::Tanh => x.tanh(),
    }
}

/// The approximation that the kernels use: Abramowitz and Stegun 7.1.26.
pub(crate) fn erf(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x.abs());
    let coefficients = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    let polynomial = coefficients.iter().fold(0.0, |sum, coefficient| sum * t + coefficient) * t;
    let magnitude = 1.0 - polynomial * (-x * x).exp();
    if x < 0.0 { -magnitude } else { magnitude }
}

fn constant(kernel: &str, dtype: Dtype, strided: bool, layout: &Layout) -> Case {
    let value = Data::from_numbers(dtype, [12.5]);
    let mut expected = untouched(&Data::zeros(dtype, layout.storage - layout.offset));
    let size = dtype.size();
    let before = expected.clone();
    for number in 0..layout.count() {
        let at = layout.relative(number) * size;
        expected.bytes[at..at + size].copy_from_slice(&value.bytes);
    }
    let mut whole = Data { dtype, bytes: vec![UNTOUCHED; layout.offset * size] };
    whole.bytes.extend(&before.bytes);
    let launch = head(kernel, dtype, strided, layout);
    let launch = launch.scalar(&value.bytes).data_from(&whole, layout.offset);
    let index = launch.args.len() as u32 - 1;
    Case::exact(format!("{} elements, {}", layout.count(), layout.name), launch, index, expected)
}

/// Rows copied from one pitch to another.
fn copies(kernel: &str, dtype: Dtype) -> Vec<Case> {
    let case = |&[rows, columns, from_pitch, to_pitch]: &[usize; 4]| {
        let input = Inputs::new(rows as u64).numbers(dtype, rows * from_pitch, -100.0, 100.0);
        let mut expected = untouched(&Data::zeros(dtype, rows * to_pitch));
        let before = expected.clone();
        let size = dtype.size();
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            let (from, to) = ((row * from_pitch + column) * size, (row * to_pitch + column) * size);
            expected.bytes[to..to + size].copy_from_slice(&input.bytes[from..from + size]);
        }
        let [height, width] = [rows, columns].map(|n| n as u32);
        let grid = Grid::Threads([height, width, 1]);
        let group = [previous_power(height.min(32)), previous_power(width.min(32)), 1];
        let launch = Launch::new(kernel, grid, group);
        let launch = launch.size(rows).size(columns).size(from_pitch).size(to_pitch);
        let launch = launch.data(&input).data(&before);
        Case::exact(format!("{rows} rows of {columns}"), launch, 5, expected)
    };
    [[1, 1, 1, 1], [31, 33, 40, 33], [7, 100, 100, 128], [33, 5, 9, 7]].iter().map(case).collect()
}

fn previous_power(n: u32) -> u32 {
    1 << n.max(1).ilog2()
}
