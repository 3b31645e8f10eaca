//! `misc.metal`: hyper-connections, where a layer's input is a mix of four streams and its output goes to all
//! of them, by a matrix whose rows and columns are normalised in turn.

use super::kargs::Kargs;
use super::launch::{dispatch, ends_with};
use super::tensor::{Order, Tensor};
use crate::case::{Case, Constant};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::suite::Level;

const F32: Dtype = Dtype::F32;
const STREAMS: usize = 4;

/// The cases of a kernel.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let sizes = [[1, 1], [33, 3], [200, 2]];
    Some(match kernel.strip_prefix("kernel_dsv4_hc_")? {
        "comb_f32" => [[1, 1], [7, 3], [4, 20]].map(|[tokens, rounds]| matrix(kernel, tokens, rounds)).into(),
        "pre_f32" => sizes.map(|size| before(kernel, size, false)).into(),
        "pre_gated_f32" => sizes.map(|size| before(kernel, size, true)).into(),
        "post_f32" => sizes.map(|size| after(kernel, size, true)).into(),
        "post_nocomb_f32" => sizes.map(|size| after(kernel, size, false)).into(),
        _ => return None,
    })
}

fn random(seed: u64, ne: [usize; 4], order: Order) -> Tensor {
    Tensor::between(F32, seed, ne, order, -1.5, 1.5)
}

/// Sets strides that are named after an operand: `nb_X0`, …
fn strides(kargs: Kargs, which: &str, tensor: &Tensor, count: usize) -> Kargs {
    (0..count).fold(kargs, |kargs, d| kargs.set(&format!("nb_{which}{d}"), tensor.nb[d]))
}

fn matrix(kernel: &str, tokens: usize, rounds: usize) -> Case {
    const EPSILON: f32 = 1e-3;
    let epsilon = f64::from(EPSILON);
    let mixes = random(361, [24, tokens, 1, 1], Order::Transposed);
    let (scale, base) =
        (random(362, [3, 1, 1, 1], Order::Contiguous), random(363, [24, 1, 1, 1], Order::Contiguous));
    let mut expected = Data::new(F32);
    for token in 0..tokens {
        // By source and destination.
        let mut shares = [[0.0; STREAMS]; STREAMS];
        for (from, row) in shares.iter_mut().enumerate() {
            for (to, share) in row.iter_mut().enumerate() {
                let i = 2 * STREAMS + STREAMS * from + to;
                let number = mixes.at([i, token, 0, 0]) * scale.at([2, 0, 0, 0]) + base.at([i, 0, 0, 0]);
                *share = number.exp();
            }
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|share| *share = *share / sum + epsilon);
        }
        for round in 0..rounds {
            if round > 0 {
                for row in &mut shares {
                    let sum: f64 = row.iter().sum();
                    row.iter_mut().for_each(|share| *share /= sum + epsilon);
                }
            }
            for to in 0..STREAMS {
                let sum: f64 = shares.iter().map(|row| row[to]).sum();
                shares.iter_mut().for_each(|row| row[to] /= sum + epsilon);
            }
        }
        shares.iter().flatten().for_each(|&share| expected.push_number(share));
    }
    let out = Tensor::shape([STREAMS, STREAMS, tokens, 1], 4);
    let kargs = Kargs::new("dsv4_hc_comb").set("n_tokens", tokens).set("n_iter", rounds).set("eps", EPSILON);
    let kargs = strides(strides(strides(kargs, "m", &mixes, 2), "s", &scale, 1), "b", &base, 1);
    let kargs = strides(kargs, "d", &out, 3);
    let groups = tokens.min(4);
    let launch = dispatch(kernel, [tokens.div_ceil(groups), 1, 1], [32, groups, 1], &kargs);
    let launch = launch.scalar(&mixes.bytes).scalar(&scale.bytes).scalar(&base.bytes);
    let tolerance = Tolerance::rounding(F32, 64.0, 0.0);
    ends_with(format!("{tokens} tokens, {rounds} rounds"), launch, expected, tolerance).through_library(true)
}

