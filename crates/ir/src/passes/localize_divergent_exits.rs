//! Gives jumps that only some threads may take a scope of their own.
//!
//! A code generator that runs barriers once per threadgroup runs the constructs around them once per
//! threadgroup too, and wants every jump out of such a construct to be taken by all threads that are left.
//! The barrier rules promise that where a barrier can still follow inside the construct. Where none can, as
//! behind the last barrier of a loop's body, threads may part legally until they meet at the construct's
//! end: there this pass replaces the jump by one out of a new scope, which contains no barrier. What follows
//! in blocks around it is skipped through a flag.
//!
//! Behaviour is unchanged. Afterwards a jump to a construct with a barrier inside has, on the way to that
//! construct's end, a barrier or an enclosing loop with one.

use crate::{BarrierScope, Block, FpMode, Function, Inst, Label, Loc, Local, Op, Scalar, Space, Type};

/// Rejoins within one function; returns whether anything changed.
pub fn localize_divergent_exits(function: &mut Function) -> bool {
    let mut waits = vec![false; function.blocks.len()];
    let body = function.body;
    if !find_barriers(function, body, &mut waits) {
        return false;
    }
    let mut rejoiner = Rejoiner { function, waits, changed: false };
    rejoiner.constructs(body);
    rejoiner.changed
}

fn find_barriers(function: &Function, block: Block, waits: &mut [bool]) -> bool {
    let mut found = false;
    for &inst in function.block(block) {
        let op = &function.inst(inst).op;
        found |= *op == Op::Barrier(BarrierScope::Threadgroup);
        for nested in op.blocks() {
            found |= find_barriers(function, nested, waits);
        }
    }
    waits[block.index()] = found;
    found
}

/// The jumps that are dealt with: those that end up at the end of one construct.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Break(Label),
    Continue(Label),
}

impl Target {
    fn is(self, op: &Op) -> bool {
        match self {
            Self::Break(label) => *op == Op::Break(label),
            Self::Continue(label) => *op == Op::Continue(label),
        }
    }
}

struct Rejoiner<'f> {
    function: &'f mut Function,
    /// By block: a barrier is inside.
    waits: Vec<bool>,
    changed: bool,
}

