//! What the device's compiler tells of a kernel.
//!
//! The artifact's reflection is the front end's, with types and what is a reference, which Metal does not
//! tell. The device's pipeline has the last word on limits, on how arguments are used, and on arguments that
//! the front end does not know.

use anymetal_hal::artifact::{Access, AddressSpace, ArgumentInfo, ArgumentKind, ElementType, KernelInfo};
use anymetal_hal::launch::argument_slots;
use objc2::runtime::ProtocolObject;
use objc2::sel;
use objc2_metal::{
    MTLBinding, MTLBindingAccess, MTLBindingType, MTLComputePipelineReflection, MTLComputePipelineState,
};

use crate::object::has;

/// An argument as Metal tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeviceArgument {
    pub(crate) kind: ArgumentKind,
    pub(crate) index: u32,
    pub(crate) name: String,
    pub(crate) access: Access,
}

/// The arguments that the reflection tells, but for kinds that the hal does not have.
pub(crate) fn arguments(reflection: &MTLComputePipelineReflection) -> Vec<DeviceArgument> {
    let bindings = reflection.bindings();
    let used = bindings.iter().filter(|binding| binding.isUsed());
    used.filter_map(|binding| argument(&binding)).collect()
}

fn argument(binding: &ProtocolObject<dyn MTLBinding>) -> Option<DeviceArgument> {
    let kind = match binding.r#type() {
        MTLBindingType::Buffer => ArgumentKind::Buffer,
        MTLBindingType::ThreadgroupMemory => ArgumentKind::ThreadgroupMemory,
        MTLBindingType::Texture => ArgumentKind::Texture,
        MTLBindingType::Sampler => ArgumentKind::Sampler,
        _ => return None,
    };
    let access = match binding.access() {
        MTLBindingAccess::ReadOnly => Access::Read,
        MTLBindingAccess::WriteOnly => Access::Write,
        _ => Access::ReadWrite,
    };
    let index = u32::try_from(binding.index()).ok()?;
    Some(DeviceArgument { kind, index, name: binding.name().to_string(), access })
}

/// The artifact's reflection with what the device's compiler tells.
pub(crate) fn merged(
    known: &KernelInfo,
    state: &ProtocolObject<dyn MTLComputePipelineState>,
    told: &[DeviceArgument],
) -> KernelInfo {
    let mut info = known.clone();
    let limit = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
    info.max_threads_per_threadgroup = limit(state.maxTotalThreadsPerThreadgroup());
    info.simd_width = limit(state.threadExecutionWidth());
    info.threadgroup_static_bytes = state.staticThreadgroupMemoryLength() as u64;
    if has(state, sel!(requiredThreadsPerThreadgroup)) {
        let size = state.requiredThreadsPerThreadgroup();
        let size = [size.width, size.height, size.depth].map(limit);
        if size.iter().all(|&extent| extent > 0) {
            info.required_threads_per_threadgroup = Some(size);
        }
    }
    merge(&mut info, told);
    info
}

fn merge(info: &mut KernelInfo, told: &[DeviceArgument]) {
    for device in told {
        let is_it = |argument: &&mut ArgumentInfo| {
            argument.enabled && argument.kind == device.kind && argument.index == device.index
        };
        match info.arguments.iter_mut().find(is_it) {
            Some(argument) => argument.access = device.access,
            None => info.arguments.push(untyped(device)),
        }
    }
    let slots = argument_slots(info.arguments.iter().map(|argument| (argument.kind, argument.enabled)));
    let slots: Vec<u32> = slots.into_iter().map(Option::unwrap_or_default).collect();
    info.arguments.iter_mut().zip(slots).for_each(|(argument, slot)| argument.slot = slot);
}

/// An argument that only the device knows: bytes.
fn untyped(device: &DeviceArgument) -> ArgumentInfo {
    ArgumentInfo::new(device.kind, device.index, device.name.clone())
        .address_space(match device.kind {
            ArgumentKind::ThreadgroupMemory => AddressSpace::Threadgroup,
            ArgumentKind::Buffer | ArgumentKind::Texture | ArgumentKind::Sampler => AddressSpace::Device,
        })
        .access(device.access)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_adds_arguments_and_says_how_they_are_used() {
        let told = |kind, index, name: &str| DeviceArgument {
            kind,
            index,
            name: name.to_owned(),
            access: Access::Read,
        };
        let mut info = KernelInfo::new("k", "k");
        let first = DeviceArgument { access: Access::ReadWrite, ..told(ArgumentKind::Buffer, 2, "x") };
        info.arguments.push(untyped(&first).type_name("float"));
        let all = [
            told(ArgumentKind::Buffer, 2, "x"),
            told(ArgumentKind::ThreadgroupMemory, 0, "rows"),
            told(ArgumentKind::Buffer, 5, "y"),
        ];
        merge(&mut info, &all);
        let seen: Vec<(&str, u32, Access)> =
            info.arguments.iter().map(|a| (a.name.as_str(), a.slot, a.access)).collect();
        assert_eq!(seen, [("x", 0, Access::Read), ("rows", 0, Access::Read), ("y", 1, Access::Read)]);
        assert_eq!(info.arguments[0].type_name, "float", "the front end's types stay");
    }
}
