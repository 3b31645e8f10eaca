//! `quantize.metal`: copies that convert between types and formats, also into other shapes and strides; rows
//! stored where numbers say; two tensors after each other.

use super::kargs::Kargs;
use super::launch::{MAX_THREADS, dispatch, doubled, ends_with};
use super::tensor::{Order, Tensor};
use crate::candle::input::Inputs;
use crate::case::Case;
use crate::compare::Tolerance;
use crate::data::{Data, Dtype};
use crate::quants::Format;
use crate::quants::encode::encoder;
use crate::suite::Level;

/// The cases of a kernel.
pub fn cases(kernel: &str, _level: Level) -> Option<Vec<Case>> {
    let name = kernel.strip_prefix("kernel_")?;
    if let Some(types) = name.strip_prefix("cpy_") {
        let (from, to) = split_types(types)?;
        return Some(match (Kind::named(from)?, Kind::named(to)?) {
            (Kind::Plain(from), Kind::Plain(to)) => converted(kernel, from, to),
            (Kind::Plain(_), Kind::Blocks(format)) => packed(kernel, format),
            (Kind::Blocks(format), Kind::Plain(to)) => unpacked(kernel, format, to),
            (Kind::Blocks(_), Kind::Blocks(_)) => return None,
        });
    }
    if let Some(types) = name.strip_prefix("set_rows_") {
        let (from, rest) = types.split_once('_')?;
        let (ids, to) = rest.split_once('_')?;
        let [from, ids] = [Dtype::named(from)?, Dtype::named(ids)?];
        let to = Kind::named(to)?;
        let cases = [([5, 7, 2, 1], 1), ([64, 3, 4, 2], 2), ([1100, 2, 1, 1], 1)];
        return Some(cases.map(|(ne, repeated)| stored(kernel, from, ids, to, ne, repeated)).into());
    }
    let kind = Kind::named(name.strip_prefix("concat_")?)?;
    Some((0..4).flat_map(|dimension| [5, 300].map(|width| joined(kernel, kind, dimension, width))).collect())
}

/// What a tensor is made of.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Plain(Dtype),
    Blocks(Format),
}

impl Kind {
    fn named(name: &str) -> Option<Self> {
        match Dtype::named(name) {
            Some(dtype) => Some(Self::Plain(dtype)),
            None => Some(Self::Blocks(Format::named(name)?)),
        }
    }

    /// Elements and bytes of a block.
    fn block(self) -> [usize; 2] {
        match self {
            Self::Plain(dtype) => [1, dtype.size()],
            Self::Blocks(format) => [format.elements, format.bytes],
        }
    }

    /// Blocks of numbers, rounded as the kernels do.
    fn encoded(self, numbers: &[f64]) -> Vec<u8> {
        match self {
            Self::Plain(dtype) => Data::from_numbers(dtype, numbers.iter().copied()).bytes,
            Self::Blocks(format) => {
                let (elements, encode) =
                    encoder(format.name).unwrap_or_else(|| panic!("{} is not encoded", format.name));
                let numbers: Vec<f32> = numbers.iter().map(|&x| x as f32).collect();
                numbers.chunks(elements).flat_map(encode).collect()
            }
        }
    }
}

/// Two names, each of which may have underscores.
fn split_types(types: &str) -> Option<(&str, &str)> {
    types
        .match_indices('_')
        .map(|(at, _)| (&types[..at], &types[at + 1..]))
        .find(|(from, to)| Kind::named(from).is_some() && Kind::named(to).is_some())
}

/// Numbers below 2 that formats with a mean as scale add up without rounding.
fn numbers(dtype: Dtype, seed: u64, ne: [usize; 4], order: Order) -> Tensor {
    scaled_numbers(dtype, seed, ne, order, 1.0)
}

fn scaled_numbers(dtype: Dtype, seed: u64, ne: [usize; 4], order: Order, scale: f64) -> Tensor {
    let mut inputs = Inputs::new(seed);
    let numbers: Vec<f64> = (0..ne.iter().product())
        .map(|_: usize| (inputs.between(-2.0, 2.0) * 1024.0).round() / 1024.0)
        .collect();
    Tensor::of_data(&Data::from_numbers(dtype, numbers.iter().map(|x| x * scale)), ne, order)
}

