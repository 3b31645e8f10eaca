//! `mul_mv.metal` and `mul_mm.metal`: a matrix in any format, times a few vectors or a matrix.
//!
//! Matrices of the first operand repeat for those of the second. The last threadgroup of `mul_mv` reads rows behind
//! the last one, and stores nothing for them.

use super::kargs::Kargs;
use super::tensor::{Order, Tensor};
use crate::candle::{guarded, untouched};
use crate::case::{Case, Constant, Faults, Grid, Launch};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::quants::Format;
use crate::suite::Level;

/// Per format: rows of a SIMD-group, the same for short rows, SIMD-groups, bytes of threadgroup memory.
const VECTOR: &[(&str, usize, usize, usize, u64)] = &[
    ("q1_0", 8, 8, 2, 0),
    ("q2_0", 8, 8, 2, 0),
    ("q4_0", 4, 4, 2, 0),
    ("q4_1", 4, 4, 2, 0),
    ("q5_0", 4, 4, 2, 0),
    ("q5_1", 4, 4, 2, 0),
    ("q8_0", 2, 2, 4, 256),
    ("mxfp4", 2, 2, 2, 128),
    ("q2_K", 4, 4, 2, 0),
    ("q3_K", 2, 2, 2, 0),
    ("q4_K", 2, 2, 2, 0),
    ("q5_K", 1, 1, 2, 0),
    ("q6_K", 2, 2, 2, 0),
    ("iq2_xxs", 4, 8, 2, 256 * 8 + 128),
    ("iq2_xs", 4, 8, 2, 512 * 8 + 128),
    ("iq3_xxs", 4, 8, 2, 256 * 4 + 128),
    ("iq3_s", 4, 8, 2, 512 * 4),
    ("iq2_s", 4, 8, 2, 0),
    ("iq1_s", 4, 8, 2, 0),
    ("iq1_m", 4, 8, 2, 0),
    ("iq4_nl", 2, 2, 2, 128),
    ("iq4_xs", 2, 2, 2, 128),
    ("tq2_0", 4, 4, 2, 0),
];

/// The kinds of kernels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// `mul_mv`, with the ending of plain types.
    Vector(&'static str),
    /// `mul_mv_ext`, for so many vectors at once.
    Few(usize),
    /// `mul_mm`.
    Matrix,
}

fn taken_apart(kernel: &str) -> Option<(Kind, Format, Format)> {
    let name = kernel.strip_prefix("kernel_mul_m")?;
    if name.contains("_id_") {
        return None;
    }
    let (kind, types) = if let Some(rest) = name.strip_prefix("v_ext_") {
        let (types, vectors) = rest.rsplit_once("_r1_")?;
        (Kind::Few(vectors.parse().ok()?), types)
    } else if let Some(rest) = name.strip_prefix("v_") {
        let ending = ["_4", "_short"].into_iter().find(|ending| rest.ends_with(ending)).unwrap_or("");
        (Kind::Vector(ending), rest.strip_suffix(ending)?)
    } else {
        (Kind::Matrix, name.strip_prefix("m_")?)
    };
    let (first, second) = types.rsplit_once('_')?;
    Some((kind, Format::named(first)?, Format::named(second)?))
}

/// Whether a kernel has a reference.
pub fn covers(kernel: &str) -> bool {
    taken_apart(kernel).is_some()
}

/// The cases of a kernel.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let (kind, first, second) = taken_apart(kernel)?;
    let unit = first.elements.max(32);
    // Elements of a sum; rows of the matrix, vectors, matrices of each operand.
    let shapes: Vec<[usize; 5]> = match kind {
        Kind::Vector("_short") => vec![[5, 33, 2, 1, 1], [31, 70, 1, 2, 4]],
        Kind::Vector("") if first.plain().is_some() => {
            vec![[33, 8, 1, 1, 1], [131, 13, 3, 2, 4], [515, 5, 2, 1, 1]]
        }
        Kind::Vector(_) => {
            vec![[unit.max(64), 8, 1, 1, 1], [3 * unit.max(64), 13, 3, 1, 1], [2 * unit.max(64), 35, 2, 2, 4]]
        }
        Kind::Few(vectors) => {
            let long = unit.max(128);
            vec![[long, 16, vectors, 1, 1], [2 * long, 37, vectors, 2, 4]]
        }
        Kind::Matrix if first.plain().is_some() => {
            vec![[64, 64, 32, 1, 1], [48, 70, 37, 2, 4], [96, 5, 3, 1, 1]]
        }
        Kind::Matrix => vec![[unit, 64, 32, 1, 1], [3 * unit, 70, 37, 2, 4], [unit, 5, 3, 1, 1]],
    };
    Some(shapes.iter().map(|&shape| case(kernel, kind, first, second, shape)).collect())
}

