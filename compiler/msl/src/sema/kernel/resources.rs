//! Parameters that are textures, samplers, tables of visible functions and tensors, or arrays of them.
//!
//! The Metal library declares their types as records of its own; a record is one of them by the name of its
//! first member, which programs cannot use.

use super::indices::{self, Indices, Table};
use crate::hir::{KernelParamKind, QualTy, RecordId, ResourceKind, TensorParam, Ty, TyKind, Types};
use crate::sema::checker::Checker;
use crate::sema::entities::TArg;
use crate::sema::enumeration::Enums;
use crate::sema::names::KnownNames;
use crate::sema::record;
use crate::sema::record::Records;
use crate::sema::stage::Attributed;
use crate::token::Name;
use anymetal_abi::tensors::MAX_RANK;
use anymetal_diagnostics::Span;
use anymetal_ir::{Access, Space};

/// The Metal library's type that says that the host has a tensor's memory.
const TENSOR_OF_THE_HOST: &str = "tensor_handle";

/// The type of a parameter that is a texture, sampler, function table or tensor.
#[derive(Debug)]
pub(in crate::sema) struct ResourceType {
    pub(in crate::sema) kind: ResourceKind,
    element: Ty,
    count: u32,
}

/// The texture or sampler, or the array of them, that a type is.
pub(in crate::sema) fn resource_type(cx: &mut Checker<'_>, ty: QualTy, span: Span) -> Option<ResourceType> {
    if let Some(record) = cx.types.as_record(ty.ty)
        && record::complete_type(cx, ty.ty, span)
        && let Some(kind) = resource_kind(cx, record)
    {
        return Some(ResourceType { kind, element: ty.ty, count: 1 });
    }
    let (element, count) = array_elements(&cx.types, &cx.names, ty.ty)?;
    let kind = resource_kind(cx, cx.types.as_record(element)?)?;
    Some(ResourceType { kind, element, count: u32::try_from(count).ok()? })
}

/// The type and the number of the elements of an array, the library's or the language's.
pub(super) fn array_elements(types: &Types, names: &KnownNames, ty: Ty) -> Option<(Ty, u64)> {
    let Some(record) = types.as_record(ty) else { return types.as_array(ty) };
    let elements = types.record(record).fields.first()?;
    types.as_array(elements.ty.ty).filter(|_| elements.name == names.array_elements)
}

/// The kind of resource that a complete class is.
pub(in crate::sema) fn resource_kind(cx: &Checker<'_>, id: RecordId) -> Option<ResourceKind> {
    let first = cx.types.record(id).fields.first()?.name;
    if first == cx.names.function_table {
        return Some(ResourceKind::FunctionTable);
    }
    if first == cx.names.sampler_state {
        return Some(ResourceKind::Sampler);
    }
    if first == cx.names.tensor_elements {
        return tensor_param(&cx.types, &cx.records, id).map(ResourceKind::Tensor);
    }
    (first == cx.names.texture_handle)
        .then(|| ResourceKind::Texture(texture_access(&cx.types, &cx.records, &cx.enums, id)))
}

/// What the second argument of a texture's type, an enumerator of the Metal library's `access`, lets a
/// kernel do.
fn texture_access(types: &Types, records: &Records<'_>, enums: &Enums<'_>, id: RecordId) -> Access {
    let Some(TArg::Value(ty, value)) = records.get(id).args.get(1) else { return Access::Read };
    match enums.enumerator_name(types, *ty, value).map(Name::as_str) {
        Some("read_write") => Access::ReadWrite,
        Some("write") => Access::Write,
        _ => Access::Read,
    }
}

/// What there is to know of the library's `tensor`, if its memory is the host's.
fn tensor_param(types: &Types, records: &Records<'_>, id: RecordId) -> Option<TensorParam> {
    let [elements, extents, strides] = &types.record(id).fields[..] else { return None };
    let Some(TArg::Type(descriptor)) = records.get(id).args.get(2) else { return None };
    if types.record(types.as_record(descriptor.ty)?).name != TENSOR_OF_THE_HOST {
        return None;
    }
    let element = types.pointee(elements.ty.ty)?;
    let lengths = types.record(types.as_record(extents.ty.ty)?).fields.first()?;
    let (index, rank) = types.as_array(lengths.ty.ty)?;
    Some(TensorParam {
        element,
        rank: u32::try_from(rank).ok()?,
        index: types.as_scalar(index)?,
        extents_at: extents.offset + lengths.offset,
        strides_at: strides.offset,
    })
}

/// Whether the host's memory for a type has a tensor in it, which it can only bind for itself.
pub(super) fn has_tensor(types: &Types, names: &KnownNames, ty: Ty) -> bool {
    match *types.kind(ty) {
        TyKind::Array(elem, _) => has_tensor(types, names, elem),
        TyKind::Record(id) => {
            let fields = &types.record(id).fields;
            let is_tensor = fields.first().is_some_and(|field| field.name == names.tensor_elements);
            is_tensor || fields.iter().any(|field| has_tensor(types, names, field.ty.ty))
        }
        _ => false,
    }
}

/// An argument that is a resource, or an array of resources.
pub(in crate::sema) fn resource_argument<'a>(
    cx: &mut Checker<'a>,
    param: &Attributed<'a>,
    resource: ResourceType,
    indices: &mut Indices,
) -> Option<KernelParamKind> {
    let ResourceType { kind, element, count } = resource;
    let table = match kind {
        ResourceKind::Sampler => Table::Sampler,
        ResourceKind::Texture(_) => Table::Texture,
        ResourceKind::FunctionTable | ResourceKind::Tensor(_) => Table::Buffer,
    };
    if let ResourceKind::Tensor(tensor) = kind
        && !is_bindable(cx, &tensor, count, param.span)
    {
        return None;
    }
    let binding = indices::argument_binding(cx, param, table, count, indices)?;
    Some(KernelParamKind::Resource { kind, binding, count, element })
}

/// Whether the host can bind a parameter that is `count` tensors.
fn is_bindable(cx: &mut Checker<'_>, tensor: &TensorParam, count: u32, span: Span) -> bool {
    let problem = if count > 1 {
        "arrays of tensors that the host binds are not supported".to_owned()
    } else if tensor.rank as usize > MAX_RANK {
        format!("a tensor that the host binds has at most {MAX_RANK} dimensions")
    } else if !matches!(tensor.element.space, Space::Device | Space::Constant) {
        "the elements of a tensor that the host binds are in device or constant memory".to_owned()
    } else {
        return true;
    };
    cx.unsupported(span, problem);
    false
}
