//! Parameters of kernels: buffers, threadgroup memory, facts about the thread.

use super::indices::{self, Indices, Table};
use super::{resources, stage_in, structure, thread_attribute};
use crate::hir::{Binding, FuncId, KernelParam, KernelParamKind, QualTy, ScalarTy, Ty, TyKind, Types};
use crate::sema::checker::Checker;
use crate::sema::diagnostics::Diagnostics;
use crate::sema::stage::Attributed;
use crate::sema::{function, record, rules, stage};
use anymetal_diagnostics::{Diagnostic, Span};
use anymetal_ir::Space;

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
    let mut indices = Indices::default();
    for (param, &ty) in ast.params.iter().zip(types.iter()) {
        let argument = Attributed::of_param(param, ty);
        let kind = cx.in_scope(scope, |cx| check_param(cx, &argument, &mut indices));
        let repr = cx.values().value_repr(ty);
        if let Some(kind) = kind {
            params.push(KernelParam { name: argument.name, ty: repr, kind, span: param.span });
        }
    }
    if cx.diagnostics.error_count() > errors || params.len() != ast.params.len() {
        return None;
    }
    stage_in::check_one_stage_in(&mut cx.diagnostics, &params);
    rules::thread_attributes::check(&mut cx.diagnostics, &params);
    indices.assign_to(&mut cx.diagnostics, &mut params);
    (cx.diagnostics.error_count() == errors).then_some(params)
}

fn check_param<'a>(
    cx: &mut Checker<'a>,
    param: &Attributed<'a>,
    indices: &mut Indices,
) -> Option<KernelParamKind> {
    if param.attribute("stage_in").is_some() {
        return stage_in::param(cx, param);
    }
    match structure::argument(cx, param, indices) {
        Some(kind) => kind,
        None => thread_param(cx, param),
    }
}

/// A parameter that is a pointer or reference to `element`.
pub(in crate::sema) fn pointer_argument<'a>(
    cx: &mut Checker<'a>,
    param: &Attributed<'a>,
    element: QualTy,
    indices: &mut Indices,
) -> Option<KernelParamKind> {
    let table = pointer_table(cx, param, element)?;
    let binding = indices::argument_binding(cx, param, table, 1, indices)?;
    let is_reference = param.is_indirect || cx.types.referent(param.ty.ty).is_some();
    Some(pointer_kind(binding, element, is_reference))
}

/// The kind of an argument that is bound as a pointer.
pub(super) fn pointer_kind(binding: Binding, element: QualTy, is_reference: bool) -> KernelParamKind {
    match element.space {
        Space::Threadgroup => KernelParamKind::ThreadgroupMemory { binding, element, is_reference },
        _ => KernelParamKind::Buffer { binding, element, is_reference },
    }
}

/// The indices of a pointer to `element`; `None` (reported) if it cannot be an argument.
pub(super) fn pointer_table<'a>(
    cx: &mut Checker<'a>,
    param: &Attributed<'a>,
    element: QualTy,
) -> Option<Table> {
    if element.ty != Ty::VOID && !record::complete_type(cx, element.ty, param.span) {
        return None;
    }
    if resources::has_tensor(&cx.types, &cx.names, element.ty) {
        cx.unsupported(
            param.span,
            "tensors in memory that kernels read (argument buffers) are not supported",
        );
        return None;
    }
    let of_resources = [Table::Texture, Table::Sampler].map(Table::attribute);
    if let Some(attribute) = of_resources.into_iter().find_map(|name| param.attribute(name)) {
        let message = format!("`{}` is for textures or samplers, not for pointers", attribute.name);
        cx.error("kernel-parameter", attribute.span, message);
        return None;
    }
    match element.space {
        Space::Threadgroup => Some(Table::Threadgroup),
        Space::Device | Space::Constant => Some(Table::Buffer),
        Space::Thread => {
            let message = "a kernel's pointer must be to device, constant or threadgroup memory";
            cx.error("kernel-parameter", param.span, message);
            None
        }
    }
}

/// The name of an argument as messages have it, with a space before it; empty without a name.
pub(in crate::sema) fn shown_name(param: &Attributed<'_>) -> String {
    match param.name.as_str() {
        "" => String::new(),
        name => format!(" `{name}`"),
    }
}

fn thread_param(cx: &mut Checker<'_>, param: &Attributed<'_>) -> Option<KernelParamKind> {
    let ty = param.ty;
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
        let name = shown_name(param);
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
