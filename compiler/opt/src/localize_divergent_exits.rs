//! Localises divergent exits: turns breaks and continues after the last barrier of a construct into exits of
//! a new, barrier-free scope.
//!
//! A code generator that executes barriers once per threadgroup executes the constructs around them once per
//! threadgroup too, so every exit of such a construct must be uniform. The barrier rules guarantee that where
//! a barrier can still follow in the construct. Where none can, as after the last barrier of a loop's body,
//! threads may diverge legally until they reconverge at the construct's end. Such an exit is replaced by a
//! break of a new scope without barriers; a flag skips what follows in the blocks around it.
//!
//! Behaviour is unchanged. Afterwards every exit of a construct that contains a barrier is followed, before
//! that construct's end, by a barrier, or is in a nested loop with one.

use anymetal_ir::{Block, FpMode, Function, Inst, Label, Loc, Local, Op, Scalar, Space, Type};

/// Localises the exits of one function; returns whether anything changed.
pub fn localize_divergent_exits(function: &mut Function) -> bool {
    let mut has_barrier = vec![false; function.blocks.len()];
    let body = function.body;
    if !find_barriers(function, body, &mut has_barrier) {
        return false;
    }
    let mut localizer = ExitLocalizer { function, has_barrier, changed: false };
    localizer.constructs(body);
    localizer.changed
}

fn find_barriers(function: &Function, block: Block, has_barrier: &mut [bool]) -> bool {
    let mut found = false;
    for &inst in function.block(block) {
        let op = &function.inst(inst).op;
        found |= op.is_threadgroup_barrier();
        for nested in op.blocks() {
            found |= find_barriers(function, nested, has_barrier);
        }
    }
    has_barrier[block.index()] = found;
    found
}

/// The exits of one construct: its breaks, or the continues of a loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExitTarget {
    Break(Label),
    Continue(Label),
}

impl ExitTarget {
    fn matches_op(self, op: &Op) -> bool {
        match self {
            Self::Break(label) => *op == Op::break_(label),
            Self::Continue(label) => *op == Op::continue_(label),
        }
    }
}

struct ExitLocalizer<'f> {
    function: &'f mut Function,
    /// By block: whether it contains a barrier.
    has_barrier: Vec<bool>,
    changed: bool,
}

