//! Data that arrive with `[[stage_in]]`: per vertex, per patch and per fragment (MSL 5.2.4, 5.4).

use super::attributes::{self, INTERPOLATIONS, Role};
use super::members::{self, Attributed};
use super::{Object, object};
use crate::ast::{self, GraphicsStage};
use crate::hir::{QualTy, RecordId, ScalarTy};
use crate::sema::checker::Checker;
use crate::sema::entities::TArg;
use crate::sema::{kernel, record};
use crate::token::Name;
use anymetal_diagnostics::{Diagnostic, Span};

/// A parameter with `[[stage_in]]`.
pub(super) fn param<'a>(cx: &mut Checker<'a>, param: &Attributed<'a>, stage: GraphicsStage) {
    if !matches!(stage, GraphicsStage::Vertex | GraphicsStage::Fragment) {
        return super::wrong_stage(cx, "stage_in", param.span, stage);
    }
    let structure = cx.types.as_record(param.ty.ty).filter(|&id| !cx.types.record(id).is_union);
    let Some(id) = structure else {
        // The specification has an example of a fragment's single value (5.5).
        let is_value = attributes::value(&cx.types, param.ty).is_some();
        if stage == GraphicsStage::Vertex || !is_value {
            let shown = cx.show(param.ty);
            cx.error("stage-in", param.span, format!("stage-in data are a structure, not `{shown}`"));
        }
        return;
    };
    if record::complete_type(cx, param.ty.ty, param.span) {
        match stage {
            GraphicsStage::Vertex => drop(per_vertex(cx, id, param.span)),
            _ => per_fragment(cx, id, None, param.span),
        }
    }
}

/// A member of per-vertex data.
#[derive(Clone, Debug)]
pub struct VertexInput {
    /// Its name.
    pub name: Name,
    /// The index of `[[attribute(index)]]`.
    pub attribute: u32,
    /// The type, or that of the components.
    pub elem: ScalarTy,
    /// 1 for a scalar.
    pub len: u8,
}

/// The per-vertex data of a vertex function, as far as it is right.
pub(super) fn vertex_inputs(cx: &mut Checker<'_>, param: &Attributed<'_>) -> Vec<VertexInput> {
    match cx.types.as_record(param.ty.ty) {
        Some(id) if record::complete_type(cx, param.ty.ty, param.span) => per_vertex(cx, id, param.span),
        _ => Vec::new(),
    }
}

/// The data of a vertex, of a control point, or of a patch with its control points.
fn per_vertex(cx: &mut Checker<'_>, id: RecordId, span: Span) -> Vec<VertexInput> {
    if let Some(point) = control_point(cx, id) {
        return match cx.types.as_record(point.ty) {
            Some(inner) if record::complete_type(cx, point.ty, span) => per_vertex(cx, inner, span),
            _ => Vec::new(),
        };
    }
    let mut inputs: Vec<VertexInput> = Vec::new();
    for (field, declared) in kernel::stage_in_members(cx, id, span) {
        let inner = cx.types.as_record(field.ty.ty);
        if let Some(points) =
            inner.filter(|&inner| object(&cx.types, inner) == Some(Object::PatchControlPoints))
        {
            inputs.extend(per_vertex(cx, points, declared.span));
        } else if let Some((attribute, elem, len)) = kernel::stage_in_attribute(cx, id, &field, declared) {
            if inputs.iter().any(|input| input.attribute == attribute) {
                let message = format!("attribute {attribute} is given to two members");
                cx.error("duplicate-index", declared.span, message);
            }
            inputs.push(VertexInput { name: field.name, attribute, elem, len });
        }
    }
    inputs
}

/// The `T` of `patch_control_point<T>`.
fn control_point(cx: &Checker<'_>, id: RecordId) -> Option<QualTy> {
    if object(&cx.types, id) != Some(Object::PatchControlPoints) {
        return None;
    }
    match cx.records.get(id).args.first() {
        Some(TArg::Type(ty)) => Some(*ty),
        _ => None,
    }
}

