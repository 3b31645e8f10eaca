//! Parameters of graphics functions (MSL 5.2).

use super::attributes::{self, Role, Tags};
use super::members::{self, Attributed};
use super::{Color, Object, object, outputs, stage_in};
use crate::ast::{self, GraphicsStage};
use crate::hir::{FuncId, QualTy, RecordId, ResourceKind, TyKind};
use crate::sema::checker::Checker;
use crate::sema::entities::TArg;
use crate::sema::kernel::{Indices, Table};
use crate::sema::limits::MAX_COLOR_ATTACHMENTS;
use crate::sema::{kernel, record};
use anymetal_diagnostics::{Diagnostic, Span};
use anymetal_ir::Space;

/// The parameters that were checked so far.
#[derive(Default)]
struct Inputs {
    indices: Indices,
    has_stage_in: bool,
    has_payload: bool,
    built_in: Vec<(&'static str, QualTy, Span)>,
    colors: Vec<Color>,
}

/// Checks the parameters; returns the colours that the function reads.
pub(super) fn check<'a>(
    cx: &mut Checker<'a>,
    func: FuncId,
    ast: &'a ast::Function,
    stage: GraphicsStage,
    tags: &Tags,
) -> Vec<Color> {
    let types = cx.functions.inst(func).params.clone();
    let mut inputs = Inputs::default();
    for (param, &ty) in ast.params.iter().zip(types.iter()) {
        if !cx.is_dependent(ty.ty) {
            let param = Attributed::of_param(param, ty);
            input(cx, &param, stage, &mut inputs);
            check_coverage(cx, &param, ast);
        }
    }
    for (name, _, span) in &inputs.built_in {
        tags.check_input(cx, name, *span);
    }
    inputs.indices.assign(&mut cx.diagnostics);
    check_base(cx, &inputs, "vertex_id", "base_vertex");
    check_base(cx, &inputs, "instance_id", "base_instance");
    check_tile(cx, &inputs);
    inputs.colors
}

/// The coverage after early tests needs such tests (table 5.5).
fn check_coverage(cx: &mut Checker<'_>, param: &Attributed<'_>, ast: &ast::Function) {
    let is_early = ast.attributes.iter().any(|attribute| attribute.name.as_str() == "early_fragment_tests");
    if let Some(attribute) = param.attribute("post_depth_coverage").filter(|_| !is_early) {
        let message = "`post_depth_coverage` needs a function with `early_fragment_tests`";
        cx.error("stage-attribute", attribute.span, message);
    }
}

/// The position in a tile and the tile's size have one type (5.2.3.4).
fn check_tile(cx: &mut Checker<'_>, inputs: &Inputs) {
    let (Some((_, position, _)), Some((_, size, span))) =
        (inputs.find("pixel_position_in_tile"), inputs.find("pixels_per_tile"))
    else {
        return;
    };
    if position.ty != size.ty {
        let message = "`pixels_per_tile` and `pixel_position_in_tile` have different types";
        cx.error("stage-attribute-type", *span, message);
    }
}

impl Inputs {
    fn find(&self, name: &str) -> Option<&(&'static str, QualTy, Span)> {
        self.built_in.iter().find(|(found, ..)| *found == name)
    }
}

fn input<'a>(cx: &mut Checker<'a>, param: &Attributed<'a>, stage: GraphicsStage, inputs: &mut Inputs) {
    let thread_value = |found: &&ast::Attribute| attributes::has_thread_value(found, stage);
    if param.attribute("stage_in").is_some() {
        if std::mem::replace(&mut inputs.has_stage_in, true) {
            cx.error("stage-in", param.span, "a function has one argument with stage-in data");
        }
        stage_in::param(cx, param, stage);
    } else if let Some(attribute) = param.attribute("payload") {
        if std::mem::replace(&mut inputs.has_payload, true) {
            cx.error("duplicate-attribute", attribute.span, "a function has one payload");
        }
        payload(cx, param, attribute, stage);
    } else if let Some((attribute, row)) = param.built_in(stage, Role::Input) {
        kernel::argument_condition(cx, param);
        members::check_type(cx, param, row);
        if row.name == "color" {
            let index = kernel::index_of(cx, attribute, MAX_COLOR_ATTACHMENTS - 1);
            if let Some(kernel::Index::Known(attachment)) = index {
                inputs.colors.push(Color { attachment, index: 0, ty: param.ty, span: param.span });
            }
        }
        inputs.built_in.push((row.name, param.ty, param.span));
    } else if let Some(attribute) = param.attributes.iter().find(thread_value) {
        kernel::argument_condition(cx, param);
        if let Some((name, _, components)) = kernel::thread_attribute(attribute.name.as_str()) {
            let (types, diagnostics) = (&cx.types, &mut cx.diagnostics);
            kernel::thread_fact_type(types, diagnostics, name, components, param.ty, param.span);
        }
    } else if let Some(attribute) = param.attributes.iter().find(|found| attributes::is_built_in(found)) {
        let message = format!("`{}` is not an input of {} functions", attribute.name, stage.name());
        cx.error("stage-attribute", attribute.span, message);
    } else if let TyKind::Pointer(to) | TyKind::Reference { to, .. } = *cx.types.kind(param.ty.ty) {
        pointer(cx, param, to, stage, inputs);
    } else {
        resource(cx, param, stage, inputs);
    }
}

