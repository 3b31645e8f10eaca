//! `MTLBinding`: an argument of a kernel, as reflection tells it.

use anymetal::reflection::{Access, ArgumentInfo, ArgumentKind};
use anymetal::texture::BindingRole;
use anymetal::texture::TextureType;
use objc2::Message;
use objc2::rc::Retained;
use objc2::runtime::{AnyObject, NSObject};

use super::argument_encoder::ArgumentEncoder;
use super::data_type;
use super::library::Function;
use super::pixel_format::number_of_kind;
use crate::foundation::NSString;

/// The instance variables of a binding.
#[derive(Debug)]
pub(crate) struct BindingIvars {
    argument: ArgumentInfo,
    name: String,
    /// The kernel.
    function: Retained<Function>,
    /// Elements of an array of textures or samplers; 1 otherwise.
    array_length: usize,
}

define_class!(
    // SAFETY: `NSObject` asks nothing of those below it.
    #[unsafe(super(NSObject))]
    #[name = "AnymetalBinding"]
    #[ivars = BindingIvars]
    #[derive(Debug)]
    pub(crate) struct Binding;

    impl Binding {
        #[unsafe(method_id(name))]
        fn name(&self) -> Retained<NSString> {
            NSString::of(&self.ivars().name)
        }

        #[unsafe(method(type))]
        fn binding_type(&self) -> isize {
            match (self.argument().kind, self.argument().role()) {
                (
                    ArgumentKind::Buffer,
                    BindingRole::Buffer
                    | BindingRole::Log
                    | BindingRole::LogCommand
                    | BindingRole::EncodedCommands(_)
                    | BindingRole::ResourceTable
                    | BindingRole::TensorShape(_)
                    | BindingRole::StageInRegion,
                ) => {
                    // `MTLBindingTypeVisibleFunctionTable`
                    if self.argument().is_function_table() { 24 } else { 0 }
                }
                (ArgumentKind::ThreadgroupMemory, _) => 1,
                (_, BindingRole::Texels(_) | BindingRole::Description(_)) | (ArgumentKind::Texture, _) => 2,
                (_, BindingRole::Sampler(_)) | (ArgumentKind::Sampler, _) => 3,
            }
        }

        #[unsafe(method(access))]
        fn access(&self) -> usize {
            match self.argument().access {
                Access::Read => 0,
                Access::ReadWrite => 1,
                Access::Write => 2,
            }
        }

        #[unsafe(method(index))]
        fn index(&self) -> usize {
            let argument = self.argument();
            match argument.role() {
                BindingRole::Texels(index) | BindingRole::Description(index) | BindingRole::Sampler(index) => {
                    index as usize
                }
                BindingRole::Buffer
                | BindingRole::Log
                | BindingRole::LogCommand
                | BindingRole::EncodedCommands(_)
                | BindingRole::ResourceTable
                | BindingRole::TensorShape(_)
                | BindingRole::StageInRegion => argument.index as usize,
            }
        }

        #[unsafe(method(isUsed))]
        fn is_used(&self) -> bool {
            self.argument().enabled
        }

        #[unsafe(method(isActive))]
        fn is_active(&self) -> bool {
            self.argument().enabled
        }

        #[unsafe(method(isArgument))]
        fn is_argument(&self) -> bool {
            true
        }

        #[unsafe(method(arrayLength))]
        fn array_length(&self) -> usize {
            self.ivars().array_length
        }

        #[unsafe(method(textureType))]
        fn texture_type(&self) -> usize {
            self.declared().map_or(0, |declared| number_of_kind(declared.kind))
        }

        #[unsafe(method(textureDataType))]
        fn texture_data_type(&self) -> usize {
            let spelled = self.argument().type_name.split_once('<').map_or("", |(_, rest)| rest);
            data_type::number_of_component(spelled.split([',', '>']).next().unwrap_or_default().trim())
        }

        #[unsafe(method(isDepthTexture))]
        fn is_depth(&self) -> bool {
            self.declared().is_some_and(|declared| declared.is_depth)
        }

        #[unsafe(method(bufferAlignment))]
        fn buffer_alignment(&self) -> usize {
            self.argument().element_align as usize
        }

        #[unsafe(method(bufferDataSize))]
        fn buffer_size(&self) -> usize {
            self.argument().element_size as usize
        }

        #[unsafe(method(bufferDataType))]
        fn buffer_type(&self) -> usize {
            data_type::number_of(&self.argument().element)
        }

        #[unsafe(method(threadgroupMemoryAlignment))]
        fn threadgroup_alignment(&self) -> usize {
            self.argument().element_align as usize
        }

        #[unsafe(method(threadgroupMemoryDataSize))]
        fn threadgroup_size(&self) -> usize {
            self.argument().element_size as usize
        }
    }
);

impl Binding {
    /// An encoder for the structure that the buffer holds, for a method that makes one.
    pub(crate) fn encoder(&self, method: &str) -> Retained<ArgumentEncoder> {
        self.ivars().function.encoder(method, self.argument().index as usize)
    }

    fn argument(&self) -> &ArgumentInfo {
        &self.ivars().argument
    }

    fn declared(&self) -> Option<TextureType> {
        TextureType::parse(&self.argument().type_name)
    }
}

/// The objects for the arguments of a function, a kernel: one for an array of textures or samplers, and none
/// for what only kernels know of a texture.
pub(crate) fn objects_of(arguments: &[ArgumentInfo], function: &Function) -> Vec<Retained<AnyObject>> {
    let of_program = |argument: &&ArgumentInfo| {
        let is_first = element(argument).is_none_or(|(_, index)| index == 0);
        let is_there = argument.enabled || !argument.is_stage_in();
        is_first && is_there && !argument.role().is_hidden()
    };
    let object =
        |argument| Retained::into_super(Retained::into_super(object_of(argument, arguments, function)));
    arguments.iter().filter(of_program).map(object).collect()
}

fn object_of(argument: &ArgumentInfo, all: &[ArgumentInfo], function: &Function) -> Retained<Binding> {
    let name = element(argument).map_or(argument.name.as_str(), |(array, _)| array);
    let is_element = |other: &&ArgumentInfo| {
        let is_alike = std::mem::discriminant(&other.role()) == std::mem::discriminant(&argument.role());
        is_alike && element(other).is_some_and(|(array, _)| array == name)
    };
    let array_length = all.iter().filter(is_element).count().max(1);
    let (argument, name, function) = (argument.clone(), name.to_owned(), function.retain());
    crate::foundation::object(BindingIvars { argument, name, function, array_length })
}

/// The array and the index of an argument that is an element of one: `array[index]`.
fn element(argument: &ArgumentInfo) -> Option<(&str, usize)> {
    if argument.role() == BindingRole::Buffer {
        return None;
    }
    let (array, index) = argument.name.strip_suffix(']')?.split_once('[')?;
    Some((array, index.parse().ok()?))
}
