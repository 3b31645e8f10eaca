//! `mul_mv.metal`, `mul_mm.metal` and `mul_mv_mma.metal`: a matrix in any format, times a few vectors or a
//! matrix.
//!
//! Matrices of the first operand repeat for those of the second. The last threadgroup of `mul_mv` reads rows
//! after the last one, and stores nothing for them.

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
    /// `mul_mv_ext`, for that many vectors at once.
    Few(usize),
    /// `mul_mm`.
    Matrix,
    /// `mul_mm` on a device with Metal 4's tensors.
    Tensors,
    /// `mul_mv_mma`: tiles of rows and of vectors, eight of each.
    Tiles([usize; 2]),
}

fn taken_apart(kernel: &str) -> Option<(Kind, Format, Format)> {
    let name = kernel.strip_prefix("kernel_mul_m")?;
    if name.contains("_id_") {
        return None;
    }
    if let Some(rest) = name.strip_prefix("v_mma_") {
        let (types, tiles) = rest.split_once("_nt")?;
        let (of_rows, of_vectors) = tiles.split_once("_rt")?;
        let (first, second) = types.rsplit_once('_')?;
        let tiles = [of_rows.parse().ok()?, of_vectors.parse().ok()?];
        return Some((Kind::Tiles(tiles), Format::named(first)?, Format::named(second)?));
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

/// The cases of a kernel.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    Some(cases_of(kernel, taken_apart(kernel)?))
}

/// The cases of a kernel of `mul_mm` that was compiled for tensors.
pub fn tensor_cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let (kind, first, second) = taken_apart(kernel)?;
    (kind == Kind::Matrix).then(|| cases_of(kernel, (Kind::Tensors, first, second)))
}

fn cases_of(kernel: &str, (kind, first, second): (Kind, Format, Format)) -> Vec<Case> {
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
        Kind::Tiles([_, vectors]) => {
            let long = unit.max(64);
            vec![
                [long, 8, 2, 1, 1],
                [3 * long, 37, 8 * vectors - 3, 2, 4],
                [2 * long, 70, 8 * vectors + 1, 1, 1],
            ]
        }
        Kind::Tensors => vec![[2 * unit, 64, 128, 1, 1], [3 * unit, 70, 131, 2, 4], [unit, 5, 3, 1, 1]],
        Kind::Matrix if first.plain().is_some() => {
            vec![[64, 64, 32, 1, 1], [48, 70, 37, 2, 4], [96, 5, 3, 1, 1]]
        }
        Kind::Matrix => vec![[unit, 64, 32, 1, 1], [3 * unit, 70, 37, 2, 4], [unit, 5, 3, 1, 1]],
    };
    shapes.iter().map(|&shape| case(kernel, kind, first, second, shape)).collect()
}

