//! Every class that this crate exports, as a data symbol that programs link with.
//!
//! Invariant: every class that `objc2-metal` declares is here; those without a function to build
//! them link, and fail by name when they are used.

use objc2::ClassType;

use crate::foundation::{
    array, bundle, data, dictionary, error, exception, file_manager, lock, mutable_set, number, pool,
    process_info, scanner, set, string, url,
};
use crate::metal::{
    archive, argument_descriptor, argument_encoder, binding, blit_encoder, buffer, capture, command_buffer,
    compile_options, compute_encoder, constants, counters, descriptors, device, event, event_listener,
    functions, heap, indirect, library, log_state, pass, pipeline, queue, render_encoder, render_pass,
    render_pipeline, residency, sampler, stage_input, texture, texture_descriptor,
};
use crate::mps::{matrix, multiplication};
use crate::runtime::class::Class;
use crate::runtime::{class_builder, registry, root};

/// The variable from which compiled Objective-C reads where the class is.
macro_rules! reference {
    ($name:ident) => {
        const _: () = {
            #[unsafe(export_name = concat!("._OBJC_REF_CLASS_", stringify!($name)))]
            static REFERENCE: &Class = &$name;
        };
    };
}

macro_rules! classes {
    (built { $($name:ident = $build:expr;)* } absent { $($absent:ident)* }) => {
        $(
            #[unsafe(export_name = concat!("._OBJC_CLASS_", stringify!($name)))]
            #[allow(non_upper_case_globals, reason = "Objective-C names its classes so")]
            static $name: Class = Class::unbuilt(class_name(concat!(stringify!($name), "\0")), 0, Some($build));
            reference!($name);
        )*
        $(
            #[unsafe(export_name = concat!("._OBJC_CLASS_", stringify!($absent)))]
            #[allow(non_upper_case_globals, reason = "Objective-C names its classes so")]
            static $absent: Class = Class::unbuilt(class_name(concat!(stringify!($absent), "\0")), 0, None);
            reference!($absent);
        )*

        /// All of them.
        pub(crate) static ALL: &[&Class] = &[$(&$name,)* $(&$absent,)*];
    };
}

const fn class_name(text: &'static str) -> &'static std::ffi::CStr {
    match std::ffi::CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(name) => name,
        Err(_) => panic!("an identifier has no zeros"),
    }
}

/// Registers the class of a type.
fn build<T: ClassType>() {
    T::class();
}

/// Registers the class of constant strings, which adds nothing to `NSString`.
fn build_constant_string() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let above = registry::class_named(c"NSString");
        if let Some(class) = class_builder::allocate_pair(above, NSConstantString.name()) {
            class_builder::register_pair(class);
        }
    });
}

/// The class of constant strings.
#[inline]
pub(crate) fn constant_string() -> &'static Class {
    &NSConstantString
}

