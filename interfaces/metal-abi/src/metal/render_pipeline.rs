//! The descriptors of render pipelines, vertices, depth and stencil, which keep their properties, and the
//! refusal of the pipelines.
//!
//! anymetal runs no graphics functions. Programs fill descriptors in before they request a pipeline, so the
//! descriptors exist, and the device answers every request with [`errors::of_unsupported`].

use std::ptr::null_mut;

use block2::Block;
use objc2::rc::Retained;
use objc2::runtime::{AnyObject, Bool, NSObject};

use super::descriptor::descriptor;
use super::descriptor_array::{Descriptor, descriptor_array};
use super::descriptors::PipelineBuffers;
use super::device::Device;
use super::errors;
use super::functions::LinkedFunctions;
use super::library::Function;
use super::render_pass::MAX_COLORS;
use super::size::Size;
use super::stage_input::{MAX_ENTRIES, PER_VERTEX};
use crate::arguments::ErrorOut;
use crate::foundation::{NSArray, NSError, NSString};

/// `MTLBlendFactorOne` and `MTLColorWriteMaskAll`.
const BLEND_ONE: usize = 1;
const WRITE_ALL: usize = 15;

/// `MTLCompareFunctionAlways`.
const ALWAYS: usize = 7;

/// Metal's initial value of `maxTessellationFactor`.
const MAX_TESSELLATION_FACTOR: usize = 16;

descriptor! {
    /// The format and blending of a color attachment.
    ColorAttachment = "MTLRenderPipelineColorAttachmentDescriptor", ColorProperties;
    values {
        format, set_format: usize = 0, [pixelFormat] [setPixelFormat:];
        blending, set_blending: Bool = Bool::NO, [isBlendingEnabled] [setBlendingEnabled:];
        source_rgb, set_source_rgb: usize = BLEND_ONE, [sourceRGBBlendFactor] [setSourceRGBBlendFactor:];
        destination_rgb, set_destination_rgb: usize = 0, [destinationRGBBlendFactor] [setDestinationRGBBlendFactor:];
        rgb_operation, set_rgb_operation: usize = 0, [rgbBlendOperation] [setRgbBlendOperation:];
        source_alpha, set_source_alpha: usize = BLEND_ONE, [sourceAlphaBlendFactor] [setSourceAlphaBlendFactor:];
        destination_alpha, set_destination_alpha: usize = 0, [destinationAlphaBlendFactor] [setDestinationAlphaBlendFactor:];
        alpha_operation, set_alpha_operation: usize = 0, [alphaBlendOperation] [setAlphaBlendOperation:];
        write_mask, set_write_mask: usize = WRITE_ALL, [writeMask] [setWriteMask:];
    }
    objects {}
}

descriptor_array! {
    ColorAttachments = "MTLRenderPipelineColorAttachmentDescriptorArray", ColorAttachment, MAX_COLORS
}

descriptor! {
    /// How vertices step through a buffer.
    VertexLayout = "MTLVertexBufferLayoutDescriptor", VertexLayoutProperties;
    values {
        stride, set_stride: usize = 0, [stride] [setStride:];
        step_function, set_step_function: usize = PER_VERTEX, [stepFunction] [setStepFunction:];
        step_rate, set_step_rate: usize = 1, [stepRate] [setStepRate:];
    }
    objects {}
}

descriptor! {
    /// The format and place of an attribute.
    VertexAttribute = "MTLVertexAttributeDescriptor", VertexAttributeProperties;
    values {
        format, set_format: usize = 0, [format] [setFormat:];
        offset, set_offset: usize = 0, [offset] [setOffset:];
        buffer_index, set_buffer_index: usize = 0, [bufferIndex] [setBufferIndex:];
    }
    objects {}
}

descriptor_array! { VertexLayouts = "MTLVertexBufferLayoutDescriptorArray", VertexLayout, MAX_ENTRIES }

