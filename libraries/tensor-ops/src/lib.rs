//! Tensor operations over the execution layer, written in MSL, on every device.
//!
//! ```
//! # fn main() -> Result<(), anymetal_tensor_ops::OpError> {
//! use anymetal_tensor_ops::Ops;
//!
//! let ops = Ops::new(&anymetal::Device::system_default()?)?;
//! let x = ops.tensor(&[1.0f32, -2.0, 3.0, -4.0, 5.0, -6.0], &[2, 3])?;
//! let w = ops.tensor(&[1.0f32, 0.5, -1.0], &[3])?;
//! let y = ops.relu(&ops.mul(&x, &w)?)?; // broadcast as in NumPy
//! assert_eq!(y.to_vec::<f32>()?, [1.0, 0.0, 0.0, 0.0, 2.5, 6.0]);
//! let gram = ops.matmul(&x, &x.t()?)?; // a view: nothing is copied
//! assert_eq!(gram.to_vec::<f32>()?, [14.0, -32.0, -32.0, 77.0]);
//! # Ok(())
//! # }
//! ```
//!
//! [`Ops`] holds a device, a queue and the pipelines made so far; [`Tensor`] is a view of memory.
//! One file for each family of operations, its kernels beside it in `kernels/`. The table of
//! operations is in `docs/ops.md`.
//!
//! Rules for all: shapes broadcast as in NumPy; types promote by [`DType::promote`]; `f16` and
//! `bf16` are computed in `f32` and rounded once; integers wrap; NaN and infinity go through
//! arithmetic as in IEEE 754, and minima, maxima and their positions prefer NaN; a tensor of no
//! elements gives one of none, or the neutral element of a reduction. Mistakes in a call are
//! [`OpError`]s before anything runs.
#![forbid(unsafe_code)]

mod activation;
mod arrange;
mod attention;
mod backward;
mod call;
mod checks;
mod context;
mod conv;
mod copy;
mod counted;
mod creation;
mod dtype;
mod einsum;
mod elementwise;
mod error;
mod index;
mod kernels;
mod launch;
mod layout;
mod loss;
mod matmul;
mod measured;
mod norm;
mod pool;
mod quantised;
mod random;
mod recording;
mod reduce;
mod select;
mod shape;
mod softmax;
mod sort;
mod tensor;
mod vendor;
mod views;

pub use activation::Activation;
pub use anymetal::{bf16, f16};
pub use arrange::PadMode;
pub use attention::{AttentionOptions, RopeOptions};
pub use context::Ops;
pub use conv::{ConvOptions, ImageLayout};
pub use counted::{CallRecord, Path};
pub use dtype::{DType, Element};
pub use elementwise::{BinaryOp, Comparison, UnaryOp};
pub use error::OpError;
pub use index::ScatterReduction;
pub use launch::Shaping;
pub use matmul::MatmulOptions;
pub use measured::{MeasuredCall, OpProfile, OpTotal};
pub use norm::BatchNorm;
pub use pool::{Interpolation, PoolOptions};
pub use quantised::{BlockFormat, Blocks};
pub use random::Generator;
pub use recording::Recording;
pub use reduce::Reduction;
pub use tensor::Tensor;
