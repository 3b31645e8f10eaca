//! Views: other shapes and strides over the same memory, without a copy.
//!
//! Owns the methods here. Invariant: a view reaches only elements that its tensor reaches.

use std::ops::Range;

use crate::error::OpError;
use crate::shape::{axis, broadcast, checked_count, contiguous_strides};
use crate::tensor::Tensor;

impl Tensor {
    /// Another shape with as many elements, if the strides allow it without a copy; else an error.
    /// [`crate::Ops::reshape`] copies where it must.
    pub fn view(&self, shape: &[usize]) -> Result<Tensor, OpError> {
        self.check_same_count("view", shape)?;
        match self.strides_of_view(shape) {
            Some(strides) => Ok(self.seen_as(shape.to_vec(), strides, self.offset())),
            None => {
                let rule = format!("strides {:?} have no such view without a copy", self.strides());
                Err(OpError::shape("view", &[self.shape(), shape], rule))
            }
        }
    }

    pub(crate) fn check_same_count(&self, operation: &'static str, shape: &[usize]) -> Result<(), OpError> {
        if checked_count(operation, shape)? == self.len() {
            return Ok(());
        }
        Err(OpError::shape(operation, &[self.shape(), shape], "both must have as many elements"))
    }

    /// The strides for another shape of as many elements, if there are any.
    pub(crate) fn strides_of_view(&self, shape: &[usize]) -> Option<Vec<isize>> {
        if self.is_contiguous() {
            return Some(contiguous_strides(shape));
        }
        let mut runs = self.runs().into_iter();
        let (mut left, mut step) = (1, 1);
        let mut strides = vec![1; shape.len()];
        for (to, &extent) in strides.iter_mut().zip(shape).rev() {
            if extent != 1 && left == 1 {
                (left, step) = runs.next()?;
            }
            if left % extent != 0 {
                return None;
            }
            *to = step;
            step *= extent as isize;
            left /= extent;
        }
        Some(strides)
    }

    /// Neighbouring dimensions that can be walked as one, from the last: elements and stride of
    /// each.
    fn runs(&self) -> Vec<(usize, isize)> {
        let mut runs: Vec<(usize, isize)> = Vec::new();
        for (&extent, &stride) in
            self.shape().iter().zip(self.strides()).rev().filter(|(extent, _)| **extent != 1)
        {
            match runs.last_mut() {
                Some((count, step)) if stride == *step * *count as isize => *count *= extent,
                Some(_) | None => runs.push((extent, stride)),
            }
        }
        runs
    }

