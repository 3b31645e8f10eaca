//! Parameters of kernels: buffers, threadgroup memory, facts about the thread.
//!
//! Invariant: no two parameters of a kind share an index, unless function constants say which one exists.

use super::{resources, stage_in, thread_attribute};
use crate::ast;
use crate::hir::{Expr, ExprKind, FuncId, KernelParam, KernelParamKind, QualTy, ScalarTy, TyKind, Types};
use crate::sema::checker::Checker;
use crate::sema::diagnostics::Diagnostics;
use crate::sema::{evaluate, expr, function, record, rules, stage, walk};
use crate::token::Name;
use anymetal_abi::textures::{MAX_SAMPLERS, MAX_TEXTURES};
use anymetal_diagnostics::{Diagnostic, Span};
use anymetal_ir::Space;

/// A parameter whose index may still have to be assigned.
#[derive(Debug)]
pub(in crate::sema) struct Slot {
    /// The number of the parameter.
    pub(in crate::sema) param: usize,
    pub(in crate::sema) index: Option<u32>,
    pub(in crate::sema) table: Table,
    /// How many indices it takes.
    pub(in crate::sema) count: u32,
    /// Whether a function constant says if it exists: it may share its index.
    pub(in crate::sema) is_conditional: bool,
    pub(in crate::sema) span: Span,
}

/// Which indices: those of each kind of parameter are its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::sema) enum Table {
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

/// The parameters of a kernel with their indices.
pub(in crate::sema) fn check_params(cx: &mut Checker<'_>, func: FuncId) -> Option<Vec<KernelParam>> {
    let decl = cx.functions.inst(func).origin.decl()?;
    // A template that is declared first and defined later has its attributes where it is defined.
    let (ast, scope) = match function::find_definition(cx, func, decl) {
        Some(definition) => (definition.ast, definition.scope),
        None => (cx.functions.decl(decl).ast, cx.functions.inst(func).scope),
    };
    let types = cx.functions.inst(func).params.clone();
    let errors = cx.diagnostics.error_count();
    let mut params = Vec::new();
    let mut slots = Vec::new();
    for (n, param) in ast.params.iter().enumerate() {
        let Some(&ty) = types.get(n) else { break };
        let kind = cx.in_scope(scope, |cx| check_param(cx, param, ty, n, &mut slots));
        let repr = cx.values().value_repr(ty);
        let name = param.name.unwrap_or(Name::EMPTY);
        if let Some(kind) = kind {
            params.push(KernelParam { name, ty: repr, kind, span: param.span });
        }
    }
    if cx.diagnostics.error_count() > errors || params.len() != ast.params.len() {
        return None;
    }
    stage_in::check_one_stage_in(&mut cx.diagnostics, &params);
    rules::thread_attributes::check(&mut cx.diagnostics, &params);
    let indices = assign_indices(&mut cx.diagnostics, &slots);
    for (slot, index) in slots.iter().zip(indices) {
        set_index(&mut params[slot.param].kind, index);
    }
    (cx.diagnostics.error_count() == errors).then_some(params)
}

fn check_param<'a>(
    cx: &mut Checker<'a>,
    param: &'a ast::Param,
    ty: QualTy,
    position: usize,
    slots: &mut Vec<Slot>,
) -> Option<KernelParamKind> {
    if param.attributes.iter().any(|attribute| attribute.name == cx.names.stage_in) {
        return stage_in::param(cx, param, ty);
    }
    let pointee = match *cx.types.kind(ty.ty) {
        TyKind::Pointer(to) => Some((to, false)),
        TyKind::Reference { to, .. } => Some((to, true)),
        _ => None,
    };
    let Some((element, is_reference)) = pointee else {
        return match resources::resource_type(cx, ty, param.span) {
            Some(resource) => resources::resource_param(cx, param, resource, position, slots),
            None => thread_param(cx, param, ty),
        };
    };
    let (slot, enabled) = pointer_slot(cx, param, element, position)?;
    let is_threadgroup = slot.table == Table::Threadgroup;
    slots.push(slot);
    Some(match is_threadgroup {
        true => KernelParamKind::ThreadgroupMemory { index: 0, element, is_reference, enabled },
        false => KernelParamKind::Buffer { index: 0, element, is_reference, enabled },
    })
}

