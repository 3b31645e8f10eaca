//! Loads whose address takes a computation that is no sum, such as the divisions that make a position in a
//! tensor of a flat index.
//!
//! What a later thread will load is found by doing the computation for it, once for a SIMD-group: with the
//! position of a thread [`DISTANCE`] behind the group's first one, all of it is scalar. Grids too small for
//! their data to lie outside of caches skip it.
//!
//! Invariants: what is repeated ([`Slice`]) reads constants and its own variables only, and stores to nothing
//! but copies of these. Which way it takes and which constants it reads do not depend on the position
//! ([`Dependence`]): so it ends if the thread's own computation does, and reads nothing out of bounds but what
//! that one has read.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Finder, Hints};
use crate::analysis::walk_insts;
use crate::{
    BinOp, Block, CmpOp, Function, Inst, Label, Local, Op, PrefetchHint, Query, Scalar, Space, Type, Value,
    ValueDef,
};

/// Threads ahead. Eight SIMD-groups take about as long as memory does.
const DISTANCE: u64 = 256;
/// Threads of a grid below which nothing is asked for.
const MIN_THREADS: u64 = 1 << 20;
/// How far definitions are followed.
const DEPTH_OF_SLICE: u32 = 64;
/// The most instructions to repeat.
const MAX_INSTRUCTIONS: usize = 64;
/// The most bytes asked for: a few lines from the first thread's on.
const MAX_BYTES: u32 = 256;
/// Threads of a SIMD-group.
const SIMD_GROUP: u32 = 32;

const POSITION: Op = Op::Query(Query::ThreadPositionInGrid(0));

/// The computation of an address.
pub(super) struct Slice {
    /// In order; constructs with all they contain.
    insts: Vec<Inst>,
    locals: BTreeSet<Local>,
}

impl Finder<'_> {
    /// The computation of the pointer of a load in that block, if it may be repeated.
    pub(super) fn slice(&self, block: Block, access: Inst, pointer: Value) -> Option<Slice> {
        let before = self.function.block(block);
        let before = &before[..before.iter().position(|&inst| inst == access)?];
        let mut finder = SliceFinder {
            finder: self,
            before,
            needed: FxHashSet::default(),
            outer: Vec::new(),
            locals: BTreeSet::new(),
        };
        finder.need(pointer, DEPTH_OF_SLICE)?;
        let SliceFinder { needed, outer, locals, .. } = finder;
        let mut insts = outer;
        insts.extend(before.iter().filter(|inst| needed.contains(inst)));
        let mut count = insts.len();
        let mut follows = false;
        for &inst in &insts {
            follows |= self.function.inst(inst).op == POSITION;
            for nested in self.function.inst(inst).op.blocks() {
                walk_insts(self.function, nested, &mut |_| count += 1);
            }
        }
        let slice = Slice { insts, locals };
        (follows && count <= MAX_INSTRUCTIONS && Dependence::allows(self, &slice)).then_some(slice)
    }
}

struct SliceFinder<'a, 'f> {
    finder: &'a Finder<'f>,
    /// The instructions of the load's block before it.
    before: &'a [Inst],
    needed: FxHashSet<Inst>,
    /// Needed instructions of blocks around, in order.
    outer: Vec<Inst>,
    locals: BTreeSet<Local>,
}

impl SliceFinder<'_, '_> {
    fn need(&mut self, value: Value, depth: u32) -> Option<()> {
        let function = self.finder.function;
        let depth = depth.checked_sub(1)?;
        let ValueDef::Inst(inst) = function.values[value.index()].def else { return Some(()) };
        if self.needed.contains(&inst) {
            return Some(());
        }
        let here = self.before.contains(&inst);
        let op = &function.inst(inst).op;
        if !here && matches!(op, Op::Load { ptr, .. } if function.ty(*ptr) == Type::Ptr(Space::Thread)) {
            return None;
        }
        self.need_inst(inst, depth)?;
        if !here {
            self.outer.push(inst);
        }
        Some(())
    }