/// Threads for rows of that many pieces; few long rows are split, many short ones combined if `together`
/// allows.
fn launch_copy(
    kernel: &str,
    pieces: usize,
    ne: [usize; 4],
    together: bool,
    kargs: &Kargs,
) -> crate::case::Launch {
    let mut threads = (pieces * ne[1]).min(256);
    let mut rows = 1;
    if together && threads > pieces {
        rows = threads.div_ceil(pieces);
        threads = pieces;
        rows -= usize::from(rows * threads > 256);
    }
    threads = threads.min(pieces);
    let cuts = if rows == 1 { pieces.div_ceil(threads) } else { 1 };
    dispatch(kernel, [cuts * (ne[1] + rows - 1) / rows, ne[2], ne[3]], [threads, rows, 1], kargs)
}

fn copy_kargs(pieces: usize, from: &Tensor, to: &Tensor) -> Kargs {
    Kargs::new("cpy").tensor("0", from).tensor("", to).set("nk0", pieces)
}

/// A copy's output: elements in their places, and nothing between them.
fn into(name: String, launch: crate::case::Launch, to: &Tensor) -> Case {
    ends_with(name, launch, to.data(Dtype::U8), Tolerance::Exact)
}

fn converted(kernel: &str, from: Dtype, to: Dtype) -> Vec<Case> {
    let shapes = [
        ([33, 5, 3, 2], Order::Transposed, [33, 5, 3, 2], Order::Contiguous),
        ([5, 6, 2, 2], Order::Permuted, [5, 6, 2, 2], Order::Padded),
        ([600, 2, 1, 1], Order::Padded, [600, 2, 1, 1], Order::Permuted),
        ([10, 6, 2, 1], Order::Padded, [30, 4, 1, 1], Order::Contiguous),
    ];
    let case = |(from_shape, from_order, to_shape, to_order)| {
        let scale = if from.is_float() && to.is_float() { 1.0 } else { 1000.0 };
        let input = scaled_numbers(from, 381, from_shape, from_order, scale);
        let values = Data::from_numbers(to, Tensor::places(from_shape).map(|place| input.at(place)));
        let out = Tensor::of_data(&values, to_shape, to_order);
        let kargs = copy_kargs(from_shape[0], &input, &out);
        let launch = launch_copy(kernel, from_shape[0], from_shape, true, &kargs).scalar(&input.bytes);
        into(format!("{from_shape:?}, {from_order:?} to {to_shape:?}, {to_order:?}"), launch, &out)
    };
    shapes.map(case).into()
}

fn packed(kernel: &str, format: Format) -> Vec<Case> {
    let unit = format.elements;
    let shapes = [
        ([3 * unit, 5, 2, 2], Order::Padded, [3 * unit, 5, 2, 2], Order::Padded),
        ([unit, 7, 3, 1], Order::Permuted, [7 * unit, 3, 1, 1], Order::Contiguous),
    ];
    let case = |(from_shape, from_order, to_shape, to_order): ([usize; 4], Order, [usize; 4], Order)| {
        let input = numbers(Dtype::F32, 382, from_shape, from_order);
        let values: Vec<f64> = Tensor::places(from_shape).map(|place| input.at(place)).collect();
        let [width, rest @ ..] = to_shape;
        let blocks = [width / unit, rest[0], rest[1], rest[2]];
        let out = Tensor::of_blocks(format.bytes, &Kind::Blocks(format).encoded(&values), blocks, to_order);
        let pieces = from_shape[0] / unit;
        let kargs = copy_kargs(pieces, &input, &out).set("ne0", width);
        let launch = launch_copy(kernel, pieces, from_shape, false, &kargs).scalar(&input.bytes);
        into(format!("{from_shape:?}, {from_order:?} to {to_shape:?}, {to_order:?}"), launch, &out)
    };
    shapes.map(case).into()
}

fn unpacked(kernel: &str, format: Format, to: Dtype) -> Vec<Case> {
    let unit = format.elements;
    let shapes = [
        ([3 * unit, 5, 2, 2], Order::Padded, Order::Permuted),
        ([unit, 7, 3, 1], Order::Permuted, Order::Contiguous),
    ];
    let case = |(ne, from_order, to_order): ([usize; 4], Order, Order)| {
        let input = Tensor::random(format, 383, ne, from_order);
        let values = Data::from_numbers(to, Tensor::places(ne).map(|place| input.at(place)));
        let out = Tensor::of_data(&values, ne, to_order);
        let pieces = ne[0] / 16;
        let launch =
            launch_copy(kernel, pieces, ne, false, &copy_kargs(pieces, &input, &out)).scalar(&input.bytes);
        let tolerance = Tolerance::rounding(to, 2.0, 2e-6 / to.epsilon());
        ends_with(format!("{ne:?}, {from_order:?} to {to_order:?}"), launch, out.data(to), tolerance)
    };
    shapes.map(case).into()
}