/// The place of a parameter that is a pointer or reference, and the condition under which it exists.
pub(in crate::sema) fn pointer_slot<'a>(
    cx: &mut Checker<'a>,
    param: &'a ast::Param,
    element: QualTy,
    position: usize,
) -> Option<(Slot, Option<Expr>)> {
    if !record::complete_type(cx, element.ty, param.span) {
        return None;
    }
    if resources::has_tensor(&cx.types, &cx.names, element.ty) {
        cx.unsupported(
            param.span,
            "tensors in memory that kernels read (argument buffers) are not supported",
        );
        return None;
    }
    let resource = [cx.names.texture, cx.names.sampler];
    if let Some(attribute) = param.attributes.iter().find(|found| resource.contains(&found.name)) {
        let message = format!("`{}` is for textures or samplers, not for pointers", attribute.name);
        cx.error("kernel-parameter", attribute.span, message);
        return None;
    }
    let enabled = param_condition(cx, param)?;
    let table = if element.space == Space::Threadgroup { Table::Threadgroup } else { Table::Buffer };
    let index = param_index(cx, param, table)?;
    if element.space == Space::Thread {
        let message = "a kernel's pointer must be to device, constant or threadgroup memory";
        cx.error("kernel-parameter", param.span, message);
        return None;
    }
    let is_conditional = enabled.is_some();
    Some((Slot { param: position, index, table, count: 1, is_conditional, span: param.span }, enabled))
}

/// The index that an attribute gives: `Some(None)` when there is none.
pub(in crate::sema) fn param_index<'a>(
    cx: &mut Checker<'a>,
    param: &'a ast::Param,
    table: Table,
) -> Option<Option<u32>> {
    let name = match table {
        Table::Buffer => cx.names.buffer,
        Table::Threadgroup => cx.names.threadgroup,
        Table::Texture => cx.names.texture,
        Table::Sampler => cx.names.sampler,
    };
    match param.attributes.iter().find(|found| found.name == name) {
        Some(attribute) => Some(Some(attribute_index(cx, attribute, table.last())?)),
        None => Some(None),
    }
}

pub(in crate::sema) fn attribute_index<'a>(
    cx: &mut Checker<'a>,
    attribute: &'a ast::Attribute,
    last: u32,
) -> Option<u32> {
    let Some(arg) = attribute.args.first() else {
        cx.error("attribute-argument", attribute.span, format!("`{}` takes an index", attribute.name));
        return None;
    };
    let value = expr::check(cx, arg);
    if names_function_constant(&value) {
        cx.unsupported(arg.span, "indices that function constants give are not supported");
        return None;
    }
    let index = evaluate::constant_integer(cx, value)?;
    if !(0..=i128::from(last)).contains(&index) {
        let message = format!("an index is between 0 and {last}, not {index}");
        cx.error("attribute-argument", arg.span, message);
        return None;
    }
    Some(index as u32)
}

fn names_function_constant(value: &Expr) -> bool {
    let mut found = false;
    walk::each_expr(value, &mut |expr| found |= matches!(expr.kind, ExprKind::FunctionConstant(_)));
    found
}

/// The condition of `[[function_constant(c)]]`: `Some(None)` when there is none.
pub(in crate::sema) fn param_condition<'a>(
    cx: &mut Checker<'a>,
    param: &'a ast::Param,
) -> Option<Option<Expr>> {
    let found = param.attributes.iter().find(|attribute| attribute.name == cx.names.function_constant);
    match found {
        Some(attribute) => condition(cx, attribute).map(Some),
        None => Some(None),
    }
}

/// The condition of `[[function_constant(c)]]`.
pub(in crate::sema) fn condition<'a>(cx: &mut Checker<'a>, attribute: &'a ast::Attribute) -> Option<Expr> {
    let Some(arg) = attribute.args.first() else {
        cx.error("attribute-argument", attribute.span, "`function_constant` takes the name of a constant");
        return None;
    };
    let value = expr::check(cx, arg);
    let value = expr::condition(cx, value);
    (!value.ty.ty.is_error()).then_some(value)
}

