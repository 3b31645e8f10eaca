//! Which constructs run once per threadgroup because barriers are inside.
//!
//! A construct that contains a threadgroup barrier, or that a jump leaves which belongs to such a
//! construct, cannot run SIMD-group by SIMD-group. It becomes *group-level*: its control flow runs
//! once per threadgroup, and what lies between barriers becomes loops over the SIMD-groups. The
//! barrier rules promise that all threads that are left agree on its condition.

use anymetal_ir::{Block, Function, Inst, Label, Op};

/// The group-level constructs of a function.
#[derive(Debug)]
pub struct GroupLevel {
    constructs: Vec<bool>,
    /// Whether there is a barrier at all.
    pub any_barrier: bool,
}

impl GroupLevel {
    /// Finds them.
    pub fn new(function: &Function) -> Self {
        let mut this = Self { constructs: vec![false; function.insts.len()], any_barrier: false };
        this.any_barrier = this.mark_barriers(function, function.body);
        // Marking a construct can turn the constructs around its jumps group-level too.
        while this.any_barrier && this.mark_jumps(function, function.body, &mut Vec::new()).changed {}
        this
    }

    /// Whether the construct is group-level.
    pub fn contains(&self, inst: Inst) -> bool {
        self.constructs[inst.index()]
    }

    fn mark_barriers(&mut self, function: &Function, block: Block) -> bool {
        let mut found = false;
        for &inst in function.block(block) {
            let op = &function.inst(inst).op;
            let mut inside = false;
            for nested in op.blocks() {
                inside |= self.mark_barriers(function, nested);
            }
            self.constructs[inst.index()] |= inside;
            found |= inside || op.is_threadgroup_barrier();
        }
        found
    }

    fn mark_jumps(&mut self, function: &Function, block: Block, labels: &mut Vec<(Label, bool)>) -> Found {
        let mut found = Found::default();
        for &inst in function.block(block) {
            let op = &function.inst(inst).op;
            if let Op::Break(label, _) | Op::Continue(label, _) = op {
                found.group_jump |= labels.iter().any(|&(known, group)| known == *label && group);
            }
            let label = op.label();
            if let Some(label) = label {
                labels.push((label, self.constructs[inst.index()]));
            }
            for nested in op.blocks() {
                let inside = self.mark_jumps(function, nested, labels);
                found.changed |= inside.changed;
                found.group_jump |= inside.group_jump;
                if inside.group_jump && !self.constructs[inst.index()] {
                    self.constructs[inst.index()] = true;
                    found.changed = true;
                }
            }
            if let Some(label) = label {
                let left = labels.pop();
                debug_assert!(left.is_some_and(|(left, _)| left == label), "constructs nest");
            }
        }
        found
    }
}

#[derive(Clone, Copy, Default)]
struct Found {
    /// A construct was newly marked.
    changed: bool,
    /// There is a jump to a group-level construct.
    group_jump: bool,
}
