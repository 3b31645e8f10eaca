//! Collects the program of a kernel: checks the bodies of all functions reachable from it, and renumbers what
//! they use.

use super::checker::Checker;
use super::function::Functions;
use super::kernel::{self, ScopeResources};
use super::{dispatch, function, walk};
use crate::hir::{
    Block, ConstValue, Expr, ExprKind, FuncId, Function, FunctionConstant, FunctionConstantId, Global,
    GlobalId, Kernel, KernelParamKind, Program, ThreadgroupVar, ThreadgroupVarId, Ty,
};
use anymetal_abi::logging::LogSite;
use anymetal_diagnostics::Span;
use rustc_hash::{FxHashMap, FxHashSet};
use std::hash::Hash;

/// Old ids to new ones, in the order they are met.
#[derive(Debug)]
struct Renumbered<T> {
    ids: FxHashMap<T, u32>,
    order: Vec<T>,
}

impl<T: Copy + Eq + Hash> Renumbered<T> {
    fn new() -> Self {
        Self { ids: FxHashMap::default(), order: Vec::new() }
    }

    fn id(&mut self, old: T) -> u32 {
        if let Some(&id) = self.ids.get(&old) {
            return id;
        }
        let id = self.order.len() as u32;
        self.ids.insert(old, id);
        self.order.push(old);
        id
    }
}

/// The functions an expression tree calls.
fn callees(block: &Block, out: &mut Vec<FuncId>) {
    walk::each_in_block(block, &mut |expr| {
        if let ExprKind::Call(func, _) | ExprKind::Construct(func, _) = expr.kind {
            out.push(func);
        }
    });
}

/// The data of a program except its functions.
#[derive(Debug, Default)]
pub(super) struct ProgramData {
    globals: Vec<Global>,
    /// Constant tables without names, by type and bytes.
    tables: FxHashMap<(Ty, Vec<u8>), GlobalId>,
    /// Constants of enclosing functions in local classes, one for each mention (see `odr_use`).
    pub(super) outer_constants: FxHashSet<GlobalId>,
    threadgroup_vars: Vec<ThreadgroupVar>,
    log_sites: Vec<LogSite>,
    function_constants: Vec<FunctionConstant>,
    pub(super) resources: ScopeResources,
}

impl ProgramData {
    pub(super) fn global(&self, id: GlobalId) -> &Global {
        &self.globals[id.0 as usize]
    }

    pub(super) fn add_global(&mut self, global: Global) -> GlobalId {
        self.globals.push(global);
        GlobalId(self.globals.len() as u32 - 1)
    }

    /// The global of that name, made on first use.
    pub(super) fn named_global(&mut self, name: String, ty: Ty, span: Span) -> GlobalId {
        let known = self.globals.iter().position(|global| global.name == name);
        match known {
            Some(n) => GlobalId(n as u32),
            None => self.add_global(Global { name, ty, bytes: Vec::new(), span }),
        }
    }

    /// A constant table without a name; equal tables are shared.
    pub(super) fn table(&mut self, ty: Ty, bytes: Vec<u8>, span: Span) -> GlobalId {
        let key = (ty, bytes);
        if let Some(&known) = self.tables.get(&key) {
            return known;
        }
        let id = self.add_global(Global { name: String::new(), ty, bytes: key.1.clone(), span });
        self.tables.insert(key, id);
        id
    }

    pub(super) fn add_threadgroup(&mut self, var: ThreadgroupVar) -> ThreadgroupVarId {
        self.threadgroup_vars.push(var);
        ThreadgroupVarId(self.threadgroup_vars.len() as u32 - 1)
    }

    /// Function constants of one name, index and type are one, however often they are declared.
    pub(super) fn function_constant(&mut self, constant: FunctionConstant) -> FunctionConstantId {
        let is_same = |known: &FunctionConstant| {
            known.index == constant.index && known.ty == constant.ty && known.name == constant.name
        };
        let id = self.function_constants.iter().position(is_same).unwrap_or_else(|| {
            self.function_constants.push(constant);
            self.function_constants.len() - 1
        });
        FunctionConstantId(id as u32)
    }

    /// Adds a call that logs; returns its number.
    pub(super) fn add_log_site(&mut self, site: LogSite) -> u64 {
        self.log_sites.push(site);
        self.log_sites.len() as u64 - 1
    }
}

