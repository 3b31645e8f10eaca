//! `argsort.metal` and a part of `misc.metal`: the largest of a row, the order of a row, the first ones in
//! that order, the choice of experts, and how many elements are equal.
//!
//! No two numbers of a row are equal, since the order of equal ones is open.

use super::kargs::Kargs;
use super::launch::{MAX_THREADS, dispatch, ends_with, output, per_row};
use super::tensor::{Order, Tensor};
use crate::candle::input::Inputs;
use crate::candle::untouched;
use crate::case::{Case, Constant};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::suite::Level;

const F32: Dtype = Dtype::F32;
const I32: Dtype = Dtype::I32;

/// The cases of a kernel.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let ascending = kernel.ends_with("_asc");
    Some(match kernel.strip_prefix("kernel_")? {
        "argmax_f32" => {
            [(1, 5), (31, 9), (33, 1), (1030, 3)].map(|(n, rows)| largest(kernel, n, rows)).into()
        }
        "count_equal_i32" => [1, 33, 257, 1100].map(|columns| equal(kernel, columns)).into(),
        "argsort_f32_i32_asc" | "argsort_f32_i32_desc" => [
            (1, 1024, 1024),
            (31, 1024, 1024),
            (100, 1024, 1024),
            (150, 32, 32),
            (150, 64, 10),
            (2500, 1024, 1024),
        ]
        .map(|(columns, threads, kept)| sort(kernel, ascending, columns, threads, kept))
        .into(),
        "argsort_merge_f32_i32_asc" | "argsort_merge_f32_i32_desc" => {
            [(150, 64, 150), (150, 128, 10), (2500, 1024, 2500), (5, 4, 5), (65, 16, 65)]
                .map(|(columns, len, kept)| merge(kernel, ascending, columns, len, kept))
                .into()
        }
        "top_k_f32_i32" => [(3000, 1), (3000, 100), (2100, 2099)].map(|(n, k)| top(kernel, n, k)).into(),
        "topk_moe_f32" => {
            [(8, 2, false, 1.0), (100, 6, true, 2.5), (64, 40, true, 1.0), (1024, 1, false, 1.0)]
                .map(|(experts, used, with_norm, scale)| experts_of(kernel, experts, used, with_norm, scale))
                .into()
        }
        "moe_reduce_f32" => [(1, 3), (300, 8)].map(|(columns, used)| weighted(kernel, columns, used)).into(),
        _ => return None,
    })
}

/// Rows of different numbers, about half of them negative.
fn different(seed: u64, ne: [usize; 4], order: Order) -> Tensor {
    let mut inputs = Inputs::new(seed);
    let rows = ne[1] * ne[2] * ne[3];
    let row = |_| inputs.permutation(ne[0]).into_iter().map(|i| (i as f64 - ne[0] as f64 / 2.0) * 0.375);
    let numbers: Vec<f64> = (0..rows).map(row).flat_map(Iterator::collect::<Vec<_>>).collect();
    Tensor::of_data(&Data::from_numbers(F32, numbers), ne, order)
}

/// The places of a row from one to another, in their order.
fn ordered(
    tensor: &Tensor,
    [_, i1, i2, i3]: [usize; 4],
    range: std::ops::Range<usize>,
    ascending: bool,
) -> Vec<usize> {
    let mut places: Vec<usize> = range.collect();
    places.sort_by(|&a, &b| tensor.at([a, i1, i2, i3]).total_cmp(&tensor.at([b, i1, i2, i3])));
    if !ascending {
        places.reverse();
    }
    places
}

fn rows_of(ne: [usize; 4]) -> impl Iterator<Item = [usize; 4]> {
    Tensor::places([1, ne[1], ne[2], ne[3]])
}

fn indices(numbers: impl IntoIterator<Item = usize>) -> Data {
    Data::from_integers(I32, numbers.into_iter().map(|number| number as i128))
}

fn largest(kernel: &str, columns: usize, rows: usize) -> Case {
    let ne = [columns, rows, 1, 1];
    let input = different(321, ne, Order::Padded);
    let expected = indices(rows_of(ne).map(|row| ordered(&input, row, 0..columns, false)[0]));
    let kargs = Kargs::new("argmax").tensor("0", &input);
    let mut threads = 32;
    while threads < columns && threads * rows < 256 {
        threads *= 2;
    }
    let launch = dispatch(kernel, [rows, 1, 1], [threads, 1, 1], &kargs).scalar(&input.bytes);
    let launch = launch.threadgroup(0, 256);
    ends_with_index(format!("{rows} rows of {columns}"), launch, 2, expected)
}

