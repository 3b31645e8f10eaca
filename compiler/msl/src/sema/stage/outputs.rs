//! Results of graphics functions: outputs to the rasteriser, to render targets and to the intersector
//! (MSL 5.2.3.3, 5.2.3.5, 5.2.3.8).

use super::Color;
use super::attributes::{self, Role, Tags, Takes};
use super::members::{self, Attributed, word};
use crate::ast::{self, GraphicsStage};
use crate::hir::{FuncId, QualTy, RecordId, Ty, TyKind};
use crate::sema::checker::Checker;
use crate::sema::limits::MAX_COLOR_ATTACHMENTS;
use crate::sema::{kernel, record};
use crate::token::Name;
use anymetal_diagnostics::Span;

/// The members of a result.
#[derive(Default)]
struct Outputs {
    built_in: Vec<&'static str>,
    /// The names of `[[user(name)]]`.
    users: Vec<Name>,
    /// Colours with a number.
    colors: Vec<Color>,
    /// Colours of a fragment function without a number.
    unnumbered: Vec<(QualTy, Span)>,
}

/// Checks the result; returns the colours that the function writes.
pub(super) fn check<'a>(
    cx: &mut Checker<'a>,
    func: FuncId,
    ast: &'a ast::Function,
    stage: GraphicsStage,
    tags: &Tags,
) -> Vec<Color> {
    // A result type that is deduced is in error if it is not known after the body.
    let Some(ret) = cx.functions.inst(func).ret else { return Vec::new() };
    let span = ast.ret.as_ref().map_or(ast.span, |ret| ret.span);
    if cx.is_dependent(ret.ty) || (ret.ty == Ty::VOID && stage != GraphicsStage::Intersection) {
        return Vec::new();
    }
    let structure = cx.types.as_record(ret.ty).filter(|&id| !cx.types.record(id).is_union);
    let (fits, wanted) = match stage {
        GraphicsStage::Object | GraphicsStage::Mesh => (false, "`void`"),
        GraphicsStage::Vertex => {
            (Takes::Float4.admits(&cx.types, ret), "`void`, `float4` or a structure with a position")
        }
        GraphicsStage::Fragment => (Takes::Color.admits(&cx.types, ret), "`void`, a colour or a structure"),
        GraphicsStage::Intersection => (Takes::Bool.admits(&cx.types, ret), "`bool` or a structure"),
    };
    let is_for_rasteriser = !matches!(stage, GraphicsStage::Object | GraphicsStage::Mesh);
    match structure.filter(|_| is_for_rasteriser) {
        Some(id) if record::complete_type(cx, ret.ty, span) => {
            return structure_of(cx, id, ast, stage, tags, span);
        }
        Some(_) => {}
        None if fits && stage == GraphicsStage::Fragment => {
            return vec![Color { attachment: 0, index: 0, ty: ret, span }];
        }
        None if fits => {}
        None => {
            let shown = cx.show(ret);
            let message = format!("the result of {} functions is {wanted}, not `{shown}`", stage.name());
            cx.error("stage-result", span, message);
        }
    }
    Vec::new()
}

/// A structure that a vertex, fragment or intersection function returns.
fn structure_of<'a>(
    cx: &mut Checker<'a>,
    id: RecordId,
    ast: &'a ast::Function,
    stage: GraphicsStage,
    tags: &Tags,
    span: Span,
) -> Vec<Color> {
    let before = cx.diagnostics.error_count();
    let mut outputs = outputs_of(cx, id, stage, span);
    if cx.diagnostics.error_count() > before {
        return Vec::new();
    }
    for name in &outputs.built_in {
        tags.check_output(cx, name, span);
    }
    let has = |name: &str| outputs.built_in.contains(&name);
    let required = match stage {
        GraphicsStage::Vertex => Some("position"),
        GraphicsStage::Intersection => Some("accept_intersection"),
        _ => None,
    };
    if let Some(required) = required.filter(|required| !has(required)) {
        let shown = &cx.types.record(id).name;
        let message = format!(
            "{} functions return a structure with a member `{required}`, and `{shown}` has none",
            stage.name()
        );
        cx.error("stage-result", span, message);
    }
    let early = ast.attributes.iter().find(|attribute| attribute.name.as_str() == "early_fragment_tests");
    if let Some(early) = early.filter(|_| has("depth") || has("stencil")) {
        let message = "a function with `early_fragment_tests` returns neither a depth nor a stencil value";
        cx.error("stage-result", early.span, message);
    }
    if let [(ty, span)] = outputs.unnumbered[..] {
        outputs.colors.push(Color { attachment: 0, index: 0, ty, span });
    }
    outputs.colors
}

/// Checks the vertices or primitives of a mesh, which are as the results of vertex functions.
pub(super) fn of_mesh(cx: &mut Checker<'_>, id: RecordId, span: Span) {
    outputs_of(cx, id, GraphicsStage::Mesh, span);
}

