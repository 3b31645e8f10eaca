//! Loops that step over the whole grid: `for (i = position; i < n; i += threads)`.
//!
//! Each iteration is as far from the one before as the grid is wide, which no hardware prefetcher follows.
//! The step is known before the loop, so what is loaded some iterations later is asked for in time.

use super::{Counted, DEPTH, Finder, Gain, Walk};
use crate::analysis::walk_insts;
use crate::{BinOp, Block, Inst, Local, Op, PrefetchHint, Query, Space, Type, Value, ValueDef};

/// Iterations ahead. Memory takes as long as a few hundred instructions, an iteration has tens.
const AHEAD: i64 = 8;

impl Finder<'_> {
    /// The loads directly in the loop's body that follow its counter.
    pub(super) fn strided(
        &self,
        inst: Inst,
        body: Block,
        counted: &Counted,
        cost: usize,
        found: &mut Vec<Walk>,
    ) {
        let function = self.function;
        let Some((counter, step)) =
            counted.counter.and_then(|counter| Some((counter, self.step_of_grid(inst, counter)?)))
        else {
            return;
        };
        for &access in function.block(body) {
            let data = function.inst(access);
            let (Op::Load { ptr: pointer, .. }, Some(result)) = (&data.op, data.result) else { continue };
            if function.ty(*pointer) != Type::Ptr(Space::Device) {
                continue;
            }
            let stride = self.gain(*pointer, &|op| self.is_index(op, Some(counter)), DEPTH);
            let (Some(root), Some(Gain { value: None, times })) = (self.root(*pointer), stride) else {
                continue;
            };
            let bytes = function.ty(result).size();
            if let Some(times) = times.checked_mul(AHEAD).filter(|&times| times > 0) {
                let gain = Gain { value: Some(step), times };
                found.push(Walk {
                    root,
                    block: body,
                    access,
                    pointer: *pointer,
                    bytes,
                    hint: PrefetchHint::Read,
                    gain,
                    cost,
                });
            }
        }
    }

    /// What each iteration adds to the counter, if that is as many threads as the grid has.
    fn step_of_grid(&self, inst: Inst, counter: Local) -> Option<Value> {
        self.step(inst, counter).filter(|&step| self.is_of_grid(step, DEPTH))
    }

    /// What each iteration adds to the counter, if that is a constant or known before the loop.
    pub(super) fn step(&self, inst: Inst, counter: Local) -> Option<Value> {
        let function = self.function;
        let mut stored = Vec::new();
        let mut inside = vec![false; function.insts.len()];
        for block in function.inst(inst).op.blocks() {
            walk_insts(function, block, &mut |inst| {
                inside[inst.index()] = true;
                if let Op::Store { ptr, value, .. } = function.inst(inst).op
                    && self.variable(ptr) == Some(counter)
                {
                    stored.push(value);
                }
            });
        }
        let &[next] = stored.as_slice() else { return None };
        let Some(&Op::Binary(BinOp::Add, a, b)) = function.def(next) else { return None };
        let step = match (self.variable_read(a), self.variable_read(b)) {
            (Some(read), _) if read == counter => b,
            (_, Some(read)) if read == counter => a,
            _ => return None,
        };
        let is_known = match function.values[step.index()].def {
            ValueDef::Param(_) => true,
            ValueDef::Inst(inst) => !inside[inst.index()] || function.as_const(step).is_some(),
        };
        is_known.then_some(step)
    }

    /// Whether the value is made of the size of the grid.
    fn is_of_grid(&self, value: Value, depth: u32) -> bool {
        let (Some(op), Some(depth)) = (self.function.def(value), depth.checked_sub(1)) else { return false };
        if let Op::Query(query) = op {
            return matches!(query, Query::ThreadsPerGrid(_) | Query::ThreadgroupsPerGrid(_));
        }
        let mut any = false;
        if matches!(op, Op::Binary(BinOp::Mul, ..) | Op::Cast(..)) {
            op.for_each_operand(|operand| any |= self.is_of_grid(operand, depth));
        }
        any
    }
}
