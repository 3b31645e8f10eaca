//! Textures, samplers, tensors and tables of visible functions: what the host binds for them, and what the
//! body gets ([`super::textures`] for textures).
//!
//! Invariant: that has the layout of the texture header's `__lib_texture` and `sampler`.

use super::Lowerer;
use super::kernel::Conditions;
use super::textures::Records;
use crate::hir::{self, KernelParamKind, ResourceKind};
use anymetal_abi::functions::ENTRY_BYTES;
use anymetal_abi::tensors::shape_bytes;
use anymetal_abi::textures::{BindingRole, DESCRIPTION_BYTES, SAMPLER_BYTES, state_constant};
use anymetal_ir as ir;

/// A parameter that is a texture or sampler, or an array of them.
pub(super) struct Resource {
    pub(super) kind: ResourceKind,
    /// The first index; `None` where function constants specify it.
    pub(super) index: Option<u32>,
    pub(super) count: u32,
    /// The function that says whether it is declared.
    pub(super) enabled: Option<ir::FuncId>,
}

/// What the entry has for parameters; each takes its own from the iterators.
pub(super) struct Bound<'b> {
    pub(super) textures: Option<Records>,
    /// The functions that say whether resources are declared, of those that have one.
    pub(super) conditions: &'b mut dyn Iterator<Item = ir::FuncId>,
    /// The parameters of the entry, one for each argument.
    pub(super) pointers: &'b mut dyn Iterator<Item = ir::Value>,
}

impl Bound<'_> {
    pub(super) fn pointer(&mut self) -> ir::Value {
        self.pointers.next().expect("one IR parameter per pointer")
    }
}

impl Lowerer<'_> {
    /// The bindings of a parameter, those of each element of an array in turn.
    pub(super) fn resource_arguments(&mut self, param: &hir::KernelParam) -> Vec<ir::KernelArg> {
        let KernelParamKind::Resource { kind, binding, count, element } = &param.kind else {
            unreachable!("{} is not a resource", param.name.as_str())
        };
        let conditions = self.conditions(param, binding);
        let Conditions { index_by, enabled_by } = conditions;
        self.resource_conditions.extend(enabled_by);
        let index = binding.index;
        let type_name = self.types().display(*element);
        let mut arguments = Vec::new();
        for n in 0..*count {
            let name = match count {
                1 => param.name.as_str().to_owned(),
                _ => format!("{}[{n}]", param.name.as_str()),
            };
            let argument = |role: BindingRole, space, bytes: u64, align, access| ir::KernelArg {
                name: name.clone(),
                kind: ir::ArgKind::Buffer,
                index: role.index().expect("no program's buffer"),
                index_by,
                space,
                type_name: type_name.clone(),
                element: ir::ElementType::Aggregate,
                element_size: bytes,
                element_align: align,
                reference: space == ir::Space::Constant,
                access,
                enabled_by,
                enabled: true,
            };
            let (constant, read) = (ir::Space::Constant, ir::Access::Read);
            match *kind {
                ResourceKind::Texture(access) => {
                    let (texels, description) =
                        (BindingRole::Texels(index + n), BindingRole::Description(index + n));
                    arguments.push(argument(texels, ir::Space::Device, 1, 1, access));
                    arguments.push(argument(description, constant, DESCRIPTION_BYTES as u64, 8, read));
                }
                ResourceKind::Sampler => {
                    let role = BindingRole::Sampler(index + n);
                    arguments.push(argument(role, constant, SAMPLER_BYTES as u64, 4, read));
                }
                ResourceKind::Tensor(tensor) => {
                    let shape = shape_bytes(tensor.rank as usize) as u64;
                    arguments.push(self.pointer_argument(&name, index + n, tensor.element, conditions));
                    arguments.push(argument(BindingRole::TensorShape(index + n), constant, shape, 8, read));
                }
                ResourceKind::FunctionTable => arguments.push(ir::KernelArg {
                    name: name.clone(),
                    kind: ir::ArgKind::Buffer,
                    index: index + n,
                    index_by,
                    space: ir::Space::Device,
                    type_name: type_name.clone(),
                    element: ir::ElementType::Scalar { scalar: ir::Scalar::I64, signed: false },
                    element_size: ENTRY_BYTES,
                    element_align: ENTRY_BYTES as u32,
                    reference: false,
                    access: read,
                    enabled_by,
                    enabled: true,
                }),
            }
        }
        arguments
    }

    /// The address of the body's copy of a resource's handles, or of a structure of resources.
    pub(super) fn resource_value(
        &mut self,
        b: &mut ir::Builder<'_>,
        param: &hir::KernelParam,
        bound: &mut Bound<'_>,
    ) -> ir::Value {
        let layout = self.types().layout(param.ty);
        let local = b.func.add_local("", layout.size, layout.align);
        b.push(ir::Op::LocalStart(local));
        let value = b.local_addr(local);
        self.store_argument(b, param, value, bound);
        value
    }

    /// Writes what the body gets of an argument to `to`.
    fn store_argument(
        &mut self,
        b: &mut ir::Builder<'_>,
        param: &hir::KernelParam,
        to: ir::Value,
        bound: &mut Bound<'_>,
    ) {
        match &param.kind {
            KernelParamKind::Buffer { .. } | KernelParamKind::ThreadgroupMemory { .. } => {
                let pointer = bound.pointer();
                b.store(to, pointer, 8);
            }
            KernelParamKind::Structure { members } => {
                for (offset, member) in members {
                    let at = b.ptr_offset(to, *offset as i64);
                    self.store_argument(b, member, at, bound);
                }
            }
            KernelParamKind::Resource { kind, binding, count, .. } => {
                let index = binding.index_by.is_none().then_some(binding.index);
                let enabled = binding.enabled.as_ref().and_then(|_| bound.conditions.next());
                let resource = Resource { kind: *kind, index, count: *count, enabled };
                self.store_resource(b, &resource, to, bound);
            }
            KernelParamKind::StageIn { .. } | KernelParamKind::Thread { .. } => {
                unreachable!("`{}` is not bound by the host", param.name.as_str())
            }
        }
    }

    /// Writes the handles of a resource to `handles`.
    fn store_resource(
        &mut self,
        b: &mut ir::Builder<'_>,
        resource: &Resource,
        handles: ir::Value,
        bound: &mut Bound<'_>,
    ) {
        match resource.kind {
            ResourceKind::Texture(_) => self.texture_arguments(b, resource, handles, bound),
            ResourceKind::FunctionTable => {
                for n in 0..resource.count {
                    let handle = b.ptr_offset(handles, i64::from(n) * 8);
                    b.store(handle, bound.pointer(), 8);
                }
            }
            ResourceKind::Sampler => self.sampler_arguments(b, resource, handles, bound),
            ResourceKind::Tensor(tensor) => {
                let (elements, shape) = (bound.pointer(), bound.pointer());
                b.store(handles, elements, 8);
                match resource.enabled {
                    None => copy_shape(b, handles, shape, &tensor),
                    Some(condition) => {
                        let enabled = b.value(ir::Op::Call(condition, Vec::new()), ir::Type::BOOL);
                        b.if_else(enabled, |b| copy_shape(b, handles, shape, &tensor), |_| {});
                    }
                }
            }
        }
    }

    fn sampler_arguments(
        &mut self,
        b: &mut ir::Builder<'_>,
        resource: &Resource,
        handles: ir::Value,
        bound: &mut Bound<'_>,
    ) {
        for n in 0..resource.count {
            let handle = b.ptr_offset(handles, i64::from(n) * SAMPLER_BYTES as i64);
            let constant = |index: u32| self.hidden_constant(state_constant(index + n), ir::Scalar::I32);
            let known = resource.index.map(constant);
            let given = bound.pointer();
            match resource.enabled {
                None => copy_sampler(b, handle, given, known),
                Some(condition) => {
                    let enabled = b.value(ir::Op::Call(condition, Vec::new()), ir::Type::BOOL);
                    let zero = |b: &mut ir::Builder<'_>| {
                        b.mem_zero(handle, SAMPLER_BYTES as u64, 4);
                    };
                    b.if_else(enabled, |b| copy_sampler(b, handle, given, known), zero);
                }
            }
        }
    }

    /// A function constant of the compiler's own.
    pub(super) fn hidden_constant(&mut self, index: u32, ty: ir::Scalar) -> ir::FunctionConstantId {
        let constant = ir::FunctionConstant {
            name: format!("(constant {index})"),
            index,
            ty,
            signed: false,
            lane: 0,
            lanes: 1,
        };
        self.module.function_constants.push(constant);
        ir::FunctionConstantId(self.module.function_constants.len() as u32 - 1)
    }
}

