//! Normalisation: layer, RMS, group, instance and batch, and their gradients.
//!
//! Owns [`BatchNorm`] and the launches of `kernels/norm.metal`. Invariant: means and variances are
//! computed in `f32` in two passes; the result has the input's type.

mod gradients;

use anymetal::argument::Plain;

use crate::checks::require_floats;
use crate::context::Ops;
use crate::counted::Path;
use crate::dtype::DType;
use crate::error::OpError;
use crate::kernels::{Defines, Source};
use crate::launch::LANES;
use crate::layout::{Layout, Operand};
use crate::tensor::Tensor;

/// Floating-point operations for each element: sums of two passes, difference, square, scale and
/// shift.
const FLOP: u64 = 7;

/// A batch normalisation in training: the result, and what the next steps need.
#[derive(Debug, Clone)]
pub struct BatchNorm {
    /// The normalised input.
    pub output: Tensor,
    /// The mean of each channel in this batch, in `f32`.
    pub mean: Tensor,
    /// The variance of each channel in this batch, over the count, in `f32`.
    pub variance: Tensor,
    /// The running mean after this batch.
    pub running_mean: Tensor,
    /// The running variance after this batch; it takes the variance over the count less one.
    pub running_variance: Tensor,
}

impl Ops {
    /// The last `dimensions` dimensions with mean 0 and variance 1, times a weight and plus a bias
    /// of their shape.
    pub fn layer_norm(
        &self,
        x: &Tensor,
        dimensions: usize,
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
        epsilon: f32,
    ) -> Result<Tensor, OpError> {
        self.norm_rows("layer_norm", x, dimensions, weight, bias, epsilon, Defines::default())
    }

    /// The last `dimensions` dimensions over the root of their mean square, times a weight of their
    /// shape.
    pub fn rms_norm(
        &self,
        x: &Tensor,
        dimensions: usize,
        weight: Option<&Tensor>,
        epsilon: f32,
    ) -> Result<Tensor, OpError> {
        self.norm_rows("rms_norm", x, dimensions, weight, None, epsilon, Defines::default().with("RMS", 1))
    }

    #[expect(clippy::too_many_arguments, reason = "what the two public forms have in common")]
    fn norm_rows(
        &self,
        operation: &'static str,
        x: &Tensor,
        dimensions: usize,
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
        epsilon: f32,
        mut defines: Defines,
    ) -> Result<Tensor, OpError> {
        let kept = check_norm(operation, x, dimensions, [weight, bias])?;
        let (x, out) = (self.contiguous(x)?, self.empty(x.shape(), x.dtype())?);
        if out.is_empty() {
            return Ok(out);
        }
        let weight = weight.map(|weight| self.contiguous(weight)).transpose()?;
        let bias = bias.map(|bias| self.contiguous(bias)).transpose()?;
        let (w, b) = (weight.as_ref().unwrap_or(&x), bias.as_ref().unwrap_or(&x));
        for (name, given) in [("WEIGHT", &weight), ("BIAS", &bias)] {
            if given.is_some() {
                defines = defines.with(name, 1);
            }
        }
        let types = [("T0", &out), ("T1", &x), ("T2", w), ("T3", b)];
        defines = types.iter().fold(defines, |defines, (name, of)| defines.with(name, of.dtype().msl()));
        let count: usize = x.shape()[kept..].iter().product();
        let operands =
            [&out, &x].map(|tensor| Operand { strides: &tensor.strides()[..kept], offset: tensor.offset() });
        let rows = Layout::rows(&x.shape()[..kept], &operands);
        let begins = |tensor: &Tensor| tensor.offset().is_multiple_of(LANES as usize);
        let held = match begins(w) && begins(b) {
            true => self.held_rows(rows, 2, count, &[&out, &x, w, b]),
            false => None,
        };
        let (kernel, defines, rows, count, group) = match held {
            Some(held) => ("norm_held", defines.and(held.defines()), held.layout, held.count, held.group),
            None => {
                let group = self.row_threads();
                ("norm_rows", defines.and(rows.defines()).with("GROUP", group), rows, count as u32, group)
            }
        };
        let pipeline = self.pipeline(Source::Norm, kernel, defines)?;
        let launch = self.call(&pipeline).arg(out.buffer()).arg(x.buffer());
        let launch = launch.arg(&w.part()?).arg(&b.part()?).arg(Plain(rows)).arg(count);
        self.submit(launch.arg(epsilon).groups(rows.outer).group_size(group))?;
        self.count(operation, Path::Own, FLOP * x.len() as u64, x.byte_len() + out.byte_len());
        Ok(out)
    }

    /// The channels (dimension 1) in that many groups, each with mean 0 and variance 1 over its
    /// channels and all dimensions after, times a weight and plus a bias for each channel.
    pub fn group_norm(
        &self,
        x: &Tensor,
        groups: usize,
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
        epsilon: f32,
    ) -> Result<Tensor, OpError> {
        let grouped = self.grouped("group_norm", x, groups, [weight, bias])?;
        let normal = self.layer_norm(&grouped, 1, None, None, epsilon)?.view(x.shape())?;
        self.scale_channels(&normal, weight, bias)
    }

    /// [`Ops::group_norm`] with a group for each channel.
    pub fn instance_norm(
        &self,
        x: &Tensor,
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
        epsilon: f32,
    ) -> Result<Tensor, OpError> {
        let channels = x.shape().get(1).copied().unwrap_or(0);
        self.group_norm(x, channels, weight, bias, epsilon)
    }