classes! { built {
    NSObject = root::build;
    NSArray = build::<array::NSArray>;
    NSAutoreleasePool = build::<pool::NSAutoreleasePool>;
    NSBundle = build::<bundle::NSBundle>;
    NSCharacterSet = build::<scanner::NSCharacterSet>;
    NSConstantString = build_constant_string;
    NSData = build::<data::NSData>;
    NSDictionary = build::<dictionary::NSDictionary>;
    NSError = build::<error::NSError>;
    NSException = build::<exception::NSException>;
    NSFileManager = build::<file_manager::NSFileManager>;
    NSLock = build::<lock::NSLock>;
    NSMutableArray = build::<array::NSMutableArray>;
    NSMutableData = build::<data::NSMutableData>;
    NSMutableDictionary = build::<dictionary::NSMutableDictionary>;
    NSMutableSet = build::<mutable_set::NSMutableSet>;
    NSMutableString = build::<string::NSMutableString>;
    NSNumber = build::<number::NSNumber>;
    NSProcessInfo = build::<process_info::NSProcessInfo>;
    NSScanner = build::<scanner::NSScanner>;
    NSSet = build::<set::NSSet>;
    NSString = build::<string::NSString>;
    NSURL = build::<url::NSURL>;

    MTLArchitecture = build::<device::Architecture>;
    MTLArgumentDescriptor = build::<argument_descriptor::ArgumentDescriptor>;
    MTLAttribute = build::<stage_input::Attribute>;
    MTLAttributeDescriptor = build::<stage_input::AttributeDescriptor>;
    MTLAttributeDescriptorArray = build::<stage_input::AttributeArray>;
    MTLBinaryArchiveDescriptor = build::<descriptors::BinaryArchiveDescriptor>;
    MTLBlitPassDescriptor = build::<pass::BlitPassDescriptor>;
    MTLBlitPassSampleBufferAttachmentDescriptor = build::<pass::BlitPassAttachment>;
    MTLBlitPassSampleBufferAttachmentDescriptorArray = build::<pass::BlitPassAttachments>;
    MTLBufferLayoutDescriptor = build::<stage_input::LayoutDescriptor>;
    MTLBufferLayoutDescriptorArray = build::<stage_input::LayoutArray>;
    MTLCaptureDescriptor = build::<descriptors::CaptureDescriptor>;
    MTLCaptureManager = build::<capture::CaptureManager>;
    MTLCommandBufferDescriptor = build::<descriptors::CommandBufferDescriptor>;
    MTLCommandQueueDescriptor = build::<descriptors::QueueDescriptor>;
    MTLCompileOptions = build::<compile_options::CompileOptions>;
    MTLComputePassDescriptor = build::<pass::ComputePassDescriptor>;
    MTLComputePassSampleBufferAttachmentDescriptor = build::<pass::ComputePassAttachment>;
    MTLComputePassSampleBufferAttachmentDescriptorArray = build::<pass::ComputePassAttachments>;
    MTLComputePipelineDescriptor = build::<descriptors::PipelineDescriptor>;
    MTLComputePipelineReflection = build::<pipeline::Reflection>;
    MTLCounterSampleBufferDescriptor = build::<counters::SampleBufferDescriptor>;
    MTLDepthStencilDescriptor = build::<render_pipeline::DepthStencilDescriptor>;
    MTLFunctionConstant = build::<constants::FunctionConstant>;
    MTLFunctionConstantValues = build::<constants::ConstantValues>;
    MTLFunctionDescriptor = build::<descriptors::FunctionDescriptor>;
    MTLHeapDescriptor = build::<descriptors::HeapDescriptor>;
    MTLIndirectCommandBufferDescriptor = build::<indirect::IndirectDescriptor>;
    MTLLinkedFunctions = build::<functions::LinkedFunctions>;
    MTLLogStateDescriptor = build::<log_state::LogStateDescriptor>;
    MTLMeshRenderPipelineDescriptor = build::<render_pipeline::MeshPipelineDescriptor>;
    MTLPipelineBufferDescriptor = build::<descriptors::PipelineBuffer>;
    MTLPipelineBufferDescriptorArray = build::<descriptors::PipelineBuffers>;
    MTLRenderPassColorAttachmentDescriptor = build::<render_pass::ColorAttachment>;
    MTLRenderPassColorAttachmentDescriptorArray = build::<render_pass::ColorAttachments>;
    MTLRenderPassDepthAttachmentDescriptor = build::<render_pass::DepthAttachment>;
    MTLRenderPassDescriptor = build::<render_pass::RenderPassDescriptor>;
    MTLRenderPassSampleBufferAttachmentDescriptor = build::<render_pass::SampleAttachment>;
    MTLRenderPassSampleBufferAttachmentDescriptorArray = build::<render_pass::SampleAttachments>;
    MTLRenderPassStencilAttachmentDescriptor = build::<render_pass::StencilAttachment>;
    MTLRenderPipelineColorAttachmentDescriptor = build::<render_pipeline::ColorAttachment>;
    MTLRenderPipelineColorAttachmentDescriptorArray = build::<render_pipeline::ColorAttachments>;
    MTLRenderPipelineDescriptor = build::<render_pipeline::RenderPipelineDescriptor>;
    MTLResidencySetDescriptor = build::<descriptors::ResidencySetDescriptor>;
    MTLSamplerDescriptor = build::<sampler::SamplerDescriptor>;
    MTLSharedEventHandle = build::<event::EventHandle>;
    MTLSharedEventListener = build::<event_listener::Listener>;
    MTLStageInputOutputDescriptor = build::<stage_input::StageInputDescriptor>;
    MTLStencilDescriptor = build::<render_pipeline::StencilDescriptor>;
    MTLTextureDescriptor = build::<texture_descriptor::TextureDescriptor>;
    MTLTextureViewDescriptor = build::<texture_descriptor::TextureViewDescriptor>;
    MTLTileRenderPipelineColorAttachmentDescriptor = build::<render_pipeline::TileColorAttachment>;
    MTLTileRenderPipelineColorAttachmentDescriptorArray = build::<render_pipeline::TileColorAttachments>;
    MTLTileRenderPipelineDescriptor = build::<render_pipeline::TilePipelineDescriptor>;
    MTLVertexAttribute = build::<stage_input::VertexAttribute>;
    MTLVertexAttributeDescriptor = build::<render_pipeline::VertexAttribute>;
    MTLVertexAttributeDescriptorArray = build::<render_pipeline::VertexAttributes>;
    MTLVertexBufferLayoutDescriptor = build::<render_pipeline::VertexLayout>;
    MTLVertexBufferLayoutDescriptorArray = build::<render_pipeline::VertexLayouts>;
    MTLVertexDescriptor = build::<render_pipeline::VertexDescriptor>;
    MTLVisibleFunctionTableDescriptor = build::<functions::TableDescriptor>;
    MPSMatrix = build::<matrix::Matrix>;
    MPSMatrixDescriptor = build::<matrix::MatrixDescriptor>;
    MPSMatrixMultiplication = build::<multiplication::MatrixMultiplication>;
    MPSMatrixVectorMultiplication = build::<multiplication::VectorMultiplication>;
    MPSVector = build::<matrix::Vector>;
    MPSVectorDescriptor = build::<matrix::VectorDescriptor>;
    AnymetalArgumentEncoder = build::<argument_encoder::ArgumentEncoder>;
    AnymetalBinaryArchive = build::<archive::Archive>;
    AnymetalBinding = build::<binding::Binding>;
    AnymetalBlitCommandEncoder = build::<blit_encoder::BlitEncoder>;
    AnymetalBuffer = build::<buffer::Buffer>;
    AnymetalCaptureScope = build::<capture::CaptureScope>;
    AnymetalCommandBuffer = build::<command_buffer::CommandBuffer>;
    AnymetalCommandQueue = build::<queue::Queue>;
    AnymetalComputeCommandEncoder = build::<compute_encoder::ComputeEncoder>;
    AnymetalComputePipelineState = build::<pipeline::Pipeline>;
    AnymetalCounter = build::<counters::Counter>;
    AnymetalCounterSampleBuffer = build::<counters::SampleBuffer>;
    AnymetalCounterSet = build::<counters::CounterSet>;
    AnymetalDepthStencilState = build::<render_pipeline::DepthStencil>;
    AnymetalDevice = build::<device::Device>;
    AnymetalFence = build::<event::Fence>;
    AnymetalFunction = build::<library::Function>;
    AnymetalFunctionHandle = build::<functions::Handle>;
    AnymetalHeap = build::<heap::Heap>;
    AnymetalIndirectCommandBuffer = build::<indirect::IndirectBuffer>;
    AnymetalIndirectComputeCommand = build::<indirect::ComputeCommand>;
    AnymetalLibrary = build::<library::Library>;
    AnymetalLogState = build::<log_state::LogState>;
    AnymetalRenderCommandEncoder = build::<render_encoder::RenderEncoder>;
    AnymetalResidencySet = build::<residency::ResidencySet>;
    AnymetalSamplerState = build::<sampler::Sampler>;
    AnymetalSharedEvent = build::<event::Event>;
    AnymetalTexture = build::<texture::Texture>;
    AnymetalVisibleFunctionTable = build::<functions::Table>;
} absent {
    MTL4AccelerationStructureBoundingBoxGeometryDescriptor
    MTL4AccelerationStructureCurveGeometryDescriptor MTL4AccelerationStructureDescriptor
    MTL4AccelerationStructureGeometryDescriptor
    MTL4AccelerationStructureMotionBoundingBoxGeometryDescriptor
    MTL4AccelerationStructureMotionCurveGeometryDescriptor
    MTL4AccelerationStructureMotionTriangleGeometryDescriptor
    MTL4AccelerationStructureTriangleGeometryDescriptor MTL4ArgumentTableDescriptor
    MTL4BinaryFunctionDescriptor MTL4CommandAllocatorDescriptor MTL4CommandBufferOptions
    MTL4CommandQueueDescriptor MTL4CommitOptions MTL4CompilerDescriptor MTL4CompilerTaskOptions
    MTL4ComputePipelineDescriptor MTL4CounterHeapDescriptor MTL4FunctionDescriptor
    MTL4LibraryDescriptor MTL4LibraryFunctionDescriptor MTL4MachineLearningPipelineDescriptor
    MTL4MachineLearningPipelineReflection MTL4MeshRenderPipelineDescriptor
    MTL4PipelineDataSetSerializerDescriptor MTL4PipelineDescriptor MTL4PipelineOptions
    MTL4PipelineStageDynamicLinkingDescriptor MTL4PrimitiveAccelerationStructureDescriptor
    MTL4RenderPipelineBinaryFunctionsDescriptor MTL4RenderPipelineColorAttachmentDescriptor
    MTL4RenderPipelineColorAttachmentDescriptorArray MTL4RenderPipelineDescriptor
    MTL4RenderPipelineDynamicLinkingDescriptor MTL4SpecializedFunctionDescriptor
    MTL4StaticLinkingDescriptor MTL4StitchedFunctionDescriptor MTL4TileRenderPipelineDescriptor
    MTLAccelerationStructureBoundingBoxGeometryDescriptor
    MTLAccelerationStructureCurveGeometryDescriptor MTLAccelerationStructureDescriptor
    MTLAccelerationStructureGeometryDescriptor
    MTLAccelerationStructureMotionBoundingBoxGeometryDescriptor
    MTLAccelerationStructureMotionCurveGeometryDescriptor
    MTLAccelerationStructureMotionTriangleGeometryDescriptor MTLAccelerationStructurePassDescriptor
    MTLAccelerationStructurePassSampleBufferAttachmentDescriptor
    MTLAccelerationStructurePassSampleBufferAttachmentDescriptorArray
    MTLAccelerationStructureTriangleGeometryDescriptor MTLArgument
    MTLArrayType
    MTLFunctionReflection MTLFunctionStitchingAttributeAlwaysInline
    MTLFunctionStitchingFunctionNode MTLFunctionStitchingGraph MTLFunctionStitchingInputNode
    MTLIOCommandQueueDescriptor
    MTLIndirectInstanceAccelerationStructureDescriptor MTLInstanceAccelerationStructureDescriptor
    MTLIntersectionFunctionDescriptor MTLIntersectionFunctionTableDescriptor
    MTLLogicalToPhysicalColorAttachmentMap
    MTLMotionKeyframeData
    MTLPointerType MTLPrimitiveAccelerationStructureDescriptor MTLRasterizationRateLayerArray
    MTLRasterizationRateMapDescriptor MTLRasterizationRateSampleArray
    MTLRenderPassAttachmentDescriptor MTLRenderPipelineFunctionsDescriptor MTLRenderPipelineReflection
    MTLResourceStatePassDescriptor MTLResourceStatePassSampleBufferAttachmentDescriptor
    MTLResourceStatePassSampleBufferAttachmentDescriptorArray MTLResourceViewPoolDescriptor
    MTLSharedTextureHandle
    MTLStitchedLibraryDescriptor MTLStructMember
    MTLStructType MTLTensorDescriptor MTLTensorExtents MTLTensorReferenceType
    MTLTextureReferenceType MTLType
} }
