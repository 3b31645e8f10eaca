//! Rules of shapes that several operations share: broadcasting, axes, counts.
//!
//! Owns the functions here; no state. Invariant: an error names the operation and its shapes.

use crate::error::OpError;
use crate::layout::MAX_RANK;

/// The strides of a contiguous tensor, in elements, row-major.
pub(crate) fn contiguous_strides(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![1; shape.len()];
    for dimension in (1..shape.len()).rev() {
        strides[dimension - 1] = strides[dimension] * shape[dimension].max(1) as isize;
    }
    strides
}

/// The number of elements, if a tensor may have so many and so many dimensions.
pub(crate) fn checked_count(operation: &'static str, shape: &[usize]) -> Result<usize, OpError> {
    if shape.len() > MAX_RANK {
        return Err(OpError::shape(
            operation,
            &[shape],
            format!("at most {MAX_RANK} dimensions are allowed"),
        ));
    }
    // Without the zeros, so that strides are bounded as well.
    let product = shape.iter().filter(|&&extent| extent > 0).try_fold(1usize, |product, &extent| {
        product.checked_mul(extent).filter(|&product| product <= i32::MAX as usize)
    });
    match product {
        Some(product) => Ok(if shape.contains(&0) { 0 } else { product }),
        None => Err(OpError::shape(operation, &[shape], "at most 2^31 - 1 elements are allowed")),
    }
}

/// The shape that all broadcast to: aligned at the last dimension, each extent equal or 1.
pub(crate) fn broadcast(operation: &'static str, shapes: &[&[usize]]) -> Result<Vec<usize>, OpError> {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let mut common = vec![1; rank];
    for shape in shapes {
        for (to, &extent) in common[rank - shape.len()..].iter_mut().zip(*shape) {
            match (*to, extent) {
                (_, 1) => {}
                (1, extent) => *to = extent,
                (to, extent) if to == extent => {}
                _ => {
                    let rule = "each pair of extents, aligned at the last, must be equal or have a 1";
                    return Err(OpError::shape(operation, shapes, rule));
                }
            }
        }
    }
    Ok(common)
}

/// An axis counted from the front; negative ones count from the back.
pub(crate) fn axis(operation: &'static str, shape: &[usize], axis: isize) -> Result<usize, OpError> {
    let rank = shape.len() as isize;
    let counted = if axis < 0 { axis + rank } else { axis };
    if (0..rank).contains(&counted) {
        return Ok(counted as usize);
    }
    Err(OpError::shape(operation, &[shape], format!("axis {axis} is not one of the {rank} dimensions")))
}

/// Distinct axes, ascending; none given means all.
pub(crate) fn axes(operation: &'static str, shape: &[usize], given: &[isize]) -> Result<Vec<usize>, OpError> {
    if given.is_empty() {
        return Ok((0..shape.len()).collect());
    }
    let mut found = given.iter().map(|&one| axis(operation, shape, one)).collect::<Result<Vec<_>, _>>()?;
    found.sort_unstable();
    match found.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(OpError::shape(operation, &[shape], format!("axis {} is named twice", pair[0]))),
        None => Ok(found),
    }
}
