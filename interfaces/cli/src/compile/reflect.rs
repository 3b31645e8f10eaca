//! `--emit reflect`: what kernels take.

use anymetal::reflection::{
    Access, AddressSpace, ArgumentInfo, ArgumentKind, ElementType, FunctionConstantInfo, KernelInfo,
    StageInputInfo,
};
use anymetal::texture::BindingRole;
use anymetal_driver::Library;
use serde_json::{Value, json};

use super::CompileArgs;
use crate::failure::Failure;
use crate::output;

/// Reflects the kernels.
pub(crate) fn reflect(args: &CompileArgs, library: &Library, kernels: &[String]) -> Result<(), Failure> {
    let mut specialisation = args.source.specialisation();
    specialisation.ignore_unknown_constants = args.kernel.is_none();
    let reflect = |kernel: &String| {
        if specialisation.constants.is_empty() {
            library.reflect(kernel)
        } else {
            library.reflect_specialised(kernel, &specialisation)
        }
    };
    let infos: Vec<KernelInfo> = kernels.iter().map(reflect).collect::<Result<_, _>>()?;
    if args.json {
        return output::json(&to_json(&infos));
    }
    infos.iter().try_for_each(|info| output::write(&to_text(info)))
}

fn to_json(infos: &[KernelInfo]) -> Value {
    let mut constants: Vec<&FunctionConstantInfo> = Vec::new();
    for constant in infos.iter().flat_map(|info| &info.function_constants) {
        let same =
            |known: &&FunctionConstantInfo| known.index == constant.index && known.name == constant.name;
        if !constants.iter().any(same) {
            constants.push(constant);
        }
    }
    constants.sort_by_key(|constant| constant.index);
    json!({
        "kernels": infos.iter().map(kernel_json).collect::<Vec<Value>>(),
        "function_constants": constants.iter().map(|constant| constant_json(constant)).collect::<Vec<Value>>(),
    })
}

fn kernel_json(info: &KernelInfo) -> Value {
    json!({
        "name": info.name,
        "arguments": shown(info).map(argument_json).collect::<Vec<Value>>(),
        "function_constants": info.function_constants.iter().map(constant_json).collect::<Vec<Value>>(),
        "thread_attributes": info.thread_attributes,
        "stage_inputs": info.stage_inputs.iter().map(stage_input_json).collect::<Vec<_>>(),
        "threadgroup_static_bytes": info.threadgroup_static_bytes,
        "grid_barriers": info.grid_barriers,
        "max_threads_per_threadgroup": info.max_threads_per_threadgroup,
        "required_threads_per_threadgroup": info.required_threads_per_threadgroup,
        "simd_width": info.simd_width,
    })
}

/// The arguments as the source has them: a texture is one, not its texels and its description.
fn shown(info: &KernelInfo) -> impl Iterator<Item = &ArgumentInfo> {
    info.arguments.iter().filter(|argument| !argument.role().is_hidden() && !argument.is_stage_in())
}

/// The kind of an argument, and its index among those of the kind.
fn place(argument: &ArgumentInfo) -> (&'static str, u32) {
    match argument.role() {
        BindingRole::Texels(index) | BindingRole::Description(index) => ("texture", index),
        BindingRole::Sampler(index) => ("sampler", index),
        BindingRole::Buffer
        | BindingRole::Log
        | BindingRole::LogCommand
        | BindingRole::EncodedCommands(_)
        | BindingRole::ResourceTable
        | BindingRole::TensorShape(_)
        | BindingRole::StageInRegion => (kind(argument.kind), argument.index),
    }
}

fn argument_json(argument: &ArgumentInfo) -> Value {
    let (kind, index) = place(argument);
    json!({
        "index": index,
        "name": argument.name,
        "kind": kind,
        "address_space": address_space(argument.address_space),
        "type": argument.type_name,
        "scalar": element_scalar(&argument.element),
        "size": argument.element_size,
        "alignment": argument.element_align,
        "reference": argument.is_reference,
        "access": access(argument.access),
        "enabled": argument.enabled,
    })
}

fn stage_input_json(input: &StageInputInfo) -> Value {
    json!({ "attribute": input.attribute, "name": input.name, "type": input.type_name() })
}

fn constant_json(constant: &FunctionConstantInfo) -> Value {
    json!({
        "index": constant.index,
        "name": constant.name,
        "type": constant.type_name,
        "required": constant.required,
    })
}

fn to_text(info: &KernelInfo) -> String {
    let mut text = format!("kernel {}\n", info.name);
    for argument in shown(info) {
        if argument.role() != BindingRole::Buffer {
            text.push_str(&resource_text(argument));
            continue;
        }
        let pointer = if argument.is_reference { '&' } else { '*' };
        text.push_str(&format!(
            "  {}({}) {} {} {}{pointer}, {} bytes each, {}{}\n",
            kind(argument.kind),
            argument.index,
            argument.name,
            address_space(argument.address_space),
            argument.type_name,
            argument.element_size,
            access(argument.access),
            if argument.enabled { "" } else { ", disabled" },
        ));
    }
    for constant in &info.function_constants {
        let required = if constant.required { "required" } else { "optional" };
        text.push_str(&format!(
            "  function_constant({}) {} {}, {required}\n",
            constant.index, constant.name, constant.type_name
        ));
    }
    for input in &info.stage_inputs {
        let (number, name, type_name) = (input.attribute, &input.name, input.type_name());
        text.push_str(&format!("  attribute({number}) {name} {type_name}\n"));
    }
    for attribute in &info.thread_attributes {
        text.push_str(&format!("  [[{attribute}]]\n"));
    }
    text.push_str(&format!(
        "  threadgroup memory {} bytes, at most {} threads per threadgroup\n",
        info.threadgroup_static_bytes, info.max_threads_per_threadgroup
    ));
    if info.grid_barriers {
        text.push_str("  barriers of the grid: needs a cooperative launch\n");
    }
    text
}

/// The line of a texture or sampler.
fn resource_text(argument: &ArgumentInfo) -> String {
    let (kind, index) = place(argument);
    let disabled = if argument.enabled { "" } else { ", disabled" };
    format!("  {kind}({index}) {} {}{disabled}\n", argument.name, argument.type_name)
}

fn kind(kind: ArgumentKind) -> &'static str {
    match kind {
        ArgumentKind::Buffer => "buffer",
        ArgumentKind::ThreadgroupMemory => "threadgroup",
        ArgumentKind::Texture => "texture",
        ArgumentKind::Sampler => "sampler",
    }
}

fn address_space(space: AddressSpace) -> &'static str {
    match space {
        AddressSpace::Device => "device",
        AddressSpace::Constant => "constant",
        AddressSpace::Threadgroup => "threadgroup",
    }
}

fn access(access: Access) -> &'static str {
    match access {
        Access::Read => "read",
        Access::Write => "write",
        Access::ReadWrite => "read_write",
    }
}

/// The command line's name of the scalar that the element is made of, if it is.
fn element_scalar(element: &ElementType) -> Option<&'static str> {
    match element {
        ElementType::Scalar(kind) | ElementType::Vector(kind, _) => Some(kind.name()),
        ElementType::Struct(_) | ElementType::Other => None,
    }
}
