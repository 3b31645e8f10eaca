//! Elements of a tensor in another arrangement: repeated, mirrored at the edges, on diagonals.
//!
//! Owns the operations here, all of copies and views. Invariant: only elements of the tensor and zeros come
//! out.

use crate::context::Ops;
use crate::error::OpError;
use crate::shape::checked_count;
use crate::tensor::Tensor;

/// What [`Ops::pad_with`] puts beyond the edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PadMode {
    /// The elements next to the edge, mirrored at it; the edge's own is not repeated.
    Reflect,
    /// The edge's element.
    Replicate,
}

impl Tensor {
    /// The diagonal of a matrix as a view; 0 is the main one, those above it count up.
    pub fn diagonal(&self, diagonal: isize) -> Result<Tensor, OpError> {
        let &[rows, columns] = self.shape() else {
            return Err(OpError::shape("diagonal", &[self.shape()], "two dimensions are needed"));
        };
        let (down, right) = ((-diagonal).max(0).unsigned_abs(), diagonal.max(0).unsigned_abs());
        let count = rows.saturating_sub(down).min(columns.saturating_sub(right));
        let step = self.strides()[0] + self.strides()[1];
        let first = down as isize * self.strides()[0] + right as isize * self.strides()[1];
        // A diagonal of no elements begins nowhere.
        let offset = if count == 0 { self.offset() } else { (self.offset() as isize + first) as usize };
        Ok(self.seen_as(vec![count], vec![step], offset))
    }
}

impl Ops {
    /// Of one dimension: a matrix of zeros with the elements on that diagonal. Of two: a copy of that
    /// diagonal.
    pub fn diag(&self, x: &Tensor, diagonal: isize) -> Result<Tensor, OpError> {
        match x.rank() {
            1 => {
                let size = x.len().checked_add(diagonal.unsigned_abs());
                let size = size.ok_or_else(|| OpError::argument("diag", "there is no such diagonal"))?;
                let out = self.zeros(&[size, size], x.dtype())?;
                self.copy_into(x, &out.diagonal(diagonal)?)?;
                Ok(out)
            }
            2 => self.copy(&x.diagonal(diagonal)?),
            _ => Err(OpError::shape("diag", &[x.shape()], "one or two dimensions are needed")),
        }
    }

    /// The tensor so many times along each dimension; counts before the tensor's dimensions make new ones.
    pub fn repeat(&self, x: &Tensor, counts: &[usize]) -> Result<Tensor, OpError> {
        let Some(added) = counts.len().checked_sub(x.rank()) else {
            let rule = format!("{} counts were given, one is needed for each dimension", counts.len());
            return Err(OpError::shape("repeat", &[x.shape()], rule));
        };
        let mut shape = vec![1; added];
        shape.extend_from_slice(x.shape());
        let wanted = shape.iter().zip(counts).map(|(&extent, &count)| extent.checked_mul(count));
        let wanted = wanted.collect::<Option<Vec<usize>>>();
        let wanted =
            wanted.ok_or_else(|| OpError::argument("repeat", "an extent would exceed every integer"))?;
        checked_count("repeat", &wanted)?;
        let mut out = self.reshape(x, &shape)?;
        for (dimension, &count) in counts.iter().enumerate().filter(|(_, count)| **count != 1) {
            out = self.repeated(&out, dimension, count)?;
        }
        if out.is_contiguous() { Ok(out) } else { self.copy(&out) }
    }

    /// The elements of a dimension several times: a new one that is repeated, merged with it.
    fn repeated(&self, x: &Tensor, dimension: usize, count: usize) -> Result<Tensor, OpError> {
        let (before, after) = x.shape().split_at(dimension);
        let rows: usize = before.iter().product();
        let rest: usize = after.iter().product();
        let lines = self.reshape(x, &[rows, 1, rest])?.broadcast_to(&[rows, count, rest])?;
        let mut shape = x.shape().to_vec();
        shape[dimension] *= count;
        self.reshape(&self.copy(&lines)?, &shape)
    }

    /// As many elements before and after each dimension as the pairs say, taken from the tensor. Reflecting
    /// needs more elements along a dimension than are put on one side of it, replicating one.
    pub fn pad_with(&self, x: &Tensor, pads: &[(usize, usize)], mode: PadMode) -> Result<Tensor, OpError> {
        check_pads(x.shape(), pads, mode)?;
        let mut out = x.clone();
        for (dimension, &(before, after)) in pads.iter().enumerate() {
            if (before, after) != (0, 0) {
                let (left, right) = edges(&out, dimension, (before, after), mode)?;
                out = self.concat(&[&left, &out, &right], dimension as isize)?;
            }
        }
        self.contiguous(&out)
    }

