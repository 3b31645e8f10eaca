//! `MTLRenderPassDescriptor` with its attachments: which textures a pass clears.

use std::sync::Mutex;

use objc2::Message;
use objc2::encode::{Encode, Encoding};
use objc2::rc::Retained;
use objc2::runtime::{NSObject, NSZone};

use super::buffer::Buffer;
use super::command_buffer::CommandBuffer;
use super::counters::{DONT_SAMPLE, SampleBuffer};
use super::descriptor::{descriptor, locked};
use super::descriptor_array::{Descriptor, descriptor_array};
use super::pass::Samples;
use super::texture::Texture;
use super::texture_descriptor::RENDER_TARGET;
use super::violation;

/// How many textures with colours a pass has.
pub(crate) const MAX_COLORS: usize = 8;

/// How many sample buffers a pass has.
const MAX_SAMPLE_BUFFERS: usize = 4;

/// `MTLLoadActionDontCare` and `MTLLoadActionClear`.
const LOAD_NOTHING: usize = 0;
const CLEAR: usize = 2;

/// `MTLStoreActionDontCare`, `MTLStoreActionStore`, and the last one without a resolution of samples.
const STORE_NOTHING: usize = 0;
const STORE: usize = 1;

/// `MTLClearColor`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ClearColor(pub(crate) [f64; 4]);

// SAFETY: it is `MTLClearColor`, four numbers that follow each other.
unsafe impl Encode for ClearColor {
    const ENCODING: Encoding =
        Encoding::Struct("?", &[f64::ENCODING, f64::ENCODING, f64::ENCODING, f64::ENCODING]);
}

impl ClearColor {
    /// Black, as attachments have it at first.
    const BLACK: ClearColor = ClearColor([0.0, 0.0, 0.0, 1.0]);
}

