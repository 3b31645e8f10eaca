//! Textures and samplers of the command line: pictures, empty textures, sampler states.
//!
//! Owns [`Resources`]. Invariant: when [`bind`] succeeds, every texture and sampler of the kernel is given
//! exactly once, with a format that the kernel takes.

use anymetal::reflection::{Access, ArgumentInfo, KernelInfo};
use anymetal::texture::{AddressMode, BindingRole, Filter, MipFilter, TextureKind, TextureType};
use anymetal::{Device, SamplerDescriptor, Texture, TextureDescriptor};

use super::picture::Picture;
use super::spec::{ArgumentSpec, Spec};
use super::which::Which;
use crate::failure::Failure;

/// What is bound besides buffers.
#[derive(Debug, Default)]
pub(crate) struct Resources {
    pub(crate) textures: Vec<BoundTexture>,
    /// By Metal's index.
    pub(crate) samplers: Vec<(u32, SamplerDescriptor)>,
}

/// A texture argument with its texels before a launch.
#[derive(Debug)]
pub(crate) struct BoundTexture {
    /// The Metal index.
    pub(crate) index: u32,
    pub(crate) texture: Texture,
    texels: Vec<u8>,
    access: Access,
}

impl BoundTexture {
    /// Gives the texture its texels, before the first launch and where the last one may have changed them.
    pub(crate) fn fill(&self, is_first: bool) -> Result<(), Failure> {
        match is_first || self.access != Access::Read {
            true => Ok(self.texture.write(&self.texels)?),
            false => Ok(()),
        }
    }
}

/// The texture or sampler that a specification is for.
fn find<'k>(
    which: &Which,
    kernel: &'k KernelInfo,
    is_sampler: bool,
) -> Result<(&'k ArgumentInfo, u32), Failure> {
    let index_of = |argument: &ArgumentInfo| match argument.role() {
        BindingRole::Texels(index) if !is_sampler => Some(index),
        BindingRole::Sampler(index) if is_sampler => Some(index),
        _ => None,
    };
    let mut of_kind = kernel
        .arguments
        .iter()
        .filter(|argument| argument.enabled)
        .filter_map(|argument| index_of(argument).map(|index| (argument, index)));
    let found = of_kind.find(|(argument, index)| match which {
        Which::Index(wanted) => index == wanted,
        Which::Name(name) => argument.name == *name,
    });
    found.ok_or_else(|| {
        if let Some(failure) = which.other_use(kernel) {
            return failure;
        }
        let what = if is_sampler { "sampler" } else { "texture" };
        Failure::Input(format!("kernel `{}` has no {what} {which}", kernel.name))
    })
}

/// Makes the textures and samplers that the specifications are for.
pub(crate) fn bind(
    kernel: &KernelInfo,
    specs: &[ArgumentSpec],
    device: &Device,
) -> Result<Resources, Failure> {
    let mut bound = Resources::default();
    for ArgumentSpec { which, spec } in specs {
        if let Spec::Sampler(sampler) = spec {
            bound.samplers.push((find(which, kernel, true)?.1, *sampler));
        } else if spec.is_texture() {
            bound.textures.push(texture(which, spec, kernel, device)?);
        }
    }
    check_complete(kernel, &bound)?;
    Ok(bound)
}

fn texture(
    which: &Which,
    spec: &Spec,
    kernel: &KernelInfo,
    device: &Device,
) -> Result<BoundTexture, Failure> {
    let (argument, index) = find(which, kernel, false)?;
    let describe = |problem: String| {
        Failure::Input(format!("kernel `{}`: texture {index} `{}`: {problem}", kernel.name, argument.name))
    };
    let (format, width, height, texels) = match spec {
        Spec::Picture(path, format) => {
            let picture = Picture::read(path).map_err(describe)?;
            let format = format.unwrap_or(picture.natural);
            (format, picture.width, picture.height, picture.texels(format).map_err(describe)?)
        }
        Spec::Texture(format, width, height) => {
            let texels = u64::from(*width) * u64::from(*height) * u64::from(format.texel_bytes());
            (*format, *width, *height, vec![0; usize::try_from(texels).unwrap_or(usize::MAX)])
        }
        _ => {
            return Err(describe(
                "it is a texture: give a picture or texture:FORMAT:WIDTHxHEIGHT".to_owned(),
            ));
        }
    };
    let declared = TextureType::parse(&argument.type_name);
    if !declared.is_some_and(|declared| declared.takes(TextureKind::D2, format)) {
        let type_name = &argument.type_name;
        return Err(describe(format!(
            "it is a `{type_name}`, which a picture of {format} cannot be bound to"
        )));
    }
    let texture = device.texture(&TextureDescriptor::plane(format, width, height))?;
    Ok(BoundTexture { index, texture, texels, access: argument.access })
}

