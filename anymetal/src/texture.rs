//! Textures: memory with a shape and a pixel format.
//!
//! Owns [`Texture`] and its views. Invariant: the texels of every view lie within the buffer that it holds
//! alive; the host's reads and writes wait for the submitted work that uses the buffer, as a buffer's do.

mod blit;
mod clear;
mod gpu_resource_id;
mod mipmaps;
mod part;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use anymetal_hal::artifact::ArgumentInfo;
use anymetal_types::setters;
use anymetal_types::texture::{Description, LevelLayout};
use bytemuck::Pod;

use crate::buffer::{Buffer, BufferSlice};
use crate::buffer_descriptor::{BufferDescriptor, ResourceOptions};
use crate::device::Device;
use crate::error::Error;
use crate::heap::Heap;

pub use anymetal_types::texture::{
    AddressMode, BindingRole, BorderColor, ChannelKind, CompareFunction, Filter, GpuResourceId, MAX_SAMPLERS,
    MAX_TEXTURES, MipFilter, PixelFormat, SamplerDescriptor, TextureDescriptor, TextureError, TextureKind,
    TextureLayout, TextureType, format_constant,
};
pub(crate) use gpu_resource_id::Descriptions;
pub use part::{Pitch, TexturePart};

/// Where a view's red, green, blue and alpha come from; Metal's `MTLTextureSwizzle`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Swizzle {
    Red = 0,
    Green = 1,
    Blue = 2,
    Alpha = 3,
    Zero = 4,
    One = 5,
}

/// What a view of a texture shows.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextureView {
    /// Its texels are read and written as those of this format, which has as many bytes.
    pub format: PixelFormat,
    /// Its kind.
    pub kind: TextureKind,
    /// The levels of the texture that it has.
    pub levels: Range<u32>,
    /// The slices of the texture that it has: elements of an array, faces of cubes.
    pub slices: Range<u32>,
    /// Where its channels come from.
    pub swizzle: [Swizzle; 4],
}

setters!(TextureView {
    format: PixelFormat,
    kind: TextureKind,
    levels: Range<u32>,
    slices: Range<u32>,
    swizzle: [Swizzle; 4],
});

/// A texture: texels in rows, in a buffer of their own or of the program. Clones share the texels.
///
/// ```
/// # fn main() -> Result<(), anymetal::Error> {
/// use anymetal::{Device, PixelFormat, SamplerDescriptor, TextureDescriptor};
///
/// let device = Device::system_default()?;
/// let library = device.library_from_source(
///     "#include <metal_stdlib>
///      using namespace metal;
///      kernel void invert(texture2d<float> in [[texture(0)]],
///                         texture2d<float, access::write> out [[texture(1)]],
///                         sampler s [[sampler(0)]], uint2 at [[thread_position_in_grid]]) {
///          float2 size = float2(out.get_width(), out.get_height());
///          out.write(1 - in.sample(s, (float2(at) + 0.5f) / size), at);
///      }",
/// )?;
/// let invert = library.pipeline("invert")?;
/// let shape = TextureDescriptor::plane(PixelFormat::R8Unorm, 3, 2);
/// let (from, to) = (device.texture(&shape)?, device.texture(&shape)?);
/// from.write(&[0u8, 1, 2, 253, 254, 255])?;
/// let queue = device.queue()?;
/// let launch = queue.launch(&invert).texture(0, &from).texture(1, &to);
/// launch.sampler(0, &SamplerDescriptor::default()).threads((3, 2)).submit()?.wait()?;
/// assert_eq!(to.read::<u8>()?, [255, 254, 253, 2, 1, 0]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Texture {
    storage: Buffer<u8>,
    region: BufferSlice,
    /// The part of it that begins with the first slice of the first level.
    texels: BufferSlice,
    /// Bytes of the buffer before the texels.
    start: usize,
    /// Of the texture that this is a view of, or of itself.
    layout: TextureLayout,
    descriptor: TextureDescriptor,
    first_level: u32,
    first_slice: u32,
    swizzle: [Swizzle; 4],
    /// Its description in memory, once a resource id was asked for.
    described: Arc<gpu_resource_id::Described>,
    /// Those of everything that shares its texels.
    descriptions: Arc<Descriptions>,
}

