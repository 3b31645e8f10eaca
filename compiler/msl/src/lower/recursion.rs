//! Functions that call themselves, directly or through others.
//!
//! The IR, like many GPUs, has no call stack: every call is inlined in the end. A function on a cycle of
//! calls is therefore written out once for each depth, up to a limit, and a call from the deepest copy ends
//! the run with an error. Invariant: the calls of a lowered module form no cycle, and a cycle's copies are
//! bounded however often its functions call one another ([`MAX_COPIES`]).
//!
//! Calls in tail position are loops before they get here (`sema/tail_call.rs`), without any limit.

use super::purity;
use crate::hir;
use anymetal_ir as ir;

/// The depth that calls reach where a function calls itself at one place.
const MAX_DEPTH: u32 = 32;

/// How many copies of a function inlining may leave where it calls itself at several places.
const MAX_COPIES: u64 = 128;

/// A function at one depth of its cycle; outside of cycles the depth is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Instance {
    pub(super) function: hir::FuncId,
    pub(super) depth: u32,
}

impl Instance {
    /// A function called from outside of its cycle.
    pub(super) fn outermost(function: hir::FuncId) -> Self {
        Self { function, depth: 0 }
    }
}

/// The cycles among a program's calls.
#[derive(Debug)]
pub(super) struct Cycles {
    /// For each function the number of the cycle it is on.
    of_function: Vec<Option<usize>>,
    /// For each cycle the number of depths.
    limits: Vec<u32>,
}

impl Cycles {
    pub(super) fn new(program: &hir::Program) -> Self {
        let calls: Vec<_> = program.functions.iter().map(purity::calls).collect();
        let mut cycles = Self { of_function: vec![None; calls.len()], limits: Vec::new() };
        for members in components(&calls) {
            let is_cycle = match members[..] {
                [one] => calls[one].iter().any(|callee| callee.0 as usize == one),
                _ => true,
            };
            if !is_cycle {
                continue;
            }
            for &member in &members {
                cycles.of_function[member] = Some(cycles.limits.len());
            }
            let inner = |&member: &usize| {
                let stays = |callee: &&hir::FuncId| members.contains(&(callee.0 as usize));
                calls[member].iter().filter(stays).count()
            };
            let most = members.iter().map(inner).max().expect("a cycle has members");
            assert!(most > 0, "each function of a cycle calls one of it");
            cycles.limits.push(depth_limit(most as u64));
        }
        cycles
    }

    /// What `caller` calls when it calls `callee`; `None` where that is too deep.
    pub(super) fn callee(&self, caller: Instance, callee: hir::FuncId) -> Option<Instance> {
        let cycle = self.of_function[callee.0 as usize];
        match cycle {
            Some(cycle) if self.of_function[caller.function.0 as usize] == Some(cycle) => {
                let depth = caller.depth + 1;
                (depth < self.limits[cycle]).then_some(Instance { function: callee, depth })
            }
            _ => Some(Instance::outermost(callee)),
        }
    }
}

/// The depth at which a function that calls back into its cycle at `places` places has few enough copies.
fn depth_limit(places: u64) -> u32 {
    if places <= 1 {
        return MAX_DEPTH;
    }
    let mut depth = 1;
    let mut copies = 1;
    while copies * places <= MAX_COPIES && depth < MAX_DEPTH {
        copies *= places;
        depth += 1;
    }
    depth.max(2)
}

/// The strongly connected components of the graph of calls, by Tarjan's algorithm. An explicit stack keeps
/// deep call chains off ours.
fn components(calls: &[Vec<hir::FuncId>]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let mut order = vec![UNSEEN; calls.len()];
    let mut lowest = vec![UNSEEN; calls.len()];
    let mut is_open = vec![false; calls.len()];
    let mut open = Vec::new();
    let mut found = Vec::new();
    let mut seen = 0;
    for root in 0..calls.len() {
        if order[root] != UNSEEN {
            continue;
        }
        let mut stack = vec![(root, 0)];
        while let Some((function, next)) = stack.last_mut() {
            let (function, place) = (*function, *next);
            *next += 1;
            if place == 0 {
                order[function] = seen;
                lowest[function] = seen;
                seen += 1;
                open.push(function);
                is_open[function] = true;
            }
            if let Some(callee) = calls[function].get(place) {
                let callee = callee.0 as usize;
                if order[callee] == UNSEEN {
                    stack.push((callee, 0));
                } else if is_open[callee] {
                    lowest[function] = lowest[function].min(order[callee]);
                }
                continue;
            }
            stack.pop();
            if let Some(&(caller, _)) = stack.last() {
                lowest[caller] = lowest[caller].min(lowest[function]);
            }
            if lowest[function] == order[function] {
                let start = open.iter().rposition(|&member| member == function);
                let start = start.expect("a function is open until its component is found");
                let members = open.split_off(start);
                members.iter().for_each(|&member| is_open[member] = false);
                found.push(members);
            }
        }
    }
    found
}

/// Ends the run with an error: nothing is bound at the null pointer.
pub(super) fn too_deep(b: &mut ir::Builder<'_>) {
    let null = b.value(ir::Op::Const(0), ir::Type::Ptr(ir::Space::Device));
    let zero = b.i32(0);
    b.push(ir::Op::Store { ptr: null, value: zero, align: 4, volatile: true });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(calls: &[&[u32]]) -> Vec<Vec<usize>> {
        let calls: Vec<Vec<_>> =
            calls.iter().map(|callees| callees.iter().map(|&n| hir::FuncId(n)).collect()).collect();
        let mut found = components(&calls);
        found.iter_mut().for_each(|members| members.sort_unstable());
        found
    }

    #[test]
    fn components_come_callees_first() {
        assert_eq!(graph(&[&[1], &[2], &[]]), [vec![2], vec![1], vec![0]]);
        assert_eq!(graph(&[&[1], &[2], &[0]]), [vec![0, 1, 2]]);
        // Two cycles, one calling the other; a function twice.
        assert_eq!(graph(&[&[1, 2], &[0], &[3, 3], &[2]]), [vec![2, 3], vec![0, 1]]);
        assert_eq!(graph(&[&[0]]), [vec![0]]);
    }

    #[test]
    fn copies_are_bounded() {
        assert_eq!(depth_limit(1), MAX_DEPTH);
        for places in 2..1000 {
            let limit = depth_limit(places);
            assert!(limit >= 2, "{places} places may call once");
            assert!(limit == 2 || places.pow(limit - 1) <= MAX_COPIES, "{places} places, depth {limit}");
        }
    }
}
