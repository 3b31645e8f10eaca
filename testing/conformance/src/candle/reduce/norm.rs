//! Softmax, RMS norm and layer norm of rows.

use super::super::input::Inputs;
use super::super::{guarded, untouched};
use super::{launch, roundings};
use crate::case::{Arg, Binding, Case, Launch};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};

const EPSILON: f32 = 1e-5;

/// Rows and their length.
const SHAPES: &[(usize, usize)] =
    &[(1, 1), (2, 2), (3, 31), (2, 32), (1, 33), (3, 100), (2, 257), (1, 1000), (2, 2049)];

/// The cases of a kernel.
pub(super) fn cases(kernel: &str, operation: &str, dtype: Dtype) -> Option<Vec<Case>> {
    let mut cases = Vec::new();
    for &(rows, columns) in SHAPES {
        match operation {
            "softmax" => cases.push(softmax(kernel, dtype, rows, columns)),
            "rmsnorm" => {
                cases.extend(
                    [true, false].map(|alpha| norm(kernel, dtype, (rows, columns), Kind::Rms { alpha })),
                );
            }
            "layernorm" => {
                let kinds = [(true, true), (true, false), (false, true)];
                cases.extend(
                    kinds.map(|(alpha, beta)| {
                        norm(kernel, dtype, (rows, columns), Kind::Layer { alpha, beta })
                    }),
                );
            }
            _ => return None,
        }
    }
    Some(cases)
}

/// The head that these kernels share: `uint`s, although the host binds 8 bytes.
fn head(kernel: &str, rows: usize, columns: usize) -> Launch {
    launch(kernel, rows, columns).size(rows * columns).size(columns)
}

fn softmax(kernel: &str, dtype: Dtype, rows: usize, columns: usize) -> Case {
    let input = Inputs::new(columns as u64).numbers(dtype, rows * columns, -8.0, 8.0);
    let mut expected = Data::new(dtype);
    for row in 0..rows {
        let row: Vec<f64> = (0..columns).map(|i| input.number(row * columns + i)).collect();
        let highest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = row.iter().map(|x| (x - highest).exp()).sum();
        row.iter().for_each(|x| expected.push_number((x - highest).exp() / sum));
    }
    let launch = head(kernel, rows, columns).data(&input).data(&untouched(&expected));
    // The difference to the maximum and the exponential are rounded to the type; the sum is a float.
    let near = 2.0 * f64::from(f32::EPSILON) * roundings(columns);
    let in_type = match dtype {
        Dtype::F32 => 1e-5,
        // A difference of up to 16 is rounded at half a unit of its last place, which scales the exponential.
        _ => dtype.epsilon() * 12.0,
    };
    let tolerance = Tolerance::Near { relative: near + in_type, absolute: dtype.smallest_normal() };
    let name = format!("{rows} rows of {columns}");
    Case::near(name, launch, 3, guarded(expected), tolerance, tolerance).through_library(true)
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Rms { alpha: bool },
    Layer { alpha: bool, beta: bool },
}

fn norm(kernel: &str, dtype: Dtype, (rows, columns): (usize, usize), kind: Kind) -> Case {
    let mut inputs = Inputs::new(columns as u64);
    let input = inputs.numbers(dtype, rows * columns, -2.0, 3.0);
    let [alpha, beta] = [0, 1].map(|_| inputs.numbers(dtype, columns, -1.5, 1.5));
    let mut expected = Data::new(dtype);
    for row in 0..rows {
        let row: Vec<f64> = (0..columns).map(|i| input.number(row * columns + i)).collect();
        for (i, number) in normalised(&row, kind).into_iter().enumerate() {
            expected.push_number(match kind {
                Kind::Rms { alpha: true } => number * alpha.number(i),
                Kind::Layer { alpha: true, beta: true } => number * alpha.number(i) + beta.number(i),
                Kind::Layer { alpha: true, .. } => number * alpha.number(i),
                Kind::Layer { beta: true, .. } => number + beta.number(i),
                Kind::Rms { .. } | Kind::Layer { .. } => number,
            });
        }
    }
    let launch = head(kernel, rows, columns).data(&input).data(&untouched(&expected));
    let (has_alpha, beta_of) = match kind {
        Kind::Rms { alpha } => (alpha, None),
        Kind::Layer { alpha, beta: has_beta } => (alpha, Some(has_beta)),
    };
    let launch = optional(launch, has_alpha, &alpha);
    let launch = beta_of.map_or(launch.clone(), |has_beta| optional(launch, has_beta, &beta));
    let launch = launch.scalar(EPSILON.to_le_bytes());
    let near = 4.0 * f64::from(f32::EPSILON) * roundings(columns) + 6.0 * dtype.epsilon();
    let tolerance = Tolerance::Near { relative: near, absolute: 4.0 * near };
    let name = format!("{rows} rows of {columns}, {kind:?}");
    // `rsqrt` is not exact in safe mode.
    Case::near(name, launch, 3, guarded(expected), tolerance, tolerance).through_library(true)
}

/// Binds a weight, or nothing.
fn optional(mut launch: Launch, is_bound: bool, weight: &Data) -> Launch {
    if is_bound {
        return launch.data(weight);
    }
    let index = launch.args.iter().map(|arg| arg.index + 1).max().unwrap_or(0);
    launch.args.push(Arg { index, binding: Binding::Unbound });
    launch
}

fn normalised(row: &[f64], kind: Kind) -> Vec<f64> {
    let count = row.len() as f64;
    let mean = match kind {
        Kind::Rms { .. } => 0.0,
        Kind::Layer { .. } => row.iter().sum::<f64>() / count,
    };
    let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
    let scale = 1.0 / (variance + f64::from(EPSILON)).sqrt();
    row.iter().map(|x| (x - mean) * scale).collect()
}
