//! Losses.
//!
//! Owns the operations here. Invariant: a class that there is not is told by the next wait, as of all
//! indices.

use crate::context::Ops;
use crate::dtype::DType;
use crate::error::OpError;
use crate::tensor::Tensor;

impl Ops {
    /// The mean, over all rows, of the negative logarithm of the softmax at the row's class: of scores of
    /// shape rows, classes and as many integers below the number of classes. Other dimensions may come
    /// before.
    pub fn cross_entropy(&self, scores: &Tensor, classes: &Tensor) -> Result<Tensor, OpError> {
        check_classes("cross_entropy", scores, classes)?;
        let log = self.log_softmax(scores, -1)?;
        self.neg(&self.mean(&self.gather(&log, -1, &classes.unsqueeze(-1)?)?, &[], false)?)
    }

    /// The gradient of the scores of [`Ops::cross_entropy`], from that of the result.
    pub fn cross_entropy_backward(
        &self,
        scores: &Tensor,
        classes: &Tensor,
        gradient: &Tensor,
    ) -> Result<Tensor, OpError> {
        check_classes("cross_entropy_backward", scores, classes)?;
        if gradient.len() != 1 || !gradient.dtype().is_float() {
            let rule = "the gradient is one floating-point number";
            return Err(OpError::shape("cross_entropy_backward", &[gradient.shape()], rule));
        }
        let rows = classes.len().max(1) as f32;
        let places = classes.unsqueeze(-1)?;
        let minus_one = self.full(places.shape(), -1.0f32)?;
        let chances = self.cast(&self.softmax(scores, -1)?, DType::F32)?;
        let apart = self.scatter_add(&chances, -1, &places, &minus_one)?;
        let factor = self.affine(&self.cast(gradient, DType::F32)?.view(&[])?, 1.0 / rows, 0.0)?;
        self.cast(&self.mul(&apart, &factor)?, scores.dtype())
    }
}

fn check_classes(operation: &'static str, scores: &Tensor, classes: &Tensor) -> Result<(), OpError> {
    let types = [scores.dtype(), classes.dtype()];
    if !types[0].is_float() || !types[1].is_integer() {
        let rule = "scores are of floating-point types, classes of integer ones";
        return Err(OpError::dtype(operation, &types, rule));
    }
    if scores.rank() != classes.rank() + 1 || !scores.shape().starts_with(classes.shape()) {
        let rule = "the scores have the dimensions of the classes and one more";
        return Err(OpError::shape(operation, &[scores.shape(), classes.shape()], rule));
    }
    Ok(())
}
