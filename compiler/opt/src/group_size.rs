//! Specialises code for a constant size of threadgroups.
//!
//! Kernels select code by the size of their threadgroups: a switch over instances of a template, loops
//! that halve it. With a constant size such branches fold. Requires a grid without partial threadgroups.

use super::inline::{InlineError, inline_only_call, inline_small};
use super::manager::PassManager;
use super::pipeline::simplify_function;
use crate::limits::MAX_SELECTOR_SIZE;
use anymetal_ir::{FuncId, Function, Module, Op, Query};

/// Replaces the size everywhere, and folds branches in the kernels' own functions that depend on it. For a
/// module before inlining: only the selected instance of a template is inlined then.
///
/// # Errors
/// If inlining exceeds the limit of instructions. The module is then unusable.
pub fn choose_by_group_size(module: &mut Module, size: [u32; 3]) -> Result<(), InlineError> {
    let mut changed = false;
    for function in &mut module.functions {
        changed |= set_group_size(function, size);
    }
    let kernels: Vec<FuncId> = module.kernels.iter().map(|kernel| kernel.function).collect();
    for kernel in kernels.into_iter().filter(|_| changed) {
        inline_only_call(module, kernel)?;
        // The condition is often not the size itself but a small function of it.
        inline_small(module, kernel, MAX_SELECTOR_SIZE)?;
        simplify_function(module, kernel, &mut PassManager::default());
    }
    Ok(())
}

/// Replaces every query of one function that the size determines; returns whether there was one.
pub fn set_group_size(function: &mut Function, size: [u32; 3]) -> bool {
    let mut changed = false;
    for inst in &mut function.insts {
        if let Some(value) = value_of(&inst.op, size) {
            inst.op = Op::Const(value);
            changed = true;
        }
    }
    changed
}

/// Whether the function has a query that the size determines.
pub fn depends_on_group_size(function: &Function) -> bool {
    function.insts.iter().any(|inst| value_of(&inst.op, [1; 3]).is_some())
}

fn value_of(op: &Op, size: [u32; 3]) -> Option<u64> {
    let threads: u64 = size.iter().map(|&extent| u64::from(extent)).product();
    match *op {
        Op::Query(Query::ThreadsPerThreadgroup(axis) | Query::DispatchThreadsPerThreadgroup(axis)) => {
            Some(size[usize::from(axis)].into())
        }
        Op::Query(Query::SimdgroupsPerThreadgroup | Query::DispatchSimdgroupsPerThreadgroup) => {
            Some(threads.div_ceil(32))
        }
        Op::Query(Query::QuadgroupsPerThreadgroup) => Some(threads.div_ceil(4)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anymetal_ir::{parse_module, print_module};

    #[test]
    fn size_queries_become_constants_and_position_queries_are_kept() {
        let text = |y: &str, simdgroups: &str| {
            format!(
                "func f0 \"f\" () {{\n  v0 = {y} : i32\n  v1 = {simdgroups} : i32\n  v2 = query.thread_position_in_threadgroup.x : i32\n}}\n"
            )
        };
        let before = text("query.threads_per_threadgroup.y", "query.simdgroups_per_threadgroup");
        let mut module = parse_module(&before).unwrap();
        assert!(depends_on_group_size(&module.functions[0]));
        assert!(set_group_size(&mut module.functions[0], [10, 7, 1]));
        let after = parse_module(&text("const 7", "const 3")).unwrap();
        assert_eq!(print_module(&module), print_module(&after));
        assert!(!set_group_size(&mut module.functions[0], [10, 7, 1]));
    }
}
