//! Removes entities that the body does not reach and renumbers the rest densely, in textual order.

use anymetal_analysis::walk_insts;
use anymetal_ir::{Block, BlockData, Function, Inst, InstData, Label, Local, Op, Value, ValueData, ValueDef};

const REMOVED: u32 = u32::MAX;

/// Compacts one function. Locals without a use and labels without a construct go too. Returns whether the
/// order or the number of anything changed.
pub fn compact(function: &mut Function) -> bool {
    let mut order = Vec::new();
    walk_insts(function, function.body, &mut |inst| order.push(inst));
    let count = |function: &Function| {
        let Function { values, locals, blocks, insts, .. } = function;
        [values.len(), locals.len(), blocks.len(), insts.len(), function.labels as usize]
    };
    let (before, in_order) = (count(function), order.is_sorted());
    let mut renumbering = Renumbering {
        values: vec![REMOVED; function.values.len()],
        blocks: vec![REMOVED; function.blocks.len()],
        locals: vec![REMOVED; function.locals.len()],
        labels: vec![REMOVED; function.labels as usize],
        label_count: 0,
    };
    let values = renumbering.number_values(function, &order);
    let locals = renumbering.number_locals(function, &order);
    let blocks = renumbering.number_blocks(function, &order);
    let mut insts = Vec::with_capacity(order.len());
    for &old in &order {
        let data = &mut function.insts[old.index()];
        let mut op = std::mem::replace(&mut data.op, Op::Fence(None));
        renumbering.operation(&mut op);
        let result = data.result.map(|value| renumbering.value(value));
        insts.push(InstData { op, result, fp: data.fp, loc: data.loc });
    }
    for param in &mut function.params {
        *param = renumbering.value(*param);
    }
    function.values = values;
    function.locals = locals;
    function.blocks = blocks;
    function.insts = insts;
    function.labels = renumbering.label_count;
    function.body = Block(0);
    assert_eq!(
        function.blocks.iter().map(|block| block.insts.len()).sum::<usize>(),
        function.insts.len(),
        "each instruction that is kept is in exactly one block",
    );
    !in_order || before != count(function)
}

/// New numbers by old ones.
struct Renumbering {
    values: Vec<u32>,
    blocks: Vec<u32>,
    locals: Vec<u32>,
    labels: Vec<u32>,
    label_count: u32,
}

impl Renumbering {
    fn number_values(&mut self, function: &Function, order: &[Inst]) -> Vec<ValueData> {
        let mut table = Vec::new();
        for (n, param) in (0u32..).zip(&function.params) {
            self.values[param.index()] = n;
            table.push(ValueData::new(function.ty(*param), ValueDef::Param(n)));
        }
        for (n, &inst) in (0u32..).map(Inst).zip(order) {
            let InstData { op, result, .. } = function.inst(inst);
            let result = result.map(|value| (value, ValueDef::Inst(n)));
            let params = (0..).zip(op.params()).map(|(at, &value)| (value, ValueDef::LoopParam(n, at)));
            let results = (0..).zip(op.results()).map(|(at, &value)| (value, ValueDef::Result(n, at)));
            for (value, def) in result.into_iter().chain(results).chain(params) {
                assert_eq!(self.values[value.index()], REMOVED, "{value} is defined twice");
                self.values[value.index()] = table.len() as u32;
                table.push(ValueData { def, ..function.values[value.index()] });
            }
        }
        table
    }

    fn number_locals(&mut self, function: &Function, order: &[Inst]) -> Vec<anymetal_ir::LocalData> {
        for &inst in order {
            if let Op::LocalAddr(local) | Op::LocalStart(local) = function.inst(inst).op {
                self.locals[local.index()] = 0;
            }
        }
        let mut table = Vec::new();
        for (number, data) in self.locals.iter_mut().zip(&function.locals) {
            if *number != REMOVED {
                *number = table.len() as u32;
                table.push(data.clone());
            }
        }
        table
    }

    fn number_blocks(&mut self, function: &mut Function, order: &[Inst]) -> Vec<BlockData> {
        let mut olds = vec![function.body];
        for &inst in order {
            olds.extend(function.inst(inst).op.blocks());
        }
        let mut new_insts = vec![Inst(REMOVED); function.insts.len()];
        for (n, &inst) in (0u32..).zip(order) {
            new_insts[inst.index()] = Inst(n);
        }
        let mut table = Vec::with_capacity(olds.len());
        for old in olds {
            assert_eq!(self.blocks[old.index()], REMOVED, "{old} is nested in two constructs");
            self.blocks[old.index()] = table.len() as u32;
            let mut data = std::mem::take(&mut function.blocks[old.index()]);
            for inst in &mut data.insts {
                *inst = new_insts[inst.index()];
            }
            table.push(data);
        }
        table
    }

    fn operation(&mut self, op: &mut Op) {
        op.for_each_operand_mut(|value| *value = self.value(*value));
        op.for_each_definition_mut(|value| *value = self.value(*value));
        if let Op::LocalAddr(local) | Op::LocalStart(local) = op {
            *local = Local(self.locals[local.index()]);
        }
        if let Some(label) = op.label_mut() {
            *label = self.label(*label);
        }
        op.for_each_block_mut(|block| *block = self.block(*block));
    }

    fn value(&self, value: Value) -> Value {
        let number = self.values[value.index()];
        assert_ne!(number, REMOVED, "{value} is used, but no instruction that the body reaches defines it");
        Value(number)
    }

    fn block(&self, block: Block) -> Block {
        Block(self.blocks[block.index()])
    }

    fn label(&mut self, label: Label) -> Label {
        let number = &mut self.labels[label.index()];
        if *number == REMOVED {
            *number = self.label_count;
            self.label_count += 1;
        }
        Label(*number)
    }
}
