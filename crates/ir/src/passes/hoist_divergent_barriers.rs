//! Lifts threadgroup barriers out of branches that only some threads take.
//!
//! The specification wants every thread of a threadgroup at a barrier (§6.9.1). Real kernels put one into
//! `if (lane == 0)` all the same: SIMD-groups arrive there as a whole, so it works, and the interpreter
//! agrees. A code generator that runs such a branch for all threads or none gets it wrong. So
//! `if (c) { A; barrier; B }` becomes `if (c) { A } barrier; if (c) { B }`, for conditions that follow from
//! the thread's position. Pure computations move in front of the branch; other values that B takes from A
//! pass through locals.
//!
//! Only barriers directly in the branches are lifted, inner branches first; a branch that still contains one,
//! in a loop say, stays as it is.

use crate::{BarrierScope, Block, FpMode, Function, Inst, Loc, Local, Op, Space, Type, Value};

/// How far a condition's definition is followed.
const DEPTH: u32 = 16;

/// Lifts within one function; returns whether anything changed.
pub fn hoist_divergent_barriers(function: &mut Function) -> bool {
    let mut has_barrier = false;
    crate::analysis::walk_insts(function, function.body, &mut |inst| {
        has_barrier |= is_barrier(&function.inst(inst).op);
    });
    if !has_barrier {
        return false;
    }
    let body = function.body;
    let mut lifter = Lifter { function, changed: false };
    lifter.block(body);
    lifter.changed
}

fn is_barrier(op: &Op) -> bool {
    *op == Op::Barrier(BarrierScope::Threadgroup)
}

/// Whether threads of one threadgroup can disagree about the value, as far as its definition tells.
fn differs(function: &Function, value: Value, depth: u32) -> bool {
    let Some(op) = function.def(value) else { return false };
    if let Op::Query(query) = op {
        return !query.is_group_uniform();
    }
    let mut found = false;
    if depth > 0 && op.is_pure() {
        op.for_each_operand(|operand| found = found || differs(function, operand, depth - 1));
    }
    found
}

struct Lifter<'f> {
    function: &'f mut Function,
    changed: bool,
}

impl Lifter<'_> {
    fn block(&mut self, block: Block) {
        let insts = std::mem::take(&mut self.function.blocks[block.index()].insts);
        let mut out = Vec::with_capacity(insts.len());
        for inst in insts {
            for nested in self.function.inst(inst).op.blocks() {
                self.block(nested);
            }
            match self.function.inst(inst).op {
                Op::If { cond, then, otherwise }
                    if self.can_lift(then, otherwise) && differs(self.function, cond, DEPTH) =>
                {
                    self.changed = true;
                    self.split(inst, &mut out);
                }
                _ => out.push(inst),
            }
        }
        self.function.blocks[block.index()].insts = out;
    }

    /// Whether there are barriers, and all of them directly in the two blocks.
    fn can_lift(&self, then: Block, otherwise: Block) -> bool {
        let (mut direct, mut deep) = (false, false);
        for block in [then, otherwise] {
            for &inst in self.function.block(block) {
                let op = &self.function.inst(inst).op;
                direct |= is_barrier(op);
                for nested in op.blocks() {
                    crate::analysis::walk_insts(self.function, nested, &mut |inner| {
                        deep |= is_barrier(&self.function.inst(inner).op);
                    });
                }
            }
        }
        direct && !deep
    }

    fn split(&mut self, branch: Inst, out: &mut Vec<Inst>) {
        let Op::If { cond, then, otherwise } = self.function.inst(branch).op else { return };
        let mut arms: Vec<Vec<Vec<Inst>>> = Vec::new();
        for block in [then, otherwise] {
            let insts = std::mem::take(&mut self.function.blocks[block.index()].insts);
            let kept = self.hoist_pure(insts, out);
            let mut parts: Vec<Vec<Inst>> =
                kept.split(|&inst| is_barrier(&self.function.inst(inst).op)).map(<[Inst]>::to_vec).collect();
            self.pass_values(&mut parts, out);
            arms.push(parts);
        }
        let count = arms.iter().map(Vec::len).max().unwrap_or(0);
        for n in 0..count {
            if n > 0 {
                out.push(self.add(Op::Barrier(BarrierScope::Threadgroup), None));
            }
            let mut blocks = [then, otherwise];
            for (block, arm) in blocks.iter_mut().zip(&mut arms) {
                let insts = arm.get_mut(n).map(std::mem::take).unwrap_or_default();
                *block = self.function.add_block();
                self.function.blocks[block.index()].insts = insts;
            }
            let [then, otherwise] = blocks;
            out.push(self.add(Op::If { cond, then, otherwise }, None));
        }
    }

    /// Moves what can stand in front of the branch there; gives the rest.
    fn hoist_pure(&mut self, insts: Vec<Inst>, out: &mut Vec<Inst>) -> Vec<Inst> {
        // What stays defines values that are not visible outside of the branch.
        let mut inside = Vec::new();
        let mut kept = Vec::new();
        for inst in insts {
            let data = self.function.inst(inst);
            let mut outside = true;
            data.op.for_each_operand(|operand| outside = outside && !inside.contains(&operand));
            if outside && data.op.is_pure() {
                out.push(inst);
            } else {
                inside.extend(data.result);
                kept.push(inst);
            }
        }
        kept
    }

    /// Lets parts have the values of earlier parts through locals.
    fn pass_values(&mut self, parts: &mut [Vec<Inst>], out: &mut Vec<Inst>) {
        for from in 0..parts.len() {
            for inst in parts[from].clone() {
                let Some(value) = self.function.inst(inst).result else { continue };
                let takers: Vec<usize> =
                    (from + 1..parts.len()).filter(|&to| self.uses(&parts[to], value)).collect();
                if takers.is_empty() {
                    continue;
                }
                let ty = self.function.ty(value);
                let align = ty.size().next_power_of_two();
                let local = self.function.add_local("lifted", u64::from(ty.size()), align);
                out.push(self.add(Op::LocalStart(local), None));
                let (addr, ptr) = self.address(local);
                let store = self.add(Op::Store { ptr, value, align, volatile: false }, None);
                let at = parts[from].iter().position(|&other| other == inst).map_or(0, |at| at + 1);
                parts[from].splice(at..at, [addr, store]);
                for to in takers {
                    let (addr, ptr) = self.address(local);
                    let load = self.add(Op::Load { ptr, align, volatile: false }, Some(ty));
                    let loaded = self.result(load);
                    for inst in parts[to].clone() {
                        self.replace(inst, value, loaded);
                    }
                    parts[to].splice(0..0, [addr, load]);
                }
            }
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
        (addr, self.result(addr))
    }

    fn result(&self, inst: Inst) -> Value {
        self.function.inst(inst).result.expect("it was made with a result")
    }

    fn add(&mut self, op: Op, result: Option<Type>) -> Inst {
        self.function.add_inst(op, result, FpMode::default(), Loc::default())
    }
}
