//! Values that cross from one region to another: recomputed if that is cheap, otherwise kept in the frame.
//!
//! Invariant: a region fetches a value after all that it is recomputed from.

use anymetal_ir::{BinOp, Function, Inst, Op, Value, ValueDef};

use super::{Fetch, Planner};
use crate::limits::MAX_REMAT_DEPTH;

impl Planner<'_> {
    /// Decides what each region fetches before it begins.
    pub(super) fn find_fetches(&mut self) {
        let function = self.facts.function;
        for number in 0..self.regions.regions.len() {
            let mut uses = Vec::new();
            for &inst in &self.regions.regions[number].insts {
                uses_of(function, inst, &mut uses);
            }
            for value in uses {
                self.fetch(number, value);
            }
        }
        for (inst, number) in self.regions.samples.clone() {
            if let Op::If { cond: value, .. } | Op::Switch { selector: value, .. } = function.inst(inst).op {
                self.fetch(number, value);
            }
        }
    }

    fn fetch(&mut self, number: usize, value: Value) {
        let function = self.facts.function;
        if self.regions.is_group_value(function, self.divergence, value) {
            return;
        }
        let ValueDef::Inst(inst) = function.values[value.index()].def else {
            unreachable!("{value} is a parameter, which is known at group level")
        };
        let fetches = &self.regions.regions[number].fetches;
        if self.regions.region_of[inst.index()] == number
            || fetches.contains(&Fetch::Remat(value))
            || fetches.contains(&Fetch::Load(value))
        {
            return;
        }
        let is_assumed = self.divergence.values[value.index()]
            .iter()
            .any(|shape| shape.affine().is_some_and(|lanes| lanes.is_assumed()));
        if !is_assumed && !self.is_rematerialisable(value, MAX_REMAT_DEPTH) {
            self.regions.saved.insert(value);
            self.regions.regions[number].fetches.push(Fetch::Load(value));
            return;
        }
        let mut operands = Vec::new();
        function.inst(inst).op.for_each_operand(|operand| operands.push(operand));
        for operand in operands {
            self.fetch(number, operand);
        }
        self.regions.regions[number].fetches.push(Fetch::Remat(value));
    }

    /// Whether computing the value again costs little and needs nothing kept.
    fn is_rematerialisable(&self, value: Value, depth: u32) -> bool {
        let function = self.facts.function;
        if self.regions.is_group_value(function, self.divergence, value) {
            return true;
        }
        let ValueDef::Inst(inst) = function.values[value.index()].def else {
            unreachable!("{value} is a parameter, which is known at group level")
        };
        let op = &function.inst(inst).op;
        let cheap = match op {
            Op::Binary(op, ..) => !matches!(
                op,
                BinOp::UDiv | BinOp::SDiv | BinOp::URem | BinOp::SRem | BinOp::FDiv | BinOp::FRem
            ),
            Op::Math(..) => false,
            op => op.only_computes(),
        };
        if depth == 0 || !cheap {
            return false;
        }
        let mut all = true;
        op.for_each_operand(|operand| all &= self.is_rematerialisable(operand, depth - 1));
        all
    }
}

fn uses_of(function: &Function, inst: Inst, uses: &mut Vec<Value>) {
    let op = &function.inst(inst).op;
    op.for_each_operand(|operand| uses.push(operand));
    for nested in op.blocks() {
        for &inner in function.block(nested) {
            uses_of(function, inner, uses);
        }
    }
}
