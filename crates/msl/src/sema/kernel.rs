//! Kernels: finding entry points, their parameters and attributes.

use super::checker::{Checker, FnDeclId};
use super::lookup::Found;
use super::table::{Entry, ItemId, Layer};
use super::template_args::ExplicitArg;
use crate::ast::{self, ExprKind as Ast, ItemKind};
use crate::hir::{
    DISPATCH_QUADGROUPS, Expr, FuncId, KernelParam, KernelParamKind, QualTy, ScalarTy, Ty, TyKind,
};
use crate::token::Name;
use anymetal_diag::Span;
use anymetal_ir::{Query, Space};

/// An entry point, before anything about it is checked.
#[derive(Clone, Debug)]
pub(super) struct Entrance {
    pub(super) name: String,
    pub(super) item: ItemId,
    pub(super) span: Span,
}

fn host_name(attributes: &[ast::Attribute]) -> Option<Name> {
    let attribute = attributes.iter().find(|attribute| attribute.name.as_str() == "host_name")?;
    match attribute.args.first()?.kind {
        Ast::Str(name) => Some(name),
        _ => None,
    }
}

/// The entry point an item declares, if any.
fn entrance(table: &Layer, id: ItemId, entry: &Entry) -> Option<Entrance> {
    match &entry.item.kind {
        ItemKind::Function(function)
            if function.specifiers.is_kernel && matches!(function.body, ast::FunctionBody::Block(_)) =>
        {
            // A kernel template is none, a full specialisation of one is when it has a host name.
            let host = host_name(&function.attributes);
            if entry.item.template.is_some()
                && (host.is_none() || !entry.item.template.as_ref()?.params.is_empty())
            {
                return None;
            }
            let ast::FunctionName::Name(name) = function.name else { return None };
            let name =
                host.map_or_else(|| format!("{}{name}", table.prefix(entry.ns)), |host| host.to_string());
            Some(Entrance { name, item: id, span: function.span })
        }
        ItemKind::ExplicitInstantiation(instantiation) if !instantiation.is_record => {
            let name = host_name(&instantiation.attributes)?;
            Some(Entrance { name: name.to_string(), item: id, span: entry.item.span })
        }
        _ => None,
    }
}

/// The entry points of a layer, in the order they are declared.
pub(super) fn entrances(table: &Layer) -> Vec<Entrance> {
    table.own_items().filter_map(|(id, entry)| entrance(table, id, entry)).collect()
}

/// Facts about the thread by attribute: the query and how many components it has.
fn thread_attribute(name: &str) -> Option<(&'static str, Query, u8)> {
    const ALL: &[(&str, Query, u8)] = &[
        ("thread_position_in_grid", Query::ThreadPositionInGrid(0), 3),
        ("thread_position_in_threadgroup", Query::ThreadPositionInThreadgroup(0), 3),
        ("threadgroup_position_in_grid", Query::ThreadgroupPositionInGrid(0), 3),
        ("threads_per_grid", Query::ThreadsPerGrid(0), 3),
        ("threads_per_threadgroup", Query::ThreadsPerThreadgroup(0), 3),
        ("dispatch_threads_per_threadgroup", Query::DispatchThreadsPerThreadgroup(0), 3),
        ("threadgroups_per_grid", Query::ThreadgroupsPerGrid(0), 3),
        ("thread_index_in_threadgroup", Query::ThreadIndexInThreadgroup, 1),
        ("thread_index_in_simdgroup", Query::ThreadIndexInSimdgroup, 1),
        ("simdgroup_index_in_threadgroup", Query::SimdgroupIndexInThreadgroup, 1),
        ("simdgroups_per_threadgroup", Query::SimdgroupsPerThreadgroup, 1),
        ("dispatch_simdgroups_per_threadgroup", Query::DispatchSimdgroupsPerThreadgroup, 1),
        ("threads_per_simdgroup", Query::ThreadsPerSimdgroup, 1),
        ("thread_execution_width", Query::ThreadsPerSimdgroup, 1),
        (DISPATCH_QUADGROUPS, Query::DispatchThreadsPerThreadgroup(0), 1),
        ("thread_index_in_quadgroup", Query::ThreadIndexInQuadgroup, 1),
        ("quadgroup_index_in_threadgroup", Query::QuadgroupIndexInThreadgroup, 1),
        ("quadgroups_per_threadgroup", Query::QuadgroupsPerThreadgroup, 1),
    ];
    ALL.iter().copied().find(|(known, ..)| *known == name)
}

