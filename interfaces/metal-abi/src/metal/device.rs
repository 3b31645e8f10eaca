//! `MTLDevice`.

use std::ffi::c_void;
use std::io::Read;
use std::ops::RangeInclusive;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, OnceLock};

use anymetal::{Capabilities, LibraryDescriptor, memory};
use block2::Block;
use objc2::Message;
use objc2::rc::Retained;
use objc2::runtime::{AnyObject, NSObject};

use super::archive::Archive;
use super::argument_encoder::ArgumentEncoder;
use super::binding::Binding;
use super::buffer::Buffer;
use super::compile_options::{CompileOptions, default_options};
use super::counters::{CounterSet, SAMPLING_POINTS, SampleBuffer, SampleBufferDescriptor};
use super::descriptors::{
    BinaryArchiveDescriptor, HeapDescriptor, PipelineDescriptor, PipelineProperties, QueueDescriptor,
    ResidencySetDescriptor,
};
use super::event::{Event, EventHandle, EventIvars, Fence, FenceIvars};
use super::functions::PipelineFunctions;
use super::heap::{self, Heap, HeapIvars, bytes_in_heap};
use super::indirect::{IndirectBuffer, IndirectDescriptor};
use super::label::Label;
use super::library::{Function, Library, LibraryIvars};
use super::log_state::{LogState, LogStateDescriptor, log_state_of};
use super::packed_source::{COMPILED, NotPacked, PackedSource};
use super::pipeline::{Pipeline, PipelineIvars, Reflection};
use super::queue::{Order, Queue, QueueIvars};
use super::render_pipeline::{
    DepthStencil, DepthStencilDescriptor, DepthStencilIvars, Graphics, MeshPipelineDescriptor,
    RenderPipelineDescriptor, TilePipelineDescriptor,
};
use super::residency::{ResidencyIvars, ResidencySet};
use super::resource_options::ResourceOptions;
use super::sampler::{Sampler, SamplerDescriptor};
use super::size::{Size, SizeAndAlign};
use super::texture::Texture;
use super::texture_descriptor::TextureDescriptor;
use super::worker::Worker;
use super::{allocation, errors, texture_make, violation};
use crate::arguments::{Bytes, ErrorOut, Out};
use crate::foundation::data::{MAX_FILE_BYTES, NSData};
use crate::foundation::url::NSURL;
use crate::foundation::{NSArray, NSError, NSString};
use crate::runtime::raise;

/// Whether the file starts as Apple's compiled libraries do. A `.metallib` may hold source, too, which is
/// what stands in for them here.
fn starts_as_compiled(path: &str) -> bool {
    let mut start = [0; COMPILED.len()];
    let file = anymetal_files::open(path.as_ref());
    file.is_ok_and(|mut file| file.read_exact(&mut start).is_ok()) && start == COMPILED
}

/// `MTLFeatureSet`, from `macOS_GPUFamily1_v1` to `macOS_GPUFamily2_v1`. As on a Mac, those of iOS and tvOS
/// are not supported.
const MACOS_FEATURE_SETS: RangeInclusive<usize> = 10_000..=10_005;

