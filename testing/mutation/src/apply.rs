//! Makes mutants, and mutants that tell when they differ from the kernel.
//!
//! Invariant: what is made of a verified module verifies.

use anymetal_ir::{
    BinOp, Block, BlockData, FpMode, FuncId, Function, Inst, Loc, Module, Op, Scalar, Space, Type, Value,
};

use crate::mutation::{Change, Mutation};

/// A module in which the function has the mistake.
pub fn mutated(module: &Module, function: FuncId, mutation: &Mutation) -> Module {
    let mut module = module.clone();
    let edited = &mut module.functions[function.index()];
    match mutation.change {
        Change::Remove => remove(edited, mutation),
        Change::Compare(..) => {
            let (replacement, inserted) = compared(edited, mutation);
            edited.insts[mutation.inst.index()].op = replacement;
            insert(edited, mutation, 0, &inserted);
        }
        Change::Barrier(scope, flags) => {
            let flags = flags.map(|flags| constant(edited, mutation, flags));
            edited.insts[mutation.inst.index()].op = Op::Barrier(scope, flags.map(|(value, _)| value));
            insert(edited, mutation, 0, &flags.iter().map(|(_, inst)| *inst).collect::<Vec<_>>());
        }
        Change::Fence(operand, bits) => {
            let (value, inst) = constant(edited, mutation, bits);
            if let Op::Fence(Some(operands)) = &mut edited.insts[mutation.inst.index()].op {
                operands[operand] = value;
            }
            insert(edited, mutation, 0, &[inst]);
        }
    }
    module
}

/// A module that does what the kernel does, and stores through the null pointer where the mutant's comparison
/// has another value than the kernel's; `None` of mutations of other instructions.
pub fn probed(module: &Module, function: FuncId, mutation: &Mutation) -> Option<Module> {
    let Change::Compare(..) = mutation.change else { return None };
    let mut module = module.clone();
    let edited = &mut module.functions[function.index()];
    let (other, mut inserted) = compared(edited, mutation);
    let add = |edited: &mut Function, op, ty| edited.add_inst(op, ty, FpMode::default(), mutation.loc);
    let other = add(edited, other, Some(Type::BOOL));
    let results = [mutation.inst, other].map(|inst| edited.inst(inst).result);
    let [Some(kernels), Some(mutants)] = results else { return None };
    let differ = add(edited, Op::Binary(BinOp::Xor, kernels, mutants), Some(Type::BOOL));
    let cond = edited.inst(differ).result?;
    let (then, otherwise) = (edited.add_block(), edited.add_block());
    trap(edited, then, mutation.loc);
    let branch = add(edited, Op::branch(cond, then, otherwise), None);
    inserted.extend([other, differ, branch]);
    insert(edited, mutation, 1, &inserted);
    Some(module)
}

/// Appends a store through the null pointer to a block, in front of what is there.
pub fn trap(function: &mut Function, block: Block, loc: Loc) {
    let zero = function.add_inst(Op::Const(0), Some(Type::I32), FpMode::default(), loc);
    let null = function.add_inst(Op::Const(0), Some(Type::Ptr(Space::Device)), FpMode::default(), loc);
    let (Some(value), Some(ptr)) = (function.inst(zero).result, function.inst(null).result) else { return };
    let op = Op::Store { ptr, value, align: 4, volatile: false };
    let store = function.add_inst(op, None, FpMode::default(), loc);
    let BlockData { insts } = &mut function.blocks[block.index()];
    insts.splice(0..0, [zero, null, store]);
}

fn remove(function: &mut Function, mutation: &Mutation) {
    function.blocks[mutation.block.index()].insts.retain(|&inst| inst != mutation.inst);
}

/// Puts instructions before the mutation's (`offset` 0) or after it (1).
fn insert(function: &mut Function, mutation: &Mutation, offset: usize, inserted: &[Inst]) {
    let insts = &mut function.blocks[mutation.block.index()].insts;
    let at = insts.iter().position(|&inst| inst == mutation.inst).map_or(0, |at| at + offset);
    insts.splice(at..at, inserted.iter().copied());
}

fn constant(function: &mut Function, mutation: &Mutation, bits: u32) -> (Value, Inst) {
    scalar(function, mutation, Type::I32, u64::from(bits))
}

fn scalar(function: &mut Function, mutation: &Mutation, ty: Type, bits: u64) -> (Value, Inst) {
    let inst = function.add_inst(Op::Const(bits), Some(ty), FpMode::default(), mutation.loc);
    (function.inst(inst).result.unwrap_or(Value(0)), inst)
}

/// The mutant's comparison, and the instructions that it needs before it.
fn compared(function: &mut Function, mutation: &Mutation) -> (Op, Vec<Inst>) {
    let original = function.inst(mutation.inst).op.clone();
    let (&Op::Compare(_, a, b), Change::Compare(op, shift)) = (&original, mutation.change) else {
        return (original, Vec::new());
    };
    let Type::Scalar(kind) = function.ty(b) else { return (original, Vec::new()) };
    if shift == 0 {
        return (Op::Compare(op, a, b), Vec::new());
    }
    let (by, first) = scalar(function, mutation, Type::Scalar(kind), masked(kind, i64::from(shift)));
    let sum = Op::Binary(BinOp::Add, b, by);
    let second = function.add_inst(sum, Some(Type::Scalar(kind)), FpMode::default(), mutation.loc);
    let bound = function.inst(second).result.unwrap_or(b);
    (Op::Compare(op, a, bound), vec![first, second])
}

fn masked(kind: Scalar, value: i64) -> u64 {
    let bits = kind.bits();
    if bits == 64 { value as u64 } else { value as u64 & ((1 << bits) - 1) }
}
