//! Parameters of graphics functions (MSL 5.2).

use super::attributes::{self, Role};
use super::members::{self, Value};
use super::{Object, object, outputs, stage_in};
use crate::ast::{self, GraphicsStage};
use crate::hir::{FuncId, QualTy, RecordId, ResourceKind, TyKind};
use crate::sema::checker::Checker;
use crate::sema::entities::TArg;
use crate::sema::kernel::{Slot, Table};
use crate::sema::limits::MAX_COLOR_ATTACHMENTS;
use crate::sema::{kernel, record};
use anymetal_diagnostics::{Diagnostic, Span};
use anymetal_ir::Space;

/// The parameters that were checked so far.
#[derive(Default)]
struct Inputs {
    slots: Vec<Slot>,
    has_stage_in: bool,
    has_payload: bool,
    built_in: Vec<(&'static str, QualTy, Span)>,
}

pub(super) fn check<'a>(cx: &mut Checker<'a>, func: FuncId, ast: &'a ast::Function, stage: GraphicsStage) {
    let types = cx.functions.inst(func).params.clone();
    let mut inputs = Inputs::default();
    for (n, (param, &ty)) in ast.params.iter().zip(types.iter()).enumerate() {
        if !cx.is_dependent(ty.ty) {
            input(cx, (n, param, ty), stage, &mut inputs);
        }
    }
    kernel::assign_indices(&mut cx.diagnostics, &inputs.slots);
    check_base(cx, &inputs, "vertex_id", "base_vertex");
    check_base(cx, &inputs, "instance_id", "base_instance");
}

fn input<'a>(
    cx: &mut Checker<'a>,
    (position, ast, ty): (usize, &'a ast::Param, QualTy),
    stage: GraphicsStage,
    inputs: &mut Inputs,
) {
    let param = Value::of_param(ast, ty);
    let thread_value = |found: &&ast::Attribute| attributes::has_thread_value(found, stage);
    if param.attribute("stage_in").is_some() {
        if std::mem::replace(&mut inputs.has_stage_in, true) {
            cx.error("stage-in", ast.span, "a function has one argument with stage-in data");
        }
        stage_in::param(cx, &param, stage);
    } else if let Some(attribute) = param.attribute("payload") {
        if std::mem::replace(&mut inputs.has_payload, true) {
            cx.error("duplicate-attribute", attribute.span, "a function has one payload");
        }
        payload(cx, &param, attribute, stage);
    } else if let Some((attribute, row)) = param.built_in(stage, Role::Input) {
        kernel::param_condition(cx, ast);
        members::check_type(cx, &param, row);
        if row.name == "color" {
            kernel::attribute_index(cx, attribute, MAX_COLOR_ATTACHMENTS - 1);
        }
        inputs.built_in.push((row.name, ty, ast.span));
    } else if let Some(attribute) = param.attributes.iter().find(thread_value) {
        kernel::param_condition(cx, ast);
        if let Some((name, _, components)) = kernel::thread_attribute(attribute.name.as_str()) {
            kernel::thread_fact_type(&cx.types, &mut cx.diagnostics, name, components, ty, ast.span);
        }
    } else if let Some(attribute) = param.attributes.iter().find(|found| attributes::is_built_in(found)) {
        let message = format!("`{}` is not an input of {} functions", attribute.name, stage.name());
        cx.error("stage-attribute", attribute.span, message);
    } else if let TyKind::Pointer(to) | TyKind::Reference { to, .. } = *cx.types.kind(ty.ty) {
        pointer(cx, (position, ast, to), stage, inputs);
    } else {
        resource(cx, (position, ast, ty), stage, inputs);
    }
}

/// A buffer, or threadgroup memory.
fn pointer<'a>(
    cx: &mut Checker<'a>,
    (position, ast, to): (usize, &'a ast::Param, QualTy),
    stage: GraphicsStage,
    inputs: &mut Inputs,
) {
    let has_threadgroups = !matches!(stage, GraphicsStage::Vertex | GraphicsStage::Intersection);
    let allowed = match to.space {
        Space::Device | Space::Constant => true,
        Space::Threadgroup => has_threadgroups,
        Space::Thread => false,
    };
    if !allowed {
        let message = format!("{} functions have no arguments in this address space", stage.name());
        cx.error("stage-parameter", ast.span, message);
    } else if let Some((slot, _)) = kernel::pointer_slot(cx, ast, to, position) {
        let ordered = ast.attributes.iter().find(|found| found.name.as_str() == "raster_order_group");
        if let Some(ordered) = ordered.filter(|_| to.space != Space::Device) {
            let message = "`raster_order_group` is for textures and for buffers in device memory";
            cx.error("stage-attribute", ordered.span, message);
        }
        inputs.slots.push(slot);
    }
}

