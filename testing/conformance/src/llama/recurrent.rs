//! `wkv.metal` and `gated_delta_net.metal`: recurrences over tokens, whose state is a matrix per head.

use super::kargs::Kargs;
use super::launch::{dispatch, output};
use super::tensor::{Order, Tensor};
use crate::candle::untouched;
use crate::case::{Case, Constant, Grid, Launch};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::suite::Level;

const F32: Dtype = Dtype::F32;

/// Elements of a head in `wkv.metal`.
const HEAD: usize = 64;

/// The cases of a kernel.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    if let Some(groups) = kernel.strip_prefix("kernel_gated_delta_net_f32_") {
        let size = 32 * groups.parse::<usize>().ok()?;
        let variants = [(1, 1, false, false), (5, 1, true, false), (6, 3, false, false), (2, 4, true, true)];
        return Some(
            variants
                .map(|(tokens, snapshots, by_element, apart)| {
                    delta(kernel, Delta { size, tokens, snapshots, by_element, apart })
                })
                .into(),
        );
    }
    // Sequences, tokens of each, heads.
    let sizes = [[1, 1, 1], [2, 5, 3], [3, 2, 2]];
    Some(match kernel {
        "kernel_rwkv_wkv6_f32" => sizes.map(|size| wkv6(kernel, size)).into(),
        "kernel_rwkv_wkv7_f32" => sizes.map(|size| wkv7(kernel, size)).into(),
        _ => return None,
    })
}

fn random(seed: u64, ne: [usize; 4], low: f64, high: f64) -> Tensor {
    Tensor::between(F32, seed, ne, Order::Contiguous, low, high)
}

/// What comes out: a row per token and head, then the states. Both are sums of 64 products below 1.
fn recurrence(
    kernel: &str,
    [sequences, tokens, heads]: [usize; 3],
    inputs: &[&Tensor],
    mut step: impl FnMut(usize, usize, usize, &mut [f64]) -> Vec<f64>,
) -> Case {
    let all = sequences * tokens;
    let state = inputs[inputs.len() - 1];
    let (mut rows, mut states) = (vec![0.0; all * heads * HEAD], Vec::new());
    for (sequence, head) in (0..sequences).flat_map(|sequence| (0..heads).map(move |head| (sequence, head))) {
        let mut matrix: Vec<f64> = (0..HEAD * HEAD).map(|i| state.at([i, head, sequence, 0])).collect();
        for token in sequence * tokens..(sequence + 1) * tokens {
            let row = step(head, token, sequence, &mut matrix);
            let at = (token * heads + head) * HEAD;
            rows[at..at + HEAD].copy_from_slice(&row);
        }
        states.extend(matrix);
    }
    let expected = Data::from_numbers(F32, rows.into_iter().chain(states));
    let grid = Grid::Groups([(sequences * heads) as u32, 1, 1]);
    let launch = Launch::new(kernel, grid, [HEAD as u32, 1, 1]);
    let launch = inputs.iter().fold(launch, |launch, input| launch.scalar(&input.bytes));
    let launch = launch.data(&untouched(&expected));
    let launch = launch.size(sequences).size(all).size(heads * HEAD).size(heads);
    let name = format!("{sequences} sequences of {tokens} tokens, {heads} heads");
    let case = Case::exact(name, launch, 0, Data::new(F32));
    let near = Tolerance::Near { relative: 1e-5, absolute: 2e-5 };
    Case { expected: vec![output(inputs.len() as u32, expected, near)], ..case }
}

/// Heads of every token, and a matrix for each head of every sequence.
fn shapes([sequences, tokens, heads]: [usize; 3]) -> [[usize; 4]; 2] {
    [[HEAD, heads, sequences * tokens, 1], [HEAD * HEAD, heads, sequences, 1]]
}

fn wkv6(kernel: &str, size: [usize; 3]) -> Case {
    let [of_tokens, of_states] = shapes(size);
    let [keys, values, receptance] = [391, 392, 393].map(|seed| random(seed, of_tokens, -1.0, 1.0));
    let first = random(394, [HEAD, size[2], 1, 1], -1.0, 1.0);
    let (decays, states) = (random(395, of_tokens, 0.3, 0.95), random(396, of_states, -1.0, 1.0));
    let inputs = [&keys, &values, &receptance, &first, &decays, &states];
    recurrence(kernel, size, &inputs, |head, token, _, matrix| {
        let of = |tensor: &Tensor, i: usize| tensor.at([i, head, token, 0]);
        let row = |to: usize| {
            let term = |i: usize| {
                let product = of(&keys, i) * of(&values, to);
                of(&receptance, i) * (first.at([i, head, 0, 0]) * product + matrix[i * HEAD + to])
            };
            (0..HEAD).map(term).sum::<f64>()
        };
        let rows = (0..HEAD).map(row).collect();
        for (at, number) in matrix.iter_mut().enumerate() {
            let (i, to) = (at / HEAD, at % HEAD);
            *number = *number * of(&decays, i) + of(&keys, i) * of(&values, to);
        }
        rows
    })
}