    /// What an instruction takes, which must be of a kind that may be repeated.
    fn need_inst(&mut self, inst: Inst, depth: u32) -> Option<()> {
        let function = self.finder.function;
        if self.needed.len() > MAX_INSTRUCTIONS {
            return None;
        }
        self.needed.insert(inst);
        let op = &function.inst(inst).op;
        match op {
            Op::Load { ptr, .. } if function.ty(*ptr) == Type::Ptr(Space::Constant) => {}
            Op::Load { ptr, .. } | Op::Store { ptr, .. } => {
                let local = self.finder.variable(*ptr)?;
                self.need_local(local, depth)?;
            }
            Op::If { .. } | Op::Loop { .. } | Op::Switch { .. } | Op::Scope { .. } => {}
            Op::Break(_) | Op::Continue(_) | Op::LocalStart(_) => {}
            op if op.is_pure() => {}
            _ => return None,
        }
        let mut inside = Some(());
        op.for_each_operand(|operand| inside = inside.and_then(|()| self.need(operand, depth)));
        inside?;
        for nested in op.blocks() {
            for &inst in function.block(nested) {
                self.need_inst(inst, depth)?;
            }
        }
        Some(())
    }

    /// What stores to a variable, which must begin in the load's block.
    fn need_local(&mut self, local: Local, depth: u32) -> Option<()> {
        if !self.locals.insert(local) {
            return Some(());
        }
        let function = self.finder.function;
        let starts = |inst: &Inst| function.inst(*inst).op == Op::LocalStart(local);
        let start = self.before.iter().position(starts)?;
        let depth = depth.checked_sub(1)?;
        for &inst in &self.before[start..] {
            let mut stores = false;
            let mut look = |inst: Inst| {
                if let Op::Store { ptr, .. } = function.inst(inst).op {
                    stores |= self.finder.variable(ptr) == Some(local);
                }
            };
            look(inst);
            for nested in function.inst(inst).op.blocks() {
                walk_insts(function, nested, &mut look);
            }
            if (stores || starts(&inst)) && !self.needed.contains(&inst) {
                self.need_inst(inst, depth)?;
            }
        }
        Some(())
    }
}

/// What follows from the thread's position.
struct Dependence<'a, 'f> {
    finder: &'a Finder<'f>,
    values: FxHashSet<Value>,
    locals: BTreeSet<Local>,
}

impl<'a, 'f> Dependence<'a, 'f> {
    fn allows(finder: &'a Finder<'f>, slice: &Slice) -> bool {
        let mut this = Self { finder, values: FxHashSet::default(), locals: BTreeSet::new() };
        // Variables carry it round loops.
        loop {
            let known = (this.values.len(), this.locals.len());
            if !slice.insts.iter().all(|&inst| this.follow(inst, false)) {
                return false;
            }
            if known == (this.values.len(), this.locals.len()) {
                return true;
            }
        }
    }

    /// `chosen`: whether it depends on the position that the instruction is reached.
    fn follow(&mut self, inst: Inst, chosen: bool) -> bool {
        let function = self.finder.function;
        let data = function.inst(inst);
        let mut depends = data.op == POSITION;
        data.op.for_each_operand(|operand| depends |= self.values.contains(&operand));
        match data.op {
            Op::Load { ptr, .. } if function.ty(ptr) == Type::Ptr(Space::Constant) && (depends || chosen) => {
                return false;
            }
            Op::Load { ptr, .. } => {
                depends |= self.finder.variable(ptr).is_some_and(|local| self.locals.contains(&local));
            }
            Op::Store { ptr, .. } if depends || chosen => self.locals.extend(self.finder.variable(ptr)),
            Op::Loop { .. } | Op::Break(_) | Op::Continue(_) if chosen => return false,
            _ => {}
        }
        if depends {
            self.values.extend(data.result);
        }
        data.op
            .blocks()
            .into_iter()
            .all(|block| function.block(block).iter().all(|&inst| self.follow(inst, chosen || depends)))
    }
}

