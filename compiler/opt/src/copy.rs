//! Clones instructions within a function with a value map, as LLVM's `CloneBasicBlock` and `ValueToValueMap`
//! do.
//!
//! A clone has new values, labels and blocks. Invariant: its operands are the clones and mapped values of
//! what was cloned or mapped before it, and the originals of everything else.

use rustc_hash::{FxHashMap, FxHashSet};

use anymetal_ir::{Block, Function, Inst, Label, Op, Value, ValueDef};

/// Clones instructions; see the module.
#[derive(Debug)]
pub struct Cloner<'f> {
    /// The function with originals and clones.
    pub function: &'f mut Function,
    /// Each cloned value and its clone, in order.
    pub copied: Vec<(Value, Value)>,
    values: FxHashMap<Value, Value>,
    mapped: FxHashSet<Value>,
    labels: FxHashMap<Label, Label>,
    /// The label of the loop of which an iteration is cloned, and the labels of the scopes that its breaks
    /// and continues leave.
    peeled: Option<(Label, Label, Option<Label>)>,
    skipped: FxHashSet<Inst>,
}

impl<'f> Cloner<'f> {
    /// A cloner with an empty map.
    pub fn new(function: &'f mut Function) -> Self {
        Self {
            function,
            copied: Vec::new(),
            values: FxHashMap::default(),
            mapped: FxHashSet::default(),
            labels: FxHashMap::default(),
            peeled: None,
            skipped: FxHashSet::default(),
        }
    }

    /// Clones use `new` instead of `old`, and the definition of `old` is not cloned.
    pub fn map_value(&mut self, old: Value, new: Value) {
        let (of_old, of_new) = (self.function.ty(old), self.function.ty(new));
        assert_eq!(of_old, of_new, "clones use {new} for {old}, which has another type");
        self.values.insert(old, new);
        self.mapped.insert(old);
    }

    /// Prepares to clone one iteration of the loop `own`: a break becomes a break of the scope `break_to`, a
    /// continue one of the scope `continue_to`. `None`: no continue is cloned.
    pub fn peel_iteration(&mut self, own: Label, break_to: Label, continue_to: Option<Label>) {
        assert!(self.peeled.is_none(), "a cloner peels one iteration of one loop");
        self.peeled = Some((own, break_to, continue_to));
    }

    /// This instruction is not cloned.
    pub fn skip(&mut self, inst: Inst) {
        assert!(
            self.function.inst(inst).result.is_none(),
            "{inst} is skipped, but clones may use its result"
        );
        self.skipped.insert(inst);
    }

    /// The value that clones use for `old`.
    pub fn value(&self, old: Value) -> Value {
        self.values.get(&old).copied().unwrap_or(old)
    }

    /// A clone of a block.
    pub fn block(&mut self, block: Block) -> Block {
        let copy = self.function.add_block();
        let insts = self.function.block(block).to_vec();
        let copies = self.insts(&insts);
        self.function.blocks[copy.index()].insts = copies;
        copy
    }

    /// Clones of instructions. The definition of a mapped value is not cloned.
    pub fn insts(&mut self, insts: &[Inst]) -> Vec<Inst> {
        let mut copies = Vec::with_capacity(insts.len());
        for &inst in insts {
            let result = self.function.inst(inst).result;
            let is_replaced = result.is_some_and(|result| self.mapped.contains(&result));
            if !is_replaced && !self.skipped.contains(&inst) {
                copies.push(self.inst(inst));
            }
        }
        copies
    }

    fn inst(&mut self, inst: Inst) -> Inst {
        let mut data = self.function.inst(inst).clone();
        data.op.for_each_operand_mut(|value| *value = self.values.get(value).copied().unwrap_or(*value));
        match &mut data.op {
            Op::Break(..) | Op::Continue(..) => self.map_jump(&mut data.op),
            construct => {
                construct.for_each_definition_mut(|value| *value = self.new_value(*value));
                if let Some(label) = construct.label_mut() {
                    *label = self.new_label(*label);
                }
                construct.for_each_block_mut(|block| *block = self.block(*block));
            }
        }
        let new = Inst(self.function.insts.len() as u32);
        if let Some(result) = &mut data.result {
            *result = self.new_value(*result);
            self.function.values[result.index()].def = ValueDef::Inst(new);
        }
        self.function.insts.push(data);
        self.function.number_definitions(new);
        new
    }

    /// A clone of a value, whose definition the caller sets.
    fn new_value(&mut self, old: Value) -> Value {
        let data = self.function.values[old.index()];
        let value = Value(self.function.values.len() as u32);
        self.function.values.push(data);
        self.copied.push((old, value));
        let before = self.values.insert(old, value);
        assert_eq!(before, None, "a cloner clones the definition of {old} a second time");
        value
    }

    fn map_jump(&self, op: &mut Op) {
        let (is_break, label) = match op {
            Op::Break(label, _) => (true, *label),
            Op::Continue(label, _) => (false, *label),
            _ => unreachable!("{op:?} is not a jump"),
        };
        match self.peeled {
            Some((own, break_to, continue_to)) if label == own => {
                let values = op.passed().iter().copied().collect();
                let target = if is_break { Some(break_to) } else { continue_to };
                *op = Op::Break(target.expect("a loop that is continued is peeled with a scope"), values);
            }
            _ => {
                let other = self.labels.get(&label).copied().unwrap_or(label);
                *op.label_mut().expect("a jump has a label") = other;
            }
        }
    }

    fn new_label(&mut self, label: Label) -> Label {
        let new = self.function.add_label();
        let before = self.labels.insert(label, new);
        assert_eq!(before, None, "a cloner clones the construct of {label} a second time");
        new
    }
}
