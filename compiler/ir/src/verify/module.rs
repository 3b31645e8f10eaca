//! Checks of everything outside functions, and of the call graph.

use rustc_hash::FxHashSet;

use super::Errors;
use crate::{ArgKind, Kernel, KernelArg, Module, Op, Space, Type};

pub(super) fn check_tables(module: &Module, errors: &mut Errors) {
    unique("function", module.functions.iter().map(|function| function.name.as_str()), errors);
    unique("global", module.globals.iter().map(|global| global.name.as_str()), errors);
    unique("kernel", module.kernels.iter().map(|kernel| kernel.name.as_str()), errors);
    for global in &module.globals {
        alignment(&global.name, global.align, errors);
    }
    for var in &module.threadgroup_vars {
        alignment(&var.name, var.align, errors);
    }
    for function in &module.functions {
        for local in &function.locals {
            alignment(&local.name, local.align, errors);
        }
    }
}

fn unique<'a>(what: &str, names: impl Iterator<Item = &'a str>, errors: &mut Errors) {
    let mut seen = FxHashSet::default();
    for name in names {
        if !seen.insert(name) {
            errors.module(format!("two {what}s are named {name:?}"));
        }
    }
}

fn alignment(name: &str, align: u32, errors: &mut Errors) {
    if !align.is_power_of_two() {
        errors.module(format!("{name:?}: the alignment {align} is not a power of two"));
    }
}

pub(super) fn check_kernels(module: &Module, errors: &mut Errors) {
    for kernel in &module.kernels {
        let Some(function) = module.functions.get(kernel.function.index()) else {
            errors.module(format!("kernel {:?}: {} does not exist", kernel.name, kernel.function));
            continue;
        };
        if function.ret.is_some() {
            errors.module(format!("kernel {:?} returns a value", kernel.name));
        }
        if function.params.len() != kernel.args.len() {
            let (params, args) = (function.params.len(), kernel.args.len());
            errors.module(format!("kernel {:?} has {args} arguments but {params} parameters", kernel.name));
            continue;
        }
        for (arg, param) in kernel.args.iter().zip(&function.params) {
            let ty = function.values.get(param.index()).map(|data| data.ty);
            check_argument(module, kernel, arg, ty, errors);
        }
    }
}

fn check_argument(module: &Module, kernel: &Kernel, arg: &KernelArg, ty: Option<Type>, errors: &mut Errors) {
    let mut report = |message: String| {
        errors.module(format!("kernel {:?}, argument {:?}: {message}", kernel.name, arg.name))
    };
    if ty != Some(Type::Ptr(arg.space)) {
        report(format!("the parameter is not a pointer into {} memory", arg.space.name()));
    }
    let space_fits = match arg.kind {
        ArgKind::Buffer => matches!(arg.space, Space::Device | Space::Constant),
        ArgKind::ThreadgroupMemory => arg.space == Space::Threadgroup,
    };
    if !space_fits {
        report(format!("a {} cannot be in {} memory", arg.kind.name(), arg.space.name()));
    }
    if !arg.element_align.is_power_of_two() {
        report(format!("the alignment {} is not a power of two", arg.element_align));
    }
    let evaluated = [(arg.enabled_by, Type::BOOL), (arg.index_by, Type::I32)];
    for (id, ret) in evaluated.into_iter().filter_map(|(id, ret)| id.map(|id| (id, ret))) {
        let fits = module
            .functions
            .get(id.index())
            .is_some_and(|function| function.params.is_empty() && function.ret == Some(ret));
        if !fits {
            report(format!("{id} is not a function without parameters that returns {ret}"));
        }
    }
}

/// Depth-first search over calls, with a stack of its own.
pub(super) fn check_call_graph(module: &Module, errors: &mut Errors) {
    let callees: Vec<Vec<usize>> = module
        .functions
        .iter()
        .map(|function| {
            let calls = function.insts.iter().filter_map(|data| match data.op {
                Op::Call(callee, _) if callee.index() < module.functions.len() => Some(callee.index()),
                _ => None,
            });
            let mut calls: Vec<usize> = calls.collect();
            calls.sort_unstable();
            calls.dedup();
            calls
        })
        .collect();
    // 0: not seen, 1: on the path, 2: done.
    let mut state = vec![0u8; callees.len()];
    for root in 0..callees.len() {
        if state[root] != 0 {
            continue;
        }
        state[root] = 1;
        let mut path = vec![(root, 0)];
        while let Some((function, next)) = path.pop() {
            let Some(&callee) = callees[function].get(next) else {
                state[function] = 2;
                continue;
            };
            path.push((function, next + 1));
            match state[callee] {
                0 => {
                    state[callee] = 1;
                    path.push((callee, 0));
                }
                1 => errors.module(format!("{:?} calls itself", module.functions[callee].name)),
                _ => {}
            }
        }
    }
}