    /// The dimensions in another order: dimension `i` of the result is dimension `order[i]` of this
    /// one.
    pub fn permute(&self, order: &[usize]) -> Result<Tensor, OpError> {
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..self.rank()) {
            let rule = format!("the order {order:?} must name each dimension once");
            return Err(OpError::shape("permute", &[self.shape()], rule));
        }
        let shape = order.iter().map(|&from| self.shape()[from]).collect();
        let strides = order.iter().map(|&from| self.strides()[from]).collect();
        Ok(self.seen_as(shape, strides, self.offset()))
    }

    /// Two dimensions exchanged; negative ones count from the back.
    pub fn transpose(&self, first: isize, second: isize) -> Result<Tensor, OpError> {
        let first = axis("transpose", self.shape(), first)?;
        let second = axis("transpose", self.shape(), second)?;
        let mut order: Vec<usize> = (0..self.rank()).collect();
        order.swap(first, second);
        self.permute(&order)
    }

    /// The last two dimensions exchanged.
    pub fn t(&self) -> Result<Tensor, OpError> {
        self.transpose(-2, -1)
    }

    /// A range of one dimension.
    pub fn narrow(&self, axis: isize, range: Range<usize>) -> Result<Tensor, OpError> {
        self.slice(axis, range, 1)
    }

    /// Every `step`-th element of a range of one dimension; a negative step begins at the range's
    /// end.
    pub fn slice(&self, axis: isize, range: Range<usize>, step: isize) -> Result<Tensor, OpError> {
        let dimension = crate::shape::axis("slice", self.shape(), axis)?;
        let extent = self.shape()[dimension];
        if range.start > range.end || range.end > extent {
            let rule = format!("{range:?} must lie within the {extent} elements of axis {axis}");
            return Err(OpError::shape("slice", &[self.shape()], rule));
        }
        if step == 0 {
            return Err(OpError::argument("slice", "the step must not be zero"));
        }
        let (mut shape, mut strides) = (self.shape().to_vec(), self.strides().to_vec());
        let first = if step > 0 || range.is_empty() { range.start } else { range.end - 1 };
        shape[dimension] = range.len().div_ceil(step.unsigned_abs());
        strides[dimension] *= step;
        // An empty view may begin behind the last element: it reads nothing.
        let first = if shape[dimension] == 0 { 0 } else { first };
        let offset = self.offset() as isize + first as isize * self.strides()[dimension];
        Ok(self.seen_as(shape, strides, offset as usize))
    }

    /// The elements of one dimension in reverse.
    pub fn flip(&self, axis: isize) -> Result<Tensor, OpError> {
        let dimension = crate::shape::axis("flip", self.shape(), axis)?;
        self.slice(axis, 0..self.shape()[dimension], -1)
    }

    /// One position of a dimension, which goes.
    pub fn select(&self, axis: isize, index: usize) -> Result<Tensor, OpError> {
        let dimension = crate::shape::axis("select", self.shape(), axis)?;
        if index >= self.shape()[dimension] {
            let rule = format!("axis {axis} has no position {index}");
            return Err(OpError::shape("select", &[self.shape()], rule));
        }
        self.narrow(axis, index..index + 1)?.squeeze(axis)
    }

    /// The shape that broadcasting gives: new dimensions in front, dimensions of one element
    /// repeated.
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Tensor, OpError> {
        if broadcast("broadcast_to", &[self.shape(), shape])? != shape {
            let rule = "extents of the first must be 1 or those of the second, aligned at the last";
            return Err(OpError::shape("broadcast_to", &[self.shape(), shape], rule));
        }
        checked_count("broadcast_to", shape)?;
        let added = shape.len() - self.rank();
        let mut strides = vec![0; added];
        for (dimension, &stride) in self.strides().iter().enumerate() {
            let repeated = self.shape()[dimension] == 1 && shape[added + dimension] != 1;
            strides.push(if repeated { 0 } else { stride });
        }
        Ok(self.seen_as(shape.to_vec(), strides, self.offset()))
    }

    /// A new dimension of one element before that one.
    pub fn unsqueeze(&self, axis: isize) -> Result<Tensor, OpError> {
        let mut shape = self.shape().to_vec();
        shape.push(1);
        checked_count("unsqueeze", &shape)?;
        let at = crate::shape::axis("unsqueeze", &shape, axis)?;
        shape.pop();
        let mut strides = self.strides().to_vec();
        shape.insert(at, 1);
        strides.insert(at, strides.get(at).map_or(1, |&stride| stride));
        Ok(self.seen_as(shape, strides, self.offset()))
    }

    /// Without that dimension, which has one element.
    pub fn squeeze(&self, axis: isize) -> Result<Tensor, OpError> {
        let at = crate::shape::axis("squeeze", self.shape(), axis)?;
        if self.shape()[at] != 1 {
            return Err(OpError::shape(
                "squeeze",
                &[self.shape()],
                format!("axis {axis} must have one element"),
            ));
        }
        let (mut shape, mut strides) = (self.shape().to_vec(), self.strides().to_vec());
        shape.remove(at);
        strides.remove(at);
        Ok(self.seen_as(shape, strides, self.offset()))
    }

    /// Dimensions `first..=last` as one, if the strides allow it without a copy.
    pub fn flatten(&self, first: isize, last: isize) -> Result<Tensor, OpError> {
        let first = axis("flatten", self.shape(), first)?;
        let last = axis("flatten", self.shape(), last)?;
        if first > last {
            return Err(OpError::argument("flatten", "the first axis comes after the last"));
        }
        let merged = self.shape()[first..=last].iter().product();
        let shape = [&self.shape()[..first], &[merged], &self.shape()[last + 1..]].concat();
        self.view(&shape)
    }
}
