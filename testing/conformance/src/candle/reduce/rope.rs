//! Rotary embeddings: interleaved pairs (`rope_i`), pairs of halves (`rope`), and those of transposed heads
//! (`rope_thd`), with one table of angles or one for each batch.

use super::super::input::Inputs;
use super::super::{guarded, launch, untouched};
use crate::case::Case;
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};

/// Batches, heads, positions, elements of a head.
const SHAPES: &[[usize; 4]] = &[[1, 1, 1, 2], [2, 3, 5, 8], [1, 4, 7, 64], [3, 2, 33, 10], [2, 5, 1, 128]];

/// The cases of a kernel.
pub(super) fn cases(kernel: &str, operation: &str, dtype: Dtype) -> Option<Vec<Case>> {
    if !["rope", "rope_i", "rope_thd"].contains(&operation) {
        return None;
    }
    let per_batch = [false, true];
    let case = |&shape: &[usize; 4], per_batch| case(kernel, operation, dtype, shape, per_batch);
    Some(SHAPES.iter().flat_map(|shape| per_batch.map(|per_batch| case(shape, per_batch))).collect())
}

fn case(kernel: &str, operation: &str, dtype: Dtype, shape: [usize; 4], per_batch: bool) -> Case {
    let [batches, heads, positions, size] = shape;
    let count = shape.iter().product();
    let tables = if per_batch { batches } else { 1 };
    let angles = tables * positions * size / 2;
    let mut inputs = Inputs::new(count as u64);
    let source = inputs.numbers(dtype, count, -3.0, 3.0);
    let turns: Vec<f64> = (0..angles).map(|_| inputs.between(0.0, 6.3)).collect();
    let cosines = Data::from_numbers(dtype, turns.iter().map(|turn| turn.cos()));
    let sines = Data::from_numbers(dtype, turns.iter().map(|turn| turn.sin()));
    let mut expected = Data::zeros(dtype, count);
    for pair in 0..count / 2 {
        let (i, row) = (pair % (size / 2), pair / (size / 2));
        let (batch, position) = match operation {
            "rope_thd" => (row / heads / positions, row / heads % positions),
            _ => (row / positions / heads, row % positions),
        };
        let angle = (if per_batch { batch } else { 0 } * positions + position) * (size / 2) + i;
        let (first, second) = match operation {
            "rope_i" => (2 * pair, 2 * pair + 1),
            _ => (row * size + i, row * size + i + size / 2),
        };
        let (a, b) = (source.number(first), source.number(second));
        let (c, s) = (cosines.number(angle), sines.number(angle));
        for (place, number) in [(first, a * c - b * s), (second, a * s + b * c)] {
            let bytes = Data::from_numbers(dtype, [number]).bytes;
            expected.bytes[place * dtype.size()..(place + 1) * dtype.size()].copy_from_slice(&bytes);
        }
    }
    let launch = launch(kernel, count / 2);
    // With a table for each batch, elements of a batch; otherwise 0.
    let stride = if per_batch { count / batches } else { 0 };
    let launch = match operation {
        "rope_i" => launch.size(batches * heads).size(positions * size),
        "rope" => launch.size(batches * heads).size(positions * size).size(size),
        _ => launch.size(batches).size(positions).size(heads).size(size),
    };
    let launch = launch.size(stride).data(&source).data(&cosines).data(&sines).data(&untouched(&expected));
    let index = launch.args.len() as u32 - 1;
    let tolerance = Tolerance::rounding(dtype, 1.0, 6.0);
    let name = format!("{shape:?}{}", if per_batch { ", angles per batch" } else { "" });
    Case::near(name, launch, index, guarded(expected), tolerance, tolerance)
}
