//! Pipelines: kernels that the device's compiler has made ready.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use anymetal_hal::artifact::{Artifact, ArtifactCode, ArtifactTarget, KernelInfo};
use anymetal_hal::attachment::Attachment;
use anymetal_hal::error::DeviceError;
use anymetal_hal::pipeline::Pipeline;
use anymetal_hal::validate;
use objc2::rc::{Retained, autoreleasepool};
use objc2::runtime::ProtocolObject;
use objc2_foundation::NSString;
use objc2_metal::{
    MTLComputePipelineDescriptor, MTLComputePipelineState, MTLDevice, MTLFunction, MTLPipelineOption,
};

use crate::device::DeviceShared;
use crate::error;
use crate::reflection::{self, DeviceArgument};

/// A kernel in the device.
pub(crate) struct ApplePipeline {
    kernel: KernelInfo,
    pub(crate) state: Retained<ProtocolObject<dyn MTLComputePipelineState>>,
    attachment: Attachment,
    device: Arc<DeviceShared>,
}

impl ApplePipeline {
    pub(crate) fn new(
        artifact: &Arc<Artifact>,
        kernel: &str,
        device: &Arc<DeviceShared>,
    ) -> Result<Self, DeviceError> {
        let info = artifact.existing_kernel(kernel)?;
        let (ArtifactTarget::Metal, ArtifactCode::Source(source)) = (&artifact.target, &artifact.code) else {
            let reason = format!("it is {}, and this is an Apple GPU", artifact.code.kind());
            return Err(error::unloadable(kernel, reason));
        };
        autoreleasepool(|_| {
            let function = device.libraries.function(&device.device, source, info)?;
            let (state, told) = make(device, kernel, &function)?;
            let kernel = reflection::merged(info, &state, &told);
            validate::check_arguments(&kernel, &device.name)?;
            Ok(ApplePipeline { kernel, state, attachment: Attachment::default(), device: Arc::clone(device) })
        })
    }

    pub(crate) fn belongs_to(&self, device: &Arc<DeviceShared>) -> bool {
        Arc::ptr_eq(&self.device, device)
    }
}

type State = Retained<ProtocolObject<dyn MTLComputePipelineState>>;

/// The function's pipeline and what it tells of its arguments.
fn make(
    device: &DeviceShared,
    kernel: &str,
    function: &ProtocolObject<dyn MTLFunction>,
) -> Result<(State, Vec<DeviceArgument>), DeviceError> {
    let descriptor = MTLComputePipelineDescriptor::new();
    descriptor.setLabel(Some(&NSString::from_str(kernel)));
    descriptor.setComputeFunction(Some(function));
    if let Some(archive) = &device.archive {
        archive.offer(&descriptor);
    }
    let mut told = None;
    let made = device.device.newComputePipelineStateWithDescriptor_options_reflection_error(
        &descriptor,
        MTLPipelineOption::BindingInfo,
        Some(&mut told),
    );
    let state = made.map_err(|problem| error::of_kernel(kernel, &problem))?;
    if let Some(archive) = &device.archive {
        archive.add(&descriptor);
    }
    Ok((state, told.map(|told| reflection::arguments(&told)).unwrap_or_default()))
}

impl Pipeline for ApplePipeline {
    fn kernel(&self) -> &KernelInfo {
        &self.kernel
    }

    fn attachment(&self) -> Option<&Attachment> {
        Some(&self.attachment)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl fmt::Debug for ApplePipeline {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ApplePipeline").field("kernel", &self.kernel.name).finish_non_exhaustive()
    }
}
