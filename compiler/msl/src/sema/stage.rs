//! Graphics functions: vertex, fragment, object, mesh and intersection functions (MSL 5.1, 5.2).
//!
//! They are checked and not run, so that nothing here is passed to lowering. `attributes` is the table of
//! built-in values, `members` describes parameters and members of structures, `inputs` checks parameters,
//! `stage_in` per-vertex and per-fragment data, `outputs` results. Rules that kernels share are in
//! [`super::kernel`].
//!
//! Start with [`check`].

mod attributes;
mod inputs;
mod members;
mod objects;
mod outputs;
mod stage_in;

use super::checker::Checker;
use super::function;
use super::kernel;
use super::scopes::ScopeId;
use crate::ast::{self, GraphicsStage};
use crate::hir::{FuncId, QualTy};
use anymetal_diagnostics::{Diagnostic, Span};
use attributes::Tags;

pub(super) use attributes::is_tile_value;
pub(super) use members::Attributed;
pub(super) use objects::{Object, object};
pub use stage_in::VertexInput;

/// Checks the attributes, parameters and result of a graphics function; its body is checked as any other.
pub(super) fn check(cx: &mut Checker<'_>, func: FuncId, stage: GraphicsStage) {
    let Some((ast, scope)) = definition(cx, func) else { return };
    function_attributes(cx, ast, stage);
    let max_threads = kernel::max_threads(cx, func);
    kernel::required_threads(cx, func, max_threads);
    cx.in_scope(scope, |cx| {
        let tags = Tags::of(cx, ast);
        let read = inputs::check(cx, func, ast, stage, &tags);
        let written = outputs::check(cx, func, ast, stage, &tags);
        check_attachments(cx, &read, &written);
    });
}

/// A value of a colour attachment.
struct Color {
    attachment: u32,
    index: u32,
    ty: QualTy,
    span: Span,
}

/// The values of one colour attachment have one type (MSL 5.2.3.5).
fn check_attachments(cx: &mut Checker<'_>, read: &[Color], written: &[Color]) {
    for (n, color) in written.iter().enumerate() {
        let others = read.iter().chain(&written[..n]);
        let mut same = others.filter(|other| other.attachment == color.attachment);
        if let Some(other) = same.find(|other| other.ty.ty != color.ty.ty) {
            let (ty, other_ty) = (cx.show(color.ty.unqualified()), cx.show(other.ty.unqualified()));
            let message = format!("color {} has two types, `{other_ty}` and `{ty}`", color.attachment);
            let diagnostic = Diagnostic::error("stage-attribute-type", color.span, message);
            cx.report(diagnostic.with_note(other.span, "the other value is here"));
        }
    }
}

/// What a vertex function reads of each vertex; nothing after errors, which [`check`] reports.
pub(super) fn vertex_inputs(cx: &mut Checker<'_>, func: FuncId) -> Vec<VertexInput> {
    let Some((ast, scope)) = definition(cx, func) else { return Vec::new() };
    let types = cx.functions.inst(func).params.clone();
    let mut params = ast.params.iter().zip(types.iter()).map(|(param, &ty)| Attributed::of_param(param, ty));
    let Some(param) = params.find(|param| param.attribute("stage_in").is_some()) else { return Vec::new() };
    let inputs = cx.quietly(|cx| cx.in_scope(scope, |cx| stage_in::vertex_inputs(cx, &param)));
    inputs.unwrap_or_default()
}

/// The definition of a graphics function, or its declaration, and the scope of that; nothing for
/// functions that no source declares.
fn definition<'a>(cx: &mut Checker<'a>, func: FuncId) -> Option<(&'a ast::Function, ScopeId)> {
    let decl = cx.functions.inst(func).origin.decl()?;
    Some(match function::find_definition(cx, func, decl) {
        Some(definition) => (definition.ast, definition.scope),
        None => (cx.functions.decl(decl).ast, cx.functions.inst(func).scope),
    })
}

/// Attributes of the function that belong to functions of certain stages.
fn function_attributes(cx: &mut Checker<'_>, ast: &ast::Function, stage: GraphicsStage) {
    use GraphicsStage::{Fragment, Mesh, Object, Vertex};
    for attribute in &ast.attributes {
        let stages: &[GraphicsStage] = match attribute.name.as_str() {
            "early_fragment_tests" => &[Fragment],
            "patch" => &[Vertex],
            "max_total_threadgroups_per_mesh_grid" => &[Object],
            "max_total_threads_per_threadgroup" | "required_threads_per_threadgroup" => &[Object, Mesh],
            _ => continue,
        };
        if !stages.contains(&stage) {
            wrong_stage(cx, attribute.name.as_str(), attribute.span, stage);
        }
    }
}

/// Reports an attribute that functions of the stage do not have.
fn wrong_stage(cx: &mut Checker<'_>, attribute: &str, span: Span, stage: GraphicsStage) {
    let message = format!("`{attribute}` is not for {} functions", stage.name());
    cx.error("stage-attribute", span, message);
}
