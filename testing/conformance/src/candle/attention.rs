//! `scaled_dot_product_attention.metal`: one query (`sdpa_vector`, also in two passes) and many
//! (`steel_attention`).

mod full;
mod vector;

use super::input::Inputs;
use crate::case::{Case, Launch};
use crate::data::{Data, Dtype};
use crate::suite::Level;

/// The cases of a kernel.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    match kernel.strip_prefix("sdpa_vector_") {
        Some(name) => vector::cases(kernel, name),
        None => full::cases(kernel),
    }
}

fn int(launch: Launch, value: usize) -> Launch {
    launch.scalar((value as i32).to_le_bytes())
}

/// Keys or values of all heads: each `rows` of `size` elements.
#[derive(Clone, Debug)]
struct Rows {
    data: Data,
    rows: usize,
    size: usize,
}

impl Rows {
    fn new(dtype: Dtype, seed: u64, heads: usize, rows: usize, size: usize) -> Self {
        let data = Inputs::new(seed).numbers(dtype, heads * rows * size, -1.0, 1.0);
        Self { data, rows, size }
    }

    fn at(&self, head: usize, row: usize, i: usize) -> f64 {
        self.data.number((head * self.rows + row) * self.size + i)
    }
}

/// The softmax of scores: maximum, exponentials, their sum. Masked ones are -∞.
fn softmax(scores: &[f64], lowest: f64) -> (f64, Vec<f64>, f64) {
    let highest = scores.iter().copied().fold(lowest, f64::max);
    let weights: Vec<f64> = scores.iter().map(|score| (score - highest).exp()).collect();
    let sum = weights.iter().sum();
    (highest, weights, sum)
}
