//! `MTLComputePipelineState` and its reflection.

use objc2::rc::Retained;
use objc2::runtime::NSObject;
use objc2::{DefinedClass, define_class};

use super::binding;
use super::device::Device;
use super::size::{ResourceId, Size};
use super::violation;
use crate::foundation::{NSArray, NSString};

/// The instance variables of a pipeline state.
#[derive(Debug)]
pub(crate) struct PipelineIvars {
    pub(crate) pipeline: anymetal::Pipeline,
    pub(crate) device: Retained<Device>,
    pub(crate) label: Option<Retained<NSString>>,
    pub(crate) supports_indirect: bool,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalComputePipelineState"]
    #[ivars = PipelineIvars]
    #[derive(Debug)]
    pub(crate) struct Pipeline;

    impl Pipeline {
        #[unsafe(method_id(device))]
        fn device(&self) -> Retained<Device> {
            self.ivars().device.clone()
        }

        #[unsafe(method_id(label))]
        fn label(&self) -> Option<Retained<NSString>> {
            self.ivars().label.clone()
        }

        #[unsafe(method(maxTotalThreadsPerThreadgroup))]
        fn max_threads(&self) -> usize {
            self.ivars().pipeline.max_total_threads_per_threadgroup() as usize
        }

        #[unsafe(method(threadExecutionWidth))]
        fn width(&self) -> usize {
            self.ivars().pipeline.thread_execution_width() as usize
        }

        #[unsafe(method(staticThreadgroupMemoryLength))]
        fn static_memory(&self) -> usize {
            self.ivars().pipeline.static_threadgroup_memory_length() as usize
        }

        #[unsafe(method(requiredThreadsPerThreadgroup))]
        fn required_threads(&self) -> Size {
            Size::of(self.ivars().pipeline.kernel().required_threads_per_threadgroup.unwrap_or_default())
        }

        #[unsafe(method(supportIndirectCommandBuffers))]
        fn supports_indirect(&self) -> bool {
            self.ivars().supports_indirect
        }

        #[unsafe(method(gpuResourceID))]
        fn resource_id(&self) -> ResourceId {
            if !self.ivars().supports_indirect {
                let method = "MTLComputePipelineState gpuResourceID";
                violation(method, "the pipeline state was made without supportIndirectCommandBuffers");
            }
            ResourceId { number: self.ivars().pipeline.gpu_resource_id() }
        }

        // `MTLShaderValidationDefault`.
        #[unsafe(method(shaderValidation))]
        fn validation(&self) -> isize {
            0
        }

        #[unsafe(method_id(reflection))]
        fn reflection(&self) -> Option<Retained<Reflection>> {
            Some(Reflection::of(&self.ivars().pipeline))
        }
    }
);

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "MTLComputePipelineReflection"]
    #[ivars = Retained<NSArray>]
    #[derive(Debug)]
    pub(crate) struct Reflection;

    impl Reflection {
        #[unsafe(method_id(bindings))]
        fn bindings(&self) -> Retained<NSArray> {
            self.ivars().clone()
        }

        // The same objects answer what the older `MTLArgument` did.
        #[unsafe(method_id(arguments))]
        fn arguments(&self) -> Retained<NSArray> {
            self.ivars().clone()
        }
    }
);

impl Reflection {
    /// That of a pipeline.
    pub(crate) fn of(pipeline: &anymetal::Pipeline) -> Retained<Reflection> {
        crate::foundation::object(NSArray::of(binding::objects_of(&pipeline.kernel().arguments)))
    }
}
