//! `MTLComputePipelineState` and its reflection.

use std::sync::OnceLock;

use anymetal::stage_input;
use objc2::rc::Retained;
use objc2::runtime::NSObject;

use super::binding;
use super::device::Device;
use super::errors;
use super::functions::{Handle, HandleIvars, PipelineFunctions, Table, TableDescriptor};
use super::library::Function;
use super::size::{ResourceId, Size};
use super::violation;
use crate::arguments::ErrorOut;
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
    pub(crate) stage_input: Option<anymetal::stage_input::StageInputDescriptor>,
    /// The same for dispatches with a region, once there is one; only of a kernel without stage-in data.
    pub(crate) regional: OnceLock<anymetal::Pipeline>,
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
        fn with_functions(&self, functions: &NSArray, error: ErrorOut) -> Option<Retained<Pipeline>> {
            const METHOD: &str = "MTLComputePipelineState newComputePipelineStateWithAdditionalBinaryFunctions:error:";
            self.with_more(METHOD, functions).map_or_else(|problem| error.fail(problem), Some)
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

    /// The pipeline for a dispatch with a region that stage-in data are for, or without. A kernel may take
    /// the region without stage-in data; then its pipeline has no descriptor of them.
    pub(crate) fn for_region(&self, method: &str, has_region: bool) -> &anymetal::Pipeline {
        let PipelineIvars { pipeline, label, function, functions, stage_input, regional, .. } = self.ivars();
        let kernel = pipeline.kernel();
        if !has_region || stage_input.is_some() || !stage_input::has_region(kernel) {
            return pipeline;
        }
        regional.get_or_init(|| {
            let text = label.as_ref().map(|label| label.to_string()).unwrap_or_default();
            let none = anymetal::stage_input::StageInputDescriptor::new();
            let linked = functions.linked();
            let made = linked.and_then(|linked| function.pipeline(&text, linked, Some(&none)));
            made.unwrap_or_else(|error| violation(method, error))
        })
    }

    fn with_more(&self, method: &str, more: &NSArray) -> Result<Retained<Pipeline>, Retained<NSError>> {
        let PipelineIvars {
            device,
            label,
            supports_indirect,
            adds_functions,
            function,
            functions,
            stage_input,
            ..
        } = self.ivars();
        if !adds_functions {
            violation(method, "the pipeline state was made without supportAddingBinaryFunctions");
        }
        let functions = functions.with(method, more);
        let text = label.as_ref().map(|label| label.to_string()).unwrap_or_default();
        let linked = functions.linked();
        let pipeline = linked.and_then(|linked| function.pipeline(&text, linked, stage_input.as_ref()));
        Ok(crate::foundation::object(PipelineIvars {
            pipeline: pipeline.map_err(|error| errors::of_library(&error))?,
            device: device.clone(),
            label: label.clone(),
            supports_indirect: *supports_indirect,
            adds_functions: *adds_functions,
            function: function.clone(),
            functions,
            stage_input: stage_input.clone(),
            regional: OnceLock::new(),
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