fn check_complete(kernel: &KernelInfo, bound: &Resources) -> Result<(), Failure> {
    for argument in kernel.arguments.iter().filter(|argument| argument.enabled) {
        let (what, index, times) = match argument.role() {
            BindingRole::Texels(index) => {
                ("texture", index, bound.textures.iter().filter(|bound| bound.index == index).count())
            }
            BindingRole::Sampler(index) => {
                ("sampler", index, bound.samplers.iter().filter(|(bound, _)| *bound == index).count())
            }
            BindingRole::Buffer
            | BindingRole::Description(_)
            | BindingRole::Log
            | BindingRole::LogCommand
            | BindingRole::EncodedCommands(_)
            | BindingRole::ResourceTable
            | BindingRole::TensorShape(_)
            | BindingRole::StageInRegion => continue,
        };
        let problem = match (times, what) {
            (1, _) => continue,
            (0, "texture") => "is missing; --arg gives it picture.png or texture:FORMAT:WIDTHxHEIGHT",
            (0, _) => "is missing; --arg gives it sampler:WORD[,WORD…]",
            _ => "is given twice",
        };
        let (name, type_name) = (&argument.name, &argument.type_name);
        return Err(Failure::Input(format!(
            "kernel `{}`: {what} {index} `{name}` (`{type_name}`) {problem}",
            kernel.name
        )));
    }
    Ok(())
}

/// The textures of a kernel that are to be saved as pictures.
pub(crate) fn find_bound<'b>(
    which: &Which,
    kernel: &KernelInfo,
    bound: &'b Resources,
) -> Result<&'b Texture, Failure> {
    let (_, index) = find(which, kernel, false)?;
    let found = bound.textures.iter().find(|bound| bound.index == index);
    found
        .map(|bound| &bound.texture)
        .ok_or_else(|| Failure::Input(format!("nothing is bound to texture {index}")))
}

/// Parses `sampler:WORD[,WORD…]`.
pub(crate) fn parse_sampler(words: &str) -> Result<SamplerDescriptor, String> {
    let mut sampler = SamplerDescriptor::default();
    for word in words.split(',').filter(|word| !word.is_empty()) {
        sampler = match word {
            "nearest" => sampler.with_filter(Filter::Nearest),
            "linear" => sampler.with_filter(Filter::Linear),
            "mip_nearest" => sampler.mip_filter(MipFilter::Nearest),
            "mip_linear" => sampler.mip_filter(MipFilter::Linear),
            "pixel" => sampler.pixel_coordinates(true),
            "normalized" => sampler.pixel_coordinates(false),
            "clamp_to_edge" => sampler.with_address(AddressMode::ClampToEdge),
            "clamp_to_zero" => sampler.with_address(AddressMode::ClampToZero),
            "repeat" => sampler.with_address(AddressMode::Repeat),
            "mirrored_repeat" => sampler.with_address(AddressMode::MirrorRepeat),
            "clamp_to_border" => sampler.with_address(AddressMode::ClampToBorder),
            _ => {
                return Err(format!(
                    "`{word}` says nothing of a sampler; there are nearest, linear, mip_nearest, mip_linear, pixel, \
                     normalized, clamp_to_edge, clamp_to_zero, repeat, mirrored_repeat and clamp_to_border"
                ));
            }
        };
    }
    Ok(sampler)
}