impl Slice {
    /// Puts the computation for a later thread behind the load, and the hint.
    pub(super) fn insert(
        &self,
        function: &mut Function,
        block: Block,
        access: Inst,
        pointer: Value,
        bytes: u32,
    ) {
        let int = Type::Scalar(Scalar::I32);
        let mut hints = Hints::new(function);
        let threads = hints.value(Op::Query(Query::ThreadsPerGrid(0)), int);
        let least = hints.value(Op::Const(MIN_THREADS), int);
        let many = hints.value(Op::Compare(CmpOp::UGe, threads, least), Type::Scalar(Scalar::Bool));
        let (then, otherwise) = (hints.function.add_block(), hints.function.add_block());
        let outside = std::mem::take(&mut hints.insts);

        let group = hints.value(Op::Query(Query::ThreadgroupPositionInGrid(0)), int);
        let width = hints.value(Op::Query(Query::DispatchThreadsPerThreadgroup(0)), int);
        let start = hints.value(Op::Binary(BinOp::Mul, group, width), int);
        let simdgroup = hints.value(Op::Query(Query::SimdgroupIndexInThreadgroup), int);
        let threads = hints.value(Op::Const(SIMD_GROUP.into()), int);
        let within = hints.value(Op::Binary(BinOp::Mul, simdgroup, threads), int);
        let first = hints.value(Op::Binary(BinOp::Add, start, within), int);
        let ahead = hints.value(Op::Const(DISTANCE), int);
        let position = hints.value(Op::Binary(BinOp::Add, first, ahead), int);

        let mut insts = std::mem::take(&mut hints.insts);
        let mut copier = Copier {
            function: hints.function,
            position,
            values: FxHashMap::default(),
            locals: FxHashMap::default(),
            labels: FxHashMap::default(),
        };
        for &local in &self.locals {
            let data = copier.function.locals[local.index()].clone();
            let copy = copier.function.add_local(data.name, data.size, data.align);
            copier.locals.insert(local, copy);
        }
        insts.extend(self.insts.iter().filter_map(|&inst| copier.inst(inst)));
        let ptr = copier.values.get(&pointer).copied().unwrap_or(pointer);
        let bytes = bytes.saturating_mul(SIMD_GROUP).min(MAX_BYTES);
        hints.insts = insts;
        hints.effect(Op::Prefetch { ptr, bytes, access: PrefetchHint::Read });
        hints.function.blocks[then.index()].insts = std::mem::replace(&mut hints.insts, outside);
        hints.effect(Op::If { cond: many, then, otherwise });
        hints.put_behind(block, access);
    }
}

struct Copier<'f> {
    function: &'f mut Function,
    /// Stands for the thread's own position.
    position: Value,
    values: FxHashMap<Value, Value>,
    locals: FxHashMap<Local, Local>,
    labels: FxHashMap<Label, Label>,
}

impl Copier<'_> {
    fn inst(&mut self, inst: Inst) -> Option<Inst> {
        let mut data = self.function.inst(inst).clone();
        if data.op == POSITION {
            self.values.insert(data.result?, self.position);
            return None;
        }
        data.op.for_each_operand_mut(|value| *value = self.values.get(value).copied().unwrap_or(*value));
        match &mut data.op {
            Op::LocalStart(local) | Op::LocalAddr(local) => {
                *local = self.locals.get(local).copied().unwrap_or(*local);
            }
            Op::Break(label) | Op::Continue(label) => {
                *label = self.labels.get(label).copied().unwrap_or(*label)
            }
            construct => {
                if let Some(label) = construct.label_mut() {
                    let new = self.function.add_label();
                    self.labels.insert(*label, new);
                    *label = new;
                }
                construct.for_each_block_mut(|block| *block = self.block(*block));
            }
        }
        let ty = data.result.map(|value| self.function.ty(value));
        let copy = self.function.add_inst(data.op, ty, data.fp, data.loc);
        if let (Some(old), Some(new)) = (data.result, self.function.inst(copy).result) {
            self.values.insert(old, new);
        }
        Some(copy)
    }

    fn block(&mut self, block: Block) -> Block {
        let copy = self.function.add_block();
        for inst in self.function.block(block).to_vec() {
            if let Some(inst) = self.inst(inst) {
                self.function.blocks[copy.index()].insts.push(inst);
            }
        }
        copy
    }
}
