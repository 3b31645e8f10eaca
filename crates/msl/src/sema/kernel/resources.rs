//! Parameters that are textures, samplers and tables of visible functions, or arrays of them.
//!
//! The Metal library declares their types as records of its own; a record is one of them by the name of its
//! first member, which programs cannot use.

use super::params::{Slot, Table};
use crate::ast;
use crate::hir::{KernelParamKind, QualTy, RecordId, ResourceKind, Ty};
use crate::sema::checker::{Checker, TArg};
use crate::token::Name;
use anymetal_diag::Span;
use anymetal_ir::Access;

/// The type of a parameter that is a texture, sampler or function table.
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
        (first == self.names.texture_handle).then(|| ResourceKind::Texture(self.texture_access(id)))
    }

    /// What the second argument of a texture's type, an enumerator of the Metal library's `access`, lets a kernel
    /// do.
    fn texture_access(&self, id: RecordId) -> Access {
        let Some(TArg::Value(ty, value)) = self.record_inst(id).args.get(1) else { return Access::Read };
        match self.enumerator_name(*ty, value).map(Name::as_str) {
            Some("read_write") => Access::ReadWrite,
            Some("write") => Access::Write,
            _ => Access::Read,
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
            ResourceKind::FunctionTable => Table::Buffer,
        };
        let index = self.param_index(param, table)?;
        let enabled = self.param_condition(param)?;
        slots.push(Slot { param: position, index, table, count });
        Some(KernelParamKind::Resource { kind, index: 0, count, element, enabled })
    }
}