descriptor_array! { VertexAttributes = "MTLVertexAttributeDescriptorArray", VertexAttribute, MAX_ENTRIES }

descriptor! {
    /// The input of a vertex function.
    VertexDescriptor = "MTLVertexDescriptor", VertexProperties;
    values {}
    objects {}
    arrays {
        layouts: VertexLayouts, [layouts];
        attributes: VertexAttributes, [attributes];
    }
    methods {
        #[unsafe(method_id(vertexDescriptor))]
        fn descriptor() -> Retained<Self> {
            Self::fresh()
        }

        #[unsafe(method(reset))]
        fn reset(&self) {
            self.ivars().reset();
        }
    }
}

descriptor! {
    /// A pipeline of vertex and fragment functions.
    RenderPipelineDescriptor = "MTLRenderPipelineDescriptor", RenderPipelineProperties;
    values {
        samples, set_samples: usize = 1, [rasterSampleCount] [setRasterSampleCount:];
        alpha_to_coverage, set_alpha_to_coverage: Bool = Bool::NO, [isAlphaToCoverageEnabled] [setAlphaToCoverageEnabled:];
        alpha_to_one, set_alpha_to_one: Bool = Bool::NO, [isAlphaToOneEnabled] [setAlphaToOneEnabled:];
        rasterization, set_rasterization: Bool = Bool::YES, [isRasterizationEnabled] [setRasterizationEnabled:];
        amplification, set_amplification: usize = 1, [maxVertexAmplificationCount] [setMaxVertexAmplificationCount:];
        depth_format, set_depth_format: usize = 0, [depthAttachmentPixelFormat] [setDepthAttachmentPixelFormat:];
        stencil_format, set_stencil_format: usize = 0, [stencilAttachmentPixelFormat] [setStencilAttachmentPixelFormat:];
        topology, set_topology: usize = 0, [inputPrimitiveTopology] [setInputPrimitiveTopology:];
        partition_mode, set_partition_mode: usize = 0, [tessellationPartitionMode] [setTessellationPartitionMode:];
        max_factor, set_max_factor: usize = MAX_TESSELLATION_FACTOR, [maxTessellationFactor] [setMaxTessellationFactor:];
        factor_scale, set_factor_scale: Bool = Bool::NO, [isTessellationFactorScaleEnabled] [setTessellationFactorScaleEnabled:];
        factor_format, set_factor_format: usize = 0, [tessellationFactorFormat] [setTessellationFactorFormat:];
        factor_step, set_factor_step: usize = 0, [tessellationFactorStepFunction] [setTessellationFactorStepFunction:];
        control_index, set_control_index: usize = 0, [tessellationControlPointIndexType] [setTessellationControlPointIndexType:];
        winding, set_winding: usize = 0, [tessellationOutputWindingOrder] [setTessellationOutputWindingOrder:];
        indirect, set_indirect: Bool = Bool::NO, [supportIndirectCommandBuffers] [setSupportIndirectCommandBuffers:];
        adds_vertex, set_adds_vertex: Bool = Bool::NO, [supportAddingVertexBinaryFunctions] [setSupportAddingVertexBinaryFunctions:];
        adds_fragment, set_adds_fragment: Bool = Bool::NO, [supportAddingFragmentBinaryFunctions] [setSupportAddingFragmentBinaryFunctions:];
        vertex_calls, set_vertex_calls: usize = 1, [maxVertexCallStackDepth] [setMaxVertexCallStackDepth:];
        fragment_calls, set_fragment_calls: usize = 1, [maxFragmentCallStackDepth] [setMaxFragmentCallStackDepth:];
        validation, set_validation: isize = 0, [shaderValidation] [setShaderValidation:];
    }
    objects {
        label, set_label: NSString, [label] [setLabel:];
        vertex, set_vertex: Function, [vertexFunction] [setVertexFunction:];
        fragment, set_fragment: Function, [fragmentFunction] [setFragmentFunction:];
        input, set_input: VertexDescriptor, [vertexDescriptor] [setVertexDescriptor:];
        archives, set_archives: NSArray, [binaryArchives] [setBinaryArchives:];
        vertex_libraries, set_vertex_libraries: NSArray = NSArray::of(Vec::new()), [vertexPreloadedLibraries] [setVertexPreloadedLibraries:];
        fragment_libraries, set_fragment_libraries: NSArray = NSArray::of(Vec::new()), [fragmentPreloadedLibraries] [setFragmentPreloadedLibraries:];
        vertex_linked, set_vertex_linked: LinkedFunctions = LinkedFunctions::fresh(), [vertexLinkedFunctions] [setVertexLinkedFunctions:];
        fragment_linked, set_fragment_linked: LinkedFunctions = LinkedFunctions::fresh(), [fragmentLinkedFunctions] [setFragmentLinkedFunctions:];
    }
    arrays {
        colors: ColorAttachments, [colorAttachments];
        vertex_buffers: PipelineBuffers, [vertexBuffers];
        fragment_buffers: PipelineBuffers, [fragmentBuffers];
    }
    methods {
        // The older name of `rasterSampleCount`.
        #[unsafe(method(sampleCount))]
        fn sample_count(&self) -> usize {
            self.ivars().samples()
        }

        #[unsafe(method(setSampleCount:))]
        fn set_sample_count(&self, count: usize) {
            self.ivars().set_samples(count);
        }

        #[unsafe(method(reset))]
        fn reset(&self) {
            self.ivars().reset();
        }
    }
}

