//! `MTLTexture`. How one comes to be is in [`super::texture_make`].

use anymetal::Texture as Memory;
use objc2::rc::Retained;
use objc2::runtime::{AnyObject, NSObject};

use super::buffer::Buffer;
use super::device::Device;
use super::heap::Heap;
use super::label::Label;
use super::pixel_format::{number_of_format, number_of_kind};
use super::resource_options::ResourceOptions;
use super::size::{ResourceId, TextureRegion};
use super::swizzle::Channels;
use super::texture_descriptor::TextureViewDescriptor;
use super::texture_make::ViewRequest;
use super::texture_memory::Place;
use crate::arguments::Bytes;
use crate::foundation::{NSString, Range};

/// The instance variables of a texture.
#[derive(Debug)]
pub(crate) struct TextureIvars {
    /// The texels with their channels as they are stored.
    pub(crate) memory: Memory,
    /// The texels with the channels that kernels see.
    pub(crate) seen: Memory,
    pub(crate) channels: Channels,
    /// `MTLTextureUsage`.
    pub(crate) usage: usize,
    pub(crate) options: ResourceOptions,
    pub(crate) device: Retained<Device>,
    pub(crate) heap: Option<Retained<Heap>>,
    pub(crate) source: Source,
    pub(crate) label: Label,
}

/// Whose memory a texture has.
#[derive(Debug)]
pub(crate) enum Source {
    /// Its own.
    Own,
    /// A buffer's, from an offset on.
    Buffer { buffer: Retained<Buffer>, offset: usize, row_bytes: usize },
    /// Another texture's, from a level and a slice on.
    Parent { texture: Retained<Texture>, level: usize, slice: usize },
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalTexture"]
    #[ivars = TextureIvars]
    #[derive(Debug)]
    pub(crate) struct Texture;

    impl Texture {
        #[unsafe(method_id(rootResource))]
        fn root(&self) -> Option<Retained<AnyObject>> {
            match &self.ivars().source {
                Source::Own => None,
                Source::Buffer { buffer, .. } => Some(object_of(buffer.clone())),
                Source::Parent { texture, .. } => Some(object_of(texture.clone())),
            }
        }

        #[unsafe(method_id(parentTexture))]
        fn parent(&self) -> Option<Retained<Texture>> {
            match &self.ivars().source {
                Source::Parent { texture, .. } => Some(texture.clone()),
                Source::Own | Source::Buffer { .. } => None,
            }
        }

        #[unsafe(method(parentRelativeLevel))]
        fn parent_level(&self) -> usize {
            if let Source::Parent { level, .. } = self.ivars().source { level } else { 0 }
        }

        #[unsafe(method(parentRelativeSlice))]
        fn parent_slice(&self) -> usize {
            if let Source::Parent { slice, .. } = self.ivars().source { slice } else { 0 }
        }

        #[unsafe(method_id(buffer))]
        fn buffer(&self) -> Option<Retained<Buffer>> {
            match &self.ivars().source {
                Source::Buffer { buffer, .. } => Some(buffer.clone()),
                Source::Own | Source::Parent { .. } => None,
            }
        }

        #[unsafe(method(bufferOffset))]
        fn buffer_offset(&self) -> usize {
            if let Source::Buffer { offset, .. } = self.ivars().source { offset } else { 0 }
        }

        #[unsafe(method(bufferBytesPerRow))]
        fn buffer_row_bytes(&self) -> usize {
            if let Source::Buffer { row_bytes, .. } = self.ivars().source { row_bytes } else { 0 }
        }

        #[unsafe(method(iosurfacePlane))]
        fn surface_plane(&self) -> usize { 0 }

        #[unsafe(method(textureType))]
        fn kind(&self) -> usize {
            number_of_kind(self.shape().kind)
        }

        #[unsafe(method(pixelFormat))]
        fn format(&self) -> usize {
            number_of_format(self.shape().format)
        }

