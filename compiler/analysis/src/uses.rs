//! Uses of values, and the call graph.

use super::walk_insts;
use anymetal_ir::{FuncId, Function, Module, Op};

/// How often each value is an operand of a reached instruction.
pub fn use_counts(function: &Function) -> Vec<u32> {
    let mut counts = vec![0; function.values.len()];
    walk_insts(function, function.body, &mut |inst| {
        function.inst(inst).op.for_each_operand(|value| counts[value.index()] += 1);
    });
    counts
}

/// The functions that the given ones call, directly or not, themselves included; callees before
/// callers.
pub fn used_functions(module: &Module, roots: &[FuncId]) -> Vec<FuncId> {
    let mut order = Vec::new();
    let mut seen = vec![false; module.functions.len()];
    for &root in roots {
        if std::mem::replace(&mut seen[root.index()], true) {
            continue;
        }
        let mut path = vec![(root, callees(module.function(root)), 0)];
        while let Some((function, calls, next)) = path.pop() {
            let Some(&callee) = calls.get(next) else {
                order.push(function);
                continue;
            };
            path.push((function, calls, next + 1));
            if !std::mem::replace(&mut seen[callee.index()], true) {
                path.push((callee, callees(module.function(callee)), 0));
            }
        }
    }
    order
}

/// The functions that a function calls itself.
pub(super) fn callees(function: &Function) -> Vec<FuncId> {
    let mut calls = Vec::new();
    walk_insts(function, function.body, &mut |inst| {
        if let Op::Call(callee, _) = function.inst(inst).op {
            calls.push(callee);
        }
    });
    calls.sort_unstable();
    calls.dedup();
    calls
}
