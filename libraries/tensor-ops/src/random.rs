//! Random numbers by Philox 4x32-10: the same for a seed on every device.
//!
//! Owns [`Generator`] and [`Draw`]. Invariant: no two calls of a generator use the same block of the
//! sequence; the replays of a recorded call are calls.

use std::sync::Arc;
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
    next_block: Arc<AtomicU64>,
}

/// The blocks of a sequence that a call takes when it runs.
#[derive(Debug, Clone)]
pub(crate) struct Draw {
    next_block: Arc<AtomicU64>,
    blocks: u64,
}

impl Draw {
    /// Takes the blocks; gives the first one's place.
    pub(crate) fn take(&self) -> u64 {
        self.next_block.fetch_add(self.blocks, Ordering::Relaxed)
    }
}

impl Generator {
    /// The sequence of a seed, from its begin.
    pub fn new(ops: &Ops, seed: u64) -> Generator {
        Generator { ops: ops.clone(), seed, next_block: Arc::default() }
    }

    /// The same sequence for calls of another context, as the one that [`Ops::record`] hands over: both take
    /// from it in turn, and a replay takes what the recorded calls would.
    pub fn within(&self, ops: &Ops) -> Generator {
        Generator { ops: ops.clone(), seed: self.seed, next_block: Arc::clone(&self.next_block) }
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
        let (blocks, draw) = self.draw(out.len());
        let defines = Defines::default().with("T0", dtype.msl()).with("RANDOM", "random_uniform");
        let pipeline = self.ops.pipeline(Source::Creation, "random_integers", defines)?;
        let launch = self.ops.call(&pipeline).arg(out.buffer()).arg(out.len() as u32);
        let launch = launch.arg(self.seed).arg(draw).arg(low).arg(range);
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
        let (blocks, draw) = self.draw(out.len());
        let defines = Defines::default().with("T0", dtype.msl()).with("RANDOM", function);
        let pipeline = self.ops.pipeline(Source::Creation, "random", defines)?;
        let launch = self.ops.call(&pipeline).arg(out.buffer()).arg(out.len() as u32);
        self.ops.submit(launch.arg(self.seed).arg(draw).arg(parameters).threads(blocks))?;
        self.ops.count(operation, Path::Own, 0, out.byte_len());
        Ok(out)
    }

    /// Blocks for that many numbers, and where they come from.
    fn draw(&self, numbers: usize) -> (usize, Draw) {
        let blocks = numbers.div_ceil(4);
        (blocks, Draw { next_block: Arc::clone(&self.next_block), blocks: blocks as u64 })
    }
}
