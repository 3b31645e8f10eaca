//! Reflection: what a kernel takes, out of its IR, in the artifact's vocabulary.
//!
//! Invariant: the slots are those of [`argument_slots`], by which both the code generator's entry and the
//! interpreter's executor find the arguments.

use anymetal_analysis::{loads_pointers, observes_threadgroups, walk_insts};
use anymetal_codegen::cpu::argument_slots;
use anymetal_hal::artifact::{
    Access, AddressSpace, ArgumentInfo, ArgumentKind, ElementType, FunctionConstantInfo, KernelInfo,
    MAX_THREADS_PER_THREADGROUP, ScalarType, StageInputInfo,
};
use anymetal_ir::{self as ir, Kernel, Module};
use anymetal_opt::{SpecialiseError, extract_kernel, specialise};
use anymetal_simd::lane_order::leading_axis;
use anymetal_types::texture::BindingRole;

use crate::access::MemoryUse;
use crate::constants::describe;

/// The name of a kernel's entry in its object.
pub(crate) const ENTRY_SYMBOL: &str = "anymetal_kernel";

/// Reflects a kernel of the module. What code generation decides (scratch, symbols) is left at its defaults.
pub(crate) fn reflect(module: &Module, kernel: &Kernel, constants: Vec<FunctionConstantInfo>) -> KernelInfo {
    let mut info = KernelInfo::new(kernel.name.clone(), ENTRY_SYMBOL);
    let (slots, uses) = (argument_slots(kernel), MemoryUse::of(module, kernel));
    info.arguments = kernel
        .args
        .iter()
        .zip(slots)
        // A disabled argument has no slot.
        .map(|(argument, slot)| reflect_argument(argument, slot.unwrap_or(0)))
        .collect();
    assert_eq!(info.arguments.len(), kernel.args.len(), "an argument of {} has no slot entry", kernel.name);
    for (place, argument) in info.arguments.iter_mut().enumerate() {
        argument.access = access(argument, uses.may_store_to(kernel, place), uses.only_writes(place));
    }
    info.overwritten = uses.overwritten(kernel);
    info.function_constants = constants;
    info.logs.clone_from(&kernel.logs);
    info.thread_attributes = kernel.thread_attributes.clone();
    info.stage_inputs = kernel.stage_inputs.iter().map(stage_input).collect();
    info.threadgroup_static_bytes = static_threadgroup_bytes(module);
    info.loads_pointers = loads_pointers(module, kernel);
    info.grid_barriers = has_grid_barrier(module, kernel);
    info.threadgroup_reserve = module.threadgroup_reserve;
    info.leading_axis = leading_axis(module.function(kernel.function));
    info.threadgroup_agnostic = !observes_threadgroups(module, kernel);
    let most = kernel.max_threads.unwrap_or(MAX_THREADS_PER_THREADGROUP);
    info.max_threads_per_threadgroup = most.clamp(1, MAX_THREADS_PER_THREADGROUP);
    info.required_threads_per_threadgroup = kernel.required_threads;
    info
}

/// How a kernel uses an argument: written if a store can reach it, whatever the declaration says. The
/// declared access of a texture is part of its type and is only exceeded.
fn access(argument: &ArgumentInfo, stores: bool, only_writes: bool) -> Access {
    match (argument.access, stores) {
        (_, true) if only_writes => Access::Write,
        (Access::Write, true) => Access::Write,
        (_, true) => Access::ReadWrite,
        (_, false) if argument.kind == ArgumentKind::Buffer && argument.role() == BindingRole::Buffer => {
            Access::Read
        }
        (declared, false) => declared,
    }
}

pub(crate) fn stage_input(input: &ir::StageInput) -> StageInputInfo {
    let (attribute, name) = (input.attribute, input.name.clone());
    let element = match input.element {
        ir::ElementType::Scalar { scalar, signed } => ElementType::Scalar(scalar_type(scalar, signed)),
        ir::ElementType::Vector { scalar, signed, count } => {
            ElementType::Vector(scalar_type(scalar, signed), count)
        }
        ir::ElementType::Aggregate => ElementType::Other,
    };
    StageInputInfo::new(attribute, name, element)
}

fn reflect_argument(argument: &ir::KernelArg, slot: u32) -> ArgumentInfo {
    ArgumentInfo::new(
        match argument.kind {
            ir::ArgKind::Buffer => ArgumentKind::Buffer,
            ir::ArgKind::ThreadgroupMemory => ArgumentKind::ThreadgroupMemory,
        },
        argument.index,
        argument.name.clone(),
    )
    .address_space(address_space(argument.space))
    .type_name(argument.type_name.clone())
    .element(element(argument))
    .element_size(argument.element_size)
    .element_align(argument.element_align.into())
    .min_bytes(if argument.reference { argument.element_size } else { 0 })
    .is_reference(argument.reference)
    .access(match argument.access {
        ir::Access::Read => Access::Read,
        ir::Access::Write => Access::Write,
        ir::Access::ReadWrite => Access::ReadWrite,
    })
    .enabled(argument.enabled)
    .slot(slot)
}