/// The alignment of a buffer in a heap.
pub(crate) const HEAP_ALIGNMENT: usize = anymetal::memory::HEAP_ALIGNMENT as usize;

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalDevice"]
    #[ivars = anymetal::Device]
    #[derive(Debug)]
    pub(crate) struct Device;

    impl Device {
        #[unsafe(method_id(name))]
        fn name(&self) -> Retained<NSString> {
            NSString::of(&format!("anymetal {} ({})", self.inner().name(), self.limits().hardware_name))
        }

        #[unsafe(method(registryID))]
        fn registry_id(&self) -> u64 {
            registry_id(self.inner().name())
        }

        #[unsafe(method_id(architecture))]
        fn architecture(&self) -> Retained<Architecture> {
            crate::foundation::object(NSString::of(&self.limits().architecture))
        }

        #[unsafe(method(maxThreadsPerThreadgroup))]
        fn max_threads(&self) -> Size {
            Size::of(self.limits().max_threads_per_dimension)
        }

        #[unsafe(method(maxThreadgroupMemoryLength))]
        fn max_threadgroup_memory(&self) -> usize {
            self.limits().max_threadgroup_memory_bytes as usize
        }

        #[unsafe(method(maxBufferLength))]
        fn max_buffer(&self) -> usize {
            self.limits().max_buffer_bytes as usize
        }

        #[unsafe(method(recommendedMaxWorkingSetSize))]
        fn working_set(&self) -> u64 {
            self.limits().working_set_bytes
        }

        #[unsafe(method(currentAllocatedSize))]
        fn allocated(&self) -> usize {
            self.inner().allocated_bytes() as usize
        }

        #[unsafe(method(hasUnifiedMemory))]
        fn unified(&self) -> bool {
            self.limits().unified_memory
        }

        #[unsafe(method(isLowPower))]
        fn low_power(&self) -> bool { false }
        #[unsafe(method(isHeadless))]
        fn headless(&self) -> bool { true }
        #[unsafe(method(isRemovable))]
        fn removable(&self) -> bool { false }
        // `MTLDeviceLocationBuiltIn`.
        #[unsafe(method(location))]
        fn location(&self) -> usize { 0 }
        #[unsafe(method(locationNumber))]
        fn location_number(&self) -> usize { 0 }
        #[unsafe(method(maxTransferRate))]
        fn max_transfer_rate(&self) -> u64 { 0 }
        #[unsafe(method(peerGroupID))]
        fn peer_group(&self) -> u64 { 0 }
        #[unsafe(method(peerIndex))]
        fn peer_index(&self) -> u32 { 0 }
        #[unsafe(method(peerCount))]
        fn peer_count(&self) -> u32 { 0 }
        #[unsafe(method(isDepth24Stencil8PixelFormatSupported))]
        fn depth24(&self) -> bool { false }
        // `MTLReadWriteTextureTier2`.
        #[unsafe(method(readWriteTextureSupport))]
        fn read_write_textures(&self) -> usize { 2 }
        // `MTLArgumentBuffersTier2`.
        #[unsafe(method(argumentBuffersSupport))]
        fn argument_buffers(&self) -> usize { 1 }
        #[unsafe(method(areRasterOrderGroupsSupported))]
        fn raster_order_groups(&self) -> bool { false }
        #[unsafe(method(supports32BitFloatFiltering))]
        fn float_filtering(&self) -> bool { true }
        #[unsafe(method(supports32BitMSAA))]
        fn msaa(&self) -> bool { false }
        #[unsafe(method(supportsQueryTextureLOD))]
        fn query_lod(&self) -> bool { false }
        #[unsafe(method(supportsBCTextureCompression))]
        fn bc_compression(&self) -> bool { false }
        #[unsafe(method(supportsPullModelInterpolation))]
        fn pull_interpolation(&self) -> bool { false }
        #[unsafe(method(supportsShaderBarycentricCoordinates))]
        fn barycentric(&self) -> bool { false }
        #[unsafe(method(supportsTextureSampleCount:))]
        fn sample_count(&self, count: usize) -> bool { count == 1 }
        #[unsafe(method(supportsVertexAmplificationCount:))]
        fn amplification(&self, count: usize) -> bool { count == 1 }
        #[unsafe(method(supportsDynamicLibraries))]
        fn dynamic_libraries(&self) -> bool { false }
        #[unsafe(method(supportsRaytracing))]
        fn raytracing(&self) -> bool { false }
        #[unsafe(method(supportsFunctionPointers))]
        fn function_pointers(&self) -> bool { true }
        #[unsafe(method(supportsFunctionPointersFromRender))]
        fn function_pointers_from_render(&self) -> bool { false }
        #[unsafe(method(supportsRaytracingFromRender))]
        fn raytracing_from_render(&self) -> bool { false }
        #[unsafe(method(supportsRenderDynamicLibraries))]
        fn render_dynamic_libraries(&self) -> bool { false }
        #[unsafe(method(areBarycentricCoordsSupported))]
        fn barycentric_coordinates(&self) -> bool { false }
        #[unsafe(method(areProgrammableSamplePositionsSupported))]
        fn sample_positions(&self) -> bool { false }
        // A sampler in an argument buffer is its state: there may be any number.
        #[unsafe(method(maxArgumentBufferSamplerCount))]
        fn max_samplers(&self) -> usize { 500_000 }
        #[unsafe(method(supportsPrimitiveMotionBlur))]
        fn motion_blur(&self) -> bool { false }
        #[unsafe(method(supportsCounterSampling:))]
        fn counter_sampling(&self, point: usize) -> bool {
            SAMPLING_POINTS.contains(&point) && self.inner().clock_ns().is_ok()
        }
        #[unsafe(method(supportsFeatureSet:))]
        fn feature_set(&self, set: usize) -> bool { MACOS_FEATURE_SETS.contains(&set) }
        #[unsafe(method_id(counterSets))]
        fn counter_sets(&self) -> Option<Retained<NSArray>> {
            CounterSet::all_of(self.inner())
        }

        #[unsafe(method_id(newCounterSampleBufferWithDescriptor:error:))]
        fn new_sample_buffer(&self, descriptor: &SampleBufferDescriptor, error: ErrorOut) -> Option<Retained<SampleBuffer>> {
            SampleBuffer::new(self, descriptor).map_or_else(|problem| error.fail(problem), Some)
        }

        // Both in nanoseconds: by the machine's clock, and by that of samples and command buffers.
        #[unsafe(method(sampleTimestamps:gpuTimestamp:))]
        fn sample_timestamps(&self, host: Out<u64>, gpu: Out<u64>) {
            let now = self.inner().clock().now().as_nanos() as u64;
            host.set(now);
            gpu.set(self.inner().clock_ns().unwrap_or(now));
        }

        #[unsafe(method(shouldMaximizeConcurrentCompilation))]
        fn maximizes(&self) -> bool { true }
        #[unsafe(method(setShouldMaximizeConcurrentCompilation:))]
        fn set_maximizes(&self, _value: bool) {}

        #[unsafe(method(maximumConcurrentCompilationTaskCount))]
        fn compilation_tasks(&self) -> usize {
            std::thread::available_parallelism().map_or(1, usize::from)
        }

        #[unsafe(method(supportsFamily:))]
        fn family(&self, family: isize) -> bool {
            supports_family(family, self.limits())
        }

        #[unsafe(method_id(newCommandQueue))]
        fn new_queue(&self) -> Option<Retained<Queue>> {
            self.queue_of(None, None)
        }

        #[unsafe(method_id(newCommandQueueWithMaxCommandBufferCount:))]
        fn new_limited_queue(&self, limit: usize) -> Option<Retained<Queue>> {
            self.queue_of(Some(limit), None)
        }

        #[unsafe(method_id(newCommandQueueWithDescriptor:))]
        fn new_described_queue(&self, descriptor: &QueueDescriptor) -> Option<Retained<Queue>> {
            let properties = descriptor.ivars();
            self.queue_of(Some(properties.max_command_buffers()), log_state_of(properties.log_state()))
        }

        #[unsafe(method_id(newBufferWithLength:options:))]
        fn new_buffer(&self, length: usize, options: usize) -> Option<Retained<Buffer>> {
            allocation::zeroed(self, length, ResourceOptions(options))
        }

        #[unsafe(method_id(newBufferWithBytes:length:options:))]
        fn new_filled_buffer(&self, bytes: Bytes, length: usize, options: usize) -> Option<Retained<Buffer>> {
            allocation::filled(self, &bytes, length, ResourceOptions(options))
        }

        #[unsafe(method_id(newBufferWithBytesNoCopy:length:options:deallocator:))]
        fn new_wrapping_buffer(&self, bytes: Bytes, length: usize, options: usize, deallocator: Option<&Block<dyn Fn(*mut c_void, usize)>>) -> Option<Retained<Buffer>> {
            // SAFETY: the sender promises the bytes until the deallocator is called.
            unsafe { allocation::around(self, &bytes, length, ResourceOptions(options), deallocator) }
        }

        #[unsafe(method_id(newHeapWithDescriptor:))]
        fn new_heap(&self, descriptor: &HeapDescriptor) -> Option<Retained<Heap>> {
            self.heap_of(descriptor)
        }

        #[unsafe(method(heapBufferSizeAndAlignWithLength:options:))]
        fn heap_size(&self, length: usize, _options: usize) -> SizeAndAlign {
            let bytes = bytes_in_heap(self.inner(), length.max(1));
            let size = bytes.and_then(|bytes| bytes.checked_next_multiple_of(HEAP_ALIGNMENT));
            SizeAndAlign { size: size.unwrap_or(usize::MAX), align: HEAP_ALIGNMENT }
        }

        #[unsafe(method_id(newTextureWithDescriptor:))]
        fn new_texture(&self, descriptor: &TextureDescriptor) -> Option<Retained<Texture>> {
            texture_make::own(self, "MTLDevice newTextureWithDescriptor:", descriptor)
        }

        #[unsafe(method(heapTextureSizeAndAlignWithDescriptor:))]
        fn heap_texture_size(&self, descriptor: &TextureDescriptor) -> SizeAndAlign {
            texture_make::heap_size("MTLDevice heapTextureSizeAndAlignWithDescriptor:", descriptor)
        }

        #[unsafe(method(minimumLinearTextureAlignmentForPixelFormat:))]
        fn linear_alignment(&self, format: usize) -> usize {
            texture_make::linear_alignment("MTLDevice minimumLinearTextureAlignmentForPixelFormat:", format)
        }

        #[unsafe(method(minimumTextureBufferAlignmentForPixelFormat:))]
        fn texture_buffer_alignment(&self, format: usize) -> usize {
            texture_make::linear_alignment("MTLDevice minimumTextureBufferAlignmentForPixelFormat:", format)
        }

        #[unsafe(method_id(newSamplerStateWithDescriptor:))]
        fn new_sampler(&self, descriptor: &SamplerDescriptor) -> Option<Retained<Sampler>> {
            Some(Sampler::make("MTLDevice newSamplerStateWithDescriptor:", self, descriptor))
        }

        #[unsafe(method_id(newIndirectCommandBufferWithDescriptor:maxCommandCount:options:))]
        fn new_indirect_buffer(&self, descriptor: &IndirectDescriptor, count: usize, _options: usize) -> Option<Retained<IndirectBuffer>> {
            const METHOD: &str = "MTLDevice newIndirectCommandBufferWithDescriptor:maxCommandCount:options:";
            Some(IndirectBuffer::make(METHOD, self.retain(), descriptor, count))
        }

        #[unsafe(method_id(newArgumentEncoderWithArguments:))]
        fn argument_encoder(&self, arguments: &NSArray) -> Option<Retained<ArgumentEncoder>> {
            const METHOD: &str = "MTLDevice newArgumentEncoderWithArguments:";
            Some(ArgumentEncoder::described(METHOD, arguments, self.retain()))
        }

        #[unsafe(method_id(newArgumentEncoderWithBufferBinding:))]
        fn bound_argument_encoder(&self, binding: &Binding) -> Retained<ArgumentEncoder> {
            binding.encoder("MTLDevice newArgumentEncoderWithBufferBinding:")
        }

        #[unsafe(method_id(newFence))]
        fn new_fence(&self) -> Option<Retained<Fence>> {
            let fence = self.inner().fence().ok();
            fence.map(|fence| crate::foundation::object(FenceIvars { fence, device: self.retain(), label: Label::default() }))
        }

        #[unsafe(method_id(newEvent))]
        fn new_event(&self) -> Option<Retained<Event>> {
            self.event()
        }

        #[unsafe(method_id(newSharedEvent))]
        fn new_shared_event(&self) -> Option<Retained<Event>> {
            self.event()
        }

        #[unsafe(method_id(newSharedEventWithHandle:))]
        fn shared_event(&self, handle: &EventHandle) -> Option<Retained<Event>> {
            Some(handle.event())
        }

        #[unsafe(method_id(newResidencySetWithDescriptor:error:))]
        fn new_residency_set(&self, descriptor: &ResidencySetDescriptor, _error: ErrorOut) -> Option<Retained<ResidencySet>> {
            let (device, label) = (self.retain(), descriptor.ivars().label());
            Some(crate::foundation::object(ResidencyIvars { device, label, allocations: Mutex::default(), committed: Mutex::default() }))
        }

        #[unsafe(method_id(newLogStateWithDescriptor:error:))]
        fn new_log_state(&self, descriptor: &LogStateDescriptor, _error: ErrorOut) -> Option<Retained<LogState>> {
            Some(LogState::of(descriptor))
        }

        #[unsafe(method_id(newBinaryArchiveWithDescriptor:error:))]
        fn new_archive(&self, descriptor: &BinaryArchiveDescriptor, error: ErrorOut) -> Option<Retained<Archive>> {
            Archive::open(self.retain(), descriptor).map_or_else(|problem| error.fail(problem), Some)
        }

        #[unsafe(method_id(newDefaultLibrary))]
        fn default_library(&self) -> Option<Retained<Library>> {
            None
        }

        #[unsafe(method_id(newLibraryWithSource:options:error:))]
        fn new_library(&self, source: &NSString, options: Option<&CompileOptions>, error: ErrorOut) -> Option<Retained<Library>> {
            self.compiled(source, options).map_or_else(|problem| error.fail(problem), Some)
        }

        #[unsafe(method(newLibraryWithSource:options:completionHandler:))]
        fn new_library_async(&self, source: &NSString, options: Option<&CompileOptions>, handler: &Block<dyn Fn(*mut AnyObject, *mut NSError)>) {
            tell(self.compiled(source, options), handler);
        }

        #[unsafe(method_id(newLibraryWithURL:error:))]
        fn library_from_url(&self, url: &NSURL, error: ErrorOut) -> Option<Retained<Library>> {
            self.library_of_file(url.path_text().unwrap_or_default()).map_or_else(|problem| error.fail(problem), Some)
        }

        #[unsafe(method_id(newLibraryWithFile:error:))]
        fn library_from_file(&self, path: &NSString, error: ErrorOut) -> Option<Retained<Library>> {
            self.library_of_file(&path.to_string()).map_or_else(|problem| error.fail(problem), Some)
        }

        #[unsafe(method_id(newLibraryWithData:error:))]
        fn library_from_data(&self, data: &NSData, error: ErrorOut) -> Option<Retained<Library>> {
            self.library_of_data(data).map_or_else(|problem| error.fail(problem), Some)
        }

        #[unsafe(method_id(newComputePipelineStateWithFunction:error:))]
        fn new_pipeline(&self, function: Option<&Function>, error: ErrorOut) -> Option<Retained<Pipeline>> {
            const METHOD: &str = "MTLDevice newComputePipelineStateWithFunction:error:";
            self.pipeline(METHOD, function, None).map_or_else(|problem| error.fail(problem), Some)
        }

        #[unsafe(method_id(newComputePipelineStateWithFunction:options:reflection:error:))]
        fn new_reflected_pipeline(&self, function: Option<&Function>, _options: usize, reflection: Out<*mut Reflection>, error: ErrorOut) -> Option<Retained<Pipeline>> {
            const METHOD: &str = "MTLDevice newComputePipelineStateWithFunction:options:reflection:error:";
            let made = self.pipeline(METHOD, function, None);
            made.map_or_else(|problem| error.fail(problem), |made| Some(reflected(made, &reflection)))
        }

        #[unsafe(method_id(newComputePipelineStateWithDescriptor:options:reflection:error:))]
        fn new_described_pipeline(&self, descriptor: &PipelineDescriptor, _options: usize, reflection: Out<*mut Reflection>, error: ErrorOut) -> Option<Retained<Pipeline>> {
            const METHOD: &str = "MTLDevice newComputePipelineStateWithDescriptor:options:reflection:error:";
            let made = self.pipeline(METHOD, descriptor.ivars().function().as_deref(), Some(descriptor));
            made.map_or_else(|problem| error.fail(problem), |made| Some(reflected(made, &reflection)))
        }

        #[unsafe(method(newComputePipelineStateWithFunction:completionHandler:))]
        fn new_pipeline_async(&self, function: Option<&Function>, handler: &Block<dyn Fn(*mut AnyObject, *mut NSError)>) {
            tell(self.pipeline("MTLDevice newComputePipelineStateWithFunction:completionHandler:", function, None), handler);
        }

        #[unsafe(method(newComputePipelineStateWithFunction:options:completionHandler:))]
        fn new_reflected_pipeline_async(&self, function: Option<&Function>, _options: usize, handler: &Block<dyn Fn(*mut AnyObject, *mut AnyObject, *mut NSError)>) {
            const METHOD: &str = "MTLDevice newComputePipelineStateWithFunction:options:completionHandler:";
            tell_reflected(self.pipeline(METHOD, function, None), handler);
        }

        #[unsafe(method(newComputePipelineStateWithDescriptor:options:completionHandler:))]
        fn new_described_pipeline_async(&self, descriptor: &PipelineDescriptor, _options: usize, handler: &Block<dyn Fn(*mut AnyObject, *mut AnyObject, *mut NSError)>) {
            const METHOD: &str = "MTLDevice newComputePipelineStateWithDescriptor:options:completionHandler:";
            tell_reflected(self.pipeline(METHOD, descriptor.ivars().function().as_deref(), Some(descriptor)), handler);
        }

        #[unsafe(method_id(newDepthStencilStateWithDescriptor:))]
        fn new_depth_stencil(&self, descriptor: &DepthStencilDescriptor) -> Option<Retained<DepthStencil>> {
            let (device, label) = (self.retain(), descriptor.ivars().label());
            Some(crate::foundation::object(DepthStencilIvars { device, label }))
        }

        #[unsafe(method_id(newRenderPipelineStateWithDescriptor:error:))]
        fn new_render_pipeline(&self, _descriptor: &RenderPipelineDescriptor, error: ErrorOut) -> Option<Retained<NSObject>> {
            Graphics::Render.refuse(self, &error)
        }

        #[unsafe(method_id(newRenderPipelineStateWithDescriptor:options:reflection:error:))]
        fn new_reflected_render_pipeline(&self, _descriptor: &RenderPipelineDescriptor, _options: usize, _reflection: Out<*mut AnyObject>, error: ErrorOut) -> Option<Retained<NSObject>> {
            Graphics::Render.refuse(self, &error)
        }

        #[unsafe(method(newRenderPipelineStateWithDescriptor:completionHandler:))]
        fn new_render_pipeline_async(&self, _descriptor: &RenderPipelineDescriptor, handler: &Block<dyn Fn(*mut AnyObject, *mut NSError)>) {
            Graphics::Render.refuse_later(self, handler);
        }

        #[unsafe(method(newRenderPipelineStateWithDescriptor:options:completionHandler:))]
        fn new_reflected_render_pipeline_async(&self, _descriptor: &RenderPipelineDescriptor, _options: usize, handler: &Block<dyn Fn(*mut AnyObject, *mut AnyObject, *mut NSError)>) {
            Graphics::Render.refuse_reflected_later(self, handler);
        }

        #[unsafe(method_id(newRenderPipelineStateWithMeshDescriptor:options:reflection:error:))]
        fn new_mesh_pipeline(&self, _descriptor: &MeshPipelineDescriptor, _options: usize, _reflection: Out<*mut AnyObject>, error: ErrorOut) -> Option<Retained<NSObject>> {
            Graphics::Mesh.refuse(self, &error)
        }

        #[unsafe(method(newRenderPipelineStateWithMeshDescriptor:options:completionHandler:))]
        fn new_mesh_pipeline_async(&self, _descriptor: &MeshPipelineDescriptor, _options: usize, handler: &Block<dyn Fn(*mut AnyObject, *mut AnyObject, *mut NSError)>) {
            Graphics::Mesh.refuse_reflected_later(self, handler);
        }

        #[unsafe(method_id(newRenderPipelineStateWithTileDescriptor:options:reflection:error:))]
        fn new_tile_pipeline(&self, _descriptor: &TilePipelineDescriptor, _options: usize, _reflection: Out<*mut AnyObject>, error: ErrorOut) -> Option<Retained<NSObject>> {
            Graphics::Tile.refuse(self, &error)
        }

        #[unsafe(method(newRenderPipelineStateWithTileDescriptor:options:completionHandler:))]
        fn new_tile_pipeline_async(&self, _descriptor: &TilePipelineDescriptor, _options: usize, handler: &Block<dyn Fn(*mut AnyObject, *mut AnyObject, *mut NSError)>) {
            Graphics::Tile.refuse_reflected_later(self, handler);
        }
    }
);

