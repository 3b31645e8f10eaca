//! `ssm.metal`: Mamba's convolution along tokens and its scan, one token after the other and in chunks as
//! products of matrices. `solve_tri.metal`: triangular systems, one row after the other.

use super::kargs::Kargs;
use super::launch::{dispatch, ends_with, output};
use super::tensor::{Order, Tensor};
use crate::candle::{guarded, untouched};
use crate::case::{Case, Constant, Faults};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::suite::Level;

const F32: Dtype = Dtype::F32;

/// The cases of a kernel.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let scan_of = |variants: &[Scan]| Some(variants.iter().map(|&variant| scan(kernel, variant)).collect());
    let small = Scan { state: 32, size: 5, heads: 4, groups: 2, tokens: 7, ..Scan::default() };
    match kernel.strip_prefix("kernel_")? {
        "solve_tri_f32" => {
            Some([[1, 1], [33, 9], [64, 8], [20, 70]].map(|size| triangular(kernel, size)).into())
        }
        "ssm_scan_f32" => scan_of(&[
            small,
            Scan { state: 16, size: 1, heads: 6, groups: 1, tokens: 1, by_element: true, ..small },
            Scan { state: 128, tokens: 9, snapshots: 4, ..small },
        ]),
        "ssm_scan_f32_tail" => {
            scan_of(&[Scan { before: 64, ..small }, Scan { before: 64, snapshots: 3, state: 64, ..small }])
        }
        "ssm_scan_ssd_mma_f32" => scan_of(&[
            Scan { size: 64, tokens: 64, state: 16, chunks: true, ..small },
            Scan { size: 64, tokens: 128, state: 8, heads: 2, groups: 2, chunks: true, ..small },
        ]),
        name => {
            let name = name.strip_prefix("ssm_conv_f32_f32")?;
            let filters: &[usize] = if name.ends_with("_4") { &[4, 8] } else { &[3, 5] };
            let tokens: &[usize] = if name.starts_with("_batched") { &[2, 7, 300] } else { &[1, 5] };
            let sizes = filters.iter().flat_map(|&filter| tokens.iter().map(move |&tokens| (filter, tokens)));
            Some(
                sizes
                    .zip([false, true].into_iter().cycle())
                    .map(|((filter, tokens), silu)| {
                        convolution(kernel, filter, tokens, name.starts_with("_batched"), silu)
                    })
                    .collect(),
            )
        }
    }
}

fn random(seed: u64, ne: [usize; 4], low: f64, high: f64) -> Tensor {
    Tensor::between(F32, seed, ne, Order::Contiguous, low, high)
}

fn convolution(kernel: &str, filter: usize, tokens: usize, batched: bool, silu: bool) -> Case {
    let [channels, sequences] = [5, 3];
    let input = random(421, [filter - 1 + tokens, channels, sequences, 1], -1.0, 1.0);
    let weights = random(422, [filter, channels, 1, 1], -1.0, 1.0);
    let number = |[channel, token, sequence, _]: [usize; 4]| {
        let sum: f64 = (0..filter)
            .map(|i| input.at([token + i, channel, sequence, 0]) * weights.at([i, channel, 0, 0]))
            .sum();
        if silu { sum / (1.0 + (-sum).exp()) } else { sum }
    };
    let ne = [channels, tokens, sequences, 1];
    let expected = Data::from_numbers(F32, Tensor::places(ne).map(number));
    let kargs =
        Kargs::new("ssm_conv").tensor("0", &input).tensor("1", &weights).tensor("", &Tensor::shape(ne, 4));
    let together = if batched { tokens.next_power_of_two().clamp(2, 256) } else { 1 };
    let launch = dispatch(kernel, [channels, tokens.div_ceil(together), sequences], [together, 1, 1], &kargs);
    let launch = launch.scalar(&input.bytes).scalar(&weights.bytes);
    let launch = launch.constant(900, Constant::Integer(together as i64)).constant(901, Constant::Bool(silu));
    let launch = launch.constant(902, Constant::Integer(filter as i64));
    let tolerance = Tolerance::rounding(F32, 16.0, 16.0);
    ends_with(format!("filter {filter}, {tokens} tokens, SiLU {silu}"), launch, expected, tolerance)
        .through_library(silu)
}

