//! Kernels: finding entry points, and what their attributes say.
//!
//! `instantiation` finds the function of an entry point, `params` classifies its parameters, `structure` the
//! members of structures of resources, `stage_in` those of stage-in data. `indices` assigns the indices at
//! which the host binds them, `program_scope` handles resources that are variables.

mod indices;
mod instantiation;
mod params;
mod program_scope;
mod resources;
mod stage_in;
mod structure;

use super::checker::Checker;
use super::diagnostics::Diagnostics;
use super::entities::FnDeclId;
use super::function::Functions;
use super::scopes::ScopeId;
use super::table::{Entry, ItemId, Layer};
use super::{evaluate, expr};
use crate::ast::{self, ExprKind as Ast, GraphicsStage, ItemKind};
use crate::hir::{DISPATCH_QUADGROUPS, FuncId, GRID_ORIGIN, GRID_SIZE, Ty};
use crate::token::Name;
use anymetal_abi::MAX_THREADS_PER_THREADGROUP;
use anymetal_diagnostics::Span;
use anymetal_ir::Query;
use rustc_hash::{FxHashMap, FxHashSet};

pub(super) use indices::{
    Index, Indices, Table, argument_binding, argument_condition, attribute_index, condition, index_of,
};
pub(super) use instantiation::{Signature, function, instantiated, instantiated_by_signature};
pub(super) use params::{check_params, pointer_argument, shown_name, thread_fact_type};
pub(super) use program_scope::{ScopeResources, into_parameters, is_resource, resource_of_variable};
pub(super) use resources::{resource_argument, resource_kind, resource_type};
pub(super) use stage_in::{fetches, stage_in_attribute, stage_in_members};
pub(super) use structure::{is_structure_of_resources, structure_argument};

/// An entry point, before anything about it is checked.
#[derive(Clone, Debug)]
pub(super) struct Entrance {
    pub(super) name: String,
    pub(super) item: ItemId,
    pub(super) span: Span,
    pub(super) kind: EntranceKind,
}

/// What kind of function the host can name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EntranceKind {
    Kernel,
    /// `[[visible]]` or `[[stitchable]]`
    Visible,
    /// A visible function that is only declared: another library has it.
    VisibleDeclaration,
    Graphics(GraphicsStage),
}

impl EntranceKind {
    /// Whether the function is for tables and other libraries.
    pub(super) fn is_visible(self) -> bool {
        matches!(self, Self::Visible | Self::VisibleDeclaration)
    }
}

/// Whether a function is for tables and other libraries.
pub(super) fn is_visible(attributes: &[ast::Attribute]) -> bool {
    attributes.iter().any(|attribute| matches!(attribute.name.as_str(), "visible" | "stitchable"))
}

fn host_name(attributes: &[ast::Attribute]) -> Option<Name> {
    let attribute = attributes.iter().find(|attribute| attribute.name.as_str() == "host_name")?;
    match attribute.args.first()?.kind {
        Ast::Str(name) => Some(name),
        _ => None,
    }
}

/// Function templates of a layer by name, of whose instances none is a kernel.
#[derive(Default)]
struct Templates {
    /// Visible ones, and whether they are defined.
    visible: FxHashMap<Name, bool>,
    graphics: FxHashMap<Name, GraphicsStage>,
}

impl Templates {
    fn of(table: &Layer) -> Self {
        let mut found = Self::default();
        for (_, entry) in table.own_items() {
            let ItemKind::Function(function) = &entry.item.kind else { continue };
            let ast::FunctionName::Name(name) = function.name else { continue };
            if entry.item.template.is_some() && is_visible(&function.attributes) {
                *found.visible.entry(name).or_default() |=
                    matches!(function.body, ast::FunctionBody::Block(_));
            } else if entry.item.template.is_some()
                && let Some(stage) = function.specifiers.graphics
            {
                found.graphics.insert(name, stage);
            }
        }
        found
    }
}

/// The names of the functions with a body, templates left out: a visible function may be declared as such and
/// defined without a word of it.
fn defined_functions(table: &Layer) -> FxHashSet<String> {
    let defined = |entry: &Entry| match &entry.item.kind {
        ItemKind::Function(function)
            if entry.item.template.is_none() && matches!(function.body, ast::FunctionBody::Block(_)) =>
        {
            let name = function.name.ordinary()?;
            Some(format!("{}{name}", table.prefix(entry.ns)))
        }
        _ => None,
    };
    table.own_items().filter_map(|(_, entry)| defined(entry)).collect()
}

