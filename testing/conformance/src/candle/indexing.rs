//! `indexing.metal`: index select (`is_`), gather, scatter (`s_`), scatter-add (`sa_`), index-add (`ia_`),
//! each `_INDEX_TYPE`.
//!
//! A tensor is seen as left × dimension × right; the largest value of the index type means "nothing" and
//! reads as zero or is skipped.

use super::input::Inputs;
use super::layout::{contiguous, layouts};
use super::{guarded, launch, untouched};
use crate::case::Case;
use crate::data::{Data, Dtype};
use crate::suite::Level;

/// left, source dimension, right, and the number of ids (or the destination's dimension).
const SHAPES: &[[usize; 4]] = &[[1, 1, 1, 1], [1, 31, 1, 33], [3, 10, 7, 5], [2, 8, 32, 12], [5, 40, 5, 40]];

/// The cases of a kernel.
pub fn cases(kernel: &str, level: Level) -> Option<Vec<Case>> {
    let mut parts = kernel.split('_');
    let (operation, index, dtype) = (parts.next()?, parts.next()?, parts.next()?);
    let kind = Kind { index: Dtype::named(index)?, dtype: Dtype::named(dtype)? };
    let large = [[8, 64, 1024, 128]];
    let shapes = SHAPES.iter().chain(if level == Level::Full { &large[..] } else { &[] });
    let mut cases: Vec<Case> = Vec::new();
    for &shape in shapes {
        match operation {
            "is" => cases.push(select(kernel, kind, shape)),
            "gather" => cases.push(gather(kernel, kind, shape)),
            "s" | "sa" => cases.push(scatter(kernel, kind, shape, operation == "sa")),
            "ia" => cases.push(index_add(kernel, kind, shape)),
            _ => return None,
        }
    }
    if operation == "is" {
        cases.push(select_strided(kernel, kind));
    }
    Some(cases)
}

#[derive(Clone, Copy, Debug)]
struct Kind {
    index: Dtype,
    dtype: Dtype,
}

impl Kind {
    /// The index that means "nothing".
    fn nothing(self) -> i128 {
        let bits = self.index.size() as u32 * 8;
        if self.index.0.is_signed() { (1 << (bits - 1)) - 1 } else { (1 << bits) - 1 }
    }

    /// Indices below `bound`, every seventh "nothing"; with `beyond`, some just past the end.
    fn ids(self, count: usize, bound: usize, beyond: bool) -> Data {
        let mut inputs = Inputs::new(count as u64 + 5);
        let id = |number: usize| match number % 7 {
            3 => self.nothing(),
            5 if beyond => (bound + number % 3) as i128,
            _ => inputs.below(bound) as i128,
        };
        Data::from_integers(self.index, (0..count).map(id).collect::<Vec<_>>())
    }

    fn values(self, count: usize) -> Data {
        Inputs::new(count as u64).numbers(self.dtype, count, -50.0, 50.0)
    }

    fn zero(self) -> Data {
        Data::zeros(self.dtype, 1)
    }

    /// A sum, rounded once or wrapped.
    fn sum(self, a: &Data, i: usize, b: &Data, j: usize) -> Data {
        match self.dtype.is_float() {
            true => Data::from_numbers(self.dtype, [a.number(i) + b.number(j)]),
            false => Data::from_integers(self.dtype, [a.integer(i) + b.integer(j)]),
        }
    }
}

fn select(kernel: &str, kind: Kind, [left, dimension, right, ids]: [usize; 4]) -> Case {
    let count = left * ids * right;
    let (source, indices) = (kind.values(left * dimension * right), kind.ids(ids, dimension, true));
    let mut expected = Data::new(kind.dtype);
    for number in 0..count {
        let id = indices.integer(number / right % ids);
        let row = id.min(dimension as i128 - 1) as usize;
        let at = (number / right / ids * dimension + row) * right + number % right;
        let value = if id == kind.nothing() { kind.zero() } else { source.pick([at]) };
        expected.bytes.extend(value.bytes);
    }
    let shape = [left, dimension, right];
    let view = contiguous(&shape);
    let launch = launch(kernel, count).size(count).size(left).size(dimension).size(right).size(ids);
    let launch = launch.scalar([1]).sizes(&view.shape).sizes(&view.strides);
    let launch = launch.data(&source).data(&indices).data(&untouched(&expected));
    Case::exact(format!("{shape:?}, {ids} ids"), launch, 10, guarded(expected))
}

