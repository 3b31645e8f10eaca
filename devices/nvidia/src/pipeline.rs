//! Pipelines: kernels that the driver has compiled for the card.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use anymetal_hal::artifact::{Artifact, ArtifactCode, ArtifactTarget, KernelInfo};
use anymetal_hal::error::DeviceError;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::validate;

use crate::device_shared::DeviceShared;
use crate::driver::DriverError;

/// A kernel in the card.
pub(crate) struct NvidiaPipeline {
    artifact: Arc<Artifact>,
    kernel: KernelInfo,
    module: u64,
    /// The driver's function.
    pub(crate) function: u64,
    device: Arc<DeviceShared>,
}

impl NvidiaPipeline {
    pub(crate) fn new(
        artifact: &Arc<Artifact>,
        kernel: &str,
        device: &Arc<DeviceShared>,
    ) -> Result<Self, DeviceError> {
        let info = artifact.existing_kernel(kernel)?;
        validate::check_arguments(info, &device.name)?;
        let unloadable = |reason: String| DeviceError::UnloadableCode { kernel: kernel.to_owned(), reason };
        let (ArtifactTarget::Nvidia { sm }, ArtifactCode::Ptx(text)) = (&artifact.target, &artifact.code)
        else {
            return Err(unloadable(format!("it is {}, not PTX for an NVIDIA GPU", artifact.code.kind())));
        };
        let own = device.driver.card().sm;
        if *sm > own {
            return Err(unloadable(format!("it was compiled for sm_{sm}, and the card is sm_{own}")));
        }
        let driver = &device.driver;
        let failed = |error: DriverError| match error {
            DriverError::BadCode(reason) => unloadable(reason),
            other => other.of(&device.name, 0),
        };
        let module = crate::code::load(device, text).map_err(failed)?;
        let mut pipeline = NvidiaPipeline {
            artifact: Arc::clone(artifact),
            kernel: info.clone(),
            module,
            function: 0,
            device: Arc::clone(device),
        };
        pipeline.function = driver.function(module, &info.symbol).map_err(failed)?;
        // Static memory counts against the same limit.
        let limit = device.capabilities.max_threadgroup_memory_bytes;
        let dynamic = limit.saturating_sub(info.threadgroup_static_bytes);
        if info.threadgroup_slots() > 0 && dynamic > 0 {
            driver.allow_shared(pipeline.function, dynamic as u32).map_err(failed)?;
        }
        Ok(pipeline)
    }

    pub(crate) fn artifact(&self) -> &Artifact {
        &self.artifact
    }

    /// Whether its accesses are checked at run time, at least some.
    pub(crate) fn can_fault(&self) -> bool {
        !self.artifact.fault_sites.is_empty()
    }

    pub(crate) fn belongs_to(&self, device: &Arc<DeviceShared>) -> bool {
        Arc::ptr_eq(&self.device, device)
    }
}

impl Pipeline for NvidiaPipeline {
    fn kernel(&self) -> &KernelInfo {
        &self.kernel
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for NvidiaPipeline {
    fn drop(&mut self) {
        if !self.device.is_lost() {
            self.device.driver.unload(self.module);
        }
    }
}

impl fmt::Debug for NvidiaPipeline {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("NvidiaPipeline").field("kernel", &self.kernel.name).finish_non_exhaustive()
    }
}
