//! How a kernel walks over tensors of one shape: the structure `Layout` of `kernels/prelude.metal`.
//!
//! Owns [`Layout`]. Invariant: dimensions that all operands can walk as one are merged, and those
//! of one element are dropped; positions fit 31 bits, which [`crate::Tensor`] guarantees.

use bytemuck::{Pod, Zeroable};

use crate::kernels::{Defines, MAX_OPERANDS};
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

    /// What kernels know of it when they are compiled: the macros `RANK`, and `AT_START` if every operand
    /// begins where its memory does.
    pub(crate) fn defines(&self) -> Defines {
        let defines = Defines::default().with("RANK", self.rank);
        if self.offsets == [0; MAX_OPERANDS] { defines.with("AT_START", 1) } else { defines }
    }

    /// The same positions with vectors of that many neighbours for elements, if every operand has one for all
    /// neighbours or vectors that begin at multiples of their size from the start of its memory. Operands
    /// with one element for all are still counted in elements.
    pub(crate) fn in_vectors(&self, lanes: u32, operands: usize) -> Option<Layout> {
        let mut layout = *self;
        layout.inner = exact(self.inner, lanes)?;
        for operand in 0..operands {
            match self.inner_strides[operand] {
                0 => {}
                1 => {
                    layout.offsets[operand] = exact(self.offsets[operand], lanes as i32)?;
                    for stride in &mut layout.strides[operand] {
                        *stride = exact(*stride, lanes as i32)?;
                    }
                }
                _ => return None,
            }
        }
        Some(layout)
    }

    /// The same rows with vectors of that many neighbours for elements, if all operands' rows begin at
    /// multiples of their size.
    pub(crate) fn rows_in_vectors(&self, lanes: u32, operands: usize) -> Option<Layout> {
        let mut layout = *self;
        for operand in 0..operands {
            layout.offsets[operand] = exact(self.offsets[operand], lanes as i32)?;
            for stride in &mut layout.strides[operand] {
                *stride = exact(*stride, lanes as i32)?;
            }
        }
        Some(layout)
    }

    /// How many dimensions there are besides the innermost.
    pub(crate) fn rank(&self) -> u32 {
        self.rank
    }

    /// Positions of the innermost dimension from there on, that many.
    pub(crate) fn part(&self, first: u32, count: u32) -> Layout {
        let mut layout = Layout { inner: count, ..*self };
        for (offset, stride) in layout.offsets.iter_mut().zip(self.inner_strides) {
            *offset += first as i32 * stride;
        }
        layout
    }
}

/// The quotient, if nothing is left over.
fn exact<T>(value: T, divisor: T) -> Option<T>
where
    T: Copy + PartialEq + Default + std::ops::Div<Output = T> + std::ops::Rem<Output = T>,
{
    (value % divisor == T::default()).then(|| value / divisor)
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
    fn vectors_need_multiples() {
        let (whole, row) =
            (Operand { strides: &[64, 1], offset: 8 }, Operand { strides: &[0, 1], offset: 4 });
        let layout = Layout::with_inner(&[3, 32], &[whole, row]).in_vectors(4, 2).unwrap();
        assert_eq!((layout.inner, layout.outer), (8, 3));
        assert_eq!(
            (layout.strides[0][0], layout.strides[1][0], layout.offsets[..2].to_vec()),
            (16, 0, vec![2, 1])
        );
        let column = Operand { strides: &[3, 0], offset: 5 };
        let layout = Layout::with_inner(&[3, 32], &[whole, column]).in_vectors(4, 2).unwrap();
        assert_eq!((layout.strides[1][0], layout.offsets[1]), (3, 5), "in elements");
        for other in [Operand { strides: &[33, 1], offset: 0 }, Operand { strides: &[64, 2], offset: 0 }] {
            assert!(Layout::with_inner(&[3, 32], &[whole, other]).in_vectors(4, 2).is_none());
        }
        let shifted = Operand { strides: &[64, 1], offset: 2 };
        assert!(Layout::with_inner(&[3, 32], &[shifted, whole]).in_vectors(4, 2).is_none());
        assert!(Layout::with_inner(&[3, 30], &[whole, row]).in_vectors(4, 2).is_none());
    }

    #[test]
    fn a_part_begins_further_along() {
        let layout = Layout::with_inner(&[9], &[Operand { strides: &[-2], offset: 20 }]).part(4, 5);
        assert_eq!((layout.inner, layout.offsets[0]), (5, 12));
    }

    #[test]
    fn scalars_have_one_element() {
        let layout = Layout::with_inner(&[], &[Operand { strides: &[], offset: 3 }]);
        assert_eq!((layout.inner, layout.outer, layout.rank), (1, 1, 0));
    }
}
