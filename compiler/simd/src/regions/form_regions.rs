//! Forms regions: splits group-level blocks into steps.
//!
//! Barriers, jumps, group instructions and group-level constructs end a region. Invariant: a region lists
//! all variables that it accesses; context save relies on that alone.

use std::collections::BTreeSet;

use anymetal_ir::{Block, Inst, Op, Space, Type, Value};

use super::{Planner, Region, Step, for_each_inst};
use crate::storage::Root;

impl Planner<'_> {
    /// Cuts a group-level block and those inside its group-level constructs.
    pub(super) fn form_regions(&mut self, block: Block) {
        let function = self.facts.function;
        let mut steps = Vec::new();
        let mut current: Vec<Inst> = Vec::new();
        for &inst in function.block(block) {
            let op = &function.inst(inst).op;
            if op.is_threadgroup_barrier() {
                self.close(&mut current, &mut steps);
                if op.is_grid_barrier() || self.regions.meets_at_barriers {
                    steps.push(Step::Group(inst));
                }
            } else if op.is_terminator() {
                self.close(&mut current, &mut steps);
                steps.push(Step::Jump(inst));
            } else if self.facts.group_level.contains(inst) {
                self.close(&mut current, &mut steps);
                if !self.condition_is_known(op) {
                    self.regions.samples.insert(inst, self.regions.regions.len());
                    self.regions.regions.push(Region::default());
                }
                steps.push(Step::Construct(inst));
                for nested in op.blocks() {
                    self.form_regions(nested);
                }
            } else if self.regions.group_insts[inst.index()] {
                if self.overtakes(inst, &current) {
                    self.close(&mut current, &mut steps);
                }
                steps.push(Step::Group(inst));
            } else {
                current.push(inst);
            }
        }
        self.close(&mut current, &mut steps);
        assert!(current.is_empty(), "every instruction is in a step");
        let before = self.regions.steps.insert(block.0, steps);
        assert!(before.is_none(), "a block is divided once");
    }

    fn condition_is_known(&self, op: &Op) -> bool {
        match op {
            Op::If { cond: value, .. } | Op::Switch { selector: value, .. } => {
                self.regions.is_group_value(self.facts.function, self.divergence, *value)
            }
            _ => true,
        }
    }

    /// Whether the group instruction writes a promoted variable that the pending region still reads.
    fn overtakes(&self, inst: Inst, deferred: &[Inst]) -> bool {
        let function = self.facts.function;
        let mut written = BTreeSet::new();
        for_each_inst(function, inst, &mut |inst| {
            if let Op::Store { ptr, value, .. } = function.inst(inst).op {
                let size = i64::from(function.ty(value).size());
                written.extend(self.facts.storage.vars_at(ptr, size).unwrap_or(0..0));
            }
        });
        let mut accessed = BTreeSet::new();
        if !written.is_empty() {
            for &inst in deferred {
                self.variables_of(inst, &mut accessed);
            }
        }
        written.iter().any(|var| accessed.contains(var))
    }

    fn close(&mut self, current: &mut Vec<Inst>, steps: &mut Vec<Step>) {
        let function = self.facts.function;
        let effects = current.iter().any(|&inst| !matches!(function.inst(inst).op, Op::LocalStart(_)));
        let insts = std::mem::take(current);
        if !effects {
            return;
        }
        debug_assert!(
            insts.iter().all(|&inst| {
                let mut has_barrier = false;
                for_each_inst(function, inst, &mut |inner| {
                    has_barrier |= function.inst(inner).op.is_threadgroup_barrier();
                });
                !has_barrier
            }),
            "a region ends at a barrier"
        );
        let number = self.regions.regions.len();
        let mut accesses = BTreeSet::new();
        for &inst in &insts {
            self.number_region(inst, number);
            self.variables_of(inst, &mut accesses);
        }
        self.regions.regions.push(Region { insts, fetches: Vec::new(), accesses });
        steps.push(Step::Region(number));
    }

    fn number_region(&mut self, inst: Inst, number: usize) {
        let function = self.facts.function;
        let before = std::mem::replace(&mut self.regions.region_of[inst.index()], number);
        assert_eq!(before, usize::MAX, "{inst} is in two regions");
        for nested in function.inst(inst).op.blocks() {
            for &inner in function.block(nested) {
                self.number_region(inner, number);
            }
        }
    }

    /// Adds the variables that an instruction and what it contains accesses.
    fn variables_of(&self, inst: Inst, variables: &mut BTreeSet<usize>) {
        let (function, storage) = (self.facts.function, self.facts.storage);
        let op = &function.inst(inst).op;
        let mut touch = |pointer: Value, size: i64| {
            if let Some(vars) = storage.vars_at(pointer, size) {
                variables.extend(vars);
            } else if let Some(array) = storage.array_at(pointer) {
                variables.insert(storage.vars.len() + array);
            } else if storage.pointer(pointer).root == Root::Many {
                let exposed =
                    (0..storage.arrays.len()).filter(|&a| storage.is_exposed(storage.arrays[a].local));
                variables.extend(exposed.map(|array| storage.vars.len() + array));
            }
        };
        let wide = |size: u64| i64::try_from(size).unwrap_or(i64::MAX);
        match op {
            Op::Load { ptr, .. } => {
                let result = function.inst(inst).result.expect("a load has a result");
                touch(*ptr, i64::from(function.ty(result).size()));
            }
            Op::Store { ptr, value, .. } => touch(*ptr, i64::from(function.ty(*value).size())),
            Op::MemCopy { dst, src, size, .. } => {
                touch(*dst, wide(*size));
                touch(*src, wide(*size));
            }
            Op::MemZero { dst, size, .. } => touch(*dst, wide(*size)),
            _ => op.for_each_operand(|operand| {
                if function.ty(operand) == Type::Ptr(Space::Thread) {
                    touch(operand, 8);
                }
            }),
        }
        for nested in op.blocks() {
            for &inner in function.block(nested) {
                self.variables_of(inner, variables);
            }
        }
    }
}