        #[unsafe(method(width))]
        fn width(&self) -> usize { self.shape().width as usize }
        #[unsafe(method(height))]
        fn height(&self) -> usize { self.shape().height as usize }
        #[unsafe(method(depth))]
        fn depth(&self) -> usize { self.shape().depth as usize }
        #[unsafe(method(mipmapLevelCount))]
        fn levels(&self) -> usize { self.shape().levels as usize }
        #[unsafe(method(arrayLength))]
        fn array_length(&self) -> usize { self.shape().array_length as usize }
        #[unsafe(method(sampleCount))]
        fn samples(&self) -> usize { 1 }
        #[unsafe(method(usage))]
        fn usage(&self) -> usize { self.ivars().usage }
        #[unsafe(method(isShareable))]
        fn is_shareable(&self) -> bool { false }
        #[unsafe(method(isFramebufferOnly))]
        fn is_framebuffer_only(&self) -> bool { false }
        // Nothing is sparse, so no levels are in a tail.
        #[unsafe(method(firstMipmapInTail))]
        fn first_in_tail(&self) -> usize { self.shape().levels as usize }
        #[unsafe(method(tailSizeInBytes))]
        fn tail_size(&self) -> usize { 0 }
        #[unsafe(method(isSparse))]
        fn is_sparse(&self) -> bool { false }
        // Rows are as they are, whatever was allowed.
        #[unsafe(method(allowGPUOptimizedContents))]
        fn is_optimized(&self) -> bool { false }
        // `MTLTextureCompressionTypeLossless`: no texel changes.
        #[unsafe(method(compressionType))]
        fn compression(&self) -> isize { 0 }
        #[unsafe(method(swizzle))]
        fn swizzle(&self) -> Channels { self.ivars().channels }

        #[unsafe(method(getBytes:bytesPerRow:bytesPerImage:fromRegion:mipmapLevel:slice:))]
        fn get_slice(&self, bytes: Bytes, row_bytes: usize, plane_bytes: usize, region: TextureRegion, level: usize, slice: usize) {
            const METHOD: &str = "MTLTexture getBytes:bytesPerRow:bytesPerImage:fromRegion:mipmapLevel:slice:";
            self.get(METHOD, Place { region, level, slice, row_bytes, plane_bytes }, &bytes);
        }

        #[unsafe(method(getBytes:bytesPerRow:fromRegion:mipmapLevel:))]
        fn get_bytes(&self, bytes: Bytes, row_bytes: usize, region: TextureRegion, level: usize) {
            const METHOD: &str = "MTLTexture getBytes:bytesPerRow:fromRegion:mipmapLevel:";
            self.get(METHOD, Place { region, level, slice: 0, row_bytes, plane_bytes: 0 }, &bytes);
        }

        #[unsafe(method(replaceRegion:mipmapLevel:slice:withBytes:bytesPerRow:bytesPerImage:))]
        fn replace_slice(&self, region: TextureRegion, level: usize, slice: usize, bytes: Bytes, row_bytes: usize, plane_bytes: usize) {
            const METHOD: &str = "MTLTexture replaceRegion:mipmapLevel:slice:withBytes:bytesPerRow:bytesPerImage:";
            self.replace(METHOD, Place { region, level, slice, row_bytes, plane_bytes }, &bytes);
        }

        #[unsafe(method(replaceRegion:mipmapLevel:withBytes:bytesPerRow:))]
        fn replace_bytes(&self, region: TextureRegion, level: usize, bytes: Bytes, row_bytes: usize) {
            const METHOD: &str = "MTLTexture replaceRegion:mipmapLevel:withBytes:bytesPerRow:";
            self.replace(METHOD, Place { region, level, slice: 0, row_bytes, plane_bytes: 0 }, &bytes);
        }

        #[unsafe(method_id(newTextureViewWithPixelFormat:))]
        fn view_as(&self, format: usize) -> Option<Retained<Texture>> {
            let request = ViewRequest { format, ..self.whole() };
            Some(self.view("MTLTexture newTextureViewWithPixelFormat:", request))
        }

        #[unsafe(method_id(newTextureViewWithPixelFormat:textureType:levels:slices:))]
        fn view_of(&self, format: usize, kind: usize, levels: Range, slices: Range) -> Option<Retained<Texture>> {
            let request = ViewRequest { format, kind, levels, slices, channels: Channels::default() };
            Some(self.view("MTLTexture newTextureViewWithPixelFormat:textureType:levels:slices:", request))
        }