impl Device {
    pub(crate) fn inner(&self) -> &anymetal::Device {
        self.ivars()
    }

    fn limits(&self) -> &Capabilities {
        self.inner().capabilities()
    }

    fn queue_of(
        &self,
        limit: Option<usize>,
        log_state: Option<Retained<LogState>>,
    ) -> Option<Retained<Queue>> {
        let mut options = self.inner().queue_descriptor();
        if let Some(limit) = limit {
            options.max_command_buffers = limit.max(1);
        }
        let stream = self.inner().create_queue(&options).ok()?;
        Some(crate::foundation::object(QueueIvars {
            stream,
            device: self.retain(),
            label: Label::default(),
            worker: Worker::default(),
            order: Order::default(),
            log_state,
            sets: Default::default(),
        }))
    }

    fn heap_of(&self, descriptor: &HeapDescriptor) -> Option<Retained<Heap>> {
        const METHOD: &str = "MTLDevice newHeapWithDescriptor:";
        let options = descriptor.ivars().options();
        let placement = options
            .placement()
            .unwrap_or_else(|| violation(METHOD, "a heap of buffers cannot be memoryless"));
        let block = memory::HeapDescriptor::new(descriptor.ivars().size() as u64)
            .options(placement)
            .whole(!allocation::is_exact(self.inner()));
        let block = self.inner().create_heap(&block).ok()?;
        let placed = match descriptor.ivars().heap_type() {
            heap::AUTOMATIC => None,
            heap::PLACEMENT => Some(Arc::new(block.buffer_zeroed::<u8>(block.length() as usize).ok()?)),
            other => violation(METHOD, format_args!("heaps of the type {other} are not supported")),
        };
        let (device, label) = (self.retain(), Label::default());
        Some(crate::foundation::object(HeapIvars { block, placed, device, options, label }))
    }