descriptor! {
    /// A pipeline of object, mesh and fragment functions.
    MeshPipelineDescriptor = "MTLMeshRenderPipelineDescriptor", MeshPipelineProperties;
    values {
        object_threads, set_object_threads: usize = 0, [maxTotalThreadsPerObjectThreadgroup] [setMaxTotalThreadsPerObjectThreadgroup:];
        mesh_threads, set_mesh_threads: usize = 0, [maxTotalThreadsPerMeshThreadgroup] [setMaxTotalThreadsPerMeshThreadgroup:];
        object_multiple, set_object_multiple: Bool = Bool::NO, [objectThreadgroupSizeIsMultipleOfThreadExecutionWidth] [setObjectThreadgroupSizeIsMultipleOfThreadExecutionWidth:];
        mesh_multiple, set_mesh_multiple: Bool = Bool::NO, [meshThreadgroupSizeIsMultipleOfThreadExecutionWidth] [setMeshThreadgroupSizeIsMultipleOfThreadExecutionWidth:];
        payload_bytes, set_payload_bytes: usize = 0, [payloadMemoryLength] [setPayloadMemoryLength:];
        mesh_groups, set_mesh_groups: usize = 0, [maxTotalThreadgroupsPerMeshGrid] [setMaxTotalThreadgroupsPerMeshGrid:];
        samples, set_samples: usize = 1, [rasterSampleCount] [setRasterSampleCount:];
        alpha_to_coverage, set_alpha_to_coverage: Bool = Bool::NO, [isAlphaToCoverageEnabled] [setAlphaToCoverageEnabled:];
        alpha_to_one, set_alpha_to_one: Bool = Bool::NO, [isAlphaToOneEnabled] [setAlphaToOneEnabled:];
        rasterization, set_rasterization: Bool = Bool::YES, [isRasterizationEnabled] [setRasterizationEnabled:];
        amplification, set_amplification: usize = 1, [maxVertexAmplificationCount] [setMaxVertexAmplificationCount:];
        depth_format, set_depth_format: usize = 0, [depthAttachmentPixelFormat] [setDepthAttachmentPixelFormat:];
        stencil_format, set_stencil_format: usize = 0, [stencilAttachmentPixelFormat] [setStencilAttachmentPixelFormat:];
        indirect, set_indirect: Bool = Bool::NO, [supportIndirectCommandBuffers] [setSupportIndirectCommandBuffers:];
        validation, set_validation: isize = 0, [shaderValidation] [setShaderValidation:];
        object_size, set_object_size: Size = Size::default(), [requiredThreadsPerObjectThreadgroup] [setRequiredThreadsPerObjectThreadgroup:];
        mesh_size, set_mesh_size: Size = Size::default(), [requiredThreadsPerMeshThreadgroup] [setRequiredThreadsPerMeshThreadgroup:];
    }
    objects {
        label, set_label: NSString, [label] [setLabel:];
        object, set_object: Function, [objectFunction] [setObjectFunction:];
        mesh, set_mesh: Function, [meshFunction] [setMeshFunction:];
        fragment, set_fragment: Function, [fragmentFunction] [setFragmentFunction:];
        archives, set_archives: NSArray, [binaryArchives] [setBinaryArchives:];
        object_linked, set_object_linked: LinkedFunctions = LinkedFunctions::fresh(), [objectLinkedFunctions] [setObjectLinkedFunctions:];
        mesh_linked, set_mesh_linked: LinkedFunctions = LinkedFunctions::fresh(), [meshLinkedFunctions] [setMeshLinkedFunctions:];
        fragment_linked, set_fragment_linked: LinkedFunctions = LinkedFunctions::fresh(), [fragmentLinkedFunctions] [setFragmentLinkedFunctions:];
    }
    arrays {
        colors: ColorAttachments, [colorAttachments];
        object_buffers: PipelineBuffers, [objectBuffers];
        mesh_buffers: PipelineBuffers, [meshBuffers];
        fragment_buffers: PipelineBuffers, [fragmentBuffers];
    }
    methods {
        #[unsafe(method(reset))]
        fn reset(&self) {
            self.ivars().reset();
        }
    }
}