/// As [`ends_with`], where threadgroup memory is bound already.
fn ends_with_index(name: String, launch: crate::case::Launch, index: u32, expected: Data) -> Case {
    let launch = launch.data(&untouched(&expected));
    let case = Case::exact(name, launch, index, Data::new(I32));
    Case { expected: vec![output(index, expected, Tolerance::Exact)], ..case }
}

fn equal(kernel: &str, columns: usize) -> Case {
    let ne = [columns, 5, 3, 2];
    let of =
        |seed, order| Tensor::of_data(&Inputs::new(seed).indices(I32, ne.iter().product(), 3), ne, order);
    let (left, right) = (of(322, Order::Permuted), of(323, Order::Transposed));
    let before = 17;
    let count = Tensor::places(ne).filter(|&place| left.at(place) == right.at(place)).count();
    let kargs = Kargs::new("count_equal").tensor("0", &left).tensor("1", &right);
    let groups = columns.div_ceil(32).next_power_of_two().min(32);
    let launch = per_row(kernel, ne, 32 * groups, &kargs).scalar(&left.bytes).scalar(&right.bytes);
    let launch = launch.data(&indices([before, 0])).threadgroup(0, 128);
    let launch = launch.constant(1100, Constant::Integer(groups as i64));
    Case::exact(format!("{columns} columns"), launch, 3, indices([before + count, 0]))
}

/// Rows sorted in segments of one threadgroup each; the first `kept` elements of each segment are stored.
fn sort(kernel: &str, ascending: bool, columns: usize, most: usize, kept: usize) -> Case {
    let ne = [columns, 3, 2, 1];
    let input = different(324, ne, Order::Padded);
    let threads = columns.next_power_of_two().min(most);
    let kept = kept.min(threads);
    let pieces: Vec<_> = (0..columns).step_by(threads).map(|at| at..columns.min(at + threads)).collect();
    let width: usize = pieces.iter().map(|piece| piece.len().min(kept)).sum();
    let numbers = rows_of(ne).flat_map(|row| {
        let input = &input;
        let pieces = pieces.clone().into_iter();
        pieces.flat_map(move |piece| ordered(input, row, piece, ascending).into_iter().take(kept))
    });
    let expected = indices(numbers);
    let kargs =
        Kargs::new("argsort").tensor("0", &input).set("ne0", width).set("ne1", ne[1]).set("ne2", ne[2]);
    let kargs = kargs.set("ne3", ne[3]).set("top_k", kept);
    let launch = dispatch(kernel, [pieces.len() * ne[1], ne[2], ne[3]], [threads, 1, 1], &kargs);
    let launch = launch.scalar(&input.bytes).threadgroup(0, (threads as u64 * 4).next_multiple_of(16));
    ends_with_index(format!("{columns} columns in pieces of {threads}, {kept} of each"), launch, 2, expected)
}

/// Neighbouring sorted segments of `len` elements, merged; at most `kept` of each row are stored.
fn merge(kernel: &str, ascending: bool, columns: usize, len: usize, kept: usize) -> Case {
    let ne = [columns, 3, 2, 1];
    let input = different(325, ne, Order::Padded);
    let pieces = |len: usize, row: [usize; 4]| {
        let range = |at: usize| at..columns.min(at + len);
        (0..columns)
            .step_by(len)
            .flat_map(|at| ordered(&input, row, range(at), ascending))
            .collect::<Vec<_>>()
    };
    let before = indices(rows_of(ne).flat_map(|row| pieces(len, row)));
    // Of a row that is not stored as a whole the beginning is stored.
    let expected = indices(rows_of(ne).flat_map(|row| pieces(2 * len, row).into_iter().take(kept)));
    let merges = columns.div_ceil(2 * len);
    assert!(kept == columns || merges == 1, "only the last merge stores a part");
    let kargs = Kargs::new("argsort_merge").tensor("0", &input).set("ne0", columns).set("ne1", ne[1]);
    let kargs = kargs.set("ne2", ne[2]).set("ne3", ne[3]).set("top_k", kept).set("len", len);
    let launch = dispatch(kernel, [merges * ne[1], ne[2], ne[3]], [len.min(512), 1, 1], &kargs);
    let launch = launch.scalar(&input.bytes).data(&before);
    ends_with(
        format!("{columns} columns in pieces of {len}, {kept} of them"),
        launch,
        expected,
        Tolerance::Exact,
    )
}

