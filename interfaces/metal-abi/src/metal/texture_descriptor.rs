//! `MTLTextureDescriptor` and `MTLTextureViewDescriptor`.

use anymetal::TextureDescriptor as Shape;
use objc2::rc::Retained;
use objc2::runtime::Bool;

use super::descriptor::descriptor;
use super::pixel_format::{format_of, kind_of, number_of_kind};
use super::resource_options::ResourceOptions;
use super::swizzle::Channels;
use super::violation;
use crate::foundation::Range;

/// `MTLPixelFormatRGBA8Unorm`, what a descriptor has at first.
const RGBA8_UNORM: usize = 70;

/// `MTLTextureUsageShaderRead`.
pub(crate) const SHADER_READ: usize = 1;
/// `MTLTextureUsageRenderTarget`.
pub(crate) const RENDER_TARGET: usize = 4;
/// `MTLTextureUsageShaderWrite`.
pub(crate) const SHADER_WRITE: usize = 2;

descriptor! {
    /// What texture to make.
    TextureDescriptor = "MTLTextureDescriptor", TextureProperties;
    values {
        kind, set_kind: usize = number_of_kind(anymetal::texture::TextureKind::D2), [textureType] [setTextureType:];
        format, set_format: usize = RGBA8_UNORM, [pixelFormat] [setPixelFormat:];
        width, set_width: usize = 1, [width] [setWidth:];
        height, set_height: usize = 1, [height] [setHeight:];
        depth, set_depth: usize = 1, [depth] [setDepth:];
        levels, set_levels: usize = 1, [mipmapLevelCount] [setMipmapLevelCount:];
        samples, set_samples: usize = 1, [sampleCount] [setSampleCount:];
        array_length, set_array_length: usize = 1, [arrayLength] [setArrayLength:];
        cache_mode, set_cache_mode: usize = 0, [cpuCacheMode] [setCpuCacheMode:];
        storage_mode, set_storage_mode: usize = 0, [storageMode] [setStorageMode:];
        hazard_mode, set_hazard_mode: usize = 0, [hazardTrackingMode] [setHazardTrackingMode:];
        usage, set_usage: usize = SHADER_READ, [usage] [setUsage:];
        optimized, set_optimized: Bool = Bool::YES, [allowGPUOptimizedContents] [setAllowGPUOptimizedContents:];
        compression, set_compression: isize = 0, [compressionType] [setCompressionType:];
        swizzle, set_swizzle: Channels = Channels::default(), [swizzle] [setSwizzle:];
        sparse_page_size, set_sparse_page_size: isize = 0, [placementSparsePageSize] [setPlacementSparsePageSize:];
    }
    objects {}
    methods {
        #[unsafe(method_id(texture2DDescriptorWithPixelFormat:width:height:mipmapped:))]
        fn plane(format: usize, width: usize, height: usize, mipmapped: bool) -> Retained<Self> {
            TextureProperties::plane(format, width, height, mipmapped).into_object()
        }

        #[unsafe(method_id(textureCubeDescriptorWithPixelFormat:size:mipmapped:))]
        fn cube(format: usize, size: usize, mipmapped: bool) -> Retained<Self> {
            let properties = TextureProperties::plane(format, size, size, mipmapped);
            properties.set_kind(number_of_kind(anymetal::texture::TextureKind::Cube));
            properties.into_object()
        }

        #[unsafe(method_id(textureBufferDescriptorWithPixelFormat:width:resourceOptions:usage:))]
        fn row(format: usize, width: usize, options: usize, usage: usize) -> Retained<Self> {
            let properties = TextureProperties::plane(format, width, 1, false);
            properties.set_kind(number_of_kind(anymetal::texture::TextureKind::Buffer));
            properties.set_options(ResourceOptions(options));
            properties.set_usage(usage);
            properties.into_object()
        }

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

impl TextureProperties {
    fn plane(format: usize, width: usize, height: usize, mipmapped: bool) -> TextureProperties {
        let properties = TextureProperties::default();
        properties.set_format(format);
        properties.set_width(width);
        properties.set_height(height);
        if mipmapped {
            properties.set_levels(width.max(height).max(1).ilog2() as usize + 1);
        }
        properties
    }

    fn into_object(self) -> Retained<TextureDescriptor> {
        crate::foundation::object(self)
    }

    fn set_options(&self, options: ResourceOptions) {
        self.set_cache_mode(options.cache_mode());
        self.set_storage_mode(options.storage_mode());
        self.set_hazard_mode(options.given_hazard_mode());
    }

    /// How its memory is to be.
    pub(crate) fn options(&self) -> ResourceOptions {
        ResourceOptions::of_modes(self.cache_mode(), self.storage_mode(), self.hazard_mode())
    }

    /// The shape, for a method that makes a texture of it.
    pub(crate) fn shape(&self, method: &str) -> Shape {
        if self.samples() != 1 {
            violation(method, "anymetal has no multisampled textures");
        }
        if self.sparse_page_size() != 0 {
            violation(method, "anymetal has no sparse textures");
        }
        let extent = |name: &str, value: usize| {
            u32::try_from(value)
                .unwrap_or_else(|_| violation(method, format_args!("a {name} of {value} is too large")))
        };
        Shape::plane(
            format_of(method, self.format()),
            extent("width", self.width()),
            extent("height", self.height()),
        )
        .of_kind(kind_of(method, self.kind()))
        .with_depth(extent("depth", self.depth()))
        .with_array_length(extent("array length", self.array_length()))
        .with_levels(extent("number of mip levels", self.levels()))
    }
}

descriptor! {
    /// What view of a texture to make.
    TextureViewDescriptor = "MTLTextureViewDescriptor", TextureViewProperties;
    values {
        format, set_format: usize = RGBA8_UNORM, [pixelFormat] [setPixelFormat:];
        kind, set_kind: usize = number_of_kind(anymetal::texture::TextureKind::D2), [textureType] [setTextureType:];
        levels, set_levels: Range = Range { location: 0, length: 1 }, [levelRange] [setLevelRange:];
        slices, set_slices: Range = Range { location: 0, length: 1 }, [sliceRange] [setSliceRange:];
        swizzle, set_swizzle: Channels = Channels::default(), [swizzle] [setSwizzle:];
    }
    objects {}
}