descriptor! {
    /// The format of a color attachment of a tile pipeline.
    TileColorAttachment = "MTLTileRenderPipelineColorAttachmentDescriptor", TileColorProperties;
    values { format, set_format: usize = 0, [pixelFormat] [setPixelFormat:]; }
    objects {}
}

descriptor_array! {
    TileColorAttachments = "MTLTileRenderPipelineColorAttachmentDescriptorArray", TileColorAttachment, MAX_COLORS
}

descriptor! {
    /// A pipeline of a tile function.
    TilePipelineDescriptor = "MTLTileRenderPipelineDescriptor", TilePipelineProperties;
    values {
        samples, set_samples: usize = 1, [rasterSampleCount] [setRasterSampleCount:];
        size_matches, set_size_matches: Bool = Bool::NO, [threadgroupSizeMatchesTileSize] [setThreadgroupSizeMatchesTileSize:];
        max_threads, set_max_threads: usize = 0, [maxTotalThreadsPerThreadgroup] [setMaxTotalThreadsPerThreadgroup:];
        adds_functions, set_adds_functions: Bool = Bool::NO, [supportAddingBinaryFunctions] [setSupportAddingBinaryFunctions:];
        call_depth, set_call_depth: usize = 1, [maxCallStackDepth] [setMaxCallStackDepth:];
        validation, set_validation: isize = 0, [shaderValidation] [setShaderValidation:];
        required_threads, set_required_threads: Size = Size::default(), [requiredThreadsPerThreadgroup] [setRequiredThreadsPerThreadgroup:];
    }
    objects {
        label, set_label: NSString, [label] [setLabel:];
        function, set_function: Function, [tileFunction] [setTileFunction:];
        archives, set_archives: NSArray, [binaryArchives] [setBinaryArchives:];
        libraries, set_libraries: NSArray = NSArray::of(Vec::new()), [preloadedLibraries] [setPreloadedLibraries:];
        linked, set_linked: LinkedFunctions = LinkedFunctions::fresh(), [linkedFunctions] [setLinkedFunctions:];
    }
    arrays {
        colors: TileColorAttachments, [colorAttachments];
        buffers: PipelineBuffers, [tileBuffers];
    }
    methods {
        #[unsafe(method(reset))]
        fn reset(&self) {
            self.ivars().reset();
        }
    }
}