fn outputs_of(cx: &mut Checker<'_>, id: RecordId, stage: GraphicsStage, span: Span) -> Outputs {
    let mut outputs = Outputs::default();
    let scope = cx.records.get(id).scope;
    cx.in_scope(scope, |cx| {
        for (field, declared) in kernel::stage_in_members(cx, id, span) {
            output(cx, &Attributed::of_member(&field, declared), stage, &mut outputs);
        }
    });
    let colors = outputs.unnumbered.len() + outputs.colors.len();
    if let Some(&(_, span)) = outputs.unnumbered.first().filter(|_| colors > 1) {
        cx.error("stage-result", span, "of several colours, each has a number, `[[color(n)]]`");
    }
    outputs
}

fn output<'a>(cx: &mut Checker<'a>, member: &Attributed<'a>, stage: GraphicsStage, outputs: &mut Outputs) {
    // Imageblock data are a structure of any members.
    if cx.is_dependent(member.ty.ty) || member.attribute("imageblock_data").is_some() {
        return;
    }
    if let Some(condition) = member.attribute("function_constant") {
        kernel::condition(cx, condition);
    }
    let Some((attribute, row)) = member.built_in(stage, Role::Output) else {
        return ordinary(cx, member, stage, outputs);
    };
    members::check_type(cx, member, row);
    if let Some(invariant) = member.attribute("invariant").filter(|_| row.name != "position") {
        cx.error("stage-attribute", invariant.span, "`invariant` is for a `position` only");
    }
    match row.name {
        "color" => color(cx, member, attribute, outputs),
        "depth"
            if !matches!(
                attribute.args.first().and_then(word).map(Name::as_str),
                Some("any" | "greater" | "less")
            ) =>
        {
            cx.error("attribute-argument", attribute.span, "`depth` takes `any`, `greater` or `less`");
        }
        name if outputs.built_in.contains(&name) => {
            let message = format!("two members of one result are `{name}`");
            cx.error("duplicate-attribute", attribute.span, message);
        }
        _ => {}
    }
    outputs.built_in.push(row.name);
}

/// A member that is not a built-in value: data for the fragment function, or a colour without a number.
fn ordinary<'a>(cx: &mut Checker<'a>, member: &Attributed<'a>, stage: GraphicsStage, outputs: &mut Outputs) {
    if let Some(attribute) = member.attributes.iter().find(|found| attributes::is_built_in(found)) {
        let message = format!("`{}` is not an output of {} functions", attribute.name, stage.name());
        cx.error("stage-attribute", attribute.span, message);
        return;
    }
    if let Some(name) = member.attribute("user").and_then(|user| word(user.args.first()?)) {
        if outputs.users.contains(&name) {
            cx.error("duplicate-attribute", member.span, format!("two members are `user({name})`"));
        }
        outputs.users.push(name);
    }
    let is_valid = match stage {
        GraphicsStage::Fragment => {
            outputs.unnumbered.push((member.ty, member.span));
            Takes::Color.admits(&cx.types, member.ty)
        }
        _ => is_data(cx, member),
    };
    if !is_valid || member.is_indirect {
        let shown = cx.show(member.ty);
        let message = format!(
            "member `{}` of type `{shown}` cannot be returned by {} functions",
            member.name,
            stage.name()
        );
        cx.error("stage-result", member.span, message);
    }
}

/// Whether a member is data between stages: scalars and vectors, and arrays of them (MSL 5.11).
fn is_data(cx: &Checker<'_>, member: &Attributed<'_>) -> bool {
    let mut ty = member.ty;
    while let TyKind::Array(element, _) = *cx.types.kind(ty.ty) {
        ty = ty.with_ty(element);
    }
    attributes::value(&cx.types, ty).is_some()
}

fn color<'a>(
    cx: &mut Checker<'a>,
    member: &Attributed<'a>,
    attribute: &'a ast::Attribute,
    outputs: &mut Outputs,
) {
    let Some(attachment) = kernel::index_of(cx, attribute, MAX_COLOR_ATTACHMENTS - 1) else { return };
    let kernel::Index::Known(attachment) = attachment else {
        // Which attachment it is, function constants specify (MSL 5.8.1.5).
        return;
    };
    let index = match member.attribute("index") {
        Some(index) => kernel::attribute_index(cx, index, 1),
        None => Some(0),
    };
    let Some(index) = index else { return };
    if outputs.colors.iter().any(|color| color.attachment == attachment && color.index == index) {
        let message = format!("color {attachment} with index {index} is given to two members");
        cx.error("duplicate-index", attribute.span, message);
    }
    outputs.colors.push(Color { attachment, index, ty: member.ty, span: member.span });
}
