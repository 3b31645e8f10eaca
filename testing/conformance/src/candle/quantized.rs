//! `quantized.metal`: products of a matrix in a block format and a vector (`mul_mv`) or a matrix (`mul_mm`),
//! and rows by number (`get_rows`).
//!
//! The file has many more entry points, of an old ggml, which candle's host code never calls; [`is_called`]
//! says which it does.

use super::{guarded, untouched};
use crate::case::{Case, Faults, Grid, Launch};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::quants::Format;
use crate::suite::Level;

/// Formats that candle uses, with the threadgroup of `mul_mv` and the rows that one works on. (candle divides
/// the rows of `q2_K` by 4, and so launches twice the threadgroups, which store after the last row.)
const FORMATS: &[(&str, [u32; 2], usize)] = &[
    ("q4_0", [8, 8], 8),
    ("q4_1", [8, 8], 8),
    ("q5_0", [8, 8], 8),
    ("q5_1", [8, 8], 8),
    ("q8_0", [8, 8], 8),
    ("q2_K", [2, 32], 8),
    ("q3_K", [2, 32], 4),
    ("q4_K", [4, 8], 4),
    ("q5_K", [2, 32], 4),
    ("q6_K", [2, 32], 2),
    ("f16", [32, 1], 1),
    ("bf16", [32, 1], 1),
    ("f32", [32, 1], 1),
];

/// Vectors that a threadgroup of plain types works on.
const VECTORS: usize = 4;

/// Whether candle's host code calls the kernel.
pub fn is_called(kernel: &str) -> bool {
    taken_apart(kernel).is_some()
}

fn taken_apart(kernel: &str) -> Option<(&str, Format, [u32; 2], usize)> {
    let (operation, name) = [("mul_mv", "_f32"), ("mul_mm", "_f32"), ("get_rows", "")].into_iter().find_map(
        |(operation, ending)| {
            let name = kernel.strip_prefix("kernel_")?.strip_prefix(operation)?.strip_prefix('_')?;
            Some((operation, name.strip_suffix(ending)?))
        },
    )?;
    let &(_, group, rows) = FORMATS.iter().find(|(known, ..)| *known == name)?;
    Some((operation, Format::named(name)?, group, rows))
}

/// The cases of a kernel.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let (operation, format, group, rows) = taken_apart(kernel)?;
    let unit = format.elements.max(32);
    // Rows and columns of the matrix, columns of the other one, matrices of it for each.
    let shapes = [[8, unit, 1, 1], [13, 3 * unit, 3, 1], [70, 2 * unit, 37, 2]];
    // These kernels store the results of all rows of a threadgroup, whether they exist or not.
    let rows_at_once = if format.name.ends_with("_K") && operation == "mul_mv" { rows } else { 1 };
    let shape = |&[n, k, m, b]: &[usize; 4]| Shape { n: n.next_multiple_of(rows_at_once), k, m, b };
    let shapes = shapes.iter().map(shape);
    Some(match operation {
        "mul_mv" => shapes.map(|shape| product(kernel, format, shape, Some((group, rows)))).collect(),
        "mul_mm" => shapes.map(|shape| product(kernel, format, shape, None)).collect(),
        _ => shapes.map(|shape| rows_by_number(kernel, format, shape)).collect(),
    })
}

#[derive(Clone, Copy, Debug)]
struct Shape {
    n: usize,
    k: usize,
    m: usize,
    b: usize,
}

fn product(kernel: &str, format: Format, shape: Shape, vector: Option<([u32; 2], usize)>) -> Case {
    let Shape { n, k, m, b } = shape;
    let (weights, numbers) = format.random(41, n * k);
    let (inputs, factors) =
        Format::named("f32").map_or_else(Default::default, |f32| f32.random(42, b * m * k));
    let mut expected = Data::new(Dtype::F32);
    let mut magnitude = 0.0f64;
    for row in 0..b * m {
        for column in 0..n {
            let terms = (0..k).map(|i| numbers[column * k + i] * factors[row * k + i]);
            magnitude = magnitude.max(terms.clone().map(f64::abs).sum());
            expected.push_number(terms.sum());
        }
    }
    let row_bytes = format.row_bytes(k);
    let (grid, group) = match vector {
        Some((group, rows)) => {
            let columns = if format.plain().is_some() { m.div_ceil(VECTORS) } else { m };
            ([n.div_ceil(rows), columns, b], [group[0], group[1], 1])
        }
        None => ([m.div_ceil(32), n.div_ceil(64), b], [128, 1, 1]),
    };
    let launch = Launch::new(kernel, Grid::Groups(grid.map(|groups| groups as u32)), group);
    let launch = launch.scalar(&weights).scalar(&inputs).data(&untouched(&expected));
    let sizes: &[usize] = match vector {
        Some(_) => &[k, n, 1, format.bytes, row_bytes, row_bytes * n, k, m, b, 4, 4 * k, 4 * k * m, n, m],
        None => &[k, 1, row_bytes, row_bytes * n, row_bytes * n, b, 4, 4 * k, 4 * k * m, 4 * k * m * b, n, m],
    };
    let launch = sizes.iter().fold(launch, |launch, &size| launch.size(size));
    // All matrices share the one of weights.
    let launch = launch.scalar((b as u32).to_le_bytes()).scalar(1u32.to_le_bytes());
    let launch = if vector.is_none() { launch.threadgroup(0, 8192) } else { launch };
    // Sums of floats; `mul_mm` rounds the weights to 16 bits.
    let rounding = match (vector, format.name) {
        (Some(_), _) => 2e-6,
        (None, "bf16") => Dtype::BF16.epsilon() / 2.0,
        (None, _) => Dtype::F16.epsilon(),
    };
    let tolerance = Tolerance::Near { relative: 0.0, absolute: rounding * magnitude };
    let case = Case::near(format!("{shape:?}"), launch, 2, guarded(expected), tolerance, tolerance);
    // The last threadgroup reads rows after the last one, and stores nothing for them.
    Case { faults: if vector.is_some() { Faults::Harmless } else { Faults::Never }, ..case }
}

fn rows_by_number(kernel: &str, format: Format, shape: Shape) -> Case {
    let Shape { n, k, m, .. } = shape;
    let (rows, numbers) = format.random(43, n * k);
    let chosen: Vec<usize> = (0..m).map(|i| i * 7 % n).collect();
    let expected = chosen.iter().flat_map(|row| numbers[row * k..(row + 1) * k].iter().copied());
    let expected = Data::from_numbers(Dtype::F32, expected);
    let ids = Data::from_integers(Dtype::U32, chosen.iter().map(|&row| row as i128));
    let launch = Launch::new(kernel, Grid::Groups([m as u32, 1, 1]), [128, 1, 1]);
    let launch = launch.scalar(&rows).data(&ids).data(&untouched(&expected));
    let sizes = [k, format.row_bytes(k), 0, m, 4, 0, 4 * k, 0];
    let launch = sizes.iter().fold(launch, |launch, &size| launch.size(size));
    // That product is of type `half`.
    let relative = if format.name == "q8_0" { 0.51 * Dtype::F16.epsilon() } else { 1e-6 };
    let tolerance = Tolerance::Near { relative, absolute: 1e-6 };
    Case::near(format!("{m} of {n} rows of {k}"), launch, 2, guarded(expected), tolerance, tolerance)
}