/// The data of a fragment. The members of a member that is a structure inherit its interpolation.
fn per_fragment<'a>(cx: &mut Checker<'a>, id: RecordId, inherited: Option<&'a ast::Attribute>, span: Span) {
    let scope = cx.records.get(id).scope;
    for (field, declared) in kernel::stage_in_members(cx, id, span) {
        let member = Attributed::of_member(&field, declared);
        if let Some(condition) = member.attribute("function_constant") {
            cx.in_scope(scope, |cx| kernel::condition(cx, condition));
        }
        let interpolation = interpolation(&member);
        if let (Some(own), Some(outer)) = (interpolation, inherited)
            && own.name != outer.name
        {
            let message =
                format!("`{}` differs from the `{}` of the structure around it", own.name, outer.name);
            cx.error("stage-in", own.span, message);
        }
        let inner = cx.types.as_record(member.ty.ty).filter(|&inner| !cx.types.record(inner).is_union);
        match inner.filter(|&inner| object(&cx.types, inner) != Some(Object::Interpolant)) {
            Some(inner) => per_fragment(cx, inner, interpolation.or(inherited), member.span),
            None => fragment_member(cx, &member, interpolation.or(inherited)),
        }
    }
}

fn interpolation<'a>(member: &Attributed<'a>) -> Option<&'a ast::Attribute> {
    member.attributes.iter().find(|attribute| INTERPOLATIONS.contains(&attribute.name.as_str()))
}

fn fragment_member<'a>(
    cx: &mut Checker<'a>,
    member: &Attributed<'a>,
    interpolation: Option<&'a ast::Attribute>,
) {
    if cx.is_dependent(member.ty.ty) {
        return;
    }
    // Fragment functions share structures with the vertex or mesh functions that produce them.
    let built_in = member
        .built_in(GraphicsStage::Fragment, Role::Input)
        .or_else(|| member.built_in(GraphicsStage::Mesh, Role::Output));
    if let Some((_, row)) = built_in {
        members::check_type(cx, member, row);
        let only = match row.name {
            "position" => &["center_no_perspective"][..],
            "barycentric_coord" => &["center_no_perspective", "center_perspective"],
            _ => return,
        };
        if let Some(other) = interpolation.filter(|found| !only.contains(&found.name.as_str())) {
            let message =
                format!("`{}` cannot be `{}`, only `{}`", row.name, other.name, only.join("` or `"));
            cx.error("stage-in", other.span, message);
        }
        return;
    }
    let wrong = |attribute: &&ast::Attribute| {
        attributes::is_built_in(attribute)
            && !attributes::has_thread_value(attribute, GraphicsStage::Fragment)
    };
    if let Some(attribute) = member.attributes.iter().find(wrong) {
        let message = format!("`{}` is not an input of fragment functions", attribute.name);
        cx.error("stage-attribute", attribute.span, message);
        return;
    }
    let value = attributes::value(&cx.types, member.ty);
    let is_interpolant =
        cx.types.as_record(member.ty.ty).is_some_and(|id| object(&cx.types, id) == Some(Object::Interpolant));
    let is_bool = value.is_some_and(|(element, _)| element == ScalarTy::Bool);
    if !(is_interpolant || value.is_some()) || is_bool || member.is_indirect {
        let shown = cx.show(member.ty);
        let message = format!("member `{}` of type `{shown}` cannot be stage-in data", member.name);
        let hint = "members are numbers, vectors that are not packed, and interpolants";
        cx.report(Diagnostic::error("stage-in", member.span, message).with_hint(hint));
        return;
    }
    let is_integer = value.is_some_and(|(element, _)| element.is_integral());
    if let Some(other) = interpolation.filter(|found| is_integer && found.name.as_str() != "flat") {
        let message = format!(
            "integers are not interpolated: `{}` cannot be `{}`, only `flat`",
            member.name, other.name
        );
        cx.error("stage-in", other.span, message);
    }
}
