//! Finds the next division or product to version, and the code that has to be cloned.

use rustc_hash::FxHashSet;

use super::walk_all;
use crate::limits::MAX_LANE_STEP;
use anymetal_analysis::divergence::Divergence;
use anymetal_analysis::{CountedLoops, as_exit_test};
use anymetal_ir::{
    BarrierScope, BinOp, Block, CastOp, Function, Inst, Label, Op, Scalar, Type, Value, ValueDef,
};

/// An operation to version, and where it is.
pub(super) struct Site {
    pub(super) inst: Inst,
    pub(super) place: SiteKind,
}

pub(super) enum SiteKind {
    /// In this block; the rest of the block is cloned.
    Straight { block: Block, at: usize, step: u32 },
    /// In a loop whose first iteration is peeled; the loop and the rest of its block are cloned.
    Loop(DividingLoop),
}

/// A loop with a division of a parameter of the loop.
pub(super) struct DividingLoop {
    /// The block that contains the loop, and its index there.
    pub(super) block: Block,
    pub(super) at: usize,
    pub(super) label: Label,
    pub(super) body: Block,
    /// Index in the body of the `if` that leaves the loop before the division.
    pub(super) test: Option<usize>,
    /// Index of the division in the body. Everything before it is free of effects.
    pub(super) division: usize,
    /// Stride of the dividend between threads.
    pub(super) step: u32,
}

/// The search for candidates.
pub(super) struct SiteSearch<'a> {
    pub(super) function: &'a Function,
    pub(super) divergence: &'a Divergence,
    /// Operations that are not candidates.
    pub(super) done: &'a FxHashSet<Inst>,
    /// Remainders whose products are candidates.
    pub(super) remainders: &'a FxHashSet<Value>,
    /// Maximum number of instructions that may be cloned.
    pub(super) room: usize,
    loops: CountedLoops<'a>,
}

impl<'a> SiteSearch<'a> {
    pub(super) fn new(
        function: &'a Function,
        divergence: &'a Divergence,
        (done, remainders): (&'a FxHashSet<Inst>, &'a FxHashSet<Value>),
        room: usize,
    ) -> Self {
        let loops = CountedLoops::new(function);
        Self { function, divergence, done, remainders, room, loops }
    }

    /// The first candidate in textual order.
    pub(super) fn first(&self) -> Option<Site> {
        self.first_in(self.function.body)
    }