        #[unsafe(method_id(newTextureViewWithPixelFormat:textureType:levels:slices:swizzle:))]
        fn swizzled_view(&self, format: usize, kind: usize, levels: Range, slices: Range, channels: Channels) -> Option<Retained<Texture>> {
            const METHOD: &str = "MTLTexture newTextureViewWithPixelFormat:textureType:levels:slices:swizzle:";
            Some(self.view(METHOD, ViewRequest { format, kind, levels, slices, channels }))
        }

        #[unsafe(method_id(newTextureViewWithDescriptor:))]
        fn described_view(&self, descriptor: &TextureViewDescriptor) -> Option<Retained<Texture>> {
            let of = descriptor.ivars();
            let (format, kind, levels, slices) = (of.format(), of.kind(), of.levels(), of.slices());
            let request = ViewRequest { format, kind, levels, slices, channels: of.swizzle() };
            Some(self.view("MTLTexture newTextureViewWithDescriptor:", request))
        }

        #[unsafe(method(gpuResourceID))]
        fn gpu_resource_id(&self) -> ResourceId {
            // A device whose kernels cannot follow addresses has none.
            ResourceId { number: self.resource_id().map_or(0, |id| id.bits()) }
        }

        #[unsafe(method_id(remoteStorageTexture))]
        fn remote(&self) -> Option<Retained<Texture>> { None }

        #[unsafe(method_id(label))]
        fn label(&self) -> Option<Retained<NSString>> {
            self.ivars().label.get()
        }

        #[unsafe(method(setLabel:))]
        fn set_label(&self, label: Option<&NSString>) {
            self.ivars().label.set(label);
        }

        #[unsafe(method_id(device))]
        fn device(&self) -> Retained<Device> {
            self.ivars().device.clone()
        }

        #[unsafe(method(cpuCacheMode))]
        fn cache_mode(&self) -> usize { self.ivars().options.cache_mode() }
        #[unsafe(method(storageMode))]
        fn storage_mode(&self) -> usize { self.ivars().options.storage_mode() }
        #[unsafe(method(hazardTrackingMode))]
        fn hazard_mode(&self) -> usize { self.ivars().options.hazard_mode() }
        #[unsafe(method(resourceOptions))]
        fn options(&self) -> usize { self.ivars().options.0 }
        // As of buffers: 2 is `MTLPurgeableStateNonVolatile`.
        #[unsafe(method(setPurgeableState:))]
        fn set_purgeable(&self, _state: usize) -> usize { 2 }

        #[unsafe(method_id(heap))]
        fn heap(&self) -> Option<Retained<Heap>> {
            self.ivars().heap.clone()
        }

        #[unsafe(method(allocatedSize))]
        fn allocated_size(&self) -> usize {
            self.ivars().memory.region().length() as usize
        }

        #[unsafe(method(isAliasable))]
        fn is_aliasable(&self) -> bool { false }
    }
);

impl Texture {
    pub(crate) fn shape(&self) -> &anymetal::TextureDescriptor {
        self.ivars().memory.descriptor()
    }

    /// What it is in an argument buffer.
    pub(crate) fn resource_id(&self) -> Result<anymetal::texture::GpuResourceId, anymetal::Error> {
        self.ivars().seen.gpu_resource_id(self.ivars().device.inner())
    }

    /// A view of everything as it is.
    fn whole(&self) -> ViewRequest {
        let shape = self.shape();
        let all = |count: u32| Range { location: 0, length: count as usize };
        ViewRequest {
            format: number_of_format(shape.format),
            kind: number_of_kind(shape.kind),
            levels: all(shape.levels),
            slices: all(shape.slices()),
            channels: Channels::default(),
        }
    }
}

fn object_of<T: objc2::Message>(object: Retained<T>) -> Retained<AnyObject> {
    // SAFETY: every message receiver is an object.
    unsafe { Retained::cast_unchecked(object) }
}
