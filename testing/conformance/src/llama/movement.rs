//! Kernels that move elements: `misc.metal`'s padding and rolling, diagonals, `tri.metal`'s triangles,
//! `binbcast.metal`'s repetition and sums with chosen rows, `quantize.metal`'s concatenation.

use super::kargs::Kargs;
use super::launch::{MAX_THREADS, dispatch, doubled, ends_with, per_row};
use super::tensor::{Order, Tensor};
use crate::candle::input::Inputs;
use crate::case::{Case, Constant};
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::suite::Level;

const F32: Dtype = Dtype::F32;

/// The cases of a kernel.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let name = kernel.strip_prefix("kernel_")?;
    let orders = [Order::Contiguous, Order::Padded, Order::Permuted, Order::Transposed];
    Some(match name {
        "diag_f32" => [1, 33, 70].map(|size| diagonal(kernel, size)).into(),
        "roll_f32" => [([7, 5, 3, 2], [2, -1, 1, 0]), ([1100, 3, 2, 1], [-1099, 2, -1, 0])]
            .map(|(ne, shifts)| roll(kernel, ne, shifts))
            .into(),
        "pad_f32" => {
            let edges =
                [([33, 5, 3, 2], [3, 2, 1, 0], [0, 2, 1, 1]), ([1100, 2, 1, 1], [0, 1, 0, 0], [7, 0, 0, 0])];
            let variants = edges.into_iter().flat_map(|edge| [false, true].map(|circular| (edge, circular)));
            let with_order = variants.zip(orders);
            with_order.map(|((edge, circular), order)| pad(kernel, edge, circular, order)).collect()
        }
        "pad_reflect_1d_f32" => [(33, [3, 5]), (9, [8, 0]), (1100, [0, 7])]
            .map(|(columns, edges)| reflect(kernel, columns, edges))
            .into(),
        "add_id" => [1, 33, 1100].map(|columns| add_rows(kernel, columns)).into(),
        _ if name.starts_with("tri_") => {
            let (dtype, kind) = name.strip_prefix("tri_")?.split_once('_')?;
            let (dtype, kind) = (Dtype::named(dtype)?, kind.parse().ok()?);
            [([5, 5, 3, 2], orders[0]), ([33, 40, 2, 1], orders[1]), ([70, 35, 2, 2], orders[2])]
                .map(|(ne, order)| triangle(kernel, dtype, kind, ne, order))
                .into()
        }
        _ if name.starts_with("repeat_") => {
            let dtype = Dtype::named(name.strip_prefix("repeat_")?)?;
            orders.map(|order| repeat(kernel, dtype, order)).into()
        }
        _ => return None,
    })
}

/// Elements of any plain type.
fn elements(dtype: Dtype, seed: u64, ne: [usize; 4], order: Order) -> Tensor {
    Tensor::between(dtype, seed, ne, order, -100.0, 100.0)
}

fn diagonal(kernel: &str, size: usize) -> Case {
    let ne = [size, size, 3, 2];
    let input = elements(F32, 311, [size, 1, 3, 2], Order::Contiguous);
    let numbers = Tensor::places(ne).map(|place| if place[0] == place[1] { input.at(place) } else { 0.0 });
    let expected = Data::from_numbers(F32, numbers);
    let kargs = Kargs::new("diag").tensor("0", &input).tensor("", &Tensor::shape(ne, 4));
    let launch = per_row(kernel, ne, 32, &kargs).scalar(&input.bytes);
    ends_with(format!("{ne:?}"), launch, expected, Tolerance::Exact)
}

fn roll(kernel: &str, ne: [usize; 4], shifts: [i64; 4]) -> Case {
    let input = elements(F32, 312, ne, Order::Contiguous);
    let from = |place: [usize; 4]| {
        [0, 1, 2, 3].map(|d| (place[d] as i64 - shifts[d]).rem_euclid(ne[d] as i64) as usize)
    };
    let expected = Data::from_numbers(F32, Tensor::places(ne).map(|place| input.at(from(place))));
    let kargs = Kargs::new("roll").tensor("0", &input).tensor("", &Tensor::shape(ne, 4));
    let kargs = (0..4).fold(kargs, |kargs, d| kargs.set(&format!("s{d}"), shifts[d]));
    let launch = per_row(kernel, ne, ne[0].min(MAX_THREADS), &kargs).scalar(&input.bytes);
    ends_with(format!("{ne:?} by {shifts:?}"), launch, expected, Tolerance::Exact)
}

/// Extents, elements before them, elements after them.
type Edges = ([usize; 4], [usize; 4], [usize; 4]);