descriptor! {
    /// How a face compares with and writes stencils.
    StencilDescriptor = "MTLStencilDescriptor", StencilProperties;
    values {
        compare, set_compare: usize = ALWAYS, [stencilCompareFunction] [setStencilCompareFunction:];
        stencil_failure, set_stencil_failure: usize = 0, [stencilFailureOperation] [setStencilFailureOperation:];
        depth_failure, set_depth_failure: usize = 0, [depthFailureOperation] [setDepthFailureOperation:];
        pass, set_pass: usize = 0, [depthStencilPassOperation] [setDepthStencilPassOperation:];
        read_mask, set_read_mask: u32 = u32::MAX, [readMask] [setReadMask:];
        write_mask, set_write_mask: u32 = u32::MAX, [writeMask] [setWriteMask:];
    }
    objects {}
}

descriptor! {
    /// How draws compare with and write depths.
    DepthStencilDescriptor = "MTLDepthStencilDescriptor", DepthStencilProperties;
    values {
        compare, set_compare: usize = ALWAYS, [depthCompareFunction] [setDepthCompareFunction:];
        writes, set_writes: Bool = Bool::NO, [isDepthWriteEnabled] [setDepthWriteEnabled:];
    }
    objects {
        label, set_label: NSString, [label] [setLabel:];
        front, set_front: StencilDescriptor = StencilDescriptor::fresh(), [frontFaceStencil] [setFrontFaceStencil:];
        back, set_back: StencilDescriptor = StencilDescriptor::fresh(), [backFaceStencil] [setBackFaceStencil:];
    }
}

/// The instance variables of a state.
#[derive(Debug)]
pub(crate) struct DepthStencilIvars {
    pub(crate) device: Retained<Device>,
    pub(crate) label: Option<Retained<NSString>>,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalDepthStencilState"]
    #[ivars = DepthStencilIvars]
    #[derive(Debug)]
    pub(crate) struct DepthStencil;

    impl DepthStencil {
        #[unsafe(method_id(device))]
        fn device(&self) -> Retained<Device> {
            self.ivars().device.clone()
        }

        #[unsafe(method_id(label))]
        fn label(&self) -> Option<Retained<NSString>> {
            self.ivars().label.clone()
        }
    }
);

/// A handler that receives a pipeline or an error.
pub(crate) type Handler = Block<dyn Fn(*mut AnyObject, *mut NSError)>;

/// A handler that receives a pipeline, its reflection or an error.
pub(crate) type ReflectedHandler = Block<dyn Fn(*mut AnyObject, *mut AnyObject, *mut NSError)>;

/// The kinds of pipelines that are refused.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Graphics {
    Render,
    Mesh,
    Tile,
}

impl Graphics {
    /// The error that a program receives instead of a pipeline.
    fn error(self, device: &Device) -> Retained<NSError> {
        let what = match self {
            Graphics::Render => "render pipelines (vertex and fragment functions)",
            Graphics::Mesh => "render pipelines of object and mesh functions",
            Graphics::Tile => "render pipelines of tile functions",
        };
        errors::of_unsupported(device.inner().name(), what, "only kernel functions run")
    }

    /// Returns nil, with the error.
    pub(crate) fn refuse(self, device: &Device, error: &ErrorOut) -> Option<Retained<NSObject>> {
        error.fail(self.error(device))
    }

    /// Passes the error to a handler.
    pub(crate) fn refuse_later(self, device: &Device, handler: &Handler) {
        handler.call((null_mut(), Retained::as_ptr(&self.error(device)).cast_mut()));
    }

    /// Passes the error to a handler that would also receive the reflection.
    pub(crate) fn refuse_reflected_later(self, device: &Device, handler: &ReflectedHandler) {
        handler.call((null_mut(), null_mut(), Retained::as_ptr(&self.error(device)).cast_mut()));
    }
}