/// The entry point an item declares, if any.
fn entrance(table: &Layer, templates: &Templates, id: ItemId, entry: &Entry) -> Option<Entrance> {
    match &entry.item.kind {
        ItemKind::Function(function) if is_visible(&function.attributes) => {
            let name = function.name.ordinary()?;
            if entry.item.template.is_some() {
                return None;
            }
            let host = host_name(&function.attributes);
            let name =
                host.map_or_else(|| format!("{}{name}", table.prefix(entry.ns)), |host| host.to_string());
            let kind = match function.body {
                ast::FunctionBody::Block(_) => EntranceKind::Visible,
                _ => EntranceKind::VisibleDeclaration,
            };
            Some(Entrance { name, item: id, span: function.span, kind })
        }
        ItemKind::Function(function) if matches!(function.body, ast::FunctionBody::Block(_)) => {
            let kind = match function.specifiers.graphics {
                Some(stage) => EntranceKind::Graphics(stage),
                None if function.specifiers.is_kernel => EntranceKind::Kernel,
                None => return None,
            };
            // A template is none, a full specialisation of one is when it has a host name.
            let host = host_name(&function.attributes);
            if entry.item.template.is_some()
                && (host.is_none() || !entry.item.template.as_ref()?.params.is_empty())
            {
                return None;
            }
            let name = function.name.ordinary()?;
            let name =
                host.map_or_else(|| format!("{}{name}", table.prefix(entry.ns)), |host| host.to_string());
            Some(Entrance { name, item: id, span: function.span, kind })
        }
        ItemKind::ExplicitInstantiation(instantiation)
            if !instantiation.is_record && !instantiation.is_extern =>
        {
            let name = host_name(&instantiation.attributes)?;
            let template = instantiation.path.segments.last()?.name;
            let kind = match (templates.visible.get(&template), templates.graphics.get(&template)) {
                (Some(true), _) => EntranceKind::Visible,
                (Some(false), _) => EntranceKind::VisibleDeclaration,
                (None, Some(stage)) => EntranceKind::Graphics(*stage),
                (None, None) => EntranceKind::Kernel,
            };
            Some(Entrance { name: name.to_string(), item: id, span: entry.item.span, kind })
        }
        _ => None,
    }
}

/// The entry points of a layer, in the order they are declared.
pub(super) fn entrances(table: &Layer) -> Vec<Entrance> {
    let templates = Templates::of(table);
    let mut found: Vec<Entrance> =
        table.own_items().filter_map(|(id, entry)| entrance(table, &templates, id, entry)).collect();
    let named = |found: &[Entrance], kind| -> FxHashSet<String> {
        found.iter().filter(|entrance| entrance.kind == kind).map(|entrance| entrance.name.clone()).collect()
    };
    if named(&found, EntranceKind::VisibleDeclaration).is_empty() {
        return found;
    }
    let (mut visible, defined) = (named(&found, EntranceKind::Visible), defined_functions(table));
    for entrance in found.iter_mut().filter(|entrance| entrance.kind == EntranceKind::VisibleDeclaration) {
        // Of several declarations the first stands for the definition.
        if defined.contains(&entrance.name) && visible.insert(entrance.name.clone()) {
            entrance.kind = EntranceKind::Visible;
        }
    }
    found
}

