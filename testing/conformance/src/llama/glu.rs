//! `unary.metal`: gated units, of two tensors or of the halves of one, and the derivative of SiLU.

use super::kargs::Kargs;
use super::launch::{MAX_THREADS, dispatch, ends_with, per_element};
use super::tensor::{Order, Tensor};
use crate::candle::unary::erf;
use crate::case::Case;
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::suite::Level;

const ALPHA: f32 = 1.702;
const LIMIT: f32 = 2.5;

/// What a gate does to the first number, given both.
type Gate = fn(f64, f64) -> f64;

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Gates, and how exact they are, in units of a float's epsilon.
const GATES: &[(&str, f64, Gate)] = &[
    ("reglu", 1.0, |x, y| x.max(0.0) * y),
    ("geglu", 64.0, |x, y| {
        let inner = (2.0 / std::f64::consts::PI).sqrt() * x * (1.0 + 0.044715 * x * x);
        0.5 * x * (1.0 + inner.tanh()) * y
    }),
    ("swiglu", 16.0, |x, y| x * sigmoid(x) * y),
    ("swiglu_oai", 16.0, |x, y| {
        let (limit, alpha) = (f64::from(LIMIT), f64::from(ALPHA));
        let x = x.min(limit);
        x * sigmoid(alpha * x) * (1.0 + y.clamp(-limit, limit))
    }),
    ("swiglu_clamp", 16.0, |x, y| {
        let limit = f64::from(LIMIT);
        let x = x.min(limit);
        x * sigmoid(x) * y.clamp(-limit, limit)
    }),
    ("geglu_erf", 32.0, |x, y| 0.5 * x * (1.0 + erf(x / std::f64::consts::SQRT_2)) * y),
    ("geglu_quick", 16.0, |x, y| x * sigmoid(1.702 * x) * y),
];

fn taken_apart(kernel: &str) -> Option<(f64, Gate, Dtype)> {
    let (name, dtype) = kernel.strip_prefix("kernel_")?.rsplit_once('_')?;
    let &(_, epsilons, gate) = GATES.iter().find(|(known, ..)| *known == name)?;
    Some((epsilons, gate, Dtype::named(dtype)?))
}

/// The cases of a kernel.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    if kernel == "kernel_silu_back_f32" {
        return Some([1, 33, 2500].into_iter().map(|count| derivative(kernel, count)).collect());
    }
    taken_apart(kernel)?;
    let two = [1, 33, 257].map(|columns| gated(kernel, columns, None));
    let one =
        [(1, false), (40, true), (257, false)].map(|(columns, swap)| gated(kernel, columns, Some(swap)));
    Some(two.into_iter().chain(one).flatten().collect())
}

/// Two tensors, or one of twice the width, whose halves may be exchanged.
fn gated(kernel: &str, columns: usize, swapped: Option<bool>) -> Option<Case> {
    let (epsilons, gate, dtype) = taken_apart(kernel)?;
    let (ne, rows) = ([columns, 3, 2, 1], 6);
    let width = if swapped.is_some() { 2 * columns } else { columns };
    let tensor = |seed, order| Tensor::between(dtype, seed, [width, 3, 2, 1], order, -4.0, 4.0);
    let (left, right) = (tensor(301, Order::Padded), tensor(302, Order::Contiguous));
    let offsets = swapped.map_or([0, 0], |swap| if swap { [columns, 0] } else { [0, columns] });
    let second = if swapped.is_some() { &left } else { &right };
    let numbers = Tensor::places(ne).map(|[i0, i1, i2, i3]| {
        gate(left.at([i0 + offsets[0], i1, i2, i3]), second.at([i0 + offsets[1], i1, i2, i3]))
    });
    let expected = Data::from_numbers(dtype, numbers);
    let kargs =
        Kargs::new("glu").tensor("0", &left).tensor("1", second).tensor("", &Tensor::shape(ne, dtype.size()));
    let kargs = kargs.set("i00", offsets[0]).set("i10", offsets[1]).set("alpha", ALPHA).set("limit", LIMIT);
    let threads = (width / 2).clamp(1, MAX_THREADS);
    let launch = dispatch(kernel, [rows, 1, 1], [threads, 1, 1], &kargs).scalar(&left.bytes);
    let launch = if swapped.is_some() { launch.alias(1) } else { launch.scalar(&right.bytes) };
    let single = f64::from(f32::EPSILON) * epsilons;
    let rounded = if dtype == Dtype::F32 { 0.0 } else { 1.01 * dtype.epsilon() };
    let tolerance = Tolerance::Near { relative: single + rounded, absolute: single };
    let name = format!("{columns} columns, halves exchanged {swapped:?}");
    Some(ends_with(name, launch, expected, tolerance).through_library(epsilons > 1.0))
}

fn derivative(kernel: &str, count: usize) -> Case {
    let ne = [count, 1, 1, 1];
    let slopes = Tensor::between(Dtype::F32, 303, ne, Order::Contiguous, -2.0, 2.0);
    let inputs = Tensor::between(Dtype::F32, 304, ne, Order::Contiguous, -6.0, 6.0);
    let numbers = Tensor::places(ne).map(|place| {
        let (slope, x) = (slopes.at(place), inputs.at(place));
        slope * sigmoid(x) * (1.0 + x * (1.0 - sigmoid(x)))
    });
    let expected = Data::from_numbers(Dtype::F32, numbers);
    let launch = per_element(kernel, count, &Kargs::new("silu_back").set("ne", count));
    let launch = launch.scalar(&slopes.bytes).scalar(&inputs.bytes);
    let tolerance = Tolerance::rounding(Dtype::F32, 16.0, 16.0);
    ends_with(format!("{count} elements"), launch, expected, tolerance).through_library(true)
}