/// Thread memory has no arguments; it counts as device memory.
pub(crate) fn address_space(space: ir::Space) -> AddressSpace {
    match space {
        ir::Space::Constant => AddressSpace::Constant,
        ir::Space::Threadgroup => AddressSpace::Threadgroup,
        ir::Space::Device | ir::Space::Thread => AddressSpace::Device,
    }
}

fn element(argument: &ir::KernelArg) -> ElementType {
    match argument.element {
        ir::ElementType::Scalar { scalar, signed } => ElementType::Scalar(scalar_type(scalar, signed)),
        ir::ElementType::Vector { scalar, signed, count } => {
            ElementType::Vector(scalar_type(scalar, signed), count)
        }
        ir::ElementType::Aggregate if is_struct(&argument.type_name) => {
            ElementType::Struct(argument.type_name.clone())
        }
        ir::ElementType::Aggregate => ElementType::Other,
    }
}

/// Whether the spelling is that of a structure rather than of a matrix, an array or a pointer.
fn is_struct(type_name: &str) -> bool {
    let base = type_name.rsplit("::").next().expect("a text has a last part");
    let matrix = ["float", "half", "bfloat"].iter().any(|scalar| {
        base.strip_prefix(scalar).is_some_and(|shape| {
            let shape = shape.as_bytes();
            shape.len() == 3 && shape[0].is_ascii_digit() && shape[1] == b'x' && shape[2].is_ascii_digit()
        })
    });
    !matrix && !type_name.contains(['[', '*'])
}

/// The hal's type for a scalar of the IR, whose integers carry no sign.
pub(crate) fn scalar_type(scalar: ir::Scalar, signed: bool) -> ScalarType {
    match (scalar, signed) {
        (ir::Scalar::Bool, _) => ScalarType::Bool,
        (ir::Scalar::I8, true) => ScalarType::I8,
        (ir::Scalar::I8, false) => ScalarType::U8,
        (ir::Scalar::I16, true) => ScalarType::I16,
        (ir::Scalar::I16, false) => ScalarType::U16,
        (ir::Scalar::I32, true) => ScalarType::I32,
        (ir::Scalar::I32, false) => ScalarType::U32,
        (ir::Scalar::I64, true) => ScalarType::I64,
        (ir::Scalar::I64, false) => ScalarType::U64,
        (ir::Scalar::F16, _) => ScalarType::F16,
        (ir::Scalar::Bf16, _) => ScalarType::BF16,
        (ir::Scalar::F32, _) => ScalarType::F32,
    }
}

/// Whether the kernel, or a function that it calls, has a barrier of the grid.
fn has_grid_barrier(module: &Module, kernel: &Kernel) -> bool {
    let mut reached = vec![kernel.function];
    let (mut next, mut found) = (0, false);
    while let Some(&id) = reached.get(next) {
        next += 1;
        let function = module.function(id);
        walk_insts(function, function.body, &mut |inst| match &function.inst(inst).op {
            ir::Op::Call(callee, _) if !reached.contains(callee) => reached.push(*callee),
            op => found |= op.is_grid_barrier(),
        });
    }
    found
}

/// The bytes that the module's threadgroup variables take, one after the other.
pub(crate) fn static_threadgroup_bytes(module: &Module) -> u64 {
    module.threadgroup_vars.iter().fold(0u64, |end, variable| {
        let align = u64::from(variable.align.max(1));
        end.div_ceil(align).saturating_mul(align).saturating_add(variable.size)
    })
}

/// The function constants of the module, with those marked that this kernel cannot do without.
pub(crate) fn function_constants(module: &Module, kernel: &str) -> Vec<FunctionConstantInfo> {
    if module.function_constants.iter().all(ir::FunctionConstant::is_hidden) {
        return Vec::new();
    }
    let required = match extract_kernel(module, kernel).map(|mut copy| specialise(&mut copy, &[])) {
        Some(Err(SpecialiseError::MissingConstants(missing))) => missing,
        // Errors of the code itself are those of the compile; there is nothing to be given for them.
        Some(Ok(()) | Err(_)) => Vec::new(),
        None => unreachable!("the module for kernel `{kernel}` has no such kernel"),
    };
    let is_required = |constant: &ir::FunctionConstant| {
        required.iter().any(|missing| missing.name == constant.name && missing.index == constant.index)
    };
    let of_program = module.function_constants.iter().filter(|constant| constant.is_listed());
    let mut infos: Vec<FunctionConstantInfo> =
        of_program.map(|constant| describe(constant, is_required(constant))).collect();
    infos.sort_by_key(|info| info.index);
    infos
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_matrices_and_arrays_are_distinguished() {
        for name in ["Params", "ns::float4", "float3x", "metal::complex"] {
            assert!(is_struct(name), "{name}");
        }
        for name in ["float4x4", "metal::half2x3", "float[4]", "device float*"] {
            assert!(!is_struct(name), "{name}");
        }
    }

    #[test]
    fn threadgroup_variables_are_laid_out_with_their_alignment() {
        let variable = |size, align| ir::ThreadgroupVar { name: String::new(), size, align };
        let module = Module {
            threadgroup_vars: vec![variable(3, 1), variable(16, 16), variable(4, 4)],
            ..Module::default()
        };
        assert_eq!(static_threadgroup_bytes(&module), 36);
    }
}