    fn event(&self) -> Option<Retained<Event>> {
        let event = self.inner().event().ok()?;
        let (device, label, notifications) = (self.retain(), Label::default(), Default::default());
        Some(crate::foundation::object(EventIvars { event, device, label, notifications }))
    }

    fn compiled(
        &self,
        source: &NSString,
        options: Option<&CompileOptions>,
    ) -> Result<Retained<Library>, Retained<NSError>> {
        let options = options.map_or_else(default_options, |options| options.ivars().to_options());
        self.checked_library(&source.to_string(), &options)
    }

    /// A library of source that was checked, unless the settings have kernels checked later.
    pub(crate) fn checked_library(
        &self,
        source: &str,
        options: &anymetal::CompileOptions,
    ) -> Result<Retained<Library>, Retained<NSError>> {
        let made = self.inner().create_library(&LibraryDescriptor::from_source(source).options(options));
        self.library(made.and_then(checked))
    }

    fn library_of_data(&self, data: &NSData) -> Result<Retained<Library>, Retained<NSError>> {
        data.with_bytes(|bytes| self.packed_library(bytes)).map_err(errors::library_unsupported)?
    }

    fn packed_library(
        &self,
        bytes: &[u8],
    ) -> Result<Result<Retained<Library>, Retained<NSError>>, &'static str> {
        let packed = PackedSource::from_bytes(bytes).map_err(NotPacked::text)?;
        Ok(self.checked_library(&packed.source, &packed.options(default_options())))
    }

    fn library_of_file(&self, path: &str) -> Result<Retained<Library>, Retained<NSError>> {
        if starts_as_compiled(path) {
            let bytes = anymetal_files::read(path.as_ref(), MAX_FILE_BYTES).unwrap_or_default();
            let made = self.packed_library(&bytes);
            return made.map_err(|text| errors::library_unsupported(&format!("{path}: {text}")))?;
        }
        // On a Mac the file is what the compiler made before, so a program does not wait for a check here.
        self.library(
            self.inner().create_library(&LibraryDescriptor::from_file(path).options(&default_options())),
        )
    }

    fn library(
        &self,
        made: Result<anymetal::Library, anymetal::Error>,
    ) -> Result<Retained<Library>, Retained<NSError>> {
        let library = made.map_err(|error| errors::of_library(&error))?;
        let (device, label) = (self.retain(), Label::default());
        Ok(crate::foundation::object(LibraryIvars { library, device, label }))
    }

    fn pipeline(
        &self,
        method: &str,
        function: Option<&Function>,
        descriptor: Option<&PipelineDescriptor>,
    ) -> Result<Retained<Pipeline>, Retained<NSError>> {
        let function = function.unwrap_or_else(|| violation(method, "the compute function is nil"));
        if !function.is_kernel() {
            violation(method, "computeFunction functionType is not a MTLFunctionTypeKernel.");
        }
        let label = descriptor.and_then(|descriptor| descriptor.ivars().label());
        let text = label.as_ref().map(|label| label.to_string()).unwrap_or_default();
        let linked = descriptor.and_then(|descriptor| descriptor.ivars().linked());
        let functions = PipelineFunctions::of(method, linked.as_deref());
        let stage_input = descriptor.and_then(|descriptor| descriptor.ivars().stage_input());
        let stage_input = stage_input.map(|stage_input| stage_input.description()).transpose();
        let stage_input = stage_input.map_err(|problem| errors::library_unsupported(&problem))?;
        let linked = functions.linked();
        let pipeline = linked.and_then(|linked| function.pipeline(&text, linked, stage_input.as_ref()));
        let pipeline = pipeline.map_err(|error| errors::of_library(&error))?;
        let is_set = |property: fn(&PipelineProperties) -> objc2::runtime::Bool| {
            descriptor.is_some_and(|descriptor| property(descriptor.ivars()).as_bool())
        };
        Ok(crate::foundation::object(PipelineIvars {
            pipeline,
            device: self.retain(),
            label,
            supports_indirect: is_set(PipelineProperties::indirect),
            adds_functions: is_set(PipelineProperties::adds_functions),
            function: function.retain(),
            functions,
            stage_input,
            regional: OnceLock::new(),
        }))
    }
}