/// From a transposed matrix with two columns, the only kind of strided source that the kernel can take: it
/// uses the dimension's size as the rank.
fn select_strided(kernel: &str, kind: Kind) -> Case {
    let (rows, ids) = (37, 9);
    let view = layouts(&[rows, 2]).swap_remove(1);
    let (source, indices) = (kind.values(view.storage), kind.ids(ids, 2, true));
    let mut expected = Data::new(kind.dtype);
    for number in 0..rows * ids {
        let id = indices.integer(number % ids);
        let at = view.absolute(number / ids * 2 + id.min(1) as usize);
        let value = if id == kind.nothing() { kind.zero() } else { source.pick([at]) };
        expected.bytes.extend(value.bytes);
    }
    let launch = launch(kernel, rows * ids).size(rows * ids).size(rows).size(2).size(1).size(ids);
    let launch = launch.scalar([0]).sizes(&view.shape).sizes(&view.strides);
    let launch = launch.data(&source).data(&indices).data(&untouched(&expected));
    Case::exact("a transposed matrix", launch, 10, guarded(expected))
}

fn gather(kernel: &str, kind: Kind, [left, dimension, right, ids]: [usize; 4]) -> Case {
    let count = left * ids * right;
    let (source, indices) = (kind.values(left * dimension * right), kind.ids(count, dimension, false));
    let mut expected = Data::new(kind.dtype);
    for number in 0..count {
        let id = indices.integer(number);
        let at = |row: usize| (number / right / ids * dimension + row) * right + number % right;
        let value = if id == kind.nothing() { kind.zero() } else { source.pick([at(id as usize)]) };
        expected.bytes.extend(value.bytes);
    }
    let launch = launch(kernel, count).size(count).size(left).size(dimension).size(right).size(ids);
    let launch = launch.data(&source).data(&indices).data(&untouched(&expected));
    Case::exact(format!("{left}×{dimension}×{right}, {ids} ids"), launch, 7, guarded(expected))
}

/// Replaces an element of `all`.
fn put(all: &mut Data, at: usize, value: &Data) {
    let size = all.dtype.size();
    all.bytes[at * size..(at + 1) * size].copy_from_slice(&value.bytes);
}

fn scatter(kernel: &str, kind: Kind, [left, dimension, right, to]: [usize; 4], add: bool) -> Case {
    let source = kind.values(left * dimension * right);
    let indices = kind.ids(source.len(), to, false);
    let mut expected = Inputs::new(77).numbers(kind.dtype, left * to * right, -20.0, 20.0);
    let before = expected.clone();
    for (l, r) in (0..left).flat_map(|l| (0..right).map(move |r| (l, r))) {
        for j in 0..dimension {
            let from = (l * dimension + j) * right + r;
            let id = indices.integer(from);
            if id == kind.nothing() {
                continue;
            }
            let at = (l * to + id as usize) * right + r;
            let value = if add { kind.sum(&expected, at, &source, from) } else { source.pick([from]) };
            put(&mut expected, at, &value);
        }
    }
    let threads = left * right;
    let launch = launch(kernel, threads).size(threads).size(left).size(dimension).size(right).size(to);
    let launch = launch.data(&source).data(&indices).data(&guarded(before));
    Case::exact(format!("{left}×{dimension}×{right} into {to}"), launch, 7, guarded(expected))
}

fn index_add(kernel: &str, kind: Kind, [left, ids, right, to]: [usize; 4]) -> Case {
    let source = kind.values(left * ids * right);
    let indices = kind.ids(ids, to, false);
    let mut expected = Inputs::new(78).numbers(kind.dtype, left * to * right, -20.0, 20.0);
    let before = expected.clone();
    for (l, r) in (0..left).flat_map(|l| (0..right).map(move |r| (l, r))) {
        for j in (0..ids).filter(|&j| indices.integer(j) != kind.nothing()) {
            let at = (l * to + indices.integer(j) as usize) * right + r;
            let value = kind.sum(&expected, at, &source, (l * ids + j) * right + r);
            put(&mut expected, at, &value);
        }
    }
    let threads = left * right;
    let launch = launch(kernel, threads).size(threads).size(left).size(ids).size(right).size(to).size(ids);
    let launch = launch.data(&source).data(&indices).data(&guarded(before));
    Case::exact(format!("{left}×{ids}×{right} into {to}"), launch, 8, guarded(expected))
}
