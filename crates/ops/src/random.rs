//! Random numbers by Philox 4x32-10: the same for a seed on every device.
//!
//! Owns [`Generator`]. Invariant: no two calls of a generator use the same block of the sequence.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::context::Ops;
use crate::counted::Path;
use crate::dtype::DType;
use crate::error::OpError;
use crate::kernels::{Defines, Source};
use crate::tensor::Tensor;

/// A sequence of random numbers. Each call takes the next blocks of four.
#[derive(Debug)]
pub struct Generator {
    ops: Ops,
    seed: u64,
    next_block: AtomicU64,
}

impl Generator {
    /// The sequence of a seed, from its begin.
    pub fn new(ops: &Ops, seed: u64) -> Generator {
        Generator { ops: ops.clone(), seed, next_block: AtomicU64::new(0) }
    }

    /// Numbers of `low..high`, each with the same probability. They are multiples of 2^-24 of the
    /// range before they are rounded to the type.
    pub fn uniform(&self, shape: &[usize], low: f32, high: f32, dtype: DType) -> Result<Tensor, OpError> {
        if !(low <= high && (high - low).is_finite()) {
            return Err(OpError::argument("uniform", format!("{low}..{high} is no range")));
        }
        self.floats("uniform", "random_uniform", shape, [low, high, 0.0, 0.0], dtype)
    }

    /// Numbers of the normal distribution with that mean and deviation, by Box and Muller.
    pub fn normal(
        &self,
        shape: &[usize],
        mean: f32,
        deviation: f32,
        dtype: DType,
    ) -> Result<Tensor, OpError> {
        self.floats("normal", "random_normal", shape, [mean, deviation, 0.0, 0.0], dtype)
    }

    /// Ones with that probability, else zeros; of any type.
    pub fn bernoulli(&self, shape: &[usize], probability: f32, dtype: DType) -> Result<Tensor, OpError> {
        if !(0.0..=1.0).contains(&probability) {
            return Err(OpError::argument("bernoulli", format!("{probability} is no probability")));
        }
        self.fill("bernoulli", "random_bernoulli", shape, [probability, 0.0, 0.0, 0.0], dtype)
    }

    /// Integers of `low..high`, at most 2^32 - 1 many, each with the same probability within 2^-32.
    pub fn integers(&self, shape: &[usize], low: i64, high: i64, dtype: DType) -> Result<Tensor, OpError> {
        let range = high.checked_sub(low).and_then(|range| u32::try_from(range).ok());
        let Some(range) = range.filter(|&range| range > 0) else {
            return Err(OpError::argument("integers", format!("{low}..{high} is empty or too large")));
        };
        if !dtype.is_integer() {
            return Err(OpError::dtype("integers", &[dtype], "an integer type is needed"));
        }
        let out = self.ops.empty(shape, dtype)?;
        if out.is_empty() {
            return Ok(out);
        }
        let (blocks, offset) = self.take(out.len());
        let defines = Defines::default().with("T0", dtype.msl()).with("RANDOM", "random_uniform");
        let pipeline = self.ops.pipeline(Source::Creation, "random_integers", defines)?;
        let launch = self.ops.queue().launch(&pipeline).arg(out.buffer()).arg(out.len() as u32);
        let launch = launch.arg(self.seed).arg(offset).arg(low).arg(range);
        self.ops.submit(launch.threads(blocks))?;
        self.ops.count("integers", Path::Own, 0, out.byte_len());
        Ok(out)
    }

    fn floats(
        &self,
        operation: &'static str,
        function: &'static str,
        shape: &[usize],
        parameters: [f32; 4],
        dtype: DType,
    ) -> Result<Tensor, OpError> {
        if !dtype.is_float() {
            return Err(OpError::dtype(operation, &[dtype], "a floating-point type is needed"));
        }
        self.fill(operation, function, shape, parameters, dtype)
    }

    fn fill(
        &self,
        operation: &'static str,
        function: &'static str,
        shape: &[usize],
        parameters: [f32; 4],
        dtype: DType,
    ) -> Result<Tensor, OpError> {
        let out = self.ops.empty(shape, dtype)?;
        if out.is_empty() {
            return Ok(out);
        }
        let (blocks, offset) = self.take(out.len());
        let defines = Defines::default().with("T0", dtype.msl()).with("RANDOM", function);
        let pipeline = self.ops.pipeline(Source::Creation, "random", defines)?;
        let launch = self.ops.queue().launch(&pipeline).arg(out.buffer()).arg(out.len() as u32);
        self.ops.submit(launch.arg(self.seed).arg(offset).arg(parameters).threads(blocks))?;
        self.ops.count(operation, Path::Own, 0, out.byte_len());
        Ok(out)
    }

    /// Blocks for that many numbers, and the first one's place.
    fn take(&self, numbers: usize) -> (usize, u64) {
        let blocks = numbers.div_ceil(4);
        (blocks, self.next_block.fetch_add(blocks as u64, Ordering::Relaxed))
    }
}
