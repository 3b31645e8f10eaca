//! Textures whose contents follow the work from device to device.
//!
//! Owns [`ManagedTexture`]: the texels of a texture in a [`Memory`], as a buffer's bytes. Invariant: where
//! texels are is one layout, the same on all devices, and what kernels are told of it goes with each launch.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use anymetal::Error;
use anymetal::argument::ArgumentTarget;
use anymetal::error::DeviceError;
use anymetal::texture::{TextureDescriptor, TextureLayout};
use anymetal_types::texture::{Description, LevelLayout};
use bytemuck::Pod;

use super::buffer::{Bound, ManagedArgument, ManagedBinding, overwrite, read_bytes, turn};
use super::core::Core;
use super::error::ManagerError;
use super::host_bytes::HostBytes;
use super::memory::{Durability, Memory};
use anymetal::call::{check_texel_bytes, elements_of, slices_at};

/// A texture that every device of a manager can use, for [`super::ManagedLaunch::texture`]. Clones are the
/// same texture.
///
/// The contents are where they were last written, and are copied to the device that runs when an execution
/// needs them there, all levels and slices together. See [`Durability`] for what a loss of a device means for
/// them.
///
/// ```
/// # fn main() -> Result<(), anymetal_service::ManagerError> {
/// use anymetal::{PixelFormat, TextureDescriptor};
/// use anymetal_service::Manager;
///
/// let manager = Manager::system()?;
/// let source = "#include <metal_stdlib>
///               using namespace metal;
///               kernel void invert(texture2d<float> in [[texture(0)]],
///                                  texture2d<float, access::write> out [[texture(1)]],
///                                  uint2 at [[thread_position_in_grid]]) {
///                   out.write(1 - in.read(at), at);
///               }";
/// let invert = manager.kernel(source, "invert")?;
/// let shape = TextureDescriptor::plane(PixelFormat::R8Unorm, 3, 2);
/// let (from, to) = (manager.texture(&shape)?, manager.texture(&shape)?);
/// from.write(&[0u8, 1, 2, 253, 254, 255])?;
/// manager.launch(&invert).texture(0, &from).texture(1, &to).threads((3, 2)).execute()?;
/// assert_eq!(to.read::<u8>()?, [255, 254, 253, 2, 1, 0]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ManagedTexture {
    core: Arc<Core>,
    texels: Texels,
    descriptor: TextureDescriptor,
    layout: Arc<TextureLayout>,
}

impl ManagedTexture {
    /// All bytes are zero.
    pub(super) fn new(
        core: &Arc<Core>,
        descriptor: &TextureDescriptor,
        label: &str,
        durability: Durability,
    ) -> Result<Self, Error> {
        let layout = TextureLayout::new(descriptor)?;
        if isize::try_from(layout.bytes()).is_err() {
            return Err(Error::TooManyElements { count: usize::MAX, element_size: 1 });
        }
        let memory = Memory::new(core, layout.bytes(), label.to_owned(), durability, HostBytes::Zeros);
        let (core, layout) = (Arc::clone(core), Arc::new(layout));
        Ok(ManagedTexture { core, texels: Texels(memory), descriptor: *descriptor, layout })
    }

    /// Its shape.
    pub fn descriptor(&self) -> &TextureDescriptor {
        &self.descriptor
    }

    /// Its name for messages and listings; may be empty.
    pub fn label(&self) -> &str {
        self.memory().label()
    }

    /// How its host copy is kept.
    pub fn durability(&self) -> Durability {
        self.memory().durability()
    }

    /// The texels of the first level, slice after slice and row after row without gaps, once executions that
    /// write them have ended.
    ///
    /// # Errors
    /// A type whose size does not divide the texels' bytes; contents that were lost; the device's own.
    pub fn read<T: Pod>(&self) -> Result<Vec<T>, ManagerError> {
        self.read_slices(0, 0..slices_at(&self.descriptor, 0))
    }

    /// As [`ManagedTexture::read`], of one slice of a level: an element of an array, a face of a cube, a
    /// plane of depth.
    ///
    /// # Errors
    /// A level or slice that it does not have, and those of [`ManagedTexture::read`].
    pub fn read_slice<T: Pod>(&self, level: u32, slice: u32) -> Result<Vec<T>, ManagerError> {
        self.read_slices(level, slice..slice.saturating_add(1))
    }

    fn read_slices<T: Pod>(&self, level: u32, slices: Range<u32>) -> Result<Vec<T>, ManagerError> {
        let (_, start) = self.place(level, slices.start)?;
        let (last, offset) = self.place(level, slices.end - 1)?;
        let _turn = turn(&self.core, self.memory(), false);
        let bytes = read_bytes(&self.core, self.memory(), start..offset + last.slice_bytes)?;
        Ok(self.packed(&bytes, start, level, slices)?)
    }

