//! Finds the next operation that is worth a copy, and what would be copied.

use rustc_hash::FxHashSet;

use super::{ThreadPattern, each};
use crate::analysis::{LocalPointers, local_pointers};
use crate::passes::mem2reg::variables;
use crate::{BarrierScope, BinOp, Block, CastOp, Function, Inst, Label, Local, Op, Scalar, Type, Value};

/// An operation and where it is.
pub(super) struct Found {
    pub(super) inst: Inst,
    pub(super) place: Place,
}

pub(super) enum Place {
    /// In this block, and what follows is copied.
    Here { block: Block, at: usize, step: u32 },
    /// In a loop whose first iteration is copied, with the rest of the loop and what follows that.
    InLoop(Looped),
}

/// A loop and what its body begins with.
pub(super) struct Looped {
    /// The block with the loop, and where it is there.
    pub(super) block: Block,
    pub(super) at: usize,
    pub(super) label: Label,
    pub(super) body: Block,
    pub(super) continuing: Block,
    /// The `if` that leaves the loop before the operation, by its place in the body.
    pub(super) test: Option<usize>,
    /// The operation's place in the body. What stands before it has no effects.
    pub(super) division: usize,
    /// By how much what is divided rises.
    pub(super) step: u32,
}

/// Where to look, and for what.
pub(super) struct Search<'a> {
    pub(super) function: &'a Function,
    pub(super) threads: &'a dyn Fn(Value) -> ThreadPattern,
    /// Operations that are not looked for.
    pub(super) done: &'a FxHashSet<Inst>,
    /// What products are looked for of.
    pub(super) remainders: &'a FxHashSet<Value>,
    /// The most instructions that may be copied.
    pub(super) room: usize,
    pointers: LocalPointers,
    variables: Vec<bool>,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        function: &'a Function,
        threads: &'a dyn Fn(Value) -> ThreadPattern,
        (done, remainders): (&'a FxHashSet<Inst>, &'a FxHashSet<Value>),
        room: usize,
    ) -> Self {
        let pointers = local_pointers(function);
        let variables = variables(function, &pointers);
        Self { function, threads, done, remainders, room, pointers, variables }
    }

    /// The first in textual order.
    pub(super) fn first(&self) -> Option<Found> {
        self.in_block(self.function.body, &mut Vec::new())
    }

    /// `around`: the blocks around this one that are passed once for each time that this one is, and where in them.
    fn in_block(&self, block: Block, around: &mut Vec<(Block, usize)>) -> Option<Found> {
        for (at, &inst) in self.function.block(block).iter().enumerate() {
            if let Some(step) = self.is_worth_it(inst).filter(|_| self.may_copy(block, at, 1)) {
                return Some(Found { inst, place: Place::Here { block, at, step } });
            }
            let op = &self.function.inst(inst).op;
            around.push((block, at));
            let found = self.in_loop(inst, around).or_else(|| {
                if matches!(op, Op::Loop { .. }) {
                    return op.blocks().into_iter().find_map(|nested| self.in_block(nested, &mut Vec::new()));
                }
                op.blocks().into_iter().find_map(|nested| self.in_block(nested, around))
            });
            around.pop();
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Whether the rest of a block from there on, its first instruction taken so many times, can be copied.
    fn may_copy(&self, block: Block, at: usize, times: usize) -> bool {
        let insts = &self.function.block(block)[at..];
        let mut size = 0;
        let mut waits = false;
        each(self.function, insts, &mut |inst| {
            let op = &self.function.inst(inst).op;
            waits |= matches!(op, Op::Barrier(BarrierScope::Threadgroup | BarrierScope::Simdgroup));
            waits |= matches!(op, Op::Matrix(..) | Op::Call(..));
            size += 1;
        });
        let mut first = 0;
        each(self.function, &insts[..1], &mut |_| first += 1);
        !waits && size + (times - 1) * first <= self.room
    }

    /// By how much what is divided, or multiplied, rises, if a copy helps.
    fn is_worth_it(&self, inst: Inst) -> Option<u32> {
        let Op::Binary(op, a, b) = self.function.inst(inst).op else { return None };
        if self.done.contains(&inst) {
            return None;
        }
        if op == BinOp::Mul {
            return self.strided(a, b).or_else(|| self.strided(b, a));
        }
        self.rising(a).filter(|_| self.divides(inst))
    }

    fn rising(&self, value: Value) -> Option<u32> {
        if let ThreadPattern::Rising(step) = (self.threads)(value) { Some(step) } else { None }
    }

    /// A product of a remainder and a factor that is the same for all threads.
    fn strided(&self, remainder: Value, factor: Value) -> Option<u32> {
        let is_one = is_of_remainder(self.function, self.remainders, remainder) && self.is_unknown(factor);
        self.rising(remainder).filter(|_| is_one)
    }

    /// The same for all threads, but no constant.
    fn is_unknown(&self, value: Value) -> bool {
        self.function.as_const(value).is_none() && (self.threads)(value) == ThreadPattern::Same
    }

    /// A division, or a remainder, by a number that is the same for all threads.
    fn divides(&self, inst: Inst) -> bool {
        let Op::Binary(op, a, b) = self.function.inst(inst).op else { return false };
        matches!(op, BinOp::UDiv | BinOp::URem | BinOp::SDiv | BinOp::SRem)
            && matches!(self.function.ty(a), Type::Scalar(Scalar::I32 | Scalar::I64))
            && self.is_unknown(b)
    }

    fn in_loop(&self, inst: Inst, around: &[(Block, usize)]) -> Option<Found> {
        let Op::Loop { label, body, continuing } = self.function.inst(inst).op else { return None };
        let &(block, at) = around.last()?;
        let mut test = None;
        for (place, &inst) in self.function.block(body).iter().enumerate() {
            let op = &self.function.inst(inst).op;
            if self.divides(inst) && !self.done.contains(&inst) {
                let carried = self.carried(inst)?;
                let step = self.rising(self.stored_before(carried, around)?)?;
                let looped = Looped { block, at, label, body, continuing, test, division: place, step };
                return self.may_copy(block, at, 2).then_some(Found { inst, place: Place::InLoop(looped) });
            }
            match op {
                Op::If { then, otherwise, .. } if test.is_none() => {
                    let leaves = |block: Block| matches!(self.function.block(block), [only] if self.function.inst(*only).op == Op::Break(label));
                    let empty = |block: Block| self.function.block(block).is_empty();
                    if !(leaves(*then) && empty(*otherwise) || empty(*then) && leaves(*otherwise)) {
                        return None;
                    }
                    test = Some(place);
                }
                op if op.has_side_effects() => return None,
                _ => {}
            }
        }
        None
    }

    /// The variable that a division in a loop takes, possibly wider: in the way in which it is divided, so that
    /// a step that wraps is a step down.
    fn carried(&self, division: Inst) -> Option<Local> {
        let Op::Binary(op, mut value, _) = self.function.inst(division).op else { return None };
        let signed = matches!(op, BinOp::SDiv | BinOp::SRem);
        loop {
            match *self.function.def(value)? {
                Op::Cast(CastOp::ZExt, narrow) => value = narrow,
                Op::Cast(CastOp::SExt, narrow) if signed => value = narrow,
                Op::Load { ptr, .. } => return self.variable(ptr),
                _ => return None,
            }
        }
    }

    fn variable(&self, ptr: Value) -> Option<Local> {
        let (local, _) = self.pointers[ptr.index()]?;
        self.variables[local.index()].then_some(local)
    }

    /// What was stored to the variable last before the position.
    fn stored_before(&self, local: Local, around: &[(Block, usize)]) -> Option<Value> {
        for &(block, end) in around.iter().rev() {
            for &inst in self.function.block(block)[..end].iter().rev() {
                match &self.function.inst(inst).op {
                    &Op::Store { ptr, value, .. } if self.variable(ptr) == Some(local) => return Some(value),
                    Op::LocalStart(started) if *started == local => return None,
                    op if !op.blocks().is_empty() => {
                        let mut stores = false;
                        each(self.function, &[inst], &mut |inst| {
                            if let Op::Store { ptr, .. } = self.function.inst(inst).op {
                                stores |= self.variable(ptr) == Some(local);
                            }
                        });
                        if stores {
                            return None;
                        }
                    }
                    _ => {}
                }
            }
        }
        None
    }
}

/// Whether a value is one of these, perhaps in another width, or unless something is chosen instead.
pub(super) fn is_of_remainder(function: &Function, remainders: &FxHashSet<Value>, mut value: Value) -> bool {
    loop {
        match function.def(value) {
            _ if remainders.contains(&value) => return true,
            Some(&Op::Cast(CastOp::ZExt | CastOp::SExt | CastOp::Trunc, from)) => value = from,
            Some(&Op::Select(_, a, b)) => {
                // What a division leaves that the divisor goes into no times is the dividend.
                return [a, b].into_iter().any(|value| is_of_remainder(function, remainders, value));
            }
            _ => return false,
        }
    }
}