    fn first_in(&self, block: Block) -> Option<Site> {
        for (at, &inst) in self.function.block(block).iter().enumerate() {
            if let Some(step) = self.stride_of_candidate(inst).filter(|_| self.may_copy(block, at, 1)) {
                return Some(Site { inst, place: SiteKind::Straight { block, at, step } });
            }
            let op = &self.function.inst(inst).op;
            let nested = || op.blocks().into_iter().find_map(|nested| self.first_in(nested));
            let found = self.loop_site(inst, (block, at)).or_else(nested);
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Whether the rest of a block from `at` on can be cloned, its first instruction `times` times.
    fn may_copy(&self, block: Block, at: usize, times: usize) -> bool {
        let insts = &self.function.block(block)[at..];
        let mut size = 0;
        let mut synchronises = false;
        walk_all(self.function, insts, &mut |inst| {
            let op = &self.function.inst(inst).op;
            synchronises |= matches!(op, Op::Barrier(scope, _) if *scope != BarrierScope::Thread);
            synchronises |= matches!(op, Op::Matrix(..) | Op::Call(..));
            size += 1;
        });
        let mut first = 0;
        walk_all(self.function, &insts[..1], &mut |_| first += 1);
        !synchronises && size + (times - 1) * first <= self.room
    }

    /// The stride of the dividend or of the remainder in a product, if versioning helps.
    fn stride_of_candidate(&self, inst: Inst) -> Option<u32> {
        match self.function.inst(inst).op {
            _ if self.done.contains(&inst) => None,
            Op::Binary(BinOp::Mul, a, b) => {
                self.stride_of_product(a, b).or_else(|| self.stride_of_product(b, a))
            }
            Op::Binary(_, a, _) => self.rising(a).filter(|_| self.divides(inst)),
            _ => None,
        }
    }

    fn rising(&self, value: Value) -> Option<u32> {
        let [shape] = self.divergence.values[value.index()].as_slice() else {
            // Quotients of vectors are not versioned.
            return None;
        };
        shape.affine()?.rising_step().filter(|&step| step <= MAX_LANE_STEP)
    }

    /// The stride of the remainder in a product with a uniform factor.
    fn stride_of_product(&self, remainder: Value, factor: Value) -> Option<u32> {
        let is_one = is_of_remainder(self.function, self.remainders, remainder) && self.is_unknown(factor);
        self.rising(remainder).filter(|_| is_one)
    }

    /// Uniform, but not constant.
    fn is_unknown(&self, value: Value) -> bool {
        self.function.as_const(value).is_none() && self.divergence.is_uniform(value)
    }

    /// A division or remainder by a uniform divisor.
    fn divides(&self, inst: Inst) -> bool {
        match self.function.inst(inst).op {
            Op::Binary(BinOp::UDiv | BinOp::URem | BinOp::SDiv | BinOp::SRem, a, b) => {
                matches!(self.function.ty(a), Type::Scalar(Scalar::I32 | Scalar::I64)) && self.is_unknown(b)
            }
            _ => false,
        }
    }

    fn loop_site(&self, looping: Inst, (block, at): (Block, usize)) -> Option<Site> {
        let (label, body, _) = self.function.as_loop(looping)?;
        let mut test = None;
        for (place, &inst) in self.function.block(body).iter().enumerate() {
            let op = &self.function.inst(inst).op;
            if self.divides(inst) && !self.done.contains(&inst) {
                let step = self.rising(self.loops.start(self.divided_parameter(inst, looping)?))?;
                let looped = DividingLoop { block, at, label, body, test, division: place, step };
                return self.may_copy(block, at, 2).then_some(Site { inst, place: SiteKind::Loop(looped) });
            }
            match op {
                Op::If { .. } if test.is_none() => {
                    as_exit_test(self.function, inst, label)?;
                    test = Some(place);
                }
                op if op.has_side_effects() => return None,
                _ => {}
            }
        }
        None
    }

    /// The parameter of the loop that a division in it divides, possibly extended with the signedness of the
    /// division, so that a value that wraps becomes smaller.
    fn divided_parameter(&self, division: Inst, looping: Inst) -> Option<Value> {
        let Op::Binary(op, mut value, _) = self.function.inst(division).op else {
            unreachable!("{division} is not a division")
        };
        let signed = matches!(op, BinOp::SDiv | BinOp::SRem);
        loop {
            if let ValueDef::LoopParam(of, _) = self.function.values[value.index()].def {
                return (of == looping).then_some(value);
            }
            match *self.function.def(value)? {
                Op::Cast(CastOp::ZExt, narrow) => value = narrow,
                Op::Cast(CastOp::SExt, narrow) if signed => value = narrow,
                _ => return None,
            }
        }
    }
}

/// Whether a value is one of these remainders, possibly through conversions and selects.
pub(super) fn is_of_remainder(function: &Function, remainders: &FxHashSet<Value>, mut value: Value) -> bool {
    loop {
        match function.def(value) {
            _ if remainders.contains(&value) => return true,
            Some(&Op::Cast(CastOp::ZExt | CastOp::SExt | CastOp::Trunc, from)) => value = from,
            Some(&Op::Select(_, a, b)) => {
                // Of a dividend below the divisor the remainder is the dividend.
                return [a, b].into_iter().any(|value| is_of_remainder(function, remainders, value));
            }
            _ => return false,
        }
    }
}
