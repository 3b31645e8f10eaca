//! Prefetches of loads whose address is not a linear combination, such as one with the divisions that
//! decompose a flat index into a position in a tensor.
//!
//! The backward slice of the address is cloned and executed for a later thread, once per SIMD-group: with the
//! position of the thread [`THREADS_AHEAD`] after the group's first one, all of it is scalar. It is skipped
//! for grids that are so small that their data is cached.
//!
//! Invariants: the cloned [`AddressSlice`] reads constant memory and its own variables only, and stores only
//! to copies of these. Its control flow and its loads of constant memory do not depend on the position
//! ([`PositionDependence`]), so it terminates if the thread's own computation does, and has no out-of-bounds
//! loads that the thread did not have.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Finder, PrefetchBuilder};
use anymetal_analysis::walk_insts;
use anymetal_ir::{
    BinOp, Block, CmpOp, Function, Inst, Label, Local, Op, PrefetchHint, Query, Scalar, Space, Type, Value,
};

/// Prefetch distance in threads: eight SIMD-groups take about one memory latency.
const THREADS_AHEAD: u64 = 256;
/// Minimum number of threads of a grid.
const MIN_THREADS: u64 = 1 << 20;
/// Maximum depth of definitions that are followed.
const MAX_SLICE_DEPTH: u32 = 64;
/// Maximum number of instructions to clone.
const MAX_INSTRUCTIONS: usize = 64;
/// Maximum bytes of a prefetch: a few lines from the first thread's address on.
const MAX_BYTES: u32 = 256;
/// Threads of a SIMD-group.
const SIMD_GROUP: u32 = 32;

const POSITION: Op = Op::Query(Query::ThreadPositionInGrid(0));

/// The backward slice of an address.
pub(super) struct AddressSlice {
    /// The instructions in order; constructs include their blocks.
    insts: Vec<Inst>,
    locals: BTreeSet<Local>,
}

impl Finder<'_> {
    /// The slice of the pointer of a load in that block, if it may be cloned.
    pub(super) fn slice(&self, block: Block, access: Inst, pointer: Value) -> Option<AddressSlice> {
        let before = self.function.block(block);
        let before = &before[..before.iter().position(|&inst| inst == access)?];
        let mut finder = SliceBuilder {
            finder: self,
            before,
            needed: FxHashSet::default(),
            outer: Vec::new(),
            locals: BTreeSet::new(),
        };
        finder.need(pointer, MAX_SLICE_DEPTH)?;
        let SliceBuilder { needed, outer, locals, .. } = finder;
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
        let slice = AddressSlice { insts, locals };
        (follows && count <= MAX_INSTRUCTIONS && PositionDependence::allows(self, &slice)).then_some(slice)
    }
}

struct SliceBuilder<'a, 'f> {
    finder: &'a Finder<'f>,
    /// The instructions of the load's block before it.
    before: &'a [Inst],
    needed: FxHashSet<Inst>,
    /// Needed instructions of enclosing blocks, in order.
    outer: Vec<Inst>,
    locals: BTreeSet<Local>,
}

