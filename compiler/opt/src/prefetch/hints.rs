//! Builds the instructions of a prefetch: its distance and its position.
//!
//! Owns the prefetch distances in threadgroups. Short threadgroups end before memory responds, so their
//! distance is more than one. Other instructions of the function do not change.

use anymetal_ir::{
    BinOp, Block, CastOp, CmpOp, FpMode, Function, Inst, Loc, Op, PrefetchHint, Query, Scalar, Type, Value,
};

/// Bytes that a threadgroup processes in about one memory latency.
const SHORT_BYTES: u64 = 4096;
/// Prefetch distance in threadgroups, where each loads fewer bytes with one access per thread.
const SMALL_THREADGROUPS_AHEAD: u64 = 4;
/// Prefetch distance in rows of stores to rows that are not longer. For loads one row is enough: on Intel's
/// servers a distance of two rows costs a third (`docs/decisions/0008-software-prefetch.md`).
const SHORT_ROWS_AHEAD: u64 = 2;

/// The instructions of a prefetch.
pub(super) struct PrefetchBuilder<'f> {
    pub(super) function: &'f mut Function,
    pub(super) insts: Vec<Inst>,
}

impl<'f> PrefetchBuilder<'f> {
    pub(super) fn new(function: &'f mut Function) -> Self {
        Self { function, insts: Vec::new() }
    }

    /// `count × times`.
    pub(super) fn product(&mut self, count: Value, times: i64) -> Value {
        let count = self.long(count);
        let times = self.constant(times.cast_unsigned());
        self.value(Op::Binary(BinOp::Mul, count, times), Type::Scalar(Scalar::I64))
    }

    /// The distance from a row of `row` bytes to the next one, or to a later one if rows are short.
    pub(super) fn rows_ahead(&mut self, row: Value) -> Value {
        let limit = self.constant(SHORT_BYTES);
        let is_short = self.value(Op::Compare(CmpOp::ULe, row, limit), Type::Scalar(Scalar::Bool));
        self.scaled_if(row, SHORT_ROWS_AHEAD, is_short)
    }

    /// The distance to the next threadgroup, or to a later one if threadgroups are small. `bytes`: loaded by
    /// each thread.
    pub(super) fn threadgroups_ahead(&mut self, step: Value, bytes: u32) -> Value {
        let int = Type::Scalar(Scalar::I32);
        let sizes =
            [0, 1, 2].map(|axis| self.value(Op::Query(Query::DispatchThreadsPerThreadgroup(axis)), int));
        let plane = self.value(Op::Binary(BinOp::Mul, sizes[0], sizes[1]), int);
        let threads = self.value(Op::Binary(BinOp::Mul, plane, sizes[2]), int);
        let enough = self.value(Op::Const(SHORT_BYTES / u64::from(bytes.max(1))), int);
        let is_small = self.value(Op::Compare(CmpOp::ULt, threads, enough), Type::Scalar(Scalar::Bool));
        self.scaled_if(step, SMALL_THREADGROUPS_AHEAD, is_small)
    }

    fn scaled_if(&mut self, step: Value, times: u64, condition: Value) -> Value {
        let long = Type::Scalar(Scalar::I64);
        let (times, one) = (self.constant(times), self.constant(1));
        let times = self.value(Op::Select(condition, times, one), long);
        self.value(Op::Binary(BinOp::Mul, step, times), long)
    }

    pub(super) fn constant(&mut self, value: u64) -> Value {
        self.value(Op::Const(value), Type::Scalar(Scalar::I64))
    }

    pub(super) fn value(&mut self, op: Op, ty: Type) -> Value {
        let inst = self.function.add_inst(op, Some(ty), FpMode::default(), Loc::default());
        self.insts.push(inst);
        self.function.result(inst)
    }

    /// The integer as 64 bits.
    pub(super) fn long(&mut self, value: Value) -> Value {
        let long = Type::Scalar(Scalar::I64);
        let scalar = self.function.ty(value).scalar();
        assert!(scalar.is_some_and(Scalar::is_int), "{value} counts bytes or rows, but is not an integer");
        if self.function.ty(value) == long { value } else { self.value(Op::Cast(CastOp::ZExt, value), long) }
    }

    /// An instruction without a result.
    pub(super) fn effect(&mut self, op: Op) {
        self.insts.push(self.function.add_inst(op, None, FpMode::default(), Loc::default()));
    }

    /// Inserts the prefetch after an access.
    pub(super) fn prefetch_after(
        mut self,
        pointer: Value,
        address: Op,
        (bytes, hint): (u32, PrefetchHint),
        block: Block,
        access: Inst,
    ) {
        let ty = self.function.ty(pointer);
        assert!(ty.is_ptr(), "the address of a prefetch has the type {ty}");
        let ptr = self.value(address, ty);
        self.effect(Op::Prefetch { ptr, bytes, access: hint });
        self.insert_after(block, access);
    }

    /// Inserts all instructions before `inst`.
    pub(super) fn insert_before(self, block: Block, inst: Inst) {
        let at = self.position(block, inst);
        self.function.blocks[block.index()].insts.splice(at..at, self.insts);
    }

    /// All instructions as a block of their own.
    pub(super) fn into_block(self) -> Block {
        let block = self.function.add_block();
        self.function.blocks[block.index()].insts = self.insts;
        block
    }

    /// Inserts all instructions after an access.
    pub(super) fn insert_after(self, block: Block, access: Inst) {
        let after = self.position(block, access) + 1;
        self.function.blocks[block.index()].insts.splice(after..after, self.insts);
    }

    fn position(&self, block: Block, inst: Inst) -> usize {
        let at = self.function.block(block).iter().position(|&other| other == inst);
        at.unwrap_or_else(|| panic!("{inst} has left {block} since the prefetch was planned"))
    }
}
