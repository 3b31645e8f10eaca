//! A small convolutional net with its gradients by hand.
//!
//! Owns [`Net`]: convolution, ReLU, pooling, twice; a linear layer; the logarithm of a softmax.
//! Invariant: parameters and their momenta are in one order.

use anymetal_tensor_ops::{
    Activation, ConvOptions, DType, Generator, MatmulOptions, OpError, Ops, PoolOptions, Tensor,
};

use super::digits::SIZE;

/// Channels of the two convolutions.
const CHANNELS: [usize; 2] = [8, 16];

/// Elements that the linear layer takes.
const FEATURES: usize = CHANNELS[1] * (SIZE / 4) * (SIZE / 4);

/// Weights and biases of three layers, and what the descent remembers of each.
#[derive(Debug)]
pub(crate) struct Net {
    ops: Ops,
    parameters: Vec<Tensor>,
    momenta: Vec<Tensor>,
}

/// What a step forward leaves for the step back.
struct Block {
    input: Tensor,
    sums: Tensor,
    places: Tensor,
    pooled: Tensor,
}

impl Net {
    /// Random weights of a size that keeps the variance, biases of zero.
    pub(crate) fn new(ops: &Ops, seed: u64) -> Result<Net, OpError> {
        let generator = Generator::new(ops, seed);
        let [first, second] = CHANNELS;
        let shapes: [(&[usize], usize); 3] =
            [(&[first, 1, 3, 3], 9), (&[second, first, 3, 3], 9 * first), (&[FEATURES, 10], FEATURES)];
        let mut parameters = Vec::new();
        for (index, (shape, inputs)) in shapes.into_iter().enumerate() {
            parameters.push(generator.normal(shape, 0.0, (2.0 / inputs as f32).sqrt(), DType::F32)?);
            let outputs = if index == 2 { 10 } else { shape[0] };
            parameters.push(ops.zeros(&[outputs], DType::F32)?);
        }
        let momenta =
            parameters.iter().map(|p| ops.zeros(p.shape(), DType::F32)).collect::<Result<_, _>>()?;
        Ok(Net { ops: ops.clone(), parameters, momenta })
    }

    /// The logarithms of the ten probabilities of each image.
    pub(crate) fn forward(&self, images: &Tensor) -> Result<Tensor, OpError> {
        let first = self.block(images, 0)?;
        let second = self.block(&first.pooled, 1)?;
        self.classify(&second.pooled)
    }

    /// One step of descent by a batch; gives the mean loss before it.
    pub(crate) fn train(&mut self, images: &Tensor, labels: &Tensor, rate: f32) -> Result<f32, OpError> {
        let ops = self.ops.clone();
        let first = self.block(images, 0)?;
        let second = self.block(&first.pooled, 1)?;
        let log = self.classify(&second.pooled)?;
        let count = labels.len();
        let named = labels.unsqueeze(1)?;
        let loss = ops.mean(&ops.gather(&log, 1, &named)?, &[], false)?;

        // The loss is the negative mean of the named logarithms.
        let share = ops.full(&[count, 1], -1.0 / count as f32)?;
        let of_log = ops.scatter(&ops.zeros(log.shape(), DType::F32)?, 1, &named, &share)?;
        let of_sums = ops.log_softmax_backward(&log, &of_log, 1)?;
        let flat = ops.reshape(&second.pooled, &[count, FEATURES])?;
        let (of_flat, of_weight) = ops.matmul_backward(&flat, &self.parameters[4], &of_sums)?;
        let mut gradients = vec![of_weight, ops.sum(&of_sums, &[0], false)?];
        let of_pooled = of_flat.view(second.pooled.shape())?;
        let (of_first, weights) = self.block_backward(&second, &of_pooled, 1)?;
        gradients.splice(0..0, weights);
        let (_, weights) = self.block_backward(&first, &of_first, 0)?;
        gradients.splice(0..0, weights);
        self.descend(&gradients, rate)?;
        Ok(-loss.item::<f32>()?)
    }

    fn block(&self, input: &Tensor, index: usize) -> Result<Block, OpError> {
        let (weight, bias) = (&self.parameters[2 * index], &self.parameters[2 * index + 1]);
        let sums = self.ops.conv2d(input, weight, Some(bias), &same())?;
        let (pooled, places) = self.ops.max_pool2d(&self.ops.relu(&sums)?, &PoolOptions::new([2, 2]))?;
        Ok(Block { input: input.clone(), sums, places, pooled })
    }

    /// The gradient of a block's input, and those of weight and bias.
    fn block_backward(
        &self,
        block: &Block,
        gradient: &Tensor,
        index: usize,
    ) -> Result<(Tensor, [Tensor; 2]), OpError> {
        let [.., rows, columns] = *block.sums.shape() else { unreachable!("images have four dimensions") };
        let of_active = self.ops.max_pool2d_backward([rows, columns], &block.places, gradient)?;
        let of_sums = self.ops.activation_backward(Activation::Relu, &block.sums, &of_active)?;
        let weight = &self.parameters[2 * index];
        let (of_input, of_weight, of_bias) =
            self.ops.conv2d_backward(&block.input, weight, &of_sums, &same())?;
        Ok((of_input, [of_weight, of_bias]))
    }

    fn classify(&self, pooled: &Tensor) -> Result<Tensor, OpError> {
        let flat = self.ops.reshape(pooled, &[pooled.shape()[0], FEATURES])?;
        let options = MatmulOptions { bias: Some(&self.parameters[5]), ..MatmulOptions::default() };
        self.ops.log_softmax(&self.ops.matmul_with(&flat, &self.parameters[4], &options)?, 1)
    }

    /// Descent with momentum 0.9.
    fn descend(&mut self, gradients: &[Tensor], rate: f32) -> Result<(), OpError> {
        for ((parameter, momentum), gradient) in
            self.parameters.iter_mut().zip(&mut self.momenta).zip(gradients)
        {
            *momentum = self.ops.add(&self.ops.affine(momentum, 0.9, 0.0)?, gradient)?;
            *parameter = self.ops.add(parameter, &self.ops.affine(momentum, -rate, 0.0)?)?;
        }
        Ok(())
    }
}

/// Filters of 3 by 3 that keep the size.
fn same() -> ConvOptions {
    ConvOptions { padding: [1, 1], ..ConvOptions::default() }
}