    /// Overwrites the texels of the first level, slice after slice and row after row without gaps, in turn
    /// with executions that use them. A texture of one level whose contents were lost is whole again.
    ///
    /// # Errors
    /// Not as many bytes as the level has; for a texture with more levels, contents that were lost.
    pub fn write<T: Pod>(&self, texels: &[T]) -> Result<(), ManagerError> {
        self.write_slices(0, 0..slices_at(&self.descriptor, 0), texels)
    }

    /// As [`ManagedTexture::write`], of one slice of a level.
    ///
    /// # Errors
    /// A level or slice that it does not have; not as many bytes as the slice has; contents that were lost.
    pub fn write_slice<T: Pod>(&self, level: u32, slice: u32, texels: &[T]) -> Result<(), ManagerError> {
        self.write_slices(level, slice..slice.saturating_add(1), texels)
    }

    fn write_slices<T: Pod>(&self, level: u32, slices: Range<u32>, texels: &[T]) -> Result<(), ManagerError> {
        let packed: &[u8] = bytemuck::cast_slice(texels);
        let (place, _) = self.place(level, slices.start)?;
        let of_slice = (place.packed_row_bytes * u64::from(place.extent[1])) as usize;
        check_texel_bytes(packed.len(), of_slice * slices.len())?;
        let is_whole = self.descriptor.levels == 1 && slices == (0..slices_at(&self.descriptor, 0));
        let _turn = turn(&self.core, self.memory(), true);
        let mut all = match is_whole {
            true => vec![0; self.memory().length() as usize],
            false => read_bytes(&self.core, self.memory(), 0..self.memory().length())?,
        };
        for (slice, packed) in slices.zip(packed.chunks(of_slice)) {
            for (row, packed) in self.rows(level, slice)?.zip(packed.chunks(place.packed_row_bytes as usize))
            {
                all[row].copy_from_slice(packed);
            }
        }
        overwrite(&self.core, self.memory(), 0, &all)
    }

    /// Says that the contents are no longer needed: all bytes are zero, nothing is moved for the next
    /// execution, and a loss of the device that had them is none of this texture's.
    pub fn discard(&self) {
        let _turn = turn(&self.core, self.memory(), true);
        self.memory().replace(HostBytes::Zeros);
    }

    /// The texels of the first level in all bytes of the texture.
    pub(super) fn texels_of<T: Pod>(&self, bytes: &[u8]) -> Result<Vec<T>, Error> {
        self.packed(bytes, 0, 0, 0..slices_at(&self.descriptor, 0))
    }

    /// The texels of slices of a level without gaps, in bytes of the texture from `start` on.
    fn packed<T: Pod>(
        &self,
        bytes: &[u8],
        start: u64,
        level: u32,
        slices: Range<u32>,
    ) -> Result<Vec<T>, Error> {
        let mut packed = Vec::new();
        for slice in slices {
            for row in self.rows(level, slice)? {
                packed.extend(&bytes[row.start - start as usize..row.end - start as usize]);
            }
        }
        elements_of(&packed)
    }

    pub(super) fn memory(&self) -> &Arc<Memory> {
        let Texels(memory) = &self.texels;
        memory
    }

    /// What kernels read of it.
    pub(crate) fn description(&self) -> Description {
        self.layout.describe(&self.descriptor, 0, 0, [0, 1, 2, 3])
    }

    /// Its texels, to be bound.
    pub(crate) fn texels(&self) -> &Texels {
        &self.texels
    }

    fn place(&self, level: u32, slice: u32) -> Result<(LevelLayout, u64), Error> {
        Ok(self.layout.slice(level, slice)?)
    }

    /// Where the rows of a slice are among the texture's bytes.
    fn rows(&self, level: u32, slice: u32) -> Result<impl Iterator<Item = Range<usize>> + use<>, Error> {
        let (place, offset) = self.place(level, slice)?;
        Ok((0..u64::from(place.extent[1])).map(move |y| {
            let start = offset + place.row_bytes * y;
            start as usize..(start + place.packed_row_bytes) as usize
        }))
    }
}

/// The texels of a texture as an argument.
#[derive(Clone)]
pub(crate) struct Texels(Arc<Memory>);

impl ManagedArgument for Texels {
    fn bind_managed(&self, _target: ArgumentTarget<'_>) -> Result<ManagedBinding, DeviceError> {
        let Texels(memory) = self;
        Ok(ManagedBinding { bound: Bound::Memory(Arc::clone(memory), 0..memory.length()) })
    }
}

impl fmt::Debug for ManagedTexture {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TextureDescriptor { kind, format, width, height, depth, .. } = self.descriptor;
        write!(formatter, "ManagedTexture({kind}, {format}, {width} x {height} x {depth})")?;
        let label = self.label();
        if label.is_empty() { Ok(()) } else { write!(formatter, " `{label}`") }
    }
}