/// The library, if its kernels compile. All of them are checked, as Metal does, unless
/// `ANYMETAL_LIBRARY_CHECK` leaves each to its pipeline.
fn checked(library: anymetal::Library) -> Result<anymetal::Library, anymetal::Error> {
    match anymetal_environment::text("ANYMETAL_LIBRARY_CHECK").as_deref().map(str::trim) {
        None | Some("eager") => library.check().map(|()| library),
        Some("lazy") => Ok(library),
        Some(other) => {
            raise(&format!("`{other}` is no valid value for ANYMETAL_LIBRARY_CHECK: `eager` or `lazy`"))
        }
    }
}

/// Writes a pipeline's reflection where the sender wants it.
fn reflected(pipeline: Retained<Pipeline>, place: &Out<*mut Reflection>) -> Retained<Pipeline> {
    if place.is_wanted() {
        place.set(Retained::autorelease_ptr(Reflection::of(&pipeline)));
    }
    pipeline
}

/// Calls a completion handler with what was made, or with why it was not.
pub(crate) fn tell<T: Message>(
    made: Result<Retained<T>, Retained<NSError>>,
    handler: &Block<dyn Fn(*mut AnyObject, *mut NSError)>,
) {
    match made {
        Ok(made) => handler.call((Retained::as_ptr(&made).cast_mut().cast(), null_mut())),
        Err(error) => handler.call((null_mut(), Retained::as_ptr(&error).cast_mut())),
    }
}

