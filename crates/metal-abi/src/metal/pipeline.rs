//! `MTLComputePipelineState` and its reflection.

use objc2::rc::Retained;
use objc2::runtime::NSObject;
use objc2::{DefinedClass, define_class};

use super::binding;
use super::device::Device;
use super::errors;
use super::functions::{Handle, HandleIvars, PipelineFunctions, Table, TableDescriptor};
use super::library::Function;
use super::size::{ResourceId, Size};
use super::violation;
use crate::foundation::error::fail;
use crate::foundation::{NSArray, NSError, NSString};

/// The instance variables of a pipeline state.
#[derive(Debug)]
pub(crate) struct PipelineIvars {
    pub(crate) pipeline: anymetal::Pipeline,
    pub(crate) device: Retained<Device>,
    pub(crate) label: Option<Retained<NSString>>,
    pub(crate) supports_indirect: bool,
    /// Whether pipelines with more functions may be made of it.
    pub(crate) adds_functions: bool,
    /// The kernel, and what it links.
    pub(crate) function: Retained<Function>,
    pub(crate) functions: PipelineFunctions,
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
            ResourceId { number: self.number_for_kernels("MTLComputePipelineState gpuResourceID") }
        }

        #[unsafe(method_id(functionHandleWithFunction:))]
        fn function_handle(&self, function: &Function) -> Option<Retained<Handle>> {
            self.handle(function.shown_name())
        }

        #[unsafe(method_id(functionHandleWithName:))]
        fn named_function_handle(&self, name: &NSString) -> Option<Retained<Handle>> {
            self.handle(&name.to_string())
        }

        #[unsafe(method_id(newVisibleFunctionTableWithDescriptor:))]
        fn new_table(&self, descriptor: &TableDescriptor) -> Option<Retained<Table>> {
            const METHOD: &str = "MTLComputePipelineState newVisibleFunctionTableWithDescriptor:";
            Table::new(METHOD, &self.ivars().device, descriptor)
        }

        #[unsafe(method_id(newComputePipelineStateWithAdditionalBinaryFunctions:error:))]
        fn with_functions(&self, functions: &NSArray, error: *mut *mut NSError) -> Option<Retained<Pipeline>> {
            const METHOD: &str = "MTLComputePipelineState newComputePipelineStateWithAdditionalBinaryFunctions:error:";
            self.with_more(METHOD, functions).map_or_else(|problem| fail(error, problem), Some)
        }

        // `MTLShaderValidationDefault`.
        #[unsafe(method(shaderValidation))]
        fn validation(&self) -> isize {
            0
        }

        #[unsafe(method_id(reflection))]
        fn reflection(&self) -> Option<Retained<Reflection>> {
            Some(Reflection::of(self))
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

impl Pipeline {
    /// What kernels that encode commands know it by, for a method that tells it.
    pub(crate) fn number_for_kernels(&self, method: &str) -> u64 {
        if !self.ivars().supports_indirect {
            violation(method, "the pipeline state was made without supportIndirectCommandBuffers");
        }
        self.ivars().pipeline.gpu_resource_id()
    }

    /// The handle of a function that the pipeline links, not only for calls by its name.
    fn handle(&self, name: &str) -> Option<Retained<Handle>> {
        let PipelineIvars { pipeline, device, functions, .. } = self.ivars();
        if !functions.public.iter().any(|function| function.shown_name() == name) {
            return None;
        }
        let handle = pipeline.function_handle(name).ok()?;
        Some(crate::foundation::object(HandleIvars { handle, device: device.clone() }))
    }

    fn with_more(&self, method: &str, more: &NSArray) -> Result<Retained<Pipeline>, Retained<NSError>> {
        let PipelineIvars { device, label, supports_indirect, adds_functions, function, functions, .. } =
            self.ivars();
        if !adds_functions {
            violation(method, "the pipeline state was made without supportAddingBinaryFunctions");
        }
        let functions = functions.with(method, more);
        let text = label.as_ref().map(|label| label.to_string()).unwrap_or_default();
        let pipeline = functions.linked().and_then(|linked| function.pipeline(&text, linked));
        Ok(crate::foundation::object(PipelineIvars {
            pipeline: pipeline.map_err(|error| errors::of_library(&error))?,
            device: device.clone(),
            label: label.clone(),
            supports_indirect: *supports_indirect,
            adds_functions: *adds_functions,
            function: function.clone(),
            functions,
        }))
    }
}

impl Reflection {
    /// That of a pipeline.
    pub(crate) fn of(pipeline: &Pipeline) -> Retained<Reflection> {
        let PipelineIvars { pipeline, function, .. } = pipeline.ivars();
        let bindings = binding::objects_of(&pipeline.kernel().arguments, function);
        crate::foundation::object(NSArray::of(bindings))
    }
}