/// Facts about the thread by attribute: the query and how many components it has.
pub(super) fn thread_attribute(name: &str) -> Option<(&'static str, Query, u8)> {
    const ALL: &[(&str, Query, u8)] = &[
        ("thread_position_in_grid", Query::ThreadPositionInGrid(0), 3),
        ("thread_position_in_threadgroup", Query::ThreadPositionInThreadgroup(0), 3),
        ("threadgroup_position_in_grid", Query::ThreadgroupPositionInGrid(0), 3),
        ("threads_per_grid", Query::ThreadsPerGrid(0), 3),
        ("threads_per_threadgroup", Query::ThreadsPerThreadgroup(0), 3),
        ("dispatch_threads_per_threadgroup", Query::DispatchThreadsPerThreadgroup(0), 3),
        ("threadgroups_per_grid", Query::ThreadgroupsPerGrid(0), 3),
        (GRID_SIZE, Query::ThreadsPerGrid(0), 3),
        (GRID_ORIGIN, Query::ThreadsPerGrid(0), 3),
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

/// Whether an attribute names a per-thread value (`thread_position_in_grid` and the like).
pub(super) fn is_thread_attribute(attribute: &ast::Attribute) -> bool {
    thread_attribute(attribute.name.as_str()).is_some()
}

/// The fact that an attribute of a variable outside of functions names, and how many components it has.
/// Those that are made from others for parameters are left to parameters.
pub(super) fn global_thread_attribute(attribute: &ast::Attribute) -> Option<(Query, u8)> {
    let (name, query, components) = thread_attribute(attribute.name.as_str())?;
    (name != GRID_ORIGIN && name != DISPATCH_QUADGROUPS).then_some((query, components))
}

/// The name by which the host and other libraries know a visible function.
pub(super) fn visible_name(cx: &mut Checker<'_>, func: FuncId, decl: FnDeclId) -> Option<String> {
    if !is_visible(&cx.functions.decl(decl).ast.attributes) {
        return None;
    }
    let declared = cx.linking.links.entrances;
    for entrance in declared.iter().filter(|entrance| entrance.kind.is_visible()) {
        if cx.quietly(|cx| instantiation::function(cx, entrance)).ok().flatten() == Some(func) {
            return Some(entrance.name.clone());
        }
    }
    None
}

/// `[[max_total_threads_per_threadgroup(n)]]`
pub(super) fn max_threads(cx: &mut Checker<'_>, func: FuncId) -> Option<u32> {
    let (attribute, scope) = attribute_of(&cx.functions, func, cx.names.max_total_threads)?;
    let arg = attribute.args.first()?;
    thread_count(cx, arg, scope)
}

/// `[[required_threads_per_threadgroup(x, y, z)]]`; what is left out is 1.
pub(super) fn required_threads(
    cx: &mut Checker<'_>,
    func: FuncId,
    max_threads: Option<u32>,
) -> Option<[u32; 3]> {
    let (attribute, scope) = attribute_of(&cx.functions, func, cx.names.required_threads)?;
    if !(1..=3).contains(&attribute.args.len()) {
        let message = format!("`{}` takes the threads along x, y and z", attribute.name);
        cx.error("attribute-argument", attribute.span, message);
        return None;
    }
    let mut size = [1; 3];
    for (extent, arg) in size.iter_mut().zip(&attribute.args) {
        *extent = thread_count(cx, arg, scope)?;
    }
    let (threads, most) = (size.iter().product::<u32>(), max_threads.unwrap_or(MAX_THREADS_PER_THREADGROUP));
    if threads > most {
        let message = format!("these are {threads} threads, and a threadgroup has at most {most}");
        cx.error("attribute-argument", attribute.span, message);
        return None;
    }
    Some(size)
}

/// An attribute of a kernel's function, and the scope of its arguments.
fn attribute_of<'a>(
    functions: &Functions<'a>,
    func: FuncId,
    name: Name,
) -> Option<(&'a ast::Attribute, ScopeId)> {
    let decl = functions.inst(func).origin.decl()?;
    let attribute = functions.decl(decl).ast.attributes.iter().find(|attribute| attribute.name == name)?;
    Some((attribute, functions.inst(func).scope))
}

/// A number of threads of a threadgroup, as a constant expression.
fn thread_count<'a>(cx: &mut Checker<'a>, arg: &'a ast::Expr, scope: ScopeId) -> Option<u32> {
    let value = cx.in_scope(scope, |cx| {
        let value = expr::check(cx, arg);
        evaluate::constant_integer(cx, value)
    })?;
    match u32::try_from(value) {
        Ok(n @ 1..=MAX_THREADS_PER_THREADGROUP) => Some(n),
        _ => {
            let message =
                format!("a threadgroup has between 1 and {MAX_THREADS_PER_THREADGROUP} threads, not {value}");
            cx.error("attribute-argument", arg.span, message);
            None
        }
    }
}

/// A kernel returns nothing.
pub(super) fn check_result(
    functions: &Functions<'_>,
    diagnostics: &mut Diagnostics,
    func: FuncId,
    span: Span,
) {
    if functions.inst(func).ret.is_some_and(|ret| ret.ty != Ty::VOID) {
        diagnostics.error("kernel-result", span, "a kernel must return `void`");
    }
}
