//! The descriptors of queues, command buffers, heaps, residency sets and archives.

use objc2::rc::Retained;
use objc2::runtime::AnyObject;

use super::descriptor::descriptor;
use super::descriptor_array::descriptor_array;
use super::dispatches::MAX_BUFFERS;
use super::resource_options::ResourceOptions;
use crate::foundation::url::NSURL;
use crate::foundation::{NSArray, NSString};

descriptor! {
    /// What queue to make.
    QueueDescriptor = "MTLCommandQueueDescriptor", QueueProperties;
    values { max_command_buffers, set_max: usize = 64, [maxCommandBufferCount] [setMaxCommandBufferCount:]; }
    objects { log_state, set_log_state: AnyObject, [logState] [setLogState:]; }
}

descriptor! {
    /// What command buffer to make.
    CommandBufferDescriptor = "MTLCommandBufferDescriptor", CommandBufferProperties;
    values {
        retained_references, set_retained: objc2::runtime::Bool = objc2::runtime::Bool::YES, [retainedReferences] [setRetainedReferences:];
        error_options, set_error_options: usize = 0, [errorOptions] [setErrorOptions:];
    }
    objects { log_state, set_log_state: AnyObject, [logState] [setLogState:]; }
}

descriptor! {
    /// What heap to make.
    HeapDescriptor = "MTLHeapDescriptor", HeapProperties;
    values {
        size, set_size: usize = 0, [size] [setSize:];
        storage_mode, set_storage_mode: usize = super::resource_options::PRIVATE, [storageMode] [setStorageMode:];
        cache_mode, set_cache_mode: usize = 0, [cpuCacheMode] [setCpuCacheMode:];
        hazard_mode, set_hazard_mode: usize = 0, [hazardTrackingMode] [setHazardTrackingMode:];
        heap_type, set_heap_type: isize = 0, [type] [setType:];
        sparse_page_size, set_sparse: isize = 101, [sparsePageSize] [setSparsePageSize:];
    }
    objects {}
    methods {
        #[unsafe(method(resourceOptions))]
        fn resource_options(&self) -> usize {
            self.ivars().options().0
        }

        #[unsafe(method(setResourceOptions:))]
        fn set_resource_options(&self, options: usize) {
            self.ivars().set_options(ResourceOptions(options));
        }
    }
}

impl HeapProperties {
    fn set_options(&self, options: ResourceOptions) {
        self.set_cache_mode(options.cache_mode());
        self.set_storage_mode(options.storage_mode());
        self.set_hazard_mode(options.given_hazard_mode());
    }

    /// The options of everything in the heap.
    pub(crate) fn options(&self) -> ResourceOptions {
        ResourceOptions::of_modes(self.cache_mode(), self.storage_mode(), self.hazard_mode())
    }
}

descriptor! {
    /// What residency set to make.
    ResidencySetDescriptor = "MTLResidencySetDescriptor", ResidencySetProperties;
    values { initial_capacity, set_capacity: usize = 0, [initialCapacity] [setInitialCapacity:]; }
    objects { label, set_label: NSString, [label] [setLabel:]; }
}

descriptor! {
    /// What archive to open or make.
    BinaryArchiveDescriptor = "MTLBinaryArchiveDescriptor", BinaryArchiveProperties;
    values {}
    objects { url, set_url: NSURL, [url] [setUrl:]; }
}

descriptor! {
    /// Which function of a library.
    FunctionDescriptor = "MTLFunctionDescriptor", FunctionProperties;
    values { options, set_options: usize = 0, [options] [setOptions:]; }
    objects {
        name, set_name: NSString, [name] [setName:];
        specialized_name, set_specialized_name: NSString, [specializedName] [setSpecializedName:];
        constant_values, set_constant_values: super::constants::ConstantValues, [constantValues] [setConstantValues:];
        archives, set_archives: NSArray, [binaryArchives] [setBinaryArchives:];
    }
    methods {
        #[unsafe(method_id(functionDescriptor))]
        fn function_descriptor() -> Retained<Self> {
            crate::foundation::object(FunctionProperties::default())
        }
    }
}

descriptor! {
    /// Whether a buffer changes while a pipeline's kernel may use it: a promise of the program, which has no
    /// effect here.
    PipelineBuffer = "MTLPipelineBufferDescriptor", PipelineBufferProperties;
    values { mutability, set_mutability: usize = 0, [mutability] [setMutability:]; }
    objects {}
}

descriptor_array! { PipelineBuffers = "MTLPipelineBufferDescriptorArray", PipelineBuffer, MAX_BUFFERS }

descriptor! {
    /// What pipeline to make.
    PipelineDescriptor = "MTLComputePipelineDescriptor", PipelineProperties;
    values {
        size_is_multiple, set_size_is_multiple: objc2::runtime::Bool = objc2::runtime::Bool::NO, [threadGroupSizeIsMultipleOfThreadExecutionWidth] [setThreadGroupSizeIsMultipleOfThreadExecutionWidth:];
        max_threads, set_max_threads: usize = 0, [maxTotalThreadsPerThreadgroup] [setMaxTotalThreadsPerThreadgroup:];
        indirect, set_indirect: objc2::runtime::Bool = objc2::runtime::Bool::NO, [supportIndirectCommandBuffers] [setSupportIndirectCommandBuffers:];
        adds_functions, set_adds_functions: objc2::runtime::Bool = objc2::runtime::Bool::NO, [supportAddingBinaryFunctions] [setSupportAddingBinaryFunctions:];
        call_depth, set_call_depth: usize = 1, [maxCallStackDepth] [setMaxCallStackDepth:];
        validation, set_validation: isize = 0, [shaderValidation] [setShaderValidation:];
        required_threads, set_required_threads: super::size::Size = super::size::Size::default(), [requiredThreadsPerThreadgroup] [setRequiredThreadsPerThreadgroup:];
    }
    objects {
        label, set_label: NSString, [label] [setLabel:];
        function, set_function: super::library::Function, [computeFunction] [setComputeFunction:];
        stage_input, set_stage_input: super::stage_input::StageInputDescriptor, [stageInputDescriptor] [setStageInputDescriptor:];
        linked, set_linked: super::functions::LinkedFunctions, [linkedFunctions] [setLinkedFunctions:];
        archives, set_archives: NSArray, [binaryArchives] [setBinaryArchives:];
        libraries, set_libraries: NSArray, [preloadedLibraries] [setPreloadedLibraries:];
        inserted, set_inserted: NSArray, [insertLibraries] [setInsertLibraries:];
    }
    arrays { buffers: PipelineBuffers, [buffers]; }
    methods {
        #[unsafe(method(reset))]
        fn reset(&self) {
            self.ivars().reset();
        }
    }
}

descriptor! {
    /// What to capture.
    CaptureDescriptor = "MTLCaptureDescriptor", CaptureProperties;
    values { destination, set_destination: isize = 1, [destination] [setDestination:]; }
    objects {
        captured, set_captured: AnyObject, [captureObject] [setCaptureObject:];
        output, set_output: NSURL, [outputURL] [setOutputURL:];
    }
}
