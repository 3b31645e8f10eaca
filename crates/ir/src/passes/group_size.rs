//! Puts the size of full threadgroups in.
//!
//! Kernels choose code by the size of their threadgroups: a switch over instances of a template, loops
//! that halve it. Once the size is a constant the other passes take the choice. Right only for grids
//! without cut-off threadgroups.

use crate::{Function, Op, Query};

/// Replaces every query of one function that the size answers; returns whether there was one.
pub fn set_group_size(function: &mut Function, size: [u32; 3]) -> bool {
    let mut changed = false;
    for inst in &mut function.insts {
        if let Some(value) = answer(&inst.op, size) {
            inst.op = Op::Const(value);
            changed = true;
        }
    }
    changed
}

/// Whether the function asks for anything that the size answers.
pub fn asks_for_group_size(function: &Function) -> bool {
    function.insts.iter().any(|inst| answer(&inst.op, [1; 3]).is_some())
}

fn answer(op: &Op, size: [u32; 3]) -> Option<u64> {
    let Op::Query(query) = op else { return None };
    let threads: u64 = size.iter().map(|&extent| u64::from(extent)).product();
    let extent = |axis: u8| size.get(usize::from(axis)).copied().map(u64::from);
    match *query {
        Query::ThreadsPerThreadgroup(axis) | Query::DispatchThreadsPerThreadgroup(axis) => extent(axis),
        Query::SimdgroupsPerThreadgroup | Query::DispatchSimdgroupsPerThreadgroup => {
            Some(threads.div_ceil(32))
        }
        Query::QuadgroupsPerThreadgroup => Some(threads.div_ceil(4)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{parse_module, print_module};

    #[test]
    fn sizes_become_constants_and_positions_stay() {
        let text = |y: &str, simdgroups: &str| {
            format!(
                "func f0 \"f\" () {{\n  v0 = {y} : i32\n  v1 = {simdgroups} : i32\n  v2 = query.thread_position_in_threadgroup.x : i32\n}}\n"
            )
        };
        let before = text("query.threads_per_threadgroup.y", "query.simdgroups_per_threadgroup");
        let mut module = parse_module(&before).unwrap();
        assert!(asks_for_group_size(&module.functions[0]));
        assert!(set_group_size(&mut module.functions[0], [10, 7, 1]));
        let after = parse_module(&text("const 7", "const 3")).unwrap();
        assert_eq!(print_module(&module), print_module(&after));
        assert!(!set_group_size(&mut module.functions[0], [10, 7, 1]));
    }
}
