//! The function as it is for whole threadgroups of one size.
//!
//! Kernels choose code by the size of their threadgroups: a switch over instances of a template, loops
//! that halve it. With the size known, the IR's own passes take the choice before any code is
//! generated.

use anymetal_ir::passes::optimise_function;
use anymetal_ir::{Function, Module, Op, Query};

/// The function with the size put in, if anything depends on it.
pub(super) fn with_group_size(module: &Module, function: &Function, size: [u32; 3]) -> Option<Function> {
    let known = |op: &Op| if let Op::Query(query) = op { value_of(*query, size) } else { None };
    if !function.insts.iter().any(|inst| known(&inst.op).is_some()) {
        return None;
    }
    let mut sized = function.clone();
    for inst in &mut sized.insts {
        if let Some(value) = known(&inst.op) {
            inst.op = Op::Const(value);
        }
    }
    optimise_function(module, &mut sized);
    Some(sized)
}

fn value_of(query: Query, size: [u32; 3]) -> Option<u64> {
    let threads: u64 = size.iter().map(|&extent| u64::from(extent)).product();
    let extent = |axis: u8| size.get(usize::from(axis)).copied().map(u64::from);
    match query {
        Query::ThreadsPerThreadgroup(axis) | Query::DispatchThreadsPerThreadgroup(axis) => extent(axis),
        Query::SimdgroupsPerThreadgroup | Query::DispatchSimdgroupsPerThreadgroup => {
            Some(threads.div_ceil(32))
        }
        Query::QuadgroupsPerThreadgroup => Some(threads.div_ceil(4)),
        _ => None,
    }
}
