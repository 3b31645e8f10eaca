//! The textures and samplers that a compute encoder has bound.
//!
//! A dispatch of a kernel whose textures and samplers are not all bound is refused. Elements of arrays may
//! be missing: such a texture has no texels, so reads give zeros and writes are dropped.

use anymetal::argument::{InlineBytes, Unbound};
use anymetal::reflection::{Access, ArgumentInfo, KernelInfo};
use anymetal::texture::BindingRole;
use anymetal::{ComputeEncoder, SamplerDescriptor};
use objc2::Message;
use objc2::rc::Retained;

use super::sampler::{Sampler, lod_clamp};
use super::texture::Texture;
use super::texture_descriptor::{SHADER_READ, SHADER_WRITE};
use super::violation;

/// How many textures and samplers a kernel can have.
pub(crate) const MAX_TEXTURES: usize = anymetal::texture::MAX_TEXTURES as usize;
pub(crate) const MAX_SAMPLERS: usize = anymetal::texture::MAX_SAMPLERS as usize;

/// Textures and samplers by index.
#[derive(Debug, Clone, Default)]
pub(crate) struct TextureBindings {
    textures: Vec<Option<Retained<Texture>>>,
    samplers: Vec<Option<SamplerDescriptor>>,
}

/// The state of a sampler, with other limits of levels if there are some.
pub(crate) fn state_of(sampler: Option<&Sampler>, clamp: Option<[f32; 2]>) -> Option<SamplerDescriptor> {
    let state = sampler?.ivars().state;
    Some(match clamp {
        Some([least, largest]) => state.lod_clamp(lod_clamp(least, largest)),
        None => state,
    })
}

impl TextureBindings {
    /// Binds a texture at an index below [`MAX_TEXTURES`]; gives what was bound before, to be dropped
    /// outside of locks.
    pub(crate) fn set_texture(
        &mut self,
        index: usize,
        texture: Option<&Texture>,
    ) -> Option<Retained<Texture>> {
        put(&mut self.textures, index, texture.map(Message::retain))
    }

    /// Binds a sampler at an index below [`MAX_SAMPLERS`].
    pub(crate) fn set_sampler(&mut self, index: usize, sampler: Option<SamplerDescriptor>) {
        put(&mut self.samplers, index, sampler);
    }

    /// Checks that textures and samplers are there and may be used as the kernel does, for a method that
    /// dispatches.
    pub(crate) fn check(&self, method: &str, kernel: &KernelInfo) {
        for argument in kernel.arguments.iter().filter(|argument| argument.enabled) {
            let (what, index, is_bound) = match argument.role() {
                BindingRole::Texels(index) => ("texture", index, self.texture(index).is_some()),
                BindingRole::Sampler(index) => ("sampler", index, self.sampler(index).is_some()),
                BindingRole::Buffer
                | BindingRole::Description(_)
                | BindingRole::Log
                | BindingRole::LogCommand
                | BindingRole::EncodedCommands(_)
                | BindingRole::ResourceTable
                | BindingRole::TensorShape(_)
                | BindingRole::StageInRegion => continue,
            };
            if !is_bound && !is_element(argument) {
                violation(
                    method,
                    format_args!("the {what} `{}` is not bound at index {index}", argument.name),
                );
            }
            let usage =
                self.texture(index).filter(|_| what == "texture").map_or(0, |texture| texture.ivars().usage);
            let needs = match argument.access {
                Access::Read => SHADER_READ,
                Access::Write => SHADER_WRITE,
                Access::ReadWrite => SHADER_READ | SHADER_WRITE,
            };
            // 0 is `MTLTextureUsageUnknown`, which allows all.
            if usage != 0 && usage & needs != needs {
                let name = &argument.name;
                violation(
                    method,
                    format_args!("the usage {usage:#x} of texture {index} `{name}` lacks {needs:#x}"),
                );
            }
        }
    }

    /// Binds what a kernel takes.
    pub(crate) fn bind(&self, kernel: &KernelInfo, encoder: &mut ComputeEncoder<'_>) {
        for argument in kernel.arguments.iter().filter(|argument| argument.enabled) {
            let is_bound = match argument.role() {
                // A log, and what encoding needs, is bound when the work is given to the device.
                BindingRole::Buffer
                | BindingRole::Log
                | BindingRole::LogCommand
                | BindingRole::EncodedCommands(_)
                | BindingRole::ResourceTable
                | BindingRole::TensorShape(_)
                | BindingRole::StageInRegion => true,
                BindingRole::Texels(index) => self
                    .texture(index)
                    .map(|texture| encoder.set_texture(index, &texture.ivars().seen))
                    .is_some(),
                BindingRole::Description(index) => self.texture(index).is_some(),
                BindingRole::Sampler(index) => {
                    self.sampler(index).map(|sampler| encoder.set_sampler(index, sampler)).is_some()
                }
            };
            // Code loads what a reference names without a check, so there is memory: of no texels.
            match ZEROS.get(..argument.element_size as usize) {
                _ if is_bound => {}
                Some(zeros) if argument.is_reference => {
                    encoder.set_argument(argument.index, InlineBytes(zeros))
                }
                Some(_) | None => encoder.set_argument(argument.index, Unbound),
            }
        }
    }

    fn texture(&self, index: u32) -> Option<&Retained<Texture>> {
        self.textures.get(index as usize)?.as_ref()
    }

    fn sampler(&self, index: u32) -> Option<&SamplerDescriptor> {
        self.samplers.get(index as usize)?.as_ref()
    }
}

/// As many as the description of a texture has bytes, and more.
static ZEROS: [u8; 512] = [0; 512];

/// Whether it is an element of an array of textures or samplers: `array[index]`.
fn is_element(argument: &ArgumentInfo) -> bool {
    argument.name.ends_with(']')
}

fn put<T>(bound: &mut Vec<Option<T>>, index: usize, value: Option<T>) -> Option<T> {
    if bound.len() <= index {
        bound.resize_with(index + 1, || None);
    }
    std::mem::replace(&mut bound[index], value)
}

/// An index that a texture can have, for a method that takes it.
pub(crate) fn checked_texture(method: &str, index: usize) -> usize {
    checked(method, index, MAX_TEXTURES)
}

/// An index that a sampler can have, for a method that takes it.
pub(crate) fn checked_sampler(method: &str, index: usize) -> usize {
    checked(method, index, MAX_SAMPLERS)
}

fn checked(method: &str, index: usize, limit: usize) -> usize {
    if index >= limit {
        violation(method, format_args!("the index {index} is not below {limit}"));
    }
    index
}
