//! Plain data that every layer names: scalar types, pixel formats and layouts of textures, shapes of tensors,
//! families of GPUs and what each supports.
//!
//! Invariant: nothing here does input or output, or knows of a device.

#![forbid(unsafe_code)]

pub mod family;
pub mod scalar;
pub mod scalar_value;
mod setters;
pub mod tensor;
pub mod texture;