fn case(kernel: &str, kind: Kind, first: Format, second: Format, shape: [usize; 5]) -> Case {
    let [k, n, m, matrices, batches] = shape;
    let order = |several, order| if several { order } else { Order::Contiguous };
    let of_vectors = if kind == Kind::Tensors { Order::Padded } else { Order::Permuted };
    let a = Tensor::random(first, 81, [k, n, matrices, 1], order(matrices > 1, Order::Padded));
    let b = Tensor::random(second, 82, [k, m, batches, 1], order(batches > 1, of_vectors));
    let ratio = batches / matrices;
    let ne = [n, m, batches, 1];
    // The sum with another matrix comes with the product of tiles.
    let added = matches!(kind, Kind::Tiles(_)) && batches > 1;
    let extra = Tensor::between(Dtype::F32, 83, ne, Order::Contiguous, -1.0, 1.0);
    let (mut expected, mut magnitude) = (Data::new(Dtype::F32), 0.0f64);
    for place in Tensor::places(ne) {
        let [column, row, batch, _] = place;
        let terms = (0..k).map(|i| a.at([i, column, batch / ratio, 0]) * b.at([i, row, batch, 0]));
        magnitude = magnitude.max(terms.clone().map(f64::abs).sum());
        expected.push_number(terms.sum::<f64>() + if added { extra.at(place) } else { 0.0 });
    }
    let out = Tensor::shape(ne, 4);
    let name = match kind {
        Kind::Vector(_) => "mul_mv",
        Kind::Few(_) | Kind::Tiles(_) => "mul_mv_ext",
        Kind::Matrix | Kind::Tensors => "mul_mm",
    };
    let kargs =
        Kargs::new(name).tensor("0", &a).tensor("1", &b).tensor("", &out).set("r2", ratio).set("r3", 1);
    let launch = match kind {
        Kind::Tensors => {
            let launch = product(kernel, shape, 128, |_| 64 * 32 * 2);
            bound(launch, &kargs, &a, &b, &expected)
        }
        Kind::Matrix => {
            let launch = product(kernel, shape, 32, |is_ragged| if is_ragged { 8192 } else { 6144 });
            bound(launch, &kargs, &a, &b, &expected).constant(706, Constant::Bool(false))
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
        Kind::Tiles(tiles) => {
            let launch = tiled(kernel, first, shape, tiles);
            let launch = bound(launch, &kargs, &a, &b, &expected);
            if added { launch.scalar(&extra.bytes) } else { launch.alias(3) }
        }
        Kind::Vector(_) => vector(kernel, kind, first, shape, kargs, [&a, &b], &expected),
    };
    // Sums of floats; `mul_mm` rounds both operands to 16 bits.
    let rounding = match (kind, first.name, second.name) {
        (Kind::Matrix | Kind::Tensors, "bf16" | "mxfp4", _) => Dtype::BF16.epsilon(),
        (Kind::Matrix | Kind::Tensors, ..) => 1.5 * Dtype::F16.epsilon(),
        // Products are of the operands' type there.
        (_, "f16", "f16") => Dtype::F16.epsilon(),
        (_, "bf16", "bf16") => Dtype::BF16.epsilon(),
        _ => 2e-6,
    };
    let tolerance = Tolerance::Near { relative: 0.0, absolute: rounding * magnitude };
    let name = format!("{n}×{m}×{k}, {matrices} and {batches} matrices");
    let case = Case::near(name, launch, 3, guarded(expected), tolerance, tolerance);
    let reads_behind = matches!(kind, Kind::Vector(_) | Kind::Few(_));
    Case { faults: if reads_behind { Faults::Harmless } else { Faults::Never }, ..case }
}

/// Four SIMD-groups make 64 rows times that many vectors of a product. `memory` is told whether rows or
/// vectors end within a tile.
fn product(
    kernel: &str,
    [k, n, m, matrices, batches]: [usize; 5],
    vectors: usize,
    memory: impl Fn(bool) -> u64,
) -> Launch {
    let (ragged_in, ragged_out) = (k % 32 != 0, n % 64 != 0 || m % vectors != 0);
    let grid = [m.div_ceil(vectors), n.div_ceil(64), batches].map(|n| n as u32);
    let launch = Launch::new(kernel, Grid::Groups(grid), [32, 4, 1]).threadgroup(0, memory(ragged_out));
    let launch = launch.constant(700, Constant::Bool(ragged_in)).constant(701, Constant::Bool(ragged_out));
    ratios(launch, 702, [batches, 1, batches / matrices, 1])
}

/// SIMD-groups share the sum, one for each step along it.
fn tiled(
    kernel: &str,
    format: Format,
    [k, n, m, matrices, batches]: [usize; 5],
    [of_rows, of_vectors]: [usize; 2],
) -> Launch {
    const MEMORY: usize = 16 << 10;
    // These take the length of a row as a constant.
    let is_block = format.name == "q4_0" || format.name == "q8_0" && of_vectors == 1;
    let is_special = is_block || format.name == "q5_K";
    let steps = k / if is_block { format.elements } else { 64 };
    let tile = of_rows * of_vectors * 256;
    let mut groups = 16;
    while groups > 1 && (groups > steps || groups * tile > MEMORY) {
        groups /= 2;
    }
    let grid = [n.div_ceil(8 * of_rows), m.div_ceil(8 * of_vectors), batches];
    let launch = Launch::new(kernel, Grid::Groups(grid.map(|n| n as u32)), [32, groups as u32, 1]);
    let launch = launch.threadgroup(0, (groups * tile) as u64);
    let launch = launch.constant(2300, Constant::Integer(groups as i64));
    let launch = ratios(launch, 2301, [batches, batches / matrices, 1, if is_special { k } else { 0 }]);
    launch.constant(2305, Constant::Bool(batches > 1))
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

/// How `mul_mv` works on rows of that many elements of a format.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    /// Rows of a SIMD-group.
    pub(super) rows: usize,
    /// SIMD-groups of a threadgroup.
    pub(super) groups: usize,
    /// Rows of a threadgroup.
    pub(super) of_group: usize,
    /// Bytes of threadgroup memory.
    pub(super) memory: u64,
    /// Function constant 605: parts of short rows are split among threads.
    pub(super) is_split: bool,
}

impl Rows {
    pub(super) fn of(format: Format, k: usize, is_short: bool) -> Self {
        let parts = k / 32;
        let is_split =
            format.name.starts_with("iq") && !format.name.starts_with("iq4") && parts < 32 && 32 % parts == 0;
        let (rows, groups, memory) = match VECTOR.iter().find(|(name, ..)| *name == format.name) {
            Some(&(_, rows, split_rows, groups, memory)) => {
                (if is_split { split_rows } else { rows }, groups, memory)
            }
            None if is_short => (32, 1, 0),
            None => (2, k.div_ceil(128).min(4), 256),
        };
        // For these all SIMD-groups work on the same rows.
        let together = format.plain().is_some() || format.name == "q8_0";
        let of_group = if together { rows } else { rows * groups };
        // The host requests no memory where a format needs none, but the argument is there.
        Self { rows, groups, of_group, memory: memory.max(16), is_split }
    }

    /// Binds threadgroup memory and sets constants, the last three those of batches.
    pub(super) fn bind(self, launch: Launch, batches: [usize; 3]) -> Launch {
        let launch = launch.threadgroup(0, self.memory).constant(600, Constant::Integer(self.groups as i64));
        let set = |launch: Launch, (index, value)| launch.constant(index, Constant::Integer(value as i64));
        (602..).zip(batches).fold(launch, set).constant(605, Constant::Bool(self.is_split))
    }
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
    let rows = Rows::of(format, k, kind == Kind::Vector("_short"));
    let grid = [n.div_ceil(rows.of_group), m, batches].map(|n| n as u32);
    let launch = Launch::new(kernel, Grid::Groups(grid), [32, rows.groups as u32, 1]);
    let launch = bound(launch, &kargs.set("nr0", rows.rows), a, b, expected);
    rows.bind(launch, [batches, batches / matrices, 1])
}
