//! `reduce.metal`: the sum of a tensor, and running sums of rows, in blocks, whose sums are added in a second
//! step.

use super::kargs::Kargs;
use super::launch::{MAX_THREADS, dispatch, doubled, output};
use super::tensor::{Order, Tensor};
use crate::candle::{guarded, untouched};
use crate::case::Case;
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::suite::Level;

const F32: Dtype = Dtype::F32;

/// The cases of a kernel.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    // Columns, and threads at most: not every pipeline allows that many.
    let sizes = [(1, 1024), (5, 1024), (33, 1024), (1024, 1024), (150, 64), (2500, 1024)];
    Some(match kernel {
        "kernel_op_sum_f32" => [1, 31, 33, 1000, 5000].map(|count| sum(kernel, count)).into(),
        "kernel_cumsum_blk_f32" => sizes.map(|(columns, most)| running(kernel, columns, most)).into(),
        "kernel_cumsum_add_f32" => {
            sizes[4..].iter().map(|&(columns, most)| add(kernel, columns, most)).collect()
        }
        _ => return None,
    })
}

fn sum(kernel: &str, count: usize) -> Case {
    let input = Tensor::between(F32, 351, [count, 1, 1, 1], Order::Contiguous, -1.0, 2.0);
    let expected = Data::from_numbers(F32, [Tensor::places(input.ne).map(|place| input.at(place)).sum()]);
    let threads = doubled(count).min(count);
    let memory = (threads.div_ceil(32) as u64 * 4).next_multiple_of(16);
    let launch = dispatch(kernel, [1, 1, 1], [threads, 1, 1], &Kargs::new("sum").set("np", count));
    let launch = launch.scalar(&input.bytes).data(&untouched(&expected)).threadgroup(0, memory);
    let tolerance = Tolerance::Near { relative: 0.0, absolute: 1e-6 * count as f64 };
    Case::near(format!("{count} elements"), launch, 2, guarded(expected), tolerance, tolerance)
}

/// Threads of a threadgroup, and blocks of a row.
fn blocks(columns: usize, most: usize) -> [usize; 2] {
    let threads = columns.next_power_of_two().min(most).min(MAX_THREADS);
    [threads, columns.div_ceil(threads)]
}

fn near(columns: usize) -> Tolerance {
    Tolerance::Near { relative: 0.0, absolute: 1e-6 * columns as f64 }
}

fn running(kernel: &str, columns: usize, most: usize) -> Case {
    let ne = [columns, 3, 2, 2];
    let [threads, count] = blocks(columns, most);
    let input = Tensor::between(F32, 352, ne, Order::Padded, -1.0, 2.0);
    let sum_to = |from: usize, [_, i1, i2, i3]: [usize; 4], to: usize| {
        (from..to.min(columns)).map(|i0| input.at([i0, i1, i2, i3])).sum::<f64>()
    };
    let numbers = Tensor::places(ne).map(|place| sum_to(place[0] / threads * threads, place, place[0] + 1));
    let expected = Data::from_numbers(F32, numbers);
    let shape = [count, ne[1], ne[2], ne[3]];
    let numbers =
        Tensor::places(shape).map(|place| sum_to(place[0] * threads, place, (place[0] + 1) * threads));
    let sums = Data::from_numbers(F32, numbers);
    let kargs = Kargs::new("cumsum_blk").tensor("0", &input).set("outb", count > 1);
    let kargs = (0..4).fold(kargs, |kargs, d| kargs.set(&format!("net{d}"), shape[d]));
    let launch =
        dispatch(kernel, [count * ne[1], ne[2], ne[3]], [threads, 1, 1], &kargs).scalar(&input.bytes);
    let launch = launch.data(&untouched(&sums)).data(&untouched(&expected)).threadgroup(0, 128);
    let case = Case::exact(format!("{columns} columns in blocks of {threads}"), launch, 3, Data::new(F32));
    let sums =
        if count > 1 { output(2, sums, near(columns)) } else { output(2, Data::new(F32), Tolerance::Exact) };
    Case { expected: vec![output(3, expected, near(columns)), sums], ..case }
}

fn add(kernel: &str, columns: usize, most: usize) -> Case {
    let ne = [columns, 3, 2, 2];
    let [threads, count] = blocks(columns, most);
    let sums = Tensor::between(F32, 353, [count, ne[1], ne[2], ne[3]], Order::Contiguous, -9.0, 9.0);
    let before = Tensor::between(F32, 354, ne, Order::Contiguous, -9.0, 9.0);
    let numbers = Tensor::places(ne).map(|place| {
        let block = place[0] / threads;
        before.at(place) + if block > 0 { sums.at([block - 1, place[1], place[2], place[3]]) } else { 0.0 }
    });
    let expected = Data::from_numbers(F32, numbers);
    let kargs = Kargs::new("cumsum_add").tensor("0", &before).tensor("t", &sums);
    let launch = dispatch(kernel, [count * ne[1], ne[2], ne[3]], [threads, 1, 1], &kargs).scalar(&sums.bytes);
    let launch = launch.data(&guarded(before.data(F32)));
    let case = Case::exact(format!("{columns} columns in blocks of {threads}"), launch, 2, Data::new(F32));
    Case { expected: vec![output(2, expected, Tolerance::Exact)], ..case }
}