/// Whether an attribute has to do with data that the host's stage-in descriptor describes.
fn is_stage_in(attribute: &ast::Attribute) -> bool {
    matches!(attribute.name.as_str(), "stage_in" | "grid_origin" | "grid_size")
}

/// Whether an attribute asks for a fact about the thread.
pub(super) fn is_thread_attribute(attribute: &ast::Attribute) -> bool {
    thread_attribute(attribute.name.as_str()).is_some()
}

/// A buffer or threadgroup parameter whose index may still have to be assigned.
struct Slot {
    param: usize,
    index: Option<u32>,
    threadgroup: bool,
}

impl<'a> Checker<'a> {
    /// The function behind an entry point.
    pub(super) fn kernel_function(&mut self, entrance: &Entrance) -> Option<FuncId> {
        let entry = self.entry(entrance.item);
        let scope = self.scope_of_item(entrance.item);
        match &entry.item.kind {
            ItemKind::Function(function) if entry.item.template.is_some() => {
                let ast::FunctionName::Name(name) = function.name else { return None };
                let found = self.in_scope(scope, |s| s.lookup(name));
                let Some(Found::Functions(decls)) = found else { return None };
                self.instantiated_by_signature(
                    &decls,
                    function.specialisation.as_deref(),
                    &function.params,
                    scope,
                    entrance.span,
                )
            }
            ItemKind::Function(function) => {
                let decl = self.fn_decl(function, None, scope, None, entry.math_mode);
                self.instantiate_function(decl, std::rc::Rc::from([]), function.span)
            }
            ItemKind::ExplicitInstantiation(instantiation) => {
                self.in_scope(scope, |s| s.instantiated(instantiation, scope))
            }
            _ => None,
        }
    }

    fn instantiated(
        &mut self,
        instantiation: &'a ast::ExplicitInstantiation,
        scope: super::checker::ScopeId,
    ) -> Option<FuncId> {
        let path = &instantiation.path;
        let target = match self.resolve_path(path) {
            Ok(target) => target,
            Err(miss) => {
                self.report_miss(miss, "template");
                return None;
            }
        };
        let Found::Functions(decls) = target.found else {
            if !matches!(target.found, Found::Error) {
                self.error("not-a-template", path.span, "this is not a function template");
            }
            return None;
        };
        let templates: Vec<FnDeclId> =
            decls.iter().copied().filter(|&decl| self.decl(decl).template.is_some()).collect();
        match &instantiation.params {
            Some(params) => self.instantiated_by_signature(&templates, target.args, params, scope, path.span),
            None => self.function_without_call(&templates, target.args, path.span),
        }
    }

    /// The instance that a written signature asks for.
    fn instantiated_by_signature(
        &mut self,
        decls: &[FnDeclId],
        args: Option<&'a [ast::TemplateArg]>,
        params: &'a [ast::Param],
        scope: super::checker::ScopeId,
        span: Span,
    ) -> Option<FuncId> {
        let errors = self.sink.error_count();
        let (explicit, types) = self.in_scope(scope, |s| {
            let explicit = args.map_or_else(Vec::new, |args| s.explicit_args(args));
            let types: Vec<QualTy> = params.iter().map(|param| s.resolve_param_type(&param.ty)).collect();
            (explicit, types)
        });
        if self.sink.error_count() > errors {
            return None;
        }
        let mut mismatch = None;
        for &decl in decls {
            match self.instance_of_signature(decl, explicit.clone(), &types, span) {
                Ok(func) => return Some(func),
                Err(found) => mismatch = mismatch.or(found),
            }
        }
        let mut diagnostic = anymetal_diag::Diagnostic::error(
            "no-matching-template",
            span,
            "no template has this signature with these arguments",
        );
        if let Some(func) = mismatch {
            diagnostic = diagnostic.with_note(self.inst(func).span, "this one's parameters differ");
        }
        self.report(diagnostic);
        None
    }

