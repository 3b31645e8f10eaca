//! `mlx_gemm.metal` and `gemv.metal`: products of matrices, and of a matrix and a vector.

use super::input::Inputs;
use super::{guarded, untouched};
use crate::case::{Arg, Binding, Case, Constant, Grid, Launch};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::suite::Level;

/// A matrix in memory: row-major, or column-major if transposed.
struct Matrix {
    data: Data,
    rows: usize,
    columns: usize,
    transposed: bool,
    /// Elements of one matrix of a batch; 0 if all share one.
    batch_stride: usize,
}

impl Matrix {
    fn new(
        dtype: Dtype,
        [rows, columns]: [usize; 2],
        transposed: bool,
        batches: usize,
        shared: bool,
    ) -> Self {
        let one = rows * columns;
        let seed = (rows * 31 + columns) as u64;
        let data = Inputs::new(seed).numbers(dtype, one * if shared { 1 } else { batches }, -1.0, 1.0);
        Self { data, rows, columns, transposed, batch_stride: if shared { 0 } else { one } }
    }

    fn at(&self, batch: usize, row: usize, column: usize) -> f64 {
        let place = if self.transposed { column * self.rows + row } else { row * self.columns + column };
        self.data.number(batch * self.batch_stride + place)
    }

    /// Elements from one row to the next, or one column if transposed.
    fn leading(&self) -> usize {
        if self.transposed { self.rows } else { self.columns }
    }
}

/// Maximum error of a sum of that many products of numbers below 1: a float for each addition, then the type.
fn tolerance(dtype: Dtype, terms: usize) -> Tolerance {
    let single = f64::from(f32::EPSILON);
    Tolerance::Near { relative: dtype.epsilon(), absolute: single * (2.0 + terms as f64) }
}

/// Binds nothing at the next index.
fn skip(mut launch: Launch) -> Launch {
    let index = launch.args.iter().map(|arg| arg.index + 1).max().unwrap_or(0);
    launch.args.push(Arg { index, binding: Binding::Unbound });
    launch
}

fn words(values: &[usize]) -> Vec<u8> {
    values.iter().flat_map(|&value| (value as i32).to_le_bytes()).collect()
}

fn longs(values: &[usize]) -> Vec<u8> {
    values.iter().flat_map(|&value| (value as i64).to_le_bytes()).collect()
}

/// The cases of a kernel of `mlx_gemm.metal`: `gemm_TRANSPOSES_TYPE_TYPE_BM_BN_BK_WM_WN`.
pub fn gemm_cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let parts: Vec<&str> = kernel.strip_prefix("gemm_")?.split('_').collect();
    let [transposes, dtype, _, tile @ ..] = parts.as_slice() else { return None };
    let tile: Vec<usize> = tile.iter().map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let &[bm, bn, bk, ..] = tile.as_slice() else { return None };
    let dtype = Dtype::named(dtype)?;
    let shapes = [
        [bm, bn, 2 * bk, 1],
        [bm + 3, bn - 5, bk + 7, 1],
        [5, 7, 3, 1],
        [bm, bn + 2, bk, 1],
        [bm - 1, bn, 3 * bk + 1, 2],
        [2 * bm, 2 * bn, bk - 1, 3],
    ];
    let transposed = [transposes.starts_with('t'), transposes.ends_with('t')];
    Some(shapes.iter().map(|&shape| gemm(kernel, dtype, transposed, shape, &tile)).collect())
}

fn gemm(kernel: &str, dtype: Dtype, [ta, tb]: [bool; 2], shape: [usize; 4], tile: &[usize]) -> Case {
    let [m, n, k, batches] = shape;
    let [bm, bn, bk, wm, wn] = [0, 1, 2, 3, 4].map(|i| tile[i]);
    let a = Matrix::new(dtype, [m, k], ta, batches, false);
    // Three batches share the second factor.
    let b = Matrix::new(dtype, [k, n], tb, batches, batches == 3);
    let mut expected = Data::new(dtype);
    for (batch, row) in (0..batches).flat_map(|batch| (0..m).map(move |row| (batch, row))) {
        for column in 0..n {
            expected.push_number((0..k).map(|i| a.at(batch, row, i) * b.at(batch, i, column)).sum());
        }
    }
    let (tiles_m, tiles_n) = (m.div_ceil(bm), n.div_ceil(bn));
    let mut params = words(&[m, n, k, a.leading(), b.leading(), n, tiles_n, tiles_m]);
    params.extend(longs(&[a.batch_stride, b.batch_stride, m * n]));
    params.extend(words(&[0, k / bk, 1, 0]));
    let grid = Grid::Groups([tiles_n as u32, tiles_m as u32, batches as u32]);
    let launch = Launch::new(kernel, grid, [32, wn as u32, wm as u32]).data(&a.data).data(&b.data);
    let launch = skip(launch).data(&untouched(&expected)).scalar(params);
    let launch = skip(launch).scalar(words(&[batches])).scalar(longs(&[a.batch_stride, b.batch_stride]));
    let constants = [
        (10, batches > 1),
        (100, false),
        (110, false),
        (200, m % bm == 0),
        (201, n % bn == 0),
        (202, k % bk == 0),
        (300, false),
    ];
    let set = |launch: Launch, (index, value)| launch.constant(index, Constant::Bool(value));
    let launch = constants.into_iter().fold(launch, set);
    let tolerance = tolerance(dtype, k);
    Case::near(format!("{m}×{n}×{k}, {batches} batches"), launch, 3, guarded(expected), tolerance, tolerance)
}