fn pad(kernel: &str, (inner, before, behind): Edges, circular: bool, order: Order) -> Case {
    const PIECE: usize = 1024;
    let input = elements(F32, 313, inner, order);
    let ne = [0, 1, 2, 3].map(|d| before[d] + inner[d] + behind[d]);
    let numbers = Tensor::places(ne).map(|place| {
        let from = [0, 1, 2, 3].map(|d| place[d].wrapping_sub(before[d]));
        let wrapped = [0, 1, 2, 3].map(|d| (place[d] + inner[d] - before[d]) % inner[d]);
        match circular {
            true => input.at(wrapped),
            false if (0..4).all(|d| from[d] < inner[d]) => input.at(from),
            false => 0.0,
        }
    });
    let expected = Data::from_numbers(F32, numbers);
    let kargs = Kargs::new("pad").tensor("0", &input).tensor("", &Tensor::shape(ne, 4));
    let kargs = (0..4).fold(kargs, |kargs, d| kargs.set(&format!("lp{d}"), before[d]));
    let groups = [ne[0].div_ceil(PIECE) * ne[1], ne[2], ne[3]];
    let launch = dispatch(kernel, groups, [ne[0].min(64), 1, 1], &kargs).scalar(&input.bytes);
    let launch = launch.constant(2100, Constant::Bool(circular));
    ends_with(
        format!("{inner:?} to {ne:?}, {order:?}, circular {circular}"),
        launch,
        expected,
        Tolerance::Exact,
    )
}

fn reflect(kernel: &str, columns: usize, edges: [usize; 2]) -> Case {
    let inner = [columns, 3, 2, 2];
    let input = elements(F32, 314, inner, Order::Padded);
    let ne = [edges[0] + columns + edges[1], 3, 2, 2];
    let mirrored = |i0: usize| {
        let distance = (i0 as i64 - edges[0] as i64).unsigned_abs() as usize;
        if distance < columns { distance } else { 2 * (columns - 1) - distance }
    };
    let numbers = Tensor::places(ne).map(|[i0, i1, i2, i3]| input.at([mirrored(i0), i1, i2, i3]));
    let expected = Data::from_numbers(F32, numbers);
    let kargs = Kargs::new("pad_reflect_1d").tensor("0", &input).tensor("", &Tensor::shape(ne, 4));
    let kargs = kargs.set("p0", edges[0]).set("p1", edges[1]);
    let launch = per_row(kernel, ne, ne[0].min(MAX_THREADS), &kargs).scalar(&input.bytes);
    ends_with(format!("{columns} columns and {edges:?}"), launch, expected, Tolerance::Exact)
}

fn triangle(kernel: &str, dtype: Dtype, kind: u32, ne: [usize; 4], order: Order) -> Case {
    let input = elements(dtype, 315, ne, order);
    let is_kept = |[i0, i1, ..]: [usize; 4]| match kind {
        0 => i0 >= i1,
        1 => i0 > i1,
        2 => i0 <= i1,
        _ => i0 < i1,
    };
    let numbers = Tensor::places(ne).map(|place| if is_kept(place) { input.at(place) } else { 0.0 });
    let expected = Data::from_numbers(dtype, numbers);
    let kargs = Kargs::new("tri").tensor("0", &input).tensor("", &Tensor::shape(ne, dtype.size()));
    let launch = per_row(kernel, ne, doubled(ne[0]).min(ne[0]), &kargs).scalar(&input.bytes);
    ends_with(format!("{ne:?}, {order:?}"), launch, expected, Tolerance::Exact)
}

fn repeat(kernel: &str, dtype: Dtype, order: Order) -> Case {
    let input = elements(dtype, 316, [35, 3, 2, 1], order);
    let ne = [70, 9, 2, 3];
    let expected = Data::from_numbers(dtype, Tensor::places(ne).map(|place| input.at(place)));
    let kargs = Kargs::new("repeat").tensor("0", &input).tensor("", &Tensor::shape(ne, dtype.size()));
    let launch = per_row(kernel, ne, ne[0].min(MAX_THREADS), &kargs).scalar(&input.bytes);
    ends_with(format!("{order:?}"), launch, expected, Tolerance::Exact)
}

/// To each row another one is added, which a number chooses.
fn add_rows(kernel: &str, columns: usize) -> Case {
    let (ne, choices) = ([columns, 4, 5, 1], 7);
    let input = Tensor::between(F32, 317, ne, Order::Padded, -2.0, 2.0);
    let added = Tensor::between(F32, 318, [columns, choices, 1, 1], Order::Padded, -2.0, 2.0);
    let ids =
        Tensor::of_data(&Inputs::new(319).indices(Dtype::I32, 20, choices), [4, 5, 1, 1], Order::Padded);
    let numbers = Tensor::places(ne).map(|place| {
        let row = ids.at([place[1], place[2], 0, 0]) as usize;
        input.at(place) + added.at([place[0], row, 0, 0])
    });
    let expected = Data::from_numbers(F32, numbers);
    let kargs = Kargs::new("add_id").tensor("0", &input).tensor("1", &added).tensor("2", &ids);
    let kargs = kargs.set("ne0", ne[0]).set("ne1", ne[1]);
    let threads = columns.min(MAX_THREADS);
    let launch = dispatch(kernel, [ne[1], ne[2], 1], [threads, 1, 1], &kargs).scalar(&input.bytes);
    let launch = launch.scalar(&added.bytes).scalar(&ids.bytes);
    ends_with(format!("{columns} columns"), launch, expected, Tolerance::Exact)
}