fn wkv7(kernel: &str, size: [usize; 3]) -> Case {
    let [of_tokens, of_states] = shapes(size);
    let [receptance, keys, values] = [401, 402, 403].map(|seed| random(seed, of_tokens, -1.0, 1.0));
    let [removed, added] = [404, 405].map(|seed| random(seed, of_tokens, -0.2, 0.2));
    let (decays, states) = (random(406, of_tokens, 0.3, 0.95), random(407, of_states, -1.0, 1.0));
    let inputs = [&receptance, &decays, &keys, &values, &removed, &added, &states];
    recurrence(kernel, size, &inputs, |head, token, _, matrix| {
        let of = |tensor: &Tensor, i: usize| tensor.at([i, head, token, 0]);
        let rows = matrix.chunks_mut(HEAD).enumerate().map(|(to, row)| {
            let found: f64 = row.iter().enumerate().map(|(i, number)| of(&removed, i) * number).sum();
            for (i, number) in row.iter_mut().enumerate() {
                *number = *number * of(&decays, i) + of(&keys, i) * of(&values, to) + found * of(&added, i);
            }
            row.iter().enumerate().map(|(i, number)| number * of(&receptance, i)).sum::<f64>()
        });
        rows.collect()
    })
}

/// What differs between the cases of a gated delta net.
#[derive(Clone, Copy, Debug)]
struct Delta {
    /// Elements of a head.
    size: usize,
    tokens: usize,
    /// How many of the last states are kept.
    snapshots: usize,
    /// Each element of a state has a gate of its own.
    by_element: bool,
    /// States go into a buffer of their own, with gaps.
    apart: bool,
}

fn delta(kernel: &str, variant: Delta) -> Case {
    const SEQUENCES: usize = 2;
    const HEADS: usize = 4;
    const KEY_HEADS: usize = 2;
    const GAP: usize = 16;
    let Delta { size, tokens, snapshots, by_element, apart } = variant;
    let of =
        |seed, heads, order| Tensor::between(F32, seed, [size, heads, tokens, SEQUENCES], order, -0.3, 0.3);
    let (queries, keys) = (of(411, KEY_HEADS, Order::Padded), of(412, KEY_HEADS, Order::Permuted));
    let values = of(413, HEADS, Order::Padded);
    let gate_size = if by_element { size } else { 1 };
    let gates = random(414, [gate_size, HEADS, tokens, SEQUENCES], -1.0, -0.05);
    let rates = random(415, [HEADS, tokens, SEQUENCES, 1], 0.1, 1.0);
    let states = random(416, [size * size, HEADS, SEQUENCES, 1], -0.5, 0.5);
    let whole = size * size * HEADS * SEQUENCES;
    let stride = if apart { whole + GAP } else { whole };
    let untouched_number = f64::from(f32::from_le_bytes([0x5a; 4]));
    let mut rows = vec![0.0; size * HEADS * tokens * SEQUENCES];
    // Older states than there are tokens belong to someone else.
    let mut kept = vec![untouched_number; stride * snapshots];
    for (sequence, head) in (0..SEQUENCES).flat_map(|sequence| (0..HEADS).map(move |head| (sequence, head))) {
        let mut matrix: Vec<f64> = (0..size * size).map(|i| states.at([i, head, sequence, 0])).collect();
        for token in 0..tokens {
            let key = |i: usize| keys.at([i, head % KEY_HEADS, token, sequence]);
            let query = |i: usize| queries.at([i, head % KEY_HEADS, token, sequence]);
            let rate = rates.at([head, token, sequence, 0]);
            for (to, row) in matrix.chunks_mut(size).enumerate() {
                let gate = |i: usize| gates.at([i % gate_size, head, token, sequence]).exp();
                row.iter_mut().enumerate().for_each(|(i, number)| *number *= gate(i));
                let found: f64 = row.iter().enumerate().map(|(i, number)| number * key(i)).sum();
                let missing = (values.at([to, head, token, sequence]) - found) * rate;
                row.iter_mut().enumerate().for_each(|(i, number)| *number += key(i) * missing);
                let sum: f64 = row.iter().enumerate().map(|(i, number)| number * query(i)).sum();
                rows[((sequence * tokens + token) * HEADS + head) * size + to] = sum / (size as f64).sqrt();
            }
            let back = tokens - 1 - token;
            if back < snapshots {
                let at = back * stride + (sequence * HEADS + head) * size * size;
                kept[at..at + size * size].copy_from_slice(&matrix);
            }
        }
    }
    let (rows, kept) = (Data::from_numbers(F32, rows), Data::from_numbers(F32, kept));
    let mut both = rows.clone();
    both.bytes.extend(&kept.bytes);
    let kargs = Kargs::new("gated_delta_net").tensor("0", &queries).tensor("1", &keys).tensor("2", &values);
    let kargs =
        kargs.set("ns02", queries.nb[2] / 4).set("ns12", keys.nb[2] / 4).set("ns22", values.nb[2] / 4);
    let kargs = kargs.set("nb_out", if apart { stride } else { 0 });
    let groups = size / 32;
    let launch = dispatch(kernel, [size / groups, HEADS, SEQUENCES], [32, groups, 1], &kargs);
    let inputs = [&queries, &keys, &values, &gates, &rates, &states];
    let launch = inputs.iter().fold(launch, |launch, input| launch.scalar(&input.bytes));
    let launch = if apart {
        launch.data(&untouched(&rows)).data(&untouched(&kept))
    } else {
        launch.data(&untouched(&both)).alias(7)
    };
    let constants = [size, gate_size, snapshots].into_iter().zip(1600..);
    let launch = constants
        .fold(launch, |launch, (value, index)| launch.constant(index, Constant::Integer(value as i64)));
    let near = Tolerance::Near { relative: 1e-5, absolute: 2e-5 };
    let expected =
        if apart { vec![output(7, rows, near), output(8, kept, near)] } else { vec![output(7, both, near)] };
    let case = Case::exact(format!("{variant:?}"), launch, 0, Data::new(F32));
    Case { expected, ..case }.through_library(true)
}
