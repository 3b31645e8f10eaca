//! `reduce.metal`: reductions, arg-reductions, softmax, norms, rotary embeddings.
//!
//! Threadgroups have the size that candle's host code gives them: half a row, rounded up to a power of two,
//! at most 1024. Orders of summation are free, so sums are compared with a bound on what rounding can do.

mod norm;
mod rope;

use super::input::Inputs;
use super::layout::{Layout, contiguous, layouts};
use super::{guarded, untouched};
use crate::case::{Case, Grid, Launch};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::suite::Level;

/// The cases of a kernel.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    if let Some(name) = kernel.strip_prefix("fast_") {
        return reductions(kernel, name);
    }
    let (operation, dtype) = kernel.rsplit_once('_')?;
    let dtype = Dtype::named(dtype)?;
    match operation {
        "softmax" | "rmsnorm" | "layernorm" => norm::cases(kernel, operation, dtype),
        _ => rope::cases(kernel, operation, dtype),
    }
}

/// A threadgroup for each output, as wide as candle makes it.
fn launch(kernel: &str, outputs: usize, reduced: usize) -> Launch {
    let width = (reduced / 2).next_power_of_two().min(1024) as u32;
    Launch::new(kernel, Grid::Groups([outputs as u32, 1, 1]), [width, 1, 1])
}

/// Number of consecutive roundings of a sum of that many terms: those of a thread, then those of the tree.
fn roundings(reduced: usize) -> f64 {
    let width = (reduced / 2).next_power_of_two().min(1024);
    (reduced.div_ceil(width) + width.ilog2() as usize + 1) as f64
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operation {
    Sum,
    Mul,
    Min,
    Max,
    ArgMin,
    ArgMax,
}

impl Operation {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "sum" => Self::Sum,
            "mul" => Self::Mul,
            "min" => Self::Min,
            "max" => Self::Max,
            "argmin" => Self::ArgMin,
            "argmax" => Self::ArgMax,
            _ => return None,
        })
    }

    fn is_arg(self) -> bool {
        matches!(self, Self::ArgMin | Self::ArgMax)
    }
}

/// Kept dimensions and the reduced one, which comes last.
const SHAPES: &[&[usize]] = &[
    &[1, 1],
    &[3, 2],
    &[2, 2, 31],
    &[4, 32],
    &[3, 33],
    &[2, 64],
    &[5, 65],
    &[2, 3, 100],
    &[2, 257],
    &[1, 1000],
    &[2, 2049],
];

fn reductions(kernel: &str, name: &str) -> Option<Vec<Case>> {
    let (name, strided) = name.strip_suffix("_strided").map_or((name, false), |name| (name, true));
    let (operation, dtype) = name.split_once('_')?;
    let (operation, dtype) = (Operation::named(operation)?, Dtype::named(dtype)?);
    let mut cases = Vec::new();
    // A long product of 16-bit floats is mostly rounding.
    let longest =
        if operation == Operation::Mul && dtype.is_float() && dtype.size() == 2 { 300 } else { 1 << 12 };
    for shape in SHAPES.iter().filter(|shape| shape.last().is_some_and(|&reduced| reduced <= longest)) {
        let views = if strided { layouts(shape) } else { vec![contiguous(shape)] };
        cases.extend(views.iter().map(|view| reduction(kernel, operation, dtype, strided, view)));
    }
    Some(cases)
}

fn reduction(kernel: &str, operation: Operation, dtype: Dtype, strided: bool, view: &Layout) -> Case {
    let reduced = view.shape.last().copied().unwrap_or(1);
    let outputs = view.count() / reduced;
    let input = input(operation, dtype, view.storage);
    let row = |output: usize| (0..reduced).map(move |i| view.absolute(output * reduced + i));
    let mut expected = Data::new(if operation.is_arg() { Dtype::U32 } else { dtype });
    let mut largest = 0.0f64;
    for output in 0..outputs {
        let row = input.pick(row(output));
        largest = largest.max((0..reduced).map(|i| row.number(i).abs()).sum());
        push_outcome(&mut expected, operation, &row);
    }
    let words =
        |sizes: &[usize]| sizes.iter().flat_map(|&size| (size as u32).to_le_bytes()).collect::<Vec<_>>();
    let launch = launch(kernel, outputs, reduced).scalar((view.count() as u32).to_le_bytes());
    let launch = launch.scalar((view.shape.len() as u32).to_le_bytes()).scalar(words(&view.shape));
    let launch = if strided { launch.scalar(words(&view.strides)) } else { launch };
    let launch = launch.scalar((reduced as u32).to_le_bytes()).data_from(&input, view.offset);
    let launch = launch.data(&untouched(&expected));
    let index = launch.args.len() as u32 - 1;
    let rounding = 0.5 * roundings(reduced) * dtype.epsilon();
    // Each multiplication adds its rounding, in one direction or the other.
    let product = (1.0 + 1.5 * (reduced as f64).sqrt()) * dtype.epsilon();
    let tolerance = match operation {
        Operation::Sum if dtype.is_float() => Tolerance::Near { relative: 0.0, absolute: rounding * largest },
        Operation::Mul if dtype.is_float() => Tolerance::Near { relative: product, absolute: 0.0 },
        _ => Tolerance::Exact,
    };
    let name = format!("{:?}, {}", view.shape, view.name);
    Case::near(name, launch, index, guarded(expected), tolerance, tolerance)
}

/// Numbers whose product stays in range; equal ones among those that are compared.
fn input(operation: Operation, dtype: Dtype, count: usize) -> Data {
    let mut inputs = Inputs::new(count as u64);
    match (operation, dtype.is_float()) {
        (Operation::Mul, true) => inputs.numbers(dtype, count, 0.97, 1.03),
        (Operation::Mul, false) => {
            let odd = inputs.integers(dtype, count);
            Data::from_integers(dtype, (0..count).map(|i| odd.integer(i) | 1))
        }
        (Operation::Sum, true) => inputs.numbers(dtype, count, -4.0, 5.0),
        (_, true) => inputs.numbers(dtype, count, -60.0, 60.0),
        (_, false) => inputs.integers(dtype, count),
    }
}

fn push_outcome(expected: &mut Data, operation: Operation, row: &Data) {
    let places = 0..row.len();
    let by_value = |&a: &usize, &b: &usize| match row.dtype.is_float() {
        true => row.number(a).total_cmp(&row.number(b)),
        false => row.integer(a).cmp(&row.integer(b)),
    };
    let smallest = places.clone().min_by(by_value).unwrap_or(0);
    // Of equal elements the kernels take the first one; so do `min_by` and, turned around, `max_by`.
    let biggest = places.clone().rev().max_by(by_value).unwrap_or(0);
    match operation {
        Operation::ArgMin => expected.push_integer(smallest as i128),
        Operation::ArgMax => expected.push_integer(biggest as i128),
        Operation::Min => expected.bytes.extend(row.pick([smallest]).bytes),
        Operation::Max => expected.bytes.extend(row.pick([biggest]).bytes),
        Operation::Sum if row.dtype.is_float() => expected.push_number(places.map(|i| row.number(i)).sum()),
        Operation::Mul if row.dtype.is_float() => {
            expected.push_number(places.map(|i| row.number(i)).product());
        }
        Operation::Sum => expected.push_integer(places.map(|i| row.integer(i)).sum()),
        Operation::Mul => {
            let wrapped = |product: i128, i| row.dtype.wrap(product * row.integer(i));
            expected.push_integer(places.fold(1, wrapped));
        }
    }
}
