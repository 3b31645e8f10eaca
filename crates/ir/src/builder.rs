//! Appends instructions to a function, block by block.
//!
//! Invariant: the builder always has a current block; [`Builder::nested`] runs a closure with a
//! fresh block as the current one and restores the old one after.

use crate::op::{CastOp, CmpOp};
use crate::{
    BinOp, Block, FpMode, Function, Label, Loc, Local, MathFn, Op, Query, Scalar, Type, UnOp, Value,
};

/// Builds one function.
#[derive(Debug)]
pub struct Builder<'f> {
    /// The function under construction.
    pub func: &'f mut Function,
    block: Block,
    /// Given to each instruction appended from now on.
    pub loc: Loc,
    /// Given to each instruction appended from now on.
    pub fp: FpMode,
}

impl<'f> Builder<'f> {
    /// Starts at the function's body.
    pub fn new(func: &'f mut Function) -> Self {
        let block = func.body;
        Self { func, block, loc: Loc::default(), fp: FpMode::default() }
    }

    /// The current block.
    pub fn block(&self) -> Block {
        self.block
    }

    /// Makes another block current; returns the one before.
    pub fn switch_to(&mut self, block: Block) -> Block {
        std::mem::replace(&mut self.block, block)
    }

    /// Whether the current block has ended with a break, continue or return.
    pub fn is_terminated(&self) -> bool {
        self.func.block(self.block).last().is_some_and(|&inst| self.func.inst(inst).op.is_terminator())
    }

    /// Appends an instruction without result. Dropped when the block has ended: it cannot run.
    pub fn push(&mut self, op: Op) {
        if self.is_terminated() {
            return;
        }
        let inst = self.func.add_inst(op, None, self.fp, self.loc);
        self.func.blocks[self.block.index()].insts.push(inst);
    }

    /// Appends an instruction with a result of type `ty`.
    pub fn value(&mut self, op: Op, ty: Type) -> Value {
        let inst = self.func.add_inst(op, Some(ty), self.fp, self.loc);
        if !self.is_terminated() {
            self.func.blocks[self.block.index()].insts.push(inst);
        }
        self.func.inst(inst).result.expect("made with a result")
    }

    /// Appends an instruction whose result type follows from its operands.
    ///
    /// # Panics
    /// If it does not; that is a bug in the caller.
    pub fn infer(&mut self, op: Op) -> Value {
        let ty = op.implied_type(|v| self.func.ty(v)).expect("the operation implies its type");
        self.value(op, ty)
    }

    /// A scalar constant from its bits.
    pub fn const_bits(&mut self, scalar: Scalar, bits: u64) -> Value {
        let mask = if scalar.bits() == 64 { u64::MAX } else { (1 << scalar.bits()) - 1 };
        self.value(Op::Const(bits & mask), Type::Scalar(scalar))
    }

    /// `I32` constant.
    pub fn i32(&mut self, value: i32) -> Value {
        self.const_bits(Scalar::I32, value as u32 as u64)
    }

    /// `I64` constant.
    pub fn i64(&mut self, value: i64) -> Value {
        self.const_bits(Scalar::I64, value as u64)
    }

    /// `F32` constant.
    pub fn f32(&mut self, value: f32) -> Value {
        self.const_bits(Scalar::F32, u64::from(value.to_bits()))
    }

    /// `bool` constant.
    pub fn bool(&mut self, value: bool) -> Value {
        self.const_bits(Scalar::Bool, u64::from(value))
    }

    /// One-operand arithmetic.
    pub fn unary(&mut self, op: UnOp, a: Value) -> Value {
        self.infer(Op::Unary(op, a))
    }

    /// Two-operand arithmetic.
    pub fn binary(&mut self, op: BinOp, a: Value, b: Value) -> Value {
        self.infer(Op::Binary(op, a, b))
    }

    /// A comparison.
    pub fn compare(&mut self, op: CmpOp, a: Value, b: Value) -> Value {
        self.infer(Op::Compare(op, a, b))
    }

    /// A conversion.
    pub fn cast(&mut self, op: CastOp, a: Value, to: Type) -> Value {
        self.value(Op::Cast(op, a), to)
    }

    /// A library function.
    pub fn math(&mut self, function: MathFn, args: Vec<Value>) -> Value {
        self.infer(Op::Math(function, args))
    }

    /// A query.
    pub fn query(&mut self, query: Query) -> Value {
        self.infer(Op::Query(query))
    }

    /// The address of a local.
    pub fn local_addr(&mut self, local: Local) -> Value {
        self.infer(Op::LocalAddr(local))
    }

    /// `base + offset` bytes; `base` itself for 0.
    pub fn ptr_offset(&mut self, base: Value, offset: i64) -> Value {
        if offset == 0 {
            return base;
        }
        self.infer(Op::PtrAdd { base, index: None, scale: 1, offset })
    }

    /// `base + index × scale` bytes.
    pub fn ptr_index(&mut self, base: Value, index: Value, scale: u32) -> Value {
        self.infer(Op::PtrAdd { base, index: Some(index), scale, offset: 0 })
    }

    /// A load.
    pub fn load(&mut self, ptr: Value, ty: Type, align: u32) -> Value {
        self.value(Op::Load { ptr, align, volatile: false }, ty)
    }

    /// A store.
    pub fn store(&mut self, ptr: Value, value: Value, align: u32) {
        self.push(Op::Store { ptr, value, align, volatile: false });
    }

    /// Runs `build` in a fresh block and returns that block.
    pub fn nested(&mut self, build: impl FnOnce(&mut Self)) -> Block {
        let block = self.func.add_block();
        let outer = self.switch_to(block);
        build(self);
        self.switch_to(outer);
        block
    }

    /// Appends an `if`.
    pub fn if_else(&mut self, cond: Value, then: impl FnOnce(&mut Self), otherwise: impl FnOnce(&mut Self)) {
        let then = self.nested(then);
        let otherwise = self.nested(otherwise);
        self.push(Op::If { cond, then, otherwise });
    }

    /// Appends a loop; the closures get its label.
    pub fn endless_loop(
        &mut self,
        body: impl FnOnce(&mut Self, Label),
        continuing: impl FnOnce(&mut Self, Label),
    ) {
        let label = self.func.add_label();
        let body = self.nested(|b| body(b, label));
        let continuing = self.nested(|b| continuing(b, label));
        self.push(Op::Loop { label, body, continuing });
    }
}
