//! Semantic analysis: names, types, overloads, templates, constants.
//!
//! A [`Prelude`] is the library's symbol table, built once and shared. A [`Unit`] adds one program's
//! declarations. Nothing is checked before it is used: [`Unit::kernels`] only reads names, and
//! [`Unit::check_kernel`] checks and instantiates what that one kernel reaches. Each check has a separate
//! state (the private `Checker`), so that several threads can check kernels at once. The result is a typed,
//! monomorphic [`crate::hir::Program`].
//!
//! Invariant: whatever the program, checking ends: nesting, instantiations and constant evaluation are
//! bounded, each with a diagnostic. Checks run with a large stack.
//!
//! # The objects of a check
//!
//! The rules of C++ depend on one another in cycles: a type may need the type of an expression, which may
//! need an overload, which may instantiate a class, whose size may need a constant. A rule is a function in
//! the module of its concept: `convert::to_type`, `overload::resolve`. `check` in a module named after a
//! syntactic form checks that form.
//!
//! A rule that is part of the cycle takes the `Checker` as `cx`. A rule that needs at most three objects of
//! the check borrows exactly these (`types: &Types`, `diagnostics: &mut Diagnostics`), so that its signature
//! says what it reads and changes. The `Checker` itself only creates and contains the objects, reports, and
//! changes their state temporarily.
//!
//! The objects do not call rules. Each owns one concern, and its methods borrow the other objects that they
//! need:
//!
//! | object | owns | borrows |
//! |---|---|---|
//! | `table::Layer` | the declarations of each namespace, immutable and shared | |
//! | `hir::Types` | types, interned, and their layout | |
//! | `diagnostics::Diagnostics` | reported, suppressed and deferred diagnostics, the instantiation trace | |
//! | `limits::Limits` | counts of nesting, instantiations, pack elements and steps | diagnostics |
//! | `scopes::Scopes` | scopes, the current scope, and the walk outwards that looks up a name | table |
//! | `lookup::Lookups` | cached results of lookups in namespaces and of aliases | |
//! | `record::Records`, `enumeration::Enums` | classes and enumerations, each created once | types |
//! | `function::Functions` | declared functions and their instances | types |
//! | `variable::Globals` | variables with static storage and their values | |
//! | `template_template::Templates` | templates that are template arguments | types, records |
//! | `collect::ProgramData` | global data, threadgroup variables and function constants of the result | |
//! | `dispatch::Linking` | the targets of function pointers | |
//! | `fn_context::FnContext` | the function whose body is being checked | |
//! | `fn_context::LocalConstants` | the values of constant variables of functions | |
//! | `entities::Placeholders` | the meaning of `auto` and of pack names in the current code | |
//! | `arena::MadeSyntax` | syntax that the check creates | scopes |
//!
//! Three more objects exist for a moment and borrow from these: `values::Values` creates typed expressions
//! from typed operands, `deduce::PatternOrder` compares templates, and the machine in `evaluate` runs
//! constant expressions.
//!
//! The key of a fact about a declaration is its [`crate::ast::NodeId`] and its scope: a member of a class
//! template is one node, but a different declaration in each instance.
//!
//! A temporary change of an object (the current scope or function, suppressed reporting, nesting, the element
//! of a pack) is a method of the checker that takes a closure and restores the object afterwards
//! (`checker/nested.rs`).
//! Constant evaluation does not call back: at a function that is not checked yet it stops, the checker
//! checks the function, and the evaluation is repeated.
//!
//! # Where to find what
//!
//! Each is a file, most with a folder of parts:
//! - the state of a check: `checker` and the objects above; `entities` has the ids and what names stand for
//! - names: `lookup`, `access`, `ambiguity`, `path`, `ast_names`, `out_of_line` (members defined outside of
//!   their class)
//! - types: `resolve_type`, `type_names`, `record`, `enumeration`, `traits`
//! - templates: `template_args`, `pattern`, `deduce`, `specialise`, `packs`, `class_deduction`, `guides`,
//!   `equivalence` (equal declarations), `explicit` (specialisations and instantiations as declarations),
//!   `template_heads`
//! - functions and calls: `function`, `overload`, `call`, `builtin_call`, `compiler_builtin`, `lambda`
//! - copies, default constructors, deleted functions: `special`, `destructor`, `defaulted`
//! - expressions: `expr` (the dispatch), `operator`, `assign`, `member`, `convert`, `cast`, `construct`,
//!   `fold`, `value_category`, `values`
//! - variables and statements: `variable`, `init`, `bindings`, `stmt`
//! - constants: `evaluate`, `narrowing`
//! - the whole program: `kernel`, `collect`, `tail_call`, `walk`
//!
//! Items that only one part needs are private to its file; a folder's parts share the private items of their
//! parent. Other modules call a part's functions by the name of the parent, which re-exports them.

