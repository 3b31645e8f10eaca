//! `reduce.metal`: sums and means of rows. `quantize.metal`: rows by number, out of any format.

use super::kargs::Kargs;
use super::launch::{dispatch, ends_with};
use super::tensor::{Order, Tensor};
use crate::candle::input::Inputs;
use crate::candle::{guarded, untouched};
use crate::case::{Case, Constant, Grid, Launch};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::quants::Format;
use crate::suite::Level;

/// The cases of a kernel of `reduce.metal`.
pub fn sum_cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let four = kernel.strip_prefix("kernel_sum_rows_f32_f32")? == "_4";
    let columns: &[usize] = if four { &[4, 100, 1024] } else { &[1, 31, 257, 1030] };
    let orders = [Order::Contiguous, Order::Padded, Order::Permuted];
    let mut cases = Vec::new();
    for (i, &columns) in columns.iter().enumerate() {
        cases.extend([10, 11].map(|operation| sum(kernel, four, operation, columns, orders[i % 3])));
    }
    Some(cases)
}

fn sum(kernel: &str, four: bool, operation: i64, columns: usize, order: Order) -> Case {
    let ne = [columns, 3, 2, 2];
    let input = Tensor::between(Dtype::F32, columns as u64, ne, order, -4.0, 5.0);
    let mut expected = Data::new(Dtype::F32);
    for [_, i1, i2, i3] in Tensor::places([1, ne[1], ne[2], ne[3]]) {
        let sum: f64 = (0..columns).map(|i0| input.at([i0, i1, i2, i3])).sum();
        expected.push_number(if operation == 11 { sum / columns as f64 } else { sum });
    }
    let out = Tensor::shape([1, ne[1], ne[2], ne[3]], 4);
    let work = if four { columns / 4 } else { columns };
    let kargs = Kargs::new("sum_rows").tensor("0", &input).tensor("", &out).set("ne00", work);
    let threads = work.next_power_of_two().clamp(32, 1024).min(work);
    let grid = Grid::Groups([ne[1] as u32, ne[2] as u32, ne[3] as u32]);
    let launch = Launch::new(kernel, grid, [threads as u32, 1, 1]).scalar(kargs.bytes()).scalar(&input.bytes);
    let launch = launch.data(&untouched(&expected)).threadgroup(0, if four { 512 } else { 128 });
    let launch = launch.constant(1400, Constant::Integer(operation));
    let tolerance = Tolerance::Near { relative: 1e-5, absolute: 1e-6 * columns as f64 };
    let name = format!("{ne:?}, {order:?}, operation {operation}");
    Case::near(name, launch, 2, guarded(expected), tolerance, tolerance)
}

fn row_format(kernel: &str) -> Option<Format> {
    Format::named(kernel.strip_prefix("kernel_get_rows_")?)
}

/// The cases of a kernel of `quantize.metal`.
pub fn row_cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    if kernel == "kernel_get_rows_i32" {
        return Some([33, 1500].map(|columns| integer_rows(kernel, columns)).into());
    }
    let format = row_format(kernel)?;
    let unit = format.elements.max(32);
    let plain = if format.plain().is_some() { 33 } else { unit };
    Some([plain, 5 * unit].into_iter().map(|columns| rows(kernel, format, columns)).collect())
}

/// How many rows are chosen, in how many matrices and batches.
const CHOSEN: [usize; 3] = [7, 2, 2];

fn rows(kernel: &str, format: Format, columns: usize) -> Case {
    let source = Tensor::random(format, columns as u64, rows_of(columns), Order::Contiguous);
    let work = if format.plain().is_some() { columns } else { columns / 16 };
    let tolerance = Tolerance::Near { relative: 1e-6, absolute: 2e-6 };
    chosen(kernel, source, Dtype::F32, work, tolerance)
}

fn integer_rows(kernel: &str, columns: usize) -> Case {
    let ne = rows_of(columns);
    let integers = Inputs::new(columns as u64).integers(Dtype::I32, ne.iter().product());
    chosen(kernel, Tensor::of_data(&integers, ne, Order::Padded), Dtype::I32, columns, Tolerance::Exact)
}

fn rows_of(columns: usize) -> [usize; 4] {
    [columns, 9, CHOSEN[1], CHOSEN[2]]
}

/// Rows by number; a thread does a piece of one.
fn chosen(kernel: &str, source: Tensor, dtype: Dtype, pieces: usize, tolerance: Tolerance) -> Case {
    let columns = source.ne[0];
    let ids: Vec<i128> = (0..CHOSEN.iter().product::<usize>()).map(|i| (i * 5 % 9) as i128).collect();
    let chosen = Data::from_integers(Dtype::I32, ids.iter().copied());
    let ne = [columns, CHOSEN[0], CHOSEN[1], CHOSEN[2]];
    let row = |place: [usize; 4]| ids[(place[3] * CHOSEN[1] + place[2]) * CHOSEN[0] + place[1]] as usize;
    let numbers = Tensor::places(ne).map(|place| source.at([place[0], row(place), place[2], place[3]]));
    let expected = Data::from_numbers(dtype, numbers);
    let numbers_of_rows = Tensor::shape([CHOSEN[0], CHOSEN[1], CHOSEN[2], 1], 4);
    let kargs = Kargs::new("get_rows").tensor("0", &source).tensor("1", &numbers_of_rows);
    let kargs = kargs.tensor("", &Tensor::shape(ne, 4)).set("ne00t", pieces);
    let threads = pieces.min(1024);
    let groups = [pieces.div_ceil(threads) * CHOSEN[0], CHOSEN[1], CHOSEN[2]];
    let launch = dispatch(kernel, groups, [threads, 1, 1], &kargs).scalar(&source.bytes).data(&chosen);
    ends_with(format!("rows of {columns}"), launch, expected, tolerance)
}
