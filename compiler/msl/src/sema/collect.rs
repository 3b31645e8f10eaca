//! Collects the program of a kernel: checks the bodies of all functions reachable from it, and renumbers what
//! they use.

use super::checker::Checker;
use super::walk;
use crate::hir::{
    Block, Expr, ExprKind, FuncId, Function, FunctionConstantId, GlobalId, Kernel, KernelParamKind, Program,
    ThreadgroupVarId,
};
use rustc_hash::FxHashMap;
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

impl<'a> Checker<'a> {
    /// Checks a function's body and those of everything it calls.
    pub(super) fn check_reachable(&mut self, root: FuncId) {
        let mut seen = rustc_hash::FxHashSet::default();
        let mut work = vec![root];
        loop {
            while let Some(func) = work.pop() {
                if !seen.insert(func) || self.diagnostics.gave_up() {
                    continue;
                }
                self.ensure_body(func);
                work.extend(self.callees(func).into_iter().filter(|func| !seen.contains(func)));
            }
            // What is reached through pointers, and what is reached from there.
            let before = self.dispatch_size();
            self.write_dispatches();
            for n in 0..before.0 {
                let called = self.callees(self.dispatch(n));
                work.extend(called.into_iter().filter(|func| !seen.contains(func)));
            }
            if self.diagnostics.gave_up() || (work.is_empty() && self.dispatch_size() == before) {
                return;
            }
        }
    }

    /// The functions that a checked function calls, the first one last.
    fn callees(&self, func: FuncId) -> Vec<FuncId> {
        let mut called = Vec::new();
        if let Some(function) = &self.inst(func).hir {
            callees(&function.body, &mut called);
        }
        called.reverse();
        called
    }

    /// The finished program of a kernel without errors.
    pub(super) fn program(mut self, root: FuncId, mut kernel: Kernel) -> Option<Program> {
        let mut functions = Renumbered::new();
        let mut globals = Renumbered::new();
        let mut threadgroup = Renumbered::new();
        let mut constants = Renumbered::new();
        functions.id(root);
        let mut rename = |functions: &mut Renumbered<FuncId>, expr: &mut Expr| match &mut expr.kind {
            ExprKind::Call(func, _) | ExprKind::Construct(func, _) => *func = FuncId(functions.id(*func)),
            ExprKind::Global(id) => *id = GlobalId(globals.id(*id)),
            ExprKind::Threadgroup(id) => *id = ThreadgroupVarId(threadgroup.id(*id)),
            ExprKind::FunctionConstant(id) | ExprKind::FunctionConstantDefined(id) => {
                *id = FunctionConstantId(constants.id(*id));
            }
            _ => {}
        };
        for param in &mut kernel.params {
            if let Some(enabled) = param.kind.enabled_mut() {
                walk::each_expr_mut(enabled, &mut |expr| rename(&mut functions, expr));
            }
            if let KernelParamKind::StageIn { members } = &mut param.kind {
                members.iter_mut().for_each(|member| member.fetch = FuncId(functions.id(member.fetch)));
            }
        }
        let mut done: Vec<Function> = Vec::new();
        while done.len() < functions.order.len() {
            let old = functions.order[done.len()];
            self.ensure_body(old);
            let mut function = Function::clone(self.inst(old).hir.as_ref()?);
            super::tail_call::into_loop(&mut function, old);
            walk::each_in_block_mut(&mut function.body, &mut |expr| rename(&mut functions, expr));
            done.push(function);
        }
        kernel.function = FuncId(0);
        Some(Program {
            types: self.types,
            functions: done,
            globals: globals.order.iter().map(|id| self.hir_globals[id.0 as usize].clone()).collect(),
            threadgroup_vars: threadgroup
                .order
                .iter()
                .map(|id| self.threadgroup_vars[id.0 as usize].clone())
                .collect(),
            function_constants: constants
                .order
                .iter()
                .map(|id| self.function_constants[id.0 as usize].clone())
                .collect(),
            log_sites: self.log_sites,
            kernel,
        })
    }
}
