//! Parameters of kernels: buffers, threadgroup memory, facts about the thread.
//!
//! Invariant: no two parameters of a kind share an index, unless function constants say which one exists.

use super::thread_attribute;
use crate::ast;
use crate::hir::{Expr, FuncId, KernelParam, KernelParamKind, QualTy, ScalarTy, TyKind};
use crate::sema::checker::Checker;
use crate::token::Name;
use anymetal_abi::textures::{MAX_SAMPLERS, MAX_TEXTURES};
use anymetal_diagnostics::{Diagnostic, Span};
use anymetal_ir::Space;

/// A parameter whose index may still have to be assigned.
pub(super) struct Slot {
    pub(super) param: usize,
    pub(super) index: Option<u32>,
    pub(super) table: Table,
    /// How many indices it takes.
    pub(super) count: u32,
}

/// Which indices: those of each kind of parameter are its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    Buffer,
    Threadgroup,
    Texture,
    Sampler,
}

impl Table {
    const ALL: [Table; 4] = [Table::Buffer, Table::Threadgroup, Table::Texture, Table::Sampler];

    /// The largest index.
    fn last(self) -> u32 {
        match self {
            Table::Buffer | Table::Threadgroup => 30,
            Table::Texture => MAX_TEXTURES - 1,
            Table::Sampler => MAX_SAMPLERS - 1,
        }
    }
}

impl<'a> Checker<'a> {
    /// The parameters of a kernel with their indices.
    pub(in crate::sema) fn kernel_params(&mut self, func: FuncId) -> Option<Vec<KernelParam>> {
        let decl = self.functions.inst(func).origin.decl()?;
        // A template that is declared first and defined later has its attributes where it is defined.
        let (ast, scope) = match self.find_definition(func, decl) {
            Some(definition) => (definition.ast, definition.scope),
            None => (self.functions.decl(decl).ast, self.functions.inst(func).scope),
        };
        let types = self.functions.inst(func).params.clone();
        let errors = self.diagnostics.error_count();
        let mut params = Vec::new();
        let mut slots = Vec::new();
        for (n, param) in ast.params.iter().enumerate() {
            let Some(&ty) = types.get(n) else { break };
            let kind = self.in_scope(scope, |s| s.kernel_param(param, ty, n, &mut slots));
            let repr = self.values().value_repr(ty);
            let name = param.name.unwrap_or(Name::EMPTY);
            if let Some(kind) = kind {
                params.push(KernelParam { name, ty: repr, kind, span: param.span });
            }
        }
        if self.diagnostics.error_count() > errors || params.len() != ast.params.len() {
            return None;
        }
        self.check_one_stage_in(&params);
        self.assign_indices(&slots, &mut params);
        (self.diagnostics.error_count() == errors).then_some(params)
    }

    fn kernel_param(
        &mut self,
        param: &'a ast::Param,
        ty: QualTy,
        position: usize,
        slots: &mut Vec<Slot>,
    ) -> Option<KernelParamKind> {
        if param.attributes.iter().any(|attribute| attribute.name == self.names.stage_in) {
            return self.stage_in_param(param, ty);
        }
        let pointee = match *self.types.kind(ty.ty) {
            TyKind::Pointer(to) => Some((to, false)),
            TyKind::Reference { to, .. } => Some((to, true)),
            _ => None,
        };
        let Some((element, is_reference)) = pointee else {
            return match self.resource_type(ty, param.span) {
                Some(resource) => self.resource_param(param, resource, position, slots),
                None => self.thread_param(param, ty),
            };
        };
        if !self.complete_type(element.ty, param.span) {
            return None;
        }
        if self.has_tensor(element.ty) {
            let message = "tensors in memory that kernels read (argument buffers) are not supported";
            self.error("unsupported-feature", param.span, message);
            return None;
        }
        let enabled = self.param_condition(param)?;
        let threadgroup = element.space == Space::Threadgroup;
        let table = if threadgroup { Table::Threadgroup } else { Table::Buffer };
        let index = self.param_index(param, table)?;
        let slot = Slot { param: position, index, table, count: 1 };
        match element.space {
            Space::Device | Space::Constant => {
                slots.push(slot);
                Some(KernelParamKind::Buffer { index: 0, element, is_reference, enabled })
            }
            Space::Threadgroup => {
                slots.push(slot);
                Some(KernelParamKind::ThreadgroupMemory { index: 0, element, is_reference, enabled })
            }
            Space::Thread => {
                let message = "a kernel's pointer must be to device, constant or threadgroup memory";
                self.error("kernel-parameter", param.span, message);
                None
            }
        }
    }

    /// The index that an attribute gives: `Some(None)` when there is none.
    pub(super) fn param_index(&mut self, param: &'a ast::Param, table: Table) -> Option<Option<u32>> {
        let name = match table {
            Table::Buffer => self.names.buffer,
            Table::Threadgroup => self.names.threadgroup,
            Table::Texture => self.names.texture,
            Table::Sampler => self.names.sampler,
        };
        match param.attributes.iter().find(|found| found.name == name) {
            Some(attribute) => Some(Some(self.attribute_index(attribute, table.last())?)),
            None => Some(None),
        }
    }