/// What differs between the cases of a scan.
#[derive(Clone, Copy, Default, Debug)]
struct Scan {
    /// Elements of a state.
    state: usize,
    /// Elements of a head, each of which has a state.
    size: usize,
    heads: usize,
    /// Heads of a group share how states are read and written.
    groups: usize,
    tokens: usize,
    /// Tokens that came before in another launch; their state is in the output.
    before: usize,
    /// How many of the last states are kept; 0 is 1.
    snapshots: usize,
    /// Each element of a state decays by itself.
    by_element: bool,
    /// Tokens in chunks of 64.
    chunks: bool,
}

fn scan(kernel: &str, variant: Scan) -> Case {
    const SEQUENCES: usize = 2;
    let Scan { state, size, heads, groups, tokens, before, by_element, chunks, .. } = variant;
    let snapshots = variant.snapshots.max(1);
    let all = before + tokens;
    let of_tokens = |seed, rows: [usize; 2], low, high| {
        Tensor::between(F32, seed, [rows[0], rows[1], all, SEQUENCES], Order::Padded, low, high)
    };
    let input = of_tokens(432, [size, heads], -1.0, 1.0);
    let steps = random(433, [heads, all, SEQUENCES, 1], -3.0, 1.0);
    let decay_size = if by_element { state } else { 1 };
    let decays = random(434, [decay_size, heads, 1, 1], -1.0, -0.1);
    let [writes, reads] = [435, 436].map(|seed| of_tokens(seed, [state, groups], -1.0, 1.0));
    // States are chosen by number out of more.
    let states = random(431, [state, size, heads, 3], -1.0, 1.0);
    let chosen = [2usize, 0];
    let rows_size = size * heads * all * SEQUENCES;
    let slot = state * size * heads * SEQUENCES;
    let mut out = vec![f64::from(f32::from_le_bytes([0x5a; 4])); rows_size + snapshots * slot];
    let mut initial = out.clone();
    for [element, head, sequence, _] in Tensor::places([size, heads, SEQUENCES, 1]) {
        let group = head / (heads / groups);
        let at = rows_size + ((sequence * heads + head) * size + element) * state;
        let from = |i| states.at([i, element, head, if before > 0 { sequence } else { chosen[sequence] }]);
        let mut numbers: Vec<f64> = (0..state).map(from).collect();
        initial[at..at + state].copy_from_slice(&numbers);
        for token in before..all {
            let step = steps.at([head, token, sequence, 0]).exp().ln_1p();
            let added = input.at([element, head, token, sequence]) * step;
            for (i, number) in numbers.iter_mut().enumerate() {
                let decay = (step * decays.at([i % decay_size, head, 0, 0])).exp();
                *number = *number * decay + writes.at([i, group, token, sequence]) * added;
            }
            let read = |(i, number): (usize, &f64)| number * reads.at([i, group, token, sequence]);
            out[((sequence * all + token) * heads + head) * size + element] =
                numbers.iter().enumerate().map(read).sum();
            let back = all - 1 - token;
            if back < snapshots {
                out[at + back * slot..at + back * slot + state].copy_from_slice(&numbers);
            }
        }
    }
    let [expected, initial] = [out, initial].map(|numbers| Data::from_numbers(F32, numbers));
    let first = if before > 0 { guarded(initial) } else { untouched(&expected) };
    let [x, b, c] = [&input, &writes, &reads].map(|tensor| tensor.nb);
    let kargs = Kargs::new("ssm_scan").tensor("0", &states).tensor("1", &input).tensor("2", &steps);
    let kargs = kargs.tensor("3", &decays).tensor("4", &writes).tensor("5", &reads).set("K", snapshots);
    let kargs =
        kargs.set("ns12", x[2] / 4).set("ns21", steps.nb[1] / 4).set("ns42", b[2] / 4).set("ns52", c[2] / 4);
    let kargs = kargs.set("d_state", state).set("d_inner", size).set("n_head", heads).set("n_group", groups);
    let kargs = kargs.set("n_seq_tokens", tokens).set("n_seq_tokens_total", all).set("token_offset", before);
    let kargs = kargs.set("n_seqs", SEQUENCES).set("s_off", 4 * rows_size);
    let simdgroups = state.div_ceil(32);
    let launch = match chunks {
        true => dispatch(kernel, [1, heads, SEQUENCES], [128, 1, 1], &kargs),
        false => dispatch(kernel, [size, heads, SEQUENCES], [state, 1, 1], &kargs),
    };
    let inputs = [&states, &input, &steps, &decays, &writes, &reads];
    let launch = inputs.iter().fold(launch, |launch, input| launch.scalar(&input.bytes));
    let launch = launch.data(&Data::from_integers(Dtype::I32, chosen.map(|id| id as i128))).data(&first);
    let memory = if chunks {
        4 * (3 * 64 + 64 * 64 + 4 * 8 * 64 + 4 * 2 * 64)
    } else {
        (4 * 34 * simdgroups).next_multiple_of(16)
    };
    let launch = launch.threadgroup(0, memory as u64);
    let near = Tolerance::Near { relative: 1e-5, absolute: if chunks { 1e-4 } else { 2e-5 } };
    let case = Case::exact(format!("{variant:?}"), launch, 0, Data::new(F32));
    Case { expected: vec![output(8, expected, near)], ..case }.through_library(true)
}