const IDENTITY: [Swizzle; 4] = [Swizzle::Red, Swizzle::Green, Swizzle::Blue, Swizzle::Alpha];

impl Device {
    /// A texture of that shape, all bytes zero.
    pub fn texture(&self, descriptor: &TextureDescriptor) -> Result<Texture, Error> {
        self.create_texture(descriptor, ResourceOptions::new())
    }

    /// As [`Device::texture`], with a label, a tenant, a placement.
    pub fn create_texture(
        &self,
        descriptor: &TextureDescriptor,
        options: impl Into<ResourceOptions>,
    ) -> Result<Texture, Error> {
        let layout = TextureLayout::new(descriptor)?;
        let bytes = usize::try_from(layout.bytes());
        let bytes = bytes.map_err(|_| Error::TooManyElements { count: usize::MAX, element_size: 1 })?;
        let storage = self.create_buffer(&BufferDescriptor::zeroed(bytes).options(options.into()))?;
        Texture::of_parts(storage, 0, *descriptor, layout)
    }
}

impl Heap {
    /// A texture of that shape, all bytes zero, in memory of the heap.
    pub fn texture(&self, descriptor: &TextureDescriptor) -> Result<Texture, Error> {
        let layout = TextureLayout::new(descriptor)?;
        let bytes = usize::try_from(layout.bytes());
        let bytes = bytes.map_err(|_| Error::TooManyElements { count: usize::MAX, element_size: 1 })?;
        let texture = Texture::of_parts(self.buffer_zeroed::<u8>(bytes)?, 0, *descriptor, layout)?;
        self.note_texture(&texture.descriptions);
        Ok(texture)
    }
}

impl<T: Pod> Buffer<T> {
    /// A texture with one level and one slice over the buffer's bytes from `offset` on, with rows of that
    /// many bytes. Work that writes either is seen by the other.
    pub fn texture(
        &self,
        descriptor: &TextureDescriptor,
        offset: usize,
        row_bytes: u64,
    ) -> Result<Texture, Error> {
        let layout = TextureLayout::over_rows(descriptor, row_bytes)?;
        Texture::of_parts(self.bytes(), offset, *descriptor, layout)
    }
}

impl Texture {
    fn of_parts(
        storage: Buffer<u8>,
        start: usize,
        descriptor: TextureDescriptor,
        layout: TextureLayout,
    ) -> Result<Texture, Error> {
        let needs = layout.bytes();
        let got = storage.len().saturating_sub(start) as u64;
        if got < needs {
            return Err(TextureError::TooShort { needs, got }.into());
        }
        let region = storage.region().slice(start as u64..start as u64 + needs)?;
        let (first_level, first_slice, swizzle) = (0, 0, IDENTITY);
        let (described, descriptions) = (Arc::default(), Arc::default());
        Ok(Texture {
            storage,
            texels: region.clone(),
            region,
            start,
            layout,
            descriptor,
            first_level,
            first_slice,
            swizzle,
            described,
            descriptions,
        })
    }

    /// The shape of the texture, or of the view.
    pub fn descriptor(&self) -> &TextureDescriptor {
        &self.descriptor
    }

    /// Where the texels are, for copies and graphs. A view has those of its texture.
    pub fn region(&self) -> &BufferSlice {
        &self.region
    }

