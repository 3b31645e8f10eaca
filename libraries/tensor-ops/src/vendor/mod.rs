//! Products by a library made for the device.
//!
//! Owns the choice between it and own kernels. Devices that take products as commands have theirs behind
//! these (`device`), on CPUs it is the `gemm` crate (`host`). Invariant: what a library makes is a product in
//! `f32` of which each element is rounded once.

mod device;
mod host;

use std::time::Instant;

use anymetal::DeviceKind;

use crate::context::Ops;
use crate::counted::Path;
use crate::dtype::DType;
use crate::error::OpError;
use crate::matmul::Factors;
use crate::tensor::Tensor;

impl Ops {
    /// The product in that type by a library, if there is one for it that pays or is forced.
    pub(crate) fn product_by_vendor(
        &self,
        factors: &Factors,
        dtype: DType,
    ) -> Result<Option<Tensor>, OpError> {
        let is_unfinished = |tensor: &Tensor| self.is_unfinished(tensor.buffer());
        if self.recorder().is_some()
            || self.forced_path() == Some(Path::Own)
            || factors.inner == 0
            || is_unfinished(&factors.a)
            || is_unfinished(&factors.b)
        {
            return Ok(None);
        }
        let is_forced = self.forced_path() == Some(Path::Vendor);
        if self.device().matrix_products().is_ok() {
            return self.product_by_device(factors, dtype, is_forced);
        }
        let types = [factors.a.dtype(), factors.b.dtype(), dtype];
        let is_cpu = self.device().capabilities().kind == DeviceKind::Cpu;
        if types != [DType::F32; 3] || !is_cpu || !(is_forced || host::pays(factors)) {
            return Ok(None);
        }
        let out = self.empty(&factors.shape(), dtype)?;
        let start = Instant::now();
        let is_made = self.product_by_host(factors, &out)?;
        if is_made {
            self.call_times().made_on_host(start.elapsed());
        }
        Ok(is_made.then_some(out))
    }
}
