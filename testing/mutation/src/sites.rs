//! Where mistakes can be made in a kernel. Start with [`sites`]; each kind has a file.

mod barriers;
mod bounds;
mod initialisations;

use anymetal_ir::{Block, Function, Inst, Loc, Local, Op, Value};

use crate::mutation::Mutation;

/// Every mutation of a function that has all its calls inlined, in the order of its blocks.
pub fn sites(function: &Function) -> Vec<Mutation> {
    let code = Code::new(function);
    let mut found = barriers::sites(&code);
    found.extend(bounds::sites(&code));
    found.extend(initialisations::sites(&code));
    found
}

/// The blocks of a function that its body reaches, outer ones first.
pub fn blocks_of(function: &Function) -> Vec<Block> {
    let mut all = Vec::new();
    let mut open = vec![function.body];
    while let Some(block) = open.pop() {
        all.push(block);
        let nested = function.block(block).iter().flat_map(|&inst| function.inst(inst).op.blocks());
        let nested: Vec<Block> = nested.collect();
        open.extend(nested.into_iter().rev());
    }
    all
}

/// A function's reachable instructions, and who uses their results.
struct Code<'f> {
    function: &'f Function,
    insts: Vec<(Block, Inst)>,
    /// By value.
    users: Vec<Vec<Inst>>,
}

impl<'f> Code<'f> {
    fn new(function: &'f Function) -> Self {
        let of_block = |block: Block| function.block(block).iter().map(move |&inst| (block, inst));
        let insts: Vec<(Block, Inst)> = blocks_of(function).into_iter().flat_map(of_block).collect();
        let mut users = vec![Vec::new(); function.values.len()];
        for &(_, inst) in &insts {
            let note = |value: Value| users[value.index()].push(inst);
            function.inst(inst).op.for_each_operand(note);
        }
        Self { function, insts, users }
    }

    fn op(&self, inst: Inst) -> &'f Op {
        &self.function.inst(inst).op
    }

    /// A scalar's value if it is constant, also as the argument of a function that was inlined.
    fn constant(&self, value: Value) -> Option<u64> {
        let Some(Op::Load { ptr, .. }) = self.function.def(value) else {
            return self.function.as_const(value);
        };
        let local = self.local_of(*ptr)?;
        let stored = |&(_, inst): &(Block, Inst)| match self.op(inst) {
            Op::Store { ptr, value, .. } if self.local_of(*ptr) == Some(local) => Some(*value),
            _ => None,
        };
        let mut stored = self.insts.iter().filter_map(stored);
        let only = stored.next().filter(|_| stored.next().is_none())?;
        self.function.as_const(only)
    }

    /// The calls that were inlined around a position.
    fn depth(&self, loc: Loc) -> usize {
        let outer = |loc: &Loc| self.function.origin(*loc)?.inlined_at;
        std::iter::successors(Some(loc), outer).count()
    }

    /// The local that a pointer points into, if that is plain to see.
    fn local_of(&self, mut pointer: Value) -> Option<Local> {
        while let Some(Op::PtrAdd { base, .. }) = self.function.def(pointer) {
            pointer = *base;
        }
        match self.function.def(pointer) {
            Some(Op::LocalAddr(local)) => Some(*local),
            _ => None,
        }
    }
}