    pub(in crate::sema) fn attribute_index(
        &mut self,
        attribute: &'a ast::Attribute,
        last: u32,
    ) -> Option<u32> {
        let Some(arg) = attribute.args.first() else {
            self.error("attribute-argument", attribute.span, format!("`{}` takes an index", attribute.name));
            return None;
        };
        let value = self.expr(arg);
        let index = self.constant_integer(value)?;
        if !(0..=i128::from(last)).contains(&index) {
            let message = format!("an index is between 0 and {last}, not {index}");
            self.error("attribute-argument", arg.span, message);
            return None;
        }
        Some(index as u32)
    }

    /// The condition of `[[function_constant(c)]]`: `Some(None)` when there is none.
    pub(super) fn param_condition(&mut self, param: &'a ast::Param) -> Option<Option<Expr>> {
        let found = param.attributes.iter().find(|attribute| attribute.name == self.names.function_constant);
        let Some(attribute) = found else { return Some(None) };
        let Some(arg) = attribute.args.first() else {
            self.error(
                "attribute-argument",
                attribute.span,
                "`function_constant` takes the name of a constant",
            );
            return None;
        };
        let value = self.expr(arg);
        let value = self.condition(value);
        (!value.ty.ty.is_error()).then_some(Some(value))
    }

    fn thread_param(&mut self, param: &'a ast::Param, ty: QualTy) -> Option<KernelParamKind> {
        let known = param.attributes.iter().find_map(|attribute| thread_attribute(attribute.name.as_str()));
        let Some((attribute, query, components)) = known else {
            let name = param.name.map_or_else(String::new, |name| format!(" `{name}`"));
            let shown = self.show(ty);
            let message =
                format!("parameter{name} of type `{shown}` is neither a buffer nor has a thread attribute");
            let hint = "bind it as `constant T& name [[buffer(n)]]`, or add an attribute such as \
                        `[[thread_position_in_grid]]`";
            self.report(Diagnostic::error("kernel-parameter", param.span, message).with_hint(hint));
            return None;
        };
        let (elem, len) = self.thread_fact_type(attribute, components, ty, param.span)?;
        Some(KernelParamKind::Thread { query, elem, len, attribute })
    }

    /// The type of what tells a fact about the thread: a 16- or 32-bit integer, or a vector of some.
    pub(in crate::sema) fn thread_fact_type(
        &mut self,
        attribute: &str,
        components: u8,
        ty: QualTy,
        span: Span,
    ) -> Option<(ScalarTy, u8)> {
        let (elem, len) = match *self.types.kind(ty.ty) {
            TyKind::Scalar(elem) => (elem, 1),
            TyKind::Vector { elem, len, .. } => (elem, len),
            _ => (ScalarTy::F32, 1),
        };
        let fits = matches!(elem, ScalarTy::U16 | ScalarTy::U32 | ScalarTy::I16 | ScalarTy::I32)
            && len <= components;
        if !fits {
            let shown = self.show(ty);
            self.error("kernel-parameter", span, format!("`{attribute}` cannot have type `{shown}`"));
            return None;
        }
        Some((elem, len))
    }

    /// Gives each parameter without an index the lowest that no other one has, in order.
    fn assign_indices(&mut self, slots: &[Slot], params: &mut [KernelParam]) {
        for table in Table::ALL {
            let of_table = || slots.iter().filter(move |slot| slot.table == table);
            let mut used: Vec<u32> = Vec::new();
            for slot in of_table() {
                let Some(index) = slot.index else { continue };
                let taken = index..index + slot.count;
                let span = params[slot.param].span;
                if taken.end > table.last() + 1 {
                    let message =
                        format!("the last of its indices is {}, beyond {}", taken.end - 1, table.last());
                    self.error("attribute-argument", span, message);
                }
                // Parameters that exclude each other by function constants may share an index.
                let shared = used.iter().find(|used| taken.contains(used));
                if let Some(index) = shared.filter(|_| !is_conditional(&mut params[slot.param].kind)) {
                    self.error("duplicate-index", span, format!("index {index} is given to two parameters"));
                }
                used.extend(taken);
                set_index(&mut params[slot.param].kind, index);
            }
            for slot in of_table().filter(|slot| slot.index.is_none()) {
                let is_free = |&first: &u32| !(first..first + slot.count).any(|index| used.contains(&index));
                let first =
                    (0..=table.last()).find(is_free).filter(|first| first + slot.count <= table.last() + 1);
                let Some(first) = first else {
                    let span = params[slot.param].span;
                    self.error("attribute-argument", span, "no index is left for this parameter");
                    continue;
                };
                used.extend(first..first + slot.count);
                set_index(&mut params[slot.param].kind, first);
            }
        }
    }
}

fn is_conditional(kind: &mut KernelParamKind) -> bool {
    matches!(kind, KernelParamKind::StageIn { .. } | KernelParamKind::Thread { .. })
        || kind.enabled_mut().is_some()
}

fn set_index(kind: &mut KernelParamKind, value: u32) {
    match kind {
        KernelParamKind::Buffer { index, .. }
        | KernelParamKind::ThreadgroupMemory { index, .. }
        | KernelParamKind::Resource { index, .. } => *index = value,
        KernelParamKind::StageIn { .. } | KernelParamKind::Thread { .. } => {}
    }
}