/// Checks a function's body and those of everything it calls.
pub(super) fn check_reachable(cx: &mut Checker<'_>, root: FuncId) {
    let mut seen = rustc_hash::FxHashSet::default();
    let mut work = vec![root];
    loop {
        while let Some(func) = work.pop() {
            if !seen.insert(func) || cx.diagnostics.gave_up() {
                continue;
            }
            function::ensure_body(cx, func);
            work.extend(callees_of(&cx.functions, func).into_iter().filter(|func| !seen.contains(func)));
        }
        // What is reached through pointers, and what is reached from there.
        let before = cx.linking.dispatch_size();
        dispatch::write(cx);
        for n in 0..before.0 {
            let called = callees_of(&cx.functions, cx.linking.dispatch(n));
            work.extend(called.into_iter().filter(|func| !seen.contains(func)));
        }
        if cx.diagnostics.gave_up() || (work.is_empty() && cx.linking.dispatch_size() == before) {
            return;
        }
    }
}

/// Checks the bodies of functions and of everything they call, as far as they have definitions.
pub(super) fn check_defined(cx: &mut Checker<'_>, roots: Vec<FuncId>) {
    let mut seen = rustc_hash::FxHashSet::default();
    let mut work = roots;
    while let Some(func) = work.pop() {
        if !seen.insert(func) || cx.diagnostics.gave_up() {
            continue;
        }
        if function::has_code(cx, func) {
            function::ensure_body(cx, func);
        }
        work.extend(callees_of(&cx.functions, func));
    }
}

/// The functions that a checked function calls, the first one last.
fn callees_of(functions: &Functions<'_>, func: FuncId) -> Vec<FuncId> {
    let mut called = Vec::new();
    if let Some(function) = &functions.inst(func).hir {
        callees(&function.body, &mut called);
    }
    called.reverse();
    called
}

/// The finished program of a kernel without errors.
pub(super) fn program(mut cx: Checker<'_>, root: FuncId, mut kernel: Kernel) -> Option<Program> {
    let mut functions = Renumbered::new();
    let mut globals = Renumbered::new();
    let mut threadgroup = Renumbered::new();
    let mut constants = Renumbered::new();
    functions.id(root);
    let mut rename = |functions: &mut Renumbered<FuncId>, expr: &mut Expr| match &mut expr.kind {
        ExprKind::Call(func, _) | ExprKind::Construct(func, _) => *func = FuncId(functions.id(*func)),
        ExprKind::Global(id) | ExprKind::Const(ConstValue::Address(id, _)) => *id = GlobalId(globals.id(*id)),
        ExprKind::Threadgroup(id) => *id = ThreadgroupVarId(threadgroup.id(*id)),
        ExprKind::FunctionConstant(id) | ExprKind::FunctionConstantDefined(id) => {
            *id = FunctionConstantId(constants.id(*id));
        }
        _ => {}
    };
    let mut resources = std::mem::take(&mut cx.data.resources);
    for param in kernel.params.iter_mut().chain(resources.params_mut()) {
        param.kind.each_binding_mut(&mut |binding| {
            for condition in binding.index_by.iter_mut().chain(&mut binding.enabled) {
                walk::each_expr_mut(condition, &mut |expr| rename(&mut functions, expr));
            }
        });
        if let KernelParamKind::StageIn { members } = &mut param.kind {
            members.iter_mut().for_each(|member| member.fetch = FuncId(functions.id(member.fetch)));
        }
    }
    let mut done: Vec<Function> = Vec::new();
    while done.len() < functions.order.len() {
        let old = functions.order[done.len()];
        function::ensure_body(&mut cx, old);
        let mut function = Function::clone(cx.functions.inst(old).hir.as_ref()?);
        super::tail_call::into_loop(&mut function, old);
        walk::each_in_block_mut(&mut function.body, &mut |expr| rename(&mut functions, expr));
        done.push(function);
    }
    kernel.function = FuncId(0);
    kernel::into_parameters(&resources, &mut done, &mut kernel);
    Some(Program {
        types: cx.types,
        functions: done,
        globals: globals.order.iter().map(|&id| cx.data.global(id).clone()).collect(),
        threadgroup_vars: threadgroup
            .order
            .iter()
            .map(|id| cx.data.threadgroup_vars[id.0 as usize].clone())
            .collect(),
        function_constants: constants
            .order
            .iter()
            .map(|id| cx.data.function_constants[id.0 as usize].clone())
            .collect(),
        log_sites: cx.data.log_sites,
        kernel,
    })
}
