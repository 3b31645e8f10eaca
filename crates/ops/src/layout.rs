//! How a kernel walks over tensors of one shape: the structure `Layout` of `kernels/prelude.metal`.
//!
//! Owns [`Layout`]. Invariant: dimensions that all operands can walk as one are merged, and those
//! of one element are dropped; positions fit 31 bits, which [`crate::Tensor`] guarantees.

use bytemuck::{Pod, Zeroable};

use crate::kernels::MAX_OPERANDS;
use crate::tensor::Tensor;

/// The most dimensions that a tensor may have.
pub(crate) const MAX_RANK: usize = 8;

/// A shape with the strides of up to four operands, in elements. The innermost dimension is apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Layout {
    /// Elements of the innermost dimension.
    pub(crate) inner: u32,
    /// Product of all other dimensions.
    pub(crate) outer: u32,
    rank: u32,
    shape: [u32; MAX_RANK],
    strides: [[i32; MAX_RANK]; MAX_OPERANDS],
    inner_strides: [i32; MAX_OPERANDS],
    offsets: [i32; MAX_OPERANDS],
}

impl Layout {
    /// The innermost dimension apart from the others.
    pub(crate) fn with_inner(shape: &[usize], operands: &[Operand<'_>]) -> Layout {
        let (mut shape, mut strides) = merged(shape, operands);
        let inner = shape.pop().unwrap_or(1);
        let mut inner_strides = [0; MAX_OPERANDS];
        for (stride, strides) in inner_strides.iter_mut().zip(&mut strides) {
            *stride = strides.pop().unwrap_or(1) as i32;
        }
        Layout { inner: inner as u32, inner_strides, ..Layout::of(&shape, &strides, operands) }
    }

    /// All dimensions as outer ones; the innermost one has one element.
    pub(crate) fn rows(shape: &[usize], operands: &[Operand<'_>]) -> Layout {
        let (shape, strides) = merged(shape, operands);
        Layout::of(&shape, &strides, operands)
    }

    fn of(shape: &[usize], strides: &[Vec<isize>], operands: &[Operand<'_>]) -> Layout {
        let mut layout = Layout::zeroed();
        layout.inner = 1;
        layout.outer = shape.iter().product::<usize>() as u32;
        layout.rank = shape.len() as u32;
        for (to, &extent) in layout.shape.iter_mut().zip(shape) {
            *to = extent as u32;
        }
        for (operand, strides) in strides.iter().enumerate() {
            layout.offsets[operand] = operands[operand].offset as i32;
            for (to, &stride) in layout.strides[operand].iter_mut().zip(strides) {
                *to = stride as i32;
            }
        }
        layout
    }

    /// An operand's distance between neighbours of the innermost dimension.
    pub(crate) fn inner_stride(&self, operand: usize) -> i32 {
        self.inner_strides[operand]
    }
}

/// One tensor's strides for a layout's shape.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operand<'a> {
    pub(crate) strides: &'a [isize],
    pub(crate) offset: usize,
}

impl<'a> From<&'a Tensor> for Operand<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Operand { strides: tensor.strides(), offset: tensor.offset() }
    }
}

/// The shape and each operand's strides with as few dimensions as can be.
fn merged(shape: &[usize], operands: &[Operand<'_>]) -> (Vec<usize>, Vec<Vec<isize>>) {
    assert!(operands.len() <= MAX_OPERANDS && shape.len() <= MAX_RANK, "more than a layout holds");
    let mut extents: Vec<usize> = Vec::new();
    let mut strides = vec![Vec::new(); operands.len()];
    for dimension in (0..shape.len()).filter(|&dimension| shape[dimension] != 1) {
        let extent = shape[dimension];
        let mergeable = |(known, operand): (&Vec<isize>, &Operand<'_>)| {
            known.last().is_some_and(|&last| last == operand.strides[dimension] * extent as isize)
        };
        let merge = !extents.is_empty() && strides.iter().zip(operands).all(mergeable);
        if merge {
            if let Some(last) = extents.last_mut() {
                *last *= extent;
            }
        } else {
            extents.push(extent);
        }
        for (known, operand) in strides.iter_mut().zip(operands) {
            if merge {
                known.pop();
            }
            known.push(operand.strides[dimension]);
        }
    }
    (extents, strides)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contiguous_dimensions_merge() {
        let contiguous = Operand { strides: &[12, 4, 4, 1], offset: 5 };
        let layout = Layout::with_inner(&[2, 3, 1, 4], &[contiguous, contiguous]);
        assert_eq!((layout.inner, layout.outer, layout.rank), (24, 1, 0));
        assert_eq!((layout.inner_stride(1), layout.offsets[1]), (1, 5));
    }

    #[test]
    fn an_operand_that_broadcasts_keeps_dimensions_apart() {
        let contiguous = Operand { strides: &[12, 4, 1], offset: 0 };
        let broadcast = Operand { strides: &[0, 4, 1], offset: 0 };
        let layout = Layout::with_inner(&[2, 3, 4], &[contiguous, broadcast]);
        assert_eq!((layout.inner, layout.outer, layout.rank), (12, 2, 1));
        assert_eq!((layout.strides[0][0], layout.strides[1][0]), (12, 0));
    }

    #[test]
    fn scalars_have_one_element() {
        let layout = Layout::with_inner(&[], &[Operand { strides: &[], offset: 3 }]);
        assert_eq!((layout.inner, layout.outer, layout.rank), (1, 1, 0));
    }
}
