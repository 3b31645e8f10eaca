//! `softmax.metal`: scaled rows plus a mask, whose slope may depend on the head, and a sink.

use super::kargs::Kargs;
use super::tensor::{Order, Tensor};
use crate::candle::{guarded, untouched};
use crate::case::{Case, Grid, Launch};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::suite::Level;

/// The cases of a kernel.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let name = kernel.strip_prefix("kernel_soft_max_")?;
    let (mask, four) = name.strip_suffix("_4").map_or((name, false), |name| (name, true));
    let mask = Dtype::named(mask)?;
    let columns: &[usize] = if four { &[4, 100, 1024] } else { &[1, 31, 33, 257] };
    let mut cases = Vec::new();
    for &columns in columns {
        for variant in 0..4 {
            cases.push(case(kernel, mask, columns, variant, four));
        }
    }
    Some(cases)
}

fn case(kernel: &str, mask_type: Dtype, columns: usize, variant: usize, four: bool) -> Case {
    const SCALE: f32 = 0.75;
    let [has_mask, has_sinks, has_slope] = [variant > 0, variant > 1, variant == 3];
    let ne = [columns, 5, 3, 2];
    let order = if variant.is_multiple_of(2) { Order::Contiguous } else { Order::Padded };
    let input = Tensor::between(Dtype::F32, columns as u64, ne, order, -6.0, 6.0);
    // One mask for all batches.
    let mask = Tensor::between(mask_type, 7, [columns, 5, 3, 1], Order::Contiguous, -2.0, 1.0);
    let sinks = Data::from_numbers(Dtype::F32, [0.5, 6.5, -1.0]);
    let max_bias = if has_slope { 8.0f32 } else { 0.0 };
    let log2 = 2usize;
    let (m0, m1) = ((-max_bias / log2 as f32).exp2(), (-max_bias / 2.0 / log2 as f32).exp2());
    let slope = |head: usize| match has_slope {
        false => 1.0,
        true if head < log2 => f64::from(m0).powi(head as i32 + 1),
        true => f64::from(m1).powi(2 * (head - log2) as i32 + 1),
    };
    let mut expected = Data::new(Dtype::F32);
    for [_, i1, i2, i3] in Tensor::places([1, ne[1], ne[2], ne[3]]) {
        let score = |i0| {
            let added = if has_mask { slope(i2) * mask.at([i0, i1, i2, i3]) } else { 0.0 };
            input.at([i0, i1, i2, i3]) * f64::from(SCALE) + added
        };
        let scores: Vec<f64> = (0..columns).map(score).collect();
        let sink = if has_sinks { sinks.number(i2) } else { f64::NEG_INFINITY };
        let highest = scores.iter().copied().fold(sink, f64::max);
        let sum: f64 =
            scores.iter().map(|score| (score - highest).exp()).sum::<f64>() + (sink - highest).exp();
        scores.iter().for_each(|score| expected.push_number((score - highest).exp() / sum));
    }
    let out = Tensor::shape(ne, 4);
    let kargs = Kargs::new("soft_max").tensor("0", &input).tensor("1", &mask).tensor("", &out);
    let kargs = kargs.set("scale", SCALE).set("max_bias", max_bias).set("m0", m0).set("m1", m1);
    let kargs = kargs.set("n_head_log2", log2);
    // As the host does: until there is a thread for each element, or enough of them.
    let (work, mut threads) = (if four { columns / 4 } else { columns }, 32);
    while threads < work && threads * ne[1] * ne[2] * ne[3] < 256 {
        threads *= 2;
    }
    let grid = Grid::Groups([ne[1] as u32, ne[2] as u32, ne[3] as u32]);
    let launch = Launch::new(kernel, grid, [threads as u32, 1, 1]).scalar(kargs.bytes()).scalar(&input.bytes);
    let launch = if has_mask { launch.scalar(&mask.bytes) } else { launch.alias(1) };
    let launch = if has_sinks { launch.data(&sinks) } else { launch.alias(1) };
    let launch = launch.data(&untouched(&expected)).threadgroup(0, 128);
    let tolerance = Tolerance::Near { relative: 1e-5, absolute: 1e-9 };
    let name = format!("{columns} columns, mask {has_mask}, sinks {has_sinks}, slope {has_slope}");
    Case::near(name, launch, 4, guarded(expected), tolerance, tolerance).through_library(true)
}