/// A triangular system: number of equations and of right-hand sides.
fn triangular(kernel: &str, [equations, sides]: [usize; 2]) -> Case {
    const SIMDGROUPS: usize = 8;
    let (matrices, ne) = ([2, 2], [sides, equations, 2, 2]);
    let mut numbers = random(441, [equations, equations, matrices[0], matrices[1]], -0.5, 0.5).data(F32);
    for place in 0..numbers.len() {
        if place % equations == place / equations % equations {
            let large = Data::from_numbers(F32, [numbers.number(place) + 2.0]);
            numbers.bytes[4 * place..4 * place + 4].copy_from_slice(&large.bytes);
        }
    }
    let matrix =
        Tensor::of_data(&numbers, [equations, equations, matrices[0], matrices[1]], Order::Contiguous);
    let right = random(442, ne, -1.0, 1.0);
    let mut solved = vec![0.0f64; ne.iter().product()];
    for [side, row, i2, i3] in Tensor::places(ne) {
        let at = |row: usize| ((i3 * ne[2] + i2) * equations + row) * sides + side;
        let sum: f64 = (0..row).map(|i| matrix.at([i, row, i2, i3]) * solved[at(i)]).sum();
        solved[at(row)] = (right.at([side, row, i2, i3]) - sum) / matrix.at([row, row, i2, i3]);
    }
    let expected = Data::from_numbers(F32, solved);
    let kargs =
        Kargs::new("solve_tri").tensor("0", &matrix).tensor("1", &right).tensor("", &Tensor::shape(ne, 4));
    let groups = [sides.div_ceil(SIMDGROUPS), ne[2], ne[3]];
    let launch =
        dispatch(kernel, groups, [32, SIMDGROUPS, 1], &kargs).scalar(&matrix.bytes).scalar(&right.bytes);
    let memory = (equations.next_multiple_of(32) * SIMDGROUPS * 4).next_multiple_of(16) as u64;
    let constants = [SIMDGROUPS, equations, sides].into_iter().zip(1000..);
    let launch = constants
        .fold(launch, |launch, (value, index)| launch.constant(index, Constant::Integer(value as i64)));
    let tolerance = Tolerance::Near { relative: 1e-5, absolute: 1e-5 };
    let case = ends_with(format!("{equations} equations, {sides} sides"), launch, expected, tolerance);
    let launch = case.launch.clone().threadgroup(0, memory);
    // Rows are read up to the next multiple of 32 elements, and in eights.
    Case { launch, faults: Faults::Harmless, ..case }
}