/// A texture, a sampler or another object of the library, or data of the imageblock.
fn resource<'a>(
    cx: &mut Checker<'a>,
    (position, ast, ty): (usize, &'a ast::Param, QualTy),
    stage: GraphicsStage,
    inputs: &mut Inputs,
) {
    if let Some(resource) = kernel::resource_type(cx, ty, ast.span) {
        let is_bound = matches!(resource.kind, ResourceKind::Texture(_) | ResourceKind::Sampler);
        if stage == GraphicsStage::Intersection && is_bound {
            let message = "intersection functions get textures and samplers in argument buffers only";
            cx.error("stage-parameter", ast.span, message);
        }
        kernel::resource_param(cx, ast, resource, position, &mut inputs.slots);
        return;
    }
    let record = cx.types.as_record(ty.ty);
    let allowed = match record.map(|id| (id, object(&cx.types, id))) {
        Some((_, Some(Object::AccelerationStructure | Object::IntersectionTable))) => {
            if let (Some(index), Some(condition)) =
                (kernel::param_index(cx, ast, Table::Buffer), kernel::param_condition(cx, ast))
            {
                let is_conditional = condition.is_some();
                let (table, span) = (Table::Buffer, ast.span);
                inputs.slots.push(Slot { param: position, index, table, count: 1, is_conditional, span });
            }
            true
        }
        Some((id, Some(Object::Mesh))) => {
            mesh(cx, id, ast.span);
            stage == GraphicsStage::Mesh
        }
        Some((_, Some(Object::MeshGrid))) => stage == GraphicsStage::Object,
        Some((_, Some(Object::Imageblock))) => stage == GraphicsStage::Fragment,
        Some((_, Some(Object::Interpolant | Object::PatchControlPoints))) => false,
        // Data of the imageblock, or resources in a structure.
        Some((id, None)) => {
            let has_attribute = |name: &str| ast.attributes.iter().any(|found| found.name.as_str() == name);
            has_attribute("imageblock_data") || has_resources(cx, id, ast.span)
        }
        None => false,
    };
    if !allowed {
        let name = ast.name.map_or_else(String::new, |name| format!(" `{name}`"));
        let shown = cx.show(ty);
        let message = format!(
            "parameter{name} of type `{shown}` is neither a resource nor a built-in value of {} functions",
            stage.name()
        );
        let hint = "bind it as `constant T& name [[buffer(n)]]`, or add the attribute of a built-in value";
        cx.report(Diagnostic::error("stage-parameter", ast.span, message).with_hint(hint));
    }
}

/// Whether the members of a structure are resources or have attributes.
fn has_resources(cx: &mut Checker<'_>, id: RecordId, span: Span) -> bool {
    kernel::stage_in_members(cx, id, span).iter().any(|(field, declared)| {
        let is_pointer = matches!(cx.types.kind(field.ty.ty), TyKind::Pointer(_));
        is_pointer || !declared.attributes.is_empty() || kernel::resource_type(cx, field.ty, span).is_some()
    })
}

/// The vertices and primitives of `mesh<V, P, …>`.
fn mesh(cx: &mut Checker<'_>, id: RecordId, span: Span) {
    for arg in cx.records.get(id).args.clone().iter().take(2) {
        let TArg::Type(ty) = arg else { continue };
        let Some(part) = cx.types.as_record(ty.ty) else { continue };
        if record::complete_type(cx, ty.ty, span) {
            outputs::of_mesh(cx, part, span);
        }
    }
}

fn payload<'a>(cx: &mut Checker<'a>, param: &Value<'a>, attribute: &'a ast::Attribute, stage: GraphicsStage) {
    use GraphicsStage::{Fragment, Intersection, Mesh, Object, Vertex};
    let to = match *cx.types.kind(param.ty.ty) {
        TyKind::Pointer(to) | TyKind::Reference { to, .. } => Some(to),
        _ => None,
    };
    let message = match (stage, to) {
        (Vertex | Fragment, _) => return super::wrong_stage(cx, "payload", attribute.span, stage),
        (Object | Mesh, None) => "a payload is a pointer or reference to `object_data`",
        (Intersection, None) => "a payload is a reference to `ray_data`",
        (Mesh, Some(to)) if !to.is_const => "the payload of a mesh function is `const`",
        (Object | Mesh | Intersection, Some(to)) if to.space != Space::Thread => {
            "a payload is in the address space `object_data` or `ray_data`"
        }
        (Object | Mesh | Intersection, Some(_)) => return,
    };
    cx.error("stage-parameter", param.span, message);
}

/// The value that a number is counted from is not wider than the number (5.2.3.1).
fn check_base(cx: &mut Checker<'_>, inputs: &Inputs, number: &str, base: &str) {
    let find = |name: &str| inputs.built_in.iter().find(|(found, ..)| *found == name);
    let (Some((_, number_type, _)), Some((_, base_type, span))) = (find(number), find(base)) else { return };
    let bytes = |ty: QualTy| cx.types.as_scalar(ty.ty).map(|scalar| scalar.size());
    if let (Some(narrow), Some(wide)) = (bytes(*number_type), bytes(*base_type))
        && wide > narrow
    {
        let message = format!("`{base}` is wider than `{number}`");
        cx.error("stage-attribute-type", *span, message);
    }
}