impl Rejoiner<'_> {
    /// Looks at the constructs of a block, the outer ones first.
    fn constructs(&mut self, block: Block) {
        // What is rejoined may move into new blocks behind it, which are barrier-free.
        for inst in self.function.block(block).to_vec() {
            if !self.inst_waits(inst) {
                continue;
            }
            let (target, tops) = match &self.function.inst(inst).op {
                Op::Scope { label, body } => (Some(Target::Break(*label)), vec![*body]),
                Op::Switch { label, .. } => {
                    (Some(Target::Break(*label)), self.function.inst(inst).op.blocks())
                }
                Op::Loop { label, body, .. } => (Some(Target::Continue(*label)), vec![*body]),
                _ => (None, Vec::new()),
            };
            for top in tops {
                let Some(target) = target else { continue };
                let mut skip = Skip { target, flag: None };
                self.block(top, &mut skip, true);
                if let Some(flag) = skip.flag {
                    self.start_flag(top, flag);
                }
            }
            for nested in self.function.inst(inst).op.blocks() {
                self.constructs(nested);
            }
        }
    }

    fn inst_waits(&self, inst: Inst) -> bool {
        let op = &self.function.inst(inst).op;
        *op == Op::Barrier(BarrierScope::Threadgroup)
            || op.blocks().iter().any(|block| self.waits[block.index()])
    }

    fn jumps(&self, inst: Inst, target: Target) -> bool {
        let op = &self.function.inst(inst).op;
        target.is(op)
            || op
                .blocks()
                .iter()
                .any(|&block| self.function.block(block).iter().any(|&inner| self.jumps(inner, target)))
    }

    /// Deals with the jumps of a block behind which no barrier follows before the construct's end.
    /// `top`: the end of the block is the end of the construct. Whether a jump was replaced.
    fn block(&mut self, block: Block, skip: &mut Skip, top: bool) -> bool {
        let insts = self.function.block(block).to_vec();
        let last_wait = insts.iter().rposition(|&inst| self.inst_waits(inst));
        let mut replaced = false;
        let mut from = 0;
        if let Some(at) = last_wait {
            from = at + 1;
            let op = self.function.inst(insts[at]).op.clone();
            if matches!(op, Op::If { .. } | Op::Switch { .. } | Op::Scope { .. })
                && self.jumps(insts[at], skip.target)
            {
                for nested in op.blocks() {
                    replaced |= self.block(nested, skip, top && from == insts.len());
                }
                if replaced && from < insts.len() {
                    self.guard(block, from, skip, top);
                    return true;
                }
            }
        }
        let Some(first) = (from..insts.len()).find(|&at| self.jumps(insts[at], skip.target)) else {
            return replaced;
        };
        self.changed = true;
        let rest = self.function.blocks[block.index()].insts.split_off(first);
        let scope = self.wrap(rest, skip, top);
        self.function.blocks[block.index()].insts.extend(scope);
        true
    }

    /// Puts the rest of a block behind a test of the flag.
    fn guard(&mut self, block: Block, from: usize, skip: &mut Skip, top: bool) {
        let rest = self.function.blocks[block.index()].insts.split_off(from);
        let then = self.new_block(rest);
        let otherwise = self.new_block(Vec::new());
        let (addr, ptr) = self.flag_address(skip);
        let load = Op::Load { ptr, align: 1, volatile: false };
        let load = self.add(load, Some(Type::Scalar(Scalar::Bool)));
        let cond = self.function.inst(load).result.expect("a load has a result");
        let test = self.add(Op::If { cond, then: otherwise, otherwise: then }, None);
        self.function.blocks[block.index()].insts.extend([addr, load, test]);
        self.block(then, skip, top);
    }

    /// Instructions without barriers in a scope of their own, which the jumps in them leave.
    fn wrap(&mut self, insts: Vec<Inst>, skip: &mut Skip, top: bool) -> Option<Inst> {
        let label = self.function.add_label();
        let body = self.new_block(insts);
        // A jump at the end of the scope itself goes there anyway.
        self.redirect(body, skip, label, top);
        match self.function.block(body) {
            [.., last] if self.function.inst(*last).op == Op::Break(label) => {
                self.function.blocks[body.index()].insts.pop();
            }
            _ => {}
        }
        (!self.function.block(body).is_empty()).then(|| self.add(Op::Scope { label, body }, None))
    }

    fn redirect(&mut self, block: Block, skip: &mut Skip, label: Label, top: bool) {
        let insts = std::mem::take(&mut self.function.blocks[block.index()].insts);
        let mut out = Vec::with_capacity(insts.len());
        for inst in insts {
            if skip.target.is(&self.function.inst(inst).op) {
                if !top {
                    out.extend(self.set_flag(skip, true));
                }
                self.function.insts[inst.index()].op = Op::Break(label);
            }
            for nested in self.function.inst(inst).op.blocks() {
                self.redirect(nested, skip, label, top);
            }
            out.push(inst);
        }
        self.function.blocks[block.index()].insts = out;
    }

    // --- the flag

    fn start_flag(&mut self, top: Block, flag: Local) {
        let start = self.add(Op::LocalStart(flag), None);
        let mut skip = Skip { target: Target::Break(Label(0)), flag: Some(flag) };
        let store = self.set_flag(&mut skip, false);
        let insts = &mut self.function.blocks[top.index()].insts;
        insts.splice(0..0, std::iter::once(start).chain(store));
    }

    fn set_flag(&mut self, skip: &mut Skip, value: bool) -> [Inst; 3] {
        let constant = self.add(Op::bool_const(value), Some(Type::Scalar(Scalar::Bool)));
        let value = self.function.inst(constant).result.expect("a constant is a value");
        let (addr, ptr) = self.flag_address(skip);
        let store = self.add(Op::Store { ptr, value, align: 1, volatile: false }, None);
        [constant, addr, store]
    }

    fn flag_address(&mut self, skip: &mut Skip) -> (Inst, crate::Value) {
        let flag = match skip.flag {
            Some(flag) => flag,
            None => self.function.add_local("skips", 1, 1),
        };
        skip.flag = Some(flag);
        let addr = self.add(Op::LocalAddr(flag), Some(Type::Ptr(Space::Thread)));
        (addr, self.function.inst(addr).result.expect("an address is a value"))
    }

    fn add(&mut self, op: Op, result: Option<Type>) -> Inst {
        self.function.add_inst(op, result, FpMode::default(), Loc::default())
    }

    fn new_block(&mut self, insts: Vec<Inst>) -> Block {
        let block = self.function.add_block();
        self.waits.push(insts.iter().any(|&inst| self.inst_waits(inst)));
        self.function.blocks[block.index()].insts = insts;
        block
    }
}

/// One construct's jumps, and the flag that says that one was taken.
struct Skip {
    target: Target,
    flag: Option<Local>,
}
