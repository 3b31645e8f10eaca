//! `norm.metal`: norms and RMS norms of rows, with a product and a sum after them, rows of length 1, and
//! norms of groups of channels.

use super::kargs::Kargs;
use super::launch::{dispatch, doubled, ends_with, per_row};
use super::tensor::{Order, Tensor};
use crate::candle::{guarded, untouched};
use crate::case::{Case, Constant, Grid, Launch};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::suite::Level;

const EPSILON: f32 = 1e-5;
const NEAR: Tolerance = Tolerance::Near { relative: 1e-5, absolute: 1e-5 };

/// The parts of a kernel's name: RMS, what follows (1 nothing, 2 a product, 3 a product and a sum), in fours.
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

/// The cases of a kernel.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    match kernel {
        "kernel_l2_norm_f32_f32" => return Some([1, 31, 257, 1030].map(|n| length(kernel, n, false)).into()),
        "kernel_l2_norm_f32_f32_4" => return Some([4, 100, 4100].map(|n| length(kernel, n, true)).into()),
        "kernel_group_norm_f32" => {
            return Some([[8, 4, 1], [7, 6, 3], [9, 5, 2]].map(|size| groups(kernel, size)).into());
        }
        _ => {}
    }
    let parts = taken_apart(kernel)?;
    let columns: &[usize] = if parts.2 { &[4, 100, 1024, 4100] } else { &[1, 31, 33, 257, 1030] };
    let orders = [Order::Contiguous, Order::Padded, Order::Permuted];
    let both = columns.iter().enumerate().map(|(i, &columns)| (columns, orders[i % 3]));
    let mut cases: Vec<Case> =
        both.map(|(columns, order)| case(kernel, parts, columns, order, false)).collect();
    if parts.1 == 2 {
        // A product with a number instead of a tensor.
        cases.push(case(kernel, parts, 132, Order::Padded, true));
    }
    Some(cases)
}

fn case(
    kernel: &str,
    (rms, fused, four): (bool, usize, bool),
    columns: usize,
    order: Order,
    by_number: bool,
) -> Case {
    const SCALE: f32 = 1.75;
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
            let product = match fused {
                _ if by_number => f64::from(SCALE),
                1 => 1.0,
                _ => factor.at([i0, i1, i2, i3]),
            };
            let sum = if fused > 2 { addend.at([i0, i1, i2, i3]) } else { 0.0 };
            expected.push_number((x - mean) * scale * product + sum);
        }
    }
    let out = Tensor::shape(ne, 4);
    let work = if four { columns / 4 } else { columns };
    let mut kargs = Kargs::new("norm").set("ne00", columns).set("ne00_t", work).set("eps", EPSILON);
    kargs = kargs.tensor("", &out).set("scale", SCALE);
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
    let launch =
        launch.data(&untouched(&expected)).threadgroup(0, 128).constant(1700, Constant::Bool(by_number));
    let name = format!("{ne:?}, {order:?}, by a number {by_number}");
    Case::near(name, launch, 4, guarded(expected), NEAR, NEAR).through_library(true)
}

fn length(kernel: &str, columns: usize, four: bool) -> Case {
    let ne = [columns, 3, 2, 2];
    let order = if columns.is_multiple_of(2) { Order::Padded } else { Order::Permuted };
    let input = Tensor::between(Dtype::F32, columns as u64, ne, order, -2.0, 3.0);
    let number = |[i0, i1, i2, i3]: [usize; 4]| {
        let squares: f64 = (0..columns).map(|i0| input.at([i0, i1, i2, i3]).powi(2)).sum();
        input.at([i0, i1, i2, i3]) / squares.sqrt().max(f64::from(EPSILON))
    };
    let expected = Data::from_numbers(Dtype::F32, Tensor::places(ne).map(number));
    let work = if four { columns / 4 } else { columns };
    let kargs = Kargs::new("l2_norm").tensor("0", &input).tensor("", &Tensor::shape(ne, 4));
    let kargs = kargs.set("ne00", work).set("eps", EPSILON);
    let launch = per_row(kernel, ne, doubled(columns), &kargs).scalar(&input.bytes);
    let case = ends_with(format!("{ne:?}, {order:?}"), launch, expected, NEAR);
    Case { launch: case.launch.clone().threadgroup(0, 128), ..case }
}

/// Channels of that many elements, in that many groups; the last one may have fewer.
fn groups(kernel: &str, [elements, channels, groups]: [usize; 3]) -> Case {
    let ne = [elements, 5, channels, 1];
    let input = Tensor::between(Dtype::F32, elements as u64, ne, Order::Contiguous, -2.0, 3.0);
    let together = channels.div_ceil(groups);
    // As the kernel does, also for a group that has fewer.
    let count = (elements * ne[1] * together) as f64;
    let mut expected = Data::new(Dtype::F32);
    for group in 0..groups {
        let of_group = (group * together..channels.min((group + 1) * together)).collect::<Vec<_>>();
        let places = || {
            of_group
                .iter()
                .flat_map(|&i2| Tensor::places([ne[0], ne[1], 1, 1]).map(move |[i0, i1, ..]| [i0, i1, i2, 0]))
        };
        let mean = places().map(|place| input.at(place)).sum::<f64>() / count;
        let variance = places().map(|place| (input.at(place) - mean).powi(2)).sum::<f64>() / count;
        let scale = 1.0 / (variance + f64::from(EPSILON)).sqrt();
        places().for_each(|place| expected.push_number((input.at(place) - mean) * scale));
    }
    let kargs = Kargs::new("group_norm").tensor("0", &input).set("ngrp", groups).set("eps", EPSILON);
    let launch = dispatch(kernel, [groups, 1, 1], [32, 1, 1], &kargs).scalar(&input.bytes);
    let case = ends_with(format!("{channels} channels in {groups} groups"), launch, expected, NEAR);
    Case { launch: case.launch.clone().threadgroup(0, 128), ..case }.through_library(true)
}
