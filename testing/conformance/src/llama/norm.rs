//! `norm.metal`: norms and RMS norms of rows, with a product and a sum after them, and lengths.

use super::kargs::Kargs;
use super::tensor::{Order, Tensor};
use crate::candle::{guarded, untouched};
use crate::case::{Case, Constant, Grid, Launch};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::suite::Level;

const EPSILON: f32 = 1e-5;

/// A kernel's name taken apart: RMS, what follows (1 nothing, 2 a product, 3 a product and a sum), in fours.
fn taken_apart(kernel: &str) -> Option<(bool, usize, bool)> {
    let name = kernel.strip_prefix("kernel_")?;
    let (name, rms) = name.strip_prefix("rms_").map_or((name, false), |name| (name, true));
    let name = name.strip_prefix("norm")?;
    let (name, four) = name.strip_suffix("_4").map_or((name, false), |name| (name, true));
    let fused = match name {
        "_f32" => 1,
        "_mul_f32" => 2,
        "_mul_add_f32" => 3,
        _ => return None,
    };
    Some((rms, fused, four))
}

/// Whether a kernel has a reference.
pub fn covers(kernel: &str) -> bool {
    taken_apart(kernel).is_some()
}

/// The cases of a kernel.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let parts = taken_apart(kernel)?;
    let columns: &[usize] = if parts.2 { &[4, 100, 1024, 4100] } else { &[1, 31, 33, 257, 1030] };
    let orders = [Order::Contiguous, Order::Padded, Order::Permuted];
    let both = columns.iter().enumerate().map(|(i, &columns)| (columns, orders[i % 3]));
    Some(both.map(|(columns, order)| case(kernel, parts, columns, order)).collect())
}

fn case(kernel: &str, (rms, fused, four): (bool, usize, bool), columns: usize, order: Order) -> Case {
    let ne = [columns, 3, 2, 2];
    let input = Tensor::between(Dtype::F32, columns as u64, ne, order, -2.0, 3.0);
    // A row for all, and one for each of the second dimension.
    let factor = Tensor::between(Dtype::F32, 51, [columns, 1, 1, 1], Order::Contiguous, -1.5, 1.5);
    let addend = Tensor::between(Dtype::F32, 52, [columns, 3, 1, 1], Order::Contiguous, -1.5, 1.5);
    let mut expected = Data::new(Dtype::F32);
    for [_, i1, i2, i3] in Tensor::places([1, ne[1], ne[2], ne[3]]) {
        let row: Vec<f64> = (0..columns).map(|i0| input.at([i0, i1, i2, i3])).collect();
        let count = columns as f64;
        let mean = if rms { 0.0 } else { row.iter().sum::<f64>() / count };
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
        let scale = 1.0 / (variance + f64::from(EPSILON)).sqrt();
        for (i0, x) in row.iter().enumerate() {
            let product = if fused > 1 { factor.at([i0, i1, i2, i3]) } else { 1.0 };
            let sum = if fused > 2 { addend.at([i0, i1, i2, i3]) } else { 0.0 };
            expected.push_number((x - mean) * scale * product + sum);
        }
    }
    let out = Tensor::shape(ne, 4);
    let work = if four { columns / 4 } else { columns };
    let mut kargs = Kargs::new("norm").set("ne00", columns).set("ne00_t", work).set("eps", EPSILON);
    kargs = kargs.tensor("", &out).set("scale", 1.0f32);
    for (i, tensor) in [&input, &factor, &addend].into_iter().enumerate() {
        for dimension in 1..4 {
            kargs = kargs.set(&format!("nef{dimension}[{i}]"), tensor.ne[dimension]);
            kargs = kargs.set(&format!("nbf{dimension}[{i}]"), tensor.nb[dimension]);
        }
    }
    let threads = work.next_power_of_two().clamp(32, 1024).min(work.next_multiple_of(32));
    let grid = Grid::Groups([ne[1] as u32, ne[2] as u32, ne[3] as u32]);
    let launch = Launch::new(kernel, grid, [threads as u32, 1, 1]).scalar(kargs.bytes()).scalar(&input.bytes);
    let launch = if fused > 1 { launch.scalar(&factor.bytes) } else { launch.alias(1) };
    let launch = if fused > 2 { launch.scalar(&addend.bytes) } else { launch.alias(1) };
    let launch = launch.data(&untouched(&expected)).threadgroup(0, 128).constant(1700, Constant::Bool(false));
    let tolerance = Tolerance::Near { relative: 1e-5, absolute: 1e-5 };
    let name = format!("{ne:?}, {order:?}");
    Case::near(name, launch, 4, guarded(expected), tolerance, tolerance).through_library(true)
}