/// The same of a pipeline, with its reflection.
fn tell_reflected(
    made: Result<Retained<Pipeline>, Retained<NSError>>,
    handler: &Block<dyn Fn(*mut AnyObject, *mut AnyObject, *mut NSError)>,
) {
    match made {
        Ok(made) => {
            let reflection = Reflection::of(&made);
            let pipeline = Retained::as_ptr(&made).cast_mut().cast();
            handler.call((pipeline, Retained::as_ptr(&reflection).cast_mut().cast(), null_mut()));
        }
        Err(error) => handler.call((null_mut(), null_mut(), Retained::as_ptr(&error).cast_mut())),
    }
}

/// Which of `MTLGPUFamily` the device is like, as far as compute goes.
fn supports_family(family: isize, limits: &Capabilities) -> bool {
    match family {
        // Apple 1 to 7: SIMD-group functions and matrices. Apple 8: 64-bit atomics.
        1001..=1007 => true,
        1008 => limits.supports_64_bit_atomics,
        // Mac 1 and 2, which every Mac has; Common 1 to 3, and Metal 3.
        2001 | 2002 | 3001..=3003 | 5001 => true,
        _ => false,
    }
}

/// A number for a device's name, the same in every process.
fn registry_id(name: &str) -> u64 {
    name.bytes().fold(1, |id: u64, byte| id.wrapping_mul(257).wrapping_add(byte.into()))
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "MTLArchitecture"]
    #[ivars = Retained<NSString>]
    #[derive(Debug)]
    pub(crate) struct Architecture;

    impl Architecture {
        #[unsafe(method_id(name))]
        fn name(&self) -> Retained<NSString> {
            self.ivars().clone()
        }
    }
);
