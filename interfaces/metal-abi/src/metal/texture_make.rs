//! How textures come to be: of a descriptor, in a heap, over a buffer, as views of others.

use anymetal::texture::TextureLayout;
use anymetal::{Error, PixelFormat, Texture as Memory};
use objc2::Message;
use objc2::rc::Retained;

use super::buffer::Buffer;
use super::device::{Device, HEAP_ALIGNMENT};
use super::heap::Heap;
use super::label::Label;
use super::pixel_format::{format_of, kind_of};
use super::size::SizeAndAlign;
use super::swizzle::Channels;
use super::texture::{Source, Texture, TextureIvars};
use super::texture_descriptor::TextureDescriptor;
use super::texture_memory::Rows;
use super::violation;
use crate::foundation::Range;

/// The alignment of rows and of the first texel of textures over buffers, in bytes.
const LINEAR_ALIGNMENT: usize = 16;

/// What a view shows: numbers of Metal's, as methods take them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ViewRequest {
    pub(crate) format: usize,
    pub(crate) kind: usize,
    pub(crate) levels: Range,
    pub(crate) slices: Range,
    pub(crate) channels: Channels,
}

/// The alignment of textures over buffers with that format, for a method that takes it.
pub(crate) fn linear_alignment(method: &str, format: usize) -> usize {
    let _known: PixelFormat = format_of(method, format);
    LINEAR_ALIGNMENT
}

/// What a texture takes of a heap.
pub(crate) fn heap_size(method: &str, descriptor: &TextureDescriptor) -> SizeAndAlign {
    let layout = TextureLayout::new(&descriptor.ivars().shape(method));
    let bytes = layout.unwrap_or_else(|error| violation(method, error)).bytes();
    let size = usize::try_from(bytes).ok().and_then(|bytes| bytes.checked_next_multiple_of(HEAP_ALIGNMENT));
    SizeAndAlign { size: size.unwrap_or(usize::MAX), align: HEAP_ALIGNMENT }
}

/// A texture of its own; nothing if there is no memory for it.
pub(crate) fn own(
    device: &Device,
    method: &str,
    descriptor: &TextureDescriptor,
) -> Option<Retained<Texture>> {
    let properties = descriptor.ivars();
    let options = properties.options();
    let placed =
        options.placement().unwrap_or_else(|| violation(method, "a kernel's texture is not memoryless"));
    let made = device.inner().create_texture(&properties.shape(method), placed);
    finish(method, descriptor, device.retain(), made, None, options)
}

/// A texture in a heap; nothing if it has no room for it.
pub(crate) fn in_heap(
    heap: &Heap,
    method: &str,
    descriptor: &TextureDescriptor,
) -> Option<Retained<Texture>> {
    let properties = descriptor.ivars();
    let own = heap.ivars().options;
    if properties.storage_mode() != own.storage_mode() {
        violation(method, "a texture has the storage mode of its heap");
    }
    let made = heap.ivars().block.texture(&properties.shape(method));
    finish(method, descriptor, heap.ivars().device.clone(), made, Some(heap.retain()), own)
}

/// A texture over a buffer's bytes.
pub(crate) fn over(
    buffer: &Buffer,
    method: &str,
    descriptor: &TextureDescriptor,
    offset: usize,
    row_bytes: usize,
) -> Option<Retained<Texture>> {
    let (properties, ivars) = (descriptor.ivars(), buffer.ivars());
    let shape = properties.shape(method);
    let is_aligned = |value: usize| value.is_multiple_of(LINEAR_ALIGNMENT);
    if !is_aligned(offset) || (shape.height > 1 && !is_aligned(row_bytes)) {
        let rule = "the offset and the bytes per row are multiples of";
        violation(method, format_args!("{rule} {LINEAR_ALIGNMENT}, not {offset} and {row_bytes}"));
    }
    if properties.storage_mode() != ivars.options.storage_mode() {
        violation(method, "a texture has the storage mode of its buffer");
    }
    let rows = Rows::of(method, shape.format, [shape.width, shape.height, 1], row_bytes, 0);
    drop(buffer.part(method, offset, rows.bytes));
    let made = ivars.memory.texture(&shape, ivars.start + offset, rows.pitch.row_bytes);
    let source = Source::Buffer { buffer: buffer.retain(), offset, row_bytes };
    let heap = ivars.heap.clone();
    let memory = memory_of(method, made)?;
    Some(texture(
        method,
        memory,
        properties.swizzle(),
        Surroundings {
            device: ivars.device.clone(),
            heap,
            source,
            usage: properties.usage(),
            options: ivars.options,
        },
    ))
}

impl Texture {
    /// A view, for a method that makes it.
    pub(crate) fn view(&self, method: &str, request: ViewRequest) -> Retained<Texture> {
        let ivars = self.ivars();
        let numbers = |range: Range| {
            let end = range.location.checked_add(range.length).and_then(|end| u32::try_from(end).ok());
            let end =
                end.unwrap_or_else(|| violation(method, format_args!("{range:?} is beyond every texture")));
            range.location as u32..end
        };
        let view = ivars.memory.whole().format(format_of(method, request.format));
        let view = view.kind(kind_of(method, request.kind));
        let view = view.levels(numbers(request.levels)).slices(numbers(request.slices));
        let memory = ivars.memory.view(&view).unwrap_or_else(|error| violation(method, error));
        texture(
            method,
            memory,
            request.channels.of_view_of(ivars.channels),
            Surroundings {
                device: ivars.device.clone(),
                heap: ivars.heap.clone(),
                source: Source::Parent {
                    texture: self.retain(),
                    level: request.levels.location,
                    slice: request.slices.location,
                },
                usage: ivars.usage,
                options: ivars.options,
            },
        )
    }
}

/// The memory of a texture: nothing without memory; a shape that is refused breaks a rule.
fn memory_of(method: &str, made: Result<Memory, Error>) -> Option<Memory> {
    match made {
        Ok(memory) => Some(memory),
        Err(Error::Texture(refusal)) => violation(method, refusal),
        Err(_) => None,
    }
}

fn finish(
    method: &str,
    descriptor: &TextureDescriptor,
    device: Retained<Device>,
    made: Result<Memory, Error>,
    heap: Option<Retained<Heap>>,
    options: super::resource_options::ResourceOptions,
) -> Option<Retained<Texture>> {
    let memory = memory_of(method, made)?;
    let (source, usage) = (Source::Own, descriptor.ivars().usage());
    let rest = Surroundings { device, heap, source, usage, options };
    Some(texture(method, memory, descriptor.ivars().swizzle(), rest))
}

/// What a texture has beside its memory.
struct Surroundings {
    device: Retained<Device>,
    heap: Option<Retained<Heap>>,
    source: Source,
    usage: usize,
    options: super::resource_options::ResourceOptions,
}

fn texture(method: &str, memory: Memory, channels: Channels, rest: Surroundings) -> Retained<Texture> {
    let view = memory.whole().swizzle(channels.swizzle(method));
    let seen = memory.view(&view).unwrap_or_else(|error| violation(method, error));
    let Surroundings { device, heap, source, usage, options } = rest;
    let label = Label::default();
    crate::foundation::object(TextureIvars {
        memory,
        seen,
        channels,
        usage,
        options,
        device,
        heap,
        source,
        label,
    })
}