mod access;
mod alignment;
mod ambiguity;
mod arena;
mod assign;
pub(crate) mod ast_names;
mod bindings;
mod builtin_call;
mod call;
mod cast;
mod checker;
mod class_deduction;
mod collect;
mod compiler_builtin;
mod construct;
mod convert;
mod data_member;
mod declaration_order;
mod deduce;
mod default_arguments;
mod defaulted;
mod destructor;
mod diagnostics;
mod dispatch;
mod entities;
mod enumeration;
mod equivalence;
mod evaluate;
mod explicit;
mod expr;
mod fn_context;
mod fold;
mod function;
mod function_pointer;
mod function_table;
mod guides;
mod implicit_constexpr;
mod init;
mod kernel;
mod lambda;
mod limits;
mod lint;
mod log_call;
mod lookup;
mod member;
mod names;
mod narrowing;
mod noexcept;
mod odr_use;
mod operator;
mod out_of_line;
mod overload;
mod packs;
mod path;
mod pattern;
mod record;
mod redeclare;
mod resolve_type;
mod rules;
mod scopes;
mod special;
mod specialise;
pub(crate) mod spelling;
mod stage;
mod static_members;
mod stmt;
mod table;
mod tail_call;
mod template_args;
mod template_heads;
mod template_template;
mod traits;
mod type_names;
mod uninstantiated;
mod using_rules;
mod value_category;
mod values;
mod variable;
mod walk;
mod whole_program;

#[cfg(test)]
mod tests;

use crate::ast::{GraphicsStage, Item, ItemKind};
use crate::functions::{FunctionHandle, FunctionHandles};
use crate::hir::{Kernel, Program};
use crate::stack::on_large_stack;
use anymetal_diagnostics::{Diagnostic, EnabledWarnings, Sink, Span};
use arena::Arena;
use checker::Checker;
use kernel::EntranceKind;
pub use stage::VertexInput;
use std::sync::Arc;
use table::Layer;
pub(crate) use walk::operands;

/// The library's declarations.
#[derive(Debug)]
pub struct Prelude {
    layer: Arc<Layer>,
}

impl Prelude {
    /// Builds the table of a parsed unit of the library, perhaps on top of another. Problems are mistakes in
    /// the library.
    pub fn build(below: Option<&Self>, items: Vec<Item>, sink: &mut Sink) -> Arc<Self> {
        let below = below.map(|below| below.layer.clone());
        Arc::new(Self { layer: Arc::new(Layer::build(below, items, sink)) })
    }
}

/// An entry point that the host can name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KernelSymbol {
    /// The name the host uses.
    pub name: String,
    /// Where it is declared.
    pub span: Span,
}

/// A graphics function that the host can name.
#[derive(Clone, Debug)]
pub struct GraphicsSymbol {
    /// The name the host uses.
    pub name: String,
    /// The stage that it is for.
    pub stage: GraphicsStage,
    /// The members of a vertex function's per-vertex data.
    pub inputs: Vec<VertexInput>,
}

/// One program's declarations on top of the library.
#[derive(Debug)]
pub struct Unit {
    layer: Layer,
    entrances: Vec<kernel::Entrance>,
    warnings: EnabledWarnings,
}

impl Unit {
    /// Enters a parsed program's declarations. Bodies are not checked here.
    pub fn new(prelude: Arc<Prelude>, items: Vec<Item>, warnings: EnabledWarnings, sink: &mut Sink) -> Self {
        let layer = Layer::build(Some(prelude.layer.clone()), items, sink);
        redeclare::check(&layer, sink);
        template_heads::check(&layer, sink);
        let entrances = kernel::entrances(&layer);
        let unit = Self { layer, entrances, warnings };
        if !sink.has_errors() && redeclare::may_repeat_functions(&unit.layer) {
            unit.check_alone(&FunctionHandles::default(), sink, redeclare::check_functions);
        }
        unit
    }

    /// Runs a check of the whole unit; an error of the system that leaves no thread leaves no report.
    fn check_alone(
        &self,
        functions: &FunctionHandles,
        sink: &mut Sink,
        check: impl for<'a> Fn(&mut Checker<'a>, &'a Layer) + Sync + Send,
    ) {
        let found = on_large_stack(|| {
            let arena = Arena::default();
            let mut checker = Checker::new(&self.layer, &arena, self.links(functions, Span::NONE));
            check(&mut checker, &self.layer);
            checker.diagnostics.take()
        });
        for diagnostic in found.map_or_else(|_| Vec::new(), Sink::into_diagnostics) {
            sink.push(diagnostic);
        }
    }