/// A kernel of `gemv.metal`: `gemv[_t]_TYPE_bmBM_bnBN_smSM_snSN_tmTM_tnTN_ncNC_axpbyAXPBY`.
#[derive(Clone, Copy, Debug)]
struct Gemv {
    dtype: Dtype,
    transposed: bool,
    bm: usize,
    bn: usize,
    sm: usize,
    sn: usize,
    tm: usize,
    tn: usize,
    /// Batches with a shape and strides of their own.
    strided: bool,
    /// Scales, and adds a scaled bias.
    axpby: bool,
}

impl Gemv {
    fn named(kernel: &str) -> Option<Self> {
        let rest = kernel.strip_prefix("gemv_")?;
        let (rest, transposed) = rest.strip_prefix("t_").map_or((rest, false), |rest| (rest, true));
        let mut parts = rest.split('_');
        let dtype = match parts.next()? {
            "float32" => Dtype::F32,
            "float16" => Dtype::F16,
            "bfloat16" => Dtype::BF16,
            _ => return None,
        };
        let mut number = |name: &str| parts.next()?.strip_prefix(name)?.parse::<usize>().ok();
        Some(Self {
            dtype,
            transposed,
            bm: number("bm")?,
            bn: number("bn")?,
            sm: number("sm")?,
            sn: number("sn")?,
            tm: number("tm")?,
            tn: number("tn")?,
            strided: number("nc")? == 1,
            axpby: number("axpby")? == 1,
        })
    }
}

/// The cases of a kernel of `gemv.metal`.
pub fn gemv_cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let kind = Gemv::named(kernel)?;
    // Elements of the result, of the vector. A thread's elements of the result must exist.
    let shapes = [[4, 64], [33, 31], [70, 130], [257, 513]];
    Some(shapes.iter().map(|&shape| gemv(kernel, kind, shape)).collect())
}

fn gemv(kernel: &str, kind: Gemv, [m, k]: [usize; 2]) -> Case {
    const ALPHA: f32 = 1.5;
    const BETA: f32 = -0.75;
    const BIAS_STRIDE: usize = 2;
    let Gemv { dtype, .. } = kind;
    // With strides: two by three batches, whose matrices repeat along the second dimension.
    let batches = if kind.strided { 6 } else { 2 };
    let matrices = if kind.strided { 2 } else { batches };
    let matrix = Matrix::new(dtype, [m, k], kind.transposed, matrices, false);
    let mut inputs = Inputs::new((m + k) as u64);
    let vector = inputs.numbers(dtype, k * batches, -1.0, 1.0);
    let bias = inputs.numbers(dtype, m * BIAS_STRIDE * batches, -1.0, 1.0);
    let mut expected = Data::new(dtype);
    for (batch, row) in (0..batches).flat_map(|batch| (0..m).map(move |row| (batch, row))) {
        let from = if kind.strided { batch / 3 } else { batch };
        let sum: f64 = (0..k).map(|i| matrix.at(from, row, i) * vector.number(batch * k + i)).sum();
        let added = bias.number((batch * m + row) * BIAS_STRIDE);
        expected.push_number(match kind.axpby {
            true => f64::from(ALPHA) * sum + f64::from(BETA) * added,
            false => sum,
        });
    }
    let (outputs, rows_of_groups) = match kind.transposed {
        true => (kind.bn * kind.sn * kind.tn, kind.bn),
        false => (kind.bm * kind.sm * kind.tm, kind.bn),
    };
    let grid = Grid::Groups([m.div_ceil(outputs) as u32, 1, batches as u32]);
    let launch = Launch::new(kernel, grid, [32, rows_of_groups as u32, kind.bm as u32]);
    let launch = launch.data(&matrix.data).data(&vector);
    let launch = if kind.axpby { launch.data(&bias) } else { skip(launch) };
    let launch = launch.data(&untouched(&expected)).scalar(words(&[k])).scalar(words(&[m]));
    let launch = launch.scalar(words(&[matrix.leading()]));
    let launch = launch.scalar(ALPHA.to_le_bytes()).scalar(BETA.to_le_bytes());
    let one_bias = m * BIAS_STRIDE;
    let launch = match kind.strided {
        true => {
            let launch = launch.scalar(words(&[2])).scalar(words(&[2, 3])).scalar(longs(&[3 * k, k]));
            launch.scalar(longs(&[m * k, 0])).scalar(longs(&[3 * one_bias, one_bias]))
        }
        false => {
            let launch = launch.scalar(words(&[1])).scalar(words(&[batches])).scalar(longs(&[k]));
            launch.scalar(longs(&[m * k])).scalar(longs(&[one_bias]))
        }
    };
    let launch = launch.scalar(words(&[BIAS_STRIDE]));
    let tolerance = match (tolerance(dtype, k), kind.axpby) {
        // The sum, the products and their sum are rounded to the type.
        (Tolerance::Near { relative, absolute }, true) => Tolerance::Near {
            relative: 2.0 * relative,
            absolute: 2.0 * absolute + dtype.epsilon() * (2.0 + (k as f64).sqrt()),
        },
        (tolerance, _) => tolerance,
    };
    let name = format!("{m} rows of {k}, {batches} batches");
    let case = Case::near(name, launch, 3, guarded(expected), tolerance, tolerance);
    // Barriers are within branches, and threads without elements return before them.
    Case { divergent_barriers: true, ..case }
}
