//! Rules on types that several families share.

use crate::dtype::DType;
use crate::error::OpError;
use crate::tensor::Tensor;

/// Whether all that are given have floating-point types.
pub(crate) fn require_floats(operation: &'static str, tensors: &[Option<&Tensor>]) -> Result<(), OpError> {
    let types: Vec<DType> = tensors.iter().flatten().map(|tensor| tensor.dtype()).collect();
    if types.iter().all(|dtype| dtype.is_float()) {
        return Ok(());
    }
    Err(OpError::dtype(operation, &types, "floating-point types are needed"))
}