/// A buffer, or threadgroup memory.
fn pointer<'a>(
    cx: &mut Checker<'a>,
    param: &Attributed<'a>,
    to: QualTy,
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
        cx.error("stage-parameter", param.span, message);
    } else if kernel::pointer_argument(cx, param, to, &mut inputs.indices).is_some() {
        check_order(cx, param, to.space == Space::Device);
    }
}

/// Reports `raster_order_group` at anything but textures and buffers in device memory (5.2.1.2).
fn check_order(cx: &mut Checker<'_>, param: &Attributed<'_>, may_be_ordered: bool) {
    if let Some(ordered) = param.attribute("raster_order_group").filter(|_| !may_be_ordered) {
        let message = "`raster_order_group` is for textures and for buffers in device memory";
        cx.error("stage-attribute", ordered.span, message);
    }
}

/// A texture, a sampler or another object of the library, or data of the imageblock.
fn resource<'a>(cx: &mut Checker<'a>, param: &Attributed<'a>, stage: GraphicsStage, inputs: &mut Inputs) {
    let resource = kernel::resource_type(cx, param.ty, param.span);
    let is_texture = resource.as_ref().is_some_and(|found| matches!(found.kind, ResourceKind::Texture(_)));
    check_order(cx, param, is_texture || param.attribute("imageblock_data").is_some());
    if let Some(resource) = resource {
        let is_bound = matches!(resource.kind, ResourceKind::Texture(_) | ResourceKind::Sampler);
        if stage == GraphicsStage::Intersection && is_bound {
            let message = "intersection functions get textures and samplers in argument buffers only";
            cx.error("stage-parameter", param.span, message);
        }
        kernel::resource_argument(cx, param, resource, &mut inputs.indices);
        return;
    }
    let record = cx.types.as_record(param.ty.ty);
    let allowed = match record.map(|id| (id, object(&cx.types, id))) {
        Some((_, Some(Object::AccelerationStructure | Object::IntersectionTable))) => {
            kernel::argument_binding(cx, param, Table::Buffer, 1, &mut inputs.indices);
            true
        }
        Some((id, Some(Object::Mesh))) => {
            mesh(cx, id, param.span);
            stage == GraphicsStage::Mesh
        }
        Some((_, Some(Object::MeshGrid))) => stage == GraphicsStage::Object,
        Some((_, Some(Object::Imageblock))) => stage == GraphicsStage::Fragment,
        Some((_, Some(Object::Interpolant | Object::PatchControlPoints))) => false,
        Some((_, None)) if param.attribute("imageblock_data").is_some() => true,
        Some((id, None)) => match kernel::is_structure_of_resources(cx, param.ty.ty, param.span) {
            true => {
                kernel::structure_argument(cx, param, &mut inputs.indices);
                true
            }
            false => has_attributes(cx, id, param.span),
        },
        None => false,
    };
    if !allowed {
        let name = kernel::shown_name(param);
        let shown = cx.show(param.ty);
        let message = format!(
            "parameter{name} of type `{shown}` is neither a resource nor a built-in value of {} functions",
            stage.name()
        );
        let hint = "bind it as `constant T& name [[buffer(n)]]`, or add the attribute of a built-in value";
        cx.report(Diagnostic::error("stage-parameter", param.span, message).with_hint(hint));
    }
}

/// Whether members of a structure have attributes.
fn has_attributes(cx: &mut Checker<'_>, id: RecordId, span: Span) -> bool {
    kernel::stage_in_members(cx, id, span).iter().any(|(_, declared)| !declared.attributes.is_empty())
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

fn payload<'a>(
    cx: &mut Checker<'a>,
    param: &Attributed<'a>,
    attribute: &'a ast::Attribute,
    stage: GraphicsStage,
) {
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
    let (Some((_, number_type, _)), Some((_, base_type, span))) = (inputs.find(number), inputs.find(base))
    else {
        return;
    };
    let bytes = |ty: QualTy| cx.types.as_scalar(ty.ty).map(|scalar| scalar.size());
    if let (Some(narrow), Some(wide)) = (bytes(*number_type), bytes(*base_type))
        && wide > narrow
    {
        let message = format!("`{base}` is wider than `{number}`");
        cx.error("stage-attribute-type", *span, message);
    }
}