    /// The entry points, in the order they are declared: kernels that are no templates, and explicit
    /// instantiations with a host name.
    pub fn kernels(&self) -> Vec<KernelSymbol> {
        self.symbols(EntranceKind::Kernel)
    }

    /// The visible functions with a definition, likewise.
    pub fn visible_functions(&self) -> Vec<KernelSymbol> {
        self.symbols(EntranceKind::Visible)
    }

    /// The graphics functions with a definition, likewise.
    pub fn graphics_functions(&self) -> Vec<GraphicsSymbol> {
        if !self.entrances.iter().any(|entrance| matches!(entrance.kind, EntranceKind::Graphics(_))) {
            return Vec::new();
        }
        let found = on_large_stack(|| {
            let arena = Arena::default();
            let handles = FunctionHandles::default();
            let mut checker = Checker::new(&self.layer, &arena, self.links(&handles, Span::NONE));
            let symbol = |entrance| graphics_symbol(&mut checker, entrance);
            self.entrances.iter().filter_map(symbol).collect::<Vec<_>>()
        });
        found.unwrap_or_default()
    }

    fn symbols(&self, kind: EntranceKind) -> Vec<KernelSymbol> {
        let of_kind = self.entrances.iter().filter(|entrance| entrance.kind == kind);
        of_kind.map(|e| KernelSymbol { name: e.name.clone(), span: e.span }).collect()
    }

    fn entrance(&self, name: &str, kind: EntranceKind) -> Option<&kernel::Entrance> {
        self.entrances.iter().find(|entrance| entrance.kind == kind && entrance.name == name)
    }

    /// Checks one entry point and everything it reaches. `None` after errors, or if there is none of
    /// that name.
    pub fn check_kernel(&self, name: &str, functions: &FunctionHandles, sink: &mut Sink) -> Option<Program> {
        let entrance = self.entrance(name, EntranceKind::Kernel)?;
        self.check(entrance, functions, sink, check_entrance)
    }

    /// Checks one visible function and everything it reaches; the program's kernel has its name, its code,
    /// and no arguments. `None` after errors, or if there is none of that name.
    pub fn check_function(
        &self,
        name: &str,
        functions: &FunctionHandles,
        sink: &mut Sink,
    ) -> Option<Program> {
        let entrance = self.entrance(name, EntranceKind::Visible)?;
        self.check(entrance, functions, sink, check_visible)
    }

    /// The type of a visible function, as other libraries have it. `None` after errors, or if there is none
    /// of that name.
    pub fn function_type(&self, name: &str, sink: &mut Sink) -> Option<String> {
        let entrance = self.entrance(name, EntranceKind::Visible)?;
        self.check(entrance, &FunctionHandles::default(), sink, |mut checker, _, entrance| {
            let function = kernel::function(&mut checker, entrance);
            let ty = function
                .and_then(|function| function_pointer::signature_of(&mut checker, function, entrance.span));
            (ty.map(|ty| dispatch::signature_key(&checker.types, ty)), checker.diagnostics.take())
        })
    }

    fn check<T: Send>(
        &self,
        entrance: &kernel::Entrance,
        functions: &FunctionHandles,
        sink: &mut Sink,
        check: impl for<'a> Fn(Checker<'a>, &'a Layer, &kernel::Entrance) -> (Option<T>, Sink) + Sync + Send,
    ) -> Option<T> {
        let (result, found) = on_large_stack(|| {
            let arena = Arena::default();
            let links = self.links(functions, entrance.span);
            let checker = Checker::new(&self.layer, &arena, links);
            check(checker, &self.layer, entrance)
        })
        .ok()?;
        for diagnostic in found.into_diagnostics() {
            sink.push(diagnostic);
        }
        result
    }

    fn links<'a>(&'a self, functions: &'a FunctionHandles, span: Span) -> Links<'a> {
        let (entrances, warnings) = (&self.entrances, &self.warnings);
        Links { handles: &functions.handles, next: functions.next, entrances, warnings, span }
    }

