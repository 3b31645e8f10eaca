//! Products by the device's own library, as commands of the queue: cuBLAS on NVIDIA GPUs.
//!
//! Invariant: nothing is copied for the library; what it does not take as it lies is left to kernels.

use std::sync::Arc;

use anymetal::DeviceKind;
use anymetal::command::{MatrixOperand, MatrixProduct};
use anymetal::reflection::ScalarType;

use crate::context::Ops;
use crate::dtype::DType;
use crate::error::OpError;
use crate::matmul::{Factors, MIN_TILED_ROWS};
use crate::tensor::Tensor;

/// Where a batch of matrices lies in a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    row_stride: usize,
    batch_stride: usize,
    transposed: bool,
}

/// How a product is handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    rows: usize,
    batches: usize,
    left: Place,
    right: Place,
}

impl Ops {
    /// The product in that type, if the library takes it; if it is not forced, only where it pays.
    pub(super) fn product_by_device(
        &self,
        factors: &Factors,
        dtype: DType,
        is_forced: bool,
    ) -> Result<Option<Tensor>, OpError> {
        let (Some(element), Some(result)) = (element(factors.a.dtype()), element(dtype)) else {
            return Ok(None);
        };
        let fits = factors.b.dtype() == factors.a.dtype() && (result == element || dtype == DType::F32);
        let least = if is_forced { 1 } else { min_rows(self.device().capabilities().kind) };
        let Some(shape) = shape(factors).filter(|shape| fits && shape.rows >= least) else {
            return Ok(None);
        };
        let out = self.empty(&factors.shape(), dtype)?;
        let columns = factors.columns;
        let target = Place { row_stride: columns, batch_stride: shape.rows * columns, transposed: false };
        let operands = [operand(&factors.a, element, shape.left), operand(&factors.b, element, shape.right)];
        let extents = [shape.rows, columns, factors.inner].map(|extent| extent as u32);
        let product = MatrixProduct::new(operands, operand(&out, result, target), extents)
            .batches(shape.batches as u32);
        let mut commands = self.queue().command_buffer()?.label("matmul");
        commands.multiply(product)?;
        self.note_submission(commands.commit()?);
        Ok(Some(out))
    }
}

/// Rows from which on the library of such devices is faster than kernels. cuBLAS is from one row of 4096
/// elements and from 16 by 16 elements on, the least that `ops-bench crossover` measures (H200). Where
/// nothing was measured that is where kernels would have tiles: rows by themselves read the right factor
/// once by a kernel, too.
fn min_rows(kind: DeviceKind) -> usize {
    match kind {
        DeviceKind::Nvidia => 1,
        _ => MIN_TILED_ROWS,
    }
}

fn element(dtype: DType) -> Option<ScalarType> {
    match dtype {
        DType::F16 => Some(ScalarType::F16),
        DType::BF16 => Some(ScalarType::BF16),
        DType::F32 => Some(ScalarType::F32),
        DType::Bool | DType::U8 | DType::I8 | DType::U32 | DType::I32 | DType::I64 => None,
    }
}

fn operand(tensor: &Tensor, element: ScalarType, place: Place) -> MatrixOperand {
    let region = tensor.buffer().region();
    MatrixOperand::new(
        Arc::clone(region.buffer()),
        region.offset() + (tensor.offset() * tensor.dtype().size()) as u64,
        element,
        place.row_stride as u64,
    )
    .batch_stride(place.batch_stride as u64)
    .transposed(place.transposed)
}

/// How the factors lie; none if the library does not take them so.
fn shape(factors: &Factors) -> Option<Shape> {
    let Factors { rows, columns, inner, .. } = *factors;
    let batches: usize = factors.batches.iter().product();
    let left = place(&factors.batches, factors.a.strides(), [rows, inner])?;
    let right = place(&factors.batches, factors.b.strides(), [inner, columns])?;
    // One right factor for all: the batches are more rows of one matrix, if their rows follow each other.
    if right.batch_stride == 0 && !left.transposed && left.batch_stride == rows * left.row_stride {
        return Some(Shape { rows: rows * batches, batches: 1, left, right });
    }
    Some(Shape { rows, batches, left, right })
}

/// Where matrices of those extents lie, if they are rows or columns of neighbouring elements, and batches are
/// equally far from each other.
fn place(batches: &[usize], strides: &[isize], [rows, columns]: [usize; 2]) -> Option<Place> {
    let (batch_strides, [row, column]) = strides.split_last_chunk()?;
    let batch_stride = usize::try_from(equal_stride(batches, batch_strides)?).ok()?;
    let along = |outer: isize, count: usize, width: usize| match count {
        1 => Some(width),
        _ => usize::try_from(outer).ok().filter(|&outer| outer >= width),
    };
    if (*column == 1 || columns == 1)
        && let Some(row_stride) = along(*row, rows, columns)
    {
        return Some(Place { row_stride, batch_stride, transposed: false });
    }
    let row_stride = along(*column, columns, rows).filter(|_| *row == 1 || rows == 1)?;
    Some(Place { row_stride, batch_stride, transposed: true })
}

/// The one stride by which all batches are reached in their order, if there is one.
fn equal_stride(extents: &[usize], strides: &[isize]) -> Option<isize> {
    let dimensions = extents.iter().zip(strides).rev().filter(|(extent, _)| **extent > 1);
    let (mut first, mut next) = (None, 0);
    for (&extent, &stride) in dimensions {
        if first.is_some() && stride != next {
            return None;
        }
        first = first.or(Some(stride));
        next = stride * extent as isize;
    }
    Some(first.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::{Place, equal_stride, place};

    #[test]
    fn rows_and_columns_of_neighbours_have_a_place() {
        let at = |strides: [isize; 2], extents| place(&[], &strides, extents);
        let rows = |row_stride| Some(Place { row_stride, batch_stride: 0, transposed: false });
        let columns = |row_stride| Some(Place { row_stride, batch_stride: 0, transposed: true });
        assert_eq!(at([7, 1], [3, 5]), rows(7));
        assert_eq!(at([1, 7], [3, 5]), columns(7));
        assert_eq!(at([2, 1], [3, 5]), None, "rows that overlap");
        assert_eq!(at([10, 2], [3, 5]), None, "every second element");
        assert_eq!(at([-5, 1], [3, 5]), None);
        assert_eq!(at([0, 1], [1, 5]), rows(5), "one row");
        assert_eq!(at([4, 9], [3, 1]), rows(4), "one column of elements that are apart");
        assert_eq!(at([0, 1], [3, 5]), None, "one row for all");
    }

    #[test]
    fn batches_have_one_stride_if_they_follow_each_other() {
        assert_eq!(equal_stride(&[], &[]), Some(0));
        assert_eq!(equal_stride(&[4], &[12]), Some(12));
        assert_eq!(equal_stride(&[2, 4], &[48, 12]), Some(12));
        assert_eq!(equal_stride(&[2, 4], &[0, 0]), Some(0));
        assert_eq!(equal_stride(&[2, 4], &[0, 12]), None);
        assert_eq!(equal_stride(&[2, 1, 4], &[48, 5, 12]), Some(12));
        assert_eq!(equal_stride(&[2, 4], &[12, 24]), None);
    }
}