    /// Levels, slices or channels of the texture, or its bits as another format of the same size.
    pub fn view(&self, view: &TextureView) -> Result<Texture, Error> {
        let (from, to) = (self.descriptor.format, view.format);
        if from.texel_bytes() != to.texel_bytes() {
            return Err(TextureError::ViewFormat { from, to }.into());
        }
        let (levels, slices) = (view.levels.clone(), view.slices.clone());
        let outside = TextureError::NoSuchPlace { level: levels.end, slice: slices.end };
        if levels.start >= levels.end || levels.end > self.descriptor.levels {
            return Err(outside.into());
        }
        if slices.start >= slices.end || slices.end > self.descriptor.slices() {
            return Err(outside.into());
        }
        let cubes = matches!(view.kind, TextureKind::Cube | TextureKind::CubeArray);
        let faces = if cubes { 6 } else { 1 };
        let [width, height, depth] = self.descriptor.extent(levels.start);
        let descriptor = TextureDescriptor::plane(to, width, height).of_kind(view.kind).with_depth(depth);
        let descriptor = descriptor.with_array_length((slices.end - slices.start) / faces);
        let descriptor = descriptor.with_levels(levels.end - levels.start);
        // The shape of the view is checked as that of a texture of its own.
        TextureLayout::new(&descriptor)?;
        let swizzle = view.swizzle.map(|channel| match channel {
            Swizzle::Zero | Swizzle::One => channel,
            _ => self.swizzle[channel as usize],
        });
        let (first_level, first_slice) = (self.first_level + levels.start, self.first_slice + slices.start);
        let (_, first) = self.layout.slice(first_level, first_slice)?;
        Ok(Texture {
            texels: self.region.slice(first..self.region.length())?,
            descriptor,
            first_level,
            first_slice,
            swizzle,
            described: Arc::default(),
            ..self.clone()
        })
    }

    /// The same levels and slices as another format.
    pub fn view_as(&self, format: PixelFormat) -> Result<Texture, Error> {
        self.view(&TextureView { format, ..self.whole() })
    }

    /// One level.
    pub fn level(&self, level: u32) -> Result<Texture, Error> {
        self.view(&TextureView { levels: level..level + 1, ..self.whole() })
    }

    /// A view of one slice of a level, as a texture of two dimensions, or of three of a volume.
    fn slice_of_level(&self, level: u32, slice: u32) -> Result<Texture, Error> {
        let kind = if self.descriptor.kind == TextureKind::D3 { TextureKind::D3 } else { TextureKind::D2 };
        let (levels, slices) = (level..level + 1, slice..slice + 1);
        self.view(&TextureView { kind, levels, slices, ..self.whole() })
    }

    /// A view of everything, to be changed.
    pub fn whole(&self) -> TextureView {
        TextureView {
            format: self.descriptor.format,
            kind: self.descriptor.kind,
            levels: 0..self.descriptor.levels,
            slices: 0..self.descriptor.slices(),
            swizzle: IDENTITY,
        }
    }

    /// The texels of the first level, slice after slice and row after row without gaps, once submitted work
    /// is done with them.
    pub fn read<T: Pod>(&self) -> Result<Vec<T>, Error> {
        let mut bytes = Vec::new();
        for slice in 0..self.slices_of(0) {
            bytes.extend(self.read_slice::<u8>(0, slice)?);
        }
        elements_of(&bytes)
    }

    /// Overwrites the texels of the first level, slice after slice and row after row without gaps, once
    /// submitted work is done with them.
    pub fn write<T: Pod>(&self, texels: &[T]) -> Result<(), Error> {
        let bytes: &[u8] = bytemuck::cast_slice(texels);
        let slices = self.slices_of(0);
        let of_slice = self.packed_slice_bytes(0)?;
        check_texel_bytes(bytes.len(), of_slice * slices as usize)?;
        for (slice, bytes) in (0..slices).zip(bytes.chunks(of_slice)) {
            self.write_slice(0, slice, bytes)?;
        }
        Ok(())
    }

    /// As [`Texture::read`], of one slice of a level: an element of an array, a face of a cube, a plane of
    /// depth.
    pub fn read_slice<T: Pod>(&self, level: u32, slice: u32) -> Result<Vec<T>, Error> {
        let (place, offset) = self.place(level, slice)?;
        let row = place.packed_row_bytes as usize;
        let mut bytes = vec![0; row * place.extent[1] as usize];
        if place.row_bytes == place.packed_row_bytes {
            self.storage.read_into(offset, &mut bytes)?;
        } else {
            for (y, bytes) in bytes.chunks_mut(row).enumerate() {
                self.storage.read_into(offset + y * place.row_bytes as usize, bytes)?;
            }
        }
        elements_of(&bytes)
    }