fn case(kernel: &str, kind: Kind, first: Format, second: Format, shape: [usize; 5]) -> Case {
    let [k, n, m, matrices, batches] = shape;
    let a = Tensor::random(first, 81, [k, n, matrices, 1], Order::Contiguous);
    let b = Tensor::random(second, 82, [k, m, batches, 1], Order::Contiguous);
    let ratio = batches / matrices;
    let ne = [n, m, batches, 1];
    let (mut expected, mut magnitude) = (Data::new(Dtype::F32), 0.0f64);
    for [column, row, batch, _] in Tensor::places(ne) {
        let terms = (0..k).map(|i| a.at([i, column, batch / ratio, 0]) * b.at([i, row, batch, 0]));
        magnitude = magnitude.max(terms.clone().map(f64::abs).sum());
        expected.push_number(terms.sum());
    }
    let out = Tensor::shape(ne, 4);
    let name = match kind {
        Kind::Vector(_) => "mul_mv",
        Kind::Few(_) => "mul_mv_ext",
        Kind::Matrix => "mul_mm",
    };
    let kargs =
        Kargs::new(name).tensor("0", &a).tensor("1", &b).tensor("", &out).set("r2", ratio).set("r3", 1);
    let launch = match kind {
        Kind::Matrix => {
            let (ragged_in, ragged_out) = (k % 32 != 0, n % 64 != 0 || m % 32 != 0);
            let grid = [m.div_ceil(32), n.div_ceil(64), batches].map(|n| n as u32);
            let launch =
                bound(Launch::new(kernel, Grid::Groups(grid), [32, 4, 1]), &kargs, &a, &b, &expected);
            let launch = launch.threadgroup(0, if ragged_out { 8192 } else { 6144 });
            let launch =
                launch.constant(700, Constant::Bool(ragged_in)).constant(701, Constant::Bool(ragged_out));
            let launch = ratios(launch, 702, [batches, 1, ratio, 1]);
            launch.constant(706, Constant::Bool(false))
        }
        Kind::Few(vectors) => {
            let along = if k % 256 == 0 && m < 3 { 16 } else { 8 };
            let rows = 32 / along * 2;
            let grid = [n.div_ceil(rows), m.div_ceil(vectors), batches].map(|n| n as u32);
            let launch =
                bound(Launch::new(kernel, Grid::Groups(grid), [32, 2, 1]), &kargs, &a, &b, &expected);
            let launch =
                launch.constant(600, Constant::Integer(2)).constant(601, Constant::Integer(along as i64));
            ratios(launch, 602, [batches, ratio, 1, 0])
        }
        Kind::Vector(_) => vector(kernel, kind, first, shape, kargs, [&a, &b], &expected),
    };
    // Sums of floats; `mul_mm` rounds both operands to 16 bits.
    let rounding = match (kind, first.name, second.name) {
        (Kind::Matrix, "bf16", _) => Dtype::Bf16.epsilon(),
        (Kind::Matrix, ..) => 1.5 * Dtype::F16.epsilon(),
        // Products are of type `half` there.
        (_, "f16", "f16") => Dtype::F16.epsilon(),
        _ => 2e-6,
    };
    let tolerance = Tolerance::Near { relative: 0.0, absolute: rounding * magnitude };
    let name = format!("{n}×{m}×{k}, {matrices} and {batches} matrices");
    let case = Case::near(name, launch, 3, guarded(expected), tolerance, tolerance);
    Case { faults: if kind == Kind::Matrix { Faults::Never } else { Faults::Harmless }, ..case }
}

fn bound(launch: Launch, kargs: &Kargs, a: &Tensor, b: &Tensor, expected: &Data) -> Launch {
    launch.scalar(kargs.bytes()).scalar(&a.bytes).scalar(&b.bytes).data(&untouched(expected))
}

/// Four constants from an index on.
fn ratios(launch: Launch, first: u32, values: [usize; 4]) -> Launch {
    (first..)
        .zip(values)
        .fold(launch, |launch, (index, value)| launch.constant(index, Constant::Integer(value as i64)))
}

fn vector(
    kernel: &str,
    kind: Kind,
    format: Format,
    [k, n, m, matrices, batches]: [usize; 5],
    kargs: Kargs,
    [a, b]: [&Tensor; 2],
    expected: &Data,
) -> Launch {
    let parts = k / 32;
    let is_split =
        format.name.starts_with("iq") && !format.name.starts_with("iq4") && parts < 32 && 32 % parts == 0;
    let (rows, groups, memory) = match VECTOR.iter().find(|(name, ..)| *name == format.name) {
        Some(&(_, rows, split_rows, groups, memory)) => {
            (if is_split { split_rows } else { rows }, groups, memory)
        }
        None if kind == Kind::Vector("_short") => (32, 1, 0),
        None => (2, k.div_ceil(128).min(4), 256),
    };
    // For these all SIMD-groups work on the same rows.
    let together = format.plain().is_some() || format.name == "q8_0";
    let rows_of_group = if together { rows } else { rows * groups };
    let grid = [n.div_ceil(rows_of_group), m, batches].map(|n| n as u32);
    let launch = Launch::new(kernel, Grid::Groups(grid), [32, groups as u32, 1]);
    let launch = bound(launch, &kargs.set("nr0", rows), a, b, expected);
    // The host asks for none where a format needs none, but the argument is there.
    let launch = launch.threadgroup(0, memory.max(16));
    let launch = launch.constant(600, Constant::Integer(groups as i64));
    let ratio = (batches / matrices) as i64;
    let constants = [(602, batches as i64), (603, ratio), (604, 1)];
    let set = |launch: Launch, (index, value)| launch.constant(index, Constant::Integer(value));
    constants.into_iter().fold(launch, set).constant(605, Constant::Bool(is_split))
}
