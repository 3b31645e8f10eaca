//! Prefetches of loads whose address is not a linear combination, such as one with the divisions that
//! decompose a flat index into a position in a tensor.
//!
//! The backward slice of the address is cloned and executed for a later thread, once per SIMD-group: with the
//! position of the thread [`THREADS_AHEAD`] after the group's first one, all of it is scalar. It is skipped
//! for grids that are so small that their data is cached.
//!
//! Invariants: the cloned [`AddressSlice`] reads constant memory only, and has no effect. Its control
//! flow and its loads do not depend on the position ([`PositionDependence`]), so it terminates if the
//! thread's own computation does, and has no out-of-bounds loads that the thread did not have.

use rustc_hash::FxHashSet;

use super::{Finder, PrefetchBuilder};
use crate::copy::Cloner;
use crate::limits::{MAX_PREFETCH_BYTES, MAX_PREFETCH_CLONES};
use anymetal_analysis::{IncomingValues, walk_insts};
use anymetal_ir::{
    BinOp, Block, CmpOp, Function, Inst, Op, PrefetchHint, Query, Scalar, Space, Type, Value, ValueDef,
};

/// Prefetch distance in threads: eight SIMD-groups take about one memory latency.
const THREADS_AHEAD: u64 = 256;
/// Minimum number of threads of a grid.
const MIN_THREADS: u64 = 1 << 20;
/// Threads of a SIMD-group.
const SIMD_GROUP: u32 = 32;

const POSITION: Op = Op::Query(Query::ThreadPositionInGrid(0));

/// The backward slice of an address.
pub(super) struct AddressSlice {
    /// The instructions in order; constructs include their blocks.
    insts: Vec<Inst>,
}

impl Finder<'_> {
    /// The slice of the pointer of a load in that block, if it may be cloned.
    pub(super) fn slice(&self, block: Block, access: Inst, pointer: Value) -> Option<AddressSlice> {
        let function = self.function;
        let before = function.block(block);
        let before = &before[..before.iter().position(|&inst| inst == access)?];
        let mut builder = SliceBuilder { function, before, needed: FxHashSet::default(), outer: Vec::new() };
        builder.need(pointer)?;
        let SliceBuilder { needed, outer, .. } = builder;
        let mut insts = outer;
        insts.extend(before.iter().filter(|inst| needed.contains(inst)));
        let mut count = insts.len();
        let mut follows = false;
        for &inst in &insts {
            follows |= function.inst(inst).op == POSITION;
            for nested in function.inst(inst).op.blocks() {
                walk_insts(function, nested, &mut |_| count += 1);
            }
        }
        let slice = AddressSlice { insts };
        (follows && count <= MAX_PREFETCH_CLONES && PositionDependence::allows(function, &slice))
            .then_some(slice)
    }
}

struct SliceBuilder<'f> {
    function: &'f Function,
    /// The instructions of the load's block before it.
    before: &'f [Inst],
    needed: FxHashSet<Inst>,
    /// Needed instructions of enclosing blocks, in order.
    outer: Vec<Inst>,
}

impl SliceBuilder<'_> {
    fn need(&mut self, value: Value) -> Option<()> {
        let inst = match self.function.values[value.index()].def {
            // Parameters need no copy.
            ValueDef::Param(_) => return Some(()),
            // Those of a loop in the slice are cloned with it; another loop would be cloned in part.
            ValueDef::LoopParam(inst, _) => return self.needed.contains(&inst).then_some(()),
            ValueDef::Inst(inst) | ValueDef::Result(inst, _) => inst,
        };
        if self.needed.contains(&inst) {
            return Some(());
        }
        self.need_inst(inst)?;
        if !self.before.contains(&inst) {
            self.outer.push(inst);
        }
        Some(())
    }

    /// Adds an instruction and its operands; `None` if it may not be cloned.
    fn need_inst(&mut self, inst: Inst) -> Option<()> {
        let function = self.function;
        if self.needed.len() > MAX_PREFETCH_CLONES {
            // Also bounds the recursion: each level adds an instruction.
            return None;
        }
        self.needed.insert(inst);
        let op = &function.inst(inst).op;
        match op {
            Op::Load { ptr, .. } if function.ty(*ptr) == Type::Ptr(Space::Constant) => {}
            Op::If { .. } | Op::Loop { .. } | Op::Switch { .. } | Op::Scope { .. } => {}
            Op::Break(..) | Op::Continue(..) | Op::Yield(_) => {}
            op if op.is_pure() => {}
            _ => return None,
        }
        let mut inside = Some(());
        op.for_each_operand(|operand| inside = inside.and_then(|()| self.need(operand)));
        inside?;
        for nested in op.blocks() {
            for &inst in function.block(nested) {
                self.need_inst(inst)?;
            }
        }
        Some(())
    }
}

/// The values that depend on the thread's position.
struct PositionDependence<'f> {
    function: &'f Function,
    incoming: IncomingValues,
    values: FxHashSet<Value>,
}

impl<'f> PositionDependence<'f> {
    fn allows(function: &'f Function, slice: &AddressSlice) -> bool {
        let incoming = IncomingValues::of(function);
        let mut this = Self { function, incoming, values: FxHashSet::default() };
        // To a fixed point, since parameters carry dependences around loops.
        loop {
            let known = this.values.len();
            if !slice.insts.iter().all(|&inst| this.propagate(inst, false)) {
                return false;
            }
            if known == this.values.len() {
                return true;
            }
        }
    }

    /// `is_conditional`: whether it depends on the position that the instruction is executed. Returns whether
    /// the instruction may be cloned.
    fn propagate(&mut self, inst: Inst, is_conditional: bool) -> bool {
        let function = self.function;
        let data = function.inst(inst);
        let mut depends = data.op == POSITION;
        data.op.for_each_operand(|operand| depends |= self.values.contains(&operand));
        match data.op {
            Op::Load { .. } if depends || is_conditional => return false,
            Op::Loop { .. } | Op::Break(..) | Op::Continue(..) if is_conditional => return false,
            _ => {}
        }
        if depends {
            self.values.extend(data.result);
        }
        // What a loop begins with does not decide what it executes.
        let selects = depends && !matches!(data.op, Op::Loop { .. });
        for &value in data.op.params().iter().chain(data.op.results()) {
            let mut is_dependent = selects;
            self.incoming
                .each_source(function, value, |source| is_dependent |= self.values.contains(&source));
            if is_dependent {
                self.values.insert(value);
            }
        }
        data.op.blocks().into_iter().all(|block| {
            function.block(block).iter().all(|&inst| self.propagate(inst, is_conditional || selects))
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

        let mut cloner = Cloner::new(hints.function);
        for &inst in &self.insts {
            if cloner.function.inst(inst).op == POSITION {
                cloner.map_value(cloner.function.result(inst), position);
            }
        }
        let copies = cloner.insts(&self.insts);
        let ptr = cloner.value(pointer);
        hints.insts.extend(copies);
        let bytes = bytes.saturating_mul(SIMD_GROUP).min(MAX_PREFETCH_BYTES);
        hints.effect(Op::Prefetch { ptr, bytes, access: PrefetchHint::Read });
        hints.function.blocks[then.index()].insts = std::mem::replace(&mut hints.insts, outside);
        hints.effect(Op::branch(is_large_grid, then, otherwise));
        hints.insert_after(block, access);
    }
}