/// Rows stored where numbers say, in every matrix or in several the same.
fn stored(kernel: &str, from: Dtype, ids: Dtype, to: Kind, ne: [usize; 4], repeated: usize) -> Case {
    const ROWS: usize = 9;
    let [elements, size] = to.block();
    let width = if elements == 1 { ne[0] } else { elements * (1 + ne[0] / 32) };
    let ne = [width, ne[1], ne[2], ne[3]];
    let input = numbers(from, 384, ne, Order::Padded);
    let mut inputs = Inputs::new(385);
    let lists = [ne[1], ne[2] / repeated, ne[3], 1];
    let chosen: Vec<i128> = (0..lists[1] * lists[2])
        .flat_map(|_| inputs.permutation(ROWS)[..ne[1]].to_vec())
        .map(|row| row as i128)
        .collect();
    let chosen = Tensor::of_data(&Data::from_integers(ids, chosen), lists, Order::Contiguous);
    let blocks = [width / elements, ROWS, ne[2], ne[3]];
    let mut memory = vec![0x5a; blocks.iter().product::<usize>() * size];
    for [_, i1, i2, i3] in Tensor::places([1, ne[1], ne[2], ne[3]]) {
        let row: Vec<f64> = (0..width).map(|i0| input.at([i0, i1, i2, i3])).collect();
        let to_row = chosen.at([i1, i2 % lists[1], i3 % lists[2], 0]) as usize;
        let at = ((i3 * ne[2] + i2) * ROWS + to_row) * blocks[0] * size;
        memory[at..at + blocks[0] * size].copy_from_slice(&to.encoded(&row));
    }
    let out = Tensor::of_blocks(size, &memory, blocks, Order::Contiguous);
    let kargs = Kargs::new("set_rows").tensor("0", &input).tensor("1", &chosen).tensor("", &out);
    let pieces = blocks[0];
    let kargs = kargs.set("nk0", pieces);
    let (mut threads, mut rows) = (doubled(pieces), 1);
    if threads > pieces {
        rows = threads.div_ceil(pieces);
        threads = pieces;
        rows -= usize::from(rows * threads > MAX_THREADS);
    }
    let launch = dispatch(kernel, [ne[1].div_ceil(rows), ne[2], ne[3]], [threads, rows, 1], &kargs);
    into(format!("{ne:?}, lists {lists:?}"), launch.scalar(&input.bytes).scalar(&chosen.bytes), &out)
}

/// Two tensors after each other along a dimension; extents are counted in blocks.
fn joined(kernel: &str, kind: Kind, dimension: usize, width: usize) -> Case {
    let [_, size] = kind.block();
    let first = [width, 3, 2, 2];
    let mut second = first;
    second[dimension] += 2;
    let of = |seed, ne: [usize; 4], order| {
        let mut inputs = Inputs::new(seed);
        let bytes: Vec<u8> =
            (0..ne.iter().product::<usize>() * size).map(|_| (inputs.word() >> 24) as u8).collect();
        (Tensor::of_blocks(size, &bytes, ne, order), bytes)
    };
    let (left, left_bytes) = of(386, first, Order::Permuted);
    let (right, right_bytes) = of(387, second, if size <= 8 { Order::Transposed } else { Order::Padded });
    let mut ne = first;
    ne[dimension] += second[dimension];
    let block = |mut place: [usize; 4]| {
        let is_left = place[dimension] < first[dimension];
        let (ne, bytes) = if is_left { (first, &left_bytes) } else { (second, &right_bytes) };
        place[dimension] -= if is_left { 0 } else { first[dimension] };
        let at = (((place[3] * ne[2] + place[2]) * ne[1] + place[1]) * ne[0] + place[0]) * size;
        bytes[at..at + size].to_vec()
    };
    let memory: Vec<u8> = Tensor::places(ne).flat_map(block).collect();
    let out = Tensor::of_blocks(size, &memory, ne, Order::Contiguous);
    let threads = ne[0].min(256);
    let mut rows = 256usize.div_ceil(threads).min(ne[1]);
    rows = if rows * threads > 256 { 256 / threads } else { rows };
    // Long rows are cut where there are few.
    let cuts = if rows == 1 { ne[0].div_ceil(threads) } else { 1 };
    let kargs = Kargs::new("concat").tensor("0", &left).tensor("1", &right).tensor("", &out);
    let kargs = kargs.set("dim", dimension).set("nc0", cuts);
    let launch = dispatch(kernel, [ne[1].div_ceil(rows) * cuts, ne[2], ne[3]], [threads, rows, 1], &kargs);
    into(format!("{first:?} and {second:?}"), launch.scalar(&left.bytes).scalar(&right.bytes), &out)
}
