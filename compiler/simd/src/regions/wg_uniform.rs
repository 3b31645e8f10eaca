//! Which instructions run once per threadgroup, not once per SIMD-group.
//!
//! An instruction is *group* if every SIMD-group would compute the same 32 lanes: its operands are
//! known at group level, and so is the memory it reads. What follows from thread positions is not,
//! except what follows from the lane number alone. So the common "add up the SIMD-groups' sums"
//! after a barrier runs once.
//!
//! Invariant: a group instruction moves up before what the SIMD-groups still have to do since the
//! last barrier. So it reads no memory that the pending instructions write.

use anymetal_ir::{Block, Inst, Op, Space, Type, Value};

use super::{Planner, contains_return, for_each_inst};
use crate::limits::MAX_UNIFORM_CONSTRUCT;
use crate::storage::Root;
use anymetal_analysis::divergence::LANES;

/// The memory that pending instructions write.
#[derive(Clone, Copy, Default)]
struct Written {
    device: bool,
    threadgroup: bool,
}

impl Written {
    fn add(&mut self, space: Space) {
        match space {
            Space::Device | Space::Constant => self.device = true,
            Space::Threadgroup => self.threadgroup = true,
            Space::Thread => {}
        }
    }

    fn contains(self, space: Space) -> bool {
        match space {
            Space::Device => self.device,
            Space::Threadgroup => self.threadgroup,
            Space::Constant => false,
            Space::Thread => true,
        }
    }
}

impl Planner<'_> {
    pub(super) fn choose_wg_uniform_vars(&mut self) {
        // Without barriers there must be a single region, which group promoted variables could cut in two.
        let barriers = self.facts.group_level.any_barrier;
        self.regions.wg_uniform_vars = vec![barriers; self.divergence.variables.len()];
        // Each round can only turn promoted variables away, which can only turn instructions away.
        loop {
            self.regions.group_insts.fill(false);
            self.returned = false;
            self.mark_group(self.facts.function.body);
            let before = self.regions.wg_uniform_vars.clone();
            for index in 0..self.facts.function.insts.len() {
                if !self.regions.group_insts[index] {
                    self.reject(Inst(index as u32));
                }
            }
            debug_assert!(
                before.iter().zip(&self.regions.wg_uniform_vars).all(|(before, now)| *before || !now),
                "an iteration only removes variables, so the iterations end"
            );
            if before == self.regions.wg_uniform_vars {
                return;
            }
        }
    }

    /// The promoted variables that an instruction writes are not the group's.
    fn reject(&mut self, inst: Inst) {
        let function = self.facts.function;
        let (pointer, size) = match &function.inst(inst).op {
            Op::Store { ptr, value, .. } => (*ptr, i64::from(function.ty(*value).size())),
            Op::MemCopy { dst, size, .. } | Op::MemZero { dst, size, .. } => {
                (*dst, i64::try_from(*size).unwrap_or(i64::MAX))
            }
            _ => return,
        };
        for var in self.facts.storage.vars_at(pointer, size).unwrap_or(0..0) {
            self.regions.wg_uniform_vars[var] = false;
        }
    }

    fn mark_group(&mut self, block: Block) {
        let function = self.facts.function;
        let mut written = Written::default();
        for &inst in function.block(block) {
            let op = &function.inst(inst).op;
            if self.facts.group_level.contains(inst) {
                for nested in op.blocks() {
                    self.mark_group(nested);
                }
                written = Written::default();
                continue;
            }
            self.returned |= contains_return(function, inst);
            if op.is_threadgroup_barrier() {
                written = Written::default();
            }
            let size = &mut 0;
            for_each_inst(function, inst, &mut |_| *size += 1);
            if *size > MAX_UNIFORM_CONSTRUCT || !self.mark_if_group(inst, written) {
                for_each_inst(function, inst, &mut |inner| self.note_writes(inner, &mut written));
            }
        }
    }

    fn note_writes(&self, inst: Inst, written: &mut Written) {
        let function = self.facts.function;
        match &function.inst(inst).op {
            Op::Store { ptr, .. } => written.add(self.space(*ptr)),
            Op::MemCopy { dst, .. } | Op::MemZero { dst, .. } => written.add(self.space(*dst)),
            Op::AtomicLoad(_)
            | Op::AtomicStore(..)
            | Op::AtomicRmw(..)
            | Op::AtomicCas(..)
            | Op::Fence(_)
            | Op::Matrix(..)
            | Op::Barrier(..) => *written = Written { device: true, threadgroup: true },
            _ => {}
        }
    }

    fn space(&self, pointer: Value) -> Space {
        match self.facts.function.ty(pointer) {
            Type::Ptr(space) => space,
            other => unreachable!("{pointer} is a {other:?}, not a pointer"),
        }
    }

    /// Marks an instruction and what it contains, if all of it is group.
    fn mark_if_group(&mut self, inst: Inst, written: Written) -> bool {
        let function = self.facts.function;
        let Op::If { cond, then, otherwise, .. } = function.inst(inst).op else {
            let group = self.is_group(inst, written);
            self.regions.group_insts[inst.index()] = group;
            return group;
        };
        let insts = || function.block(then).iter().chain(function.block(otherwise)).copied();
        let mut group = self.is_converged() && self.is_known(cond) && insts().next().is_some();
        for inner in insts() {
            group = group && self.mark_if_group(inner, written);
        }
        self.regions.group_insts[inst.index()] = group;
        if !group {
            for_each_inst(function, inst, &mut |inner| self.regions.group_insts[inner.index()] = false);
        }
        group
    }

    fn is_known(&self, value: Value) -> bool {
        self.regions.is_group_value(self.facts.function, self.divergence, value)
    }

    /// All SIMD-groups are full, and no thread has returned.
    fn is_converged(&self) -> bool {
        let full = self.facts.geometry.threads().is_some_and(|threads| threads.is_multiple_of(LANES as u32));
        full && !self.returned
    }

    fn is_group(&self, inst: Inst, written: Written) -> bool {
        let function = self.facts.function;
        let data = function.inst(inst);
        let mut available = true;
        data.op.for_each_operand(|operand| available &= self.is_known(operand));
        if !available {
            return false;
        }
        let wg_uniform_vars = |pointer: Value, ty: Type| {
            let vars = self.facts.storage.vars_at(pointer, i64::from(ty.size()));
            vars.map(|vars| vars.into_iter().all(|var| self.regions.wg_uniform_vars[var]))
        };
        let shapes = data.result.map(|result| &self.divergence.values[result.index()]);
        match &data.op {
            Op::Load { ptr, volatile, .. } => {
                let result = data.result.expect("a load has a result");
                match wg_uniform_vars(*ptr, function.ty(result)) {
                    Some(group) => group,
                    None => {
                        let is_uniform = self.divergence.shape(*ptr).is_uniform();
                        !volatile
                            && !self.returned
                            && (is_uniform || self.is_converged())
                            && !written.contains(self.space(*ptr))
                            && self.facts.storage.pointer(*ptr).root != Root::Many
                    }
                }
            }
            Op::Store { ptr, value, .. } => wg_uniform_vars(*ptr, function.ty(*value)) == Some(true),
            Op::Query(_) => shapes.is_some_and(|shapes| {
                shapes.iter().all(|shape| {
                    shape.is_group_uniform() || shape.affine().is_some_and(|lanes| lanes.is_constant)
                })
            }),
            Op::Simd(..) => self.is_converged(),
            op => op.only_computes(),
        }
    }
}
