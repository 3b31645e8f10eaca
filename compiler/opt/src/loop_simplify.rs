//! Gives loops the form of counted ones, as LLVM's LoopSimplify makes one latch: the store that ends a loop's
//! body and steps the variable of its exit test goes to the continuing block.
//!
//! `while (n > 0) { …; n >>= 1; }` is then what `for (; n > 0; n >>= 1) { … }` is, which the passes that
//! count iterations know. Only that store moves, with copies of what makes its value: behind it the body may
//! not read the variable, and no `continue` leaves the body, so that nobody sees a difference.

use rustc_hash::{FxHashMap, FxHashSet};

use super::rewrite_blocks::{BlockRewriter, rewrite_blocks};
use anymetal_analysis::{Variables, walk_insts};
use anymetal_ir::{Block, Function, Inst, Label, Local, Op, Value};

/// Instructions that may make the value of a step.
const MAX_STEP: usize = 8;

/// Changes the loops of a function; returns whether anything changed.
pub fn loop_simplify(function: &mut Function) -> bool {
    let variables = Variables::of(function);
    let mut simplifier = LoopSimplifier { function, variables, changed: false };
    rewrite_blocks(&mut simplifier);
    simplifier.changed
}

struct LoopSimplifier<'a> {
    function: &'a mut Function,
    variables: Variables,
    changed: bool,
}

/// The step of a loop.
struct Step {
    /// The variable.
    counter: Local,
    /// Where its store is in the body.
    at: usize,
    /// What the body defines itself.
    defined: FxHashSet<Value>,
}

impl BlockRewriter for LoopSimplifier<'_> {
    fn function(&mut self) -> &mut Function {
        self.function
    }

    fn rewrite(&mut self, inst: Inst, out: &mut Vec<Inst>) {
        if let Op::Loop { label, body, continuing, .. } = self.function.inst(inst).op
            && self.function.block(continuing).is_empty()
            && let Some(step) = self.step(label, body)
        {
            self.move_step(&step, body, continuing);
            self.changed = true;
        }
        out.push(inst);
    }
}

impl LoopSimplifier<'_> {
    fn step(&self, label: Label, body: Block) -> Option<Step> {
        let insts = self.function.block(body);
        let op = |inst: Inst| &self.function.inst(inst).op;
        // What comes behind the store neither reads the variable nor leaves the body.
        let mut behind = FxHashSet::default();
        let at = insts.iter().rposition(|&inst| {
            if let Op::Load { ptr, .. } = *op(inst) {
                behind.extend(self.variables.at(ptr));
            }
            self.stored(op(inst)).is_some_and(|counter| self.is_tested(counter, insts))
                || op(inst).has_side_effects() && self.stored(op(inst)).is_none()
        })?;
        let counter = self.stored(op(insts[at])).filter(|counter| !behind.contains(counter))?;
        let (mut writes, mut continues) = (0, false);
        walk_insts(self.function, body, &mut |inst| {
            writes +=
                usize::from(self.stored(op(inst)) == Some(counter) || *op(inst) == Op::LocalStart(counter));
            continues |= *op(inst) == Op::continue_(label);
        });
        let defined = insts.iter().filter_map(|&inst| self.function.inst(inst).result).collect();
        let step = Step { counter, at, defined };
        let mut left = MAX_STEP;
        let mut is_short = true;
        op(insts[at]).for_each_operand(|operand| is_short &= self.can_copy(operand, &step, &mut left));
        (writes == 1 && !continues && is_short).then_some(step)
    }

    /// Whether the loop begins with reading the variable: before anything that it does.
    fn is_tested(&self, counter: Local, insts: &[Inst]) -> bool {
        let ops = insts.iter().map(|&inst| &self.function.inst(inst).op);
        let mut first = ops.take_while(|op| !op.has_side_effects());
        first.any(|op| matches!(*op, Op::Load { ptr, .. } if self.variables.at(ptr) == Some(counter)))
    }

    /// Whether the continuing block can make the value itself.
    fn can_copy(&self, value: Value, step: &Step, left: &mut usize) -> bool {
        if !step.defined.contains(&value) {
            return true;
        }
        let op = self.function.def(value).expect("what the body defines is not a parameter");
        let Some(rest) = left.checked_sub(1) else {
            // The step is too long to be copied.
            return false;
        };
        *left = rest;
        let mut can = match *op {
            Op::Load { ptr, volatile: false, .. } => self.variables.at(ptr) == Some(step.counter),
            ref op => op.is_pure(),
        };
        op.for_each_operand(|operand| can = can && self.can_copy(operand, step, left));
        can
    }

    fn move_step(&mut self, step: &Step, body: Block, continuing: Block) {
        assert!(self.function.block(continuing).is_empty(), "the step is all that the continuing block does");
        let store = self.function.blocks[body.index()].insts.remove(step.at);
        let mut makers: FxHashMap<Value, Inst> = FxHashMap::default();
        for &inst in self.function.block(body) {
            makers.extend(self.function.inst(inst).result.map(|result| (result, inst)));
        }
        let mut copies = Vec::new();
        let mut op = self.function.inst(store).op.clone();
        assert_eq!(self.stored(&op), Some(step.counter), "the moved store is of the loop's counter");
        op.for_each_operand_mut(|operand| *operand = self.copy(*operand, &makers, &mut copies));
        self.function.replace_op(store, op);
        copies.push(store);
        self.function.blocks[continuing.index()].insts = copies;
    }

    /// The value in the continuing block.
    fn copy(&mut self, value: Value, makers: &FxHashMap<Value, Inst>, copies: &mut Vec<Inst>) -> Value {
        let Some(&maker) = makers.get(&value) else {
            // It is defined before the loop, so the continuing block can use it as it is.
            return value;
        };
        let data = self.function.inst(maker).clone();
        let mut op = data.op;
        op.for_each_operand_mut(|operand| *operand = self.copy(*operand, makers, copies));
        let ty = self.function.ty(value);
        let copy = self.function.add_inst(op, Some(ty), data.fp, data.loc);
        copies.push(copy);
        self.function.result(copy)
    }

    /// The variable that is stored to.
    fn stored(&self, op: &Op) -> Option<Local> {
        match *op {
            Op::Store { ptr, volatile: false, .. } => self.variables.at(ptr),
            _ => None,
        }
    }
}