impl ExitLocalizer<'_> {
    /// Handles the constructs of a block, the outer ones first.
    fn constructs(&mut self, block: Block) {
        // Instructions may move into new blocks after this one, which are barrier-free.
        for inst in self.function.block(block).to_vec() {
            if !self.inst_has_barrier(inst) {
                continue;
            }
            let op = &self.function.inst(inst).op;
            let exits = match *op {
                Op::Scope { label, body, .. } => Some((ExitTarget::Break(label), vec![body])),
                Op::Switch { label, .. } => Some((ExitTarget::Break(label), op.blocks())),
                Op::Loop { label, body, .. } => Some((ExitTarget::Continue(label), vec![body])),
                // A branch has no exits of its own.
                _ => None,
            };
            if let Some((target, tops)) = exits {
                for top in tops {
                    let mut exit = ExitFlag { target, flag: None };
                    self.block(top, &mut exit, true);
                    if let Some(flag) = exit.flag {
                        self.start_flag(top, flag);
                    }
                }
            }
            for nested in self.function.inst(inst).op.blocks() {
                self.constructs(nested);
            }
        }
    }

    fn inst_has_barrier(&self, inst: Inst) -> bool {
        let op = &self.function.inst(inst).op;
        op.is_threadgroup_barrier() || op.blocks().iter().any(|block| self.has_barrier[block.index()])
    }

    fn contains_exit(&self, inst: Inst, target: ExitTarget) -> bool {
        let op = &self.function.inst(inst).op;
        target.matches_op(op)
            || op.blocks().iter().any(|&block| {
                self.function.block(block).iter().any(|&inner| self.contains_exit(inner, target))
            })
    }

    /// Replaces the exits of a block that no barrier follows before the construct's end.
    /// `top`: the end of the block is the end of the construct. Returns whether an exit was replaced.
    fn block(&mut self, block: Block, exit: &mut ExitFlag, top: bool) -> bool {
        let insts = self.function.block(block).to_vec();
        let last_barrier = insts.iter().rposition(|&inst| self.inst_has_barrier(inst));
        let mut replaced = false;
        let mut from = 0;
        if let Some(at) = last_barrier {
            from = at + 1;
            let op = self.function.inst(insts[at]).op.clone();
            if matches!(op, Op::If { .. } | Op::Switch { .. } | Op::Scope { .. })
                && self.contains_exit(insts[at], exit.target)
            {
                for nested in op.blocks() {
                    replaced |= self.block(nested, exit, top && from == insts.len());
                }
                if replaced && from < insts.len() {
                    self.guard_rest(block, from, exit, top);
                    return true;
                }
            }
        }
        let Some(first) = (from..insts.len()).find(|&at| self.contains_exit(insts[at], exit.target)) else {
            // No exit follows the last barrier.
            return replaced;
        };
        self.changed = true;
        let rest = self.function.blocks[block.index()].insts.split_off(first);
        let scope = self.wrap_in_scope(rest, exit, top);
        self.function.blocks[block.index()].insts.extend(scope);
        true
    }

    /// Executes the rest of a block only if the flag is not set.
    fn guard_rest(&mut self, block: Block, from: usize, exit: &mut ExitFlag, top: bool) {
        let rest = self.function.blocks[block.index()].insts.split_off(from);
        let then = self.new_block(rest);
        let otherwise = self.new_block(Vec::new());
        let (addr, ptr) = self.flag_address(exit);
        let load = Op::Load { ptr, align: 1, volatile: false };
        let load = self.add(load, Some(Type::Scalar(Scalar::Bool)));
        let cond = self.function.result(load);
        let test = self.add(Op::branch(cond, otherwise, then), None);
        self.function.blocks[block.index()].insts.extend([addr, load, test]);
        self.block(then, exit, top);
    }

    /// Wraps instructions without barriers in a new scope, which their exits leave.
    fn wrap_in_scope(&mut self, insts: Vec<Inst>, exit: &mut ExitFlag, top: bool) -> Option<Inst> {
        let label = self.function.add_label();
        let body = self.new_block(insts);
        assert!(
            !self.has_barrier[body.index()],
            "threads that have left the scope do not reach its barriers"
        );
        // A break at the end of its own scope is redundant.
        self.redirect(body, exit, label, top);
        match self.function.block(body) {
            [.., last] if self.function.inst(*last).op == Op::break_(label) => {
                self.function.blocks[body.index()].insts.pop();
            }
            _ => {}
        }
        (!self.function.block(body).is_empty()).then(|| self.add(Op::scope(label, body), None))
    }

    fn redirect(&mut self, block: Block, exit: &mut ExitFlag, label: Label, top: bool) {
        let insts = std::mem::take(&mut self.function.blocks[block.index()].insts);
        let mut out = Vec::with_capacity(insts.len());
        for inst in insts {
            if exit.target.matches_op(&self.function.inst(inst).op) {
                if !top {
                    out.extend(self.set_flag(exit, true));
                }
                self.function.insts[inst.index()].op = Op::break_(label);
            }
            for nested in self.function.inst(inst).op.blocks() {
                self.redirect(nested, exit, label, top);
            }
            out.push(inst);
        }
        self.function.blocks[block.index()].insts = out;
    }

    // --- the flag

    fn start_flag(&mut self, top: Block, flag: Local) {
        let start = self.add(Op::LocalStart(flag), None);
        let mut exit = ExitFlag { target: ExitTarget::Break(Label(0)), flag: Some(flag) };
        let store = self.set_flag(&mut exit, false);
        let insts = &mut self.function.blocks[top.index()].insts;
        insts.splice(0..0, std::iter::once(start).chain(store));
    }

    fn set_flag(&mut self, exit: &mut ExitFlag, value: bool) -> [Inst; 3] {
        let constant = self.add(Op::bool_const(value), Some(Type::Scalar(Scalar::Bool)));
        let value = self.function.result(constant);
        let (addr, ptr) = self.flag_address(exit);
        let store = self.add(Op::Store { ptr, value, align: 1, volatile: false }, None);
        [constant, addr, store]
    }

    fn flag_address(&mut self, exit: &mut ExitFlag) -> (Inst, anymetal_ir::Value) {
        let flag = match exit.flag {
            Some(flag) => flag,
            None => self.function.add_local("skips", 1, 1),
        };
        exit.flag = Some(flag);
        let addr = self.add(Op::LocalAddr(flag), Some(Type::Ptr(Space::Thread)));
        (addr, self.function.result(addr))
    }

    fn add(&mut self, op: Op, result: Option<Type>) -> Inst {
        self.function.add_inst(op, result, FpMode::default(), Loc::default())
    }

    fn new_block(&mut self, insts: Vec<Inst>) -> Block {
        let block = self.function.add_block();
        self.has_barrier.push(insts.iter().any(|&inst| self.inst_has_barrier(inst)));
        assert_eq!(self.has_barrier.len(), self.function.blocks.len(), "one entry for each block");
        self.function.blocks[block.index()].insts = insts;
        block
    }
}

/// The exits of one construct, and the flag that is set when one was taken.
struct ExitFlag {
    target: ExitTarget,
    flag: Option<Local>,
}