/// Copies the extents and strides of a tensor into its record, in the type that they have there.
fn copy_shape(b: &mut ir::Builder<'_>, record: ir::Value, shape: ir::Value, tensor: &hir::TensorParam) {
    let rank = i64::from(tensor.rank);
    let scalar = ir::Scalar::from(tensor.index);
    let bytes = i64::from(scalar.bits() / 8);
    for n in 0..2 * rank {
        let from = b.ptr_offset(shape, n * 8);
        let given = b.load(from, ir::Type::Scalar(ir::Scalar::I64), 8);
        let value = match scalar {
            ir::Scalar::I64 => given,
            narrow => b.cast(ir::CastOp::Trunc, given, ir::Type::Scalar(narrow)),
        };
        let table = if n < rank { tensor.extents_at } else { tensor.strides_at };
        let to = b.ptr_offset(record, table as i64 + n % rank * bytes);
        b.store(to, value, bytes as u32);
    }
}

/// Copies a sampler into its handle, its state that of the constant if that is known.
fn copy_sampler(
    b: &mut ir::Builder<'_>,
    handle: ir::Value,
    bound: ir::Value,
    known: Option<ir::FunctionConstantId>,
) {
    let word = ir::Type::Scalar(ir::Scalar::I32);
    let given = b.load(bound, word, 4);
    let state = match known {
        Some(known) => {
            let known = b.value(ir::Op::FunctionConstant(known), word);
            let zero = b.i32(0);
            let is_known = b.compare(ir::CmpOp::Ne, known, zero);
            b.infer(ir::Op::Select(is_known, known, given))
        }
        None => given,
    };
    b.store(handle, state, 4);
    let from = b.ptr_offset(bound, 4);
    let levels = b.load(from, word, 4);
    let to = b.ptr_offset(handle, 4);
    b.store(to, levels, 4);
}