    /// The channels (dimension 1) less a mean and over the root of a variance of each, as they were
    /// collected in training, times a weight and plus a bias for each channel.
    pub fn batch_norm_inference(
        &self,
        x: &Tensor,
        mean: &Tensor,
        variance: &Tensor,
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
        epsilon: f32,
    ) -> Result<Tensor, OpError> {
        check_channels("batch_norm", x, &[Some(mean), Some(variance), weight, bias])?;
        // One factor and one summand for each channel.
        let root = self.rsqrt(&self.affine(&self.cast(variance, DType::F32)?, 1.0, epsilon)?)?;
        let factor = match weight {
            Some(weight) => self.mul(&root, weight)?,
            None => root,
        };
        let shift = self.neg(&self.mul(&factor, mean)?)?;
        let shift = match bias {
            Some(bias) => self.add(&shift, bias)?,
            None => shift,
        };
        let factor = channels_of(&factor, x.rank())?;
        let scaled = self.fma(x, &factor, &channels_of(&shift, x.rank())?)?;
        self.cast(&scaled, x.dtype())
    }

    /// The channels (dimension 1) with mean 0 and variance 1 over all other dimensions, times a
    /// weight and plus a bias for each. Running statistics become `(1 - momentum) * old + momentum
    /// * new`.
    pub fn batch_norm_training(
        &self,
        x: &Tensor,
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
        (running_mean, running_variance): (&Tensor, &Tensor),
        momentum: f32,
        epsilon: f32,
    ) -> Result<BatchNorm, OpError> {
        check_channels("batch_norm", x, &[Some(running_mean), Some(running_variance), weight, bias])?;
        let over = all_but_channels(x.rank());
        let wide = self.cast(x, DType::F32)?;
        let (mean, variance) = (self.mean(&wide, &over, false)?, self.var(&wide, &over, 0, false)?);
        let output = self.batch_norm_inference(x, &mean, &variance, weight, bias, epsilon)?;
        let count = x.len() / x.shape()[1].max(1);
        let unbiased = count as f32 / count.saturating_sub(1) as f32;
        let mix = |old: &Tensor, new: &Tensor, factor: f32| {
            self.add(&self.affine(old, 1.0 - momentum, 0.0)?, &self.affine(new, momentum * factor, 0.0)?)
        };
        Ok(BatchNorm {
            output,
            running_mean: mix(running_mean, &mean, 1.0)?,
            running_variance: mix(running_variance, &variance, unbiased)?,
            mean,
            variance,
        })
    }

    fn scale_channels(
        &self,
        x: &Tensor,
        weight: Option<&Tensor>,
        bias: Option<&Tensor>,
    ) -> Result<Tensor, OpError> {
        let rank = x.rank();
        let result = match (weight, bias) {
            (None, None) => return Ok(x.clone()),
            (Some(weight), None) => self.mul(x, &channels_of(weight, rank)?)?,
            (None, Some(bias)) => self.add(x, &channels_of(bias, rank)?)?,
            (Some(weight), Some(bias)) => {
                self.fma(x, &channels_of(weight, rank)?, &channels_of(bias, rank)?)?
            }
        };
        self.cast(&result, x.dtype())
    }

    /// The tensor as batch, groups, elements of a group.
    fn grouped(
        &self,
        operation: &'static str,
        x: &Tensor,
        groups: usize,
        parameters: [Option<&Tensor>; 2],
    ) -> Result<Tensor, OpError> {
        check_channels(operation, x, &parameters)?;
        let channels = x.shape()[1];
        if !channels.is_multiple_of(groups.max(1)) || groups == 0 {
            let rule = format!("{channels} channels have no {groups} groups of the same size");
            return Err(OpError::shape(operation, &[x.shape()], rule));
        }
        let batch = x.shape()[0];
        let group = x.shape()[1..].iter().product::<usize>() / groups;
        self.reshape(x, &[batch, groups, group])
    }
}

/// The first of the normalised dimensions; weight and bias have the shape of these.
fn check_norm(
    operation: &'static str,
    x: &Tensor,
    dimensions: usize,
    parameters: [Option<&Tensor>; 2],
) -> Result<usize, OpError> {
    require_floats(operation, &[Some(x), parameters[0], parameters[1]])?;
    let Some(kept) = x.rank().checked_sub(dimensions).filter(|_| dimensions > 0) else {
        let rule = format!("it has no last {dimensions} dimensions to normalise");
        return Err(OpError::shape(operation, &[x.shape()], rule));
    };
    match parameters.into_iter().flatten().find(|given| given.shape() != &x.shape()[kept..]) {
        None => Ok(kept),
        Some(given) => {
            let rule = "weight and bias must have the shape of the normalised dimensions";
            Err(OpError::shape(operation, &[x.shape(), given.shape()], rule))
        }
    }
}

/// Whether there are channels, and one element of each parameter for each.
fn check_channels(
    operation: &'static str,
    x: &Tensor,
    parameters: &[Option<&Tensor>],
) -> Result<(), OpError> {
    require_floats(operation, &[Some(x)])?;
    require_floats(operation, parameters)?;
    let Some(&channels) = x.shape().get(1) else {
        return Err(OpError::shape(operation, &[x.shape()], "dimension 1 must be that of channels"));
    };
    match parameters.iter().flatten().find(|given| given.shape() != [channels]) {
        None => Ok(()),
        Some(given) => {
            let rule = "parameters must have one element for each channel, which dimension 1 counts";
            Err(OpError::shape(operation, &[x.shape(), given.shape()], rule))
        }
    }
}

/// Elements for each channel as a tensor that broadcasts over dimension 1 of tensors of that rank.
pub(crate) fn channels_of(parameter: &Tensor, rank: usize) -> Result<Tensor, OpError> {
    let mut shape = vec![1; rank - 1];
    shape[0] = parameter.len();
    parameter.view(&shape)
}

fn all_but_channels(rank: usize) -> Vec<isize> {
    (0..rank as isize).filter(|&dimension| dimension != 1).collect()
}