/// The largest ones of each row, in any order.
fn top(kernel: &str, columns: usize, kept: usize) -> Case {
    let ne = [columns, 3, 2, 1];
    let input = different(326, ne, Order::Padded);
    let expected =
        indices(rows_of(ne).flat_map(|row| {
            ordered(&input, row, 0..columns, false).into_iter().take(kept).collect::<Vec<_>>()
        }));
    let kargs = Kargs::new("top_k").tensor("0", &input).set("top_k", kept);
    let launch = per_row(kernel, ne, MAX_THREADS, &kargs).scalar(&input.bytes);
    let case = ends_with(format!("{kept} of {columns}"), launch, expected, Tolerance::Unordered(kept));
    let memory = [1024, 16, 16, 16].into_iter().zip(0..);
    let launch = memory.fold(case.launch.clone(), |launch, (bytes, index)| launch.threadgroup(index, bytes));
    Case { launch, ..case }
}

/// The experts of the largest probabilities, and those.
fn experts_of(kernel: &str, experts: usize, used: usize, with_norm: bool, scale: f32) -> Case {
    const CLAMP: f32 = 1e-4;
    let tokens = 5;
    let ne = [experts, tokens, 1, 1];
    let input = different(327, ne, Order::Padded);
    let (mut weights, mut ids) = (Data::new(F32), Data::new(I32));
    for row in rows_of(ne) {
        let logit = |expert| input.at([expert, row[1], 0, 0]);
        let chosen: Vec<usize> = ordered(&input, row, 0..experts, false).into_iter().take(used).collect();
        let highest = logit(chosen[0]);
        let all: f64 = (0..experts).map(|expert| (logit(expert) - highest).exp()).sum();
        let share = |expert: usize| (logit(expert) - highest).exp() / all;
        let shares = chosen.iter().map(|&expert| share(expert)).sum::<f64>().max(f64::from(CLAMP));
        let factor = f64::from(scale) / if with_norm { shares } else { 1.0 };
        for &expert in &chosen {
            weights.push_number(share(expert) * factor);
            ids.push_integer(expert as i128);
        }
    }
    let kargs = Kargs::new("topk_moe").set("ne01", tokens).set("nb01", input.nb[1]).set("nb1_ids", 4 * used);
    let kargs = kargs.set("clamp", CLAMP).set("scale", scale);
    let launch = dispatch(kernel, [tokens, 1, 1], [32, 1, 1], &kargs).scalar(&input.bytes);
    let launch = launch.data(&untouched(&weights)).data(&untouched(&ids));
    let launch =
        launch.constant(1800, Constant::Bool(with_norm)).constant(1801, Constant::Integer(experts as i64));
    let launch = launch.constant(1802, Constant::Integer(used as i64));
    let near = Tolerance::Near { relative: 1e-5, absolute: 1e-9 };
    let case = Case::exact(format!("{used} of {experts}, norm {with_norm}"), launch, 2, Data::new(F32));
    let expected = vec![output(2, weights, near), output(3, ids, Tolerance::Exact)];
    Case { expected, ..case }.through_library(true)
}

/// The sum of the experts' results, each with its weight.
fn weighted(kernel: &str, columns: usize, used: usize) -> Case {
    let tokens = 3;
    let results = Tensor::between(F32, 328, [columns, used, tokens, 1], Order::Contiguous, -2.0, 2.0);
    let weights = Tensor::between(F32, 329, [used, tokens, 1, 1], Order::Contiguous, 0.0, 1.0);
    let sum = |[i0, token, ..]: [usize; 4]| {
        (0..used)
            .map(|expert| results.at([i0, expert, token, 0]) * weights.at([expert, token, 0, 0]))
            .sum::<f64>()
    };
    let expected = Data::from_numbers(F32, Tensor::places([columns, tokens, 1, 1]).map(sum));
    let kargs = Kargs::new("moe_reduce").set("ne00", columns).set("ne02", tokens);
    let launch = dispatch(kernel, [tokens, columns.div_ceil(256), 1], [256, 1, 1], &kargs);
    let launch = launch.scalar(&results.bytes).scalar(&weights.bytes);
    let launch = launch.constant(1900, Constant::Integer(used as i64));
    ends_with(format!("{used} of {columns} columns"), launch, expected, Tolerance::rounding(F32, 4.0, 16.0))
}
