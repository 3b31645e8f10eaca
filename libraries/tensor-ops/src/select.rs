//! Elements that a condition chooses, whose number only the device knows.
//!
//! Owns the operations here. Invariant: each waits for the number; the order is that of the elements.

use crate::context::Ops;
use crate::counted::Path;
use crate::dtype::DType;
use crate::error::OpError;
use crate::kernels::{Defines, Source};
use crate::shape::{broadcast, contiguous_strides};
use crate::tensor::Tensor;

impl Ops {
    /// The positions of all elements that are not zero: a row of `i64` for each, a column for each dimension.
    /// Waits for their number.
    pub fn nonzero(&self, x: &Tensor) -> Result<Tensor, OpError> {
        let places = self.true_places(x)?;
        let mut columns = Vec::with_capacity(x.rank());
        for (step, &extent) in contiguous_strides(x.shape()).into_iter().zip(x.shape()) {
            let whole = self.div(&places, &self.scalar(step as i64)?)?;
            columns.push(self.rem(&whole, &self.scalar(extent as i64)?)?);
        }
        if columns.is_empty() {
            return self.zeros(&[places.len(), 0], DType::I64);
        }
        self.stack(&columns.iter().collect::<Vec<_>>(), 1)
    }

    /// The elements where the mask, a `bool` tensor, is true, in one dimension. Both broadcast. Waits for
    /// their number.
    pub fn masked_select(&self, x: &Tensor, mask: &Tensor) -> Result<Tensor, OpError> {
        if mask.dtype() != DType::Bool {
            let types = [x.dtype(), mask.dtype()];
            return Err(OpError::dtype("masked_select", &types, "the mask must be bool"));
        }
        let shape = broadcast("masked_select", &[x.shape(), mask.shape()])?;
        let places = self.true_places(&mask.broadcast_to(&shape)?)?;
        let x = x.broadcast_to(&shape)?;
        self.index_select(&self.reshape(&x, &[x.len()])?, 0, &places)
    }

    /// The places of all elements that are not zero, counted in row-major order.
    fn true_places(&self, x: &Tensor) -> Result<Tensor, OpError> {
        let flat = self.contiguous(&self.reshape(&self.cast(x, DType::Bool)?, &[x.len()])?)?;
        if flat.is_empty() {
            return self.zeros(&[0], DType::I64);
        }
        let counts = self.cumsum(&flat, 0)?;
        let count = counts.select(0, flat.len() - 1)?.item::<i64>()? as usize;
        let places = self.empty(&[count], DType::I64)?;
        if count > 0 {
            let pipeline = self.pipeline(Source::Index, "compact", Defines::default().with("COMPACT", 1))?;
            let call = self.call(&pipeline).arg(places.buffer()).arg(&flat.part()?).arg(&counts.part()?);
            self.submit(call.threads(flat.len()))?;
            let bytes = flat.byte_len() + counts.byte_len() + places.byte_len();
            self.count("nonzero", Path::Own, 0, bytes);
        }
        Ok(places)
    }
}
