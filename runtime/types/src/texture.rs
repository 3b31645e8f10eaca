//! Textures and samplers: formats, shapes, where texels are in memory, what kernels declare.
//!
//! Owns [`PixelFormat`], [`TextureDescriptor`] with its [`TextureLayout`], [`SamplerDescriptor`] and
//! [`TextureType`]. Invariant: texels are stored in rows, so that a texture is a range of a buffer and no
//! device has to know more than buffers; what kernels read of it is a
//! [`Description`](anymetal_abi::textures::Description).

mod error;
mod format;
mod gpu_resource_id;
mod layout;
mod sampler;
#[cfg(test)]
mod tests;
mod texture_type;

pub use anymetal_abi::textures::{
    BindingRole, ChannelKind, Description, FormatWord, MAX_LEVELS, MAX_SAMPLERS, MAX_TEXTURES, SamplerState,
    format_constant, state_constant,
};
pub use error::TextureError;
pub use format::PixelFormat;
pub use gpu_resource_id::GpuResourceId;
pub use layout::{LevelLayout, TextureDescriptor, TextureKind, TextureLayout};
pub use sampler::{AddressMode, BorderColor, CompareFunction, Filter, MipFilter, SamplerDescriptor};
pub use texture_type::{Component, TextureType};
