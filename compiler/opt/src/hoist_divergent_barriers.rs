//! Hoists threadgroup barriers out of divergent branches.
//!
//! The specification requires that every thread of a threadgroup executes a barrier (§6.9.1). Real kernels
//! put one into `if (lane == 0)`: on GPUs a SIMD-group executes it as a whole, so it works, and the
//! interpreter agrees. A code generator that executes such a branch for all threads or none would be wrong.
//! So `if (c) { A; barrier; B }` becomes `if (c) { A } barrier; if (c) { B }`, for conditions that depend on
//! the thread's position. Pure operations are moved before the branch; other values of A that B uses are
//! passed through locals.
//!
//! Only barriers directly in the arms are hoisted, inner branches first; a branch with a nested barrier, in a
//! loop for example, is not changed.

use super::rewrite_blocks::{BlockRewriter, rewrite_blocks};
use anymetal_analysis::limits::MAX_DEPTH;
use anymetal_ir::{BarrierScope, Block, FpMode, Function, Inst, Loc, Local, Op, Space, Type, Value, Values};

/// Hoists within one function; returns whether anything changed.
pub fn hoist_divergent_barriers(function: &mut Function) -> bool {
    let mut has_barrier = false;
    anymetal_analysis::walk_insts(function, function.body, &mut |inst| {
        has_barrier |= is_barrier(&function.inst(inst).op);
    });
    if !has_barrier {
        return false;
    }
    let mut hoister = BarrierHoister { function, changed: false };
    rewrite_blocks(&mut hoister);
    hoister.changed
}

fn is_barrier(op: &Op) -> bool {
    op.is_threadgroup_barrier()
}

/// Whether the value may differ between threads of a threadgroup, judged by its definition.
fn is_divergent(function: &Function, value: Value, depth: u32) -> bool {
    let Some(op) = function.def(value) else {
        // Parameters of kernels are the same for all threads; what constructs define is not followed.
        return false;
    };
    if let Op::Query(query) = op {
        return !query.is_group_uniform();
    }
    let mut found = false;
    if depth > 0 && op.is_pure() {
        op.for_each_operand(|operand| found = found || is_divergent(function, operand, depth - 1));
    }
    found
}

/// The values that an instruction defines where it is.
fn definitions(function: &Function, inst: Inst) -> Vec<Value> {
    let data = function.inst(inst);
    data.result.into_iter().chain(data.op.results().iter().copied()).collect()
}

struct BarrierHoister<'f> {
    function: &'f mut Function,
    changed: bool,
}

impl BlockRewriter for BarrierHoister<'_> {
    fn function(&mut self) -> &mut Function {
        self.function
    }

    fn rewrite(&mut self, inst: Inst, out: &mut Vec<Inst>) {
        match self.function.inst(inst).op {
            Op::If { cond, then, otherwise, ref results }
                if self.can_hoist(then, otherwise) && is_divergent(self.function, cond, MAX_DEPTH) =>
            {
                let results = results.clone();
                self.changed = true;
                self.split(cond, [then, otherwise], results, out);
            }
            _ => out.push(inst),
        }
    }
}