fn thread_param(cx: &mut Checker<'_>, param: &ast::Param, ty: QualTy) -> Option<KernelParamKind> {
    let object = cx.types.as_record(ty.ty).and_then(|id| stage::object(&cx.types, id));
    let tile_value = param.attributes.iter().any(|attribute| stage::is_tile_value(attribute, &cx.types, ty));
    if tile_value || object.is_some_and(stage::Object::is_of_kernels) {
        let shown = cx.show(ty);
        let message =
            format!("parameters of tile functions and ray tracing are not supported, here `{shown}`");
        cx.unsupported(param.span, message);
        return None;
    }
    let (types, diagnostics) = (&cx.types, &mut cx.diagnostics);
    let known = param.attributes.iter().find_map(|attribute| thread_attribute(attribute.name.as_str()));
    let Some((attribute, query, components)) = known else {
        let name = param.name.map_or_else(String::new, |name| format!(" `{name}`"));
        let shown = types.display_qual(ty);
        let message =
            format!("parameter{name} of type `{shown}` is neither a buffer nor has a thread attribute");
        let hint = "bind it as `constant T& name [[buffer(n)]]`, or add an attribute such as \
                        `[[thread_position_in_grid]]`";
        diagnostics.report(Diagnostic::error("kernel-parameter", param.span, message).with_hint(hint));
        return None;
    };
    let (elem, len) = thread_fact_type(types, diagnostics, attribute, components, ty, param.span)?;
    Some(KernelParamKind::Thread { query, elem, len, attribute })
}

/// The type of a thread attribute's parameter: `ushort`, `uint`, or a vector of one of them (MSL 5.2.3.6).
pub(in crate::sema) fn thread_fact_type(
    types: &Types,
    diagnostics: &mut Diagnostics,
    attribute: &str,
    components: u8,
    ty: QualTy,
    span: Span,
) -> Option<(ScalarTy, u8)> {
    let (elem, len) = match *types.kind(ty.ty) {
        TyKind::Scalar(elem) => (elem, 1),
        TyKind::Vector { elem, len, .. } => (elem, len),
        _ => (ScalarTy::F32, 1),
    };
    let fits = matches!(elem, ScalarTy::U16 | ScalarTy::U32) && len <= components;
    if !fits {
        let shown = types.display_qual(ty);
        diagnostics.error("kernel-parameter", span, format!("`{attribute}` cannot have type `{shown}`"));
        return None;
    }
    Some((elem, len))
}

/// The index of each parameter: its own, or the lowest that no other has, in order.
pub(in crate::sema) fn assign_indices(diagnostics: &mut Diagnostics, slots: &[Slot]) -> Vec<u32> {
    let mut indices = vec![0; slots.len()];
    for table in Table::ALL {
        let of_table = || slots.iter().enumerate().filter(move |(_, slot)| slot.table == table);
        let mut used: Vec<u32> = Vec::new();
        for (n, slot) in of_table() {
            let Some(index) = slot.index else { continue };
            let taken = index..index + slot.count;
            if taken.end > table.last() + 1 {
                let message =
                    format!("the last of its indices is {}, beyond {}", taken.end - 1, table.last());
                diagnostics.error("attribute-argument", slot.span, message);
            }
            // Parameters that exclude each other by function constants may share an index.
            let shared = used.iter().find(|used| taken.contains(used));
            if let Some(index) = shared.filter(|_| !slot.is_conditional) {
                let message = format!("index {index} is given to two parameters");
                diagnostics.error("duplicate-index", slot.span, message);
            }
            used.extend(taken);
            indices[n] = index;
        }
        for (n, slot) in of_table().filter(|(_, slot)| slot.index.is_none()) {
            let is_free = |&first: &u32| !(first..first + slot.count).any(|index| used.contains(&index));
            let first =
                (0..=table.last()).find(is_free).filter(|first| first + slot.count <= table.last() + 1);
            let Some(first) = first else {
                diagnostics.error("attribute-argument", slot.span, "no index is left for this parameter");
                continue;
            };
            used.extend(first..first + slot.count);
            indices[n] = first;
        }
    }
    indices
}

fn set_index(kind: &mut KernelParamKind, value: u32) {
    match kind {
        KernelParamKind::Buffer { index, .. }
        | KernelParamKind::ThreadgroupMemory { index, .. }
        | KernelParamKind::Resource { index, .. } => *index = value,
        KernelParamKind::StageIn { .. } | KernelParamKind::Thread { .. } => {}
    }
}