impl SliceBuilder<'_, '_> {
    fn need(&mut self, value: Value, depth: u32) -> Option<()> {
        let function = self.finder.function;
        let depth = depth.checked_sub(1)?;
        let Some(inst) = function.defining_inst(value) else {
            // Parameters need no copy.
            return Some(());
        };
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

    /// Adds an instruction and its operands; `None` if it may not be cloned.
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
            // A copy that began a lifetime of the original variable would take its contents.
            Op::LocalStart(local) | Op::LocalAddr(local) => self.need_local(*local, depth)?,
            Op::Break(..) | Op::Continue(..) => {}
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

    /// Adds the stores to a variable, whose lifetime must start in the load's block.
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

/// The values and variables that depend on the thread's position.
struct PositionDependence<'a, 'f> {
    finder: &'a Finder<'f>,
    values: FxHashSet<Value>,
    locals: BTreeSet<Local>,
}

impl<'a, 'f> PositionDependence<'a, 'f> {
    fn allows(finder: &'a Finder<'f>, slice: &AddressSlice) -> bool {
        let mut this = Self { finder, values: FxHashSet::default(), locals: BTreeSet::new() };
        // To a fixed point, since variables carry dependences around loops.
        loop {
            let known = (this.values.len(), this.locals.len());
            if !slice.insts.iter().all(|&inst| this.propagate(inst, false)) {
                return false;
            }
            if known == (this.values.len(), this.locals.len()) {
                return true;
            }
        }
    }

    /// `is_conditional`: whether it depends on the position that the instruction is executed. Returns whether
    /// the instruction may be cloned.
    fn propagate(&mut self, inst: Inst, is_conditional: bool) -> bool {
        let function = self.finder.function;
        let data = function.inst(inst);
        let mut depends = data.op == POSITION;
        data.op.for_each_operand(|operand| depends |= self.values.contains(&operand));
        match data.op {
            Op::Load { ptr, .. }
                if function.ty(ptr) == Type::Ptr(Space::Constant) && (depends || is_conditional) =>
            {
                return false;
            }
            Op::Load { ptr, .. } => {
                depends |= self.finder.variable(ptr).is_some_and(|local| self.locals.contains(&local));
            }
            Op::Store { ptr, .. } if depends || is_conditional => {
                self.locals.extend(self.finder.variable(ptr))
            }
            Op::Loop { .. } | Op::Break(..) | Op::Continue(..) if is_conditional => return false,
            _ => {}
        }
        if depends {
            self.values.extend(data.result);
        }
        data.op.blocks().into_iter().all(|block| {
            function.block(block).iter().all(|&inst| self.propagate(inst, is_conditional || depends))
        })
    }
}

impl AddressSlice {
    /// Inserts the computation for a later thread after the load, and the prefetch.
    pub(super) fn insert(
        &self,
        function: &mut Function,
        block: Block,
        access: Inst,
        pointer: Value,
        bytes: u32,
    ) {
        let int = Type::Scalar(Scalar::I32);
        let mut hints = PrefetchBuilder::new(function);
        let threads = hints.value(Op::Query(Query::ThreadsPerGrid(0)), int);
        let min_threads = hints.value(Op::Const(MIN_THREADS), int);
        let is_large_grid =
            hints.value(Op::Compare(CmpOp::UGe, threads, min_threads), Type::Scalar(Scalar::Bool));
        let (then, otherwise) = (hints.function.add_block(), hints.function.add_block());
        let outside = std::mem::take(&mut hints.insts);

        let group = hints.value(Op::Query(Query::ThreadgroupPositionInGrid(0)), int);
        let width = hints.value(Op::Query(Query::DispatchThreadsPerThreadgroup(0)), int);
        let start = hints.value(Op::Binary(BinOp::Mul, group, width), int);
        let simdgroup = hints.value(Op::Query(Query::SimdgroupIndexInThreadgroup), int);
        let threads = hints.value(Op::Const(SIMD_GROUP.into()), int);
        let within = hints.value(Op::Binary(BinOp::Mul, simdgroup, threads), int);
        let first = hints.value(Op::Binary(BinOp::Add, start, within), int);
        let ahead = hints.value(Op::Const(THREADS_AHEAD), int);
        let position = hints.value(Op::Binary(BinOp::Add, first, ahead), int);

        let mut insts = std::mem::take(&mut hints.insts);
        let mut cloner = SliceCloner {
            function: hints.function,
            position,
            values: FxHashMap::default(),
            locals: FxHashMap::default(),
            labels: FxHashMap::default(),
        };
        for &local in &self.locals {
            let data = cloner.function.locals[local.index()].clone();
            let copy = cloner.function.add_local(data.name, data.size, data.align);
            cloner.locals.insert(local, copy);
        }
        insts.extend(self.insts.iter().filter_map(|&inst| cloner.inst(inst)));
        let ptr = *cloner.values.get(&pointer).expect("the slice computes the address");
        let bytes = bytes.saturating_mul(SIMD_GROUP).min(MAX_BYTES);
        hints.insts = insts;
        hints.effect(Op::Prefetch { ptr, bytes, access: PrefetchHint::Read });
        hints.function.blocks[then.index()].insts = std::mem::replace(&mut hints.insts, outside);
        hints.effect(Op::branch(is_large_grid, then, otherwise));
        hints.insert_after(block, access);
    }
}

struct SliceCloner<'f> {
    function: &'f mut Function,
    /// Replaces the thread's own position.
    position: Value,
    values: FxHashMap<Value, Value>,
    locals: FxHashMap<Local, Local>,
    labels: FxHashMap<Label, Label>,
}

impl SliceCloner<'_> {
    fn inst(&mut self, inst: Inst) -> Option<Inst> {
        let mut data = self.function.inst(inst).clone();
        if data.op == POSITION {
            self.values.insert(self.function.result(inst), self.position);
            return None;
        }
        data.op.for_each_operand_mut(|value| *value = self.values.get(value).copied().unwrap_or(*value));
        match &mut data.op {
            Op::LocalStart(local) | Op::LocalAddr(local) => {
                *local = *self.locals.get(local).expect("the slice has a copy of each of its variables");
            }
            // A jump out of the slice stays one. Its condition does not depend on the position, and the
            // thread itself has not taken it.
            Op::Break(label, _) | Op::Continue(label, _) => {
                *label = self.labels.get(label).copied().unwrap_or(*label)
            }
            construct => {
                if let Some(label) = construct.label_mut() {
                    let new = self.function.add_label();
                    let before = self.labels.insert(*label, new);
                    assert_eq!(before, None, "the construct of {label} is cloned twice");
                    *label = new;
                }
                construct.for_each_block_mut(|block| *block = self.block(*block));
            }
        }
        let ty = data.result.map(|value| self.function.ty(value));
        let copy = self.function.add_inst(data.op, ty, data.fp, data.loc);
        if let Some(old) = data.result {
            let before = self.values.insert(old, self.function.result(copy));
            assert_eq!(before, None, "the definition of {old} is cloned twice");
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