    fn instance_of_signature(
        &mut self,
        decl: FnDeclId,
        explicit: Vec<ExplicitArg<'a>>,
        types: &[QualTy],
        span: Span,
    ) -> Result<FuncId, Option<FuncId>> {
        if self.decl(decl).ast.params.len() != types.len() {
            return Err(None);
        }
        let args =
            self.quietly(|s| s.args_with_deduction(decl, explicit, types)).ok().flatten().ok_or(None)?;
        let func = self.quietly(|s| s.instantiate_function(decl, args, span)).ok().flatten().ok_or(None)?;
        // Top-level qualifiers of parameters do not matter.
        let same = self.inst(func).params.iter().zip(types).all(|(a, b)| a.ty == b.ty);
        if same { Ok(func) } else { Err(Some(func)) }
    }

    /// The parameters of a kernel with their indices.
    pub(super) fn kernel_params(&mut self, func: FuncId) -> Option<Vec<KernelParam>> {
        let super::function::Origin::Decl(decl) = self.inst(func).origin else { return None };
        // A template that is declared first and defined later has its attributes where it is defined.
        let (ast, scope) = match self.find_definition(func, decl) {
            Some(definition) => (definition.ast, definition.scope),
            None => (self.decl(decl).ast, self.inst(func).scope),
        };
        let types = self.inst(func).params.clone();
        let errors = self.sink.error_count();
        let mut params = Vec::new();
        let mut slots = Vec::new();
        for (n, param) in ast.params.iter().enumerate() {
            let Some(&ty) = types.get(n) else { break };
            let kind = self.in_scope(scope, |s| s.kernel_param(param, ty, n, &mut slots));
            let repr = self.value_repr(ty);
            let name = param.name.unwrap_or(Name::EMPTY);
            if let Some(kind) = kind {
                params.push(KernelParam { name, ty: repr, kind, span: param.span });
            }
        }
        if self.sink.error_count() > errors || params.len() != ast.params.len() {
            return None;
        }
        self.assign_indices(&slots, &mut params);
        (self.sink.error_count() == errors).then_some(params)
    }

    fn kernel_param(
        &mut self,
        param: &'a ast::Param,
        ty: QualTy,
        position: usize,
        slots: &mut Vec<Slot>,
    ) -> Option<KernelParamKind> {
        let pointee = match *self.types.kind(ty.ty) {
            TyKind::Pointer(to) => Some((to, false)),
            TyKind::Reference { to, .. } => Some((to, true)),
            _ => None,
        };
        let Some((element, is_reference)) = pointee else { return self.thread_param(param, ty) };
        if !self.complete_type(element.ty, param.span) {
            return None;
        }
        let enabled = self.param_condition(param)?;
        let threadgroup = element.space == Space::Threadgroup;
        let attribute = if threadgroup { self.names.threadgroup } else { self.names.buffer };
        let index = match param.attributes.iter().find(|found| found.name == attribute) {
            Some(attribute) => Some(self.attribute_index(attribute)?),
            None => None,
        };
        match element.space {
            Space::Device | Space::Constant => {
                slots.push(Slot { param: position, index, threadgroup: false });
                Some(KernelParamKind::Buffer { index: 0, element, is_reference, enabled })
            }
            Space::Threadgroup => {
                slots.push(Slot { param: position, index, threadgroup: true });
                Some(KernelParamKind::ThreadgroupMemory { index: 0, element, is_reference, enabled })
            }
            Space::Thread => {
                let message = "a kernel's pointer must be to device, constant or threadgroup memory";
                self.error("kernel-parameter", param.span, message);
                None
            }
        }
    }

    fn attribute_index(&mut self, attribute: &'a ast::Attribute) -> Option<u32> {
        let Some(arg) = attribute.args.first() else {
            self.error("attribute-argument", attribute.span, format!("`{}` takes an index", attribute.name));
            return None;
        };
        let value = self.expr(arg);
        let index = self.constant_integer(value)?;
        if !(0..=30).contains(&index) {
            self.error("attribute-argument", arg.span, format!("{index} is not between 0 and 30"));
            return None;
        }
        Some(index as u32)
    }

