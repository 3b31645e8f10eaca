//! The instructions of a hint: how far ahead it asks, and where it stands.
//!
//! Owns the distances in threadgroups. What is short is done before memory answers, so there more than the next one is
//! skipped. Nothing else of the function changes.

use crate::{
    Awaited, BinOp, Block, CastOp, CmpOp, FpMode, Function, Inst, Loc, Op, Query, Scalar, Type, Value,
};

/// Bytes that a threadgroup takes about as long for as memory does.
const SHORT: u64 = 4096;
/// Threadgroups ahead, where each loads less with one access a thread.
const SMALL_AHEAD: u64 = 4;
/// Rows ahead that are written, where they are no longer. What is read comes soon enough one row ahead: on Intel's
/// servers requests for two rows cost a third (`docs/decisions/0008-software-prefetch.md`).
const SHORT_ROWS_AHEAD: u64 = 2;

/// Instructions of a hint.
pub(super) struct Hints<'f> {
    pub(super) function: &'f mut Function,
    pub(super) insts: Vec<Inst>,
}

impl<'f> Hints<'f> {
    pub(super) fn new(function: &'f mut Function) -> Self {
        Self { function, insts: Vec::new() }
    }

    /// `count × times`.
    pub(super) fn product(&mut self, count: Value, times: i64) -> Value {
        let count = self.long(count);
        let times = self.constant(times.cast_unsigned());
        self.value(Op::Binary(BinOp::Mul, count, times), Type::Scalar(Scalar::I64))
    }

    /// From a row of so many bytes to the next one, or to a later one if they are short.
    pub(super) fn rows_ahead(&mut self, row: Value) -> Value {
        let most = self.constant(SHORT);
        let is_short = self.value(Op::Compare(CmpOp::ULe, row, most), Type::Scalar(Scalar::Bool));
        self.times_if(row, SHORT_ROWS_AHEAD, is_short)
    }

    /// From a threadgroup of which each thread loads so many bytes to the next one, or to a later one if they
    /// are small.
    pub(super) fn threadgroups_ahead(&mut self, step: Value, bytes: u32) -> Value {
        let int = Type::Scalar(Scalar::I32);
        let sizes =
            [0, 1, 2].map(|axis| self.value(Op::Query(Query::DispatchThreadsPerThreadgroup(axis)), int));
        let plane = self.value(Op::Binary(BinOp::Mul, sizes[0], sizes[1]), int);
        let threads = self.value(Op::Binary(BinOp::Mul, plane, sizes[2]), int);
        let enough = self.value(Op::Const(SHORT / u64::from(bytes.max(1))), int);
        let is_small = self.value(Op::Compare(CmpOp::ULt, threads, enough), Type::Scalar(Scalar::Bool));
        self.times_if(step, SMALL_AHEAD, is_small)
    }

    fn times_if(&mut self, step: Value, times: u64, condition: Value) -> Value {
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
        self.function.inst(inst).result.expect("it was made with a result")
    }

    /// An integer in 64 bits.
    pub(super) fn long(&mut self, value: Value) -> Value {
        let long = Type::Scalar(Scalar::I64);
        if self.function.ty(value) == long { value } else { self.value(Op::Cast(CastOp::ZExt, value), long) }
    }

    /// An instruction without a result.
    pub(super) fn effect(&mut self, op: Op) {
        self.insts.push(self.function.add_inst(op, None, FpMode::default(), Loc::default()));
    }

    /// Writes the hint behind an access.
    pub(super) fn finish(
        mut self,
        pointer: Value,
        address: Op,
        (bytes, awaited): (u32, Awaited),
        block: Block,
        access: Inst,
    ) {
        let ty = self.function.ty(pointer);
        let ptr = self.value(address, ty);
        self.effect(Op::Prefetch { ptr, bytes, access: awaited });
        self.put_behind(block, access);
    }

    /// Puts all instructions before one.
    pub(super) fn put_before(self, block: Block, inst: Inst) {
        let block = &mut self.function.blocks[block.index()].insts;
        let at = block.iter().position(|&other| other == inst).unwrap_or(0);
        block.splice(at..at, self.insts);
    }

    /// All instructions as a block of their own.
    pub(super) fn into_block(self) -> Block {
        let block = self.function.add_block();
        self.function.blocks[block.index()].insts = self.insts;
        block
    }

    /// Puts all instructions behind an access.
    pub(super) fn put_behind(self, block: Block, access: Inst) {
        let block = &mut self.function.blocks[block.index()].insts;
        let at = block.iter().position(|&inst| inst == access).map_or(0, |at| at + 1);
        block.splice(at..at, self.insts);
    }
}
