//! Barriers that are removed or made narrower, and fences.

use anymetal_ir::{BarrierScope, Block, Inst, Op};

use super::Code;
use crate::mutation::{Change, Mutation, MutationKind};

/// MSL's `mem_device` and `mem_threadgroup`.
const FLAGS: [(u32, &str); 2] = [(1, "mem_device"), (2, "mem_threadgroup")];

/// MSL's `thread_scope`: each that can be narrowed, and the next narrower one.
const SCOPES: [(u64, u32, &str); 2] = [
    (2, 1, "thread_scope_device made thread_scope_threadgroup"),
    (1, 4, "thread_scope_threadgroup made thread_scope_simdgroup"),
];

pub(super) fn sites(code: &Code<'_>) -> Vec<Mutation> {
    let mut found = Vec::new();
    for &(block, inst) in &code.insts {
        match code.op(inst) {
            Op::Barrier(scope @ (BarrierScope::Threadgroup | BarrierScope::Simdgroup), flags) => {
                let flags = flags.and_then(|flags| code.constant(flags)).map(|flags| flags as u32);
                of_barrier(code, (block, inst), *scope, flags, &mut found);
            }
            Op::Fence(Some(operands)) => {
                let constants = operands.map(|operand| code.constant(operand));
                of_fence(code, (block, inst), constants, &mut found);
            }
            _ => {}
        }
    }
    found
}

fn of_barrier(
    code: &Code<'_>,
    at: (Block, Inst),
    scope: BarrierScope,
    flags: Option<u32>,
    found: &mut Vec<Mutation>,
) {
    let name = if scope == BarrierScope::Threadgroup { "threadgroup_barrier" } else { "simdgroup_barrier" };
    let narrowed = |change, text| mutation(code, at, MutationKind::ScopeNarrowed, change, text);
    let removed = format!("{name} removed");
    found.push(mutation(code, at, MutationKind::BarrierRemoved, Change::Remove, removed));
    if scope == BarrierScope::Threadgroup {
        let change = Change::Barrier(BarrierScope::Simdgroup, flags);
        found.push(narrowed(change, format!("{name} made simdgroup_barrier")));
    }
    let Some(flags) = flags else { return };
    for (flag, flag_name) in FLAGS.iter().filter(|(flag, _)| flags & flag != 0) {
        let change = Change::Barrier(scope, Some(flags & !flag));
        found.push(narrowed(change, format!("{name} without {flag_name}")));
    }
}

/// Operands: memory flags, order, scope.
fn of_fence(code: &Code<'_>, at: (Block, Inst), operands: [Option<u64>; 3], found: &mut Vec<Mutation>) {
    let narrowed = |change, text| mutation(code, at, MutationKind::ScopeNarrowed, change, text);
    if let Some(flags) = operands[0] {
        for (flag, name) in FLAGS.iter().filter(|(flag, _)| flags & u64::from(*flag) != 0) {
            let change = Change::Fence(0, flags as u32 & !flag);
            found.push(narrowed(change, format!("atomic_thread_fence without {name}")));
        }
    }
    for (_, narrower, text) in SCOPES.iter().filter(|(scope, ..)| operands[2] == Some(*scope)) {
        found.push(narrowed(Change::Fence(2, *narrower), (*text).to_owned()));
    }
}

fn mutation(
    code: &Code<'_>,
    (block, inst): (Block, Inst),
    kind: MutationKind,
    change: Change,
    text: String,
) -> Mutation {
    Mutation { kind, block, inst, change, loc: code.function.inst(inst).loc, text }
}