    /// The condition of `[[function_constant(c)]]`: `Some(None)` when there is none.
    fn param_condition(&mut self, param: &'a ast::Param) -> Option<Option<Expr>> {
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
            if let Some(stage_in) = param.attributes.iter().find(|attribute| is_stage_in(attribute)) {
                let message = format!("`{}`: stage-in data of kernels is not supported", stage_in.name);
                self.error("unsupported-feature", stage_in.span, message);
                return None;
            }
            let name = param.name.map_or_else(String::new, |name| format!(" `{name}`"));
            let shown = self.show(ty);
            let message =
                format!("parameter{name} of type `{shown}` is neither a buffer nor has a thread attribute");
            self.error("kernel-parameter", param.span, message);
            return None;
        };
        let (elem, len) = match *self.types.kind(ty.ty) {
            TyKind::Scalar(elem) => (elem, 1),
            TyKind::Vector { elem, len, .. } => (elem, len),
            _ => (ScalarTy::Float, 1),
        };
        let fits = matches!(elem, ScalarTy::U16 | ScalarTy::U32 | ScalarTy::I16 | ScalarTy::I32)
            && len <= components;
        if !fits {
            let shown = self.show(ty);
            self.error("kernel-parameter", param.span, format!("`{attribute}` cannot have type `{shown}`"));
            return None;
        }
        Some(KernelParamKind::Thread { query, elem, len, attribute })
    }

    /// Gives each parameter without an index the lowest that no other one has, in order.
    fn assign_indices(&mut self, slots: &[Slot], params: &mut [KernelParam]) {
        for threadgroup in [false, true] {
            let mut used: Vec<u32> = Vec::new();
            for slot in slots.iter().filter(|slot| slot.threadgroup == threadgroup) {
                let Some(index) = slot.index else { continue };
                // Parameters that exclude each other by function constants may share an index.
                if used.contains(&index) && !is_conditional(&params[slot.param].kind) {
                    let span = params[slot.param].span;
                    self.error("duplicate-index", span, format!("index {index} is given to two parameters"));
                }
                used.push(index);
                set_index(&mut params[slot.param].kind, index);
            }
            let mut next = 0;
            for slot in slots.iter().filter(|slot| slot.threadgroup == threadgroup && slot.index.is_none()) {
                while used.contains(&next) {
                    next += 1;
                }
                set_index(&mut params[slot.param].kind, next);
                next += 1;
            }
        }
    }

    /// `[[max_total_threads_per_threadgroup(n)]]`
    pub(super) fn max_threads(&mut self, func: FuncId) -> Option<u32> {
        let super::function::Origin::Decl(decl) = self.inst(func).origin else { return None };
        let ast = self.decl(decl).ast;
        let scope = self.inst(func).scope;
        let attribute =
            ast.attributes.iter().find(|attribute| attribute.name == self.names.max_total_threads)?;
        let arg = attribute.args.first()?;
        let value = self.in_scope(scope, |s| {
            let value = s.expr(arg);
            s.constant_integer(value)
        })?;
        match u32::try_from(value) {
            Ok(n @ 1..=1024) => Some(n),
            _ => {
                let message = format!("a threadgroup has between 1 and 1024 threads, not {value}");
                self.error("attribute-argument", arg.span, message);
                None
            }
        }
    }

    /// A kernel returns nothing.
    pub(super) fn check_kernel_result(&mut self, func: FuncId, span: Span) {
        if self.inst(func).ret.is_some_and(|ret| ret.ty != Ty::VOID) {
            self.error("kernel-result", span, "a kernel must return `void`");
        }
    }
}

fn is_conditional(kind: &KernelParamKind) -> bool {
    match kind {
        KernelParamKind::Buffer { enabled, .. } | KernelParamKind::ThreadgroupMemory { enabled, .. } => {
            enabled.is_some()
        }
        KernelParamKind::Thread { .. } => true,
    }
}

fn set_index(kind: &mut KernelParamKind, value: u32) {
    match kind {
        KernelParamKind::Buffer { index, .. } | KernelParamKind::ThreadgroupMemory { index, .. } => {
            *index = value
        }
        KernelParamKind::Thread { .. } => {}
    }
}
