//! The values that jumps pass to the parameters of loops and the results of constructs, as the incoming
//! values of phi nodes in LLVM.

use super::walk_insts;
use anymetal_ir::{Block, Function, Inst, Label, Op, Value, ValueDef};
use rustc_hash::FxHashMap;

/// Which jumps pass the values that each construct of a function defines.
#[derive(Clone, Debug, Default)]
pub struct IncomingValues {
    constructs: Vec<Inst>,
    to_results: FxHashMap<Inst, Vec<(Inst, Option<Block>)>>,
    to_params: FxHashMap<Inst, Vec<Inst>>,
}

impl IncomingValues {
    /// Finds the jumps of a function.
    pub fn of(function: &Function) -> Self {
        let mut jumps = Self::default();
        let mut labelled: FxHashMap<Label, Inst> = FxHashMap::default();
        walk_insts(function, function.body, &mut |inst| {
            let op = &function.inst(inst).op;
            match op {
                Op::Break(label, values) if !values.is_empty() => {
                    jumps.to_results.entry(labelled[label]).or_default().push((inst, None));
                }
                Op::Continue(label, values) if !values.is_empty() => {
                    jumps.to_params.entry(labelled[label]).or_default().push(inst);
                }
                _ => {}
            }
            labelled.extend(op.label().map(|label| (label, inst)));
            if !op.results().is_empty() || !op.params().is_empty() {
                jumps.constructs.push(inst);
            }
            if !op.results().is_empty() {
                for block in op.blocks() {
                    if let Some(&last) = function.block(block).last()
                        && matches!(function.inst(last).op, Op::Yield(_))
                    {
                        jumps.to_results.entry(inst).or_default().push((last, Some(block)));
                    }
                }
            }
        });
        jumps
    }

    /// Whether no construct defines a value.
    pub fn is_empty(&self) -> bool {
        self.constructs.is_empty()
    }

    /// The constructs that define values, in textual order.
    pub fn constructs(&self) -> &[Inst] {
        &self.constructs
    }

    /// The yields and breaks that pass the results of a construct, and the block that a yield ends.
    pub fn to_results(&self, construct: Inst) -> &[(Inst, Option<Block>)] {
        self.to_results.get(&construct).map_or(&[], Vec::as_slice)
    }

    /// The continues that pass the parameters of a loop.
    pub fn to_params(&self, construct: Inst) -> &[Inst] {
        self.to_params.get(&construct).map_or(&[], Vec::as_slice)
    }

    /// The parameters and results, in textual order of their constructs: with the construct, and whether it
    /// is a parameter.
    pub fn definitions<'a>(
        &'a self,
        function: &'a Function,
    ) -> impl Iterator<Item = (Value, (Inst, bool))> + 'a {
        self.constructs.iter().flat_map(|&inst| {
            let op = &function.inst(inst).op;
            let params = op.params().iter().map(move |&value| (value, (inst, true)));
            params.chain(op.results().iter().map(move |&value| (value, (inst, false))))
        })
    }

    /// Calls `f` with each value that becomes a parameter or result.
    pub fn each_source(&self, function: &Function, value: Value, mut f: impl FnMut(Value)) {
        match function.values[value.index()].def {
            ValueDef::LoopParam(inst, n) => {
                let Op::Loop { inits, .. } = &function.inst(inst).op else {
                    unreachable!("{inst} has parameters, so it is a loop")
                };
                f(inits[n as usize]);
                self.to_params(inst).iter().for_each(|&jump| f(function.inst(jump).op.passed()[n as usize]));
            }
            ValueDef::Result(inst, n) => {
                let jumps = self.to_results(inst).iter();
                jumps.for_each(|&(jump, _)| f(function.inst(jump).op.passed()[n as usize]));
            }
            ValueDef::Param(_) | ValueDef::Inst(_) => unreachable!("{value} is not defined by a construct"),
        }
    }
}
