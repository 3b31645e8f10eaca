//! Shapes of tensor arguments (MSL specification 2.22).

pub use anymetal_types::tensor::{ShapeError, TensorShape};
