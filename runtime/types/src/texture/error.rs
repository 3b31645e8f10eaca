//! Why a texture is refused.

use super::{PixelFormat, TextureKind};

/// Why a texture cannot be made, or not be bound to an argument.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextureError {
    /// An extent that is 0 or beyond the limit.
    #[error("a {kind} texture has a {dimension} of 1 to {limit}, not {got}")]
    Extent {
        /// The texture's kind.
        kind: TextureKind,
        /// "width", "height", "depth" or "number of slices".
        dimension: &'static str,
        /// The extent given.
        got: u32,
        /// The largest.
        limit: u32,
    },
    /// A cube whose faces are no squares.
    #[error("the faces of a cube are squares, not {width} by {height}")]
    CubeNotSquare {
        /// The width given.
        width: u32,
        /// The height given.
        height: u32,
    },
    /// More mip levels than the extents have, or none.
    #[error("the texture has 1 to {limit} mip levels, not {got}")]
    Levels {
        /// The number given.
        got: u32,
        /// The largest number.
        limit: u32,
    },
    /// A row of that many bytes does not hold the texels, or does not keep them aligned.
    #[error("rows of {got} bytes: {needs} are needed, a multiple of the {texel_bytes} bytes of a texel")]
    RowBytes {
        /// The bytes given.
        got: u64,
        /// The least.
        needs: u64,
        /// Bytes of a texel.
        texel_bytes: u32,
    },
    /// Memory that is too short for the texels.
    #[error("the texture needs {needs} bytes, but there are {got}")]
    TooShort {
        /// The bytes needed.
        needs: u64,
        /// The bytes given.
        got: u64,
    },
    /// Texels that are more or fewer than there are places.
    #[error("{needs} bytes of texels are needed, but {got} were given")]
    TexelCount {
        /// The bytes needed.
        needs: u64,
        /// The bytes given.
        got: u64,
    },
    /// A format that cannot be filtered.
    #[error("a texture of format {format} has integers, which are not filtered")]
    NotFilterable {
        /// The format.
        format: PixelFormat,
    },
    /// A level or slice that the texture does not have.
    #[error("the texture has no level {level} with a slice {slice}")]
    NoSuchPlace {
        /// The level asked for.
        level: u32,
        /// The slice asked for.
        slice: u32,
    },
    /// A box of texels that is not within its level.
    #[error("the texels from {origin:?}, {size:?} of them, are not within level {level} of {extent:?}")]
    PartOutside {
        /// The first texel.
        origin: [u32; 3],
        /// Texels along x, y and z.
        size: [u32; 3],
        /// The level.
        level: u32,
        /// The level's extent.
        extent: [u32; 3],
    },
    /// A view with a format of another size.
    #[error("a texture of format {from} has no view of format {to}: its texels have another size")]
    ViewFormat {
        /// The texture's format.
        from: PixelFormat,
        /// The format asked for.
        to: PixelFormat,
    },
    /// The kernel declares another kind of texture, or values that the format does not have.
    #[error(
        "kernel `{kernel}`: texture {index} `{name}` is a `{expected}`, which a {got} cannot be bound to"
    )]
    WrongType {
        /// The kernel.
        kernel: String,
        /// The index of `[[texture(index)]]`.
        index: u32,
        /// The argument's name.
        name: String,
        /// Its type.
        expected: String,
        /// The texture given.
        got: String,
    },
    /// The kernel has no such texture or sampler.
    #[error("kernel `{kernel}` has no {what} {index}; it has {existing}")]
    NoSuchArgument {
        /// The kernel.
        kernel: String,
        /// "texture" or "sampler".
        what: &'static str,
        /// The index given.
        index: u32,
        /// Those that there are.
        existing: String,
    },
}
