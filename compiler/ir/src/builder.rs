//! Appends instructions to a function, block by block.
//!
//! Invariant: the builder always has a current block; [`Builder::nested`] runs a closure with a
//! fresh block as the current one and restores the old one after.

use crate::op::{CastOp, CmpOp};
use crate::{
    BinOp, Block, FpMode, Function, Inst, Label, Loc, Local, MathFn, Op, Pieces, Query, Scalar, Space, Type,
    UnOp, Value,
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
    /// Whether multiplications and additions may be fused, if `fp` allows it. Where they may not, float
    /// additions, subtractions and multiplications are [`FpMode::Safe`].
    pub contract: bool,
}

impl<'f> Builder<'f> {
    /// Starts at the function's body.
    pub fn new(func: &'f mut Function) -> Self {
        let block = func.body;
        Self { func, block, loc: Loc::default(), fp: FpMode::default(), contract: true }
    }

    /// The current block.
    pub fn block(&self) -> Block {
        self.block
    }

    /// Makes another block current; returns the one before.
    pub fn switch_to(&mut self, block: Block) -> Block {
        assert!(block.index() < self.func.blocks.len(), "{block} is not a block of {}", self.func.name);
        std::mem::replace(&mut self.block, block)
    }

    /// Whether the current block has ended with a break, continue, yield or return.
    pub fn is_terminated(&self) -> bool {
        self.func.block(self.block).last().is_some_and(|&inst| self.func.inst(inst).op.ends_block())
    }

    /// Appends an instruction without result. Dropped when the block has ended: it cannot run.
    pub fn push(&mut self, op: Op) {
        if !self.is_terminated() {
            if let Op::Break(label, _) | Op::Continue(label, _) = &op {
                assert!(
                    label.0 < self.func.labels,
                    "a jump to {label}, which {} has not added",
                    self.func.name
                );
            }
            let inst = self.func.add_inst(op, None, self.fp, self.loc);
            self.func.blocks[self.block.index()].insts.push(inst);
        }
    }

    /// Appends an instruction with a result of type `ty`.
    pub fn value(&mut self, op: Op, ty: Type) -> Value {
        let is_exact =
            !self.contract && matches!(op, Op::Binary(BinOp::FAdd | BinOp::FSub | BinOp::FMul, ..));
        let fp = if is_exact { FpMode::Safe } else { self.fp };
        let inst = self.func.add_inst(op, Some(ty), fp, self.loc);
        if !self.is_terminated() {
            self.func.blocks[self.block.index()].insts.push(inst);
        }
        self.func.result(inst)
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
        self.value(Op::Const(bits & crate::eval::mask(scalar)), Type::Scalar(scalar))
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
        let (left, right) = (self.func.ty(a), self.func.ty(b));
        assert_eq!(left, right, "the operands of {op:?} have two types");
        assert!(left.scalar().is_some_and(|of| of.is_float() == op.is_float()), "{op:?} of {left}");
        self.infer(Op::Binary(op, a, b))
    }

    /// A comparison.
    pub fn compare(&mut self, op: CmpOp, a: Value, b: Value) -> Value {
        assert_eq!(self.func.ty(a), self.func.ty(b), "the operands of {op:?} have two types");
        self.infer(Op::Compare(op, a, b))
    }

    /// A conversion.
    pub fn cast(&mut self, op: CastOp, a: Value, to: Type) -> Value {
        let from = self.func.ty(a);
        match op {
            CastOp::PtrToInt | CastOp::IntToPtr => {
                assert_ne!(from.is_ptr(), to.is_ptr(), "{op:?} from {from} to {to}");
            }
            CastOp::Bitcast => assert_eq!(from.size(), to.size(), "{op:?} from {from} to {to}"),
            _ => assert_eq!(from.lanes(), to.lanes(), "{op:?} from {from} to {to}"),
        }
        self.value(Op::Cast(op, a), to)
    }

    /// A library function.
    pub fn math(&mut self, function: MathFn, args: Vec<Value>) -> Value {
        assert_eq!(args.len(), function.arity(), "the arguments of {function:?}");
        self.infer(Op::Math(function, args))
    }

    /// A query.
    pub fn query(&mut self, query: Query) -> Value {
        self.infer(Op::Query(query))
    }

    /// The address of a local.
    pub fn local_addr(&mut self, local: Local) -> Value {
        assert!(local.index() < self.func.locals.len(), "{local} is not a local of {}", self.func.name);
        self.infer(Op::LocalAddr(local))
    }

