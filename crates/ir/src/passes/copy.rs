//! Copies of instructions within a function: fresh values, labels and blocks, and what stands for others.
//!
//! Invariant: a copy uses what was copied or replaced before it, and the originals of everything else.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{Block, Function, Inst, Label, Local, Op, Value, ValueData, ValueDef};

/// Copies instructions; see the module.
#[derive(Debug)]
pub struct Copier<'f> {
    /// Where originals and copies are.
    pub function: &'f mut Function,
    /// Each copied value and its copy, in order.
    pub copied: Vec<(Value, Value)>,
    values: FxHashMap<Value, Value>,
    replaced: FxHashSet<Value>,
    labels: FxHashMap<Label, Label>,
    locals: FxHashMap<Local, Local>,
    /// A loop of which an iteration is copied, the scope that stands for it where it is left, and the one
    /// where it is continued.
    unrolled: Option<(Label, Label, Label)>,
    omitted: Option<Inst>,
}

impl<'f> Copier<'f> {
    /// Nothing is replaced yet.
    pub fn new(function: &'f mut Function) -> Self {
        Self {
            function,
            copied: Vec::new(),
            values: FxHashMap::default(),
            replaced: FxHashSet::default(),
            labels: FxHashMap::default(),
            locals: FxHashMap::default(),
            unrolled: None,
            omitted: None,
        }
    }

    /// Copies use `new` instead of `old`.
    pub fn replace(&mut self, old: Value, new: Value) {
        self.values.insert(old, new);
        self.replaced.insert(old);
    }

    /// Copies use the local `new` instead of `old`; pointers to it are to be replaced too.
    pub fn replace_local(&mut self, old: Local, new: Local) {
        self.locals.insert(old, new);
    }

    /// What is copied next is one iteration of a loop: it breaks to `leave` and continues at the end of `go_on`.
    pub fn unroll(&mut self, own: Label, leave: Label, go_on: Label) {
        self.unrolled = Some((own, leave, go_on));
    }

    /// This instruction is left out of copied blocks.
    pub fn omit(&mut self, inst: Inst) {
        self.omitted = Some(inst);
    }

    /// What copies use for a value.
    pub fn value(&self, old: Value) -> Value {
        self.values.get(&old).copied().unwrap_or(old)
    }

    /// A copy of a block.
    pub fn block(&mut self, block: Block) -> Block {
        let copy = self.function.add_block();
        let insts = self.function.block(block).to_vec();
        let copies = self.insts(&insts);
        self.function.blocks[copy.index()].insts = copies;
        copy
    }

    /// Copies of instructions. A result that something was put in place of is not computed.
    pub fn insts(&mut self, insts: &[Inst]) -> Vec<Inst> {
        let mut copies = Vec::with_capacity(insts.len());
        for &inst in insts {
            let result = self.function.inst(inst).result;
            let is_replaced = result.is_some_and(|result| self.replaced.contains(&result));
            if !is_replaced && self.omitted != Some(inst) {
                copies.push(self.inst(inst));
            }
        }
        copies
    }

    fn inst(&mut self, inst: Inst) -> Inst {
        let mut data = self.function.inst(inst).clone();
        data.op.for_each_operand_mut(|value| *value = self.values.get(value).copied().unwrap_or(*value));
        let local = |local: Local| self.locals.get(&local).copied().unwrap_or(local);
        match &mut data.op {
            Op::LocalAddr(of) | Op::LocalStart(of) => *of = local(*of),
            Op::Break(_) | Op::Continue(_) => data.op = self.jump(&data.op),
            construct => {
                if let Some(label) = construct.label_mut() {
                    *label = self.fresh(*label);
                }
                construct.for_each_block_mut(|block| *block = self.block(*block));
            }
        }
        let new = Inst(self.function.insts.len() as u32);
        if let Some(old) = data.result {
            let ty = self.function.ty(old);
            let value = Value(self.function.values.len() as u32);
            self.function.values.push(ValueData { ty, def: ValueDef::Inst(new) });
            self.copied.push((old, value));
            self.values.insert(old, value);
            data.result = Some(value);
        }
        self.function.insts.push(data);
        new
    }

    fn jump(&self, op: &Op) -> Op {
        let other = |label: &Label| self.labels.get(label).copied().unwrap_or(*label);
        match (op, self.unrolled) {
            (Op::Break(label), Some((own, leave, _))) if *label == own => Op::Break(leave),
            (Op::Continue(label), Some((own, _, go_on))) if *label == own => Op::Break(go_on),
            (Op::Break(label), _) => Op::Break(other(label)),
            (Op::Continue(label), _) => Op::Continue(other(label)),
            _ => op.clone(),
        }
    }

    fn fresh(&mut self, label: Label) -> Label {
        let new = self.function.add_label();
        self.labels.insert(label, new);
        new
    }
}
