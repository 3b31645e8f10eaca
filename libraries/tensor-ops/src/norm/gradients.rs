//! Gradients of normalisations, composed of reductions and elementwise functions.
//!
//! Invariant: everything is computed in `f32`; the gradient of the input has the input's type,
//! those of weight and bias are `f32`.

use super::{all_but_channels, channels_of, check_channels, check_norm};
use crate::context::Ops;
use crate::dtype::DType;
use crate::error::OpError;
use crate::tensor::Tensor;

/// Gradients of input, weight and bias.
type Gradients = (Tensor, Tensor, Tensor);

impl Ops {
    /// The gradients of input, weight and bias of [`Ops::layer_norm`] from that of the result.
    /// Without a weight those of weight and bias are what they would be for ones and zeros.
    pub fn layer_norm_backward(
        &self,
        x: &Tensor,
        dimensions: usize,
        weight: Option<&Tensor>,
        gradient: &Tensor,
        epsilon: f32,
    ) -> Result<Gradients, OpError> {
        let kept = check_norm("layer_norm_backward", x, dimensions, [weight, None])?;
        let over: Vec<isize> = (kept..x.rank()).map(|dimension| dimension as isize).collect();
        let (of_x, normal) =
            self.norm_backward("layer_norm_backward", x, &over, weight, gradient, epsilon)?;
        self.with_parameters(of_x, &normal, gradient, &x.shape()[kept..])
    }

    /// The gradients of input and weight of [`Ops::rms_norm`] from that of the result.
    pub fn rms_norm_backward(
        &self,
        x: &Tensor,
        dimensions: usize,
        weight: Option<&Tensor>,
        gradient: &Tensor,
        epsilon: f32,
    ) -> Result<(Tensor, Tensor), OpError> {
        let kept = check_norm("rms_norm_backward", x, dimensions, [weight, None])?;
        self.check_gradient("rms_norm_backward", x, gradient)?;
        let over: Vec<isize> = (kept..x.rank()).map(|dimension| dimension as isize).collect();
        let wide = self.cast(x, DType::F32)?;
        let mean_square = self.mean(&self.square(&wide)?, &over, true)?;
        let root = self.rsqrt(&self.affine(&mean_square, 1.0, epsilon)?)?;
        let normal = self.mul(&wide, &root)?;
        let weighted = self.weighted(gradient, weight)?;
        let along = self.mean(&self.mul(&weighted, &normal)?, &over, true)?;
        let of_x = self.mul(&root, &self.sub(&weighted, &self.mul(&normal, &along)?)?)?;
        let of_weight = self.sum_to(&self.mul(&normal, gradient)?, &x.shape()[kept..])?;
        Ok((self.cast(&of_x, x.dtype())?, of_weight))
    }

    /// The gradients of input, weight and bias of [`Ops::batch_norm_training`] from that of the
    /// result.
    pub fn batch_norm_backward(
        &self,
        x: &Tensor,
        weight: Option<&Tensor>,
        gradient: &Tensor,
        epsilon: f32,
    ) -> Result<Gradients, OpError> {
        check_channels("batch_norm_backward", x, &[weight])?;
        let (over, weight) = (all_but_channels(x.rank()), self.weight_of_channels(weight, x.rank())?);
        let name = "batch_norm_backward";
        let (of_x, normal) = self.norm_backward(name, x, &over, weight.as_ref(), gradient, epsilon)?;
        self.with_parameters(of_x, &normal, gradient, &channel_shape(x))?.flat_parameters()
    }

    /// The gradients of input, weight and bias of [`Ops::group_norm`] from that of the result.
    pub fn group_norm_backward(
        &self,
        x: &Tensor,
        groups: usize,
        weight: Option<&Tensor>,
        gradient: &Tensor,
        epsilon: f32,
    ) -> Result<Gradients, OpError> {
        let name = "group_norm_backward";
        let grouped = self.grouped(name, x, groups, [weight, None])?;
        self.check_gradient(name, x, gradient)?;
        let weight = self.weight_of_channels(weight, x.rank())?;
        let weighted = self.reshape(&self.weighted(gradient, weight.as_ref())?, grouped.shape())?;
        let (of_x, normal) =
            self.norm_backward(name, &grouped, &[-1], None, &self.cast(&weighted, x.dtype())?, epsilon)?;
        let (of_x, normal) = (of_x.view(x.shape())?, normal.view(x.shape())?);
        self.with_parameters(of_x, &normal, gradient, &channel_shape(x))?.flat_parameters()
    }

    /// The gradient of the input of a normalisation over those axes, and the normalised input in
    /// `f32`.
    fn norm_backward(
        &self,
        operation: &'static str,
        x: &Tensor,
        over: &[isize],
        weight: Option<&Tensor>,
        gradient: &Tensor,
        epsilon: f32,
    ) -> Result<(Tensor, Tensor), OpError> {
        self.check_gradient(operation, x, gradient)?;
        let wide = self.cast(x, DType::F32)?;
        let difference = self.sub(&wide, &self.mean(&wide, over, true)?)?;
        let variance = self.mean(&self.square(&difference)?, over, true)?;
        let root = self.rsqrt(&self.affine(&variance, 1.0, epsilon)?)?;
        let normal = self.mul(&difference, &root)?;
        let weighted = self.weighted(gradient, weight)?;
        let mean = self.mean(&weighted, over, true)?;
        let along = self.mean(&self.mul(&weighted, &normal)?, over, true)?;
        let centred = self.sub(&self.sub(&weighted, &mean)?, &self.mul(&normal, &along)?)?;
        Ok((self.cast(&self.mul(&root, &centred)?, x.dtype())?, normal))
    }

    fn weighted(&self, gradient: &Tensor, weight: Option<&Tensor>) -> Result<Tensor, OpError> {
        let wide = self.cast(gradient, DType::F32)?;
        match weight {
            Some(weight) => self.mul(&wide, weight),
            None => Ok(wide),
        }
    }

    /// With the gradients of a weight and a bias of that shape, in `f32`.
    fn with_parameters(
        &self,
        of_x: Tensor,
        normal: &Tensor,
        gradient: &Tensor,
        shape: &[usize],
    ) -> Result<Gradients, OpError> {
        let of_weight = self.sum_to(&self.mul(normal, gradient)?, shape)?;
        let of_bias = self.sum_to(&self.cast(gradient, DType::F32)?, shape)?;
        Ok((of_x, of_weight, of_bias))
    }

    fn weight_of_channels(&self, weight: Option<&Tensor>, rank: usize) -> Result<Option<Tensor>, OpError> {
        weight.map(|weight| channels_of(weight, rank)).transpose()
    }
}

/// Gradients of parameters of channels without the dimensions of one element.
trait FlatParameters {
    fn flat_parameters(self) -> Result<Gradients, OpError>;
}

impl FlatParameters for Gradients {
    fn flat_parameters(self) -> Result<Gradients, OpError> {
        let (of_x, of_weight, of_bias) = self;
        let channels = [of_weight.len()];
        Ok((of_x, of_weight.view(&channels)?, of_bias.view(&channels)?))
    }
}

fn channel_shape(x: &Tensor) -> Vec<usize> {
    let mut shape = vec![1; x.rank() - 1];
    shape[0] = x.shape()[1];
    shape
}