    /// Checks everything that can be checked without a kernel: all functions and variables that are no
    /// templates, static assertions, all explicit instantiations.
    pub fn check_all(&self, sink: &mut Sink) {
        // A failure that the parser has reported is not reported again.
        let is_explained = sink.has_errors();
        self.check_alone(&FunctionHandles::default(), sink, |checker, layer| {
            whole_program::check(checker, layer, &self.entrances);
            if !is_explained {
                checker.diagnostics.finish();
            }
        });
    }

    /// Checks all kernels and graphics functions and what they reach, each function once: what checks of the
    /// kernels one by one find, and what is wrong with functions that do not run.
    pub fn check_kernels(&self, functions: &FunctionHandles, sink: &mut Sink) {
        self.check_alone(functions, sink, |checker, layer| {
            check_static_assertions(checker, layer);
            whole_program::check_kernels(checker, &self.entrances);
            whole_program::check_graphics(checker, &self.entrances);
            checker.diagnostics.finish();
        });
    }
}

/// What the host sees of an entry point, if that is a graphics function.
fn graphics_symbol(checker: &mut Checker<'_>, entrance: &kernel::Entrance) -> Option<GraphicsSymbol> {
    let EntranceKind::Graphics(stage) = entrance.kind else { return None };
    // A function that does not compile has a name all the same; the library's check reports it.
    let function = checker.quietly(|checker| kernel::function(checker, entrance)).ok().flatten();
    let inputs = match (stage, function) {
        (GraphicsStage::Vertex, Some(function)) => stage::vertex_inputs(checker, function),
        _ => Vec::new(),
    };
    Some(GraphicsSymbol { name: entrance.name.clone(), stage, inputs })
}

/// The functions that pointers may name, for one check.
#[derive(Clone, Copy, Debug)]
struct Links<'a> {
    handles: &'a [FunctionHandle],
    /// The first number for other functions.
    next: u32,
    entrances: &'a [kernel::Entrance],
    warnings: &'a EnabledWarnings,
    /// What is checked.
    span: Span,
}

fn check_visible<'a>(
    mut checker: Checker<'a>,
    layer: &'a Layer,
    entrance: &kernel::Entrance,
) -> (Option<Program>, Sink) {
    check_static_assertions(&mut checker, layer);
    let Some(function) = kernel::function(&mut checker, entrance) else {
        return (None, checker.diagnostics.take());
    };
    collect::check_reachable(&mut checker, function);
    checker.diagnostics.finish();
    let found = checker.diagnostics.take();
    if found.has_errors() {
        return (None, found);
    }
    let name = entrance.name.clone();
    let kernel = Kernel { name, function, params: Vec::new(), max_threads: None, required_threads: None };
    let program = collect::program(checker, function, kernel);
    let Some(resource) = program.as_ref().and_then(|program| program.kernel.params.first()) else {
        return (program, found);
    };
    let mut found = found;
    let message =
        format!("`{}` is bound for kernels: functions for other libraries cannot use it", resource.name);
    found.push(Diagnostic::error("unsupported-feature", resource.span, message));
    (None, found)
}

fn check_entrance<'a>(
    mut checker: Checker<'a>,
    layer: &'a Layer,
    entrance: &kernel::Entrance,
) -> (Option<Program>, Sink) {
    check_static_assertions(&mut checker, layer);
    let Some(func) = kernel::function(&mut checker, entrance) else {
        return (None, checker.diagnostics.take());
    };
    let params = kernel::check_params(&mut checker, func);
    let max_threads = kernel::max_threads(&mut checker, func);
    let required_threads = kernel::required_threads(&mut checker, func, max_threads);
    kernel::check_result(&checker.functions, &mut checker.diagnostics, func, entrance.span);
    collect::check_reachable(&mut checker, func);
    for fetch in params.iter().flatten().flat_map(|param| kernel::fetches(&param.kind)) {
        collect::check_reachable(&mut checker, fetch);
    }
    checker.diagnostics.finish();
    let found = checker.diagnostics.take();
    let Some(params) = params.filter(|_| !found.has_errors()) else { return (None, found) };
    let kernel =
        Kernel { name: entrance.name.clone(), function: func, params, max_threads, required_threads };
    (collect::program(checker, func, kernel), found)
}

/// Checks the assertions outside of functions and records, which hold for every kernel.
fn check_static_assertions<'a>(checker: &mut Checker<'a>, layer: &'a Layer) {
    for (id, entry) in layer.own_items() {
        if let ItemKind::StaticAssert(cond, message) = &entry.item.kind
            && !checker.diagnostics.gave_up()
        {
            let scope = checker.scopes.of_item(id);
            checker.in_scope(scope, |c| evaluate::static_assert(c, cond, *message, entry.item.span));
        }
    }
}