    /// `base + offset` bytes; `base` itself for 0.
    pub fn ptr_offset(&mut self, base: Value, offset: i64) -> Value {
        assert!(self.func.ty(base).is_ptr(), "an offset from {base}, which is not a pointer");
        if offset == 0 {
            return base;
        }
        self.infer(Op::PtrAdd { base, index: None, scale: 1, offset })
    }

    /// `base + index × scale` bytes.
    pub fn ptr_index(&mut self, base: Value, index: Value, scale: u32) -> Value {
        assert_eq!(self.func.ty(index), Type::I64, "the index {index} of an address");
        self.infer(Op::PtrAdd { base, index: Some(index), scale, offset: 0 })
    }

    /// A load.
    pub fn load(&mut self, ptr: Value, ty: Type, align: u32) -> Value {
        assert!(self.func.ty(ptr).is_ptr(), "a load through {ptr}, which is not a pointer");
        self.value(Op::Load { ptr, align, volatile: false }, ty)
    }

    /// Copies bytes, as integers.
    pub fn mem_copy(&mut self, dst: Value, src: Value, size: u64, align: u32) {
        let (to, from) = (self.func.ty(dst), self.func.ty(src));
        assert!(to.is_ptr() && to != Type::Ptr(Space::Constant), "a copy to {dst}, a {to}");
        assert!(from.is_ptr(), "a copy from {src}, a {from}");
        self.push(Op::MemCopy { dst, src, size, align, pieces: Pieces::integers(size, align) });
    }

    /// Fills bytes with zero, as integers.
    pub fn mem_zero(&mut self, dst: Value, size: u64, align: u32) {
        let to = self.func.ty(dst);
        assert!(to.is_ptr() && to != Type::Ptr(Space::Constant), "zeros are stored through {dst}, a {to}");
        self.push(Op::MemZero { dst, size, align, pieces: Pieces::integers(size, align) });
    }

    /// A store.
    pub fn store(&mut self, ptr: Value, value: Value, align: u32) {
        let ty = self.func.ty(ptr);
        assert!(ty.is_ptr() && ty != Type::Ptr(Space::Constant), "a store through {ptr}, a {ty}");
        self.push(Op::Store { ptr, value, align, volatile: false });
    }

    /// Runs `build` in a fresh block and returns that block.
    pub fn nested(&mut self, build: impl FnOnce(&mut Self)) -> Block {
        let block = self.func.add_block();
        let outer = self.switch_to(block);
        build(self);
        let last = self.switch_to(outer);
        assert_eq!(last, block, "a nested block is built until its end, without another one after it");
        block
    }

    /// Appends an `if`.
    pub fn if_else(&mut self, cond: Value, then: impl FnOnce(&mut Self), otherwise: impl FnOnce(&mut Self)) {
        assert_eq!(self.func.ty(cond), Type::BOOL, "the condition {cond} of a branch");
        let then = self.nested(then);
        let otherwise = self.nested(otherwise);
        self.push(Op::branch(cond, then, otherwise));
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
        self.push(Op::endless(label, body, continuing));
    }

    /// Appends a loop that carries values, beginning with `inits`, and that has results of these types; the
    /// closure gets its label and its parameters, and ends the body with a jump. Returns the results.
    pub fn carried_loop(
        &mut self,
        inits: &[Value],
        results: &[Type],
        body: impl FnOnce(&mut Self, Label, &[Value]),
    ) -> Vec<Value> {
        let label = self.func.add_label();
        let (block, continuing) = (self.func.add_block(), self.func.add_block());
        let inst = self.func.add_inst(Op::endless(label, block, continuing), None, self.fp, self.loc);
        let params: Vec<Value> = inits.iter().map(|&init| self.func.add_loop_param(inst, init)).collect();
        let outer = self.switch_to(block);
        body(self, label, &params);
        let last = self.switch_to(outer);
        assert_eq!(last, block, "a nested block is built until its end, without another one after it");
        self.append_construct(inst, results)
    }

    /// Appends a construct whose blocks yield, and whose breaks pass, values of these types. Returns its
    /// results.
    pub fn construct(&mut self, op: Op, results: &[Type]) -> Vec<Value> {
        let inst = self.func.add_inst(op, None, self.fp, self.loc);
        self.append_construct(inst, results)
    }

    fn append_construct(&mut self, inst: Inst, results: &[Type]) -> Vec<Value> {
        let results = results.iter().map(|&ty| self.func.add_construct_result(inst, ty)).collect();
        if !self.is_terminated() {
            self.func.blocks[self.block.index()].insts.push(inst);
        }
        results
    }
}