/// Threadgroups and threads for rows of that many elements.
fn tiles(size: usize, tokens: usize) -> ([usize; 3], [usize; 3]) {
    let tiles = size.div_ceil(32);
    let groups = tiles.min(4);
    ([tiles.div_ceil(groups), tokens, 1], [32, groups, 1])
}

fn before(kernel: &str, [size, tokens]: [usize; 2], gated: bool) -> Case {
    const SCALE: f32 = 1.75;
    let input = random(364, [size, STREAMS, tokens, 1], Order::Permuted);
    let weights = match gated {
        true => random(365, [size, STREAMS, tokens, 1], Order::Padded),
        false => random(365, [STREAMS, tokens, 1, 1], Order::Padded),
    };
    let number = |[i0, token, ..]: [usize; 4]| {
        let weight = |stream| match gated {
            true => 1.0 / (1.0 + (-weights.at([i0, stream, token, 0])).exp()),
            false => weights.at([stream, token, 0, 0]),
        };
        let sum: f64 = (0..STREAMS).map(|stream| input.at([i0, stream, token, 0]) * weight(stream)).sum();
        f64::from(SCALE) * sum
    };
    let ne = [size, tokens, 1, 1];
    let expected = Data::from_numbers(F32, Tensor::places(ne).map(number));
    let kargs = Kargs::new("dsv4_hc_pre").set("n_embd", size).set("n_tokens", tokens).set("scale", SCALE);
    let kargs = strides(strides(kargs, "x", &input, 3), "w", &weights, 3);
    let kargs = strides(kargs, "d", &Tensor::shape(ne, 4), 2);
    let (groups, threads) = tiles(size, tokens);
    let launch = dispatch(kernel, groups, threads, &kargs).scalar(&input.bytes).scalar(&weights.bytes);
    let launch = launch.constant(2000, Constant::Integer(STREAMS as i64));
    let tolerance = Tolerance::rounding(F32, 4.0, 32.0);
    ends_with(format!("{size} elements, {tokens} tokens"), launch, expected, tolerance).through_library(gated)
}

fn after(kernel: &str, [size, tokens]: [usize; 2], combined: bool) -> Case {
    let input = random(366, [size, tokens, 1, 1], Order::Padded);
    let residual = random(367, [size, STREAMS, tokens, 1], Order::Permuted);
    let post = random(368, [STREAMS, tokens, 1, 1], Order::Contiguous);
    let matrix = random(369, [STREAMS, STREAMS, tokens, 1], Order::Contiguous);
    let number = |[i0, to, token, _]: [usize; 4]| {
        let own = input.at([i0, token, 0, 0]) * post.at([to, token, 0, 0]);
        let share = |from| residual.at([i0, from, token, 0]) * matrix.at([to, from, token, 0]);
        let others: f64 = (0..STREAMS).map(share).sum();
        own + if combined { others } else { residual.at([i0, to, token, 0]) }
    };
    let ne = [size, STREAMS, tokens, 1];
    let expected = Data::from_numbers(F32, Tensor::places(ne).map(number));
    let kargs = Kargs::new("dsv4_hc_post").set("n_embd", size).set("n_tokens", tokens);
    let kargs = strides(strides(strides(kargs, "x", &input, 2), "r", &residual, 3), "p", &post, 2);
    let kargs = strides(strides(kargs, "c", &matrix, 3), "d", &Tensor::shape(ne, 4), 3);
    let (groups, threads) = tiles(size, tokens);
    let launch = dispatch(kernel, groups, threads, &kargs).scalar(&input.bytes).scalar(&residual.bytes);
    let launch = launch.scalar(&post.bytes);
    let launch = if combined { launch.scalar(&matrix.bytes) } else { launch };
    let tolerance = Tolerance::rounding(F32, 4.0, 32.0);
    ends_with(format!("{size} elements, {tokens} tokens"), launch, expected, tolerance)
}