/// Defines the class of an attachment: what all have, and what only this one has.
macro_rules! attachment {
    (
        $(#[$meta:meta])*
        $class:ident = $name:literal, $ivars:ident, load $load:ident, store $store:ident;
        $($own:tt)*
    ) => {
        descriptor! {
            $(#[$meta])*
            $class = $name, $ivars;
            values {
                level, set_level: usize = 0, [level] [setLevel:];
                slice, set_slice: usize = 0, [slice] [setSlice:];
                plane, set_plane: usize = 0, [depthPlane] [setDepthPlane:];
                resolve_level, set_resolve_level: usize = 0, [resolveLevel] [setResolveLevel:];
                resolve_slice, set_resolve_slice: usize = 0, [resolveSlice] [setResolveSlice:];
                resolve_plane, set_resolve_plane: usize = 0, [resolveDepthPlane] [setResolveDepthPlane:];
                load_action, set_load_action: usize = $load, [loadAction] [setLoadAction:];
                store_action, set_store_action: usize = $store, [storeAction] [setStoreAction:];
                store_options, set_store_options: usize = 0, [storeActionOptions] [setStoreActionOptions:];
                $($own)*
            }
            objects {
                texture, set_texture: Texture, [texture] [setTexture:];
                resolved, set_resolved: Texture, [resolveTexture] [setResolveTexture:];
            }
        }

        impl $ivars {
            /// The texels that the pass clears, and their texture; nothing without a texture or another
            /// load action.
            fn cleared(&self, method: &str, color: [f64; 4]) -> Option<Cleared> {
                let texture = self.texture()?;
                if texture.ivars().usage & RENDER_TARGET == 0 {
                    violation(method, concat!("the texture of a ", $name, " has no usage MTLTextureUsageRenderTarget"));
                }
                if self.store_action() > STORE || self.resolved().is_some() {
                    violation(method, "anymetal has no multisampled textures, so that nothing is resolved");
                }
                let place = [self.level(), self.slice(), self.plane()];
                (self.load_action() == CLEAR).then_some(Cleared { texture, place, color })
            }
        }
    };
}

attachment! {
    /// A texture with colours.
    ColorAttachment = "MTLRenderPassColorAttachmentDescriptor", ColorProperties, load LOAD_NOTHING, store STORE;
    color, set_color: ClearColor = ClearColor::BLACK, [clearColor] [setClearColor:];
}

attachment! {
    /// A texture with depths.
    DepthAttachment = "MTLRenderPassDepthAttachmentDescriptor", DepthProperties, load CLEAR, store STORE_NOTHING;
    depth, set_depth: f64 = 1.0, [clearDepth] [setClearDepth:];
    filter, set_filter: usize = 0, [depthResolveFilter] [setDepthResolveFilter:];
}

attachment! {
    /// A texture with stencils, whose formats there are not: it has none.
    StencilAttachment = "MTLRenderPassStencilAttachmentDescriptor", StencilProperties, load CLEAR, store STORE_NOTHING;
    stencil, set_stencil: u32 = 0, [clearStencil] [setClearStencil:];
    filter, set_filter: usize = 0, [stencilResolveFilter] [setStencilResolveFilter:];
}

descriptor! {
    /// Where a pass samples the counters.
    SampleAttachment = "MTLRenderPassSampleBufferAttachmentDescriptor", SampleProperties;
    values {
        vertex_start, set_vertex_start: usize = DONT_SAMPLE, [startOfVertexSampleIndex] [setStartOfVertexSampleIndex:];
        vertex_end, set_vertex_end: usize = DONT_SAMPLE, [endOfVertexSampleIndex] [setEndOfVertexSampleIndex:];
        fragment_start, set_fragment_start: usize = DONT_SAMPLE, [startOfFragmentSampleIndex] [setStartOfFragmentSampleIndex:];
        fragment_end, set_fragment_end: usize = DONT_SAMPLE, [endOfFragmentSampleIndex] [setEndOfFragmentSampleIndex:];
    }
    objects { buffer, set_buffer: SampleBuffer, [sampleBuffer] [setSampleBuffer:]; }
}

descriptor_array! { ColorAttachments = "MTLRenderPassColorAttachmentDescriptorArray", ColorAttachment, MAX_COLORS }

descriptor_array! {
    SampleAttachments = "MTLRenderPassSampleBufferAttachmentDescriptorArray", SampleAttachment, MAX_SAMPLE_BUFFERS
}

/// Texels that a pass clears.
struct Cleared {
    texture: Retained<Texture>,
    /// Level, slice and depth plane.
    place: [usize; 3],
    color: [f64; 4],
}

/// The attachments of a pass.
#[derive(Debug)]
pub(crate) struct Attachments {
    colors: Retained<ColorAttachments>,
    samples: Retained<SampleAttachments>,
    depth: Mutex<Retained<DepthAttachment>>,
    stencil: Mutex<Retained<StencilAttachment>>,
}

impl Default for Attachments {
    fn default() -> Self {
        Attachments {
            colors: ColorAttachments::fresh(),
            samples: SampleAttachments::fresh(),
            depth: Mutex::new(DepthAttachment::fresh()),
            stencil: Mutex::new(StencilAttachment::fresh()),
        }
    }
}

impl Attachments {
    fn duplicate(&self) -> Self {
        Attachments {
            colors: self.colors.duplicate(),
            samples: self.samples.duplicate(),
            depth: Mutex::new(locked(&self.depth).duplicate()),
            stencil: Mutex::new(locked(&self.stencil).duplicate()),
        }
    }
}

/// Sets an attachment to a copy, or to a new one.
fn put<T: Descriptor>(place: &Mutex<Retained<T>>, attachment: Option<&T>) {
    let copy = attachment.map_or_else(T::fresh, T::duplicate);
    let before = std::mem::replace(&mut *locked(place), copy);
    // Outside the lock: its end may read the attachment.
    drop(before);
}

/// The properties of `MTLRenderPassDescriptor`.
#[derive(Debug, Default)]
pub(crate) struct RenderPassIvars {
    attachments: Attachments,
    layers: Mutex<usize>,
    /// Kept, and without effect on a pass that draws nothing: the sizes of the area, of tiles and of
    /// their memory.
    width: Mutex<usize>,
    height: Mutex<usize>,
    samples: Mutex<usize>,
    visibility: Mutex<Option<Retained<Buffer>>>,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "MTLRenderPassDescriptor"]
    #[ivars = RenderPassIvars]
    #[derive(Debug)]
    pub(crate) struct RenderPassDescriptor;

    impl RenderPassDescriptor {
        #[unsafe(method_id(renderPassDescriptor))]
        fn descriptor() -> Retained<Self> {
            crate::foundation::object(RenderPassIvars::default())
        }

        #[unsafe(method_id(init))]
        fn init(this: objc2::rc::Allocated<Self>) -> Retained<Self> {
            crate::foundation::initialized(this, RenderPassIvars::default())
        }

        #[unsafe(method_id(copyWithZone:))]
        fn copy_with_zone(&self, _zone: *mut NSZone) -> Retained<Self> {
            let own = self.ivars();
            crate::foundation::object(RenderPassIvars {
                attachments: own.attachments.duplicate(),
                layers: Mutex::new(*locked(&own.layers)),
                width: Mutex::new(*locked(&own.width)),
                height: Mutex::new(*locked(&own.height)),
                samples: Mutex::new(*locked(&own.samples)),
                visibility: Mutex::new(locked(&own.visibility).clone()),
            })
        }

        #[unsafe(method_id(colorAttachments))]
        fn colors(&self) -> Retained<ColorAttachments> {
            self.ivars().attachments.colors.clone()
        }

        #[unsafe(method_id(sampleBufferAttachments))]
        fn sample_buffers(&self) -> Retained<SampleAttachments> {
            self.ivars().attachments.samples.clone()
        }

        #[unsafe(method_id(depthAttachment))]
        fn depth(&self) -> Retained<DepthAttachment> {
            locked(&self.ivars().attachments.depth).clone()
        }

        #[unsafe(method(setDepthAttachment:))]
        fn set_depth(&self, attachment: Option<&DepthAttachment>) {
            put(&self.ivars().attachments.depth, attachment);
        }

        #[unsafe(method_id(stencilAttachment))]
        fn stencil(&self) -> Retained<StencilAttachment> {
            locked(&self.ivars().attachments.stencil).clone()
        }

        #[unsafe(method(setStencilAttachment:))]
        fn set_stencil(&self, attachment: Option<&StencilAttachment>) {
            put(&self.ivars().attachments.stencil, attachment);
        }

        #[unsafe(method_id(visibilityResultBuffer))]
        fn visibility(&self) -> Option<Retained<Buffer>> {
            locked(&self.ivars().visibility).clone()
        }

        #[unsafe(method(setVisibilityResultBuffer:))]
        fn set_visibility(&self, buffer: Option<&Buffer>) {
            *locked(&self.ivars().visibility) = buffer.map(Message::retain);
        }

        #[unsafe(method(renderTargetArrayLength))]
        fn layers(&self) -> usize {
            *locked(&self.ivars().layers)
        }

        #[unsafe(method(setRenderTargetArrayLength:))]
        fn set_layers(&self, count: usize) {
            *locked(&self.ivars().layers) = count;
        }

        #[unsafe(method(renderTargetWidth))]
        fn width(&self) -> usize {
            *locked(&self.ivars().width)
        }

        #[unsafe(method(setRenderTargetWidth:))]
        fn set_width(&self, width: usize) {
            *locked(&self.ivars().width) = width;
        }

        #[unsafe(method(renderTargetHeight))]
        fn height(&self) -> usize {
            *locked(&self.ivars().height)
        }

        #[unsafe(method(setRenderTargetHeight:))]
        fn set_height(&self, height: usize) {
            *locked(&self.ivars().height) = height;
        }

        #[unsafe(method(defaultRasterSampleCount))]
        fn samples(&self) -> usize {
            *locked(&self.ivars().samples)
        }

        #[unsafe(method(setDefaultRasterSampleCount:))]
        fn set_samples(&self, count: usize) {
            *locked(&self.ivars().samples) = count;
        }
    }
);

impl RenderPassDescriptor {
    /// Where the pass samples the counters: at its begin and its end. Between the vertices and the
    /// fragments of a pass that draws nothing is no time.
    pub(crate) fn samples_of_pass(&self) -> Vec<Samples> {
        let attachments = self.ivars().attachments.samples.ivars().known();
        let samples = attachments.iter().filter_map(|(_, attachment)| {
            let of = attachment.ivars();
            let buffer = of.buffer()?;
            let outer = Samples::new(buffer.clone(), of.vertex_start(), of.fragment_end());
            Some([outer, Samples::new(buffer, of.vertex_end(), of.fragment_start())])
        });
        samples.flatten().collect()
    }

    /// Encodes what the pass clears.
    pub(crate) fn clear(&self, method: &str, target: &CommandBuffer) {
        let layers = *locked(&self.ivars().layers);
        let Attachments { colors, depth, stencil, .. } = &self.ivars().attachments;
        let color = |(_, attachment): &(u32, Retained<ColorAttachment>)| {
            let properties = attachment.ivars();
            properties.cleared(method, properties.color().0)
        };
        let mut all: Vec<Cleared> = colors.ivars().known().iter().filter_map(color).collect();
        let (depth, stencil) = (locked(depth).clone(), locked(stencil).clone());
        all.extend(depth.ivars().cleared(method, [depth.ivars().depth(), 0.0, 0.0, 0.0]));
        all.extend(stencil.ivars().cleared(method, [f64::from(stencil.ivars().stencil()), 0.0, 0.0, 0.0]));
        all.iter().for_each(|cleared| cleared.encode(method, target, layers));
    }
}

impl Cleared {
    /// Encodes the clearing: of one slice, or of as many as the pass has layers.
    fn encode(&self, method: &str, target: &CommandBuffer, layers: usize) {
        let Cleared { texture, place, color } = self;
        let device = &texture.ivars().device;
        let [level, slice, plane] = place.map(|number| u32::try_from(number).unwrap_or(u32::MAX));
        let is_volume = texture.shape().kind == anymetal::texture::TextureKind::D3;
        for layer in 0..u32::try_from(layers.max(1)).unwrap_or(u32::MAX) {
            let place = match is_volume {
                true => [level, slice, plane.saturating_add(layer)],
                false => [level, slice.saturating_add(layer), plane],
            };
            target.commands().encode(method, |commands| {
                commands.clear_texture(device.inner(), &texture.ivars().memory, place, *color)
            });
        }
    }
}