    /// As [`Texture::write`], of one slice of a level.
    pub fn write_slice<T: Pod>(&self, level: u32, slice: u32, texels: &[T]) -> Result<(), Error> {
        let bytes: &[u8] = bytemuck::cast_slice(texels);
        let (place, offset) = self.place(level, slice)?;
        check_texel_bytes(bytes.len(), self.packed_slice_bytes(level)?)?;
        if place.row_bytes == place.packed_row_bytes {
            return self.storage.write_at(offset, bytes);
        }
        for (y, bytes) in bytes.chunks(place.packed_row_bytes as usize).enumerate() {
            self.storage.write_at(offset + y * place.row_bytes as usize, bytes)?;
        }
        Ok(())
    }

    /// What kernels read of it.
    pub(crate) fn description(&self) -> Description {
        let swizzle = self.swizzle.map(|channel| channel as u8);
        self.layout.describe(&self.descriptor, self.first_level, self.first_slice, swizzle)
    }

    /// Its texels, to be bound: from the first slice of the first level on.
    pub(crate) fn texels(&self) -> &BufferSlice {
        &self.texels
    }

    /// A slice of a level, and where it is in the buffer.
    fn place(&self, level: u32, slice: u32) -> Result<(LevelLayout, usize), Error> {
        if level >= self.descriptor.levels || slice >= self.slices_of(level) {
            return Err(TextureError::NoSuchPlace { level, slice }.into());
        }
        let (place, offset) = self.layout.slice(self.first_level + level, self.first_slice + slice)?;
        Ok((place, self.start + offset as usize))
    }

    fn slices_of(&self, level: u32) -> u32 {
        slices_at(&self.descriptor, level)
    }

    fn packed_slice_bytes(&self, level: u32) -> Result<usize, Error> {
        let (place, _) = self.place(level, 0)?;
        Ok((place.packed_row_bytes * u64::from(place.extent[1])) as usize)
    }
}

/// Whether a texture of that shape fits what a kernel declares at `[[texture(index)]]`.
pub(crate) fn check_argument(
    shape: &TextureDescriptor,
    kernel: &str,
    index: u32,
    argument: &ArgumentInfo,
) -> Result<(), TextureError> {
    let TextureDescriptor { kind, format, .. } = *shape;
    if TextureType::parse(&argument.type_name).is_some_and(|declared| declared.takes(kind, format)) {
        return Ok(());
    }
    Err(TextureError::WrongType {
        kernel: kernel.to_owned(),
        index,
        name: argument.name.clone(),
        expected: argument.type_name.clone(),
        got: format!("{kind} texture of {format}"),
    })
}

/// The slices of a level, planes of depth included.
pub fn slices_at(shape: &TextureDescriptor, level: u32) -> u32 {
    shape.slices() * shape.extent(level)[2]
}

/// Whether texels have as many bytes as they must.
pub fn check_texel_bytes(got: usize, needs: usize) -> Result<(), Error> {
    if got == needs {
        return Ok(());
    }
    Err(TextureError::TexelCount { needs: needs as u64, got: got as u64 }.into())
}

/// Bytes as elements, of which the bytes must be a whole number.
pub fn elements_of<T: Pod>(bytes: &[u8]) -> Result<Vec<T>, Error> {
    let size = size_of::<T>();
    if size == 0 || !bytes.len().is_multiple_of(size) {
        let needs = bytes.len().next_multiple_of(size.max(1)) as u64;
        return Err(TextureError::TexelCount { needs, got: bytes.len() as u64 }.into());
    }
    let mut elements = vec![T::zeroed(); bytes.len() / size];
    bytemuck::cast_slice_mut(&mut elements).copy_from_slice(bytes);
    Ok(elements)
}

impl fmt::Debug for Texture {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TextureDescriptor { kind, format, width, height, depth, .. } = self.descriptor;
        write!(formatter, "Texture({kind}, {format}, {width} x {height} x {depth})")?;
        let label = self.storage.label();
        if label.is_empty() { Ok(()) } else { write!(formatter, " `{label}`") }
    }
}
