//! Parameters that are textures, samplers, tables of visible functions and tensors, or arrays of them.
//!
//! The Metal library declares their types as records of its own; a record is one of them by the name of its
//! first member, which programs cannot use.

use super::params::{Slot, Table};
use crate::ast;
use crate::hir::{KernelParamKind, QualTy, RecordId, ResourceKind, TensorParam, Ty, TyKind};
use crate::sema::checker::{Checker, TArg};
use crate::token::Name;
use anymetal_abi::tensors::MAX_RANK;
use anymetal_diagnostics::Span;
use anymetal_ir::{Access, Space};

/// The Metal library's type that says that the host has a tensor's memory.
const TENSOR_OF_THE_HOST: &str = "tensor_handle";

/// The type of a parameter that is a texture, sampler, function table or tensor.
pub(super) struct ResourceType {
    kind: ResourceKind,
    element: Ty,
    count: u32,
}

impl<'a> Checker<'a> {
    /// The texture or sampler, or the array of them, that a type is.
    pub(super) fn resource_type(&mut self, ty: QualTy, span: Span) -> Option<ResourceType> {
        let record = self.types.as_record(ty.ty)?;
        self.complete_type(ty.ty, span);
        if let Some(kind) = self.resource_kind(record) {
            return Some(ResourceType { kind, element: ty.ty, count: 1 });
        }
        let elements = self.types.record(record).fields.first()?;
        let (element, count) =
            self.types.as_array(elements.ty.ty).filter(|_| elements.name == self.names.array_elements)?;
        let kind = self.resource_kind(self.types.as_record(element)?)?;
        Some(ResourceType { kind, element, count: u32::try_from(count).ok()? })
    }

    fn resource_kind(&self, id: RecordId) -> Option<ResourceKind> {
        let first = self.types.record(id).fields.first()?.name;
        if first == self.names.function_table {
            return Some(ResourceKind::FunctionTable);
        }
        if first == self.names.sampler_state {
            return Some(ResourceKind::Sampler);
        }
        if first == self.names.tensor_elements {
            return self.tensor_param(id).map(ResourceKind::Tensor);
        }
        (first == self.names.texture_handle).then(|| ResourceKind::Texture(self.texture_access(id)))
    }

    /// What the second argument of a texture's type, an enumerator of the Metal library's `access`, lets a
    /// kernel do.
    fn texture_access(&self, id: RecordId) -> Access {
        let Some(TArg::Value(ty, value)) = self.records.get(id).args.get(1) else { return Access::Read };
        match self.enums.enumerator_name(&self.types, *ty, value).map(Name::as_str) {
            Some("read_write") => Access::ReadWrite,
            Some("write") => Access::Write,
            _ => Access::Read,
        }
    }

    /// What there is to know of the library's `tensor`, if its memory is the host's.
    fn tensor_param(&self, id: RecordId) -> Option<TensorParam> {
        let [elements, extents, strides] = &self.types.record(id).fields[..] else { return None };
        let Some(TArg::Type(descriptor)) = self.records.get(id).args.get(2) else { return None };
        if self.types.record(self.types.as_record(descriptor.ty)?).name != TENSOR_OF_THE_HOST {
            return None;
        }
        let element = self.types.pointee(elements.ty.ty)?;
        let lengths = self.types.record(self.types.as_record(extents.ty.ty)?).fields.first()?;
        let (index, rank) = self.types.as_array(lengths.ty.ty)?;
        Some(TensorParam {
            element,
            rank: u32::try_from(rank).ok()?,
            index: self.types.as_scalar(index)?,
            extents_at: extents.offset + lengths.offset,
            strides_at: strides.offset,
        })
    }

    /// Whether the host's memory for a type has a tensor in it, which it can only bind for itself.
    pub(super) fn has_tensor(&self, ty: Ty) -> bool {
        match *self.types.kind(ty) {
            TyKind::Array(elem, _) => self.has_tensor(elem),
            TyKind::Record(id) => {
                let fields = &self.types.record(id).fields;
                let is_tensor = fields.first().is_some_and(|field| field.name == self.names.tensor_elements);
                is_tensor || fields.iter().any(|field| self.has_tensor(field.ty.ty))
            }
            _ => false,
        }
    }

    pub(super) fn resource_param(
        &mut self,
        param: &'a ast::Param,
        resource: ResourceType,
        position: usize,
        slots: &mut Vec<Slot>,
    ) -> Option<KernelParamKind> {
        let ResourceType { kind, element, count } = resource;
        let table = match kind {
            ResourceKind::Sampler => Table::Sampler,
            ResourceKind::Texture(_) => Table::Texture,
            ResourceKind::FunctionTable | ResourceKind::Tensor(_) => Table::Buffer,
        };
        if let ResourceKind::Tensor(tensor) = kind
            && !self.is_bindable(&tensor, count, param.span)
        {
            return None;
        }
        let index = self.param_index(param, table)?;
        let enabled = self.param_condition(param)?;
        slots.push(Slot { param: position, index, table, count });
        Some(KernelParamKind::Resource { kind, index: 0, count, element, enabled })
    }
}

impl Checker<'_> {
    /// Whether the host can bind a parameter that is `count` tensors.
    fn is_bindable(&mut self, tensor: &TensorParam, count: u32, span: Span) -> bool {
        let problem = if count > 1 {
            "arrays of tensors that the host binds are not supported".to_owned()
        } else if tensor.rank as usize > MAX_RANK {
            format!("a tensor that the host binds has at most {MAX_RANK} dimensions")
        } else if !matches!(tensor.element.space, Space::Device | Space::Constant) {
            "the elements of a tensor that the host binds are in device or constant memory".to_owned()
        } else {
            return true;
        };
        self.error("unsupported-feature", span, problem);
        false
    }
}