impl BarrierHoister<'_> {
    /// Whether there are barriers in the two arms, and none is nested deeper.
    fn can_hoist(&self, then: Block, otherwise: Block) -> bool {
        let (mut direct, mut deep) = (false, false);
        for block in [then, otherwise] {
            for &inst in self.function.block(block) {
                let op = &self.function.inst(inst).op;
                direct |= is_barrier(op);
                for nested in op.blocks() {
                    anymetal_analysis::walk_insts(self.function, nested, &mut |inner| {
                        deep |= is_barrier(&self.function.inst(inner).op);
                    });
                }
            }
        }
        direct && !deep
    }

    /// The last branch has the results.
    fn split(&mut self, cond: Value, branch: [Block; 2], results: Values, out: &mut Vec<Inst>) {
        let (mut arms, mut yields): (Vec<Vec<Vec<Inst>>>, Vec<Option<Inst>>) = (Vec::new(), Vec::new());
        // The scope of each barrier between two segments: the wider one of the arms'.
        let mut scopes: Vec<BarrierScope> = Vec::new();
        for block in branch {
            let mut insts = std::mem::take(&mut self.function.blocks[block.index()].insts);
            yields.push(insts.pop_if(|last| matches!(self.function.inst(*last).op, Op::Yield(_))));
            let kept = self.hoist_pure(insts, out);
            let barriers = kept.iter().map(|&inst| &self.function.inst(inst).op).filter(|op| is_barrier(op));
            for (n, barrier) in barriers.enumerate() {
                scopes.resize(scopes.len().max(n + 1), BarrierScope::Threadgroup);
                if barrier.is_grid_barrier() {
                    scopes[n] = BarrierScope::Grid;
                }
            }
            arms.push(
                kept.split(|&inst| is_barrier(&self.function.inst(inst).op)).map(<[Inst]>::to_vec).collect(),
            );
        }
        let count = scopes.len() + 1;
        assert!(arms.iter().any(|arm| arm.len() == count), "each barrier separates two segments of an arm");
        for (arm, yields) in arms.iter_mut().zip(yields) {
            arm.resize(count, Vec::new());
            arm[count - 1].extend(yields);
            self.pass_values(arm, out);
        }
        for n in 0..count {
            if n > 0 {
                out.push(self.add(Op::Barrier(scopes[n - 1], None), None));
            }
            let mut blocks = branch;
            for (block, arm) in blocks.iter_mut().zip(&mut arms) {
                *block = self.function.add_block();
                self.function.blocks[block.index()].insts = std::mem::take(&mut arm[n]);
            }
            let [then, otherwise] = blocks;
            let results = if n + 1 == count { results.clone() } else { Values::new() };
            let branch = self.add(Op::If { cond, then, otherwise, results }, None);
            self.function.number_definitions(branch);
            out.push(branch);
        }
    }

    /// Moves pure operations before the branch; returns the others.
    fn hoist_pure(&mut self, insts: Vec<Inst>, out: &mut Vec<Inst>) -> Vec<Inst> {
        // Values defined by what stays are not visible outside of the branch.
        let mut inside = Vec::new();
        let mut kept = Vec::new();
        for inst in insts {
            let data = self.function.inst(inst);
            let mut outside = true;
            data.op.for_each_operand(|operand| outside = outside && !inside.contains(&operand));
            if outside && data.op.is_pure() {
                out.push(inst);
            } else {
                inside.extend(definitions(self.function, inst));
                kept.push(inst);
            }
        }
        kept
    }

    /// Passes values from earlier segments to later ones through locals.
    fn pass_values(&mut self, segments: &mut [Vec<Inst>], out: &mut Vec<Inst>) {
        for from in 0..segments.len() {
            for inst in segments[from].clone() {
                for value in definitions(self.function, inst) {
                    self.pass_value(value, (from, inst), segments, out);
                }
            }
        }
    }

    /// Passes a value that an instruction of a segment defines to the later ones that use it.
    fn pass_value(
        &mut self,
        value: Value,
        (from, inst): (usize, Inst),
        segments: &mut [Vec<Inst>],
        out: &mut Vec<Inst>,
    ) {
        let readers: Vec<usize> =
            (from + 1..segments.len()).filter(|&to| self.uses(&segments[to], value)).collect();
        if readers.is_empty() {
            return;
        }
        let ty = self.function.ty(value);
        let align = ty.size().next_power_of_two();
        let local = self.function.add_local("lifted", u64::from(ty.size()), align);
        out.push(self.add(Op::LocalStart(local), None));
        let (addr, ptr) = self.address(local);
        let store = self.add(Op::Store { ptr, value, align, volatile: false }, None);
        let at = segments[from].iter().position(|&other| other == inst);
        let after = at.expect("the value is defined in this segment") + 1;
        segments[from].splice(after..after, [addr, store]);
        for to in readers {
            let (addr, ptr) = self.address(local);
            let load = self.add(Op::Load { ptr, align, volatile: false }, Some(ty));
            let loaded = self.function.result(load);
            for inst in segments[to].clone() {
                self.replace(inst, value, loaded);
            }
            segments[to].splice(0..0, [addr, load]);
        }
    }

    fn uses(&self, insts: &[Inst], value: Value) -> bool {
        insts.iter().any(|&inst| {
            let op = &self.function.inst(inst).op;
            let mut found = false;
            op.for_each_operand(|operand| found |= operand == value);
            found || op.blocks().iter().any(|&block| self.uses(self.function.block(block), value))
        })
    }

    fn replace(&mut self, inst: Inst, old: Value, new: Value) {
        assert_eq!(self.function.ty(old), self.function.ty(new), "the reader of {old} gets another type");
        self.function.insts[inst.index()].op.for_each_operand_mut(|operand| {
            if *operand == old {
                *operand = new;
            }
        });
        for block in self.function.inst(inst).op.blocks() {
            for inner in self.function.block(block).to_vec() {
                self.replace(inner, old, new);
            }
        }
    }

    fn address(&mut self, local: Local) -> (Inst, Value) {
        let addr = self.add(Op::LocalAddr(local), Some(Type::Ptr(Space::Thread)));
        (addr, self.function.result(addr))
    }

    fn add(&mut self, op: Op, result: Option<Type>) -> Inst {
        self.function.add_inst(op, result, FpMode::default(), Loc::default())
    }
}
