//! What gradients of several families need: sums over broadcast dimensions, gradients of products.
//!
//! Owns the operations here. Invariant: a gradient has the shape and type of what it is the
//! gradient of.

use crate::context::Ops;
use crate::error::OpError;
use crate::shape::broadcast;
use crate::tensor::Tensor;

impl Ops {
    /// The sum of a gradient over what broadcasting repeated: the gradient of a tensor of that
    /// shape.
    pub fn sum_to(&self, gradient: &Tensor, shape: &[usize]) -> Result<Tensor, OpError> {
        if broadcast("sum_to", &[gradient.shape(), shape])? != gradient.shape() {
            let rule = "the second must broadcast to the first";
            return Err(OpError::shape("sum_to", &[gradient.shape(), shape], rule));
        }
        let added = gradient.rank() - shape.len();
        let repeated = |&dimension: &usize| {
            dimension < added || (shape[dimension - added] == 1 && gradient.shape()[dimension] != 1)
        };
        let over: Vec<isize> =
            (0..gradient.rank()).filter(repeated).map(|dimension| dimension as isize).collect();
        if over.is_empty() {
            return Ok(gradient.clone());
        }
        self.sum(gradient, &over, true)?.view(shape)
    }

    /// The gradients of both factors of [`Ops::matmul`], of at least two dimensions each, from that
    /// of the product.
    pub fn matmul_backward(
        &self,
        a: &Tensor,
        b: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Tensor, Tensor), OpError> {
        if a.rank() < 2 || b.rank() < 2 {
            let rule = "both need two dimensions; give vectors as matrices";
            return Err(OpError::shape("matmul_backward", &[a.shape(), b.shape()], rule));
        }
        let types = [a.dtype(), b.dtype(), gradient.dtype()];
        if !types.iter().all(|dtype| dtype.is_float()) {
            return Err(OpError::dtype("matmul_backward", &types, "gradients are of floating-point types"));
        }
        let of_a = self.sum_to(&self.matmul(gradient, &b.t()?)?, a.shape())?;
        let of_b = self.sum_to(&self.matmul(&a.t()?, gradient)?, b.shape())?;
        Ok((self.cast(&of_a, a.dtype())?, self.cast(&of_b, b.dtype())?))
    }

    /// Whether a gradient fits what it is the gradient of.
    pub(crate) fn check_gradient(
        &self,
        operation: &'static str,
        of: &Tensor,
        gradient: &Tensor,
    ) -> Result<(), OpError> {
        let types = [of.dtype(), gradient.dtype()];
        if !types.iter().all(|dtype| dtype.is_float()) {
            return Err(OpError::dtype(operation, &types, "gradients are of floating-point types"));
        }
        if of.shape() != gradient.shape() {
            let rule = "the gradient must have the shape of what it is the gradient of";
            return Err(OpError::shape(operation, &[of.shape(), gradient.shape()], rule));
        }
        Ok(())
    }
}