    /// The gradient of the input of [`Ops::pad_with`], of that shape, from that of the result.
    pub fn pad_with_backward(
        &self,
        gradient: &Tensor,
        pads: &[(usize, usize)],
        mode: PadMode,
    ) -> Result<Tensor, OpError> {
        let inner = gradient.shape().iter().zip(pads).map(|(&extent, &(before, after))| {
            extent.checked_sub(before).and_then(|rest| rest.checked_sub(after))
        });
        let inner = inner.collect::<Option<Vec<usize>>>();
        let inner = inner.ok_or_else(|| {
            OpError::shape("pad_with_backward", &[gradient.shape()], "it is smaller than what was put on")
        })?;
        check_pads(&inner, pads, mode)?;
        let mut out = gradient.clone();
        for (dimension, &(before, after)) in pads.iter().enumerate().rev() {
            if (before, after) != (0, 0) {
                out = self.folded(&out, dimension, (before, after), mode)?;
            }
        }
        self.contiguous(&out)
    }

    /// The gradient of one dimension: what is beyond the edges added to where it came from.
    fn folded(
        &self,
        gradient: &Tensor,
        dimension: usize,
        (before, after): (usize, usize),
        mode: PadMode,
    ) -> Result<Tensor, OpError> {
        let along = dimension as isize;
        let extent = gradient.shape()[dimension] - before - after;
        let mut out = gradient.narrow(along, before..before + extent)?;
        let sides = [(0..before, true), (before + extent..before + extent + after, false)];
        for (range, is_left) in sides.into_iter().filter(|(range, _)| !range.is_empty()) {
            let part = gradient.narrow(along, range)?;
            let (part, first) = match (mode, is_left) {
                (PadMode::Reflect, true) => (part.flip(along)?, 1),
                (PadMode::Reflect, false) => (part.flip(along)?, extent - 1 - after),
                (PadMode::Replicate, true) => (self.sum(&part, &[along], true)?, 0),
                (PadMode::Replicate, false) => (self.sum(&part, &[along], true)?, extent - 1),
            };
            let mut pads = vec![(0, 0); gradient.rank()];
            pads[dimension] = (first, extent - first - part.shape()[dimension]);
            out = self.add(&out, &self.pad(&part, &pads, 0.0)?)?;
        }
        Ok(out)
    }
}

/// What comes before and after a dimension.
fn edges(
    x: &Tensor,
    dimension: usize,
    (before, after): (usize, usize),
    mode: PadMode,
) -> Result<(Tensor, Tensor), OpError> {
    let (along, extent) = (dimension as isize, x.shape()[dimension]);
    let repeated = |range: std::ops::Range<usize>, count: usize| {
        let mut shape = x.shape().to_vec();
        shape[dimension] = count;
        if count == 0 { x.narrow(along, 0..0) } else { x.narrow(along, range)?.broadcast_to(&shape) }
    };
    match mode {
        PadMode::Reflect => Ok((
            x.narrow(along, if before == 0 { 0..0 } else { 1..before + 1 })?.flip(along)?,
            x.narrow(along, if after == 0 { 0..0 } else { extent - 1 - after..extent - 1 })?.flip(along)?,
        )),
        PadMode::Replicate => {
            Ok((repeated(0..1, before)?, repeated(extent.saturating_sub(1)..extent, after)?))
        }
    }
}

fn check_pads(shape: &[usize], pads: &[(usize, usize)], mode: PadMode) -> Result<(), OpError> {
    if pads.len() != shape.len() {
        let rule = format!("{} pairs were given, one is needed for each dimension", pads.len());
        return Err(OpError::shape("pad_with", &[shape], rule));
    }
    let needed = |&(before, after): &(usize, usize)| match mode {
        PadMode::Reflect => before.max(after),
        PadMode::Replicate => 0,
    };
    let lacks = |(&extent, pads): (&usize, &(usize, usize))| *pads != (0, 0) && extent <= needed(pads);
    if shape.iter().zip(pads).any(lacks) {
        let rule = "a dimension has too few elements to take the padding from";
        return Err(OpError::shape("pad_with", &[shape], rule));
    }
    let padded = |(&extent, &(before, after)): (&usize, &(usize, usize))| {
        extent.checked_add(before).and_then(|sum| sum.checked_add(after))
    };
    let padded = shape.iter().zip(pads).map(padded).collect::<Option<Vec<usize>>>();
    let padded =
        padded.ok_or_else(|| OpError::argument("pad_with", "an extent would exceed every integer"))?;
    checked_count("pad_with", &padded).map(drop)
}
